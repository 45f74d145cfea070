//! The columns that are masked for a caller.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::warn;
use ziggurat_sql::Refusal;

use crate::{
    database::{Acting, CallerColumns, CallerMasks, Database, MaskFindings, Masking},
    error::{Phase, QueryError},
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
        let columns = match masks
            .known(role(pool.database()))
            .filter(|it| it.know_table(table))
        {
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

/// Looks for mistakes in the masks of a database, and for roles that may read masked columns. The
/// connections have its own user. `may_give` says of a role if a caller may get it.
///
/// # Errors
/// Fails if a query does.
pub async fn mask_findings(
    pool: &Pool,
    masking: &Masking,
    may_give: impl Fn(&str) -> bool,
) -> Result<MaskFindings, QueryError> {
    let database = pool.database();
    let mut client = pool.side_connection().await?;
    client.set_patience(database.query_timeout());
    let user = &database.settings().user;
    let found = masking.findings(&mut client, user, may_give).await;
    found.map_err(|error| QueryError::new(error, Phase::Run, 0))
}

/// Looks up the masked columns of a caller.
pub(super) async fn look_up(masks: &CallerMasks, pool: &Pool) -> Option<Arc<CallerColumns>> {
    let connect = pool.side_connection_to(masks.base());
    let role = role(pool.database());
    let columns = masks.newer(Instant::now(), role, connect).await;
    let columns = columns.inspect_err(|error| {
        let database = pool.database().name();
        warn!(
            error = &**error,
            database, "the masked columns are not ready, so statements are refused"
        );
    });
    columns.ok()
}

/// Returns the columns of a relation that a caller may read; none if they cannot be looked up.
pub(super) async fn readable(masks: &CallerMasks, pool: &Pool, relation: u32) -> Vec<String> {
    let connect = pool.side_connection_to(masks.base());
    let columns = masks.readable(relation, role(pool.database()), connect);
    columns.await.unwrap_or_default()
}

/// Returns the role of a caller, if it is not the database's own user.
pub(super) fn role(database: &Database) -> Option<&str> {
    database.acts().and_then(Acting::role)
}
