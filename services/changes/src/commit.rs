//! Runs a statement again, and commits it only if it changes the same rows.

use std::time::Duration;

use tokio::time;
use ziggurat_postgres::{
    error::{DriverError, Phase, QueryError},
    pool::Pool,
};

use crate::{
    Digest, Reason, Rules, Seen,
    capture::{Capture, Outcome, is_lost},
    text::reason_of,
};

/// Number of repetitions of a run that another transaction got in the way of.
const REPETITIONS: u32 = 3;

/// Pause before the first repetition; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(50);

/// Time limit of the question what became of a transaction, and the pause between two of them.
const FATE: Duration = Duration::from_secs(10);
const FATE_PAUSE: Duration = Duration::from_millis(100);

/// Outcome of a run that may be committed.
#[derive(Clone, Debug)]
pub enum Decision {
    /// The changes are committed.
    Committed(Box<Seen>),
    /// The statement would do something else now. Nothing was changed.
    Different(Box<Seen>),
    /// It cannot be shown what the statement would change. Nothing was changed.
    Unseen(Reason),
    /// The connection was lost, and the changes were not committed.
    Undone,
    /// The connection was lost, and it is not known what became of this transaction.
    Unknown(u64),
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
pub async fn preview(pool: &Pool, text: &str, rules: &Rules) -> Result<Outcome, QueryError> {
    let mut repetitions = Repetitions::default();
    loop {
        let done = preview_once(pool, text, rules).await;
        let Some(pause) = repetitions.after(&done) else {
            return done;
        };
        time::sleep(pause).await;
    }
}

/// Runs a statement in a transaction, and commits it if its changes have this digest.
///
/// # Errors
/// Fails if the statement fails, or a connection before the commit.
pub async fn commit(
    pool: &Pool,
    text: &str,
    rules: &Rules,
    expected: &Digest,
) -> Result<Decision, QueryError> {
    let mut repetitions = Repetitions::default();
    loop {
        let done = commit_once(pool, text, rules, expected).await;
        let Some(pause) = repetitions.after(&done) else {
            return done;
        };
        time::sleep(pause).await;
    }
}

async fn preview_once(pool: &Pool, text: &str, rules: &Rules) -> Result<Outcome, QueryError> {
    if let Some(reason) = reason_of(text) {
        return Ok(Outcome::Unseen(reason));
    }
    let mut capture = Capture::begin(pool, rules).await?;
    match capture.run(text).await {
        Ok((seen, _)) => {
            capture.roll_back().await?;
            Ok(Outcome::Seen(Box::new(seen)))
        }
        Err(stop) => capture.stop(stop).await.map(Outcome::Unseen),
    }
}

async fn commit_once(
    pool: &Pool,
    text: &str,
    rules: &Rules,
    expected: &Digest,
) -> Result<Decision, QueryError> {
    if let Some(reason) = reason_of(text) {
        return Ok(Decision::Unseen(reason));
    }
    let mut capture = Capture::begin(pool, rules).await?;
    let (seen, transaction) = match capture.run(text).await {
        Ok((seen, transaction)) => (Box::new(seen), transaction),
        Err(stop) => return capture.stop(stop).await.map(Decision::Unseen),
    };
    if seen.digest != *expected {
        capture.roll_back().await?;
        return Ok(Decision::Different(seen));
    }
    match capture.commit().await {
        Err(error) if is_lost(&error) => Ok(match fate(pool, transaction).await {
            Some(true) => Decision::Committed(seen),
            Some(false) => Decision::Undone,
            None => Decision::Unknown(transaction),
        }),
        ended => ended.map(|()| Decision::Committed(seen)),
    }
}

/// Asks on another connection whether a transaction was committed. `None` if that cannot be known.
async fn fate(pool: &Pool, transaction: u64) -> Option<bool> {
    let asked = time::timeout(FATE, async {
        loop {
            match status(pool, transaction).await {
                Ok(Some(status)) if status == "committed" => return true,
                Ok(Some(status)) if status == "aborted" => return false,
                _ => time::sleep(FATE_PAUSE).await,
            }
        }
    });
    asked.await.ok()
}

async fn status(pool: &Pool, transaction: u64) -> Result<Option<String>, QueryError> {
    let mut lease = pool.lease().await?;
    let sql = format!("SELECT pg_catalog.pg_xact_status('{transaction}')");
    let asked = lease.begin().ask(&sql).await;
    let failed = |error: DriverError| QueryError::new(error, Phase::Run, 0);
    let rows = asked.map_err(failed)?;
    lease.settle();
    let row = rows.first();
    row.map_or(Ok(None), |row| row.get(0).map_err(failed))
}
