//! The files of definitions: one, or those of a folder, and the files that they include.

use std::{
    collections::HashSet,
    fs::{self, File as OpenFile},
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{DefinitionsError, MAX_BYTES, expanded_size, file::File};

/// Limits on the number of files, and on the files that include each other.
const MAX_FILES: usize = 64;
const MAX_DEPTH: usize = 4;

/// A file that has been read.
pub(super) struct Source {
    /// Its name in errors; empty for the only file.
    pub(super) label: String,
    /// Its name in errors of tools, relative to the configured path.
    pub(super) name: String,
    pub(super) yaml: String,
    pub(super) file: File,
}

/// Reads files and remembers them.
struct Reader {
    /// The folder that includes must not leave, without symbolic links.
    root: PathBuf,
    /// The name of the folder, if a folder is configured.
    folder: PathBuf,
    is_folder: bool,
    seen: HashSet<PathBuf>,
    sources: Vec<Source>,
}

/// Reads the configured file or folder.
pub(super) fn read(path: &Path) -> Result<Vec<Source>, DefinitionsError> {
    let is_folder = path.is_dir();
    let root = match path.parent() {
        _ if is_folder => path,
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let folder = path.file_name().filter(|_| is_folder).unwrap_or_default();
    let mut reader = Reader {
        root: root.canonicalize().map_err(DefinitionsError::Read)?,
        folder: folder.into(),
        is_folder,
        seen: HashSet::new(),
        sources: Vec::new(),
    };
    if !is_folder {
        check_format(path)?;
        reader.add(path, 0)?;
        return Ok(reader.sources);
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(path).map_err(DefinitionsError::Read)? {
        let path = entry.map_err(DefinitionsError::Read)?.path();
        if check_format(&path).is_ok() && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    for path in paths {
        reader.add(&path, 0)?;
    }
    Ok(reader.sources)
}

/// Reads the text of a file.
pub(super) fn parse(yaml: &str) -> Result<File, DefinitionsError> {
    if yaml.len() as u64 > MAX_BYTES {
        return Err(DefinitionsError::TooLarge);
    }
    expanded_size::check(yaml).map_err(DefinitionsError::parse)?;
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
    /// Reads a file and those that it includes, each once.
    fn add(&mut self, path: &Path, depth: usize) -> Result<(), DefinitionsError> {
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
            return Err(DefinitionsError::Invalid(problem));
        }
        let parsed = text(path).and_then(|yaml| Ok((parse(&yaml)?, yaml)));
        let (mut file, yaml) = parsed.map_err(|error| error.within(&label))?;
        let includes = file.include.take().unwrap_or_default();
        self.sources.push(Source {
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
            return Err(within(DefinitionsError::Invalid(problem)));
        }
        check_format(&path).map_err(within)?;
        let real = path.canonicalize();
        let real = real.map_err(|error| within(DefinitionsError::Read(error)))?;
        if !real.starts_with(&self.root) {
            let problem = "the path leaves the folder of the first file".to_owned();
            return Err(within(DefinitionsError::Invalid(problem)));
        }
        self.add(&path, depth)
    }
}
