//! Finds the documents in some folders.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::kind::Kind;

/// Maximum depth of nested folders; a deeper tree is a mistake.
const MAX_DEPTH: usize = 64;

/// A file that is a document, or that has some.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its location.
    pub path: PathBuf,
    /// The name of the folder, and the path below it; independent of the working directory.
    pub name: String,
    /// Length of the name of the folder, or of the file that was named itself.
    root: usize,
    /// Its format.
    pub kind: Kind,
}

/// The documents in some folders, by name.
#[derive(Debug, Default)]
pub struct FoundDocuments {
    /// The names of the folders, and of the files that were named themselves.
    pub roots: Vec<String>,
    /// The documents.
    pub sources: Vec<Source>,
    /// Names that could not be read, with the reason.
    pub skipped: Vec<(String, String)>,
    /// Files that are no documents and links that are not followed, with the reason.
    pub left_out: Vec<(String, &'static str)>,
}

/// Kind of the paths that documents are searched in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roots {
    /// Folders only.
    Folders,
    /// Folders and files.
    Any,
}

/// Reason why a folder cannot be used.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct FolderError {
    /// The folder.
    pub path: PathBuf,
    /// The reason.
    pub problem: String,
}

// === impl Source ===

impl Source {
    /// Returns the name of the folder that it was found in, or its own if it was named itself.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.name[..self.root]
    }

    /// Returns the title of a document that has none itself: its file name without the extension.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        let name = Path::new(&self.name).file_stem();
        name.map(|name| name.to_string_lossy().into())
    }
}

// === impl FoundDocuments ===

impl FoundDocuments {
    /// Finds documents. Hidden files are ignored. A symbolic link is followed only to a file below
    /// the same folder: a link out of it would publish other files of the machine.
    ///
    /// # Errors
    /// Fails if a folder is missing, overlaps with another one, or has the name of another one.
    pub fn search(folders: &[PathBuf], allowed: Roots) -> Result<Self, FolderError> {
        let mut roots: Vec<(PathBuf, String)> = Vec::new();
        for folder in folders {
            let problem = |problem: String| FolderError {
                path: folder.clone(),
                problem,
            };
            let path = fs::canonicalize(folder).map_err(|error| problem(error.to_string()))?;
            let is_allowed = allowed == Roots::Any && path.is_file();
            if !path.is_dir() && !is_allowed {
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
            if path.is_dir() {
                found.folder((path, name.len()), path, name, 0);
            } else {
                found.file((path, name.len()), path, name.clone());
            }
        }
        found.roots = roots.into_iter().map(|(_, name)| name).collect();
        found.sources.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn folder(&mut self, root: (&Path, usize), folder: &Path, name: &str, depth: usize) {
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

    fn file(&mut self, (root, length): (&Path, usize), path: &Path, name: String) {
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
            return self.left_out.push((name, "no format that is read"));
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
            self.sources.push(Source {
                path,
                name,
                root: length,
                kind,
            });
        }
    }
}
