use crate::{planned, sources};

/// The size up to which a crate can be read in an afternoon, in lines.
const MAX_LINES: usize = 10_000;

#[test]
fn no_crate_is_too_large_to_be_read() {
    for (_, folder) in planned() {
        let lines: usize = sources(folder)
            .iter()
            .map(|(_, text)| text.lines().count())
            .sum();
        assert!(lines <= MAX_LINES, "{folder} has {lines} lines");
    }
}
