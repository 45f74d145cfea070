//! Verifies audit files.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use ziggurat_runtime::{Problem, causes, console};

use crate::{
    journal::mark::Mark,
    line::{
        backward::BackwardLines,
        chain::{Hex, Key, KeyError},
        entry::{Entry, first_line},
    },
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

/// Records that files must have, as their reader knows from elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected<'a> {
    /// Sequence number with which a chain may begin, because the records before are kept elsewhere.
    pub first: Option<u64>,
    /// Link of a last line, which one of the chains must end with: without it, a removed end cannot
    /// be found.
    pub last: Option<&'a str>,
}

/// The command `-verify-audit` of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Files of trails.
    pub files: Vec<PathBuf>,
    /// File of the key, if the trails have one.
    pub key_file: Option<PathBuf>,
    /// See [`Expected::first`].
    pub expect_first: Option<u64>,
    /// See [`Expected::last`].
    pub expect_last: Option<String>,
}

/// End of a verified file.
#[derive(Clone, Copy)]
struct End {
    /// First record of the chain, and the link that it continues.
    begin: u64,
    continued: Option<Hex>,
    /// First record that is left after the server has deleted old files.
    kept_from: u64,
    first: u64,
    last: u64,
    count: u64,
    link: Hex,
}

/// Verifies files, and that each continues the one before it.
///
/// The files are read in the order of their records. Those that belong together have the same name
/// up to its first dot, without the numbers of their records; the trail of administrative commands
/// is another chain. The oldest file of a chain begins with record 1, unless later files say that the
/// server deleted those before it, or the first record is expected. Stops at the first error.
///
/// ```
/// use ziggurat_audit::{Expected, verify};
///
/// let report = verify(&["missing.jsonl".into()], None, Expected::default());
/// assert!(!report.is_good);
/// assert!(report.lines[0].starts_with("missing.jsonl: "));
/// ```
#[must_use]
pub fn verify(files: &[PathBuf], key: Option<&Key>, expected: Expected<'_>) -> Report {
    let mut lines = Vec::new();
    let result = verify_all(files, key, expected, &mut lines);
    let is_good = result.is_ok();
    lines.extend(result.err().map(|problem| causes(&problem)));
    Report { lines, is_good }
}

// === impl Verification ===

impl Verification {
    /// Verifies the files as [`verify`] does, prints the report, and returns the exit code.
    ///
    /// # Errors
    /// Fails if the file of the key cannot be used.
    pub fn run(&self) -> Result<ExitCode, KeyError> {
        let key = self.key_file.as_deref().map(Key::read).transpose()?;
        let expected = Expected {
            first: self.expect_first,
            last: self.expect_last.as_deref(),
        };
        let report = verify(&self.files, key.as_ref(), expected);
        let is_printed = console::print(&(report.lines.join("\n") + "\n")).is_ok();
        Ok(if is_printed && report.is_good {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

/// Returns whether the files of a trail are complete and unchanged, up to their last complete line,
/// and have the record that was written last.
pub(crate) fn verify_trail(path: &Path, key: Option<&Key>, written: Option<Mark>) -> bool {
    let verified = || {
        let archives = names::archives(path).ok()?;
        let mut end = None;
        for archive in &archives {
            end = Some(verify_file(archive, key, end, u64::MAX, written).ok()?);
        }
        let length = complete(path).ok()?;
        // After a rotation there is no line yet.
        if length > 0 || end.is_none() {
            end = Some(verify_file(path, key, end, length, written).ok()?);
        }
        let is_last = |end: &End| written.is_none_or(|written| end.last >= written.seq);
        let end = end.filter(is_last)?;
        let oldest = archives.first().map_or(path, PathBuf::as_path);
        // Files that another program has renamed are kept by that program.
        (end.is_whole(None) || !continues_own(path, oldest)?).then_some(())
    };
    verified().is_some()
}

/// Returns whether a file of a trail continues one that the server has named.
fn continues_own(path: &Path, oldest: &Path) -> Option<bool> {
    let line = first_line(oldest).ok()?;
    let continued = Entry::parse(&line)?.continued()?;
    Some(names::is_own(path, &continued.file))
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
    expected: Expected<'_>,
    lines: &mut Vec<String>,
) -> Result<(), Problem> {
    let mut chains: Vec<(String, Vec<(u64, &PathBuf)>)> = Vec::new();
    for file in files {
        let first = first_seq(file).map_err(|error| unreadable(file, error))?;
        let name = chain_name(file);
        match chains.iter_mut().find(|(known, _)| *known == name) {
            Some((_, files)) => files.push((first, file)),
            None => chains.push((name, vec![(first, file)])),
        }
    }
    let mut is_expected = expected.last.is_none();
    let mut end_of_all = None;
    let mut ends = Vec::new();
    for (_, mut files) in chains {
        files.sort_by_key(|(first, _)| *first);
        let mut before = None;
        for (_, file) in &files {
            let end = verify_file(file, key, before, u64::MAX, None)?;
            let End {
                first,
                last,
                count,
                link,
                ..
            } = end;
            let (path, link) = (file.display(), link.as_str());
            lines.push(format!(
                "{path}: {count} records, {first} to {last}, last {link}, good"
            ));
            before = Some(end);
            end_of_all = Some((*file, count + 1));
        }
        is_expected |= before.is_some_and(|end| Some(end.link.as_str()) == expected.last);
        ends.extend(files.first().map(|(_, oldest)| *oldest).zip(before));
    }
    if let Some(problem) = missing_begin(&ends, expected.first) {
        return Err(problem.into());
    }
    match end_of_all {
        Some((file, line)) if !is_expected => {
            // The file is as it should be but for its end.
            lines.pop();
            Err(Problem::from("the end is missing").within(format!("{}:{line}", file.display())))
        }
        _ => Ok(()),
    }
}

/// Returns the sentence about a chain that begins after records that are in no other.
fn missing_begin(chains: &[(&PathBuf, End)], expected: Option<u64>) -> Option<String> {
    let mut cut = chains.iter().filter(|(_, end)| {
        // Another program may have given an old file any name.
        let mut others = chains.iter();
        let is_continued = others.any(|(_, old)| Some(old.link) == end.continued);
        !is_continued && !end.is_whole(expected)
    });
    let (oldest, End { begin, .. }) = cut.next()?;
    Some(format!(
        "{}: begins at record {begin}: earlier records are not in these files; if they are kept \
         elsewhere, add -expect-first {begin}",
        oldest.display()
    ))
}

/// Verifies the lines of a file up to a length, which continue `before` if that is given. A record
/// that was `written` must have its link.
fn verify_file(
    path: &Path,
    key: Option<&Key>,
    before: Option<End>,
    length: u64,
    written: Option<Mark>,
) -> Result<End, Problem> {
    let name = path.display();
    let unreadable = |error| unreadable(path, error);
    let file = File::open(path).map_err(unreadable)?.take(length);
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    let mut end: Option<End> = None;
    let mut number = 0_u64;
    while file.read_until(b'\n', &mut line).map_err(unreadable)? > 0 {
        number += 1;
        let place = || format!("{name}:{number}");
        let broken = || Problem::from("the chain is broken").within(place());
        // A line without a break is not complete.
        line.pop_if(|byte| *byte == b'\n').ok_or_else(broken)?;
        let entry = Entry::parse(&line).ok_or_else(broken)?;
        let known = end.or(before);
        let last = match known {
            Some(end) => Some((end.last, end.link)),
            None => entry
                .continued()
                .and_then(|it| Some((entry.seq.checked_sub(1)?, it.link?))),
        };
        let seq = last.map_or(1, |(seq, _)| seq + 1);
        if entry.seq > seq {
            return Err(missing(seq).within(place()));
        }
        let last = last.map(|(_, link)| link);
        let expected = Hex::link(key, last.as_ref(), entry.covered.as_bytes());
        let is_other = |it: Mark| it.seq == entry.seq && it.link != entry.link;
        if entry.seq < seq || entry.link != expected || written.is_some_and(is_other) {
            return Err(broken());
        }
        let kept_from = known.map_or(0, |end| end.kept_from);
        end = Some(End {
            begin: known.map_or(entry.seq, |end| end.begin),
            continued: known.map_or(last, |end| end.continued),
            kept_from: entry.kept_from().unwrap_or(kept_from),
            first: end.map_or(entry.seq, |end| end.first),
            last: entry.seq,
            count: number,
            link: entry.link,
        });
        line.clear();
    }
    end.ok_or_else(|| {
        let seq = before.map_or(1, |before| before.last + 1);
        missing(seq).within(format!("{name}:1"))
    })
}

fn unreadable(path: &Path, error: io::Error) -> Problem {
    Problem::from(error).within(path.display().to_string())
}

fn missing(seq: u64) -> Problem {
    format!("record {seq} is missing").into()
}

// === impl End ===

impl End {
    /// Returns whether no record before the first one is missed.
    fn is_whole(&self, expect_first: Option<u64>) -> bool {
        // Without a statement of the server or of the operator, it is the first of all.
        let first = expect_first.unwrap_or(1).max(self.kept_from);
        self.begin <= first
    }
}

/// Returns the number of the first record, or the largest number for a file that has none.
fn first_seq(path: &Path) -> io::Result<u64> {
    let line = first_line(path)?;
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
