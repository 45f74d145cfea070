//! The end of the grace period for requests when a program shuts down.
//!
//! Requests that are still running are notified then, so that each can send an error in the form of
//! its protocol. Their connections are closed a little later.
//!
//! ```
//! use ziggurat_runtime::cut_off::CutOff;
//!
//! # tokio_test::block_on(async {
//! let cut_off = CutOff::default();
//! let seen = cut_off.clone();
//! cut_off.happen();
//! seen.happened().await;
//! # });
//! ```

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::sync::Semaphore;

/// Time to send the errors after the cut-off.
pub const ERROR_SEND_TIME: Duration = Duration::from_millis(500);

/// The end of the grace period for requests. All clones share one state.
///
/// The default never happens unless [`happen`](Self::happen) is called on it or a clone.
#[derive(Clone)]
// The semaphore never has a permit; it is closed at the cut-off.
pub struct CutOff(Arc<Semaphore>);

/// Future of a [`CutOff`] that allocates nothing before it is polled.
pub struct CutOffFuture {
    cut_off: CutOff,
    // Boxed, so that requests that never wait allocate nothing.
    happened: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

// === impl CutOff ===

impl CutOff {
    /// Notifies all running requests and all later ones.
    pub fn happen(&self) {
        self.0.close();
    }

    /// Waits for the cut-off.
    pub async fn happened(&self) {
        // A closed semaphore returns an error.
        drop(self.0.acquire().await);
    }

    /// Returns a future that is ready at the cut-off.
    #[must_use]
    pub fn pending(&self) -> CutOffFuture {
        CutOffFuture {
            cut_off: self.clone(),
            happened: None,
        }
    }
}

impl Default for CutOff {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl fmt::Debug for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_happened = self.0.is_closed();
        f.debug_tuple("CutOff").field(&has_happened).finish()
    }
}

// === impl CutOffFuture ===

impl CutOffFuture {
    /// Returns `Ready` once the cut-off has happened.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let happened = self.happened.get_or_insert_with(|| {
            let cut_off = self.cut_off.clone();
            Box::pin(async move { cut_off.happened().await })
        });
        if happened.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        // A completed future must not be polled again.
        self.happened = None;
        Poll::Ready(())
    }
}

impl Clone for CutOffFuture {
    fn clone(&self) -> Self {
        self.cut_off.pending()
    }
}

impl fmt::Debug for CutOffFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.cut_off, f)
    }
}
