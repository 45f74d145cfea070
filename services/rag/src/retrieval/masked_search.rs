//! The search of a table by askers for whom columns are masked.

use std::{error::Error, sync::atomic::Ordering};

use tracing::warn;

use crate::{
    filter::CheckedFilter,
    retrieval::{
        ForbiddenColumn,
        askers::Asker,
        known_tables::KnownTable,
        masks::TableMasks,
        table_search::{MAX_DOUBTFUL_AGE, TableSearch},
    },
};

// === impl TableSearch ===

impl TableSearch {
    /// Checks that an asker for whom columns are masked may filter by these columns, and returns whether
    /// it may search the table. While the table cannot be described, it may: the search fails then.
    pub(super) async fn check_filter_of_asker(
        &self,
        filter: &CheckedFilter,
        asker: &Asker,
    ) -> Result<bool, ForbiddenColumn> {
        let Ok(known) = self.known(asker).await else {
            return Ok(true);
        };
        if known.is_closed() {
            return Ok(false);
        }
        match &known.masks {
            Some(masks) => self.allowed.without(masks.hidden()).check(filter),
            None => self.check_filter(filter),
        }
        .map(|()| true)
    }

    /// Forgets the description of a masked table that another one may have replaced, so that no row
    /// was found.
    pub(super) fn forget_replaced(&self, known: &KnownTable, asker: &Asker) -> bool {
        let is_old = known.since.elapsed() > MAX_DOUBTFUL_AGE;
        let may_be_gone = known.masks.is_some() && is_old;
        if may_be_gone {
            self.known.of(asker).table.store(None);
        }
        may_be_gone
    }

    /// Logs that askers for whom a column is masked cannot search the table.
    pub(super) async fn check_masks(&self, asker: &Asker) {
        match self.known(asker).await {
            Ok(known) => self.log_masks(&known),
            Err(error) => warn!(
                error = &error as &dyn Error,
                pipeline = self.pipeline,
                table = self.name,
                "cannot look up the masked columns of the table"
            ),
        }
    }

    pub(super) fn log_masks(&self, known: &KnownTable) {
        let Some(column) = known.masks.as_ref().and_then(TableMasks::closed_by) else {
            return;
        };
        if !self.has_warned_of_masks.swap(true, Ordering::Relaxed) {
            warn!(
                pipeline = self.pipeline,
                table = self.name,
                column,
                "the table is left out for askers for whom this column is masked"
            );
        }
    }
}
