//! Calls about objects, from the file of statements.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::{
    calls::{
        case::{Case, Known},
        fill,
        request::Request,
    },
    canary::MIN_LENGTH,
    party::Side,
    planting::{
        text_of,
        values::{Seat, literal},
        world::World,
    },
    report::Place,
    rule::Rule,
    schema::{Column, Function, Relation, Sequence},
};

const FILE: &str = include_str!("cases.txt");

/// The statements by their rule and their occasion.
static STATEMENTS: LazyLock<Vec<Statement>> = LazyLock::new(read);

/// A statement of the file.
struct Statement {
    rule: Rule,
    occasion: &'static str,
    entrance: &'static str,
    text: &'static str,
}

fn read() -> Vec<Statement> {
    let (mut statements, mut heading) = (Vec::new(), None);
    for line in FILE.lines() {
        if let Some(words) = line.strip_prefix("## ") {
            let words = words.split_once(' ');
            heading = words.and_then(|(rule, occasion)| Some((Rule::named(rule)?, occasion)));
        } else if let (Some((rule, occasion)), false) = (&heading, line.is_empty()) {
            let (entrance, text) = match line.strip_prefix('@') {
                Some(rest) => rest.split_once(' ').unwrap_or(("", rest)),
                None => ("", line),
            };
            statements.push(Statement {
                rule: rule.clone(),
                occasion,
                entrance,
                text,
            });
        }
    }
    statements
}

/// Returns the calls for an occasion, with names in place of the braces.
fn on(known: &Known<'_>, place: &Place, occasion: &str, names: &[(&str, &str)]) -> Vec<Case> {
    let statements = STATEMENTS.iter().filter(|it| it.occasion == occasion);
    let case = |statement: &Statement| {
        let text = fill::names(statement.text, names);
        let (entrance, request) = Request::of_statement(statement.entrance, &text, known.database);
        Case {
            rule: statement.rule.clone(),
            place: place.clone(),
            entrance,
            is_table: false,
            request,
            sent: Vec::new(),
        }
    };
    statements.map(case).collect()
}

/// Makes up the calls that read a table or a view.
pub(super) fn of_relation(known: &Known<'_>, relation: &Relation) -> Vec<Case> {
    let object = &Place::of_relation(known.database, relation);
    let plain = format!("{}.{}", relation.schema, relation.name);
    let names = [("table", &*relation.quoted), ("plain", &*plain)];
    let mut cases = on(known, object, "table", &names);
    for (setting, value) in &known.other.settings {
        let value = value.replace('\'', "''");
        let more = [("setting", &**setting), ("value", &*value)];
        cases.extend(on(known, object, "setting", &[names, more].concat()));
    }
    if let Some((_, role)) = known.other.facts.iter().find(|(name, _)| name == "role") {
        let more = [("role", &**role)];
        cases.extend(on(known, object, "role", &[&names[..], &more].concat()));
    }
    let rows = known.planted.of_b(&relation.oid);
    let patterns = fill::patterns(known);
    for column in &relation.columns {
        let mine = fill::values_of_a(known, relation, column);
        let names = [names[0], ("column", &*column.quoted), ("mine", &*mine)];
        cases.extend(on(known, object, "column", &names));
        for patterns in &patterns {
            let more = [("known", &**patterns)];
            cases.extend(on(known, object, "known", &[&names[..], &more].concat()));
        }
        let text = rows.first().and_then(|row| text_of(row, &column.name));
        let guess = text.or_else(|| known.planted.canaries.values().next().map(str::to_owned));
        if let Some((front, back)) = guess.as_deref().and_then(halves) {
            let more = [("front", front), ("back", back)];
            cases.extend(on(known, object, "guess", &[&names[..], &more].concat()));
        }
    }
    cases.extend(of_tools(known, relation));
    for case in &mut cases {
        case.is_table = relation.is_table();
    }
    cases
}

/// Returns both halves of a text that may stand within a literal, so that no statement has all of it.
fn halves(text: &str) -> Option<(&str, &str)> {
    let is_plain = text.bytes().all(|it| it.is_ascii_alphanumeric());
    (is_plain && text.len() >= MIN_LENGTH).then(|| text.split_at(text.len() / 2))
}

/// Makes up the calls of the tools about a table.
fn of_tools(known: &Known<'_>, relation: &Relation) -> Vec<Case> {
    let database = known.database;
    let plain = format!("{}.{}", relation.schema, relation.name);
    let whole = json!({"table": plain, "database": database});
    let schema =
        json!({"schema_name": relation.schema, "table_name": relation.name, "database": database});
    let mut calls = vec![
        (Rule::Count, "count_rows", whole),
        (Rule::Statistics, "get_schema_info", schema),
        (
            Rule::Statistics,
            "search_schema",
            json!({"query": relation.name, "database": database}),
        ),
    ];
    for column in relation.columns.iter().filter(|it| it.base == "vector") {
        let arguments = json!({
            "table_name": plain, "query_text": "anything", "output_format": "full",
            "vector_column": column.name, "database": database,
        });
        calls.push((Rule::Row, "similarity_search", arguments));
    }
    let case = |(rule, tool, arguments): (Rule, &str, Value)| Case {
        place: Place::of_relation(database, relation),
        ..Case::of_database(known, rule, tool, Request::tool(tool, &arguments))
    };
    calls.into_iter().map(case).collect()
}

/// Makes up the calls of a function: with values of A, of B, and NULL.
pub(super) fn of_function(known: &Known<'_>, function: &Function) -> Vec<Case> {
    let sets = fill::arguments(known, function);
    let case = |(arguments, sent): (String, Vec<String>)| {
        let text = format!("SELECT * FROM {}({arguments})", function.quoted);
        let (entrance, request) = Request::of_statement("", &text, known.database);
        Case {
            rule: Rule::Row,
            place: Place::of_object(known.database, &function.schema, &function.name),
            entrance,
            is_table: false,
            request,
            sent,
        }
    };
    sets.into_iter().map(case).collect()
}

/// Makes up the calls that look at a sequence.
pub(super) fn of_sequence(known: &Known<'_>, sequence: &Sequence) -> Vec<Case> {
    let plain = format!("{}.{}", sequence.schema, sequence.name);
    let names = [("table", &*sequence.quoted), ("plain", &*plain)];
    let place = Place::of_object(known.database, &sequence.schema, &sequence.name);
    on(known, &place, "sequence", &names)
}

/// Makes up the calls about the database as a whole.
pub(super) fn of_database(known: &Known<'_>) -> Vec<Case> {
    let Some((front, back)) = known.planted.canaries.values().find_map(halves) else {
        return Vec::new();
    };
    let place = Place::of_database(known.database);
    on(known, &place, "once", &[("front", front), ("back", back)])
}

/// Makes up rows of A with the keys of B.
pub(super) fn of_keys(known: &Known<'_>, relation: &Relation) -> Vec<Case> {
    if !relation.is_table() {
        return Vec::new();
    }
    let mut cases = Vec::new();
    let mut add = |rule: &Rule, statement: (String, Vec<String>)| {
        let (text, sent) = statement;
        let (entrance, request) = Request::of_statement("", &text, known.database);
        cases.push(Case {
            rule: rule.clone(),
            place: Place::of_relation(known.database, relation),
            entrance,
            is_table: true,
            request,
            sent,
        });
    };
    for columns in &relation.unique {
        if let Some(row) = row_with(known, relation, relation, columns, columns) {
            let (insert, sent) = row;
            // The division takes the row back.
            let rest = "RETURNING 1 AS one) SELECT 1 / (one - 1) FROM x";
            let kept = format!("WITH x AS ({insert} ON CONFLICT DO NOTHING {rest}");
            add(&Rule::UniqueOracle, (kept, sent.clone()));
            let added = format!("WITH x AS ({insert} {rest}");
            add(&Rule::UniqueOracle, (added, sent));
        }
    }
    let keys = known
        .whole
        .keys
        .iter()
        .filter(|it| it.child == relation.oid);
    for key in keys {
        let parent = known.whole.relations.iter().find(|it| it.oid == key.parent);
        let row = parent.and_then(|parent| {
            row_with(known, relation, parent, &key.columns, &key.parent_columns)
        });
        if let Some(row) = row {
            add(&Rule::ForeignKeyOracle, row);
        }
    }
    cases
}

/// Returns a statement that adds a row of A with values of the last row of B in another table, and
/// those values.
fn row_with(
    known: &Known<'_>,
    relation: &Relation,
    other: &Relation,
    columns: &[String],
    other_columns: &[String],
) -> Option<(String, Vec<String>)> {
    let of_b = known.planted.of_b(&other.oid).last()?;
    let of_a = known.planted.rows(Side::A, &relation.oid).first();
    let new_row = Seat {
        table: &relation.quoted,
        side: Side::A,
        world: World::First,
        row: 90,
    };
    let (mut columns_of_row, mut values, mut sent) = (Vec::new(), Vec::new(), Vec::new());
    for column in relation.columns.iter().filter(|it| !it.is_generated) {
        let place = columns.iter().position(|it| *it == column.name);
        let value = match place.and_then(|place| other_columns.get(place)) {
            Some(name) => {
                let value = text_of(of_b, name)?;
                sent.push(value.clone());
                Some(value)
            }
            None if column.is_drawn => continue,
            None => own_value(column, of_a, &new_row),
        };
        columns_of_row.push(&*column.quoted);
        values.push(literal(&value));
    }
    let (names, values) = (columns_of_row.join(", "), values.join(", "));
    let text = format!(
        "INSERT INTO {} ({names}) VALUES ({values})",
        relation.quoted
    );
    Some((text, sent))
}

/// Returns the value of a row of A, or a new one where a row has to be unique.
fn own_value(
    column: &Column,
    of_a: Option<&crate::planting::StoredRow>,
    seat: &Seat<'_>,
) -> Option<String> {
    let own = of_a.and_then(|row| text_of(row, &column.name));
    own.or_else(|| seat.value(column))
}
