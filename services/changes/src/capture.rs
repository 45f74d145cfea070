//! Runs a statement, finds out what it changed, and rolls it back.

mod describe;
mod opening;
mod rows;
mod touched;

use std::{collections::BTreeMap, sync::Arc};

use ziggurat_postgres::{
    error::{DriverError, Phase, QueryError},
    pool::Lease,
};

use crate::{
    Reason, Rules, Unreadable,
    capture::{
        describe::Described,
        opening::{Counters, Opening},
        touched::Touched,
    },
    change::{Seen, TableChanges, Unread},
    digest::{Digest, Run},
    text::reason_of,
};

/// Outcome of a preview.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The statement would change these rows.
    Seen(Box<Seen>),
    /// It cannot be shown what the statement would change.
    Unseen(Reason),
}

/// Reason for the end of a capture.
#[derive(Debug)]
enum Stop {
    Unseen(Reason),
    Failed(QueryError),
}

/// Two connections of one caller, with one snapshot.
struct Capture<'a> {
    writer: Lease,
    reader: Lease,
    rules: &'a Rules,
    /// Bytes that values may still have.
    left: usize,
}

/// Runs a statement in a transaction, returns what it changed, and rolls it back.
///
/// The two connections must be of one pool. Both are free again afterwards.
///
/// # Errors
/// Fails if the statement fails, or a connection.
pub async fn preview(
    writer: Lease,
    reader: Lease,
    text: &str,
    rules: &Rules,
) -> Result<Outcome, QueryError> {
    if let Some(reason) = reason_of(text) {
        return Ok(Outcome::Unseen(reason));
    }
    let mut capture = Capture {
        writer,
        reader,
        rules,
        left: rules.max_bytes,
    };
    let outcome = match capture.run(text).await {
        Ok(seen) => Ok(Outcome::Seen(Box::new(seen))),
        Err(Stop::Unseen(reason)) => Ok(Outcome::Unseen(reason)),
        Err(Stop::Failed(error @ QueryError::Failed { .. })) => Err(error),
        // The state of the connections is unknown: they are closed when they are dropped.
        Err(Stop::Failed(error)) => return Err(error),
    };
    capture.roll_back().await?;
    outcome
}

// === impl Capture ===

impl Capture<'_> {
    async fn run(&mut self, text: &str) -> Result<Seen, Stop> {
        let named = opening::inserted(text);
        let opening = self.open(named.as_ref()).await?;
        self.writer.begin().run(text).await?;
        let touched = self.touched(&opening).await?;
        if let Some(reason) = touched.reason() {
            return Err(Stop::Unseen(reason));
        }
        let described = self.describe(&touched).await?;
        if let Some(reason) = self.refuses(&described) {
            return Err(Stop::Unseen(reason));
        }
        self.join(&opening).await?;
        let tables = self.changes(&opening, &described).await?;
        let unread = unread(&opening.counters, &touched, &described);
        let inserted = opening.inserts.and_then(|oid| described.shown_as(oid));
        let run = Run {
            drawn: touched.drawn(&opening),
            times: touched.times(&opening),
            inserts: inserted.zip(named.map(|insert| insert.columns)),
            ignored: self.rules.ignored.clone(),
        };
        Ok(Seen {
            digest: Digest::of(&tables, &unread, &run),
            tables,
            unread,
            sequences: run.drawn,
        })
    }

    /// Returns the reason for which the changed tables have no preview.
    fn refuses(&self, described: &Described) -> Option<Reason> {
        let mut left = self.rules.scan_bytes;
        for table in &described.found {
            if !table.is_readable {
                if self.rules.unreadable == Unreadable::Refuse {
                    return Some(Reason::Unreadable(table.name.clone()));
                }
                continue;
            }
            let Some(rest) = left.checked_sub(table.bytes) else {
                return Some(Reason::TooLarge(table.name.clone()));
            };
            left = rest;
        }
        None
    }

    /// Reads the changed rows of all tables.
    async fn changes(
        &mut self,
        opening: &Opening,
        described: &Described,
    ) -> Result<Vec<TableChanges>, Stop> {
        let mut sides: BTreeMap<u32, [Vec<_>; 2]> = BTreeMap::new();
        let mut count = 0;
        for table in described.found.iter().filter(|table| table.is_readable) {
            let [before, after] = self.rows(opening, table).await?;
            count += before.len().max(after.len());
            if count > self.rules.max_rows as usize {
                return Err(Stop::Unseen(Reason::Rows(self.rules.max_rows)));
            }
            let all = sides.entry(table.root).or_default();
            all[0].extend(before);
            all[1].extend(after);
        }
        let tables = sides.into_iter().filter_map(|(root, [before, after])| {
            let table = Arc::clone(described.tables.get(&root)?);
            Some(TableChanges::pair(table, before, after))
        });
        let mut tables: Vec<_> = tables.filter(|it| !it.changes.is_empty()).collect();
        tables.sort_by(|one, other| one.table.name.cmp(&other.table.name));
        Ok(tables)
    }

    /// Rolls both transactions back.
    async fn roll_back(&mut self) -> Result<(), QueryError> {
        for lease in [&mut self.writer, &mut self.reader] {
            let ended = lease.begin().run("ROLLBACK").await;
            ended.map_err(|error| QueryError::new(error, Phase::Commit, 0))?;
            lease.settle();
        }
        Ok(())
    }
}

/// Counts the events of tables that cannot be read.
fn unread(before: &Counters, touched: &Touched, described: &Described) -> Vec<Unread> {
    let unread = described.found.iter().filter(|table| !table.is_readable);
    let counted = unread.map(|table| Unread {
        table: table.name.clone(),
        rows: touched.moved(before, table.oid),
    });
    counted.filter(|it| it.rows != [0; 3]).collect()
}

// === impl Stop ===

impl From<DriverError> for Stop {
    fn from(error: DriverError) -> Self {
        Self::Failed(QueryError::new(error, Phase::Run, 0))
    }
}
