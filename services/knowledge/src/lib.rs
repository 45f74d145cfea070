//! Documentation that can be searched by meaning: one SQLite file, opened for reading.
//!
//! The file holds passages of documents, and for each a vector of every provider somebody has
//! had make one. A [`KnowledgeBase`] finds the passages whose vectors are closest to that of a
//! question. To do so fast it keeps the vectors of its provider in memory, in a quarter of their
//! size, and looks up in the file only what may be among the best: the answer is the same as if
//! all had been compared in full. A file that takes more memory than
//! [allowed](KnowledgeBase::with_max_bytes) is read through for each question instead.
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
//! // Fails before anybody has paid for a vector, if there is nothing to search.
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
mod best;
mod build;
mod chunks;
mod column;
mod document;
mod embed;
mod error;
#[cfg(any(test, feature = "test-support"))]
pub mod fixture;
mod matrix;
mod products;
mod reader;
mod schema;
mod search;
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
