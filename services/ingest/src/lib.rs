//! Loads documents into a table of PostgreSQL, with the vectors of their passages.
//!
//! An [`Ingest`] updates the rows of a table to match some documents: new and changed documents are
//! read, split, embedded and written, documents that are gone are deleted, and unchanged ones cost
//! a comparison of checksums. Each document is replaced in one transaction, so that a reader never
//! sees half of one. A run may be interrupted at any time and repeated; the end state is the same.
//!
//! ```no_run
//! use ziggurat_ingest::{Columns, Ingest, Input, Settings, TableName};
//! use ziggurat_llm::Embedder;
//! use ziggurat_postgres::pool::Pool;
//!
//! # async fn example(pool: Pool) -> Result<(), ziggurat_ingest::IngestError> {
//! let embedder = Embedder::local();
//! let settings = Settings::new(TableName {
//!     table: "documents".into(),
//!     columns: Columns::default(),
//! });
//! let ingest = Ingest::new(&embedder, &pool, settings);
//! let input = Input::paths(&["handbook".into()])?;
//! let outcome = ingest.run(input, |_| {}).await?;
//! println!("{} passages", outcome.passages);
//! # Ok(())
//! # }
//! ```
//!
//! # Rows
//!
//! A row is a passage. Its `document_id` is the path of the document from the name of the folder on,
//! or the id of a line of JSON; its `id` is that and the number of the passage. `metadata` has the
//! metadata of the document, with two keys of this crate: `_source`, the path of the folder or the
//! file that the document was found in, and `_passage`, the number of the passage. Documents are
//! deleted only if their source is one of the run. If another source has ids that begin with the
//! name of a folder, the ids of the folder begin with its name and a digest.

mod error;
mod event;
mod input;
mod packed;
mod place;
mod prepared;
mod run;
mod settings;
mod store;
mod table;
#[cfg(test)]
mod tests;

pub use self::{
    error::IngestError,
    event::{Event, Outcome},
    input::Input,
    packed::{PackedReader, ReaderLimits, read_in_child},
    run::Ingest,
    settings::{Columns, Settings, TableName, VectorType},
};
