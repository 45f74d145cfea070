//! Errors that end a build early.

use std::{io, path::PathBuf};

use ziggurat_documents::FolderError;

use crate::Error;

/// Reason why a build ended early. Documents written before are in the file. The messages are for
/// the operator who runs it; print them with their causes.
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
    #[error("{}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// The file cannot be used or written.
    #[error("{}", path.display())]
    Base {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
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
