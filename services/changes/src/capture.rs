//! Runs a statement in a transaction, and finds out what it changed.

mod connections;
mod describe;
mod masked;
mod notes;
mod opening;
mod rows;
mod sought;
mod target;
mod touched;

use std::sync::Arc;

use ziggurat_postgres::{
    error::{Phase, QueryError},
    pool::Lease,
    statement::{HeldRows, Statement},
};

pub(crate) use self::connections::{Capture, Stop};
use crate::{
    Reason, Text, Unreadable,
    capture::{
        describe::{Described, Stored},
        sought::{Facts as RunFacts, Sides},
    },
    change::{Seen, TableChanges},
    digest::{Digest, Run as Facts},
    fate::Checkpoint,
};

/// Outcome of a preview.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The statement would change these rows.
    Seen(Box<Seen>),
    /// It cannot be shown what the statement would change.
    Unseen(Reason),
}

/// Statement that ran in a transaction which is open.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) seen: Seen,
    pub(crate) rows: HeldRows,
    pub(crate) transaction: u64,
}

// === impl Capture ===

impl Capture<'_> {
    /// Runs a statement in a new transaction, which stays open.
    pub(crate) async fn run(&mut self, statement: &Statement) -> Result<Run, Stop> {
        let named = opening::inserted(statement.text());
        let target = target::target(statement.text());
        let opening = self.open(named.as_ref(), target.as_ref()).await?;
        let target = target.filter(|it| it.since <= opening.returns);
        let target = target.map(|it| it.list(opening.returns));
        let (rows, returned) = self.execute(statement, target).await?;
        let touched = self.touched(&opening).await.map_err(|stop| match stop {
            // Deferred triggers and keys may quote values.
            Stop::Failed(error) => Stop::Failed(rows.told(error)),
            stop @ Stop::Unseen(_) => stop,
        })?;
        if let Some(reason) = touched.reason() {
            return Err(Stop::Unseen(reason));
        }
        let mut described = self.describe(&touched).await?;
        if let Some(reason) = self.plan(&mut described) {
            return Err(Stop::Unseen(reason));
        }
        let masked = self.mask(&mut described, rows.has_masked_source());
        masked.await.map_err(Stop::Failed)?;
        self.join(&opening).await?;
        let run = RunFacts {
            opening: &opening,
            touched: &touched,
            described: &described,
            returned: &returned,
        };
        let tables = self.changes(&run).await?;
        let unread = run.unread();
        let inserted = opening.inserts.and_then(|oid| described.shown_as(oid));
        let facts = Facts {
            drawn: touched.drawn(&opening),
            times: touched.times(&opening),
            inserts: inserted.zip(named.map(|insert| insert.columns)),
            ignored: self.rules.ignored.clone(),
        };
        let seen = Seen {
            digest: Digest::of(&tables, &unread, &facts),
            notes: run.notes(&tables, &unread),
            tables,
            unread,
            sequences: facts.drawn.clone(),
            run: facts,
        };
        Ok(Run {
            seen,
            rows,
            transaction: opening.transaction,
        })
    }

    /// Decides how the changed tables are read. Returns the reason for which they have no preview.
    fn plan(&self, described: &mut Described) -> Option<Reason> {
        let mut left = self.rules.scan_bytes;
        for table in &mut described.found {
            if !table.is_readable {
                if self.rules.unreadable == Unreadable::Refuse {
                    return Some(Reason::Unreadable(table.name.clone()));
                }
                continue;
            }
            match left.checked_sub(table.bytes) {
                Some(rest) => left = rest,
                None => table.is_sought = true,
            }
        }
        None
    }

    /// Reads the changed rows of all tables.
    async fn changes(&mut self, run: &RunFacts<'_>) -> Result<Vec<TableChanges>, Stop> {
        let mut sides = Sides::new();
        let described = run.described;
        let readable = described.found.iter().filter(|table| table.is_readable);
        let (mut sought, scanned): (Vec<_>, Vec<_>) = readable.partition(|table| table.is_sought);
        for table in scanned {
            let rows = self.rows(run.opening, table, None).await?;
            self.add(&mut sides, table, rows)?;
        }
        // Rows of one table may lead to rows of another one.
        while !sought.is_empty() {
            let mut missed = Vec::new();
            for table in &sought {
                match self.seek(run, table, &sides).await? {
                    Some(rows) => self.add(&mut sides, table, rows)?,
                    None => missed.push(*table),
                }
            }
            if missed.len() == sought.len() {
                return Err(Stop::Unseen(Reason::TooLarge(missed[0].name.clone())));
            }
            sought = missed;
        }
        let tables = sides.into_iter().filter_map(|(root, [before, after])| {
            let table = Arc::clone(described.tables.get(&root)?);
            let mut pairs = TableChanges::pair(table, before, after);
            pairs.table.sort(&mut pairs.changes);
            Some(pairs)
        });
        let mut tables: Vec<_> = tables.filter(|it| !it.changes.is_empty()).collect();
        tables.sort_by(|one, other| one.table.name.cmp(&other.table.name));
        Ok(tables)
    }

    /// Adds the rows of a table, unless they are too many.
    fn add(
        &self,
        sides: &mut Sides,
        table: &Stored,
        [before, after]: [Vec<Vec<Text>>; 2],
    ) -> Result<(), Stop> {
        let all = sides.entry(table.root).or_default();
        all[0].extend(before);
        all[1].extend(after);
        let counts = sides
            .values()
            .map(|[before, after]| before.len().max(after.len()));
        if counts.sum::<usize>() > self.rules.max_rows as usize {
            return Err(Stop::Unseen(Reason::Rows(self.rules.max_rows)));
        }
        Ok(())
    }

    /// Ends both transactions after a run that was stopped, and returns the reason.
    pub(crate) async fn stop(mut self, stop: Stop) -> Result<Reason, QueryError> {
        match stop {
            // Both connections are closed when they are dropped.
            Stop::Failed(error) if is_lost(&error) => Err(error),
            Stop::Failed(error) => self.roll_back().await.and(Err(error)),
            Stop::Unseen(reason) => self.roll_back().await.map(|()| reason),
        }
    }

    /// Rolls both transactions back.
    pub(crate) async fn roll_back(&mut self) -> Result<(), QueryError> {
        end(&mut self.reader, "ROLLBACK").await?;
        end(&mut self.writer, "ROLLBACK").await?;
        self.reset().await;
        Ok(())
    }

    /// Ends the transaction of the reader, and returns the latest checkpoint.
    pub(crate) async fn close_reader(&mut self) -> Result<Checkpoint, QueryError> {
        Checkpoint::after_rollback(&mut self.reader).await
    }

    /// Commits what the statement changed. The transaction of the reader has ended.
    pub(crate) async fn commit(&mut self) -> Result<(), QueryError> {
        let ended = end(&mut self.writer, "COMMIT").await;
        if ended.as_ref().err().is_none_or(|error| !is_lost(error)) {
            self.reset().await;
        }
        ended
    }

    /// Drops what the statement changed of its session; only a connection without that is used again.
    async fn reset(&mut self) {
        if !self.writer.is_shared() && end(&mut self.writer, "DISCARD ALL").await.is_err() {
            self.writer.close_at_end();
        }
    }
}

/// Ends the transaction of a connection, which is free then.
async fn end(lease: &mut Lease, how: &str) -> Result<(), QueryError> {
    let ended = lease.begin().run(how).await;
    let ended = ended.map_err(|error| QueryError::new(error, Phase::Commit, 0));
    if ended.as_ref().err().is_none_or(|error| !is_lost(error)) {
        lease.settle();
    }
    ended
}

/// Returns whether the state of a connection is unknown after an error.
pub(crate) fn is_lost(error: &QueryError) -> bool {
    match error {
        QueryError::Failed { report, .. } => report.severity != "ERROR",
        QueryError::Changes(_) => false,
        _ => true,
    }
}
