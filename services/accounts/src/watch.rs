//! Applies changes of the files, and removes expired tokens.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    task::spawn_blocking,
    time::{Instant, timeout, timeout_at},
};
use tracing::error;
use ziggurat_runtime::watch::Folders;

use super::{Accounts, Shared};

/// Time without further changes before the files are read, because editors and `cp` change a file
/// several times.
const SETTLE_TIME: Duration = Duration::from_millis(30);

/// Maximum time until the files are read after a change.
const PATIENCE: Duration = Duration::from_millis(60);

const MAX_INTERVAL: Duration = Duration::from_mins(5);

/// Keeps accounts current while it [runs](Self::run): applies changes of the files within 100 ms,
/// and removes expired tokens.
#[derive(Debug)]
#[must_use = "nothing is watched unless it runs"]
pub struct Watch {
    accounts: Accounts,
    paths: [PathBuf; 2],
    folders: Folders,
}

// === impl Accounts ===

impl Accounts {
    /// Starts to watch the files: the [`Watch`] applies all later changes once it runs. The files
    /// may be missing.
    pub fn watch(&self) -> Watch {
        let mut watch = Watch {
            accounts: self.clone(),
            paths: self.shared.paths.clone(),
            folders: Folders::new("account files"),
        };
        // Also applies changes since the files were opened.
        watch.folders.trigger();
        watch.folders.follow(&watch.paths);
        watch
    }
}

// === impl Watch ===

impl Watch {
    /// Applies changes. Never ends; drop the future to stop.
    pub async fn run(mut self) {
        let mut sweep_at = Instant::now() + self.until_sweep();
        loop {
            if timeout_at(sweep_at, self.folders.changed()).await.is_ok() {
                self.settle().await;
                // Followed before the files are read, so that no change in between is missed.
                self.folders.follow(&self.paths);
                self.with_accounts(Shared::reload).await;
                sweep_at = sweep_at.min(Instant::now() + self.until_sweep());
            } else {
                self.with_accounts(Shared::sweep).await;
                sweep_at = Instant::now() + self.until_sweep();
            }
        }
    }

    /// Waits for a series of changes to end.
    async fn settle(&self) {
        let latest = Instant::now() + PATIENCE;
        while Instant::now() < latest && timeout(SETTLE_TIME, self.folders.changed()).await.is_ok()
        {
        }
    }

    /// Returns the time until the next sweep: at the next expiry, whose connections should close.
    fn until_sweep(&self) -> Duration {
        let shared = &self.accounts.shared;
        let next = shared.known.load().next_end();
        let left = next.map(|at| at.duration_since(shared.clock.now()));
        let left = left.and_then(|left| Duration::try_from(left).ok());
        let at_least = Duration::from_secs(1);
        next.map_or(MAX_INTERVAL, |_| {
            left.unwrap_or_default().clamp(at_least, MAX_INTERVAL)
        })
    }

    async fn with_accounts(&self, work: fn(&Shared)) {
        let shared = Arc::clone(&self.accounts.shared);
        if let Err(error) = spawn_blocking(move || work(&shared)).await {
            error!(%error, "cannot reload the accounts");
        }
    }
}
