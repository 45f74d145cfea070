//! The record of a request that is being served.

use std::{
    borrow::Cow,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::{Method, Response, StatusCode, header};
use http_body::Body;
use tracing::error;

use crate::{
    audit::{
        Outcome, Record,
        body::{AuditedBody, CountedBody},
        sink::{Lost, Sink},
    },
    clock::Clock,
};

/// Lets inner services add to the record of a request what only they know.
///
/// A request extension, inserted by [`Audit`](super::Audit). Clones belong to the same record.
/// Changes after the end of the request have no effect.
///
/// ```
/// use http::Request;
/// use ziggurat_layers::audit::AuditEntry;
///
/// fn show_user<B>(request: &Request<B>) {
///     if let Some(entry) = request.extensions().get::<AuditEntry>() {
///         entry.set_route("/users/{id}");
///     }
/// }
/// # show_user(&Request::new(()));
/// ```
#[derive(Clone)]
pub struct AuditEntry(pub(super) Arc<EntryState>);

/// The shared state of a request. One allocation holds the record, the counter and the sink, and
/// hides the type of the sink from handlers and bodies.
pub(super) struct EntryState<T: ?Sized = dyn Finish> {
    // `None`: the request has ended.
    record: Mutex<Option<Record>>,
    bytes_in: AtomicU64,
    destination: T,
}

/// Passes a complete record to its sink.
pub(super) trait Finish: Send + Sync {
    fn finish(&self, record: Record);
}

/// The sink of one record, and the slot reserved there in the required mode.
pub(super) struct Destination<K, S, C> {
    pub(super) slot: Mutex<Option<S>>,
    pub(super) sink: Arc<CountingSink<K>>,
    pub(super) clock: C,
    pub(super) begun: Duration,
}

/// A sink, with the numbers of records that it did not take.
pub(super) struct CountingSink<K> {
    pub(super) sink: K,
    pub(super) lost: AtomicU64,
    pub(super) refused: AtomicU64,
}

/// The only owner of the end of a request: dropping it passes the record to the sink.
///
/// The response future has it first, then the response body.
pub(super) struct Recording {
    entry: Arc<EntryState>,
    outcome: Option<Outcome>,
    // Length of the response body, if known.
    expected: Option<u64>,
    bytes_out: u64,
    // Still set in `drop` only if the inner code panicked. `std::thread::panicking` would miss a
    // panic that a layer further out caught before it dropped this value.
    is_running: bool,
}

// === impl AuditEntry ===

impl AuditEntry {
    /// Sets the name of the route, such as the pattern that the router matched.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::audit::AuditEntry;
    ///
    /// fn show_user<B>(request: &Request<B>) {
    ///     if let Some(entry) = request.extensions().get::<AuditEntry>() {
    ///         entry.set_route("/users/{id}");
    ///     }
    /// }
    /// # show_user(&Request::new(()));
    /// ```
    pub fn set_route(&self, route: impl Into<Cow<'static, str>>) {
        if let Some(record) = &mut *self.0.record() {
            record.set_route(route.into());
        }
    }

    /// Sets the authenticated caller. [`AuditIdentityLayer`](super::AuditIdentityLayer) does this
    /// for an identity in the request extensions.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::audit::AuditEntry;
    ///
    /// fn signed_in<B>(request: &Request<B>, user: &str) {
    ///     if let Some(entry) = request.extensions().get::<AuditEntry>() {
    ///         entry.set_identity(user);
    ///     }
    /// }
    /// # signed_in(&Request::new(()), "ali");
    /// ```
    pub fn set_identity(&self, identity: impl Into<Arc<str>>) {
        if let Some(record) = &mut *self.0.record() {
            record.set_identity(identity.into());
        }
    }
}

impl fmt::Debug for AuditEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AuditEntry")
            .field(&*self.0.record())
            .finish()
    }
}

// === impl EntryState ===

impl EntryState {
    fn record(&self) -> MutexGuard<'_, Option<Record>> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add_bytes_in(&self, size: usize) {
        self.bytes_in.fetch_add(size as u64, Ordering::Relaxed);
    }
}

// === impl Destination ===

impl<K, C> Finish for Destination<K, K::Slot, C>
where
    K: Sink,
    C: Clock + Send + Sync,
{
    fn finish(&self, mut record: Record) {
        record.duration = self.clock.now().saturating_sub(self.begun);
        let reserved = self
            .slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let sink = &self.sink.sink;
        // This may run during a panic, when a second one would abort the process.
        let accepted = catch_unwind(AssertUnwindSafe(|| {
            let slot = reserved.or_else(|| sink.reserve()).ok_or(Lost)?;
            sink.accept(slot, record)
        }));
        if !matches!(accepted, Ok(Ok(()))) && self.sink.lost.fetch_add(1, Ordering::Relaxed) == 0 {
            error!("the audit sink did not take a record; later losses are only counted");
        }
    }
}

// === impl Recording ===

impl Recording {
    pub(super) fn new(record: Record, destination: impl Finish + 'static) -> Self {
        Self {
            entry: Arc::new(EntryState {
                record: Mutex::new(Some(record)),
                bytes_in: AtomicU64::new(0),
                destination,
            }),
            outcome: None,
            expected: None,
            bytes_out: 0,
            is_running: false,
        }
    }

    pub(super) fn entry(&self) -> AuditEntry {
        AuditEntry(Arc::clone(&self.entry))
    }

    /// Runs inner code, which may panic.
    #[inline]
    pub(super) fn run<T>(&mut self, inner: impl FnOnce() -> T) -> T {
        self.is_running = true;
        let output = inner();
        self.is_running = false;
        output
    }

    pub(super) fn count<B>(&self, inner: B) -> CountedBody<B> {
        CountedBody::new(inner, Arc::clone(&self.entry))
    }

    pub(super) fn add_bytes_out(&mut self, size: usize) {
        self.bytes_out += size as u64;
    }

    /// Ends the request.
    pub(super) fn finish(mut self, outcome: Outcome) {
        self.outcome = Some(outcome);
    }

    /// Takes over the head of the response, and passes itself on to the body unless that is empty.
    pub(super) fn attach<B: Body>(mut self, response: Response<B>) -> Response<AuditedBody<B>> {
        let code = response
            .extensions()
            .get()
            .map(crate::reject::Rejection::code);
        let mut is_whole = response.body().is_end_stream();
        if let Some(record) = &mut *self.entry.record() {
            record.status = Some(response.status());
            record.code = code;
            is_whole |= has_no_body(record.method(), response.status());
        }
        self.expected = length(&response);
        let recording = if is_whole {
            self.finish(Outcome::Completed);
            None
        } else {
            Some(self)
        };
        response.map(|inner| AuditedBody::new(inner, recording))
    }

    /// The end of a request that is dropped.
    fn outcome(&self, record: &Record) -> Outcome {
        if let Some(outcome) = self.outcome {
            outcome
        } else if self.is_running {
            Outcome::Panicked
        } else if record.status.is_none() {
            Outcome::Cancelled
        } else if self.expected.is_some_and(|length| self.bytes_out >= length) {
            // A server stops reading after `Content-Length` bytes.
            Outcome::Completed
        } else {
            Outcome::ResponseAborted
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let Some(mut record) = self.entry.record().take() else {
            return;
        };
        record.outcome = self.outcome(&record);
        record.bytes_in = self.entry.bytes_in.load(Ordering::Relaxed);
        record.bytes_out = self.bytes_out;
        self.entry.destination.finish(record);
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recording")
            .field(&*self.entry.record())
            .finish()
    }
}

/// Returns whether a server sends only the head of a response (RFC 9112, section 6.3).
fn has_no_body(method: &Method, status: StatusCode) -> bool {
    method == Method::HEAD
        || status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        || (method == Method::CONNECT && status.is_success())
}

/// The length of the body that the head announces, or that the server will announce for it.
fn length<B: Body>(response: &Response<B>) -> Option<u64> {
    let header = response.headers().get(header::CONTENT_LENGTH);
    let announced = header.and_then(|value| value.to_str().ok()?.parse().ok());
    announced.or_else(|| response.body().size_hint().exact())
}
