//! Reads rows and documents of a table without a question.

use ziggurat_postgres::error::QueryError;
use ziggurat_vector_search::retrieval_queries::{DocumentPart, Hit};

use crate::retrieval::{askers::Asker, masks::TableMasks, table_search::TableSearch};

/// Maximum number of rows that one reading of a document returns.
const MAX_PARTS: u32 = 1000;

/// The same for a document that is read whole, since its texts are masked.
const MAX_MASKED_PARTS: u32 = 10_000;

/// Most characters of such a document.
const MAX_MASKED: usize = 10_000_000;

// === impl TableSearch ===

impl TableSearch {
    /// Reads random rows with a text of at least `min_chars` characters.
    pub(super) async fn random_rows(
        &self,
        rows: u32,
        min_chars: u32,
        asker: &Asker,
    ) -> Result<Vec<Hit>, QueryError> {
        let known = self.known(asker).await?;
        if known.is_closed() {
            return Ok(Vec::new());
        }
        let found = known.whole(rows).random(min_chars, &asker.pool).await?;
        Ok(known.shown(found))
    }

    /// Returns whether there is a row with one of these ids, or of one of these documents.
    pub(super) async fn has_any(
        &self,
        ids: &[String],
        by_document: bool,
        asker: &Asker,
    ) -> Result<bool, QueryError> {
        let known = self.known(asker).await?;
        if known.is_closed() {
            return Ok(false);
        }
        let search = known.whole(1);
        search.has_any(ids, by_document, &asker.pool).await
    }

    /// Reads a part of the document that the row with this id belongs to.
    pub(super) async fn document(
        &self,
        id: &str,
        from: usize,
        characters: usize,
        asker: &Asker,
    ) -> Result<Vec<DocumentPart>, QueryError> {
        let known = self.known(asker).await?;
        let Some(masks) = &known.masks else {
            let search = known.whole(MAX_PARTS);
            return search.document(id, from, characters, &asker.pool).await;
        };
        if known.is_closed() || masks.hides_ids() {
            return Ok(Vec::new());
        }
        if !masks.changes_texts() {
            let search = known.whole(MAX_PARTS);
            let parts = search.document(id, from, characters, &asker.pool).await?;
            return Ok(parts
                .into_iter()
                .map(|part| labelled(part, masks))
                .collect());
        }
        // A part of a value is not found in a part of a text.
        let search = known.whole(MAX_MASKED_PARTS);
        let parts = search.document(id, 0, MAX_MASKED, &asker.pool).await?;
        Ok(cut(parts, from, characters, masks))
    }

    /// Reads the ids and titles of documents behind an id. Masked ids have no order to read on in.
    pub(super) async fn documents(
        &self,
        behind: &str,
        rows: u32,
        asker: &Asker,
    ) -> Result<Vec<(String, Option<String>)>, QueryError> {
        let known = self.known(asker).await?;
        let Some(masks) = &known.masks else {
            return known.whole(rows).documents(behind, &asker.pool).await;
        };
        if known.is_closed() || masks.changes_ids() {
            return Ok(Vec::new());
        }
        let found = known.whole(rows).documents(behind, &asker.pool).await?;
        let shown = found.into_iter().map(|(id, title)| {
            let [_, title, _] = masks.labels([None, title, None]);
            (id, title)
        });
        Ok(shown.collect())
    }

    /// Reads ids that begin with a text.
    pub(super) async fn ids_from(
        &self,
        begun: &str,
        rows: u32,
        asker: &Asker,
    ) -> Result<Vec<String>, QueryError> {
        let known = self.known(asker).await?;
        let changes_ids = known.masks.as_ref().is_some_and(TableMasks::changes_ids);
        if known.is_closed() || changes_ids {
            return Ok(Vec::new());
        }
        known.whole(rows).ids_from(begun, &asker.pool).await
    }
}

/// Masks the title and the address of a part.
fn labelled(part: DocumentPart, masks: &TableMasks) -> DocumentPart {
    let [_, title, url] = masks.labels([None, part.title, part.url]);
    DocumentPart { title, url, ..part }
}

/// Masks all parts of a document, and cuts them from a character on, as
/// [`document`](ziggurat_vector_search::retrieval_queries::Search::document) does.
fn cut(
    parts: Vec<DocumentPart>,
    from: usize,
    characters: usize,
    masks: &TableMasks,
) -> Vec<DocumentPart> {
    let to = from.saturating_add(characters);
    let mut end = 0;
    let parts = parts.into_iter().map(|part| {
        let text = masks.text(part.content);
        let (start, size) = (end, text.chars().count());
        end += size;
        let skipped = from.saturating_sub(start);
        let taken = to.saturating_sub(start).min(size).saturating_sub(skipped);
        DocumentPart {
            content: text.chars().skip(skipped).take(taken).collect(),
            start,
            title: part.title,
            url: part.url,
            total: 0,
        }
    });
    let parts: Vec<_> = parts.collect();
    let asked = parts
        .into_iter()
        .filter(|part| part.start == 0 || !part.content.is_empty());
    let asked = asked.map(|part| DocumentPart { total: end, ..part });
    asked.map(|part| labelled(part, masks)).collect()
}
