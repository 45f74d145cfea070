//! Search by words, with the index in the file.

use futures_util::TryStreamExt as _;
use sqlx::Row as _;
use ziggurat_search::tokens;

use crate::{Error, Product, base::Snapshot, schema, top_chunks::Scored};

/// Limit on the words of a question that are searched.
const MAX_WORDS: usize = 64;

/// Finds the chunks of the selected products that have words of a question, best first. Without an
/// index it finds none.
pub(super) async fn find(
    snapshot: &Snapshot,
    selected: &[bool],
    question: &str,
    count: usize,
) -> Result<Vec<Scored>, Error> {
    let words = query(question);
    if words.is_empty() || !snapshot.has_words {
        return Ok(Vec::new());
    }
    let mut connection = snapshot.connection.lock().await;
    let mut rows = sqlx::query(schema::BY_WORDS)
        .bind(words)
        .bind(products(&snapshot.products, selected))
        .bind(i64::try_from(count).unwrap_or(i64::MAX))
        .fetch(&mut *connection);
    let mut found = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let (id, score) = (row.try_get(0)?, row.try_get(1)?);
        found.push(Scored { score, id });
    }
    Ok(found)
}

/// Returns the words as a query of SQLite: chunks with any of them match.
fn query(question: &str) -> String {
    // Words are letters and digits, so they need no escapes inside of the quotes.
    let words = tokens::terms(question).filter(|word| word.len() <= tokens::LONGEST_WORD);
    let words: Vec<_> = words
        .take(MAX_WORDS)
        .map(|word| format!("\"{word}\""))
        .collect();
    words.join(" OR ")
}

/// Returns the names and versions of the selected products as JSON, or `None` if all are selected.
fn products(products: &[Product], selected: &[bool]) -> Option<String> {
    if selected.iter().all(|is_selected| *is_selected) {
        return None;
    }
    let chosen = products.iter().zip(selected);
    let chosen = chosen.filter(|(_, is_selected)| **is_selected);
    let names: Vec<_> = chosen
        .map(|(product, _)| (&product.name, &product.version))
        .collect();
    serde_json::to_string(&names).ok()
}
