//! The documents of a run, read one after the other.

use std::{
    collections::HashSet,
    fmt,
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
    place::{Place, Seen, digest},
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
    /// One for each folder and file that was named.
    pub(crate) places: Vec<Place>,
}

/// Lines of JSON.
struct Lines {
    /// The file they are from, and its source.
    name: String,
    source: String,
    json: JsonLines<Box<dyn BufRead + Send>>,
}

/// Reads the documents of a run.
pub(crate) struct InputReader {
    files: vec::IntoIter<Source>,
    lines: Option<Lines>,
    places: Vec<Place>,
    /// The settings that checksums depend on.
    settings: String,
    /// Address of a document that has none, with `{path}` for its path.
    url: Option<String>,
}

/// Result of a step of reading.
pub(crate) enum Item {
    /// A document.
    Document(Origin, Content),
    /// A document, file or folder that cannot be read.
    Skipped {
        name: String,
        reason: String,
        /// Beginnings of the ids and sources of the rows to keep.
        unread: Vec<String>,
    },
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

// === impl Input ===

impl Input {
    /// Finds the documents in these folders and files.
    ///
    /// # Errors
    /// Fails if one of them is missing or overlaps with another one.
    pub fn paths(paths: &[PathBuf]) -> Result<Self, IngestError> {
        let found = FoundDocuments::search(paths, Roots::Any)?;
        let places = found.roots.iter().map(|root| Place::of(root)).collect();
        Ok(Self {
            found,
            lines: None,
            places,
        })
    }

    /// Gives the documents this source instead of the path of the folder or file they are in.
    #[must_use]
    pub fn with_source(mut self, source: &str) -> Self {
        for place in &mut self.places {
            place.rename(source);
        }
        if let Some(lines) = &mut self.lines {
            source.clone_into(&mut lines.source);
        }
        self
    }

    /// Reads documents as lines of JSON.
    #[must_use]
    pub fn lines(input: impl BufRead + Send + 'static) -> Self {
        let place = Place::named(STANDARD_INPUT);
        Self {
            found: FoundDocuments::default(),
            lines: Some(Lines::new(STANDARD_INPUT, &place.source, Box::new(input))),
            places: vec![place],
        }
    }

    pub(crate) fn found(&self) -> &FoundDocuments {
        &self.found
    }

    /// Returns whether there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.sources.is_empty() && self.found.skipped.is_empty() && self.lines.is_none()
    }

    /// Returns the files and folders that could not be read.
    pub(crate) fn unread(&self) -> Vec<String> {
        let skipped = self.found.skipped.iter().map(|(name, _)| name);
        let unread = skipped.filter_map(|name| {
            let place = self.places.iter().find(|place| place.has(name))?;
            Some(place.unread(name))
        });
        unread.flatten().collect()
    }

    /// Returns the documents that are known before anything is read. Documents of lines are not
    /// known yet.
    pub(crate) fn seen(&self) -> Seen {
        let mut ids = HashSet::new();
        let mut unread = self.unread();
        unread.extend(self.lines.as_ref().map(|lines| lines.source.clone()));
        for source in &self.found.sources {
            let place = place_of(&self.places, source);
            if source.kind == Kind::JsonLines {
                unread.push(place.lines(&source.name));
            } else {
                ids.insert(digest(&place.id(&source.name)));
            }
        }
        Seen { ids, unread }
    }

    /// Returns the reader, with checksums that depend on these settings.
    pub(crate) fn reader(self, settings: String, url: Option<String>) -> InputReader {
        InputReader {
            files: self.found.sources.into_iter(),
            lines: self.lines,
            places: self.places,
            settings,
            url,
        }
    }
}

// === impl Lines ===

impl Lines {
    fn new(name: &str, source: &str, input: Box<dyn BufRead + Send>) -> Self {
        Self {
            name: name.to_owned(),
            source: source.to_owned(),
            json: JsonLines::new(input),
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
        let (name, source) = (lines.name.clone(), lines.source.clone());
        match lines.json.next() {
            None => Ok(None),
            Some(Ok(line)) => Ok(Some(self.line(name, source, line))),
            Some(Err(error)) if name == STANDARD_INPUT => Err(IngestError::Input(error)),
            Some(Err(error)) => {
                self.lines = None;
                Ok(Some(Item::Skipped {
                    name,
                    reason: error.to_string(),
                    unread: vec![source],
                }))
            }
        }
    }

    /// Reads a file; returns `None` if its lines are the documents.
    fn file(&mut self, source: Source) -> Option<Item> {
        let place = place_of(&self.places, &source);
        let skipped = |error: &dyn fmt::Display| {
            Some(Item::Skipped {
                name: source.name.clone(),
                reason: error.to_string(),
                unread: place.unread(&source.name),
            })
        };
        match source.kind {
            Kind::JsonLines => match source.open() {
                Ok(file) => {
                    let (input, from) = (BufReader::new(file), place.lines(&source.name));
                    self.lines = Some(Lines::new(&source.name, &from, Box::new(input)));
                    None
                }
                Err(error) => skipped(&error),
            },
            kind if kind.is_text() => match read_file(&source) {
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
                Err(error) => skipped(&error),
            },
        }
    }

    fn origin(&self, source: &Source, text: &str) -> Origin {
        let place = place_of(&self.places, source);
        let parts = [&*source.root.name, source.kind.name(), text];
        let url = self.url.as_ref();
        Origin {
            id: place.id(&source.name),
            source: place.source.clone(),
            old_source: place.name.clone(),
            url: None,
            usual_url: url.map(|url| url.replace("{path}", &place.path(&source.name))),
            checksum: self.checksum(parts),
            title: source.title(),
        }
    }

    fn checksum<const N: usize>(&self, parts: [&str; N]) -> String {
        let begun = Checksum::default().with(&self.settings);
        parts.into_iter().fold(begun, Checksum::with).finish()
    }

    fn line(&self, name: String, source: String, line: Line) -> Item {
        match line.record {
            Ok(record) => {
                let origin = Origin {
                    id: without_nul(&record.id),
                    checksum: self.checksum([&*name, Kind::JsonLines.name(), &record.line]),
                    source,
                    old_source: name,
                    url: record.url,
                    usual_url: None,
                    title: None,
                };
                Item::checked(origin, Content::Read(record.document))
            }
            Err(reason) => Item::Skipped {
                name: format!("{name}, line {}", line.number),
                reason: reason.to_string(),
                // Any document of the file could be the one that cannot be read.
                unread: vec![source],
            },
        }
    }
}

// === impl Item ===

impl Item {
    fn checked(origin: Origin, content: Content) -> Self {
        if origin.id.len() <= MAX_ID {
            return Self::Document(origin, content);
        }
        Self::Skipped {
            reason: format!("its id has more than {MAX_ID} bytes"),
            unread: vec![origin.id.clone()],
            name: origin.id,
        }
    }
}

/// Returns the place of a file.
fn place_of<'a>(places: &'a [Place], source: &Source) -> &'a Place {
    let mut places = places.iter();
    let place = places.find(|place| place.name == source.root.name);
    place.expect("each folder has a place")
}
