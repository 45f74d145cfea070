use crate::{planned, sources};

/// The size up to which a crate can be read in an afternoon, in lines.
const MAX_LINES: usize = 10_000;

/// The only larger crate, and the size that it may have: its folders do not repeat each other, and
/// it is half tables of texts.
const LARGER: (&str, usize) = ("bin/cli", 11_900);

#[test]
fn no_crate_is_too_large_to_be_read() {
    for (_, folder) in planned() {
        let lines: usize = sources(folder)
            .iter()
            .map(|(_, text)| text.lines().count())
            .sum();
        let most = if folder == LARGER.0 {
            LARGER.1
        } else {
            MAX_LINES
        };
        assert!(lines <= most, "{folder} has {lines} lines");
    }
}
