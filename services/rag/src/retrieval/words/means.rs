//! What a table has for finding words.

use ziggurat_vector_search::retrieval_queries::{Extension, Lexicon, Ranking, SearchTable, Shape};

use crate::retrieval::Backend;

/// A table with at most so many rows is read as a whole: that takes a few milliseconds.
const SMALL: f64 = 2000.0;

/// How the words of a question are searched for in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::retrieval) enum Means {
    /// Not at all.
    Off,
    /// All rows are read.
    ReadAll,
    /// Rows that have one of the words are read, up to a limit.
    ReadSome,
    /// By an index of PostgreSQL's own.
    Lexicon(Lexicon),
    /// By an index of an extension.
    Ranking(Ranking),
}

// === impl Means ===

impl Means {
    /// Chooses them, and says which index to create if there should be one.
    pub(in crate::retrieval) fn choose(
        backend: Backend,
        shape: &Shape,
        place: &SearchTable,
    ) -> (Self, Option<String>) {
        let is_small = shape.rows() <= SMALL;
        let read = if is_small {
            Self::ReadAll
        } else {
            Self::ReadSome
        };
        let ranking = |extension| shape.ranking(extension, place).map(Self::Ranking);
        let lexicon = || shape.lexicon(place).map(Self::Lexicon);
        let (means, advice) = match backend {
            Backend::Off => return (Self::Off, None),
            Backend::Scan => return (read, None),
            Backend::Auto if is_small => return (read, None),
            Backend::Auto => {
                let ranking = Extension::ALL.into_iter().find_map(ranking);
                let means = ranking.or_else(lexicon);
                return match means {
                    Some(means) => (means, None),
                    None => (read, Some(Lexicon::advice(place))),
                };
            }
            Backend::Tsvector => (lexicon(), Lexicon::advice(place)),
            Backend::PgTextsearch => of(Extension::PgTextsearch, ranking, place),
            Backend::PgSearch => of(Extension::PgSearch, ranking, place),
            Backend::VchordBm25 => of(Extension::VchordBm25, ranking, place),
        };
        match means {
            Some(means) => (means, None),
            None => (Self::Off, Some(advice)),
        }
    }

    /// What they are called in a configuration.
    pub(in crate::retrieval) fn name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::ReadAll | Self::ReadSome => "scan",
            Self::Lexicon(_) => "tsvector",
            Self::Ranking(ranking) => ranking.extension().name(),
        }
    }
}

fn of(
    extension: Extension,
    ranking: impl Fn(Extension) -> Option<Means>,
    place: &SearchTable,
) -> (Option<Means>, String) {
    (ranking(extension), extension.advice(place))
}
