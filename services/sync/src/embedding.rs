//! Vectors of the texts of a batch.

use ziggurat_llm::{self as llm, Class, Embedder};
use ziggurat_vector_search::vector_text;

use crate::{
    batch_statements::MAX_TEXT,
    definition::Definition,
    error::SyncError,
    queue::{ClaimedRow, Content},
};

/// Text that every model reads: its vector shows that the provider works.
const PROBE: &str = "dimensions";

/// Result for the rows of a batch.
#[derive(Debug, Default)]
pub(crate) struct Embedded<'a> {
    /// Rows with their vectors as texts; the vector of a blank text is empty.
    pub(crate) made: Vec<(&'a ClaimedRow, String)>,
    /// Rows that have no vector because of their text.
    pub(crate) failed: Vec<(&'a ClaimedRow, String)>,
    /// The reason why the other rows were not tried: the provider does not work.
    pub(crate) down: Option<llm::Error>,
}

/// Makes the vectors of rows, with up to `batch` texts in a request.
///
/// If a request fails, the provider is asked for the vector of a word: if that fails, too, the
/// provider is to blame. If not, the rows are asked for in halves, until each that fails is alone.
///
/// # Errors
/// Fails if the vectors do not fit the column.
pub(crate) async fn embed<'a>(
    embedder: &Embedder,
    batch: usize,
    definition: &Definition,
    rows: &[&'a ClaimedRow],
) -> Result<Embedded<'a>, SyncError> {
    let mut result = Embedded::default();
    let mut rest = Vec::with_capacity(rows.len());
    for &row in rows {
        match &row.content {
            Content::Text(text) if text.trim().is_empty() => {
                result.made.push((row, String::new()));
            }
            Content::Text(text) => rest.push((row, text.as_str())),
            Content::TooLong(bytes) => {
                let reason = format!("its text has {bytes} bytes, and at most {MAX_TEXT} are read");
                result.failed.push((row, reason));
            }
            Content::Unseen => {}
        }
    }
    let mut parts = vec![&*rest];
    let mut works = false;
    while let Some(part) = parts.pop().filter(|_| result.down.is_none()) {
        let texts: Vec<_> = part.iter().map(|(_, text)| *text).collect();
        match (embedder.embed_all(&texts, batch).await, part) {
            (Ok(vectors), part) => {
                for ((row, _), vector) in part.iter().zip(&vectors) {
                    definition.check_dimensions(vector.len())?;
                    result.made.push((row, vector_text(vector)));
                }
            }
            (Err(error), part) => {
                works = works || works_otherwise(embedder, &error).await;
                match part {
                    _ if !works => result.down = Some(error),
                    [(row, _)] => result.failed.push((row, error.to_string())),
                    part => {
                        let (first, second) = part.split_at(part.len() / 2);
                        parts.extend([second, first]);
                    }
                }
            }
        }
    }
    Ok(result)
}

/// Returns whether a provider that has failed works for other texts.
async fn works_otherwise(embedder: &Embedder, error: &llm::Error) -> bool {
    // These are never about a text.
    let is_general = matches!(
        error.class(),
        Class::Credentials | Class::RateLimit | Class::Unsupported
    );
    !is_general && embedder.embed(PROBE).await.is_ok()
}
