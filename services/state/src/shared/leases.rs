//! Calls of callers that replicas lease from a common window.

use std::time::Duration;

use ziggurat_postgres::driver::{Query, Row, Value, query};

use crate::{
    StoreError,
    shared::{Shared, bytes},
};

/// Maximum number of callers in a statement.
const BATCH: usize = 1000;

/// Number of rows without a meaning deleted by a statement.
const DELETED_PER_STATEMENT: i64 = 1000;

/// Calls to lease for a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLease {
    /// Digest that all replicas have for the caller.
    pub caller: [u8; 32],
    /// Time after which a call becomes available again.
    pub interval: Duration,
    /// Number of calls that may be made at once.
    pub burst: u32,
    /// Number of calls to lease.
    pub calls: u32,
}

// === impl Shared ===

impl Shared {
    /// Leases calls for callers, each at most once, as far as their windows have them. Returns the
    /// calls that were leased. Without callers it only tries the database.
    ///
    /// # Errors
    /// Fails if the database cannot run a statement.
    pub async fn lease_calls(
        &self,
        wanted: &[CallLease],
    ) -> Result<Vec<([u8; 32], u32)>, StoreError> {
        let mut leased = Vec::with_capacity(wanted.len());
        let mut rest = wanted.chunks(BATCH);
        let mut batch = rest.next().unwrap_or_default();
        loop {
            let mut rows = self.state.rows(lease(batch)).await?;
            if rows.len() < batch.len() {
                self.state.execute(insert(batch)).await?;
                let is_new = |lease: &&CallLease| !has(&rows, &lease.caller);
                let new: Vec<_> = batch.iter().filter(is_new).copied().collect();
                rows.extend(self.state.rows(lease(&new)).await?);
            }
            for row in &rows {
                let calls = u32::try_from(row.get::<i64>(1)?).unwrap_or_default();
                leased.push((bytes(row, 0)?, calls));
            }
            match rest.next() {
                Some(next) => batch = next,
                None => return Ok(leased),
            }
        }
    }
}

/// Returns whether a row is of this caller.
fn has(rows: &[Row], caller: &[u8; 32]) -> bool {
    rows.iter()
        .any(|row| bytes(row, 0).is_ok_and(|found| found == *caller))
}

/// Returns the statement that makes the rows of callers, with the time of now, so that no replica
/// drops them as old ones. All replicas use one order, so that they do not wait for each other in a
/// circle.
fn insert(wanted: &[CallLease]) -> Query<'static> {
    query(
        "INSERT INTO ziggurat.calls (caller, full_at, granted) \
         SELECT caller, pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()), 0 \
         FROM pg_catalog.unnest($1) AS caller ORDER BY caller ON CONFLICT DO NOTHING",
    )
    .bind(callers(wanted))
}

/// Returns the statement that leases calls: the time at which all calls are available is moved by
/// the calls that are granted. If another replica changed the row meanwhile, PostgreSQL computes
/// both anew from the row as it is then.
fn lease(wanted: &[CallLease]) -> Query<'static> {
    let texts = |text: fn(&CallLease) -> String| Value::Texts(wanted.iter().map(text).collect());
    query(
        "WITH wanted AS (SELECT * FROM ROWS FROM (pg_catalog.unnest($1), \
         pg_catalog.unnest($2::double precision[]), pg_catalog.unnest($3::double precision[]), \
         pg_catalog.unnest($4::double precision[])) AS wanted (caller, step, burst, calls), \
         pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) AS now (now)), \
         locked AS (SELECT caller FROM ziggurat.calls JOIN wanted USING (caller) \
         ORDER BY caller FOR UPDATE OF calls), \
         dropped AS (DELETE FROM ziggurat.calls WHERE caller IN (SELECT caller \
         FROM ziggurat.calls WHERE full_at < pg_catalog.date_part('epoch', \
         pg_catalog.clock_timestamp()) - 3600 AND caller <> ALL ($1) \
         ORDER BY full_at LIMIT $5 FOR UPDATE SKIP LOCKED)) \
         UPDATE ziggurat.calls AS c SET \
         granted = LEAST(calls, GREATEST(0, pg_catalog.floor( \
         burst - (GREATEST(full_at, now) - now) / step))), \
         full_at = GREATEST(full_at, now) + step * LEAST(calls, GREATEST(0, pg_catalog.floor( \
         burst - (GREATEST(full_at, now) - now) / step))) \
         FROM wanted JOIN locked USING (caller) WHERE c.caller = wanted.caller \
         RETURNING pg_catalog.encode(c.caller, 'base64'), c.granted",
    )
    .bind(callers(wanted))
    .bind(texts(|it| it.interval.as_secs_f64().to_string()))
    .bind(texts(|it| it.burst.to_string()))
    .bind(texts(|it| it.calls.to_string()))
    .bind(DELETED_PER_STATEMENT)
}

fn callers(wanted: &[CallLease]) -> Value {
    Value::ManyBytes(wanted.iter().map(|it| it.caller.to_vec()).collect())
}
