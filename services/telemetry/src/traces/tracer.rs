//! Decisions about traces, and their context inside of the program.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use crate::traces::{
    Exporter, Incoming, InvalidTraceSettings, ServerSpan, SpanId, TraceId, TraceParent,
    TraceSettings,
    parent::Context,
    queue::Queue,
    record::{self, Record},
    span::{ProviderSpan, Recorder, StatementSpan},
};

/// Starts the traces of a program. Clones share the queue of spans.
///
/// Off, every method is one test and does nothing.
#[derive(Clone, Debug, Default)]
pub struct Tracer(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    queue: Arc<Queue>,
    /// The number of random values of 63 bits, from the lowest on, that are recorded.
    threshold: u64,
    follow_parent: bool,
    propagate_to_providers: AtomicBool,
}

/// Context of a call: the trace and the span of the call, recorded or not.
///
/// Clones are cheap, and go to the code that has spans of its own.
#[derive(Clone, Debug, Default)]
pub struct Trace(Option<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    own: TraceParent,
    state: Option<Arc<str>>,
    /// True if providers get the context.
    is_propagated: bool,
    /// Present if the trace is recorded.
    clock: Option<Arc<Clock>>,
}

/// Clock of a trace: times of its spans never go back, and differ as durations do.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) queue: Arc<Queue>,
    begin: Instant,
    begin_unix_nano: u64,
}

// === impl Tracer ===

impl Tracer {
    /// Returns a tracer without traces.
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    /// Prepares traces and their export, which the program runs.
    ///
    /// # Errors
    /// Fails on an address that is not one of HTTP, a ratio that is not from 0 to 1, an empty queue,
    /// and if the TLS library cannot be set up.
    pub fn new(settings: TraceSettings) -> Result<(Self, Exporter), InvalidTraceSettings> {
        if !(0.0..=1.0).contains(&settings.ratio) {
            return Err(InvalidTraceSettings::new("ratio", "must be from 0 to 1"));
        }
        if settings.queue == 0 {
            return Err(InvalidTraceSettings::new("queue", "must be at least 1"));
        }
        let shared = Shared {
            queue: Arc::new(Queue::new(settings.queue)),
            threshold: threshold(settings.ratio),
            follow_parent: settings.follow_parent,
            propagate_to_providers: settings.propagate_to_providers.into(),
        };
        let exporter = Exporter::new(Arc::clone(&shared.queue), settings)?;
        Ok((Self(Some(Arc::new(shared))), exporter))
    }

    /// Returns whether there are traces. Code that would read an [`Incoming`] asks.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Sets whether providers get the context of the calls that begin from now on.
    pub fn set_propagation(&self, to_providers: bool) {
        if let Some(shared) = &self.0 {
            shared.propagate_to_providers.store(to_providers, Relaxed);
        }
    }

    /// Returns the number of spans that were dropped: by a full queue, by a failed export, and by the
    /// collector.
    #[must_use]
    pub fn dropped_spans(&self) -> u64 {
        self.0.as_ref().map_or(0, |shared| shared.queue.dropped())
    }

    /// Begins the span of a call, with a name that begins with its method.
    ///
    /// The span continues the trace of the caller, or begins a new one. The trace is recorded if an
    /// authenticated caller records it and the settings say to follow, else by the ratio.
    pub fn begin(&self, method: &str, incoming: Incoming, is_authenticated: bool) -> ServerSpan {
        let Some(shared) = &self.0 else {
            return ServerSpan::default();
        };
        let (parent, link) = incoming.into_parent_and_link();
        let sent = parent.as_ref().map(|context| context.parent);
        let trace_id = sent.map_or_else(TraceId::random, |parent| parent.trace_id);
        let span_id = SpanId::random();
        let is_sampled = match sent {
            Some(parent) if is_authenticated && shared.follow_parent => parent.is_sampled,
            // Callers that are not authenticated must not choose ids that are always recorded.
            Some(_) if !is_authenticated => shared.is_sampled(span_id.low()),
            _ => shared.is_sampled(trace_id.low()),
        };
        let own = TraceParent {
            trace_id,
            span_id,
            is_sampled,
        };
        let state = parent.and_then(|context| context.state);
        let clock = is_sampled.then(|| Arc::new(Clock::new(Arc::clone(&shared.queue))));
        let recorder = clock.as_ref().map(|clock| {
            let name = record::cut(method).to_owned();
            let mut record = Record::new(record::SERVER, name, own, clock.begin_unix_nano);
            record.parent_span_id = sent.map(|parent| parent.span_id);
            record.set_state(state.as_deref());
            record.set_link(link.as_ref());
            Recorder::new(record, Arc::clone(clock))
        });
        let inner = Inner {
            own,
            state,
            is_propagated: shared.propagate_to_providers.load(Relaxed),
            clock,
        };
        ServerSpan::new(Trace(Some(inner)), recorder)
    }
}

impl Tracer {
    /// Begins the span of a statement that runs for no single call, in a trace of its own, which is
    /// recorded by the ratio.
    ///
    /// Of the statement only the first word is taken, if it is a command of PostgreSQL.
    pub fn statement(&self, database: &str, statement: &str) -> StatementSpan {
        let own = self.0.as_ref().map(|shared| {
            let trace_id = TraceId::random();
            let own = TraceParent {
                trace_id,
                span_id: SpanId::random(),
                is_sampled: shared.is_sampled(trace_id.low()),
            };
            (shared, own)
        });
        let sampled = own.filter(|(_, own)| own.is_sampled);
        let recorder = sampled.map(|(shared, own)| {
            let clock = Arc::new(Clock::new(Arc::clone(&shared.queue)));
            let name = record::cut(database).to_owned();
            let record = Record::new(record::CLIENT, name, own, clock.begin_unix_nano);
            Recorder::new(record, clock)
        });
        StatementSpan::new(own.map(|(_, own)| own), recorder, database, statement)
    }
}

// === impl Shared ===

impl Shared {
    /// Decides as the SDKs of OpenTelemetry do, which all decide the same for one trace.
    const fn is_sampled(&self, random: u64) -> bool {
        random >> 1 < self.threshold
    }
}

/// Returns the part of 2^63 that a ratio stands for.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a ratio is from 0 to 1, and 2^63 is exact"
)]
fn threshold(ratio: f64) -> u64 {
    (ratio * (1_u64 << 63) as f64) as u64
}

// === impl Trace ===

impl Trace {
    /// Returns a context without a trace.
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    /// Returns the id of the trace, also if it is not recorded.
    #[must_use]
    pub fn id(&self) -> Option<TraceId> {
        self.traceparent().map(|own| own.trace_id)
    }

    /// Returns whether the trace is recorded.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.traceparent().is_some_and(|own| own.is_sampled)
    }

    /// Returns the span of the call, to pass it on.
    #[must_use]
    pub fn traceparent(&self) -> Option<TraceParent> {
        self.0.as_ref().map(|inner| inner.own)
    }

    /// Returns the `tracestate` of the caller.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.0.as_ref()?.state.as_deref()
    }

    /// Begins the span of a statement in a database.
    ///
    /// Of the statement only the first word is taken, if it is a command of PostgreSQL.
    pub fn statement(&self, database: &str, statement: &str) -> StatementSpan {
        let (own, recorder) = self.child(|| record::cut(database).to_owned());
        StatementSpan::new(own, recorder, database, statement)
    }

    /// Begins the span of a request to a provider of models.
    pub fn provider(&self, provider: &str) -> ProviderSpan {
        let (own, recorder) = self.child(|| format!("provider {}", record::cut(provider)));
        let sent = self.0.as_ref().filter(|inner| inner.is_propagated);
        let state = sent.and_then(|inner| inner.state.clone());
        let parent = own.filter(|_| sent.is_some());
        ProviderSpan::new(parent.map(|parent| Context { parent, state }), recorder)
    }

    /// Begins a span below the span of the call. If the call is not recorded, passes on its span.
    fn child(&self, name: impl FnOnce() -> String) -> (Option<TraceParent>, Option<Recorder>) {
        let Some(inner) = &self.0 else {
            return (None, None);
        };
        let Inner { own, state, .. } = inner;
        let Some(clock) = &inner.clock else {
            return (Some(*own), None);
        };
        let child = TraceParent {
            span_id: SpanId::random(),
            ..*own
        };
        let mut record = Record::new(record::CLIENT, name(), child, clock.now());
        record.parent_span_id = Some(own.span_id);
        record.set_state(state.as_deref());
        (Some(child), Some(Recorder::new(record, Arc::clone(clock))))
    }
}

// === impl Clock ===

impl Clock {
    fn new(queue: Arc<Queue>) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or_default();
        Self {
            queue,
            begin: Instant::now(),
            begin_unix_nano: since.as_nanos().try_into().unwrap_or(u64::MAX),
        }
    }

    pub(super) fn now(&self) -> u64 {
        let elapsed = self.begin.elapsed().as_nanos();
        let elapsed = elapsed.try_into().unwrap_or(u64::MAX);
        self.begin_unix_nano.saturating_add(elapsed)
    }
}
