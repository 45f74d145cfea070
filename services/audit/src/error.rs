//! Reasons why an audit trail cannot be written.

use std::{io, path::PathBuf};

use thiserror::Error;

use crate::KeyError;

/// Reason why an audit trail cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The key cannot be read.
    #[error("audit.key_file")]
    Key(#[from] KeyError),
    /// Another server writes to the file.
    #[error("the audit file {} is in use", .0.display())]
    InUse(PathBuf),
    /// The file cannot be opened, read or repaired.
    #[error("the audit file {} cannot be used", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// The file ends with a line that is not a record, so it is perhaps not an audit file.
    #[error("the last line of the audit file {} is not a record", .0.display())]
    NotARecord(PathBuf),
    /// The first line cannot be written.
    #[error("the audit trail cannot be written")]
    Write(#[source] io::Error),
}
