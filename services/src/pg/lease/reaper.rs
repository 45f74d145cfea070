//! The future that does what `drop` cannot.

use std::{
    error::Error,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use thiserror::Error;
use tokio::{
    sync::mpsc,
    time::{self, MissedTickBehavior},
};
use tracing::{debug, warn};

use crate::pg::LOG_TARGET;

use super::{
    LeaseError, Shared,
    connection::Connection,
    inner::{Held, Inner},
};

/// How often idle connections are looked through.
const SWEEP: Duration = Duration::from_secs(30);

/// Cancels abandoned statements and closes connections, for all [`Pools`](super::Pools).
///
/// Without it, abandoned statements run on until they are done or their timeout ends them.
#[derive(Debug)]
#[must_use = "statements are cancelled only while it runs"]
pub struct Reaper {
    inbox: mpsc::UnboundedReceiver<Errand>,
    pools: Weak<Shared>,
}

/// Something to do for a connection that nobody holds any more.
#[derive(Debug)]
pub(super) enum Errand {
    /// It was given up in the middle of a statement.
    Cancel { held: Held, pool: Arc<Inner> },
    /// It is too old, or its pool is closed.
    Close(Connection),
    /// There are too few.
    Open(Arc<Inner>),
}

/// Why a statement may still run.
#[derive(Debug, Error)]
enum NotCancelled {
    #[error("its server cannot be asked")]
    Connect(#[from] LeaseError),
    #[error("its server refused")]
    Refused(#[from] sqlx::Error),
    #[error("its server did not answer")]
    TimedOut(#[from] time::error::Elapsed),
}

// === impl Reaper ===

impl Reaper {
    pub(super) fn new(inbox: mpsc::UnboundedReceiver<Errand>, pools: Weak<Shared>) -> Self {
        Self { inbox, pools }
    }

    /// Runs until the pools and all leases are dropped.
    ///
    /// All errands run side by side, each within a time limit, so a database that is dead
    /// delays nobody else's.
    pub async fn run(mut self) {
        let mut errands = FuturesUnordered::new();
        let mut sweep = time::interval(SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                errand = self.inbox.recv() => match errand {
                    Some(errand) => errands.push(errand.run()),
                    None => break,
                },
                Some(()) = errands.next() => {}
                _ = sweep.tick() => {
                    if let Some(pools) = self.pools.upgrade() {
                        pools.sweep();
                    }
                }
            }
        }
        while errands.next().await.is_some() {}
    }
}

// === impl Errand ===

impl Errand {
    async fn run(self) {
        match self {
            Self::Close(connection) => connection.close().await,
            Self::Open(pool) => pool.top_up().await,
            Self::Cancel { held, pool } => {
                let Held { connection, room } = held;
                // The connection stays open meanwhile, so its process can be nobody else's.
                match cancel(&connection, &pool).await {
                    Ok(()) => debug!(
                        target: LOG_TARGET,
                        database = pool.database.name(),
                        process = connection.process,
                        "statement cancelled"
                    ),
                    Err(error) => warn!(
                        error = &error as &dyn Error,
                        database = pool.database.name(),
                        "an abandoned statement could not be cancelled"
                    ),
                }
                // Without a farewell: it would wait behind the rest of the result.
                drop(connection);
                drop(room);
            }
        }
    }
}

async fn cancel(connection: &Connection, pool: &Inner) -> Result<(), NotCancelled> {
    let mut aside = connection.beside(&pool.database).await?;
    let cancel = sqlx::query("SELECT pg_cancel_backend($1)")
        .bind(connection.process)
        .persistent(false)
        .execute(&mut aside.inner);
    let limit = pool.database.settings().connect_timeout;
    let cancelled = time::timeout(limit, cancel).await;
    aside.close().await;
    cancelled??;
    Ok(())
}
