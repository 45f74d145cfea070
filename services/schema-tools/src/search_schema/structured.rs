//! The structured answer.

use std::ops::Not;

use serde::Serialize;
use ziggurat_mcp::{Property, Schema, Structure};

use crate::search_schema::{index::Entry, level::Level, lines::Lines, page::Page};

/// A match of an answer.
#[derive(Serialize)]
pub(super) struct Match<'a> {
    kind: &'static str,
    name: String,
    level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    comment: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    returns: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    columns: Vec<MatchColumn<'a>>,
}

/// A column of a match.
#[derive(Serialize)]
struct MatchColumn<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    data_type: &'a str,
    #[serde(skip_serializing_if = "Not::not")]
    masked: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    references: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    comment: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

#[derive(Serialize)]
struct Found<'a> {
    matches: Vec<Match<'a>>,
    more: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
}

/// Returns the schema of an answer.
pub(super) fn schema() -> Schema {
    let column = Schema::new()
        .with_required("name", Property::string("The name of the column."))
        .with_required("type", Property::string("Its type."))
        .with_optional("masked", Property::boolean("Its values are masked."))
        .with_optional(
            "references",
            Property::string("The columns that it refers to."),
        )
        .with_optional("comment", Property::string("Its comment."))
        .with_optional("note", Property::string("Its note in the glossary."));
    let found = Schema::new()
        .with_required(
            "kind",
            Property::string("table, view, column, enum, term, function or path."),
        )
        .with_required(
            "name",
            Property::string("The name as it is written in SQL."),
        )
        .with_required("level", Property::string("names, summary or full."))
        .with_optional("rows", Property::integer("The estimated number of rows."))
        .with_optional("comment", Property::string("The comment."))
        .with_optional("note", Property::string("The note in the glossary."))
        .with_optional("labels", Property::strings("The values of an enum."))
        .with_optional("returns", Property::string("The result of a function."))
        .with_optional("columns", Property::objects("The columns shown.", column));
    Schema::new()
        .with_required(
            "matches",
            Property::objects("The matches, the best first.", found),
        )
        .with_required(
            "more",
            Property::integer("The number of entries left.").with_minimum(0),
        )
        .with_optional(
            "cursor",
            Property::string("The argument for the next page."),
        )
}

/// Makes the structure of a page.
pub(super) fn of(matches: Vec<Match<'_>>, page: &Page) -> Structure {
    let (more, cursor) = (page.more, page.cursor.as_deref());
    let found = Found {
        matches,
        more,
        cursor,
    };
    Structure::new(&found).expect("texts and numbers are JSON")
}

// === impl Match ===

impl<'a> Match<'a> {
    /// Describes an entry as its text does, with some columns.
    pub(super) fn of(lines: &Lines<'a>, entry: Entry, level: Level, columns: Vec<usize>) -> Self {
        let mut found = Self::named(lines.kind(entry).as_str(), lines.name(entry), level);
        if level == Level::Names {
            return found;
        }
        match entry {
            Entry::Table(at) => {
                let Some(table) = lines.table(at) else {
                    return found;
                };
                found.rows = table.rows();
                found.comment = table.comment();
                found.note = lines.note(table, None);
                let all: Vec<_> = table.columns().collect();
                let shown = columns
                    .into_iter()
                    .filter_map(|column| all.get(column).copied());
                found.columns = shown
                    .map(|column| MatchColumn {
                        name: column.name(),
                        data_type: column.data_type(),
                        masked: lines.masked.mark(table.oid(), column.number()),
                        references: column.references(),
                        comment: column.comment(),
                        note: lines.note(table, Some(column.name())),
                    })
                    .collect();
            }
            Entry::Enum(at) => {
                let kind = lines.enum_type(at);
                found.comment = kind.map_or("", |kind| kind.comment());
                found.labels = kind.map_or_else(Vec::new, |kind| kind.labels().collect());
            }
            Entry::Function(at) => {
                let function = lines.functions.get(at);
                found.comment = function.map_or("", |function| function.comment);
                found.returns = function.map_or("", |function| function.result);
            }
            Entry::Term(at) => {
                found.note = lines.glossary.terms().nth(at).map(|(_, note)| note);
            }
            Entry::Column(table, at) => {
                if let Some((table, column)) = lines.column(table, at) {
                    found.comment = column.comment();
                    found.note = lines.note(table, Some(column.name()));
                }
            }
        }
        found
    }

    /// Describes a path between two tables.
    pub(super) fn path(path: &str, level: Level) -> Self {
        Self::named("path", path.to_owned(), level)
    }

    fn named(kind: &'static str, name: String, level: Level) -> Self {
        Self {
            kind,
            name,
            level,
            rows: None,
            comment: "",
            note: None,
            labels: Vec::new(),
            returns: "",
            columns: Vec::new(),
        }
    }
}
