//! Formats that are no texts: PDF and DOCX.
//!
//! Files of these formats are archives of compressed parts, with references between them. A hostile
//! one can cost any amount of time and memory, so a program reads them in a process of its own,
//! with limits.

mod docx;
mod pdf;

use std::fmt::Display;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{document::Document, kind::Kind};

/// Maximum size of a file that is read, in bytes.
pub const MAX_PACKED: u64 = 64 << 20;

/// Maximum size of one decompressed part of a file.
const MAX_PART: usize = 64 << 20;

/// A document, and the parts of it that have no text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpacked {
    /// The document.
    pub document: Document,
    /// Names of the parts that have no text, with the reason.
    pub skipped: Vec<(String, String)>,
}

/// Reason why a file is no document.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// The file is damaged, encrypted or of another format.
    #[error("{0}")]
    Invalid(String),
    /// A part of the file is too large.
    #[error("a part of it has more than {MAX_PART} bytes")]
    TooLarge,
    /// The format is another one.
    #[error("its format is not read")]
    Format,
}

/// Reads a PDF or DOCX file.
///
/// # Errors
/// Fails if the file is damaged, encrypted, too large, or of another format.
pub fn unpack(kind: Kind, bytes: Vec<u8>) -> Result<Unpacked, UnpackError> {
    match kind {
        Kind::Pdf => pdf::read(&bytes),
        Kind::Docx => {
            let document = docx::read(bytes)?;
            let skipped = Vec::new();
            Ok(Unpacked { document, skipped })
        }
        _ => Err(UnpackError::Format),
    }
}

impl UnpackError {
    fn invalid(error: &dyn Display) -> Self {
        Self::Invalid(error.to_string())
    }
}
