//! Runs a statement again, and commits it only if it changes the same rows.

use std::time::Duration;

use tokio::time::{self, Instant};
use ziggurat_postgres::{
    error::QueryError,
    pool::Pool,
    statement::{HeldRows, Statement},
};

use crate::{
    Reason, Rules, Seen,
    capture::{self, Capture, Outcome, is_lost},
    text::reason_of,
};

/// Number of repetitions of a run that another transaction got in the way of.
const REPETITIONS: u32 = 3;

/// Pause before the first repetition; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(50);

/// A statement that ran in a transaction, which is open until it is committed or rolled back.
// Boxed: it is large.
#[derive(Debug)]
#[must_use]
pub struct Pending<'a>(Box<Held<'a>>);

#[derive(Debug)]
struct Held<'a> {
    capture: Capture<'a>,
    pool: Pool,
    statement: Statement,
    rules: &'a Rules,
    run: capture::Run,
}

/// Outcome of a run that may be committed.
#[derive(Debug)]
pub enum Ran<'a> {
    /// The statement has changed rows, and may be committed.
    Pending(Pending<'a>),
    /// It cannot be shown what the statement would change. Nothing was changed.
    Unseen(Reason),
}

/// Outcome of a commit.
#[derive(Debug)]
pub enum Decision<'a> {
    /// The changes are committed.
    Committed(Box<Committed>),
    /// Another transaction got in the way of the commit, and the statement would do something else now.
    Different(Pending<'a>),
    /// The connection was lost, and the changes were not committed.
    Undone,
    /// The connection was lost, and it is not known what became of this transaction.
    Unknown(u64),
}

/// Statement that was committed.
#[derive(Debug)]
pub struct Committed {
    /// The rows that it has changed.
    pub seen: Seen,
    /// The rows that it returns.
    pub rows: HeldRows,
    /// The id of its transaction.
    pub transaction: u64,
}

/// Pauses before a run is repeated.
#[derive(Default)]
struct Repetitions(u32);

// === impl Repetitions ===

impl Repetitions {
    /// Returns the pause before the next run, if another transaction got in the way of this one.
    fn after<T>(&mut self, done: &Result<T, QueryError>) -> Option<Duration> {
        let Err(QueryError::Failed { report, .. }) = done else {
            return None;
        };
        let is_in_the_way = ["40001", "40P01", "55P03"].contains(&&*report.sqlstate);
        if !is_in_the_way || self.0 == REPETITIONS {
            return None;
        }
        self.0 += 1;
        Some(PAUSE * (1 << (self.0 - 1)))
    }
}

/// Runs a statement in a transaction, returns what it changed, and rolls it back.
///
/// # Errors
/// Fails if the statement fails, or a connection.
pub async fn preview(
    pool: &Pool,
    statement: &Statement,
    rules: &Rules,
) -> Result<Outcome, QueryError> {
    match run(pool, statement, rules).await? {
        Ran::Pending(pending) => pending.roll_back().await.map(Outcome::Seen),
        Ran::Unseen(reason) => Ok(Outcome::Unseen(reason)),
    }
}

/// Runs a statement in a transaction, which can be committed then.
///
/// # Errors
/// Fails if the statement fails, or a connection.
pub async fn run<'a>(
    pool: &Pool,
    statement: &Statement,
    rules: &'a Rules,
) -> Result<Ran<'a>, QueryError> {
    if let Some(reason) = reason_of(statement.text()) {
        return Ok(Ran::Unseen(reason));
    }
    let until = Instant::now() + rules.timeout;
    let mut repetitions = Repetitions::default();
    loop {
        // Boxed: rare, and large.
        let done = Box::pin(run_once(pool, statement, rules, until)).await;
        match repetitions.after(&done) {
            Some(pause) if Instant::now() + pause < until => time::sleep(pause).await,
            _ => return done,
        }
    }
}

async fn run_once<'a>(
    pool: &Pool,
    statement: &Statement,
    rules: &'a Rules,
    until: Instant,
) -> Result<Ran<'a>, QueryError> {
    let mut capture = Capture::begin(pool, rules).await?;
    let Ok(ran) = time::timeout_at(until, capture.run(statement)).await else {
        // Both connections are closed when they are dropped, which cancels what runs.
        return Ok(Ran::Unseen(Reason::Time(rules.timeout)));
    };
    match ran {
        Ok(run) => {
            let held = Held {
                capture,
                pool: pool.clone(),
                statement: statement.clone(),
                rules,
                run,
            };
            Ok(Ran::Pending(Pending(Box::new(held))))
        }
        Err(stop) => capture.stop(stop).await.map(Ran::Unseen),
    }
}

// === impl Pending ===

impl<'a> Pending<'a> {
    /// Returns what the statement changed.
    #[must_use]
    pub fn seen(&self) -> &Seen {
        &self.0.run.seen
    }

    /// Rolls the statement back, and returns what it would change.
    ///
    /// # Errors
    /// Fails if a connection does.
    pub async fn roll_back(self) -> Result<Box<Seen>, QueryError> {
        let Held {
            mut capture, run, ..
        } = *self.0;
        capture.roll_back().await?;
        Ok(Box::new(run.seen))
    }

    /// Commits the statement. If another transaction gets in the way of that, the statement runs again,
    /// and is committed if it changes the same rows. `begins` gets the id of each transaction before its
    /// commit is sent: if this future is dropped from then on, its fate is not known.
    ///
    /// # Errors
    /// Fails if PostgreSQL refuses to commit it.
    pub async fn commit(self, begins: &impl Fn(u64)) -> Result<Decision<'a>, QueryError> {
        let digest = self.seen().digest;
        let mut repetitions = Repetitions::default();
        let mut pending = self;
        loop {
            let held = *pending.0;
            let (pool, statement, rules) = (held.pool.clone(), held.statement.clone(), held.rules);
            let ended = held.commit(begins).await;
            let Some(pause) = repetitions.after(&ended) else {
                return ended;
            };
            time::sleep(pause).await;
            pending = match Box::pin(run(&pool, &statement, rules)).await? {
                Ran::Pending(next) if next.seen().digest == digest => next,
                Ran::Pending(next) => return Ok(Decision::Different(next)),
                Ran::Unseen(_) => return ended,
            };
        }
    }
}

// === impl Held ===

impl<'a> Held<'a> {
    async fn commit(self, begins: &impl Fn(u64)) -> Result<Decision<'a>, QueryError> {
        let Self {
            mut capture,
            pool,
            run,
            ..
        } = self;
        let transaction = run.transaction;
        let checkpoint = capture.close_reader().await?;
        begins(transaction);
        let is_committed = match capture.commit().await {
            Ok(()) => Some(true),
            Err(error) if is_lost(&error) => {
                // The connections are free for the question.
                drop(capture);
                checkpoint.fate(&pool, transaction).await
            }
            Err(error) => return Err(run.rows.told(error)),
        };
        Ok(match is_committed {
            Some(true) => Decision::Committed(Box::new(Committed {
                seen: run.seen,
                rows: run.rows,
                transaction,
            })),
            Some(false) => Decision::Undone,
            None => Decision::Unknown(transaction),
        })
    }
}
