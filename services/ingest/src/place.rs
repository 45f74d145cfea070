//! Sources of documents, and what their ids begin with.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ziggurat_documents::{Checksum, Root};

/// Length of the digest that makes the ids of a source different.
const DIGEST: usize = 8;

/// Separator between a folder and a file of lines in it. No path has it otherwise.
const LINES: &str = "//";

/// Characters of a path that an address has as they are.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A folder or file that was named, or standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The last part of its path: the source that the rows of the first version have.
    pub(crate) name: String,
    /// The source that its rows have.
    pub(crate) source: String,
    /// Beginning of the ids of its documents.
    pub(crate) prefix: String,
}

/// Documents that may exist although they could not be read: their rows are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unread {
    /// A document, or a folder of them.
    id: Option<String>,
    /// A source.
    source: Option<String>,
}

// === impl Place ===

impl Place {
    pub(crate) fn of(root: &Root) -> Self {
        Self {
            source: root.path.to_string_lossy().into_owned(),
            ..Self::named(&root.name)
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            source: name.to_owned(),
            prefix: name.to_owned(),
        }
    }

    /// Replaces the source. The ids begin with its last part, as with the path of a folder.
    pub(crate) fn rename(&mut self, source: &str) {
        source.clone_into(&mut self.source);
        let last = Path::new(source).file_name();
        self.prefix = last.map_or_else(|| source.to_owned(), |name| name.to_string_lossy().into());
    }

    /// Returns a beginning for the ids that no other source has.
    pub(crate) fn own_prefix(&self) -> String {
        let digest = Checksum::default().with(&self.source).finish();
        format!("{}~{}", self.prefix, &digest[..DIGEST])
    }

    /// Returns whether a file or folder is the place or below it, by its name in messages.
    pub(crate) fn has(&self, name: &str) -> bool {
        is_below(name, &self.name)
    }

    /// Returns the id of a document by its name in messages, which begins with that of the place.
    pub(crate) fn id(&self, name: &str) -> String {
        format!("{}{}", self.prefix, &name[self.name.len()..])
    }

    /// Returns the source of a file of lines.
    pub(crate) fn lines(&self, name: &str) -> String {
        match name[self.name.len()..].strip_prefix('/') {
            Some(path) => format!("{}{LINES}{path}", self.source),
            None => self.source.clone(),
        }
    }

    /// Returns the path of a document within an address.
    pub(crate) fn path(&self, name: &str) -> String {
        let path = name[self.name.len()..].strip_prefix('/').unwrap_or(name);
        utf8_percent_encode(path, PATH).to_string()
    }

    pub(crate) fn unread(&self, name: &str) -> Unread {
        Unread {
            id: Some(self.id(name)),
            source: Some(self.lines(name)),
        }
    }

    /// Returns the source that rows with one of the first version get.
    pub(crate) fn new_source(&self, old: &str) -> Option<String> {
        let is_old = self.has(old) && old != self.lines(old);
        is_old.then(|| self.lines(old))
    }

    /// Returns the beginning of the sources of files of lines in the folder.
    pub(crate) fn all_lines(&self) -> String {
        format!("{}{LINES}", self.source)
    }
}

// === impl Unread ===

impl Unread {
    pub(crate) fn of_id(id: String) -> Self {
        Self {
            id: Some(id),
            source: None,
        }
    }

    pub(crate) fn of_source(source: String) -> Self {
        Self {
            id: None,
            source: Some(source),
        }
    }

    /// Returns whether a document is one of them, or may be.
    pub(crate) fn has(&self, id: &str, source: &str) -> bool {
        let has = |folder: &Option<String>, name: &str| {
            let folder = folder.as_deref();
            folder.is_some_and(|folder| is_below(name, folder))
        };
        has(&self.id, id) || has(&self.source, source)
    }
}

fn is_below(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
