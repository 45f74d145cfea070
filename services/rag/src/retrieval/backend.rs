//! The ways to search for words.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// How words are searched for in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// As the table allows: a small one is read, a larger one by the best index it has.
    #[default]
    Auto,
    /// By an index of the extension `pg_textsearch`.
    PgTextsearch,
    /// By an index of the extension `pg_search`.
    PgSearch,
    /// By an index of the extension `vchord_bm25`.
    VchordBm25,
    /// By the full-text search of PostgreSQL itself.
    Tsvector,
    /// By reading rows.
    Scan,
    /// Not at all.
    Off,
}

/// No way to search for words has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "must be one of: auto, pg_textsearch, pg_search, vchord_bm25, tsvector, scan, off, and not {0}"
)]
pub struct UnknownBackend(String);

// === impl Backend ===

impl Backend {
    /// All of them, with the names they have in a configuration.
    const ALL: [(&'static str, Self); 7] = [
        ("auto", Self::Auto),
        ("pg_textsearch", Self::PgTextsearch),
        ("pg_search", Self::PgSearch),
        ("vchord_bm25", Self::VchordBm25),
        ("tsvector", Self::Tsvector),
        ("scan", Self::Scan),
        ("off", Self::Off),
    ];
}

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, UnknownBackend> {
        let mut all = Self::ALL.into_iter();
        all.find(|(known, _)| *known == name)
            .map(|(_, backend)| backend)
            .ok_or_else(|| UnknownBackend(name.to_owned()))
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = Self::ALL.into_iter();
        let name = all.find(|(_, backend)| backend == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written_and_others_are_refused_with_a_list() {
        for (name, backend) in Backend::ALL {
            assert_eq!(name.parse(), Ok(backend));
            assert_eq!(backend.to_string(), name);
        }
        let refusal = "bm25".parse::<Backend>().expect_err("not one of them");
        assert!(refusal.to_string().contains("auto, pg_textsearch"));
    }
}
