//! Hints for columns that do not exist or are ambiguous.

use ziggurat_postgres::{
    metadata::{Column, ForeignKey, Metadata, Table},
    name::written,
};

use crate::sql_error::{
    Hint,
    names::{MAX_SUGGESTED, nearest},
    scope::{Known, Scope, Source},
    tables::{joined, short},
};

/// Limit on the columns of a table that are listed.
const MAX_LISTED: usize = 30;

/// Limit on the other tables with a column that are compared with the tables of the statement.
const MAX_OTHERS: usize = 1_000;

/// Describes what a missing column may be (42703).
pub(super) fn unknown(scope: &Scope<'_>, index: usize, metadata: &Metadata) -> Option<Hint> {
    let mut names = scope.names(index);
    let last = index + 2 * names.len().checked_sub(1)?;
    let name = names.pop()?;
    let qualifier = names.pop();
    let visible = scope.visible(index);
    let is_meant = |source: &Source| qualifier.as_deref().is_none_or(|q| q == source.label());
    let all = scope.known(&visible, metadata);
    let known: Vec<_> = all
        .iter()
        .copied()
        .filter(|known| is_meant(known.0))
        .collect();
    let has_label = qualifier.is_some() || known.len() > 1;
    if let Some(hint) = close(&name, &known, has_label) {
        return Some(hint);
    }
    if qualifier.is_none() && scope.is_output(&name, index) {
        let name = written(&name);
        return Some(Hint::of(format!(
            "{name} is a name that SELECT gives to a result, which can only stand alone in ORDER \
             BY and GROUP BY. Repeat its expression here, or put the query into a subquery."
        )));
    }
    let is_column = || metadata.tables().any(|table| has_column(table, &name));
    if scope.is_quoted(last) && qualifier.is_none() && !is_column() {
        let text = name.replace('\'', "''");
        return Some(Hint::of(format!(
            "Double quotes are for names. If it is a text, write '{text}' in single quotes."
        )));
    }
    if let Some(&(source, table)) = all.iter().find(|(_, table)| has_column(*table, &name)) {
        // An unqualified name that a source has fails for another reason.
        qualifier?;
        let link = known.first();
        let link = link.and_then(|&own| linked(own, (source, table), &name, &all));
        let column = source.column(&name);
        return link.or_else(|| Some(Hint::unless_named(format!("Write {column}."), &column)));
    }
    let is_query = |source: &&&Source| is_meant(source) && !source.label().is_empty();
    if let (true, Some(source)) = (known.is_empty(), visible.iter().find(is_query)) {
        let (name, label) = (written(&name), written(source.label()));
        let text = format!("{label} returns no column {name}: add it there.");
        return Some(Hint::of(text));
    }
    let has_from = !scope.sources().is_empty();
    elsewhere(&name, &all, has_from, metadata).or_else(|| listed(&known))
}

/// Describes an ambiguous column by its qualified names (42702).
pub(super) fn ambiguous(scope: &Scope<'_>, index: usize, metadata: &Metadata) -> Option<Hint> {
    let name = scope.names(index).pop()?;
    let known = scope.known(&scope.visible(index), metadata);
    let choices = known.iter().filter(|(_, table)| has_column(*table, &name));
    let choices: Vec<_> = choices.map(|(source, _)| source.column(&name)).collect();
    (choices.len() > 1).then(|| Hint::of(format!("Write one of: {}.", choices.join(", "))))
}

/// Describes the joins of two tables by a third one that is missing in the statement, if the column
/// is the key of the second table to it.
fn linked(one: Known<'_>, two: Known<'_>, key: &str, all: &[Known<'_>]) -> Option<Hint> {
    let is_read = |table: Table<'_>| all.iter().any(|(_, known)| known.oid() == table.oid());
    let links = one.1.referenced_by().take(MAX_OTHERS);
    let mut links = links.map(ForeignKey::table).filter(|link| !is_read(*link));
    let (link, first, condition) = links.find_map(|link| {
        let second = joined(link, &[two])?;
        let (_, condition) = second.split_once(" ON ")?;
        let is_key = condition.starts_with(&format!("{} = ", two.0.column(key)));
        is_key.then(|| Some((link, joined(link, &[one])?, condition.to_owned())))?
    })?;
    let (one, two) = (written(one.0.label()), written(two.0.label()));
    let link = short(link);
    Some(Hint::of(format!(
        "{link} connects {one} and {two}: add {first}, and join {two} ON {condition}."
    )))
}

fn has_column(table: Table<'_>, name: &str) -> bool {
    table.columns().any(|column| column.name() == name)
}

/// Describes columns of the tables of the statement with a similar name.
fn close(name: &str, known: &[Known<'_>], has_label: bool) -> Option<Hint> {
    let columns = known.iter().flat_map(|(source, table)| {
        let columns = table.columns().map(Column::name);
        columns.map(move |column| (*source, column))
    });
    let others = columns.filter(|(_, column)| *column != name);
    let near = nearest(name, others, |(_, column)| column);
    let &(source, first) = near.first()?;
    let shown = |&(source, column): &(&Source, &str)| {
        if has_label {
            source.column(column)
        } else {
            written(column)
        }
    };
    if first.to_lowercase() == name.to_lowercase() {
        let (table, column) = (written(source.label()), shown(&near[0]));
        return Some(Hint::of(format!(
            "{table} has a column \"{first}\": write {column}. PostgreSQL reads names without \
             double quotes in lower case."
        )));
    }
    let names: Vec<_> = near.iter().map(shown).collect();
    let text = format!("Columns with a similar name: {}.", names.join(", "));
    let is_plain = written(first) == first;
    Some(if is_plain {
        Hint::unless_named(text, first)
    } else {
        Hint::of(text)
    })
}

/// Describes the other tables that have a column of this name, those with a join first.
fn elsewhere(name: &str, known: &[Known<'_>], has_from: bool, metadata: &Metadata) -> Option<Hint> {
    let tables = metadata.tables().filter(|table| !table.is_partition());
    let tables = tables.filter(|table| has_column(*table, name));
    let tables: Vec<_> = tables.take(MAX_OTHERS).collect();
    let column = written(name);
    let mut joins = tables.iter().map(|&table| (table, joined(table, known)));
    let join = joins.find_map(|(table, join)| Some((table, join?)));
    if let Some((table, join)) = join {
        let table = short(table);
        return Some(Hint::of(format!(
            "{column} is a column of {table}: add {join}."
        )));
    }
    let names: Vec<_> = tables
        .iter()
        .take(MAX_SUGGESTED)
        .map(|&t| short(t))
        .collect();
    let problem = if has_from {
        "which the statement does not read here"
    } else {
        "and the statement has no FROM"
    };
    let names = names.join(", ");
    (!names.is_empty()).then(|| Hint::of(format!("{column} is a column of {names}, {problem}.")))
}

/// Lists the columns of the tables that the name could refer to.
fn listed(known: &[Known<'_>]) -> Option<Hint> {
    let lists = known.iter().take(MAX_SUGGESTED).map(|(source, table)| {
        let columns = table.columns();
        let more = columns.len().saturating_sub(MAX_LISTED);
        let columns: Vec<_> = columns
            .take(MAX_LISTED)
            .map(|column| written(column.name()))
            .collect();
        let label = written(source.label());
        let rest = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!("{label} has the columns {}{rest}.", columns.join(", "))
    });
    let lists: Vec<_> = lists.collect();
    (!lists.is_empty()).then(|| Hint::of(lists.join(" ")))
}
