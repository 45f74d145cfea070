//! Limit on the rows that a statement changes.
//!
//! PostgreSQL counts the changed rows of each table of a transaction, also those that triggers,
//! cascades and functions change. The counters go on from earlier transactions of the session, so
//! they are read before the text and after it.
//!
//! Some of a transaction would run only at its end: deferred triggers, and cursors that outlive it.
//! The first run before the counters are read, and the second are closed. A trigger may defer others
//! again, so the rows are counted until they stay the same.

use std::collections::{BTreeSet, HashMap};

use crate::{
    driver::{DriverError, Event, Row},
    error::{ChangeLimit, Phase, QueryError},
    statement::executor::{AttemptError, Execution},
};

/// Number of times that deferred triggers may run.
const ROUNDS: usize = 8;

/// Limit on the bytes of a row of an answer.
const MAX_ROW_BYTES: usize = 1 << 10;

/// Lists, in this order: the transaction with the setting `track_counts`, the counters of tables, and
/// locks on tables that changed in a way that is not counted.
///
/// The savepoint keeps the search path for the text. Rows of temporary tables do not last, and rows of
/// the catalogue are definitions, except for large objects.
const COUNT: &str = "SAVEPOINT ziggurat; SET LOCAL search_path = pg_catalog, pg_temp; \
    SELECT 'transaction', current_setting('track_counts') || ' ' || virtualxid, 0 FROM pg_locks \
    WHERE pid = pg_backend_pid() AND locktype = 'virtualxid' AND virtualxid = virtualtransaction \
    UNION ALL SELECT * FROM (SELECT 'rows', oid::text, pg_stat_get_xact_tuples_inserted(oid) \
    + pg_stat_get_xact_tuples_updated(oid) + pg_stat_get_xact_tuples_deleted(oid) \
    FROM pg_class WHERE relkind IN ('r', 'm') AND relpersistence <> 't' \
    AND (relnamespace <> 'pg_catalog'::regnamespace OR relname ~ '^pg_largeobject')) \
    AS counters (kind, name, rows) WHERE rows > 0 \
    UNION ALL SELECT CASE WHEN c.oid IS NULL THEN 'dropped' WHEN l.mode = 'AccessExclusiveLock' \
    AND c.relkind <> 'f' THEN 'locked' ELSE 'uncounted' END, n.nspname || '.' || c.relname, 0 \
    FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation \
    LEFT JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am m ON m.oid = c.relam \
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' \
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND l.mode NOT IN ('AccessShareLock', 'RowShareLock') \
    AND CASE WHEN c.oid IS NULL THEN l.mode = 'AccessExclusiveLock' \
    WHEN c.relpersistence = 't' THEN false WHEN c.relkind = 'f' THEN true \
    WHEN c.relkind = 'p' THEN l.mode = 'AccessExclusiveLock' \
    WHEN c.relkind IN ('r', 'm') THEN l.mode = 'AccessExclusiveLock' OR m.amname <> 'heap' \
    ELSE false END; ROLLBACK TO SAVEPOINT ziggurat; RELEASE SAVEPOINT ziggurat";

/// Counters of PostgreSQL.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// The setting `track_counts`, and the virtual id of the transaction.
    transaction: String,
    is_off: bool,
    /// Changed rows by table.
    rows: HashMap<String, u64>,
    dropped: bool,
    locked: BTreeSet<String>,
    uncounted: BTreeSet<String>,
}

impl Execution<'_> {
    /// Queues the question for the counters.
    pub(super) fn queue_count(&mut self) {
        self.lease.begin().queue(COUNT);
    }

    /// Queues the questions for the counters before and after deferred triggers run.
    pub(super) fn queue_recount(&mut self) {
        self.queue_count();
        let deferred = "SET CONSTRAINTS ALL IMMEDIATE; CLOSE ALL";
        self.lease.begin().queue(deferred);
        self.queue_count();
    }

    /// Reads the counters from before the text.
    pub(super) async fn read_count(&mut self) -> Result<(), DriverError> {
        let client = self.lease.begin();
        client.set_max_row_bytes(MAX_ROW_BYTES);
        let mut counted = Counted::default();
        loop {
            match client.next().await? {
                Some(Event::Row(row)) => counted.add(&row)?,
                Some(Event::Ready) | None => break,
                Some(_) => {}
            }
        }
        self.counted = Some(Box::new(counted));
        Ok(())
    }

    /// Reads how many rows the text has changed, and undoes that if there are too many.
    pub(super) async fn check_changes(&mut self) -> Result<(), AttemptError> {
        match self.find_limit().await {
            Ok(None) => Ok(()),
            Ok(Some(limit)) => Err(self.refuse(limit.into()).await),
            Err(error) => {
                let error = QueryError::new(error, Phase::Commit, 0);
                Err(self.stop(error, false, true).await)
            }
        }
    }

    /// Reads how many rows the text has changed, and returns the reason not to commit it.
    pub(super) async fn find_limit(&mut self) -> Result<Option<ChangeLimit>, DriverError> {
        let (Some(max), Some(before)) = (self.statement.limit_on_changes(), self.counted.take())
        else {
            return Ok(None);
        };
        for _ in 0..ROUNDS {
            let [first, last] = self.recount().await?;
            let limit = before.exceeded(&last, max);
            if limit.is_some() || first.rows == last.rows {
                return Ok(limit);
            }
            self.queue_recount();
        }
        Ok(Some(ChangeLimit::Triggers))
    }

    /// Returns the counters before and after deferred triggers have run.
    async fn recount(&mut self) -> Result<[Counted; 2], DriverError> {
        let client = self.lease.begin();
        client.set_max_row_bytes(MAX_ROW_BYTES);
        client.set_large_rows(None);
        client.flush().await?;
        let (mut counted, mut at) = ([Counted::default(), Counted::default()], 0);
        while let Some(event) = client.next().await? {
            match event {
                Event::Row(row) => counted[usize::from(at > 0)].add(&row)?,
                Event::Ready => at += 1,
                _ => {}
            }
        }
        Ok(counted)
    }
}

// === impl Counted ===

impl Counted {
    /// Adds a row of the answer.
    fn add(&mut self, row: &Row) -> Result<(), DriverError> {
        let name = || row.text(1).map(str::to_owned);
        match row.text(0)? {
            "transaction" => {
                self.transaction = name()?;
                self.is_off = !self.transaction.starts_with("on ");
            }
            "rows" => {
                let rows = row.text(2)?.parse().map_err(DriverError::value)?;
                self.rows.insert(name()?, rows);
            }
            "dropped" => self.dropped = true,
            "locked" => drop(self.locked.insert(name()?)),
            _ => drop(self.uncounted.insert(name()?)),
        }
        Ok(())
    }

    /// Returns the reason not to commit a text with these counters before it and the later ones after.
    fn exceeded(&self, later: &Self, max: u64) -> Option<ChangeLimit> {
        if self.is_off || later.is_off {
            return Some(ChangeLimit::CountsOff);
        }
        if self.transaction != later.transaction {
            return Some(ChangeLimit::Ended);
        }
        if let Some(table) = later.locked.first() {
            return Some(ChangeLimit::Locked(table.clone()));
        }
        if let Some(table) = later.uncounted.first() {
            return Some(ChangeLimit::Uncounted(table.clone()));
        }
        if later.dropped {
            return Some(ChangeLimit::Dropped);
        }
        let changed = later.rows.iter().map(|(table, &rows)| {
            let before = self.rows.get(table).copied().unwrap_or_default();
            rows.saturating_sub(before)
        });
        let rows = changed.sum();
        (rows > max).then_some(ChangeLimit::Exceeded { rows, max })
    }
}
