//! Vectors for the rows that were in the table before the triggers.

use std::time::Duration;

use tokio::{sync::watch, time};

use crate::{error::SyncError, queue::Queue, worker::Worker};

/// Rows that are put into the queue at once: changes of the application wait behind that many.
const PAGE: u64 = 2000;

/// Pause between two looks at the queue.
const PAUSE: Duration = Duration::from_millis(100);

/// Puts rows into the queue, a page at a time, and works on it until it is empty.
#[derive(Debug)]
pub struct Backfill<'a> {
    worker: &'a Worker,
    /// Also rows that have a vector.
    every: bool,
}

/// Progress of a backfill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackfillProgress {
    /// Rows that were there at the start.
    pub all: u64,
    /// Rows that have left the queue.
    pub done: u64,
}

// === impl Backfill ===

impl<'a> Backfill<'a> {
    /// Uses this worker, which must not be running. With `every`, rows that have a vector get a new
    /// one, too.
    #[must_use]
    pub fn new(worker: &'a Worker, every: bool) -> Self {
        Self { worker, every }
    }

    /// Makes the vectors of rows that have none, and reports the progress to `watch`. It ends when
    /// all rows have left the queue, but for those that have failed and wait for another attempt.
    ///
    /// # Errors
    /// Fails if the queue is missing, or if PostgreSQL fails.
    pub async fn run(
        &self,
        mut watch: impl FnMut(BackfillProgress),
    ) -> Result<BackfillProgress, SyncError> {
        let (stop, stopped) = watch::channel(false);
        let queue = Queue::open(self.worker.sync()).await?;
        let filling = async {
            let filled = self.fill(&queue, &mut watch).await;
            let _ = stop.send(true);
            filled
        };
        let (filled, ()) = tokio::join!(filling, self.worker.run(stopped));
        filled
    }

    async fn fill(
        &self,
        queue: &Queue,
        watch: &mut impl FnMut(BackfillProgress),
    ) -> Result<BackfillProgress, SyncError> {
        let mut progress = BackfillProgress {
            all: queue.count(self.every).await?,
            done: 0,
        };
        let (mut last, mut queued, mut is_whole) = (None, 0, false);
        loop {
            let status = queue.status().await?;
            let waiting = status.backlog.saturating_sub(status.retrying);
            progress.done = queued.min(progress.all).saturating_sub(waiting);
            watch(progress);
            if is_whole && waiting == 0 {
                return Ok(progress);
            }
            if is_whole || waiting > PAGE / 2 {
                time::sleep(PAUSE).await;
                continue;
            }
            let page = i64::try_from(PAGE).unwrap_or(i64::MAX);
            match queue.enqueue(last.as_deref(), self.every, page).await? {
                Some((id, count)) => {
                    queued += count;
                    last = Some(id);
                }
                None => is_whole = true,
            }
        }
    }
}
