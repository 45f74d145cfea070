//! Ranking without transport or database, shared by tools and pipelines.
//!
//! The steps from the candidates of an index to the results: [`chunks`] cuts texts into passages,
//! [`tokens`] extracts their words, [`bm25`] scores passages by the words of the question,
//! [`fusion`] merges that ranking with another, [`mmr`] removes near-duplicates, and [`budget`]
//! takes what fits. [`sentences`] splits texts where a part of one is quoted. [`measures`] tells how
//! good a ranking is.
//!
//! ```
//! use ziggurat_search::{bm25::{Bm25, Question}, tokens};
//!
//! let documents = ["Wool is washed by hand.", "Brass is polished with a cloth."];
//! let question = Question::new(tokens::words("How do I wash wool?"));
//! let counts: Vec<_> = documents
//!     .iter()
//!     .map(|text| question.count_terms(tokens::words(text)))
//!     .collect();
//! let scores = Bm25::PASSAGES.scores(&counts);
//! assert!(scores[0] > scores[1]);
//! ```
//!
//! No function fails for any text, and equal inputs give equal orders. The caller has to limit the
//! cost: all steps are linear in the size of the texts, except [`mmr`].

pub mod bm25;
pub mod budget;
pub mod chunks;
pub mod fusion;
pub mod measures;
pub mod mmr;
pub mod sentences;
pub mod tokens;
