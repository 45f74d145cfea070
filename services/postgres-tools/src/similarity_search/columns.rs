//! Pairs of vector and text columns, matched by their names.

use ziggurat_postgres::metadata::{Column, Table};

/// Suffixes of vector columns after the name of their text; the first match counts.
const SUFFIXES: [&str; 7] = [
    "_embedding",
    "_embeddings",
    "_vector",
    "_vectors",
    "_emb",
    "embedding",
    "vector",
];

/// A vector column and its text column.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnPair<'a> {
    pub(super) vector: Column<'a>,
    pub(super) text: Column<'a>,
}

/// Returns the vector columns that a text column matches by name, in their order.
pub(super) fn pairs<'a>(table: Table<'a>, vectors: &[Column<'a>]) -> Vec<ColumnPair<'a>> {
    let pair = |vector: &Column<'a>| {
        let stem = stem(vector.name())?;
        let mut texts = table.columns().filter(is_text);
        let text = texts.find(|column| column.name() == stem)?;
        Some(ColumnPair {
            vector: *vector,
            text,
        })
    };
    vectors.iter().filter_map(pair).collect()
}

/// Returns the texts of the pairs, each once; all texts of the table if there are no pairs.
pub(super) fn texts<'a>(table: Table<'a>, pairs: &[ColumnPair<'a>]) -> Vec<Column<'a>> {
    if pairs.is_empty() {
        return table.columns().filter(is_text).collect();
    }
    let mut found: Vec<Column<'a>> = Vec::new();
    for ColumnPair { text, .. } in pairs {
        if found.iter().all(|known| known.name() != text.name()) {
            found.push(*text);
        }
    }
    found
}
/// Returns the name of a vector column without the suffix for vectors.
fn stem(name: &str) -> Option<&str> {
    let stem = SUFFIXES.iter().find_map(|suffix| {
        let at = name.len().checked_sub(suffix.len())?;
        let (stem, end) = name.split_at_checked(at)?;
        end.eq_ignore_ascii_case(suffix).then_some(stem)
    })?;
    Some(stem.strip_suffix('_').unwrap_or(stem))
}

/// Returns whether a column has a text type. Domains are not resolved.
fn is_text(column: &Column<'_>) -> bool {
    let data_type = column.data_type();
    let base = data_type.split('(').next().unwrap_or_default();
    let is_list = data_type.ends_with("[]");
    // A type of an extension outside of the search path has its schema as a prefix.
    let name = base.rsplit('.').next().unwrap_or_default();
    !is_list && matches!(name, "text" | "character varying" | "character" | "citext")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_matching_suffix_and_one_underscore_are_removed() {
        let cases = [
            ("content_embedding", Some("content")),
            ("content_embeddings", Some("content")),
            ("body_vector", Some("body")),
            ("body_vectors", Some("body")),
            ("title_emb", Some("title")),
            ("titleEmbedding", Some("title")),
            ("TITLE_VECTOR", Some("TITLE")),
            ("content__embedding", Some("content")),
            ("embedding", Some("")),
            ("vector", Some("")),
            ("überschrift_vector", Some("überschrift")),
            ("ß", None),
            ("vec", None),
            ("embedding_of_content", None),
        ];
        for (name, expected) in cases {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
