//! The fate of a transaction with a commit that was not answered.
//!
//! After a crash, PostgreSQL gives the ids of transactions again that it had not written down. So the
//! status of an id is the status of our transaction only if the server has not recovered in between. It
//! makes a checkpoint when it recovers: with the same checkpoint as before, it has not.

use std::time::Duration;

use tokio::time;
use ziggurat_postgres::{
    error::{DriverError, Phase, QueryError},
    pool::{Lease, Pool},
};

/// Time limit of the question, and the pause between two of them.
const LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

const CHECKPOINT: &str = "SELECT redo_lsn FROM pg_catalog.pg_control_checkpoint()";

/// SQLSTATE of a question about an id that was not given yet.
const NOT_GIVEN: &str = "22023";

/// Place of the latest checkpoint of a server, if it tells that.
#[derive(Debug, PartialEq)]
pub(crate) struct Checkpoint(Option<String>);

// === impl Checkpoint ===

impl Checkpoint {
    /// Ends the transaction of a connection, and asks for the latest checkpoint.
    pub(crate) async fn after_rollback(lease: &mut Lease) -> Result<Self, QueryError> {
        let sql = format!("ROLLBACK; {CHECKPOINT}");
        let asked = lease.begin().ask_all(&sql, &mut 1024).await;
        let place = match asked {
            Ok(sets) => sets.last().and_then(|rows| rows.first()?.get(0).ok()),
            // The role may not ask for it.
            Err(DriverError::Server(_)) => None,
            Err(error) => return Err(failed(error)),
        };
        lease.settle();
        Ok(Self(place))
    }

    /// Asks on another connection whether a transaction was committed. `None` if that cannot be known.
    pub(crate) async fn fate(&self, pool: &Pool, transaction: u64) -> Option<bool> {
        let asked = time::timeout(LIMIT, async {
            loop {
                match self.ask(pool, transaction).await {
                    Ok(Some(fate)) => return fate,
                    _ => time::sleep(PAUSE).await,
                }
            }
        });
        asked.await.ok().flatten()
    }

    /// Asks once. `None` if the answer may be another one later.
    async fn ask(&self, pool: &Pool, transaction: u64) -> Result<Option<Option<bool>>, QueryError> {
        let mut lease = pool.lease().await?;
        // A standby may not have the transaction yet.
        let sql = format!(
            "SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() \
             THEN pg_catalog.pg_xact_status('{transaction}') END"
        );
        let asked = lease.begin().ask(&sql).await;
        let status: Option<String> = match asked {
            Ok(rows) => rows.first().and_then(|row| row.get(0).ok().flatten()),
            // It was lost in a crash.
            Err(DriverError::Server(report)) if report.code == NOT_GIVEN => {
                Some("aborted".to_owned())
            }
            Err(error) => return Err(failed(error)),
        };
        lease.settle();
        Ok(match status.as_deref() {
            Some("aborted") => Some(Some(false)),
            Some("committed") => {
                let now = Self::after_rollback(&mut lease).await?;
                let is_ours = self.0.is_some() && self.0 == now.0;
                Some(is_ours.then_some(true))
            }
            _ => None,
        })
    }
}

fn failed(error: DriverError) -> QueryError {
    QueryError::new(error, Phase::Commit, 0)
}
