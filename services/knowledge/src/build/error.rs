//! Errors that end a build early.

use std::{io, path::PathBuf};

use ziggurat_documents::FolderError;

use crate::Error;

/// Reason why a build ended early. Documents written before are in the file. The messages are for
/// the operator who runs it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// One of the folders cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There are no documents.
    #[error("no documents found: nothing was changed")]
    NoDocuments,
    /// The file cannot be created.
    #[error("{}: {error}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The file cannot be used or written.
    #[error("{}: {}", path.display(), causes(error))]
    Base {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: Error,
    },
    /// The file was built with another model.
    #[error(
        "{}: it was built with model '{built}' of {provider}, and '{configured}' is configured: \
         configure that one, or build another file",
        path.display()
    )]
    Model {
        /// The file.
        path: PathBuf,
        /// The provider of the vectors.
        provider: &'static str,
        /// The model of the file.
        built: String,
        /// The model that is configured.
        configured: String,
    },
    /// No vector could be made for a chunk.
    #[error("{name}: {problem}")]
    Embedding {
        /// The document.
        name: String,
        /// The reason.
        problem: String,
    },
}

/// Joins an error and its causes.
fn causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
