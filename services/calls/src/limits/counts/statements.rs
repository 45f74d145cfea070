//! Statements of a caller that run at the same time.

use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use ziggurat_runtime::lock;

/// Statements of one caller. Those that wait get their turn in the order in which they came.
#[derive(Debug)]
pub(crate) struct Statements {
    free: Arc<Semaphore>,
    size: Mutex<Size>,
}

#[derive(Debug, Default)]
struct Size {
    limit: usize,
    /// Running statements beyond the limit, after it was lowered. As many permits are not returned.
    excess: usize,
}

/// Permit of a running statement, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct RunningPermit {
    permit: Option<OwnedSemaphorePermit>,
    statements: Arc<Statements>,
}

// === impl Statements ===

impl Default for Statements {
    fn default() -> Self {
        Self {
            free: Arc::new(Semaphore::new(0)),
            size: Mutex::default(),
        }
    }
}

impl Statements {
    /// Changes the limit. Statements that run go on.
    pub(super) fn resize(&self, limit: usize) {
        let mut size = lock(&self.size);
        if let Some(more) = limit.checked_sub(size.limit) {
            let kept = more.min(size.excess);
            size.excess -= kept;
            self.free.add_permits(more - kept);
        } else {
            let fewer = size.limit - limit;
            size.excess += fewer - self.free.forget_permits(fewer);
        }
        size.limit = limit;
    }

    /// Waits for a permit.
    pub(crate) async fn permit(self: Arc<Self>) -> RunningPermit {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        RunningPermit {
            permit: Some(permit.expect("the semaphore is never closed")),
            statements: self,
        }
    }
}

// === impl RunningPermit ===

impl Drop for RunningPermit {
    fn drop(&mut self) {
        let permit = self.permit.take();
        let mut size = lock(&self.statements.size);
        if size.excess > 0 {
            size.excess -= 1;
            permit.into_iter().for_each(OwnedSemaphorePermit::forget);
        } else {
            drop(size);
            // Wakes the next statement.
            drop(permit);
        }
    }
}
