//! Names in texts, as SQL writes them.

use crate::question::{ColumnName, TableName};

/// Returns whether a text contains a name or value as a whole.
pub(crate) fn contains(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut places = text.match_indices(name);
    places.any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Reads a name at the beginning of a text. Returns it without quotes, and the rest.
pub(super) fn name(text: &str) -> Option<(String, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (name, rest) = quoted.split_once('"')?;
        return Some((name.to_owned(), rest));
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty()).then(|| (name.to_owned(), rest))
}

/// Reads `schema.table`.
pub(super) fn table(text: &str) -> Option<(TableName, &str)> {
    let (schema, rest) = name(text)?;
    let (name, rest) = name(rest.strip_prefix('.')?)?;
    Some((TableName { schema, name }, rest))
}

/// Reads `schema.table.column`.
pub(super) fn column(text: &str) -> Option<(ColumnName, &str)> {
    let (table, rest) = table(text)?;
    let (name, rest) = name(rest.strip_prefix('.')?)?;
    Some((ColumnName { table, name }, rest))
}

/// Reads names with commas between them.
pub(super) fn list(mut text: &str) -> (Vec<String>, &str) {
    let mut names = Vec::new();
    while let Some((name, rest)) = name(text) {
        names.push(name);
        match rest.strip_prefix(", ") {
            Some(next) => text = next,
            None => return (names, rest),
        }
    }
    (names, text)
}
