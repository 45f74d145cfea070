//! The columns that are masked for a caller.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::warn;
use ziggurat_sql::Refusal;

use crate::{
    database::{CallerColumns, CallerMasks},
    error::QueryError,
    pool::Pool,
};

/// The columns of a database that are masked for a caller, for statements of this server about
/// tables that a caller names.
#[derive(Clone, Debug)]
pub struct MaskedColumns(Option<Arc<CallerColumns>>);

// === impl MaskedColumns ===

impl MaskedColumns {
    /// Looks them up, if there are rules for the caller, so that a table is among those that are
    /// known.
    ///
    /// # Errors
    /// Fails if they are not known.
    pub async fn of(pool: &Pool, table: u32) -> Result<Self, QueryError> {
        let Some(masks) = pool.database().masks() else {
            return Ok(Self(None));
        };
        let columns = match masks.known().filter(|it| it.know_table(table)) {
            Some(columns) => Some(columns),
            // Boxed: rare, and large.
            None => Box::pin(look_up(masks, pool)).await,
        };
        Ok(Self(Some(columns.ok_or(Refusal::NotReady)?)))
    }

    /// Returns whether a column of a table is masked, at least in part.
    #[must_use]
    pub fn has(&self, table: u32, column: u16) -> bool {
        let columns = self.0.as_ref();
        columns.is_some_and(|columns| columns.has(table, column))
    }
}

/// Looks up the masked columns of a caller.
pub(super) async fn look_up(masks: &CallerMasks, pool: &Pool) -> Option<Arc<CallerColumns>> {
    let connect = pool.side_connection_to(masks.base());
    let columns = masks.newer(Instant::now(), connect).await;
    let columns = columns.inspect_err(|error| {
        let database = pool.database().name();
        warn!(
            error = &**error,
            database, "cannot look up the masked columns"
        );
    });
    columns.ok()
}
