//! The files of definitions: one file or a folder of files, and the files that they include.

use std::{
    collections::{BTreeSet, HashSet},
    fs::{self, File as OpenFile},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::custom::{DefinitionsError, MAX_BYTES, data, file::File};

/// Limits on the number of files, and on the files that include each other.
const MAX_FILES: usize = 64;
const MAX_DEPTH: usize = 4;

/// The files of definitions: the configured file, or the files of the configured folder, and the
/// files that they include.
#[derive(Clone, Debug)]
pub struct DefinitionFiles {
    path: PathBuf,
    paths: BTreeSet<PathBuf>,
    digest: u64,
}

/// A file that has been read.
pub(super) struct DefinitionFile {
    /// Its name in errors; empty for the only file.
    pub(super) label: String,
    /// Its name in errors of tools, relative to the configured path.
    pub(super) name: String,
    pub(super) yaml: String,
    pub(super) file: File,
}

/// Reads files and remembers them.
#[derive(Default)]
struct Reader {
    /// The folder that includes must not leave, without symbolic links.
    root: PathBuf,
    /// The name of the folder, if a folder is configured.
    folder: PathBuf,
    is_folder: bool,
    seen: HashSet<PathBuf>,
    sources: Vec<DefinitionFile>,
    /// The paths that were looked at, also those that could not be read.
    paths: BTreeSet<PathBuf>,
    hasher: DefaultHasher,
}

// === impl DefinitionFiles ===

impl DefinitionFiles {
    /// Reads the configured file or folder.
    pub(super) fn read(path: &Path) -> (Self, Result<Vec<DefinitionFile>, DefinitionsError>) {
        let mut reader = Reader::default();
        let read = reader.read(path);
        let files = Self {
            path: path.to_owned(),
            paths: reader.paths,
            digest: reader.hasher.finish(),
        };
        (files, read.map(|()| reader.sources))
    }

    /// Returns a number that is another one when other files or contents were read.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns the paths to watch for changes of the definitions: all paths that were read, and the
    /// files that the folder has now.
    #[must_use]
    pub fn paths(&self) -> BTreeSet<PathBuf> {
        let mut paths = self.paths.clone();
        paths.insert(if self.path.is_dir() {
            // Stands for files that the folder does not have yet.
            self.path.join("*.yaml")
        } else {
            self.path.clone()
        });
        paths.extend(files_of(&self.path).unwrap_or_default());
        paths
    }
}

/// Returns the files of a folder in the order of their names, or none of a file.
fn files_of(path: &Path) -> Result<BTreeSet<PathBuf>, DefinitionsError> {
    let mut paths = BTreeSet::new();
    if !path.is_dir() {
        return Ok(paths);
    }
    for entry in fs::read_dir(path).map_err(DefinitionsError::Read)? {
        let path = entry.map_err(DefinitionsError::Read)?.path();
        if check_format(&path).is_ok() && path.is_file() {
            paths.insert(path);
        }
    }
    Ok(paths)
}

/// Reads the text of a file.
pub(super) fn parse(yaml: &str) -> Result<File, DefinitionsError> {
    if yaml.len() as u64 > MAX_BYTES {
        return Err(DefinitionsError::TooLarge);
    }
    data::check_size(yaml).map_err(DefinitionsError::parse)?;
    let file: Option<File> = serde_yaml::from_str(yaml).map_err(DefinitionsError::parse)?;
    Ok(file.unwrap_or_default())
}

fn check_format(path: &Path) -> Result<(), DefinitionsError> {
    let format = path.extension().unwrap_or_default();
    let mut known = ["yaml", "yml"].iter();
    if known.any(|known| format.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    Err(DefinitionsError::Format(match format.to_string_lossy() {
        none if none.is_empty() => "none (must be .yaml or .yml)".to_owned(),
        other => format!(".{other} (must be .yaml or .yml)"),
    }))
}

fn text(path: &Path) -> Result<String, DefinitionsError> {
    let file = OpenFile::open(path).map_err(DefinitionsError::Read)?;
    let mut yaml = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut yaml)
        .map_err(DefinitionsError::Read)?;
    String::from_utf8(yaml).map_err(DefinitionsError::parse)
}

// === impl Reader ===

impl Reader {
    /// Reads the configured file or folder.
    fn read(&mut self, path: &Path) -> Result<(), DefinitionsError> {
        self.is_folder = path.is_dir();
        let root = match path.parent() {
            _ if self.is_folder => path,
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let folder = path.file_name().filter(|_| self.is_folder);
        self.root = root.canonicalize().map_err(DefinitionsError::Read)?;
        self.folder = folder.unwrap_or_default().into();
        if !self.is_folder {
            check_format(path)?;
            return self.add(path, 0);
        }
        for path in files_of(path)? {
            self.add(&path, 0)?;
        }
        Ok(())
    }

    /// Reads a file and those that it includes, each once.
    fn add(&mut self, path: &Path, depth: usize) -> Result<(), DefinitionsError> {
        self.paths.insert(path.to_owned());
        let real = path.canonicalize().map_err(DefinitionsError::Read)?;
        if !self.seen.insert(real.clone()) {
            return Ok(());
        }
        let inside = real.strip_prefix(&self.root).unwrap_or(&real);
        let name = self.folder.join(inside).display().to_string();
        let label = if self.is_folder || depth > 0 {
            name.clone()
        } else {
            String::new()
        };
        if self.sources.len() == MAX_FILES {
            let problem = format!("there are more than {MAX_FILES} files");
            return Err(DefinitionsError::Invalid(problem.into()));
        }
        let yaml = text(path);
        (&name, yaml.as_ref().ok()).hash(&mut self.hasher);
        let parsed = yaml.and_then(|yaml| Ok((parse(&yaml)?, yaml)));
        let (mut file, yaml) = parsed.map_err(|error| error.within(&label))?;
        let includes = file.include.take().unwrap_or_default();
        self.sources.push(DefinitionFile {
            label: label.clone(),
            name,
            yaml,
            file,
        });
        let folder = path.parent().unwrap_or(Path::new("."));
        for include in includes {
            let added = self.include(folder, &include, depth + 1);
            added.map_err(|error| error.within(&label))?;
        }
        Ok(())
    }

    fn include(
        &mut self,
        folder: &Path,
        include: &str,
        depth: usize,
    ) -> Result<(), DefinitionsError> {
        let path = folder.join(include);
        let within = |error: DefinitionsError| error.within(&format!("include {include}"));
        if depth > MAX_DEPTH {
            let problem = format!("files include each other more than {MAX_DEPTH} deep");
            return Err(within(DefinitionsError::Invalid(problem.into())));
        }
        check_format(&path).map_err(within)?;
        // Watched also if it does not exist yet.
        self.paths.insert(path.clone());
        let real = path.canonicalize();
        let real = real.map_err(|error| within(DefinitionsError::Read(error)))?;
        if !real.starts_with(&self.root) {
            let problem = "the path leaves the folder of the first file";
            return Err(within(DefinitionsError::Invalid(problem.into())));
        }
        self.add(&path, depth)
    }
}
