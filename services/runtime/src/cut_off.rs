//! The end of the time in which requests may finish when a program stops.
//!
//! Those that are still in flight then are told, so that each can answer with an error in the
//! form of its protocol. A little later their connections are cut.
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
pub const LAST_WORDS: Duration = Duration::from_millis(500);

/// The end of the time in which requests may finish. Clones are one and the same.
///
/// The default never happens unless [`happen`](Self::happen) is called on it or a clone.
#[derive(Clone)]
// Closed when it has happened; it never has a permit.
pub struct CutOff(Arc<Semaphore>);

/// A future of a [`CutOff`] that costs nothing before it is polled.
pub struct AtCutOff {
    cut_off: CutOff,
    // Boxed: only for a request that has to wait for something.
    happened: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

// === impl CutOff ===

impl CutOff {
    /// Tells all requests in flight, and those that still come.
    pub fn happen(&self) {
        self.0.close();
    }

    /// Waits until it happens.
    pub async fn happened(&self) {
        // It ends in an error, for that is how a closed semaphore answers.
        drop(self.0.acquire().await);
    }

    /// Makes a future that is ready when it has happened.
    #[must_use]
    pub fn pending(&self) -> AtCutOff {
        AtCutOff {
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

// === impl AtCutOff ===

impl AtCutOff {
    /// Ready when it has happened.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let happened = self.happened.get_or_insert_with(|| {
            let cut_off = self.cut_off.clone();
            Box::pin(async move { cut_off.happened().await })
        });
        if happened.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        // A future that is ready must not be polled again.
        self.happened = None;
        Poll::Ready(())
    }
}

impl Clone for AtCutOff {
    fn clone(&self) -> Self {
        self.cut_off.pending()
    }
}

impl fmt::Debug for AtCutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.cut_off, f)
    }
}
