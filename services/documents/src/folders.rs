//! Finds the documents in some folders.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{Dir, Mode, OFlags, open, openat},
    io::Errno,
};
use thiserror::Error;

use crate::kind::Kind;

/// Maximum depth of nested folders; a deeper tree is a mistake.
const MAX_DEPTH: usize = 64;

/// Flags that open a folder: never through a link.
const FOLDER: OFlags = OFlags::DIRECTORY.union(NO_LINK);

/// Flags that open a file: never through a link, and without waiting for the writer of a pipe.
const FILE: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(NO_LINK);

const NO_LINK: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// A folder that documents are searched in, or a file that was named itself.
#[derive(Debug)]
pub struct Root {
    /// The last part of its path.
    pub name: String,
    /// Its path without links.
    pub path: PathBuf,
    /// The folder, or the one that the file is in, and its path.
    folder: OwnedFd,
    base: PathBuf,
}

/// A file that is a document, or that has some.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name of the folder, and the path below it; independent of the working directory.
    pub name: String,
    /// Its format.
    pub kind: Kind,
    /// The folder that it was found in, or the file that was named itself.
    pub root: Arc<Root>,
    /// Its path below the opened folder, without links.
    path: PathBuf,
}

/// The documents in some folders, by name.
#[derive(Debug, Default)]
pub struct FoundDocuments {
    /// The folders, and the files that were named themselves.
    pub roots: Vec<Arc<Root>>,
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

// === impl Root ===

impl Root {
    /// Opens a folder or a file, given without links.
    fn open(path: PathBuf) -> io::Result<Self> {
        let name = path.file_name().unwrap_or(OsStr::new("root"));
        let name = name.to_string_lossy().into_owned();
        let base = match path.parent() {
            Some(parent) if !path.is_dir() => parent.to_owned(),
            _ => path.clone(),
        };
        let folder = open(&base, FOLDER, Mode::empty())?;
        Ok(Self {
            name,
            path,
            folder,
            base,
        })
    }
}

// === impl Source ===

impl Source {
    /// Opens the file below the folder. A link that took the place of the file or of a folder since
    /// the search is not followed: it would publish other files of the machine.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or if there is something else now.
    pub fn open(&self) -> io::Result<File> {
        let mut folder = None;
        for part in self.path.parent().into_iter().flatten() {
            let above = folder.as_ref().unwrap_or(&self.root.folder);
            folder = Some(openat(above, part, FOLDER, Mode::empty())?);
        }
        let folder = folder.as_ref().unwrap_or(&self.root.folder);
        let name = self.path.file_name().unwrap_or_default();
        let file = File::from(openat(folder, name, FILE, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file any more"));
        }
        Ok(file)
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
        let mut found = Self::default();
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
            let root = Root::open(path).map_err(|error| problem(error.to_string()))?;
            for other in &found.roots {
                if root.path.starts_with(&other.path) || other.path.starts_with(&root.path) {
                    let other = other.path.display();
                    return Err(problem(format!("it overlaps with {other}")));
                }
                if other.name == root.name {
                    let name = &root.name;
                    return Err(problem(format!("another folder is called '{name}' too")));
                }
            }
            found.roots.push(Arc::new(root));
        }
        for root in found.roots.clone() {
            match root.path.strip_prefix(&root.base) {
                Ok(file) if file != Path::new("") => found.file(&root, file, root.name.clone()),
                _ => found.folder(&root, (&root.folder, Path::new("")), &root.name, 0),
            }
        }
        found.sources.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn folder(
        &mut self,
        root: &Arc<Root>,
        (folder, path): (&OwnedFd, &Path),
        name: &str,
        depth: usize,
    ) {
        if depth > MAX_DEPTH {
            return self.skip(name, format!("more than {MAX_DEPTH} folders deep"));
        }
        let entries = match Dir::read_from(folder) {
            Ok(entries) => entries,
            Err(error) => return self.skip(name, error.to_string()),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.skip(name, error.to_string());
                    continue;
                }
            };
            let own = OsStr::from_bytes(entry.file_name().to_bytes());
            if own.as_bytes().starts_with(b".") {
                continue;
            }
            let name = format!("{name}/{}", own.to_string_lossy());
            let path = path.join(own);
            match openat(folder, own, FOLDER, Mode::empty()) {
                Ok(inner) => self.folder(root, (&inner, &path), &name, depth + 1),
                Err(Errno::NOTDIR | Errno::LOOP) => self.file(root, &path, name),
                Err(error) => self.skip(&name, error.to_string()),
            }
        }
    }

    fn skip(&mut self, name: &str, reason: String) {
        self.skipped.push((name.to_owned(), reason));
    }

    fn file(&mut self, root: &Arc<Root>, path: &Path, name: String) {
        let kind = Kind::of(path);
        let path = match fs::canonicalize(root.base.join(path)) {
            Ok(path) => path,
            Err(error) => {
                let skipped = kind.map(|_| (name, error.to_string()));
                return self.skipped.extend(skipped);
            }
        };
        let is_folder = path.is_dir();
        match (path.strip_prefix(&root.base), kind) {
            (_, None) if !is_folder => self.left_out.push((name, "no format that is read")),
            (Err(_), _) => {
                let reason = "the link leads out of the folder";
                self.left_out.push((name, reason));
            }
            _ if is_folder => {
                let reason = "links to folders are not followed";
                self.left_out.push((name, reason));
            }
            (Ok(below), Some(kind)) if path.is_file() => self.sources.push(Source {
                path: below.to_owned(),
                name,
                kind,
                root: Arc::clone(root),
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
