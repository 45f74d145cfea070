//! The first connection to a database, and the check of its tables.

use std::{error::Error, time::Duration};

use tokio::time;
use tracing::{debug, error, info};
use ziggurat_postgres::pool::Pool;
use ziggurat_rag_service::retrieval::Retriever;

/// Pauses between attempts to connect: the first and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// A database and the libraries in it.
#[derive(Debug)]
pub(super) struct FirstConnection {
    pub(super) pool: Pool,
    pub(super) retrievers: Vec<(String, Retriever)>,
}

// === impl FirstConnection ===

impl FirstConnection {
    /// Connects, and retries until it succeeds. Meanwhile only requests that need the database
    /// fail.
    pub(super) async fn run(self) {
        let pipelines: Vec<_> = self.retrievers.iter().map(|(name, _)| &**name).collect();
        let pipelines = pipelines.join(",");
        let mut pause = FIRST_PAUSE;
        let mut was_away = false;
        while let Err(failure) = self.pool.lease().await {
            let hosts = self.pool.database().settings().all_hosts();
            let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
            report(&failure, &pipelines, &hosts.join(","), was_away);
            was_away = true;
            time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
        if was_away {
            info!(pipelines, "connected to database");
        }
        for (_, retriever) in &self.retrievers {
            retriever.check().await;
        }
    }
}

fn report(failure: &(dyn Error + 'static), pipelines: &str, hosts: &str, is_known: bool) {
    if is_known {
        debug!(error = failure, pipelines, hosts, "still not connected");
    } else {
        error!(
            error = failure,
            pipelines, hosts, "failed to connect to database"
        );
    }
}
