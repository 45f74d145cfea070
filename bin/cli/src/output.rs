//! Formats results: a table for users, JSON or YAML for scripts.
//!
//! Results of the API have all members that the server sent, in alphabetical order, with unchanged
//! numbers. Reports of this program have their members in the declared order.

mod node;
pub(crate) mod print;
mod select;
mod table;
mod yaml;

use serde::Serialize;

pub(crate) use ziggurat_runtime::escape::{escape, escape_lines, visible};

pub(crate) use self::{
    node::{Node, pretty, quoted},
    select::{Program, columns as chosen_columns, members},
    table::{Column, Show, table},
    yaml::{scalar as yaml_scalar, yaml_of},
};

/// The format of results.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Format {
    /// Tables and sentences.
    #[default]
    Text,
    /// One line of JSON.
    Json,
    /// One YAML document.
    Yaml,
}

/// Form of this program's reports in text.
#[derive(Clone, Debug)]
pub(crate) enum View {
    /// A table; each column has a member and a heading.
    Table {
        columns: Vec<(&'static str, &'static str)>,
        rows: Vec<Vec<String>>,
    },
    /// Lines of a label, a value and its member. An empty value has no line.
    Lines {
        /// Width of the labels: the longest one, its colon and a gap.
        width: usize,
        lines: Vec<(&'static str, &'static str, String)>,
    },
    /// Unchanged text.
    Plain(String),
}

// === impl View ===

impl View {
    /// Returns whether this form can show the requested members; otherwise a table is used.
    pub(crate) fn shows(&self, fields: &[String]) -> bool {
        match self {
            Self::Table { columns, .. } => fields
                .iter()
                .all(|field| columns.iter().any(|(member, _)| member == field)),
            Self::Lines { .. } => true,
            Self::Plain(_) => fields.is_empty(),
        }
    }
}

// === impl Format ===

impl Format {
    /// Returns the format with this name; `table` is an old name for text.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "text" | "table" => Some(Self::Text),
            "json" => Some(Self::Json),
            "yaml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

/// Returns one line of JSON, with the members in the declared order.
pub(crate) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("a report is plain data")
}

/// Returns a YAML document, with sorted members.
pub(crate) fn yaml<T: Serialize>(value: &T) -> String {
    let node = Node::read(json(value).as_bytes()).unwrap_or(Node::null());
    yaml_of(&node, 4)
}
