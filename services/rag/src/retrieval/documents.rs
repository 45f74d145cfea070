//! Documents of the tables, in their order.

use futures_util::future;
use ziggurat_postgres::error::QueryError;
use ziggurat_vector_search::retrieval_queries::DocumentPart;

use crate::retrieval::{
    FailureKind, Passage, RetrievalFailure, Retriever, expand, table_search::TableSearch,
};

/// A document, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    /// The text.
    pub(crate) content: String,
    /// The position of the character behind the text.
    pub(crate) end: usize,
    /// Number of characters of the whole document.
    pub(crate) total: usize,
    /// The title, if the table has titles.
    pub(crate) title: Option<String>,
    /// The address, if the table has addresses.
    pub(crate) url: Option<String>,
}

// === impl Retriever ===

impl Retriever {
    /// Returns whether rows have ids, by which documents are read.
    pub(crate) fn has_ids(&self) -> bool {
        self.inner.tables.iter().any(TableSearch::has_ids)
    }

    /// Returns the name of a passage for [`document`](Self::document): its id, after the number of
    /// its table if there are several.
    pub(crate) fn name_of(&self, passage: &Passage) -> Option<String> {
        // By a masked id no document is read.
        let id = passage.id.as_ref()?;
        (passage.key() == Some(id)).then_some(())?;
        Some(self.named(passage.table, id))
    }

    fn named(&self, table: usize, id: &str) -> String {
        match self.inner.tables.len() {
            1 => id.to_owned(),
            _ => format!("{}:{id}", table + 1),
        }
    }

    /// Reads the parts of the document of a passage, from a character on, at most this many
    /// characters. The list is empty if no such document may be shown.
    ///
    /// # Errors
    /// Fails if the table cannot be read.
    pub(crate) async fn document(
        &self,
        name: &str,
        from: usize,
        characters: usize,
    ) -> Result<Vec<DocumentPart>, RetrievalFailure> {
        let tables = &self.inner.tables;
        let (table, id) = match tables.len() {
            1 => (1, name),
            _ => match name.split_once(':') {
                Some((table, id)) => (table.parse().unwrap_or(0), id),
                None => return Ok(Vec::new()),
            },
        };
        let found = usize::checked_sub(table, 1).and_then(|at| tables.get(at));
        let Some(table) = found.filter(|table| table.has_ids()) else {
            return Ok(Vec::new());
        };
        let parts = table.document(id, from, characters, &self.asker()).await;
        parts.map_err(failed)
    }

    /// Returns the names and titles of documents, at most this many: those behind a document, in the
    /// order of tables and ids.
    ///
    /// # Errors
    /// Fails if a table cannot be read.
    pub(crate) async fn documents(
        &self,
        behind: &str,
        rows: u32,
    ) -> Result<Vec<(String, Option<String>)>, RetrievalFailure> {
        let tables = &self.inner.tables;
        let (first, id) = match (tables.len(), behind.split_once(':')) {
            (1, _) | (_, None) => (1, behind),
            (_, Some((table, id))) => (table.parse().unwrap_or(1), id),
        };
        let asker = self.asker();
        let mut found = Vec::new();
        let behind = std::iter::once(id).chain(std::iter::repeat(""));
        let tables = tables.iter().enumerate().skip(first.max(1) - 1);
        for ((at, table), behind) in tables.zip(behind) {
            let left = rows.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
            if left == 0 {
                break;
            }
            if table.has_ids() {
                let read = table.documents(behind, left, &asker).await;
                let read = read.map_err(failed)?.into_iter();
                found.extend(read.map(|(id, title)| (self.named(at, &id), title)));
            }
        }
        Ok(found)
    }

    /// Returns names of documents that begin with a text, at most this many.
    ///
    /// # Errors
    /// Fails if a table cannot be read.
    pub(crate) async fn names_from(
        &self,
        begun: &str,
        rows: u32,
    ) -> Result<Vec<String>, RetrievalFailure> {
        let asker = self.asker();
        let tables = self.inner.tables.iter().enumerate();
        let read = tables.map(async |(at, table)| {
            let before = self.named(at, "");
            // The text may end within the number of the table.
            let begun = match begun.strip_prefix(&*before) {
                Some(id) => id,
                None if before.starts_with(begun) => "",
                None => return Ok(Vec::new()),
            };
            if !table.has_ids() {
                return Ok(Vec::new());
            }
            let ids = table.ids_from(begun, rows, &asker).await?;
            Ok(ids.into_iter().map(|id| before.clone() + &id).collect())
        });
        let found = future::try_join_all(read).await.map_err(failed)?;
        let mut names: Vec<_> = found.into_iter().flatten().collect();
        names.truncate(usize::try_from(rows).unwrap_or(usize::MAX));
        Ok(names)
    }
}

fn failed(error: QueryError) -> RetrievalFailure {
    RetrievalFailure::Database(FailureKind::of(&error), error)
}

// === impl Document ===

impl Document {
    /// Joins parts that were read from a character on, up to a number of bytes.
    pub(crate) fn of(parts: &[DocumentPart], from: usize, max_bytes: usize) -> Self {
        let first = parts.first();
        let mut document = Self {
            total: first.map_or(0, |first| first.total),
            title: first.and_then(|first| first.title.clone()),
            url: first.and_then(|first| first.url.clone()),
            end: from,
            ..Self::default()
        };
        let mut before = "";
        for part in parts.iter().filter(|part| !part.content.is_empty()) {
            let room = max_bytes.saturating_sub(document.content.len());
            let text = &part.content[..part.content.floor_char_boundary(room)];
            if before.is_empty() {
                document.content.push_str(text);
            } else {
                expand::append(&mut document.content, before, text);
            }
            document.end = part.start.max(from) + text.chars().count();
            if text.len() < part.content.len() {
                break;
            }
            before = &part.content;
        }
        document
    }
}
