//! Prints results: a table for users, JSON or YAML for scripts.
//!
//! Results of the API have all members that the server sent, in alphabetical order, with unchanged
//! numbers. Reports of this program have their members in the declared order.

mod node;
mod select;
mod table;
mod yaml;

use std::fmt::Write as _;

use serde::Serialize;

pub(crate) use ziggurat_runtime::escape::{escape, escape_lines, visible};

pub(crate) use self::{
    node::{Node, pretty, quoted},
    select::Program,
    table::{Column, Show, table},
    yaml::{scalar as yaml_scalar, yaml_of},
};
use crate::{context::Context, failure::Failure};

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
    fn shows(&self, fields: &[String]) -> bool {
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

/// Prints the records of a list, or a note if there are none.
pub(crate) fn list(
    context: &mut Context<'_>,
    columns: &[Column],
    none: &str,
    records: &[Node],
) -> Result<(), Failure> {
    match context.globals.output {
        Format::Text if records.is_empty() => {
            context.streams.note(none);
            Ok(())
        }
        Format::Text => print_records(context, columns, records),
        Format::Json | Format::Yaml => {
            let fields = &context.globals.fields;
            let records = records.iter().map(|record| select::members(record, fields));
            structured(context, &Node::Array(records.collect()))
        }
    }
}

/// Prints one record: a table with one row, or the object.
pub(crate) fn record(
    context: &mut Context<'_>,
    columns: &[Column],
    record: &Node,
) -> Result<(), Failure> {
    match context.globals.output {
        Format::Text => print_records(context, columns, std::slice::from_ref(record)),
        Format::Json | Format::Yaml => {
            let record = select::members(record, &context.globals.fields);
            structured(context, &record)
        }
    }
}

/// Prints a report of this program, with its members in the declared order.
pub(crate) fn report<T: Serialize>(
    context: &mut Context<'_>,
    report: &T,
    view: View,
) -> Result<(), Failure> {
    let fields = &context.globals.fields;
    if context.globals.output == Format::Text && view.shows(fields) {
        if let View::Plain(text) = view {
            return context.print(text.as_bytes());
        }
        let text = text_of(view, fields, context.colours_stdout());
        return context.streams.print(text.as_bytes());
    }
    if fields.is_empty() && context.globals.jq.is_none() && context.globals.output == Format::Json {
        let line = json(report) + "\n";
        return context.print(line.as_bytes());
    }
    let node = Node::read(json(report).as_bytes()).unwrap_or(Node::null());
    if context.globals.output == Format::Text {
        return match &node {
            Node::Array(items) => print_records(context, &[], items),
            item => print_records(context, &[], std::slice::from_ref(item)),
        };
    }
    let node = match node {
        Node::Array(items) => Node::Array(
            items
                .iter()
                .map(|item| select::members(item, fields))
                .collect(),
        ),
        other => select::members(&other, fields),
    };
    structured(context, &node)
}

/// Prints a value as JSON or YAML, or the output of the `--jq` program.
pub(crate) fn structured(context: &mut Context<'_>, node: &Node) -> Result<(), Failure> {
    let text = match (&context.globals.jq, context.globals.output) {
        (Some(source), _) => Program::compile(source)?.run(node)?,
        (None, Format::Yaml) => yaml_of(node, 4),
        (None, Format::Json | Format::Text) => node.to_json() + "\n",
    };
    context.print(text.as_bytes())
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

fn print_records(
    context: &mut Context<'_>,
    columns: &[Column],
    records: &[Node],
) -> Result<(), Failure> {
    let chosen = select::columns(columns, &context.globals.fields);
    let titles: Vec<&str> = chosen.iter().map(|column| &*column.title).collect();
    let rows: Vec<Vec<String>> = records
        .iter()
        .map(|record| chosen.iter().map(|column| column.cell(record)).collect())
        .collect();
    let text = table(&titles, &rows, context.colours_stdout());
    context.streams.print(text.as_bytes())
}

fn text_of(view: View, fields: &[String], colour: bool) -> String {
    match view {
        View::Plain(text) => text,
        View::Lines { width, lines } => {
            let mut text = String::new();
            for (member, label, value) in &lines {
                let is_chosen = fields.is_empty() || fields.iter().any(|field| field == member);
                if is_chosen && !value.is_empty() {
                    let label = format!("{label}:");
                    let _ = writeln!(text, "{label:width$}{}", escape(value));
                }
            }
            text
        }
        View::Table { columns, rows } => {
            let chosen: Vec<usize> = if fields.is_empty() {
                (0..columns.len()).collect()
            } else {
                fields
                    .iter()
                    .filter_map(|field| columns.iter().position(|(member, _)| member == field))
                    .collect()
            };
            let titles: Vec<&str> = chosen.iter().map(|&at| columns[at].1).collect();
            let rows: Vec<Vec<String>> = rows
                .iter()
                .map(|row| chosen.iter().map(|&at| row[at].clone()).collect())
                .collect();
            table(&titles, &rows, colour)
        }
    }
}
