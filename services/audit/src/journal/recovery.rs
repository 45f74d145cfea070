//! Reads the end of an audit file, so that the next line continues it.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use tracing::{error, warn};

use crate::{
    OpenError,
    journal::mark::Mark,
    line::{
        backward::BackwardLines,
        chain::Hex,
        entry::{Entry, first_line},
    },
    names,
};

/// Bytes that are read first from the end of a file; more than most lines have.
const FIRST_WINDOW: u64 = 64 * 1024;

/// State of an audit trail before the next line.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Sequence number of the last line.
    pub(crate) seq: u64,
    /// Link of the last line.
    pub(crate) link: Option<Hex>,
    /// Sequence number of the first line of the file, if it has one.
    pub(crate) first: Option<u64>,
    /// Name of the file before, if this one is empty.
    pub(crate) before: Option<String>,
    /// Name of the file to which an incomplete line was moved.
    pub(crate) torn: Option<String>,
    /// Calls without a written end.
    pub(crate) lost: Vec<Lost>,
    /// Is true if the process of the last line did not write its end.
    pub(crate) is_unfinished: bool,
    /// Number of records at the end that were removed; 0 if the end was replaced.
    pub(crate) removed: Option<u64>,
}

/// A call without a written end.
#[derive(Debug)]
pub(crate) struct Lost {
    /// Sequence number of its `open` line.
    pub(crate) open: u64,
    /// Members of its `open` line.
    pub(crate) members: String,
}

// === impl Found ===

impl Found {
    /// Compares the end of the trail with a mark. If the marked record is not there, the next line
    /// continues after it, so that the chain shows that records are missing.
    pub(crate) fn check(&mut self, marked: Mark, path: &Path) -> io::Result<()> {
        let is_there = self.seq >= marked.seq
            && link_of(path, marked.seq)?.is_none_or(|link| link == marked.link);
        if is_there {
            return Ok(());
        }
        error!(
            path = %path.display(), last = self.seq, expected = marked.seq,
            "the end of the audit trail was removed or replaced while no server wrote it"
        );
        self.removed = Some(marked.seq.saturating_sub(self.seq));
        self.seq = self.seq.max(marked.seq);
        self.link = Some(marked.link);
        if self.first.is_none() && self.before.is_none() {
            self.before = Some(names::of(path));
        }
        Ok(())
    }
}

/// Reads a locked file and moves an incomplete last line away.
///
/// Calls without an end are looked for only if `with_lost` is true, since that reads all lines.
pub(crate) fn recover(path: &Path, file: &File, with_lost: bool) -> Result<Found, OpenError> {
    let failed = |error| OpenError::File(path.to_owned(), error);
    let mut found = Found::default();
    let (end, last) = last_line(file).map_err(failed)?;
    if end < file.metadata().map_err(failed)?.len() {
        found.torn = Some(move_torn(path, file, end).map_err(failed)?);
    }
    let mut newest = path.to_owned();
    let last = if last.is_some() {
        let first = first_line(path).map_err(failed)?;
        found.first = Entry::parse(&first).map(|entry| entry.seq);
        last
    } else {
        let archives = names::archives(path).map_err(failed)?;
        let Some(archive) = archives.into_iter().last() else {
            return Ok(found);
        };
        found.before = Some(names::of(&archive));
        newest = archive;
        let archive = File::open(&newest).map_err(failed)?;
        last_line(&archive).map_err(failed)?.1
    };
    if let Some(last) = last {
        let last = Entry::parse(&last).ok_or_else(|| OpenError::NotARecord(newest.clone()))?;
        (found.seq, found.link) = (last.seq, Some(last.link));
        found.is_unfinished = last.kind != "stop";
    }
    if with_lost {
        found.lost = lost(&newest).map_err(failed)?;
    }
    Ok(found)
}

/// Returns the end of the last complete line, and that line.
fn last_line(mut file: &File) -> io::Result<(u64, Option<Vec<u8>>)> {
    let length = file.metadata()?.len();
    let mut window = FIRST_WINDOW;
    loop {
        let start = length.saturating_sub(window);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(length - start).read_to_end(&mut bytes)?;
        let is_break = |byte: &u8| *byte == b'\n';
        let end = bytes.iter().rposition(is_break);
        if let Some((lines, _)) = end.and_then(|end| bytes.split_at_checked(end)) {
            let before = lines.iter().rposition(is_break);
            if before.is_some() || start == 0 {
                let line = lines.get(before.map_or(0, |at| at + 1)..);
                let end = start + lines.len() as u64 + 1;
                return Ok((end, line.map(<[u8]>::to_vec)));
            }
        } else if start == 0 {
            return Ok((0, None));
        }
        window = window.saturating_mul(4);
    }
}

/// Returns the link of a record, if it is in this file.
fn link_of(path: &Path, seq: u64) -> io::Result<Option<Hex>> {
    let mut lines = BackwardLines::new(File::open(path)?)?;
    while let Some((_, line)) = lines.previous()? {
        match Entry::parse(&line) {
            Some(entry) if entry.seq > seq => {}
            Some(entry) => return Ok((entry.seq == seq).then_some(entry.link)),
            None => break,
        }
    }
    Ok(None)
}

/// Moves what follows the last complete line to another file. Returns the name of that.
fn move_torn(path: &Path, mut file: &File, end: u64) -> io::Result<String> {
    let torn = names::torn(path);
    let mut options = OpenOptions::new();
    let mut kept = options.append(true).create(true).mode(0o600).open(&torn)?;
    file.seek(SeekFrom::Start(end))?;
    io::copy(&mut file, &mut kept)?;
    kept.write_all(b"\n")?;
    kept.sync_all()?;
    file.set_len(end)?;
    Ok(names::of(&torn))
}

/// Returns the calls of a file, and of those before it, that have not ended.
fn lost(newest: &Path) -> io::Result<Vec<Lost>> {
    let mut opens = BTreeMap::new();
    for path in files_with_opens(newest)?.iter().rev() {
        each_line(path, |line| {
            let Some(entry) = Entry::parse(line) else {
                return;
            };
            match (entry.kind, entry.open) {
                ("open", _) => {
                    opens.insert(entry.seq, entry.rest.to_owned());
                }
                ("call", Some(open)) => {
                    opens.remove(&open);
                }
                _ => {}
            }
        })?;
    }
    let lost = |(open, members)| Lost { open, members };
    Ok(opens.into_iter().map(lost).collect())
}

/// Returns the files in which calls may have begun that had not ended before the newest file.
fn files_with_opens(newest: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = vec![newest.to_owned()];
    let mut path = newest.to_owned();
    let mut oldest = u64::MAX;
    loop {
        let line = first_line(&path)?;
        let Some(entry) = Entry::parse(&line) else {
            break;
        };
        let Some(before) = entry.continued() else {
            break;
        };
        oldest = oldest.min(before.oldest_open.unwrap_or(u64::MAX));
        if oldest >= entry.seq {
            break;
        }
        // Only the name counts, so that a changed line cannot lead elsewhere.
        let name = Path::new(&before.file).file_name().unwrap_or_default();
        path = newest.with_file_name(name);
        if !path.is_file() || files.contains(&path) {
            let path = path.display();
            warn!(%path, "calls that had not ended cannot be read from an old audit file");
            break;
        }
        files.push(path.clone());
    }
    Ok(files)
}

fn each_line(path: &Path, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line)? > 0 {
        line.pop_if(|byte| *byte == b'\n');
        each(&line);
        line.clear();
    }
    Ok(())
}
