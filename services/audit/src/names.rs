//! Names of the files around an audit file.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// Name of a file that another program has moved to another folder.
pub(crate) const MOVED: &str = "moved";

/// Device and number of a file, which stay the same when it is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

// === impl FileId ===

impl From<&fs::Metadata> for FileId {
    fn from(about: &fs::Metadata) -> Self {
        Self(about.dev(), about.ino())
    }
}

/// Returns the name of an old file that holds these records.
pub(crate) fn archive(path: &Path, first: u64, last: u64) -> PathBuf {
    with_suffix(path, &format!("-{first}-{last}"))
}

/// Returns the file of administrative commands.
pub(crate) fn admin(path: &Path) -> PathBuf {
    with_suffix(path, "-admin")
}

/// Returns the file for lines that a crash left incomplete.
pub(crate) fn torn(path: &Path) -> PathBuf {
    path.with_added_extension("torn")
}

/// Returns the file for the position of the last record.
pub(crate) fn last(path: &Path) -> PathBuf {
    path.with_added_extension("last")
}

/// Returns the old files of an audit file, oldest first.
pub(crate) fn archives(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(path))? {
        let name = entry?.file_name();
        if let Some(first) = first_of(path, &name) {
            found.push((first, path.with_file_name(name)));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Returns the present name of a file that was renamed in its folder.
pub(crate) fn renamed(path: &Path, id: FileId) -> Option<String> {
    let mut entries = fs::read_dir(folder(path)).ok()?.flatten();
    let entry = entries.find(|it| it.metadata().is_ok_and(|about| FileId::from(&about) == id))?;
    Some(entry.file_name().to_string_lossy().into_owned())
}

/// Returns whether this server gives its files this name.
pub(crate) fn is_own(path: &Path, name: &str) -> bool {
    name == of(path) || first_of(path, OsStr::new(name)).is_some()
}

/// Returns the name of a file as text.
pub(crate) fn of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns the number of the first record in an old file of `path`.
pub(crate) fn first_of(path: &Path, name: &OsStr) -> Option<u64> {
    let name = Path::new(name);
    if name.extension() != path.extension() {
        return None;
    }
    let rest = name.file_stem()?.to_str()?;
    let rest = rest.strip_prefix(path.file_stem()?.to_str()?)?;
    let (first, last) = rest.strip_prefix('-')?.split_once('-')?;
    last.parse::<u64>().ok()?;
    first.parse().ok()
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_stem().map(OsString::from).unwrap_or_default();
    name.push(suffix);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_files_are_named_after_their_records_and_found_in_their_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        assert_eq!(
            names([archive(&path, 1, 9), admin(&path), torn(&path)]),
            ["audit-1-9.jsonl", "audit-admin.jsonl", "audit.jsonl.torn"]
        );
        assert_eq!(names([archive(Path::new("trail"), 2, 3)]), ["trail-2-3"]);
        for name in [
            "audit.jsonl",
            "audit-10-99.jsonl",
            "audit-1-9.jsonl",
            "audit-100-x.jsonl",
            "audit-admin.jsonl",
            "audit-admin-1-2.jsonl",
            "other-1-2.jsonl",
            "audit-1-2.jsonl.gz",
        ] {
            fs::write(folder.path().join(name), "").expect("written");
        }
        let found = archives(&path).expect("a list");
        assert_eq!(names(found), ["audit-1-9.jsonl", "audit-10-99.jsonl"]);
    }

    fn names(paths: impl IntoIterator<Item = PathBuf>) -> Vec<String> {
        paths.into_iter().map(|path| of(&path)).collect()
    }
}
