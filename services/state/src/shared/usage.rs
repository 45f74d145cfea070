//! Rows and bytes that callers were sent, which replicas add up.
//!
//! Each replica writes its totals of the day and not differences, so that a statement can be sent
//! again when its answer was lost. It reads the totals that the others have written in transactions
//! that had not ended when it read last.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
};

use rand::{TryRng as _, rngs::SysRng};
use tracing::warn;
use ziggurat_postgres::driver::{Query, Row, Value, query};

use crate::{
    StateDatabase, StoreError,
    shared::{Shared, bytes},
};

/// Maximum number of callers that a statement writes, and of those that it reads.
const BATCH: usize = 1000;

/// Maximum number of callers of a day; further ones are counted by each replica alone.
const MAX_CALLERS: usize = 100_000;

/// Number of rows of past days deleted by a statement.
const DELETED_PER_STATEMENT: i64 = 1000;

/// Rows and bytes that were sent to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerUsage {
    /// Digest that all replicas have for the caller.
    pub caller: [u8; 32],
    /// Number of rows.
    pub rows: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Usage that other replicas have written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsagePage {
    /// Rows and bytes of each caller that no page before had.
    pub usage: Vec<CallerUsage>,
    /// Is true if nothing is left to write or to read.
    pub is_last: bool,
}

/// Usage of one day, as this replica has counted it and as it knows it of the others.
pub struct UsageExchange {
    state: StateDatabase,
    /// Random name of this replica, once it was needed.
    replica: Option<[u8; 16]>,
    /// Days since 1970, in UTC.
    day: u64,
    callers: HashMap<[u8; 32], Totals>,
    max_callers: usize,
    is_full: bool,
    /// Callers with own totals that may not be written yet.
    unwritten: BTreeSet<[u8; 32]>,
    /// All transactions before this one were read.
    read_until: i64,
    /// Next value of `read_until`, while pages are left to read.
    snapshot: Option<i64>,
    /// Last caller of the page before; empty for the first page.
    after: Vec<u8>,
}

/// Totals of one caller.
#[derive(Clone, Copy, Default)]
struct Totals {
    own: Sent,
    others: Sent,
}

#[derive(Clone, Copy, Default)]
struct Sent {
    rows: u64,
    bytes: u64,
}

// === impl UsageExchange ===

impl UsageExchange {
    /// Begins without counts, so that the first pages have all that was sent on the day, also by a
    /// process that was in the place of this one.
    #[must_use]
    pub fn new(shared: &Shared) -> Self {
        Self::of_day(shared.state.clone(), 0)
    }

    fn of_day(state: StateDatabase, day: u64) -> Self {
        Self {
            state,
            replica: None,
            day,
            callers: HashMap::new(),
            max_callers: MAX_CALLERS,
            is_full: false,
            unwritten: BTreeSet::new(),
            read_until: 0,
            snapshot: None,
            after: Vec::new(),
        }
    }

    /// Counts what this replica has sent on a day, in days since 1970. Another day than before
    /// begins without counts.
    pub fn count(&mut self, day: u64, sent: impl IntoIterator<Item = CallerUsage>) {
        if day != self.day {
            // With another name. The limits begin anew as well, and so they learn the earlier usage
            // of this replica if a clock goes back to a day.
            *self = Self::of_day(self.state.clone(), day);
        }
        for usage in sent {
            if let Some(Totals { own, .. }) = self.totals(usage.caller) {
                own.rows = own.rows.saturating_add(usage.rows);
                own.bytes = own.bytes.saturating_add(usage.bytes);
                self.unwritten.insert(usage.caller);
            }
        }
    }

    /// Writes the counted usage, and returns a page of the usage that other replicas have written.
    /// After a failure nothing is lost: the next call goes on.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn exchange(&mut self) -> Result<UsagePage, StoreError> {
        let replica = self.replica()?;
        let written: Vec<_> = self.unwritten.iter().copied().take(BATCH).collect();
        let rows = self.state.rows(self.statement(replica, &written)).await?;
        let (snapshot, totals) = read(&rows)?;
        for caller in &written {
            self.unwritten.remove(caller);
        }
        let snapshot = *self.snapshot.get_or_insert(snapshot);
        let is_round_over = totals.len() < BATCH;
        if is_round_over {
            // A database that was restored may number its transactions anew.
            let is_older = snapshot < self.read_until;
            self.read_until = if is_older { 0 } else { snapshot };
            self.snapshot = None;
            self.after.clear();
        } else if let Some(last) = totals.last() {
            self.after = last.caller.to_vec();
        }
        let new = totals.into_iter().filter_map(|total| self.learn(total));
        Ok(UsagePage {
            usage: new.collect(),
            is_last: is_round_over && self.unwritten.is_empty(),
        })
    }

    fn replica(&mut self) -> Result<[u8; 16], StoreError> {
        if let Some(replica) = self.replica {
            return Ok(replica);
        }
        let mut replica = [0; 16];
        SysRng.try_fill_bytes(&mut replica)?;
        Ok(*self.replica.insert(replica))
    }

    fn totals(&mut self, caller: [u8; 32]) -> Option<&mut Totals> {
        if self.callers.len() >= self.max_callers && !self.callers.contains_key(&caller) {
            if !self.is_full {
                let max = self.max_callers;
                warn!("replicas add up the usage of {max} callers; further ones are left out");
            }
            self.is_full = true;
            return None;
        }
        Some(self.callers.entry(caller).or_default())
    }

    /// Keeps the total of a caller, and returns the difference to the one before.
    fn learn(&mut self, total: CallerUsage) -> Option<CallerUsage> {
        let others = &mut self.totals(total.caller)?.others;
        let new = CallerUsage {
            rows: total.rows.saturating_sub(others.rows),
            bytes: total.bytes.saturating_sub(others.bytes),
            ..total
        };
        others.rows = others.rows.max(total.rows);
        others.bytes = others.bytes.max(total.bytes);
        (new.rows > 0 || new.bytes > 0).then_some(new)
    }

    fn statement(&self, replica: [u8; 16], written: &[[u8; 32]]) -> Query<'static> {
        let own = written.iter().map(|caller| self.callers[caller].own);
        let (rows, bytes) = own
            .map(|own| (number(own.rows).to_string(), number(own.bytes).to_string()))
            .unzip();
        // The greatest wins, because a statement that was given up may run after the next one. The
        // day before stays for replicas with a slow clock.
        query(
            "WITH dropped AS (DELETE FROM ziggurat.usage WHERE (day, caller, replica) IN ( \
             SELECT day, caller, replica FROM ziggurat.usage WHERE day < pg_catalog.floor( \
             pg_catalog.date_part('epoch', statement_timestamp()) / 86400)::bigint - 1 \
             ORDER BY day LIMIT $1 FOR UPDATE SKIP LOCKED)), \
             written AS (INSERT INTO ziggurat.usage AS u (day, replica, caller, rows, bytes) \
             SELECT $2, $3, own.* FROM ROWS FROM (pg_catalog.unnest($4), \
             pg_catalog.unnest($5::bigint[]), pg_catalog.unnest($6::bigint[])) AS own \
             ON CONFLICT (day, caller, replica) DO UPDATE SET written = excluded.written, \
             rows = GREATEST(u.rows, excluded.rows), bytes = GREATEST(u.bytes, excluded.bytes)) \
             SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()), \
             pg_catalog.encode(others.caller, 'base64'), others.rows, others.bytes \
             FROM (SELECT) AS always LEFT JOIN (SELECT caller, \
             LEAST(pg_catalog.sum(rows), 9223372036854775807)::bigint AS rows, \
             LEAST(pg_catalog.sum(bytes), 9223372036854775807)::bigint AS bytes \
             FROM ziggurat.usage WHERE day = $2 AND replica <> $3 AND caller IN ( \
             SELECT caller FROM ziggurat.usage WHERE day = $2 AND replica <> $3 \
             AND written >= $7::text::xid8 AND caller > $8 \
             GROUP BY caller ORDER BY caller LIMIT $9) GROUP BY caller) AS others ON true \
             ORDER BY others.caller",
        )
        .bind(DELETED_PER_STATEMENT)
        .bind(number(self.day))
        .bind(&replica[..])
        .bind(Value::ManyBytes(
            written.iter().map(|caller| caller.to_vec()).collect(),
        ))
        .bind(Value::Texts(rows))
        .bind(Value::Texts(bytes))
        .bind(self.read_until)
        .bind(&self.after[..])
        .bind(number(BATCH as u64))
    }
}

impl fmt::Debug for UsageExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The counts are left out: there are many, and they tell of people.
        f.debug_struct("UsageExchange")
            .field("day", &self.day)
            .finish_non_exhaustive()
    }
}

/// Reads the oldest transaction that has not ended, and the totals of other replicas.
fn read(rows: &[Row]) -> Result<(i64, Vec<CallerUsage>), StoreError> {
    let mut snapshot = 0;
    let mut totals = Vec::with_capacity(rows.len());
    for row in rows {
        snapshot = row.get(0)?;
        if row.value(1)?.is_some() {
            let count = |at| Ok::<_, StoreError>(u64::try_from(row.get::<i64>(at)?).unwrap_or(0));
            totals.push(CallerUsage {
                caller: bytes(row, 1)?,
                rows: count(2)?,
                bytes: count(3)?,
            });
        }
    }
    Ok((snapshot, totals))
}

/// Returns a number of PostgreSQL.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
