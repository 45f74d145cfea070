use crate::{planned, sources};

/// The size up to which a crate can be read in an afternoon, in lines.
const MAX_LINES: usize = 10_000;

/// The published layers are modules that do not depend on each other, so each is read alone; a third
/// of their lines is documentation.
const MAX_LINES_OF_LAYERS: usize = 15_000;

#[test]
fn no_crate_is_too_large_to_be_read() {
    for (_, folder) in planned() {
        let lines: usize = sources(folder)
            .iter()
            .map(|(_, text)| text.lines().count())
            .sum();
        let max = match folder {
            "layers" => MAX_LINES_OF_LAYERS,
            _ => MAX_LINES,
        };
        assert!(lines <= max, "{folder} has {lines} lines");
    }
}
