//! The end of the grace period for requests when a program shuts down.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::sync::Semaphore;

/// The end of the grace period for requests. All clones share one state.
///
/// The default never happens unless [`happen`](Self::happen) is called on it or a clone.
///
/// ```
/// use ziggurat_layers::shutdown::CutOff;
///
/// # tokio_test::block_on(async {
/// let cut_off = CutOff::default();
/// let seen = cut_off.clone();
/// cut_off.happen();
/// seen.happened().await;
/// # });
/// ```
#[derive(Clone)]
// The semaphore never has a permit; it is closed at the cut-off.
pub struct CutOff(Arc<Semaphore>);

/// Future of a [`CutOff`] that allocates nothing before it is polled.
///
/// ```
/// use ziggurat_layers::shutdown::CutOff;
///
/// # tokio_test::block_on(async {
/// let cut_off = CutOff::default();
/// let request = cut_off.happened();
/// cut_off.happen();
/// request.await;
/// # });
/// ```
pub struct CutOffFuture {
    cut_off: CutOff,
    // Boxed, so that requests that never wait allocate nothing.
    happened: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

// === impl CutOff ===

impl CutOff {
    /// Notifies all running requests and all later ones.
    ///
    /// ```
    /// use ziggurat_layers::shutdown::CutOff;
    ///
    /// let cut_off = CutOff::default();
    /// cut_off.happen();
    /// cut_off.happen(); // has no further effect
    /// ```
    pub fn happen(&self) {
        self.0.close();
    }

    /// Returns a future that is ready at the cut-off.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tokio::time::timeout;
    /// use ziggurat_layers::shutdown::CutOff;
    ///
    /// # tokio_test::block_on(async {
    /// let cut_off = CutOff::default();
    /// assert!(timeout(Duration::from_millis(1), cut_off.happened()).await.is_err());
    /// # });
    /// ```
    #[must_use]
    pub fn happened(&self) -> CutOffFuture {
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
        f.debug_tuple("CutOff").field(&self.0.is_closed()).finish()
    }
}

// === impl CutOffFuture ===

impl Future for CutOffFuture {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.cut_off.0.is_closed() {
            this.happened = None;
            return Poll::Ready(());
        }
        let happened = this.happened.get_or_insert_with(|| {
            let semaphore = Arc::clone(&this.cut_off.0);
            // A closed semaphore returns an error.
            Box::pin(async move { drop(semaphore.acquire().await) })
        });
        happened.as_mut().poll(cx)
    }
}

impl Clone for CutOffFuture {
    fn clone(&self) -> Self {
        self.cut_off.happened()
    }
}

impl fmt::Debug for CutOffFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.cut_off, f)
    }
}

#[cfg(test)]
mod tests {
    use tokio_test::{assert_pending, assert_ready, task};

    use super::*;

    #[test]
    fn waiting_and_later_requests_are_notified_once_it_happens() {
        let cut_off = CutOff::default();
        let mut waiting = task::spawn(cut_off.happened());
        let mut other = task::spawn(cut_off.clone().happened());
        assert_pending!(waiting.poll());
        assert_pending!(other.poll());
        assert!(!waiting.is_woken());
        cut_off.happen();
        assert!(waiting.is_woken() && other.is_woken());
        assert_ready!(waiting.poll());
        assert_ready!(other.poll());
        assert_ready!(task::spawn(cut_off.happened()).poll());
    }
}
