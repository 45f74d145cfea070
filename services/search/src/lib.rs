//! Ranking that knows no transport and no database: tools and pipelines share it.
//!
//! A search has candidates from an index, and gets from them to what is shown in these steps:
//! [`chunks`] cuts texts into passages, [`tokens`] takes their words, [`bm25`] scores passages by
//! the words of the question, [`fusion`] merges that order with another one, [`mmr`] leaves out
//! what repeats itself, and [`budget`] takes what fits.
//!
//! ```
//! use ziggurat_search::{bm25::{Bm25, Question}, tokens};
//!
//! let documents = ["Wool is washed by hand.", "Brass is polished with a cloth."];
//! let question = Question::new(tokens::words("How do I wash wool?"));
//! let tallies: Vec<_> = documents
//!     .iter()
//!     .map(|text| question.tally(tokens::words(text)))
//!     .collect();
//! let scores = Bm25::PASSAGES.scores(&tallies);
//! assert!(scores[0] > scores[1]);
//! ```
//!
//! Nothing here fails, whatever the texts are, and the same input has the same order every time.
//! What it costs is for the caller to bound: all of it is linear in the texts but for [`mmr`].

pub mod bm25;
pub mod budget;
pub mod chunks;
pub mod fusion;
pub mod mmr;
pub mod tokens;
