//! The cached description of a table.

use std::sync::Arc;

use tokio::time::Instant;
use ziggurat_postgres::error::QueryError;
use ziggurat_vector_search::retrieval_queries::{Hit, Search, SearchTable, Shape};

use crate::retrieval::{
    askers::Asker,
    keywords::{KeywordMethod, TextStatistics},
    masks::TableMasks,
};

/// The description of a table at a point in time.
#[derive(Debug)]
pub(in crate::retrieval) struct KnownTable {
    /// The table, without columns that the asker must not search.
    pub(in crate::retrieval) place: Arc<SearchTable>,
    pub(in crate::retrieval) shape: Shape,
    pub(in crate::retrieval) method: KeywordMethod,
    pub(in crate::retrieval) statistics: TextStatistics,
    /// The masks that hold for the asker, if some do.
    pub(in crate::retrieval) masks: Option<TableMasks>,
    pub(in crate::retrieval) since: Instant,
}

// === impl KnownTable ===

impl KnownTable {
    /// Returns whether its asker does not search it.
    pub(in crate::retrieval) fn is_closed(&self) -> bool {
        let masks = self.masks.as_ref();
        masks.is_some_and(|masks| masks.closed_by().is_some())
    }

    /// Returns whether it has no such column, or its asker does not know it.
    pub(in crate::retrieval) fn lacks(&self, column: &str) -> bool {
        let masks = self.masks.as_ref();
        masks.is_some_and(|masks| masks.hidden().contains(column))
            || self.shape.column(column).is_none()
    }

    /// Returns whether its masks are the current ones of an asker.
    pub(in crate::retrieval) async fn has_masks_of(
        &self,
        asker: &Asker,
    ) -> Result<bool, QueryError> {
        match (&self.masks, &asker.masks) {
            (Some(masks), Some(held)) => masks.are_current(held, &asker.pool, &self.shape).await,
            (masks, held) => Ok(masks.is_none() && held.is_none()),
        }
    }

    /// Returns rows as the asker may see them.
    pub(in crate::retrieval) fn shown(&self, found: Vec<Hit>) -> Vec<Hit> {
        match &self.masks {
            Some(masks) => found.into_iter().map(|hit| masks.apply(hit)).collect(),
            None => found,
        }
    }

    /// Returns a search without a question.
    pub(in crate::retrieval) fn whole(&self, rows: u32) -> Search<'_> {
        Search {
            place: &self.place,
            shape: &self.shape,
            filter: None,
            excluded: &[],
            rows,
        }
    }
}
