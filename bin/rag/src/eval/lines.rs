//! Reads files of lines, with limits and with the place of each problem.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

use anyhow::{Context as _, bail};

/// Limit on a line, in bytes.
const MAX_LINE: u64 = 1 << 20;

/// Limit on the lines of a file.
const MAX_LINES: usize = 5_000_000;

/// Reads the lines of a file that are not empty. `read` gets the number of a line, from 1, and its
/// text.
///
/// # Errors
/// Fails if the file cannot be read, if a line is too long or not UTF-8, and if `read` fails; all
/// but the first name the line.
pub(super) fn read(
    path: &Path,
    mut read: impl FnMut(usize, &str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("{shown} cannot be read"))?;
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read_bytes = file
            .by_ref()
            .take(MAX_LINE + 1)
            .read_until(b'\n', &mut line);
        if read_bytes.with_context(|| format!("{shown} cannot be read"))? == 0 {
            break;
        }
        if line.len() as u64 > MAX_LINE {
            bail!("{shown}:{number}: the line is longer than 1 MiB");
        }
        if number > MAX_LINES {
            bail!("{shown} has more than {MAX_LINES} lines: split it");
        }
        let text = str::from_utf8(&line);
        let text = text.with_context(|| format!("{shown}:{number}: it is not UTF-8"))?;
        let text = text.trim();
        if !text.is_empty() {
            read(number, text).with_context(|| format!("{shown}:{number}"))?;
        }
    }
    Ok(())
}
