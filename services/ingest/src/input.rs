//! The documents of a run, read one after the other.

use std::{
    fmt,
    fs::File,
    io::{BufRead, BufReader},
    path::PathBuf,
    vec,
};

use ziggurat_documents::{
    Checksum, Document, FoundDocuments, JsonLines, Kind, Line, Roots, Source, read_file,
};

use crate::{
    error::IngestError,
    packed::checksum_of,
    prepared::{Origin, without_nul},
};

/// Name of standard input.
const STANDARD_INPUT: &str = "-";

/// Maximum length of an id, which an index of PostgreSQL can hold.
const MAX_ID: usize = 1024;

/// The documents of a run: those in folders and files, or lines of JSON.
#[derive(Debug)]
pub struct Input {
    found: FoundDocuments,
    lines: Option<Lines>,
}

/// Lines of JSON.
struct Lines {
    /// The file they are from.
    name: String,
    lines: JsonLines<Box<dyn BufRead + Send>>,
}

/// Reads the documents of a run.
pub(crate) struct InputReader {
    files: vec::IntoIter<Source>,
    lines: Option<Lines>,
    /// The settings that checksums depend on.
    settings: String,
}

/// Result of a step of reading.
pub(crate) enum Item {
    /// A document.
    Document(Origin, Content),
    /// A document that cannot be read.
    Skipped(Unread),
    /// The end of a file.
    FileRead,
}

/// Content of a document.
pub(crate) enum Content {
    /// A text in one of the formats.
    Text(Kind, String),
    /// A document that has been read.
    Read(Document),
    /// A file that is read by another process.
    Packed(Source),
}

/// A name that cannot be read.
pub(crate) struct Unread {
    pub(crate) name: String,
    pub(crate) reason: String,
    /// The document, file or folder whose rows are kept.
    pub(crate) kept: String,
}

// === impl Input ===

impl Input {
    /// Finds the documents in these folders and files.
    ///
    /// # Errors
    /// Fails if one of them is missing or overlaps with another one.
    pub fn paths(paths: &[PathBuf]) -> Result<Self, IngestError> {
        let found = FoundDocuments::search(paths, Roots::Any)?;
        Ok(Self { found, lines: None })
    }

    /// Reads documents as lines of JSON.
    #[must_use]
    pub fn lines(input: impl BufRead + Send + 'static) -> Self {
        let found = FoundDocuments {
            roots: vec![STANDARD_INPUT.to_owned()],
            ..FoundDocuments::default()
        };
        let lines = Lines::new(STANDARD_INPUT, Box::new(input));
        Self {
            found,
            lines: Some(lines),
        }
    }

    pub(crate) fn found(&self) -> &FoundDocuments {
        &self.found
    }

    /// Returns whether there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.sources.is_empty() && self.found.skipped.is_empty() && self.lines.is_none()
    }

    /// Returns the reader, with checksums that depend on these settings.
    pub(crate) fn reader(self, settings: String) -> InputReader {
        InputReader {
            files: self.found.sources.into_iter(),
            lines: self.lines,
            settings,
        }
    }
}

// === impl Lines ===

impl Lines {
    fn new(name: &str, input: Box<dyn BufRead + Send>) -> Self {
        Self {
            name: name.to_owned(),
            lines: JsonLines::new(input),
        }
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lines").field(&self.name).finish()
    }
}

// === impl InputReader ===

impl InputReader {
    /// Reads on; returns `None` at the end.
    ///
    /// # Errors
    /// Fails if standard input does. A file that fails is skipped.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, IngestError> {
        loop {
            let item = match (self.next_line()?, self.lines.is_some()) {
                (Some(item), _) => Some(item),
                (None, true) => {
                    self.lines = None;
                    Some(Item::FileRead)
                }
                (None, false) => match self.files.next() {
                    Some(source) => self.file(source),
                    None => return Ok(None),
                },
            };
            if item.is_some() {
                return Ok(item);
            }
        }
    }

    /// Reads the next line of the current file, if it has lines.
    fn next_line(&mut self) -> Result<Option<Item>, IngestError> {
        let Some(lines) = &mut self.lines else {
            return Ok(None);
        };
        let name = lines.name.clone();
        match lines.lines.next() {
            None => Ok(None),
            Some(Ok(line)) => Ok(Some(self.line(name, line))),
            Some(Err(error)) if name == STANDARD_INPUT => Err(IngestError::Input(error)),
            Some(Err(error)) => {
                self.lines = None;
                Ok(Some(Item::skipped(name, error.to_string())))
            }
        }
    }

    /// Reads a file; returns `None` if its lines are the documents.
    fn file(&mut self, source: Source) -> Option<Item> {
        let skipped =
            |error: &dyn fmt::Display| Some(Item::skipped(source.name.clone(), error.to_string()));
        match source.kind {
            Kind::JsonLines => match File::open(&source.path) {
                Ok(file) => {
                    let input = BufReader::new(file);
                    self.lines = Some(Lines::new(&source.name, Box::new(input)));
                    None
                }
                Err(error) => skipped(&error),
            },
            kind if kind.is_text() => match read_file(&source.path) {
                Ok(text) => {
                    let origin = self.origin(&source, &text);
                    Some(Item::checked(origin, Content::Text(kind, text)))
                }
                Err(error) => skipped(&error),
            },
            _ => match checksum_of(&source) {
                Ok(checksum) => {
                    let origin = self.origin(&source, &checksum);
                    Some(Item::checked(origin, Content::Packed(source)))
                }
                Err(reason) => skipped(&reason),
            },
        }
    }

    fn origin(&self, source: &Source, text: &str) -> Origin {
        let parts = [source.root(), source.kind.name(), text];
        Origin {
            id: without_nul(&source.name),
            source: without_nul(source.root()),
            url: None,
            checksum: self.checksum(parts),
            title: source.title(),
        }
    }

    fn checksum<const N: usize>(&self, parts: [&str; N]) -> String {
        let begun = Checksum::default().with(&self.settings);
        parts.into_iter().fold(begun, Checksum::with).finish()
    }

    fn line(&self, name: String, line: Line) -> Item {
        match line.record {
            Ok(record) => {
                let origin = Origin {
                    id: without_nul(&record.id),
                    checksum: self.checksum([&*name, Kind::JsonLines.name(), &record.line]),
                    source: name,
                    url: record.url,
                    title: None,
                };
                Item::checked(origin, Content::Read(record.document))
            }
            Err(reason) => Item::Skipped(Unread {
                name: format!("{name}, line {}", line.number),
                reason,
                // Any document of the file could be the one that cannot be read.
                kept: name,
            }),
        }
    }
}

// === impl Item ===

impl Item {
    fn skipped(name: String, reason: String) -> Self {
        let kept = name.clone();
        Self::Skipped(Unread { name, reason, kept })
    }

    fn checked(origin: Origin, content: Content) -> Self {
        if origin.id.len() <= MAX_ID {
            return Self::Document(origin, content);
        }
        Self::Skipped(Unread {
            reason: format!("its id has more than {MAX_ID} bytes"),
            kept: origin.id.clone(),
            name: origin.id,
        })
    }
}
