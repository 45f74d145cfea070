//! Verifies audit files.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use ziggurat_runtime::console;

use crate::{
    backward::BackwardLines,
    chain::{Hex, Key, KeyError},
    entry::Entry,
    names,
};

/// Result of [`verify`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Lines to print.
    pub lines: Vec<String>,
    /// Is true if all files are complete and unchanged.
    pub is_good: bool,
}

/// End of a verified file.
#[derive(Clone, Copy)]
struct End {
    first: u64,
    last: u64,
    count: u64,
    link: Hex,
}

/// Verifies files, and that each continues the one before it.
///
/// The files are read in the order of their records. Those that belong together have the same name
/// up to its first dot, without the numbers of their records; the trail of administrative commands
/// is another chain. The oldest file may continue one that is not given. Stops at the first error.
///
/// `expect_last` is the link of a last line, which one of the chains must end with: without it, a
/// removed end cannot be found.
///
/// ```
/// use ziggurat_audit::verify;
///
/// let report = verify(&["missing.jsonl".into()], None, None);
/// assert!(!report.is_good);
/// assert!(report.lines[0].starts_with("missing.jsonl: "));
/// ```
#[must_use]
pub fn verify(files: &[PathBuf], key: Option<&Key>, expect_last: Option<&str>) -> Report {
    let mut lines = Vec::new();
    let result = verify_all(files, key, expect_last, &mut lines);
    let is_good = result.is_ok();
    lines.extend(result.err());
    Report { lines, is_good }
}

/// Runs the command `-verify-audit` of a program: verifies files as [`verify`] does, prints the
/// report, and returns the exit code.
///
/// # Errors
/// Fails if the file of the key cannot be used.
pub fn verify_and_print(
    files: &[PathBuf],
    key_file: Option<&Path>,
    expect_last: Option<&str>,
) -> Result<ExitCode, KeyError> {
    let key = key_file.map(Key::read).transpose()?;
    let report = verify(files, key.as_ref(), expect_last);
    let is_printed = console::print(&(report.lines.join("\n") + "\n")).is_ok();
    Ok(if is_printed && report.is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Returns whether the files of a trail are complete and unchanged, up to their last complete line.
pub(crate) fn verify_trail(path: &Path, key: Option<&Key>) -> bool {
    let verified = || {
        let mut before = None;
        for archive in names::archives(path).ok()? {
            before = Some(verify_file(&archive, key, before, u64::MAX).ok()?);
        }
        let end = complete(path).ok()?;
        // After a rotation there is no line yet.
        (end == 0 && before.is_some() || verify_file(path, key, before, end).is_ok()).then_some(())
    };
    verified().is_some()
}

/// Returns the length of the complete lines of a file: one may be on its way.
fn complete(path: &Path) -> io::Result<u64> {
    match File::open(path) {
        Ok(file) => Ok(BackwardLines::new(file)?.end()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

fn verify_all(
    files: &[PathBuf],
    key: Option<&Key>,
    expect_last: Option<&str>,
    lines: &mut Vec<String>,
) -> Result<(), String> {
    let mut chains: Vec<(String, Vec<(u64, &PathBuf)>)> = Vec::new();
    for file in files {
        let first = first_seq(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let name = chain_name(file);
        match chains.iter_mut().find(|(known, _)| *known == name) {
            Some((_, files)) => files.push((first, file)),
            None => chains.push((name, vec![(first, file)])),
        }
    }
    let mut is_expected = expect_last.is_none();
    let mut end_of_all = None;
    for (_, mut files) in chains {
        files.sort_by_key(|(first, _)| *first);
        let mut before = None;
        for (_, file) in files {
            let end = verify_file(file, key, before, u64::MAX)?;
            let End {
                first,
                last,
                count,
                link,
            } = end;
            let (path, link) = (file.display(), link.as_str());
            lines.push(format!(
                "{path}: {count} records, {first} to {last}, last {link}, good"
            ));
            before = Some(end);
            end_of_all = Some((file, count + 1));
        }
        is_expected |= before.is_some_and(|end| Some(end.link.as_str()) == expect_last);
    }
    match end_of_all {
        Some((file, line)) if !is_expected => {
            // The file is as it should be but for its end.
            lines.pop();
            Err(format!("{}:{line}: the end is missing", file.display()))
        }
        _ => Ok(()),
    }
}

/// Verifies the lines of a file up to a length, which continue `before` if that is given.
fn verify_file(
    path: &Path,
    key: Option<&Key>,
    before: Option<End>,
    length: u64,
) -> Result<End, String> {
    let name = path.display();
    let unreadable = |error: io::Error| format!("{name}: {error}");
    let file = File::open(path).map_err(unreadable)?.take(length);
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    let mut end: Option<End> = None;
    let mut number = 0_u64;
    while file.read_until(b'\n', &mut line).map_err(unreadable)? > 0 {
        number += 1;
        let broken = || format!("{name}:{number}: the chain is broken");
        // A line without a break is not complete.
        line.pop_if(|byte| *byte == b'\n').ok_or_else(broken)?;
        let entry = Entry::parse(&line).ok_or_else(broken)?;
        let before = match end.or(before) {
            Some(before) => Some((before.last, before.link)),
            None => entry
                .continued()
                .and_then(|it| Some((entry.seq.checked_sub(1)?, it.link?))),
        };
        let seq = before.map_or(1, |(seq, _)| seq + 1);
        if entry.seq > seq {
            return Err(format!("{name}:{number}: record {seq} is missing"));
        }
        let before = before.map(|(_, link)| link);
        let expected = Hex::link(key, before.as_ref(), entry.covered.as_bytes());
        if entry.seq < seq || entry.link != expected {
            return Err(broken());
        }
        end = Some(End {
            first: end.map_or(entry.seq, |end| end.first),
            last: entry.seq,
            count: number,
            link: entry.link,
        });
        line.clear();
    }
    end.ok_or_else(|| {
        let seq = before.map_or(1, |before| before.last + 1);
        format!("{name}:1: record {seq} is missing")
    })
}

/// Returns the number of the first record, or the largest number for a file that has none.
fn first_seq(path: &Path) -> io::Result<u64> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?).read_until(b'\n', &mut line)?;
    line.pop_if(|byte| *byte == b'\n');
    Ok(Entry::parse(&line).map_or(u64::MAX, |entry| entry.seq))
}

/// Returns the part of a path that the files of a chain have in common.
fn chain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split('.').next().unwrap_or_default();
    let stem = name.rsplit_once('-').and_then(|(rest, last)| {
        let (stem, first) = rest.rsplit_once('-')?;
        let are_numbers = [first, last].iter().all(|it| it.parse::<u64>().is_ok());
        are_numbers.then_some(stem)
    });
    let name = stem.unwrap_or(name);
    path.with_file_name(name).to_string_lossy().into_owned()
}
