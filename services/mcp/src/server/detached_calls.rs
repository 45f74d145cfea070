//! Calls that continue after their client has disconnected.
//!
//! Up to revision 2025-11-25 a client that disconnects has not cancelled its call: a connection may
//! break for any reason, and a statement that writes must not depend on it. Such calls are finished
//! here, up to a fixed number; the timeout of their statement limits their time.

use std::{fmt, future::poll_fn, pin::Pin, task::Poll};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::mpsc;
use ziggurat_layers::shutdown::CutOffFuture;

use crate::{record::Record, tool::ToolFuture};

/// Limit on detached calls at a time; more calls are dropped, as if cancelled.
const MAX_CALLS: usize = 64;

// Boxed: used only if a client disconnects during a call.
type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Takes calls over from disconnected clients.
#[derive(Clone)]
pub struct DetachedCalls {
    jobs: mpsc::Sender<Job>,
}

/// Runs detached calls to their end.
#[must_use]
pub struct DetachedCallsRunner {
    jobs: mpsc::Receiver<Job>,
}

// === impl DetachedCalls ===

impl DetachedCalls {
    /// Makes a sender and its runner. Unless the runner runs, calls end when their client
    /// disconnects.
    pub fn new() -> (Self, DetachedCallsRunner) {
        let (sender, receiver) = mpsc::channel(MAX_CALLS);
        (
            Self { jobs: sender },
            DetachedCallsRunner { jobs: receiver },
        )
    }

    pub(crate) fn detach(&self, mut record: Record, mut call: ToolFuture, cut_off: CutOffFuture) {
        let job = Box::pin(async move {
            let ended = poll_fn(|cx| match call.as_mut().poll(cx) {
                Poll::Ready(result) => Poll::Ready(Some(result)),
                // Cancelled calls have no result.
                Poll::Pending => record.poll_cancelled(cx).map(|_| None),
            });
            if let Some(result) = ended.await {
                // The client is gone: the result is only logged.
                drop(record.follow(result, &cut_off));
            }
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
    /// Runs calls until all senders are dropped.
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
