//! The end of the grace period for requests when a program shuts down.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use tokio::sync::Notify;

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
#[derive(Clone, Default)]
pub struct CutOff(Arc<State>);

#[derive(Default)]
struct State {
    has_happened: AtomicBool,
    waiting: Notify,
}

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
    waiting: Option<Waiting>,
}

/// A place among those that wait, with its waker.
struct Waiting {
    // Boxed, so that requests that never wait allocate nothing.
    notified: Pin<Box<dyn Future<Output = ()> + Send>>,
    waker: Waker,
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
        self.0.has_happened.store(true, Ordering::SeqCst);
        self.0.waiting.notify_waiters();
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
            waiting: None,
        }
    }

    fn has_happened(&self) -> bool {
        self.0.has_happened.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CutOff").field(&self.has_happened()).finish()
    }
}

// === impl CutOffFuture ===

impl Future for CutOffFuture {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.cut_off.has_happened() {
            return Poll::Ready(());
        }
        let waiting = match &mut this.waiting {
            // The first poll has taken a place, whatever the task has left of its budget: `Notify` does
            // not count. To ask again would take the lock of all requests.
            Some(waiting) if waiting.waker.will_wake(cx.waker()) => return Poll::Pending,
            Some(waiting) => {
                waiting.waker.clone_from(cx.waker());
                waiting
            }
            waiting @ None => {
                let state = Arc::clone(&this.cut_off.0);
                waiting.insert(Waiting {
                    notified: Box::pin(async move { state.waiting.notified().await }),
                    waker: cx.waker().clone(),
                })
            }
        };
        match waiting.notified.as_mut().poll(cx) {
            // It may have happened before this place was taken.
            Poll::Pending if !this.cut_off.has_happened() => Poll::Pending,
            _ => Poll::Ready(()),
        }
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

    #[test]
    fn a_request_that_moved_to_another_task_is_notified_there() {
        let cut_off = CutOff::default();
        let mut request = cut_off.happened();
        let mut first = task::spawn(());
        assert_pending!(first.enter(|cx, _| Pin::new(&mut request).poll(cx)));
        assert_pending!(first.enter(|cx, _| Pin::new(&mut request).poll(cx)));
        let mut second = task::spawn(());
        assert_pending!(second.enter(|cx, _| Pin::new(&mut request).poll(cx)));
        cut_off.happen();
        assert!(second.is_woken() && !first.is_woken());
        assert_ready!(second.enter(|cx, _| Pin::new(&mut request).poll(cx)));
    }
}
