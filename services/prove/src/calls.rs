//! The calls that A makes in both worlds.

mod case;
mod corpus;
mod fill;
mod listed;
pub(crate) mod pipeline;
pub(crate) mod questions;
pub(crate) mod request;

use serde_json::Value;

use self::request::Request;
use crate::{canary::Canaries, planting::values::literal, schema::Schema};

pub(crate) use self::{
    case::{Case, Known},
    listed::LISTS,
};

/// Calls of A between two calls of B.
pub(crate) const TURN: usize = 8;

/// Makes up all calls, in the same order for the same schema. `lists` are in the order of [`LISTS`].
pub(crate) fn all(known: &Known<'_>, lists: &[Vec<Value>; 4]) -> Vec<Case> {
    let mut cases = listed::of_lists(known, lists);
    cases.extend(of_objects(known));
    if !takes_database(&lists[0]) {
        for case in &mut cases {
            case.request.without_database();
        }
    }
    cases
}

/// Returns whether the tools take the name of a database.
pub(crate) fn takes_database(tools: &[Value]) -> bool {
    let mut tools = tools.iter();
    tools.any(|tool| !tool["inputSchema"]["properties"]["database"].is_null())
}

/// Makes up the calls about the objects, in the order of their names.
fn of_objects(known: &Known<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    let schema = known.schema;
    let (relations, functions) = (schema.relations.iter(), schema.functions.iter());
    cases.extend(relations.flat_map(|it| corpus::of_relation(known, it)));
    cases.extend(functions.flat_map(|it| corpus::of_function(known, it)));
    let sequences = schema.sequences.iter();
    cases.extend(sequences.flat_map(|it| corpus::of_sequence(known, it)));
    cases.extend(corpus::of_database(known));
    cases.extend(questions::of_pipelines(known));
    if known.writes {
        // They add rows of A, so they come last.
        let relations = schema.relations.iter();
        cases.extend(relations.flat_map(|it| corpus::of_keys(known, it)));
    }
    cases
}

/// Returns a statement of B between calls of A: it reads a table, and has a text of B itself.
pub(crate) fn of_b(schema: &Schema, canaries: &Canaries, turn: usize) -> Option<String> {
    let tables = &schema.relations;
    let table = tables.get(turn % tables.len().max(1))?;
    let canary = literal(&canaries.values().next().map(str::to_owned));
    Some(format!("SELECT {canary}, x.* FROM {} x", table.quoted))
}

/// Makes the call of a statement.
pub(crate) fn statement(text: &str, database: &str, takes_database: bool) -> Request {
    let (_, mut request) = Request::of_statement("", text, database);
    if !takes_database {
        request.without_database();
    }
    request
}
