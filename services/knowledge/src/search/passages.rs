//! Passages of the search results, read from the file.

use std::collections::HashMap;

use futures_util::TryStreamExt as _;
use sqlx::Row as _;

use crate::{Error, base::Snapshot, top_chunks::Scored};

/// Maximum number of characters of a chunk that are returned. Builders make far smaller ones.
const MAX_CHARACTERS: i64 = 32_768;

/// A passage of a document, and its similarity to the question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Passage {
    /// Its product.
    pub project: String,
    /// The version of the product; empty if it has none.
    pub version: String,
    /// The title of the document.
    pub title: Option<String>,
    /// The headings above it.
    pub section: Option<String>,
    /// The text.
    pub text: String,
    /// Cosine of the angle between its vector and the vector of the question.
    pub similarity: f64,
}

/// Reads chunks, in the given order. A chunk that no longer exists is left out.
pub(super) async fn read(snapshot: &Snapshot, found: Vec<Scored>) -> Result<Vec<Passage>, Error> {
    let ids: Vec<_> = found.iter().map(|one| one.id).collect();
    let mut texts = HashMap::with_capacity(ids.len());
    let mut connection = snapshot.connection.lock().await;
    let mut rows = sqlx::query(
        "SELECT id, project_name, project_version, title, section, substr(text, 1, ?2) \
         FROM chunks WHERE id IN (SELECT value FROM json_each(?1))",
    )
    .bind(json(&ids))
    .bind(MAX_CHARACTERS)
    .fetch(&mut *connection);
    while let Some(row) = rows.try_next().await? {
        let id: i64 = row.try_get(0)?;
        let passage = Passage {
            project: row.try_get(1)?,
            version: row.try_get(2)?,
            title: row.try_get(3)?,
            section: row.try_get(4)?,
            text: row.try_get(5)?,
            similarity: 0.0,
        };
        texts.insert(id, passage);
    }
    let passages = found.into_iter().filter_map(|one| {
        texts.remove(&one.id).map(|passage| Passage {
            similarity: one.score,
            ..passage
        })
    });
    Ok(passages.collect())
}

/// Returns a list of ids as JSON for SQLite.
pub(super) fn json(ids: &[i64]) -> String {
    let ids: Vec<_> = ids.iter().map(i64::to_string).collect();
    format!("[{}]", ids.join(","))
}
