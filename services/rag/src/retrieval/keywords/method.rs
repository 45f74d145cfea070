//! Choice of the method of keyword search for a table.

use ziggurat_vector_search::retrieval_queries::{
    Extension, Lexicon, Ranking, SearchTable, Shape, TextConfiguration,
};

use crate::retrieval::Backend;

/// Number of rows up to which a whole table is read, which takes a few milliseconds.
const SMALL_TABLE: f64 = 2000.0;

/// Method of keyword search in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::retrieval) enum KeywordMethod {
    /// Finds no rows.
    Off,
    /// Reads all rows.
    ReadAll,
    /// Reads rows that contain one of the words, up to a limit.
    ReadSome,
    /// Uses a full-text index of PostgreSQL.
    Lexicon(Lexicon),
    /// Uses an index of an extension.
    Ranking(Ranking),
}

// === impl KeywordMethod ===

impl KeywordMethod {
    /// Chooses the method, and returns the index that should be created, if one is missing.
    pub(in crate::retrieval) fn choose(
        backend: Backend,
        shape: &Shape,
        place: &SearchTable,
    ) -> (Self, Option<String>) {
        let is_small = shape.rows() <= SMALL_TABLE;
        let read = if is_small {
            Self::ReadAll
        } else {
            Self::ReadSome
        };
        let ranking = |extension| shape.ranking(extension, place).map(Self::Ranking);
        let lexicon = || shape.lexicon(place).map(Self::Lexicon);
        let (method, advice) = match backend {
            Backend::Off => return (Self::Off, None),
            Backend::Scan => return (read, None),
            Backend::Auto if is_small => return (read, None),
            // PostgreSQL uses no index for words before it has left out the hidden rows.
            Backend::Auto if shape.hides_rows() => return (read, None),
            Backend::Auto => {
                // The extensions know no weights.
                let mut extensions = Extension::ALL
                    .into_iter()
                    .filter(|_| !place.has_keyword_columns());
                let method = extensions.find_map(ranking).or_else(lexicon);
                return with_advice(method.unwrap_or(read), place);
            }
            Backend::Tsvector => match lexicon() {
                Some(method) => return with_advice(method, place),
                None => (None, Lexicon::advice(place)),
            },
            Backend::PgTextsearch => of(Extension::PgTextsearch, ranking, place),
            Backend::PgSearch => of(Extension::PgSearch, ranking, place),
            Backend::VchordBm25 => of(Extension::VchordBm25, ranking, place),
        };
        match method {
            Some(method) => (method, None),
            None => (Self::Off, Some(advice)),
        }
    }

    /// Returns the text search configuration of the words.
    pub(in crate::retrieval) fn configuration<'a>(
        &'a self,
        place: &'a SearchTable,
    ) -> &'a TextConfiguration {
        match self {
            Self::Lexicon(lexicon) => lexicon.configuration(),
            _ => place.configuration(),
        }
    }

    /// Returns the name in the configuration.
    pub(in crate::retrieval) fn name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::ReadAll | Self::ReadSome => "scan",
            Self::Lexicon(_) => "tsvector",
            Self::Ranking(ranking) => ranking.extension().name(),
        }
    }
}

/// Adds the index to create, if none serves the words of all columns.
fn with_advice(method: KeywordMethod, place: &SearchTable) -> (KeywordMethod, Option<String>) {
    let is_served = match &method {
        KeywordMethod::Ranking(_) => true,
        KeywordMethod::Lexicon(lexicon) => lexicon.is_complete(),
        _ => false,
    };
    let advice = (!is_served).then(|| Lexicon::advice(place));
    (method, advice)
}

fn of(
    extension: Extension,
    ranking: impl Fn(Extension) -> Option<KeywordMethod>,
    place: &SearchTable,
) -> (Option<KeywordMethod>, String) {
    (ranking(extension), extension.advice(place))
}
