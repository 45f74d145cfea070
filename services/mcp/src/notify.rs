//! Messages to a client before its call is answered.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use serde::Serialize;
use ziggurat_layers::json_rpc::Id;

/// Limit on waiting messages; more are dropped to save memory.
const MAX_WAITING: usize = 64;

/// Progress of a step without a number. The server reports whole seconds.
const STEP: f64 = 0.001;

/// Sends messages to the client of a call before the answer.
///
/// The transport puts one into the extensions of the request and sends the messages it takes from
/// it. A call without messages allocates only the handle.
#[derive(Clone, Default)]
pub struct Notifier {
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Bytes>,
    waker: Option<Waker>,
}

/// Reports the progress of a call to its client.
pub struct Progress {
    notifier: Notifier,
    token: Id,
    /// The last value sent: the next has to be larger.
    last: Mutex<f64>,
}

// === impl Notifier ===

impl Notifier {
    /// Makes a notifier with an empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a notification. Returns whether the queue had space for it.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> bool {
        #[derive(Serialize)]
        struct Notification<'a, P> {
            jsonrpc: &'static str,
            method: &'a str,
            params: P,
        }

        let message = Notification {
            jsonrpc: "2.0",
            method,
            params,
        };
        serde_json::to_vec(&message).is_ok_and(|message| self.send(message.into()))
    }

    /// Sends a complete message on one line. Returns whether the queue had space for it.
    pub fn send(&self, message: Bytes) -> bool {
        let waker = {
            let mut queue = self.queue();
            if queue.messages.len() >= MAX_WAITING {
                return false;
            }
            queue.messages.push_back(message);
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Locks the queue. No code leaves it half changed, so a panic does not make it unusable.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next message; it never ends.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let mut queue = self.queue();
        if let Some(message) = queue.messages.pop_front() {
            return Poll::Ready(message);
        }
        match &mut queue.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            waker @ None => *waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}

// === impl Progress ===

impl Progress {
    pub(super) fn new(notifier: Notifier, token: Id) -> Self {
        Self {
            notifier,
            token,
            last: Mutex::new(f64::NEG_INFINITY),
        }
    }

    /// Reports the progress of the call, in any unit. A value that is not larger than the last one
    /// is not sent.
    pub fn report(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            if progress <= *last {
                return;
            }
            *last = progress;
        }
        self.send(progress, total, message);
    }

    /// Reports a step of the call that has no number: its progress is a little larger than the last
    /// one, so it is always sent.
    pub fn step(&self, message: &str) {
        let progress = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last = if last.is_finite() { *last + STEP } else { 0.0 };
            *last
        };
        self.send(progress, None, Some(message));
    }

    fn send(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ProgressParams<'a> {
            progress_token: &'a Id,
            progress: f64,
            #[serde(skip_serializing_if = "Option::is_none")]
            total: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<&'a str>,
        }

        let params = ProgressParams {
            progress_token: &self.token,
            progress,
            total,
            message,
        };
        self.notifier.notify("notifications/progress", &params);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio_test::{assert_pending, block_on, task};

    use super::*;

    fn progress(token: &str) -> (Notifier, Progress) {
        let notifier = Notifier::new();
        let token = serde_json::from_str(token).expect("an id");
        (notifier.clone(), Progress::new(notifier, token))
    }

    fn next(notifier: &Notifier) -> Bytes {
        block_on(poll_fn(|cx| notifier.poll_next(cx)))
    }

    #[test]
    fn progress_carries_the_token_as_it_came_and_only_grows() {
        let (notifier, progress) = progress(r#""a\/b""#);
        progress.report(1.0, None, None);
        progress.report(1.0, None, None);
        progress.report(0.5, None, None);
        progress.report(2.0, Some(4.0), Some("half"));
        assert_eq!(
            next(&notifier),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a\/b","progress":1.0}}"#
        );
        assert_eq!(
            next(&notifier),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a\/b","progress":2.0,"total":4.0,"message":"half"}}"#
        );
        let mut more = task::spawn(poll_fn(|cx| notifier.poll_next(cx)));
        assert_pending!(more.poll());
    }

    #[test]
    fn a_step_is_sent_whatever_was_reported_before() {
        let (notifier, progress) = progress("7");
        progress.step("first");
        progress.report(3.0, None, None);
        progress.step("second");
        let sent = |notifier: &Notifier| -> serde_json::Value {
            let message = next(notifier);
            serde_json::from_slice(&message).expect("JSON")
        };
        for (value, message) in [(0.0, "first"), (3.0, ""), (3.001, "second")] {
            let sent = sent(&notifier);
            let params = &sent["params"];
            assert_eq!(params["progress"], value);
            assert_eq!(params["message"].as_str().unwrap_or_default(), message);
        }
    }

    #[test]
    fn a_waiting_task_is_woken_and_the_queue_is_bounded() {
        let notifier = Notifier::new();
        let other = notifier.clone();
        let mut waiting = task::spawn(poll_fn(move |cx| other.poll_next(cx)));
        assert_pending!(waiting.poll());
        assert!(notifier.send(Bytes::from_static(b"1")));
        assert!(waiting.is_woken());
        for _ in 1..MAX_WAITING {
            assert!(notifier.send(Bytes::new()));
        }
        assert!(!notifier.send(Bytes::new()), "full");
    }
}
