//! Calls that go on when nobody waits for them any more.
//!
//! Until 2025-11-25 a client that hangs up has not cancelled its call: a connection may break for
//! any reason, and a statement that writes is not to depend on it. Such calls are finished here;
//! the timeout of their statement bounds them, and there are only so many.

use std::{fmt, pin::Pin};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::mpsc;
use ziggurat_runtime::cut_off::AtCutOff;

use crate::{record::Record, tool::ToolFuture};

/// How many calls are finished for nobody at a time; others are dropped, as if cancelled.
const MAX_CALLS: usize = 64;

// Boxed: one for each client that hangs up in the middle of a call.
type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Takes calls over from clients that are gone.
#[derive(Clone)]
pub struct DetachedCalls {
    jobs: mpsc::Sender<Job>,
}

/// Finishes them, for as long as it runs.
#[must_use]
pub struct DetachedCallsRunner {
    jobs: mpsc::Receiver<Job>,
}

// === impl DetachedCalls ===

impl DetachedCalls {
    /// Makes the two ends. Without somebody who runs the attendant, calls end with their client.
    pub fn new() -> (Self, DetachedCallsRunner) {
        let (sender, receiver) = mpsc::channel(MAX_CALLS);
        (
            Self { jobs: sender },
            DetachedCallsRunner { jobs: receiver },
        )
    }

    pub(super) fn take_over(&self, record: Record, call: ToolFuture, cut_off: AtCutOff) {
        let job = Box::pin(async move {
            // Nobody reads the result, but the log tells how it went.
            drop(record.follow(call.await, &cut_off));
        });
        self.jobs.try_send(job).ok();
    }
}

impl fmt::Debug for DetachedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DetachedCalls").finish_non_exhaustive()
    }
}

// === impl DetachedCallsRunner ===

impl DetachedCallsRunner {
    /// Finishes calls until there is nobody left to make any.
    pub async fn run(mut self) {
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(()) = running.next() => {}
                job = self.jobs.recv(), if running.len() < MAX_CALLS => match job {
                    Some(job) => running.push(job),
                    None => break,
                },
            }
        }
        while running.next().await.is_some() {}
    }
}

impl fmt::Debug for DetachedCallsRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DetachedCallsRunner")
            .finish_non_exhaustive()
    }
}
