//! Prints results into the streams of a command, in the format and with the members of its flags.

use std::{fmt::Write as _, slice};

use serde::Serialize;

use crate::{
    context::Context,
    failure::Failure,
    output::{self, Column, Format, Node, Program, View, escape, json, table, yaml_of},
};

/// Prints the records of a list, or a note if the list is empty.
pub(crate) fn list(
    context: &mut Context<'_>,
    columns: &[Column],
    none: &str,
    records: &[Node],
) -> Result<(), Failure> {
    match context.globals.output {
        Format::Text if records.is_empty() => {
            context.note(none);
            Ok(())
        }
        Format::Text => print_records(context, columns, records),
        Format::Json | Format::Yaml => {
            let fields = &context.globals.fields;
            let records = records.iter().map(|record| output::members(record, fields));
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
        Format::Text => print_records(context, columns, slice::from_ref(record)),
        Format::Json | Format::Yaml => {
            let record = output::members(record, &context.globals.fields);
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
            item => print_records(context, &[], slice::from_ref(item)),
        };
    }
    let node = match node {
        Node::Array(items) => Node::Array(
            items
                .iter()
                .map(|item| output::members(item, fields))
                .collect(),
        ),
        other => output::members(&other, fields),
    };
    structured(context, &node)
}

/// Prints a report in the formats for scripts only: notes have told a person all of it.
pub(crate) fn outcome<T: Serialize>(context: &mut Context<'_>, outcome: &T) -> Result<(), Failure> {
    match context.globals.output {
        Format::Text => Ok(()),
        Format::Json | Format::Yaml => report(context, outcome, View::Plain(String::new())),
    }
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

fn print_records(
    context: &mut Context<'_>,
    columns: &[Column],
    records: &[Node],
) -> Result<(), Failure> {
    let chosen = output::chosen_columns(columns, &context.globals.fields);
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
