//! A worker: takes rows from the queue, embeds them, and writes their vectors.

use std::{pin::pin, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    sync::watch,
    time::{self, Instant},
};
use tracing::{debug, error, info, warn};
use ziggurat_llm::{self as llm, Embedder, Refusal};

use crate::{
    TableSync,
    batch_statements::CLAIM,
    embedding::embed,
    error::SyncError,
    presence::Presence,
    queue::{ClaimedRow, Content, Queue},
    status::Watched,
};

/// Pauses after a failure of the database or the provider: the first and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// Maximum pause that a provider may ask for.
const MAX_ASKED_PAUSE: Duration = Duration::from_mins(10);

/// Pause before a row is taken again that the application had locked.
const LOCKED_PAUSE: Duration = Duration::from_millis(250);

/// Interval between two readings of the figures.
const FIGURES: Duration = Duration::from_secs(5);

/// Time for running batches when the worker stops.
const STOP: Duration = Duration::from_secs(5);

/// Settings of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// Maximum number of texts in one request to the provider; the provider's own if not set.
    pub batch_size: Option<usize>,
    /// Number of batches at once.
    pub concurrency: usize,
    /// Interval after which the queue is looked at without a notification.
    pub poll_interval: Duration,
}

/// Takes rows from the queue of a table, and writes their vectors.
#[derive(Debug)]
pub struct Worker {
    sync: TableSync,
    embedder: Embedder,
    settings: WorkerSettings,
    watched: Watched,
}

/// One connection of a worker to its queue.
struct Session<'a> {
    worker: &'a Worker,
    queue: Queue,
    number: i64,
}

/// The error of a provider that does not work, after a batch.
type Ended = Option<llm::Error>;

/// The state of a worker between two batches.
struct Progress {
    /// Rows may be due.
    is_due: bool,
    /// Failures of the provider in a row, and the time until which it is left alone.
    failures: u32,
    resting: Option<Instant>,
    poll_interval: Duration,
    /// Time of the next look at the queue, and of the next reading of the figures.
    next_poll: Instant,
    next_figures: Instant,
}

/// Work besides that on rows.
#[derive(Clone, Copy)]
struct Duties {
    reclaims: bool,
    reads_figures: bool,
}

// === impl WorkerSettings ===

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            batch_size: None,
            concurrency: 4,
            poll_interval: Duration::from_secs(1),
        }
    }
}

// === impl Worker ===

impl Worker {
    /// Makes a worker that is not running. The role of `sync` writes; the pool should have a
    /// connection for each batch.
    #[must_use]
    pub fn new(sync: TableSync, embedder: Embedder, settings: WorkerSettings) -> Self {
        let watched = Watched::new(&sync.table.table);
        Self {
            sync,
            embedder,
            settings,
            watched,
        }
    }

    /// Returns the figures that the worker reads while it runs.
    #[must_use]
    pub fn watched(&self) -> Watched {
        self.watched.clone()
    }

    /// Returns the table that it works on.
    pub(crate) fn sync(&self) -> &TableSync {
        &self.sync
    }

    /// Works until `stop` is true, or its sender is gone. Running batches then have five seconds.
    /// Failures of the database and of the provider are logged, and the work goes on after a pause.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let table = &*self.sync.table.table;
        let mut pause = FIRST_PAUSE;
        while !*stop.borrow() {
            let began = Instant::now();
            let failure = match Session::begin(self).await {
                Ok((session, presence)) => {
                    info!(table, "sync works");
                    session.run(presence, &mut stop).await
                }
                Err(failure) => Err(failure),
            };
            self.watched.set(None);
            let Err(failure) = failure else { break };
            if began.elapsed() > MAX_PAUSE {
                pause = FIRST_PAUSE;
            }
            let failure = failure.to_string();
            error!(error = failure, table, ?pause, "sync is interrupted");
            tokio::select! {
                () = time::sleep(pause) => {}
                _ = stop.wait_for(|stops| *stops) => {}
            }
            pause = (pause * 2).min(MAX_PAUSE);
        }
        debug!(table, "sync has stopped");
    }

    fn batch(&self) -> usize {
        let usual = self.embedder.max_batch();
        self.settings.batch_size.unwrap_or(usual).max(1)
    }
}

// === impl Session ===

impl<'a> Session<'a> {
    async fn begin(worker: &'a Worker) -> Result<(Self, Presence), SyncError> {
        let queue = Queue::open(&worker.sync).await?;
        let presence = Presence::begin(&worker.sync.pool, &queue).await?;
        let session = Self {
            worker,
            queue,
            number: presence.worker,
        };
        Ok((session, presence))
    }

    async fn run(
        self,
        mut presence: Presence,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), SyncError> {
        let mut running = FuturesUnordered::new();
        let mut progress = Progress::new(self.worker.settings.poll_interval);
        let batches = self.worker.settings.concurrency.max(1);
        loop {
            let duties = self.look_after(progress.duties());
            self.alongside(&mut running, &mut progress, duties).await?;
            while progress.takes_rows() && running.len() < batches {
                let claim = self.queue.claim(self.number, self.worker.batch());
                let rows = self.alongside(&mut running, &mut progress, claim).await?;
                progress.is_due = !rows.is_empty();
                if !rows.is_empty() {
                    running.push(self.work(rows));
                }
            }
            tokio::select! {
                // Notifications come last, so that the other events have their turn.
                biased;
                _ = stop.wait_for(|stops| *stops) => break,
                Some(ended) = running.next() => self.note(&mut progress, ended?.as_ref()),
                () = time::sleep_until(progress.wakes()) => {}
                changed = presence.changed() => {
                    changed?;
                    progress.is_due = true;
                }
            }
        }
        let ending = async { while running.next().await.is_some() {} };
        let _ = time::timeout(STOP, ending).await;
        drop(running);
        self.queue.leave(self.number).await
    }

    /// Runs a statement while the batches go on, because they may hold the connections that it waits
    /// for.
    async fn alongside<T>(
        &self,
        running: &mut FuturesUnordered<impl Future<Output = Result<Ended, SyncError>>>,
        progress: &mut Progress,
        statement: impl Future<Output = Result<T, SyncError>>,
    ) -> Result<T, SyncError> {
        let mut statement = pin!(statement);
        loop {
            tokio::select! {
                done = &mut statement => return done,
                Some(ended) = running.next() => self.note(progress, ended?.as_ref()),
            }
        }
    }

    /// Looks after abandoned claims and the figures.
    async fn look_after(&self, duties: Duties) -> Result<(), SyncError> {
        if duties.reclaims {
            self.queue.reclaim().await?;
        }
        if duties.reads_figures {
            let status = self.queue.status().await?;
            self.worker.watched.set(Some(status));
        }
        Ok(())
    }

    /// Notes the end of a batch, and whether the provider works.
    fn note(&self, progress: &mut Progress, down: Option<&llm::Error>) {
        let table = &*self.worker.sync.table.table;
        let Some(error) = down else {
            if progress.failures > 0 {
                progress.failures = 0;
                info!(table, "the provider works again");
            }
            return;
        };
        let asked = error.refusal().and_then(Refusal::retry_after);
        let usual = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(progress.failures));
        let pause = usual
            .min(MAX_PAUSE)
            .max(asked.unwrap_or_default().min(MAX_ASKED_PAUSE));
        // Other batches of the same time have failed, too.
        if progress.resting.is_none() {
            if progress.failures == 0 {
                warn!(%error, table, "the provider does not work: rows wait in the queue");
            }
            progress.failures = progress.failures.saturating_add(1);
            progress.resting = Some(Instant::now() + pause);
        }
    }

    /// Embeds and writes claimed rows; returns the error of a provider that does not work.
    async fn work(&self, rows: Vec<ClaimedRow>) -> Result<Ended, SyncError> {
        let all: Vec<_> = rows.iter().collect();
        let embedded = {
            let Worker { embedder, .. } = self.worker;
            let batch = self.worker.batch();
            let mut embedding = pin!(embed(embedder, batch, &self.queue.definition, &all));
            loop {
                tokio::select! {
                    embedded = &mut embedding => break embedded?,
                    () = time::sleep(CLAIM / 3) => self.queue.extend(self.number, &all).await?,
                }
            }
        };
        let mut failed = embedded.failed;
        let wanted = embedded.made.len();
        let written = self.write(embedded.made, &mut failed).await?;
        if !failed.is_empty() {
            self.queue.fail(&failed).await?;
        }
        let unseen = rows.iter().filter(|row| row.content == Content::Unseen);
        let unseen: Vec<_> = unseen.collect();
        if !unseen.is_empty() {
            self.queue.forget(&unseen).await?;
        }
        if embedded.down.is_some() {
            self.queue
                .release(self.number, &all, Duration::ZERO)
                .await?;
        } else if written < wanted || !unseen.is_empty() {
            // They have changed meanwhile, or the application has locked them.
            self.queue.release(self.number, &all, LOCKED_PAUSE).await?;
        }
        Ok(embedded.down)
    }

    /// Writes vectors and returns the number of rows that have left the queue. If PostgreSQL refuses
    /// some row, the rows are written in halves, until each that it refuses is alone.
    async fn write<'r>(
        &self,
        made: Vec<(&'r ClaimedRow, String)>,
        failed: &mut Vec<(&'r ClaimedRow, String)>,
    ) -> Result<usize, SyncError> {
        let mut written = 0;
        let mut parts = vec![&*made];
        while let Some(part) = parts.pop().filter(|part| !part.is_empty()) {
            let rows: Vec<_> = part.iter().map(|(row, _)| *row).collect();
            let vectors = part.iter().map(|(_, vector)| vector.clone()).collect();
            match (self.queue.finish(&rows, vectors).await, part) {
                (Ok(count), _) => written += count,
                (Err(error), [(row, _)]) if error.is_about_a_row() => {
                    failed.push((row, error.to_string()));
                }
                (Err(error), part) if error.is_about_a_row() => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                (Err(error), _) => return Err(error),
            }
        }
        Ok(written)
    }
}

// === impl Progress ===

impl Progress {
    fn new(poll_interval: Duration) -> Self {
        let now = Instant::now();
        Self {
            is_due: true,
            failures: 0,
            resting: None,
            poll_interval,
            next_poll: now,
            next_figures: now,
        }
    }

    fn takes_rows(&self) -> bool {
        self.is_due && self.resting.is_none()
    }

    /// Returns the duties that are due now, and notes the times of the next ones.
    fn duties(&mut self) -> Duties {
        let now = Instant::now();
        if self.resting.is_some_and(|until| until <= now) {
            self.resting = None;
        }
        let duties = Duties {
            reclaims: self.next_poll <= now,
            reads_figures: self.next_figures <= now,
        };
        if duties.reclaims {
            self.next_poll = now + self.poll_interval;
            self.is_due = true;
        }
        if duties.reads_figures {
            self.next_figures = now + FIGURES;
        }
        duties
    }

    /// Returns the time of the next look at the queue.
    fn wakes(&self) -> Instant {
        let resting = self.resting.unwrap_or(self.next_poll);
        resting.min(self.next_poll)
    }
}
