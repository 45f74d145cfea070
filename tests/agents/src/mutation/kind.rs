//! Kinds of mistakes.

use ziggurat_sql::Token;

use super::{misspelling::misspell, places::Places};
use crate::question::quoted;

/// A kind of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    MisspeltTable,
    MisspeltColumn,
    MisspeltFunction,
    MisspeltEnumValue,
    MisspeltType,
    MissingSchema,
    AmbiguousColumn,
    MissingJoin,
}

// === impl Kind ===

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Self; 8] = [
        Self::MisspeltTable,
        Self::MisspeltColumn,
        Self::MisspeltFunction,
        Self::MisspeltEnumValue,
        Self::MisspeltType,
        Self::MissingSchema,
        Self::AmbiguousColumn,
        Self::MissingJoin,
    ];

    /// Returns its name for a table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MisspeltTable => "misspelt table",
            Self::MisspeltColumn => "misspelt column",
            Self::MisspeltFunction => "misspelt function",
            Self::MisspeltEnumValue => "misspelt enum value",
            Self::MisspeltType => "misspelt type",
            Self::MissingSchema => "missing schema",
            Self::AmbiguousColumn => "ambiguous column",
            Self::MissingJoin => "missing join",
        }
    }

    /// Returns the SQLSTATE with which PostgreSQL refuses it.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::MisspeltTable | Self::MissingSchema => "42P01",
            Self::MisspeltColumn | Self::MissingJoin => "42703",
            Self::MisspeltFunction => "42883",
            Self::MisspeltEnumValue => "22P02",
            Self::MisspeltType => "42704",
            Self::AmbiguousColumn => "42702",
        }
    }

    /// Makes mistakes of this kind, each with its correction.
    pub(super) fn mistakes(self, places: &Places<'_>) -> Vec<(String, String)> {
        // Different statements get different spelling mistakes.
        let seed = places.sql.len();
        match self {
            Self::MisspeltTable => {
                let tables = places.tables().filter(|(_, table)| is_long(&table.name));
                tables
                    .map(|(at, table)| {
                        let wrong = misspell(&table.name, seed + at);
                        (places.renamed(at + 2, &wrong), quoted(&table.name))
                    })
                    .collect()
            }
            Self::MisspeltColumn => {
                let columns = places.columns().filter(|(_, column)| is_long(&column.name));
                columns
                    .map(|(at, column)| {
                        let wrong = misspell(&column.name, seed + at);
                        (places.renamed(at + 2, &wrong), quoted(&column.name))
                    })
                    .collect()
            }
            Self::MisspeltFunction => functions(places, seed),
            Self::MisspeltEnumValue => enum_values(places, seed),
            Self::MisspeltType => types(places, seed),
            Self::MissingSchema => {
                let tables = places.tables();
                tables
                    .map(|(at, table)| {
                        let wrong = places.replaced(at, at + 2, &quoted(&table.name));
                        (wrong, table.to_string())
                    })
                    .collect()
            }
            Self::AmbiguousColumn => {
                let columns = places.columns();
                columns
                    .map(|(at, column)| {
                        let name = quoted(&column.name);
                        let alias = places.pieces[at].name().unwrap_or_default();
                        (
                            places.replaced(at, at + 2, &name),
                            format!("{alias}.{name}"),
                        )
                    })
                    .collect()
            }
            Self::MissingJoin => unjoined(places),
        }
    }
}

/// Returns whether a name stays recognizable with a mistake in it.
fn is_long(name: &str) -> bool {
    name.chars().count() > 3
}

fn functions(places: &Places<'_>, seed: usize) -> Vec<(String, String)> {
    let called = places.pieces.windows(2).enumerate();
    let called = called.filter_map(|(at, window)| match window[0].token {
        // Keywords are in upper case.
        Token::Word(name) if window[1].is(b'(') && name.chars().all(|c| !c.is_uppercase()) => {
            Some((at, name))
        }
        _ => None,
    });
    called
        .filter(|(_, name)| name.len() > 2)
        .map(|(at, name)| (places.renamed(at, &misspell(name, seed)), name.to_owned()))
        .collect()
}

fn enum_values(places: &Places<'_>, seed: usize) -> Vec<(String, String)> {
    let long = places.values().filter(|value| is_long(value));
    let found = long.filter_map(|value| {
        let literal = format!("'{value}'");
        let wrong = format!("'{}'", misspell(value, seed));
        let is_there = places.sql.contains(&literal);
        is_there.then(|| (places.sql.replacen(&literal, &wrong, 1), value.to_owned()))
    });
    found.collect()
}

/// Misspells types of casts, also of literals such as `date '2024-01-01'`.
fn types(places: &Places<'_>, seed: usize) -> Vec<(String, String)> {
    let pieces = &places.pieces;
    let names = (0..pieces.len()).filter_map(|at| {
        let Token::Word(name) = pieces[at].token else {
            return None;
        };
        let is_cast = at > 0 && pieces[at - 1].is(b':');
        let is_typed = name == "date" && pieces.get(at + 1)?.token == Token::Literal;
        (is_cast || is_typed).then_some((at, name))
    });
    names
        .filter(|(_, name)| name.len() > 2)
        .map(|(at, name)| {
            (
                places.renamed(at, &misspell(name, seed + at)),
                name.to_owned(),
            )
        })
        .collect()
}

fn unjoined(places: &Places<'_>) -> Vec<(String, String)> {
    if places.sql.starts_with("SELECT DISTINCT ON") {
        return Vec::new();
    }
    let first = usize::from(places.sql.starts_with("SELECT DISTINCT "));
    let end = places.pieces[first].place.end;
    let (before, after) = places.sql.split_at(end);
    let columns = places.unjoined().into_iter();
    columns
        .map(|(column, table)| (format!("{before} {column},{after}"), table))
        .collect()
}
