//! Errors that end a run.

use std::io;

use thiserror::Error;
use ziggurat_documents::FolderError;
use ziggurat_llm as llm;
use ziggurat_postgres::{driver::DriverError, pool::LeaseError};
use ziggurat_runtime::causes;

/// Reason why a run ended early. Documents that were written before stay written. The messages are
/// for the operator who runs it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IngestError {
    /// One of the folders cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There are no documents.
    #[error(
        "no documents found: nothing was changed. Documents end with .md, .html, .txt, .rst, .adoc, \
         .pdf, .docx or .jsonl"
    )]
    NoDocuments,
    /// Standard input broke.
    #[error("standard input cannot be read: {0}")]
    Input(#[source] io::Error),
    /// There is no connection to PostgreSQL.
    // It says its causes itself.
    #[error("{0}")]
    Lease(LeaseError),
    /// PostgreSQL refused a statement, or the connection broke.
    #[error("{task}: {}", causes(error))]
    Database {
        /// The task that failed.
        task: String,
        /// The reason.
        error: DriverError,
    },
    /// The table is missing and was not created.
    #[error("there is no table {table}, and {reason}: nothing was changed")]
    NoTable {
        /// Its name.
        table: String,
        /// The reason why it was not created.
        reason: &'static str,
        /// The statements that create it.
        statements: Vec<String>,
    },
    /// The table cannot hold documents.
    #[error("table {table}: {problem}")]
    Table {
        /// Its name.
        table: String,
        /// The reason.
        problem: String,
    },
    /// Many documents of a source are gone.
    #[error(
        "{missing} of the {all} documents of source {source_name} are gone: nothing was removed. Is \
         it the right folder? -remove removes them, -keep-missing keeps them, and -source NAME \
         gives the documents of another folder another source"
    )]
    Gone {
        /// The source.
        source_name: String,
        /// Number of documents that are gone.
        missing: usize,
        /// Number of documents in the table.
        all: usize,
    },
    /// Another run writes to the table.
    #[error("another run writes to table {table}: wait for its end")]
    Locked {
        /// Its name.
        table: String,
    },
    /// The provider made no vectors.
    #[error("{name}: no vectors: {error}")]
    Embedding {
        /// The first document that has none.
        name: String,
        /// The reason.
        error: llm::Error,
    },
}

impl From<LeaseError> for IngestError {
    fn from(error: LeaseError) -> Self {
        Self::Lease(error)
    }
}

/// Adds the task that failed to an error of PostgreSQL.
pub(crate) trait During<T> {
    /// Names the task.
    fn during(self, task: impl Into<String>) -> Result<T, IngestError>;
}

impl<T> During<T> for Result<T, DriverError> {
    fn during(self, task: impl Into<String>) -> Result<T, IngestError> {
        let task = task.into();
        self.map_err(|error| IngestError::Database { task, error })
    }
}
