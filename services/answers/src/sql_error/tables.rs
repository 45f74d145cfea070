//! Hints for tables, schemas and aliases that do not exist.

use ziggurat_postgres::{
    error::Report,
    metadata::{Metadata, Table},
};

use super::{
    Hint,
    names::{MAX_SUGGESTED, nearest, written},
    scope::{Scope, Source},
};

const LIST: &str = "get_schema_info lists the tables that exist.";

/// Describes what a missing table may be (42P01): the name at a token, if PostgreSQL gives its
/// position.
pub(super) fn unknown(
    report: &Report,
    scope: &Scope<'_>,
    index: Option<usize>,
    metadata: &Metadata,
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
    Some(missing_table(
        &name,
        names.pop().as_deref(),
        scope,
        metadata,
    ))
}

fn missing_table(name: &str, schema: Option<&str>, scope: &Scope<'_>, metadata: &Metadata) -> Hint {
    let same: Vec<_> = metadata
        .tables()
        .filter(|table| table.name() == name && Some(table.schema()) != schema)
        .take(MAX_SUGGESTED)
        .collect();
    if let [table] = same[..] {
        return Hint::of(format!(
            "There is {}: write {}.",
            described(table),
            full(table)
        ));
    }
    if name == "dual" {
        return Hint::of("Leave out FROM dual.".to_owned());
    }
    if !same.is_empty() {
        let names: Vec<_> = same.iter().map(|&table| full(table)).collect();
        let names = names.join(" or ");
        return Hint::of(format!(
            "Other schemas have a table \"{name}\": write {names}."
        ));
    }
    let tables = || metadata.tables().filter(|table| !table.is_partition());
    let near = nearest(name, tables(), |table| table.name());
    if let Some(&table) = near.first()
        && table.name().to_lowercase() == name.to_lowercase()
    {
        return Hint::of(format!(
            "There is {}: write {}. PostgreSQL reads names without double quotes in lower case.",
            described(table),
            short(table)
        ));
    }
    let queries = nearest(name, scope.queries(), |query| query);
    let queries = queries
        .into_iter()
        .filter(|&query| query != name)
        .map(written);
    let mut found: Vec<_> = queries.chain(near.into_iter().map(short)).collect();
    if found.is_empty() && name.chars().count() > 3 {
        let name = name.to_lowercase();
        let parts = tables().filter(|table| table.name().to_lowercase().contains(&name));
        found = parts.take(MAX_SUGGESTED).map(short).collect();
    }
    found.truncate(MAX_SUGGESTED);
    if found.is_empty() {
        return Hint::of(LIST.to_owned());
    }
    let names = found.join(", ");
    Hint::of(format!("Tables with a similar name: {names}. {LIST}"))
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
    let near = nearest(qualifier, sources.iter(), |source| source.label());
    if let Some(source) = near.first() {
        let (label, name) = (written(source.label()), written(qualifier));
        let text = format!("FROM has {label}: write {label} instead of {name}.");
        return Hint::unless_named(text, &label);
    }
    let mut tables = metadata.tables().filter(|table| !table.is_partition());
    if let Some(table) = tables.find(|table| table.name() == qualifier) {
        let join = joined(table, sources.iter().copied(), scope, metadata);
        let join = join.unwrap_or_else(|| format!("JOIN {} ON …", short(table)));
        let name = written(qualifier);
        return Hint::of(format!("{name} is not in FROM: add {join}."));
    }
    let labels = sources.iter().map(|source| written(source.label()));
    let labels: Vec<_> = labels.filter(|label| label != "\"\"").collect();
    let name = written(qualifier);
    let text = format!("The statement has no table or alias {name} in FROM.");
    Hint::of(if labels.is_empty() {
        text
    } else {
        format!("{text} It has: {}.", labels.join(", "))
    })
}

/// Returns a join of a table with one of these sources, if a foreign key connects them.
pub(super) fn joined<'s, I>(
    table: Table<'_>,
    sources: I,
    scope: &Scope<'_>,
    metadata: &Metadata,
) -> Option<String>
where
    I: Iterator<Item = &'s Source>,
{
    sources.into_iter().find_map(|source| {
        let known = scope.table(source, metadata)?;
        let own = |name: &str| format!("{}.{}", written(table.name()), written(name));
        let (theirs, ours) = references(known, table)
            .map(|(column, target)| (source.column(column), own(target)))
            .or_else(|| {
                let (column, target) = references(table, known)?;
                Some((source.column(target), own(column)))
            })?;
        Some(format!("JOIN {} ON {theirs} = {ours}", short(table)))
    })
}

/// Returns a column of a table with a foreign key to another table, and its target.
fn references<'a>(table: Table<'a>, target: Table<'_>) -> Option<(&'a str, &'a str)> {
    let prefix = format!("{}.{}.", target.schema(), target.name());
    table.columns().find_map(|column| {
        let mut targets = column.references().split(',');
        let name = targets.find_map(|name| name.strip_prefix(&prefix))?;
        Some((column.name(), name))
    })
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
