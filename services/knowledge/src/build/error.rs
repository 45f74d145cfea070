//! What ends a build early.

use std::{io, path::PathBuf};

use crate::Error;

/// Why a build ended early. What was written before is in the file. The words are for whoever
/// runs it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// One of the folders is of no use.
    #[error("{}: {problem}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// There is nothing to build from.
    #[error("no documents found: nothing was changed")]
    NoDocuments,
    /// The file cannot be made.
    #[error("{}: {error}", path.display())]
    Create {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file cannot be used, or not be written.
    #[error("{}: {}", path.display(), causes(error))]
    Base {
        /// Which.
        path: PathBuf,
        /// Why.
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
        /// Who makes the vectors.
        provider: &'static str,
        /// The model of the file.
        built: String,
        /// The model that is configured.
        configured: String,
    },
    /// There is no vector of a chunk.
    #[error("{name}: {problem}")]
    Embedding {
        /// The document.
        name: String,
        /// Why.
        problem: String,
    },
}

/// An error and what is behind it.
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
