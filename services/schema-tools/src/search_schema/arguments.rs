//! The arguments of a call, and the requests they make.

use serde::Deserialize;
use ziggurat_mcp::{Property, Reported, Schema};

use ziggurat_answers::CallFormat;

use crate::search_schema::{
    level::Level,
    page::{fingerprint, position},
};

/// Limit on the characters of a question.
const MAX_QUERY: usize = 200;

const KINDS: [&str; 6] = ["table", "view", "column", "enum", "term", "function"];

const LEVELS: &[&str] = &["names", "summary", "full"];

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Arguments {
    query: Option<String>,
    schema: Option<String>,
    table: Option<String>,
    kinds: Option<Vec<String>>,
    level: Option<String>,
    from: Option<String>,
    to: Option<String>,
    max_tokens: Option<usize>,
    cursor: Option<String>,
    pub(super) database: Option<String>,
}

/// A call.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) subject: Subject,
    pub(super) level: Level,
    pub(super) max_tokens: usize,
    /// The position at which the page begins.
    pub(super) start: usize,
    /// Of everything that the positions depend on.
    pub(super) fingerprint: u32,
    pub(super) format: CallFormat,
}

/// The subject of a call.
#[derive(Debug)]
pub(super) enum Subject {
    Entries(SearchFilter),
    Paths { from: String, to: String },
}

#[derive(Debug)]
pub(super) struct SearchFilter {
    pub(super) query: String,
    pub(super) schema: Option<String>,
    pub(super) table: Option<String>,
    /// True for each of [`KINDS`] that is asked for.
    kinds: [bool; KINDS.len()],
}

/// A kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Table,
    View,
    Column,
    Enum,
    Term,
    Function,
}

// === impl Arguments ===

impl Arguments {
    pub(super) fn schema(max_tokens: usize) -> Schema {
        let level = Property::string("Detail").with_choices(LEVELS.iter().copied());
        let most = i64::try_from(max_tokens).unwrap_or(i64::MAX);
        let max_tokens = Property::integer("Limit of the answer");
        Schema::new()
            .with_optional("query", Property::string("Words or a question; empty: all"))
            .with_optional("schema", Property::string("Exact name"))
            .with_optional("table", Property::string("Exact name"))
            .with_optional(
                "kinds",
                Property::strings("table, view, column, enum, term, function"),
            )
            .with_optional("level", level.with_default("summary"))
            .with_optional("from", Property::string("With to: join paths"))
            .with_optional("to", Property::string("schema.table"))
            .with_optional(
                "max_tokens",
                max_tokens
                    .with_default(most)
                    .with_minimum(200)
                    .with_maximum(20_000),
            )
            .with_optional("cursor", Property::string("Next page"))
    }

    /// Checks what a schema cannot say.
    pub(super) fn request(
        self,
        max_tokens: usize,
        format: CallFormat,
    ) -> Result<Request, Reported> {
        // Models send empty texts for missing ones.
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let level = match self.level.as_deref() {
            Some("names") => Level::Names,
            Some("full") => Level::Full,
            _ => Level::Summary,
        };
        let query = self.query.unwrap_or_default().trim().to_owned();
        let subject = match (given(self.from), given(self.to)) {
            (Some(from), Some(to)) => Subject::Paths { from, to },
            (None, None) => Subject::Entries(SearchFilter {
                schema: given(self.schema),
                table: given(self.table),
                kinds: kinds(self.kinds.unwrap_or_default())?,
                query,
            }),
            (from, _) => {
                let missing = if from.is_some() { "to" } else { "from" };
                return Err(Reported::new(format!(
                    "'from' and 'to' belong together: '{missing}' is missing."
                )));
            }
        };
        let fingerprint = subject.fingerprint(level)?;
        let start = given(self.cursor).map_or(Some(0), |cursor| position(&cursor, fingerprint));
        Ok(Request {
            subject,
            level,
            max_tokens: self.max_tokens.unwrap_or(max_tokens),
            start: start.ok_or_else(invalid_cursor)?,
            fingerprint,
            format,
        })
    }
}

/// The error for a cursor that is no position in the answer.
pub(super) fn invalid_cursor() -> Reported {
    Reported::new("Invalid cursor")
}

fn kinds(names: Vec<String>) -> Result<[bool; KINDS.len()], Reported> {
    let mut kinds = [names.is_empty(); KINDS.len()];
    for name in names {
        let at = KINDS.iter().position(|kind| **kind == *name);
        let Some(kind) = at.and_then(|at| kinds.get_mut(at)) else {
            let short: String = name.chars().take(40).collect();
            let all = KINDS.join(", ");
            return Err(Reported::new(format!(
                "Unknown kind '{short}'. The kinds are: {all}."
            )));
        };
        *kind = true;
    }
    Ok(kinds)
}

// === impl Request ===

impl Request {
    /// Returns whether it names a schema or table, which may be new.
    pub(super) fn has_names(&self) -> bool {
        match &self.subject {
            Subject::Paths { .. } => true,
            Subject::Entries(filter) => filter.schema.is_some() || filter.table.is_some(),
        }
    }
}

// === impl Subject ===

impl Subject {
    fn fingerprint(&self, level: Level) -> Result<u32, Reported> {
        let level = format!("{level:?}");
        Ok(match self {
            Self::Paths { from, to } => fingerprint(["paths", from, to, &level]),
            Self::Entries(filter) => {
                let length = filter.query.chars().count();
                if length > MAX_QUERY {
                    return Err(Reported::new(format!(
                        "'query' has {length} characters; the limit is {MAX_QUERY}. Name what the \
                         tables are about in a few words."
                    )));
                }
                let kinds = format!("{:?}", filter.kinds);
                let schema = filter.schema.as_deref().unwrap_or_default();
                let table = filter.table.as_deref().unwrap_or_default();
                fingerprint([&filter.query, schema, table, &kinds, &level])
            }
        })
    }
}

// === impl SearchFilter ===

impl SearchFilter {
    pub(super) fn has(&self, kind: Kind) -> bool {
        let [table, view, column, is_enum, term, function] = self.kinds;
        match kind {
            Kind::Table => table,
            Kind::View => view,
            Kind::Column => column,
            Kind::Enum => is_enum,
            Kind::Term => term,
            Kind::Function => function,
        }
    }

    /// Returns whether columns are entries: columns are asked for, but not both tables and views.
    pub(super) fn has_columns(&self) -> bool {
        self.has(Kind::Column) && !(self.has(Kind::Table) && self.has(Kind::View))
    }
}

// === impl Kind ===

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::View => "view",
            Self::Column => "column",
            Self::Enum => "enum",
            Self::Term => "term",
            Self::Function => "function",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn request(arguments: Value) -> Result<Request, Reported> {
        let arguments: Arguments = serde_json::from_value(arguments).expect("arguments");
        arguments.request(
            4000,
            ziggurat_answers::ResultFormat::default().for_client(true),
        )
    }

    #[test]
    fn wrong_arguments_are_explained() {
        let cases = [
            (
                json!({"from": "a"}),
                "'from' and 'to' belong together: 'to' is missing.",
            ),
            (
                json!({"to": "a", "from": " "}),
                "'from' and 'to' belong together: 'from' is missing.",
            ),
            (
                json!({"kinds": ["table", "tables"]}),
                "Unknown kind 'tables'. The kinds are: table, view, column, enum, term, \
                 function.",
            ),
            (
                json!({"query": "x".repeat(201)}),
                "'query' has 201 characters; the limit is 200. Name what the tables are about in a \
                 few words.",
            ),
            (json!({"cursor": "x"}), "Invalid cursor"),
        ];
        for (arguments, expected) in cases {
            let error = request(arguments.clone()).expect_err("an error");
            assert_eq!(error.as_str(), expected, "{arguments}");
        }
    }

    #[test]
    fn a_cursor_fits_the_same_question_at_the_same_level_only() {
        let first = request(json!({"query": "orders", "max_tokens": 300})).expect("valid");
        let cursor = super::super::page::cursor(7, first.fingerprint);
        let again = json!({"query": "orders", "max_tokens": 900, "cursor": cursor});
        assert_eq!(request(again).expect("valid").start, 7);
        for other in [
            json!({"query": "order", "cursor": cursor}),
            json!({"query": "orders", "level": "full", "cursor": cursor}),
            json!({"query": "orders", "kinds": ["view"], "cursor": cursor}),
            json!({"query": "orders", "schema": "public", "cursor": cursor}),
            json!({"from": "orders", "to": "b", "cursor": cursor}),
        ] {
            assert!(request(other.clone()).is_err(), "{other}");
        }
    }
}
