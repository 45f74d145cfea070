//! Finds the documents in some folders.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::BuildError;
use crate::document::Kind;

/// Maximum depth of nested folders; a deeper tree is a mistake.
const MAX_DEPTH: usize = 64;

/// A file that is a document.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// The name of the folder, and the path below it; independent of the working directory.
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// The documents in the folders, by name.
#[derive(Debug, Default)]
pub(super) struct FoundDocuments {
    pub(super) sources: Vec<Source>,
    /// Names that could not be read, with the reason.
    pub(super) skipped: Vec<(String, String)>,
    /// Links that are not followed, with the reason.
    pub(super) left_out: Vec<(String, &'static str)>,
}

// === impl FoundDocuments ===

impl FoundDocuments {
    /// Finds documents. Hidden files are ignored. A symbolic link is followed only to a file below
    /// the same folder: a link out of it would publish other files of the machine.
    pub(super) fn search(folders: &[PathBuf]) -> Result<Self, BuildError> {
        let mut roots: Vec<(PathBuf, String)> = Vec::new();
        for folder in folders {
            let problem = |problem: String| BuildError::Folder {
                path: folder.clone(),
                problem,
            };
            let path = fs::canonicalize(folder).map_err(|error| problem(error.to_string()))?;
            if !path.is_dir() {
                return Err(problem("it is not a folder".to_owned()));
            }
            let name = path.file_name().unwrap_or(OsStr::new("root"));
            let name = name.to_string_lossy().into_owned();
            for (other, taken) in &roots {
                if path.starts_with(other) || other.starts_with(&path) {
                    return Err(problem(format!("it overlaps with {}", other.display())));
                }
                if *taken == name {
                    return Err(problem(format!("another folder is called '{name}' too")));
                }
            }
            roots.push((path, name));
        }
        let mut found = Self::default();
        for (path, name) in &roots {
            found.folder(path, path, name, 0);
        }
        found.sources.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn folder(&mut self, root: &Path, folder: &Path, name: &str, depth: usize) {
        let mut skip = |name: &str, reason: String| self.skipped.push((name.to_owned(), reason));
        if depth > MAX_DEPTH {
            return skip(name, format!("more than {MAX_DEPTH} folders deep"));
        }
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return skip(name, error.to_string()),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.skipped.push((name.to_owned(), error.to_string()));
                    continue;
                }
            };
            let own = entry.file_name();
            let own = own.to_string_lossy();
            if own.starts_with('.') {
                continue;
            }
            let name = format!("{name}/{own}");
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.folder(root, &path, &name, depth + 1);
            } else {
                self.file(root, &path, name);
            }
        }
    }

    fn file(&mut self, root: &Path, path: &Path, name: String) {
        let kind = Kind::of(path);
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) => {
                let skipped = kind.map(|_| (name, error.to_string()));
                return self.skipped.extend(skipped);
            }
        };
        let is_folder = path.is_dir();
        if !is_folder && kind.is_none() {
            return;
        }
        if !path.starts_with(root) {
            return self
                .left_out
                .push((name, "the link leads out of the folder"));
        }
        if is_folder {
            return self
                .left_out
                .push((name, "links to folders are not followed"));
        }
        if let Some(kind) = kind.filter(|_| path.is_file()) {
            self.sources.push(Source { path, name, kind });
        }
    }
}
