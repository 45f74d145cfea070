//! Search for records in the files of a trail, the latest first.

use std::{
    fmt,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    str::FromStr,
};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    Audit, Destination,
    line::{backward::BackwardLines, entry::Entry},
    names,
    verify::verify_trail,
};

/// Most bytes that one search reads.
const MAX_SCANNED: u64 = 32 << 20;

/// Most bytes of the records of a page.
const MAX_PAGE: usize = 8 << 20;

/// Size of all files up to which a search verifies them.
const MAX_VERIFIED: u64 = 32 << 20;

/// Records are written in the order of their ends, but for what happens at the same time.
const DISORDER: SignedDuration = SignedDuration::from_mins(1);

/// A search for records. Empty texts match all.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Records from this time on.
    pub from: Option<Timestamp>,
    /// Records before this time.
    pub to: Option<Timestamp>,
    /// Name of the caller, or kind and name such as `user:alice`.
    pub caller: String,
    /// The tool, or the method of a message that calls no tool.
    pub tool: String,
    /// Name of the database.
    pub database: String,
    /// Word for the end of the call.
    pub verdict: String,
    /// True for records with a statement only.
    pub has_statement: bool,
    /// Words of the record, in any case; each has to occur.
    pub words: String,
    /// Maximum number of records.
    pub limit: usize,
    /// End of an earlier page.
    pub before: Option<Position>,
}

/// Records of a trail.
#[derive(Clone, Debug)]
pub struct Page {
    /// The lines of the records, the latest first.
    pub records: Vec<String>,
    /// Start of the next page; `None` if there are no more records.
    pub next: Option<Position>,
    /// State of the chain of all records.
    pub chain: ChainState,
}

/// Position of a record in the files of a trail, whatever they are called by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    seq: u64,
    offset: u64,
}

/// A text that is no [`Position`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the end of a page")]
pub struct InvalidPosition;

/// State of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainState {
    /// All lines of all files are there, and unchanged, up to the last one that was written.
    Intact,
    /// Something was changed, removed or added.
    Broken,
    /// It was not verified: the files are large, or this is not the first page.
    Unchecked,
}

/// Members of a record that are searched.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Members {
    caller: RecordedCaller,
    tool: String,
    method: String,
    database: String,
    verdict: String,
    statement: Option<IgnoredAny>,
    at: Option<String>,
    kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RecordedCaller {
    kind: String,
    name: String,
}

/// A search in progress.
pub(crate) struct Scan<'a> {
    search: &'a Search,
    words: Vec<String>,
    records: Vec<String>,
    /// Bytes of the records.
    bytes: usize,
    /// Bytes of the lines so far.
    scanned: u64,
    /// Most bytes that are read.
    max_scanned: u64,
    /// The line that was read last.
    last: Option<Position>,
}

/// End of a file.
#[derive(PartialEq)]
enum FileEnd {
    /// Older files may have more.
    Reached,
    /// The search is over.
    Over,
    /// The page is full, or enough was read.
    Full,
}

// === impl Audit ===

impl Audit {
    /// Searches the files of this trail; `None` if it writes no file.
    ///
    /// It reads files, at most 32 MiB of them, and may take some tenths of a second: call it on a
    /// thread that may block. If it stops early, [`next`](Page::next) says where to go on.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if there is no record at the position.
    pub fn search(&self, search: &Search) -> io::Result<Option<Page>> {
        let settings = self.settings();
        let Destination::File(path) = &settings.destination else {
            return Ok(None);
        };
        let mut page = Scan::new(search).run(path)?;
        if search.before.is_none() && sum_of_sizes(path)? <= MAX_VERIFIED {
            let key = settings.key().map_err(io::Error::other)?;
            // A rotation, or a line that is being written, is no damage.
            let is_good = (0..3).any(|_| verify_trail(path, key.as_ref(), self.written()));
            page.chain = if is_good {
                ChainState::Intact
            } else {
                ChainState::Broken
            };
        }
        Ok(Some(page))
    }
}

// === impl Scan ===

impl<'a> Scan<'a> {
    pub(crate) fn new(search: &'a Search) -> Self {
        let words = search.words.split_whitespace();
        Self {
            words: words.map(str::to_lowercase).collect(),
            search,
            records: Vec::new(),
            bytes: 0,
            scanned: 0,
            max_scanned: MAX_SCANNED,
            last: None,
        }
    }

    /// Reads at most so many bytes.
    #[cfg(test)]
    pub(crate) fn with_most(mut self, bytes: u64) -> Self {
        self.max_scanned = bytes;
        self
    }

    pub(crate) fn run(mut self, path: &Path) -> io::Result<Page> {
        let mut files = files(path)?.into_iter();
        let mut end = FileEnd::Reached;
        if let Some(position) = self.search.before {
            end = self.read(&mut before(position, &mut files)?)?;
        }
        for path in files {
            if end != FileEnd::Reached {
                break;
            }
            if let Some(mut lines) = open(&path)? {
                end = self.read(&mut lines)?;
            }
        }
        Ok(Page {
            records: self.records,
            next: self.last.filter(|_| end == FileEnd::Full),
            chain: ChainState::Unchecked,
        })
    }

    /// Reads the lines of a file.
    fn read(&mut self, lines: &mut BackwardLines) -> io::Result<FileEnd> {
        while let Some((offset, line)) = lines.previous()? {
            self.scanned += line.len() as u64;
            let Some(entry) = Entry::parse(&line) else {
                continue;
            };
            let position = Position {
                seq: entry.seq,
                offset,
            };
            let members: Members = serde_json::from_slice(&line).unwrap_or_default();
            let at = members.at.as_deref().and_then(|at| at.parse().ok());
            if self.is_before(at) {
                return Ok(FileEnd::Over);
            }
            if self.fits(&members, at, &line) {
                self.bytes += line.len();
                self.records
                    .push(String::from_utf8_lossy(&line).into_owned());
            }
            self.last = Some(position);
            if self.records.len() >= self.search.limit
                || self.bytes >= MAX_PAGE
                || self.scanned >= self.max_scanned
            {
                return Ok(FileEnd::Full);
            }
        }
        Ok(FileEnd::Reached)
    }

    /// Returns whether no earlier line can be of the time that is searched.
    fn is_before(&self, at: Option<Timestamp>) -> bool {
        let from = self
            .search
            .from
            .and_then(|from| from.checked_sub(DISORDER).ok());
        at.zip(from).is_some_and(|(at, from)| at < from)
    }

    fn fits(&self, members: &Members, at: Option<Timestamp>, line: &[u8]) -> bool {
        let search = self.search;
        let is_of = |wanted: &str, member: &str| wanted.is_empty() || wanted == member;
        let RecordedCaller { kind, name } = &members.caller;
        // The end of a call repeats what stands in its `open` line.
        members.kind != "open"
            && search
                .from
                .is_none_or(|from| at.is_some_and(|at| at >= from))
            && search.to.is_none_or(|to| at.is_some_and(|at| at < to))
            && (is_of(&search.caller, name)
                || search.caller.split_once(':') == Some((&**kind, &**name)))
            && (is_of(&search.tool, &members.tool) || search.tool == members.method)
            && is_of(&search.database, &members.database)
            && is_of(&search.verdict, &members.verdict)
            && (!search.has_statement || members.statement.is_some())
            && self.has_words(line)
    }

    fn has_words(&self, line: &[u8]) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let line = String::from_utf8_lossy(line).to_lowercase();
        self.words.iter().all(|word| line.contains(word))
    }
}

// === impl Position ===

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.seq, self.offset)
    }
}

impl FromStr for Position {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        let (seq, offset) = text.split_once('-').ok_or(InvalidPosition)?;
        let number = |digits: &str| digits.parse().map_err(|_| InvalidPosition);
        Ok(Self {
            seq: number(seq)?,
            offset: number(offset)?,
        })
    }
}

// === impl ChainState ===

impl ChainState {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Broken => "broken",
            Self::Unchecked => "unchecked",
        }
    }
}

/// Returns the files of a trail, the latest first.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = names::archives(path)?;
    files.push(path.to_owned());
    files.reverse();
    Ok(files)
}

fn sum_of_sizes(path: &Path) -> io::Result<u64> {
    let sizes = files(path)?;
    let sizes = sizes.iter().filter_map(|path| path.metadata().ok());
    Ok(sizes.map(|about| about.len()).sum())
}

/// Opens a file at its end; `None` if it was renamed or deleted meanwhile.
fn open(path: &Path) -> io::Result<Option<BackwardLines>> {
    match File::open(path) {
        Ok(file) => BackwardLines::new(file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens the file with a record before that record; the files after it are left.
fn before(
    position: Position,
    files: &mut impl Iterator<Item = PathBuf>,
) -> io::Result<BackwardLines> {
    for path in files {
        let Ok(file) = File::open(path) else {
            continue;
        };
        if has(&file, position) {
            return Ok(BackwardLines::before(file, position.offset));
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, InvalidPosition))
}

/// Returns whether a file has this record at this position.
fn has(file: &File, position: Position) -> bool {
    let start = format!("{{\"v\":1,\"seq\":{},", position.seq);
    let mut found = vec![0; start.len()];
    let is_read = file.read_exact_at(&mut found, position.offset).is_ok();
    is_read && found == start.as_bytes()
}
