//! Hints for columns that do not exist or are ambiguous.

use ziggurat_postgres::metadata::{Column, Metadata, Table};

use super::{
    Hint,
    names::{MAX_SUGGESTED, nearest, written},
    scope::{Scope, Source},
    tables::{joined, short},
};

/// Limit on the columns of a table that are listed.
const MAX_LISTED: usize = 30;

/// A source whose columns are known.
type Known<'a> = (&'a Source, Table<'a>);

/// Describes what a missing column may be (42703).
pub(super) fn unknown(scope: &Scope<'_>, index: usize, metadata: &Metadata) -> Option<Hint> {
    let mut names = scope.names(index);
    let last = index + 2 * names.len().checked_sub(1)?;
    let name = names.pop()?;
    let qualifier = names.pop();
    let visible = scope.visible(index);
    let is_meant = |source: &&&Source| qualifier.as_deref().is_none_or(|q| q == source.label());
    let meant = visible.iter().filter(is_meant);
    let known: Vec<Known<'_>> = meant
        .filter_map(|source| Some((*source, scope.table(source, metadata)?)))
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
    if scope.is_quoted(last) && qualifier.is_none() {
        let text = name.replace('\'', "''");
        return Some(Hint::of(format!(
            "Double quotes are for names. If it is a text, write '{text}' in single quotes."
        )));
    }
    let has_column = |table: Table<'_>| table.columns().any(|column| column.name() == name);
    let in_others = visible.iter().find(|source| {
        let table = scope.table(source, metadata);
        table.is_some_and(has_column)
    });
    if let Some(source) = in_others {
        // An unqualified name that a source has fails for another reason.
        qualifier?;
        let column = source.column(&name);
        let plain = column.clone();
        return Some(Hint::unless_named(format!("Write {column}."), &plain));
    }
    let mut meant = visible.iter().filter(is_meant);
    if let (true, Some(source)) = (
        known.is_empty(),
        meant.find(|source| !source.label().is_empty()),
    ) {
        let (name, label) = (written(&name), written(source.label()));
        return Some(Hint::of(format!(
            "{label} returns no column {name}: add it there."
        )));
    }
    elsewhere(&name, &visible, scope, metadata).or_else(|| listed(&known))
}

/// Describes an ambiguous column by its qualified names (42702).
pub(super) fn ambiguous(scope: &Scope<'_>, index: usize, metadata: &Metadata) -> Option<Hint> {
    let name = scope.names(index).pop()?;
    let has_column = |source: &&&Source| {
        let table = scope.table(source, metadata);
        table.is_some_and(|table| table.columns().any(|column| column.name() == name))
    };
    let visible = scope.visible(index);
    let choices = visible.iter().filter(has_column);
    let choices: Vec<_> = choices.map(|source| source.column(&name)).collect();
    (choices.len() > 1).then(|| Hint::of(format!("Write one of: {}.", choices.join(", "))))
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
fn elsewhere(
    name: &str,
    visible: &[&Source],
    scope: &Scope<'_>,
    metadata: &Metadata,
) -> Option<Hint> {
    let has_column = |table: &Table<'_>| table.columns().any(|column| column.name() == name);
    let tables = metadata.tables().filter(|table| !table.is_partition());
    let tables: Vec<_> = tables.filter(has_column).collect();
    let column = written(name);
    let join = tables.iter().find_map(|&table| {
        let join = joined(table, visible.iter().copied(), scope, metadata)?;
        Some((table, join))
    });
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
    let has_from = !scope.sources().is_empty();
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
