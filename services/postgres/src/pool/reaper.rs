//! Cleans up connections, since `drop` cannot be asynchronous.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use crate::pool::{
    Shared,
    connection::Connection,
    inner::{HeldConnection, Inner},
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::mpsc,
    time::{self, MissedTickBehavior},
};

/// Time limit for cleanup after the pools are dropped, when the program is about to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval at which idle connections are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Cancels abandoned statements and closes connections, for all [`Pools`](super::Pools).
///
/// Without it, abandoned statements run on until they are done or their timeout ends them.
#[derive(Debug)]
#[must_use = "statements are cancelled only while it runs"]
pub struct Reaper {
    inbox: mpsc::UnboundedReceiver<CleanupJob>,
    pools: Weak<Shared>,
}

/// Job for a connection without a holder.
#[derive(Debug)]
pub(super) enum CleanupJob {
    /// Its lease was dropped in the middle of a statement.
    Cancel {
        held: HeldConnection,
        pool: Arc<Inner>,
    },
    /// It is too old, or its pool is closed.
    Close(Box<Connection>),
    /// The pool has too few connections.
    Open(Arc<Inner>),
}

// === impl Reaper ===

impl Reaper {
    pub(super) fn new(inbox: mpsc::UnboundedReceiver<CleanupJob>, pools: Weak<Shared>) -> Self {
        Self { inbox, pools }
    }

    /// Runs until the pools and all leases are dropped.
    ///
    /// All jobs run concurrently, so a dead database does not delay the others.
    pub async fn run(mut self) {
        let mut cleanup_jobs = FuturesUnordered::new();
        let mut sweep = time::interval(CHECK_INTERVAL);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                errand = self.inbox.recv() => match errand {
                    Some(errand) => cleanup_jobs.push(errand.run()),
                    None => break,
                },
                Some(()) = cleanup_jobs.next() => {}
                _ = sweep.tick() => {
                    if let Some(pools) = self.pools.upgrade() {
                        pools.sweep();
                    }
                }
            }
        }
        let rest = async { while cleanup_jobs.next().await.is_some() {} };
        time::timeout(SHUTDOWN_TIMEOUT, rest).await.ok();
    }
}

// === impl CleanupJob ===

impl CleanupJob {
    async fn run(self) {
        match self {
            Self::Close(connection) => connection.close().await,
            Self::Open(pool) => pool.top_up().await,
            Self::Cancel { held, pool } => {
                let HeldConnection { connection, permit } = held;
                connection.stop(&pool.database).await;
                drop(permit);
            }
        }
    }
}
