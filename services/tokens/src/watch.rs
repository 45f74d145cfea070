//! Applies changes of the files, and removes expired tokens.

use std::{path::PathBuf, time::Duration};

use jiff::Timestamp;
use tokio::{
    task::spawn_blocking,
    time::{Instant, timeout, timeout_at},
};
use tracing::error;
use ziggurat_runtime::watch::Folders;

/// Time without further changes before the files are read, because editors and `cp` change a file
/// several times.
const SETTLE_TIME: Duration = Duration::from_millis(30);

/// Maximum time until the files are read after a change.
const PATIENCE: Duration = Duration::from_millis(60);

const MAX_INTERVAL: Duration = Duration::from_mins(5);

/// Tokens that files name, and that expire. Clones share them.
pub trait Watched: Clone + Send + 'static {
    /// Returns the paths of the files, which may be missing.
    fn paths(&self) -> Vec<PathBuf>;

    /// Reads the files again, and returns whether one has changed. May block.
    fn reload(&self) -> bool;

    /// Drops expired tokens. May block.
    fn sweep(&self);

    /// Returns the earliest expiry date.
    fn next_end(&self) -> Option<Timestamp>;

    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// Keeps tokens current while it [runs](Self::run): applies changes of their files within 100 ms,
/// and removes expired tokens.
#[derive(Debug)]
#[must_use = "nothing is watched unless it runs"]
pub struct Watch<W> {
    watched: W,
    paths: Vec<PathBuf>,
    folders: Folders,
}

// === impl Watch ===

impl<W: Watched> Watch<W> {
    /// Starts to watch the files: all later changes are applied once it runs.
    pub fn new(watched: W) -> Self {
        let mut watch = Self {
            paths: watched.paths(),
            watched,
            folders: Folders::new("account files"),
        };
        // Also applies changes since the files were opened.
        watch.folders.trigger();
        watch.folders.follow(&watch.paths);
        watch
    }

    /// Applies changes. Never ends; drop the future to stop.
    pub async fn run(mut self) {
        let mut sweep_at = Instant::now() + self.until_sweep();
        loop {
            if timeout_at(sweep_at, self.folders.changed()).await.is_ok() {
                self.settle().await;
                // Followed before the files are read, so that no change in between is missed.
                self.folders.follow(&self.paths);
                self.with_watched(|watched| {
                    watched.reload();
                })
                .await;
                sweep_at = sweep_at.min(Instant::now() + self.until_sweep());
            } else {
                self.with_watched(W::sweep).await;
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

    /// Returns the time until the next sweep: at the next expiry, to close connections.
    fn until_sweep(&self) -> Duration {
        let next = self.watched.next_end();
        let left = next.map(|at| at.duration_since(self.watched.now()));
        let left = left.and_then(|left| Duration::try_from(left).ok());
        let at_least = Duration::from_secs(1);
        next.map_or(MAX_INTERVAL, |_| {
            left.unwrap_or_default().clamp(at_least, MAX_INTERVAL)
        })
    }

    async fn with_watched(&self, work: fn(&W)) {
        let watched = self.watched.clone();
        if let Err(error) = spawn_blocking(move || work(&watched)).await {
            error!(%error, "cannot reload the accounts");
        }
    }
}
