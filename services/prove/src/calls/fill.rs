//! Names and values in the texts of calls.

use crate::{
    calls::case::Known,
    party::{Side, last_word},
    planting::{text_of, values::literal},
    schema::{Argument, Column, Function, Relation},
};

/// Puts names in place of their words in braces.
pub(super) fn names(text: &str, names: &[(&str, &str)]) -> String {
    let put =
        |text: String, (word, name): &(&str, &str)| text.replace(&format!("{{{word}}}"), name);
    names.iter().fold(text.to_owned(), put)
}

/// Values of A in one statement: more would cost more than a function, and run after it.
const MAX_VALUES: usize = 150;

/// Returns the values of A in a column, or in all columns of its name for a view, as an array.
pub(super) fn values_of_a(known: &Known<'_>, relation: &Relation, column: &Column) -> String {
    let is_source = |it: &&Relation| it.oid == relation.oid || !relation.is_table();
    let tables = known.whole.relations.iter().filter(is_source);
    let rows = tables.flat_map(|table| known.planted.rows(Side::A, &table.oid));
    let texts = rows.filter_map(|row| text_of(row, &column.name));
    let is_plain = |text: &String| !text.contains(['"', '\\', '\'', '{', '}']);
    let texts = texts.filter(is_plain).take(MAX_VALUES);
    let texts: Vec<_> = texts.map(|text| format!("\"{text}\"")).collect();
    format!("{{{}}}", texts.join(","))
}

/// Known values in one statement.
const MAX_KNOWN: usize = 50;

/// Returns lists of patterns, each of some known values, for rows beyond the first ones of a large table.
/// No pattern has the whole value. Planted rows need no such list.
pub(super) fn patterns(known: &Known<'_>) -> Vec<String> {
    if !known.planted.is_of_values() {
        return Vec::new();
    }
    let pattern = |value: &str| {
        let place = value.floor_char_boundary(value.len() / 2);
        let (front, back) = value.split_at(place);
        let plain = |part: &str| {
            part.replace('\\', r"\\")
                .replace('%', r"\%")
                .replace('_', r"\_")
        };
        let [front, back] = [format!("%{}", plain(front)), format!("{}%", plain(back))];
        format!("{} || {}", literal(&Some(front)), literal(&Some(back)))
    };
    let patterns: Vec<_> = known.planted.canaries.values().map(pattern).collect();
    patterns.chunks(MAX_KNOWN).map(|it| it.join(", ")).collect()
}

/// Returns lists of arguments for a function, each with the values of B in it.
pub(super) fn arguments(known: &Known<'_>, function: &Function) -> Vec<(String, Vec<String>)> {
    let mut lists: Vec<(String, Vec<String>)> = Vec::new();
    for choice in 0..6 {
        let mut sent = Vec::new();
        let values = function.arguments.iter().map(|argument| {
            let value = argument_value(known, argument, choice);
            sent.extend(value.clone().filter(|_| choice > 1));
            format!("{}::{}", literal(&value), argument.declared)
        });
        let list = values.collect::<Vec<_>>().join(", ");
        if !lists.iter().any(|(known, _)| *known == list) {
            lists.push((list, sent));
        }
    }
    lists
}

/// Returns the value of an argument: NULL, one that fits nothing, facts about B, and keys of B.
fn argument_value(known: &Known<'_>, argument: &Argument, choice: usize) -> Option<String> {
    let is_text = matches!(&*argument.base, "text" | "varchar" | "bpchar" | "name");
    let is_number = matches!(&*argument.base, "int2" | "int4" | "int8" | "numeric");
    let facts = &known.other.facts;
    match choice {
        1 if is_text => Some(String::new()),
        1 if is_number => Some("1".to_owned()),
        2 | 3 if is_text => facts.get(choice - 2).map(|(_, value)| value.clone()),
        4 if is_text => {
            let table = known.schema.relations.first();
            table.map(|table| format!("SELECT * FROM {}", table.quoted))
        }
        5 if is_text => known.planted.canaries.values().next().map(str::to_owned),
        2.. => of_b(known, argument, choice),
        _ => None,
    }
}

/// Returns a value of this type in a row of B.
fn of_b(known: &Known<'_>, argument: &Argument, choice: usize) -> Option<String> {
    let tables = known.whole.relations.iter();
    let mut values = tables.flat_map(|table| {
        let rows = known.planted.of_b(&table.oid).iter().take(1);
        let columns = table.columns.iter().filter(|it| it.base == argument.base);
        let columns: Vec<_> = columns.collect();
        rows.flat_map(move |row| {
            let texts = columns
                .iter()
                .map(|column| text_of(row, last_word(&column.name)));
            texts.flatten().collect::<Vec<_>>()
        })
    });
    values.nth(choice - 2)
}
