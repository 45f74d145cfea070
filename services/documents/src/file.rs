//! Files of documents.

use std::{
    fmt::{self, Write as _},
    io::{self, Read as _},
};

use sha2::{Digest as _, Sha256};

use crate::folders::Source;

/// Maximum size of a document; a larger file is data with the extension of a document.
pub(crate) const MAX_FILE: u64 = 16 << 20;

/// Reason why a file, or a line of it, is no document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is too large.
    #[error("larger than {MAX_FILE} bytes")]
    TooLarge,
    /// It is no text.
    #[error("it is not UTF-8")]
    NotText,
    /// The line is not an object of a document.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The document of the line has an empty id.
    #[error("its id is empty")]
    NoId,
}

/// SHA-256 digest of the contents of a document.
#[derive(Clone, Default)]
pub struct Checksum(Sha256);

/// Reads the text of a document, up to 16 MiB.
///
/// # Errors
/// Fails if the file is unreadable, larger, or no text.
pub fn read_file(source: &Source) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    // A file may grow: so the bytes are counted while they are read.
    source.open()?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(ReadError::TooLarge);
    }
    String::from_utf8(bytes).map_err(|_| ReadError::NotText)
}

// === impl Checksum ===

impl Checksum {
    /// Adds a part. Only [`with`](Self::with) separates parts from each other.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds a part that cannot run into the next one.
    #[must_use]
    pub fn with(mut self, part: &str) -> Self {
        self.add(&(part.len() as u64).to_be_bytes());
        self.add(part.as_bytes());
        self
    }

    /// Returns the digest as hexadecimal digits.
    #[must_use]
    pub fn finish(self) -> String {
        let digest = self.0.finalize();
        digest.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Checksum(…)")
    }
}
