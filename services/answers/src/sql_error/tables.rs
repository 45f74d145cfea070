//! Hints for tables, schemas and aliases that do not exist.

use ziggurat_postgres::{
    error::Report,
    metadata::{ForeignKey, Metadata, Table},
    name::written,
};

use crate::sql_error::{
    Hint,
    names::{MAX_SUGGESTED, nearest},
    scope::{Known, Scope, Source},
};

/// Describes what a missing table may be (42P01): the name at a token, if PostgreSQL gives its
/// position.
pub(super) fn unknown(
    report: &Report,
    scope: &Scope<'_>,
    index: Option<usize>,
    metadata: &Metadata,
    schema_hint: Option<String>,
) -> Option<Hint> {
    let mut names = index.map_or_else(Vec::new, |index| scope.names(index));
    let is_source = index.is_none_or(|index| scope.is_source(index));
    if let (Some(index), false, [.., qualifier, _]) = (index, is_source, &names[..]) {
        return Some(missing_source(qualifier, scope, index, metadata));
    }
    if names.is_empty() {
        // Without a position in the caller's text only the message names it.
        let quoted = report.message.split('"').nth(1)?;
        names = quoted.split('.').map(str::to_owned).collect();
    }
    let name = names.pop()?;
    let known = known_table(&name, names.pop().as_deref(), metadata);
    known.or_else(|| {
        let similar = similar_tables(&name, scope, metadata).join(", ");
        let similar = Some(similar).filter(|names| !names.is_empty());
        let similar = similar.map(|names| format!("Tables with a similar name: {names}."));
        let parts: Vec<_> = similar.into_iter().chain(schema_hint).collect();
        (!parts.is_empty()).then(|| Hint::of(parts.join(" ")))
    })
}

/// Describes a table of this name in another schema, or of this name in another case.
fn known_table(name: &str, schema: Option<&str>, metadata: &Metadata) -> Option<Hint> {
    let same: Vec<_> = metadata
        .tables()
        .filter(|table| table.name() == name && Some(table.schema()) != schema)
        .take(MAX_SUGGESTED)
        .collect();
    if let [table] = same[..] {
        return Some(Hint::of(format!(
            "There is {}: write {}.",
            described(table),
            full(table)
        )));
    }
    if name == "dual" {
        return Some(Hint::of("Leave out FROM dual.".to_owned()));
    }
    if !same.is_empty() {
        let names: Vec<_> = same.iter().map(|&table| full(table)).collect();
        let names = names.join(" or ");
        return Some(Hint::of(format!(
            "Other schemas have a table \"{name}\": write {names}."
        )));
    }
    let lower = name.to_lowercase();
    let mut tables = metadata.tables().filter(|table| !table.is_partition());
    let table = tables.find(|table| table.name().to_lowercase() == lower)?;
    Some(Hint::of(format!(
        "There is {}: write {}. PostgreSQL reads names without double quotes in lower case.",
        described(table),
        short(table)
    )))
}

/// Returns the tables, and queries of the statement, with names close to this one, nearest first.
fn similar_tables(name: &str, scope: &Scope<'_>, metadata: &Metadata) -> Vec<String> {
    let tables = || metadata.tables().filter(|table| !table.is_partition());
    let queries = nearest(name, scope.queries(), |query| query).into_iter();
    let queries = queries.filter(|&query| query != name).map(written);
    let near = nearest(name, tables(), |table| table.name()).into_iter();
    let mut found: Vec<_> = queries.chain(near.map(short)).collect();
    if found.is_empty() && name.chars().count() > 3 {
        let name = name.to_lowercase();
        let parts = tables().filter(|table| table.name().to_lowercase().contains(&name));
        found = parts.take(MAX_SUGGESTED).map(short).collect();
    }
    found.truncate(MAX_SUGGESTED);
    found
}

/// Describes a name before a column that is no source of the statement.
fn missing_source(qualifier: &str, scope: &Scope<'_>, index: usize, metadata: &Metadata) -> Hint {
    let sources = scope.visible(index);
    let renamed = |source: &&&Source| source.name == qualifier && source.alias.is_some();
    if let Some(source) = sources.iter().find(renamed) {
        let alias = written(source.label());
        let name = written(qualifier);
        let text = format!("{name} has the alias {alias} here: write {alias} before its columns.");
        return Hint::unless_named(text, &alias);
    }
    let name = written(qualifier);
    if sources.iter().any(|source| source.label() == qualifier) {
        return Hint::of(format!(
            "{name} cannot be used here, since JOIN binds more tightly than a comma: join all \
             tables with JOIN, or write LATERAL before a subquery that needs it."
        ));
    }
    let near = nearest(qualifier, sources.iter(), |source| source.label());
    if let Some(source) = near.first() {
        let label = written(source.label());
        let text = format!("FROM has {label}: write {label} instead of {name}.");
        return Hint::unless_named(text, &label);
    }
    let mut tables = metadata.tables().filter(|table| !table.is_partition());
    if let Some(table) = tables.find(|table| table.name() == qualifier) {
        let join = joined(table, &scope.known(&sources, metadata));
        let join = join.unwrap_or_else(|| format!("JOIN {} ON …", short(table)));
        return Hint::of(format!("{name} is not in FROM: add {join}."));
    }
    let labels = sources.iter().map(|source| written(source.label()));
    let labels: Vec<_> = labels.filter(|label| label != "\"\"").collect();
    let text = format!("The statement has no table or alias {name} in FROM.");
    Hint::of(if labels.is_empty() {
        text
    } else {
        format!("{text} It has: {}.", labels.join(", "))
    })
}

/// Returns a join of a table with one of these sources, if a foreign key connects them.
pub(super) fn joined(table: Table<'_>, known: &[Known<'_>]) -> Option<String> {
    known.iter().find_map(|&(source, other)| {
        let own = |name: &str| format!("{}.{}", written(table.name()), written(name));
        let equal = |theirs: &str, ours: &str| format!("{} = {}", source.column(theirs), own(ours));
        let pairs: Vec<_> = if let Some(key) = reference(other, table) {
            let pairs = key.columns().zip(key.target_columns());
            pairs.map(|(theirs, ours)| equal(theirs, ours)).collect()
        } else {
            let key = reference(table, other)?;
            let pairs = key.columns().zip(key.target_columns());
            pairs.map(|(ours, theirs)| equal(theirs, ours)).collect()
        };
        Some(format!("JOIN {} ON {}", short(table), pairs.join(" AND ")))
    })
}

/// Returns the first foreign key of a table to another.
fn reference<'a>(table: Table<'a>, other: Table<'_>) -> Option<ForeignKey<'a>> {
    let is_other = |key: &ForeignKey<'_>| {
        let target = key.target();
        (target.schema(), target.name()) == (other.schema(), other.name())
    };
    table.foreign_keys().find(is_other)
}

/// Describes a table for a sentence: `a table "orders" in schema "sales"`.
fn described(table: Table<'_>) -> String {
    let kind = table.kind().as_str().to_lowercase();
    let (name, schema) = (table.name(), table.schema());
    format!("a {kind} \"{name}\" in schema \"{schema}\"")
}

fn full(table: Table<'_>) -> String {
    format!("{}.{}", written(table.schema()), written(table.name()))
}

/// Returns the name of a table as it must be written on the default search path.
pub(super) fn short(table: Table<'_>) -> String {
    match table.schema() {
        "public" => written(table.name()),
        _ => full(table),
    }
}
