//! The order in which tables are filled, and which of them have rows of a caller.

use std::collections::HashSet;

use crate::schema::{Relation, Schema};

/// Returns the tables so that each stands behind the tables that its rows need.
pub(super) fn by_dependency(schema: &Schema) -> Vec<&Relation> {
    let is_filled = |it: &&Relation| it.is_table() && !it.is_partition;
    let mut waiting: Vec<_> = schema.relations.iter().filter(is_filled).collect();
    let mut order: Vec<&Relation> = Vec::new();
    while !waiting.is_empty() {
        let is_ready = |table: &&Relation| {
            let needed = needs(schema, table);
            !waiting
                .iter()
                .any(|other| other.oid != table.oid && needed.contains(&&*other.oid))
        };
        // A circle is broken at its first table.
        let place = waiting.iter().position(is_ready).unwrap_or_default();
        order.push(waiting.remove(place));
    }
    order
}

fn needs<'a>(schema: &'a Schema, table: &'a Relation) -> Vec<&'a str> {
    let keys = schema.keys.iter().filter(|key| key.child == table.oid);
    let keys = keys.map(|key| &*key.parent);
    let policies = table.read_by_policies.iter().map(|it| &*it.oid);
    keys.chain(policies).collect()
}

/// Returns the tables that have rows of callers: those under row security, those with a column that
/// names a caller, and those that refer to one of them. In a schema without any, all have.
pub(super) fn ownership(schema: &Schema, names: &[String]) -> HashSet<String> {
    let policies = schema.relations.iter().flat_map(|it| &it.columns);
    let policies = policies.filter(|it| it.is_policy && it.name != "id");
    let mut names: HashSet<&str> = names.iter().map(String::as_str).collect();
    names.extend(policies.map(|it| &*it.name));
    let is_owned = |table: &&Relation| {
        let mut columns = table.columns.iter();
        table.is_protected || columns.any(|column| names.contains(&*column.name))
    };
    let tables = || schema.relations.iter().filter(|it| it.is_table());
    let mut owned: HashSet<_> = tables().filter(is_owned).map(|it| it.oid.clone()).collect();
    if owned.is_empty() {
        return tables().map(|it| it.oid.clone()).collect();
    }
    loop {
        let more = schema.keys.iter().filter(|key| owned.contains(&key.parent));
        let more: Vec<_> = more.map(|key| key.child.clone()).collect();
        let before = owned.len();
        owned.extend(more);
        // A policy finds the rows of its caller by the keys in such a table.
        let read = tables().filter(|it| owned.contains(&it.oid));
        let read: Vec<_> = read.flat_map(|it| &it.read_by_policies).collect();
        owned.extend(read.iter().map(|it| it.oid.clone()));
        if owned.len() == before {
            return owned;
        }
    }
}
