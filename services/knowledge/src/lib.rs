//! Semantic search in documentation: one SQLite file, opened for reading.
//!
//! The file holds passages of documents, each with a vector per provider that was used for the
//! build. A [`KnowledgeBase`] finds the passages with the vectors closest to the vector of a
//! question. To be fast, it keeps the vectors of its provider in memory, in a quarter of their
//! size, and reads only the best candidates from the file: the result is the same as if all had
//! been compared exactly. If a file needs more memory than
//! [allowed](KnowledgeBase::with_max_bytes), each question reads the whole file instead.
//!
//! ```
//! use ziggurat_knowledge::{Error, Filter, KnowledgeBase, Provider};
//!
//! # async fn example() -> Result<(), Error> {
//! let base = KnowledgeBase::new("docs.db", Provider::Ollama).with_model("nomic-embed-text");
//! let filter = Filter {
//!     projects: vec!["PostgreSQL".to_owned()],
//!     ..Filter::default()
//! };
//! // Fails before a vector is paid for, if there is nothing to search.
//! let search = base.search(&filter).await?;
//! # let vector_of_the_question = [0.0; 768];
//! for passage in search.nearest(&vector_of_the_question, 5).await? {
//!     println!("{:.3} {}", passage.similarity, passage.text);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A [`Builder`] makes such a file from folders of documents.

mod base;
mod build;
mod column;
mod embed;
mod error;
#[cfg(any(test, feature = "test-support"))]
pub mod fixture;
mod matrix;
mod products;
mod schema;
mod search;
mod top_chunks;
mod vector;

pub use self::{
    base::KnowledgeBase,
    build::{BuildError, Builder, Event, Outcome},
    column::Provider,
    embed::Embed,
    error::Error,
    products::{Filter, Product},
    search::{Passage, Search},
};
