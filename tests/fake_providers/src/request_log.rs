//! The log of requests and disconnects.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;
use tokio::sync::watch;

use crate::Api;

/// Time after which a waiting test fails.
const TEST_TIMEOUT: Duration = Duration::from_mins(3);

/// A request to a fake provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The API it was sent to.
    pub api: Api,
    /// The method.
    pub method: Method,
    /// The path below the root of the provider, without a slash at its beginning.
    pub path: String,
    /// The query string.
    pub query: Option<String>,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    entries: Mutex<Entries>,
    changed: Condvar,
    count: watch::Sender<Count>,
}

#[derive(Debug, Default)]
struct Entries {
    requests: Vec<RecordedRequest>,
    count: Count,
}

/// Numbers of events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) requests: usize,
    pub(crate) left: usize,
}

/// Records that a client disconnected, unless the answer was complete.
#[derive(Debug)]
pub(crate) struct DisconnectGuard {
    request_log: Arc<RequestLog>,
    is_complete: bool,
}

// === impl RecordedRequest ===

impl RecordedRequest {
    /// Parses the body.
    ///
    /// # Panics
    /// Panics if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a body in JSON")
    }

    /// Returns the value of a header, if it is there and text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the API key, from the header that this provider uses.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self.api {
            Api::Anthropic => self.header("x-api-key"),
            Api::Gemini => self.header("x-goog-api-key"),
            _ => self.header("authorization")?.strip_prefix("Bearer "),
        }
    }
}

// === impl RequestLog ===

impl RequestLog {
    pub(crate) fn add(&self, seen: RecordedRequest) {
        let mut entries = self.entries();
        entries.requests.push(seen);
        entries.count.requests += 1;
        self.notify(&entries);
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.entries().requests.clone()
    }

    pub(crate) fn wait(&self, is_enough: impl Fn(Count) -> bool) {
        let entries = self.entries();
        let (entries, timeout) = self
            .changed
            .wait_timeout_while(entries, TEST_TIMEOUT, |entries| !is_enough(entries.count))
            .expect("not poisoned");
        assert!(!timeout.timed_out(), "no more came: {:?}", entries.count);
    }

    pub(crate) async fn reached(&self, is_enough: impl Fn(Count) -> bool) {
        let mut count = self.count.subscribe();
        // Cannot fail: the sender is in self.
        let _ = count.wait_for(|count| is_enough(*count)).await;
    }

    fn notify(&self, entries: &Entries) {
        self.count.send_replace(entries.count);
        self.changed.notify_all();
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl DisconnectGuard ===

impl DisconnectGuard {
    pub(crate) fn new(request_log: Arc<RequestLog>) -> Self {
        Self {
            request_log,
            is_complete: false,
        }
    }

    /// Marks the answer as complete.
    pub(crate) fn complete(&mut self) {
        self.is_complete = true;
    }
}

impl Drop for DisconnectGuard {
    fn drop(&mut self) {
        if !self.is_complete {
            let mut entries = self.request_log.entries();
            entries.count.left += 1;
            self.request_log.notify(&entries);
        }
    }
}
