//! Methods of keyword search.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// Method of keyword search in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// Chooses by table: a small one is read, a larger one uses the best index it has.
    #[default]
    Auto,
    /// Uses an index of the extension `pg_textsearch`.
    PgTextsearch,
    /// Uses an index of the extension `pg_search`.
    PgSearch,
    /// Uses an index of the extension `vchord_bm25`.
    VchordBm25,
    /// Uses the full-text search of PostgreSQL.
    Tsvector,
    /// Reads rows without an index.
    Scan,
    /// Turns keyword search off.
    Off,
}

/// The error for an unknown name of a method.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "must be one of: auto, pg_textsearch, pg_search, vchord_bm25, tsvector, scan, off, and not {0}"
)]
pub struct UnknownBackend(String);

// === impl Backend ===

impl Backend {
    /// All methods, with their names in the configuration.
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
    fn names_are_parsed_exactly_and_others_are_refused_with_a_list() {
        for (name, backend) in Backend::ALL {
            assert_eq!(name.parse(), Ok(backend));
            assert_eq!(backend.to_string(), name);
        }
        let refusal = "bm25".parse::<Backend>().expect_err("not one of them");
        assert!(refusal.to_string().contains("auto, pg_textsearch"));
    }
}
