//! Hints for types and schemas that do not exist.

use ziggurat_postgres::name::written;

use crate::sql_error::{names::nearest, scope::Scope};

/// Types of other databases, and their equivalents in PostgreSQL.
const EQUIVALENTS: &[(&str, &str)] = &[
    ("blob", "bytea"),
    ("clob", "text"),
    ("datetime", "timestamp"),
    ("double", "double precision"),
    ("float64", "double precision"),
    ("int64", "bigint"),
    ("long", "bigint"),
    ("longtext", "text"),
    ("number", "numeric"),
    ("nvarchar", "text"),
    ("signed", "bigint"),
    ("string", "text"),
    ("tinyint", "smallint"),
    ("uniqueidentifier", "uuid"),
    ("unsigned", "bigint"),
    ("varchar2", "text"),
];

/// Names of types that only the grammar has.
const GRAMMAR: &[&str] = &[
    "bigint", "char", "decimal", "float", "int", "integer", "real", "smallint", "varchar",
];

/// Returns the name of the type at a token, if it is one (42704).
pub(super) fn name(scope: &Scope<'_>, index: usize) -> Option<String> {
    let is_collation = index > 0 && scope.is_word(index - 1, &["COLLATE"]);
    scope.names(index).pop().filter(|_| !is_collation)
}

/// Describes what a missing type may be, among types with the names in the catalogue and in
/// statements.
pub(super) fn unknown(name: &str, types: &[[String; 2]]) -> Option<String> {
    let lower = name.to_lowercase();
    let equivalent = EQUIVALENTS.iter().find(|(theirs, _)| *theirs == lower);
    if let Some((_, ours)) = equivalent {
        return Some(format!("PostgreSQL has no type {lower}: write {ours}."));
    }
    let names = types.iter().map(|[name, written]| (&**name, &**written));
    let names = names.filter(|(name, _)| !GRAMMAR.contains(name));
    let names = names.chain(GRAMMAR.iter().map(|name| (*name, *name)));
    let near = nearest(name, names, |(name, _)| name);
    let mut near: Vec<_> = near.into_iter().map(|(_, written)| written).collect();
    near.dedup();
    let names = near.join(", ");
    (!near.is_empty()).then(|| format!("Types with a similar name: {names}."))
}

/// Describes what a missing schema may be (3F000).
pub(super) fn unknown_schema(name: &str, schemas: &[[String; 1]]) -> Option<String> {
    let near = nearest(name, schemas.iter(), |[name]| name);
    let names: Vec<_> = near.iter().map(|[name]| written(name)).collect();
    let names = names.join(", ");
    (!near.is_empty()).then(|| format!("Schemas with a similar name: {names}."))
}
