//! Reads a small file of untrusted size.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use thiserror::Error;

/// Reason why a file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file does not exist.
    #[error("there is no such file")]
    NotFound,
    /// The file cannot be read.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    /// The file is too large to be a configuration.
    #[error("it is larger than 1 MiB")]
    TooLarge,
    /// Values of another kind than their keys accept; one sentence each.
    #[error("{}", .0.join("; "))]
    WrongKind(Vec<String>),
    /// The file is not YAML of the expected shape.
    #[error(transparent)]
    NotUnderstood(serde_yaml::Error),
}

/// Reads a small file as text.
///
/// # Errors
/// Fails if the file does not exist, is larger than `max_bytes`, or is not UTF-8.
pub fn text(path: &Path, max_bytes: u64) -> Result<String, FileError> {
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FileError::NotFound,
        _ => FileError::Unreadable(error),
    })?;
    let mut text = String::new();
    file.take(max_bytes + 1)
        .read_to_string(&mut text)
        .map_err(FileError::Unreadable)?;
    if text.len() as u64 > max_bytes {
        return Err(FileError::TooLarge);
    }
    Ok(text)
}
