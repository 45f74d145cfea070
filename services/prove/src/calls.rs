//! The calls that A makes in both worlds.

mod case;
mod corpus;
mod fill;
mod listed;
pub(crate) mod request;

use serde_json::Value;

pub(crate) use self::{
    case::{Case, Known, Object},
    listed::LISTS,
};

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
    for place in 0..known.schema.relations.len() {
        cases.extend(corpus::of_relation(known, place));
    }
    for place in 0..known.schema.functions.len() {
        cases.extend(corpus::of_function(known, place));
    }
    for place in 0..known.schema.sequences.len() {
        cases.extend(corpus::of_sequence(known, place));
    }
    cases.extend(corpus::of_database(known));
    if known.writes {
        // They add rows of A, so they come last.
        for place in 0..known.schema.relations.len() {
            cases.extend(corpus::of_keys(known, place));
        }
    }
    cases
}
