//! Sources of documents, and what their ids begin with.

use std::{collections::HashSet, path::Path};

use ziggurat_documents::{Checksum, Root};
use ziggurat_text::percent;

/// Length of the digest that makes the ids of a source different.
const DIGEST: usize = 8;

/// Separator between a folder and a file of lines in it. No path has it otherwise.
pub(crate) const LINES: &str = "//";

/// Digest of a text, for sets of many.
pub(crate) type Digest = u128;

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

/// The documents of a run, and the beginnings of ids and sources that could not be read: their rows
/// are kept.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) ids: HashSet<Digest>,
    pub(crate) unread: Vec<String>,
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

    /// Returns the id of a document by its name in messages, which begins with the name of the
    /// place.
    pub(crate) fn id(&self, name: &str) -> String {
        format!("{}{}", self.prefix, self.below(name))
    }

    /// Returns the source of a file of lines, or of the place itself.
    pub(crate) fn lines(&self, name: &str) -> String {
        match self.below(name).strip_prefix('/') {
            Some(path) => format!("{}{LINES}{path}", self.source),
            None => self.source.clone(),
        }
    }

    /// Returns whether a source is the one of the place, or of a file of lines in it.
    pub(crate) fn owns(&self, source: &str) -> bool {
        let rest = source.strip_prefix(&self.source);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(LINES))
    }

    /// Returns the path of a document within an address.
    pub(crate) fn path(&self, name: &str) -> String {
        let path = self.below(name).strip_prefix('/').unwrap_or(name);
        percent::encode(path)
            .collect::<String>()
            .replace("%2F", "/")
    }

    /// Returns the beginnings of the ids and of the sources of a file or folder.
    pub(crate) fn unread(&self, name: &str) -> Vec<String> {
        vec![self.id(name), self.lines(name)]
    }

    fn below<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(&self.name).unwrap_or_default()
    }
}

// === impl Seen ===

impl Seen {
    pub(crate) fn has(&self, id: &str) -> bool {
        self.ids.contains(&digest(id))
    }

    /// Returns whether a document could not be read, or may be one that could not.
    pub(crate) fn is_unread(&self, id: &str, source: &str) -> bool {
        let mut unread = self.unread.iter();
        unread.any(|folder| is_below(id, folder) || is_below(source, folder))
    }
}

/// Returns the digest of a text.
pub(crate) fn digest(text: &str) -> Digest {
    let hex = Checksum::default().with(text).finish();
    Digest::from_str_radix(&hex[..32], 16).unwrap_or_default()
}

fn is_below(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
