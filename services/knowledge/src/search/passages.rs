//! What is found, as it stands in the file.

use std::collections::HashMap;

use futures_util::TryStreamExt as _;
use sqlx::Row as _;

use crate::{Error, base::Snapshot, best::Scored};

/// How many characters of a chunk are returned. Builders make them far smaller.
const MAX_CHARACTERS: i64 = 32_768;

/// A passage of a document, and how close it is to the question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Passage {
    /// The product it is about.
    pub project: String,
    /// Of which version; empty if it has none.
    pub version: String,
    /// The title of the document.
    pub title: Option<String>,
    /// The headings it stands under.
    pub section: Option<String>,
    /// The passage.
    pub text: String,
    /// The cosine of the angle between its vector and the question's.
    pub similarity: f64,
}

/// Reads chunks, in the order given. One that is gone meanwhile is left out.
pub(super) async fn read(snapshot: &Snapshot, found: Vec<Scored>) -> Result<Vec<Passage>, Error> {
    let ids: Vec<_> = found.iter().map(|one| one.id).collect();
    let mut texts = HashMap::with_capacity(ids.len());
    let mut connection = snapshot.reader.turn().await;
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

/// A list of ids the way SQLite takes one.
pub(super) fn json(ids: &[i64]) -> String {
    let ids: Vec<_> = ids.iter().map(i64::to_string).collect();
    format!("[{}]", ids.join(","))
}
