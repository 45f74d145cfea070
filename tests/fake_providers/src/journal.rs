//! What was asked, and who went away.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;
use tokio::sync::watch;

use crate::Face;

/// How long a test waits before it fails.
const PATIENCE: Duration = Duration::from_mins(3);

/// A request a provider got.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Seen {
    /// Which provider.
    pub face: Face,
    /// The method.
    pub method: Method,
    /// The path below the root of the provider, without a slash at its beginning.
    pub path: String,
    /// What stood behind the question mark.
    pub query: Option<String>,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Mutex<Entries>,
    grown: Condvar,
    count: watch::Sender<Count>,
}

#[derive(Debug, Default)]
struct Entries {
    requests: Vec<Seen>,
    count: Count,
}

/// How often something has happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) requests: usize,
    pub(crate) left: usize,
}

/// Notes that a client is gone, unless the answer came to its end.
#[derive(Debug)]
pub(crate) struct Presence {
    journal: Arc<Journal>,
    is_over: bool,
}

// === impl Seen ===

impl Seen {
    /// The body.
    ///
    /// # Panics
    /// Panics if it is no JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a body in JSON")
    }

    /// The value of a header, if it is there and a text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The key it came with, wherever this provider looks for it.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self.face {
            Face::Anthropic => self.header("x-api-key"),
            Face::Gemini => self.header("x-goog-api-key"),
            _ => self.header("authorization")?.strip_prefix("Bearer "),
        }
    }
}

// === impl Journal ===

impl Journal {
    pub(crate) fn add(&self, seen: Seen) {
        let mut entries = self.entries();
        entries.requests.push(seen);
        entries.count.requests += 1;
        self.tell(&entries);
    }

    pub(crate) fn all(&self) -> Vec<Seen> {
        self.entries().requests.clone()
    }

    pub(crate) fn wait(&self, is_enough: impl Fn(Count) -> bool) {
        let entries = self.entries();
        let (entries, timeout) = self
            .grown
            .wait_timeout_while(entries, PATIENCE, |entries| !is_enough(entries.count))
            .expect("not poisoned");
        assert!(!timeout.timed_out(), "no more came: {:?}", entries.count);
    }

    pub(crate) async fn reach(&self, is_enough: impl Fn(Count) -> bool) {
        let mut count = self.count.subscribe();
        // The sender is in self.
        let _ = count.wait_for(|count| is_enough(*count)).await;
    }

    fn tell(&self, entries: &Entries) {
        self.count.send_replace(entries.count);
        self.grown.notify_all();
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Presence ===

impl Presence {
    pub(crate) fn new(journal: Arc<Journal>) -> Self {
        Self {
            journal,
            is_over: false,
        }
    }

    /// Nobody will be missed from here on.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if !self.is_over {
            let mut entries = self.journal.entries();
            entries.count.left += 1;
            self.journal.tell(&entries);
        }
    }
}
