//! State of one connection, and its timeouts.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    task,
    time::{Instant, sleep_until},
};

use crate::Limits;

/// Longer than any connection lasts.
pub(super) const FAR_FUTURE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Minimum time between two checks of the clock, for any limits.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// Time for a new client to send its request. Until it is over, the connection is not closed to make
/// room for another.
pub(super) const FIRST_REQUEST_TIME: Duration = Duration::from_millis(250);

/// State of one connection.
///
/// A connection waits for its client while there is no complete request to serve, or while the
/// client does not read its response. Only a waiting connection times out, and only a waiting
/// connection is closed to make room for another.
#[derive(Debug)]
pub(super) struct Activity {
    // Locked only by the tasks of one connection, for a few instructions.
    state: Mutex<State>,
    eviction: Notify,
    signal: Arc<EvictionSignal>,
    header_timeout: Duration,
    idle_timeout: Duration,
}

/// Signals the accept loop that a connection may be closed.
#[derive(Debug, Default)]
pub(super) struct EvictionSignal {
    is_wanted: AtomicBool,
    freed: Notify,
}

/// Reason why a client timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeoutReason {
    /// It has begun a request and does not continue.
    Slow,
    /// It has sent no request for a long time.
    Idle,
}

/// A request without a complete response; counted until it is dropped.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Activity>);

#[derive(Debug)]
struct State {
    /// Requests between their head and the end of their response.
    in_flight: u32,
    /// The number of them that wait for more of their body.
    uploading: u32,
    /// True while the client does not read its response.
    is_stalled: bool,
    /// Start of the current wait for the client.
    since: Instant,
    /// Time when the head of a request began to arrive, if one has.
    head_since: Option<Instant>,
    /// True after the first request.
    has_begun: bool,
    is_evicted: bool,
}

enum Timeouts {
    Until(Instant),
    Over(TimeoutReason),
}

// === impl Activity ===

impl Activity {
    /// Creates the state of a new connection; it waits for the head of its first request.
    pub(super) fn new(signal: Arc<EvictionSignal>, limits: &Limits) -> Self {
        let now = Instant::now();
        Self {
            state: Mutex::new(State {
                in_flight: 0,
                uploading: 0,
                is_stalled: false,
                since: now,
                head_since: Some(now),
                has_begun: false,
                is_evicted: false,
            }),
            eviction: Notify::new(),
            signal,
            header_timeout: limits.header_timeout,
            idle_timeout: limits.idle_timeout,
        }
    }

    /// Notes that the client may begin with HTTP: the time before, such as a handshake, does not
    /// count.
    pub(super) fn is_open(&self) {
        self.state().head_since = Some(Instant::now());
    }

    /// Notes that the client uses HTTP/2. Frames arrive at any time, and the protocol library
    /// handles a head in several frames.
    pub(super) fn uses_http2(&self) {
        let mut state = self.state();
        state.head_since = None;
        state.since = Instant::now();
    }

    /// Notes that bytes have arrived on HTTP/1: outside of a request they begin one.
    pub(super) fn received(&self) {
        let mut state = self.state();
        if state.in_flight == 0 && state.head_since.is_none() {
            state.head_since = Some(Instant::now());
        }
    }

    /// Notes that the head of a request is complete.
    pub(super) fn begin(self: &Arc<Self>) -> InFlight {
        let mut state = self.state();
        state.in_flight += 1;
        state.has_begun = true;
        state.head_since = None;
        drop(state);
        InFlight(Arc::clone(self))
    }

    /// Notes that the server waits for the body of a request.
    pub(super) fn awaits_body(&self) {
        self.change(|state| state.uploading += 1);
    }

    /// Notes that more of the body has arrived, or is no longer needed.
    pub(super) fn has_body(&self) {
        self.change(|state| state.uploading -= 1);
    }

    /// Notes whether the client has stopped reading.
    pub(super) fn stalls(&self, is_stalled: bool) {
        self.change(|state| state.is_stalled = is_stalled);
    }

    /// Waits until the client has timed out.
    ///
    /// Not woken when a request begins or ends: checking again after the shortest timeout costs
    /// less.
    pub(super) async fn timed_out(&self) -> TimeoutReason {
        loop {
            match self.timeouts(Instant::now()) {
                Timeouts::Until(then) => sleep_until(then).await,
                Timeouts::Over(why) => return why,
            }
        }
    }

    /// Restarts the idle time, because the client was notified that the connection ends.
    pub(super) fn was_notified(&self) {
        self.state().since = Instant::now();
    }

    /// Waits until the connection has to be closed to make room for another.
    pub(super) async fn evicted(&self) {
        loop {
            self.eviction.notified().await;
            // A request may have arrived that has not been read yet: the runtime polls for input
            // before it continues a task that yields.
            for _ in 0..2 {
                task::yield_now().await;
            }
            let mut state = self.state();
            if state.waits_for_client() {
                return;
            }
            // A request arrived in the meantime, so another connection is closed instead.
            state.is_evicted = false;
            drop(state);
            self.signal.freed.notify_one();
        }
    }

    /// Returns since when the client is waited for, if the connection may be closed to make room
    /// and was not evicted yet.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        let state = self.state();
        let is_new = !state.has_begun && state.since.elapsed() < FIRST_REQUEST_TIME;
        let may_leave = state.waits_for_client() && !is_new && !state.is_evicted;
        may_leave.then_some(state.since)
    }

    pub(super) fn is_evicted(&self) -> bool {
        self.state().is_evicted
    }

    pub(super) fn evict(&self) {
        self.state().is_evicted = true;
        self.eviction.notify_one();
    }

    fn timeouts(&self, now: Instant) -> Timeouts {
        let state = self.state();
        let interval = self
            .header_timeout
            .min(self.idle_timeout)
            .clamp(MIN_CHECK_INTERVAL, FAR_FUTURE);
        if state.in_flight > 0 || state.is_stalled {
            // The body of a request and the writing of a response have their own timeouts.
            return Timeouts::Until(now + interval);
        }
        let (begun, limit, why) = match state.head_since {
            Some(begun) => (begun, self.header_timeout, TimeoutReason::Slow),
            None => (state.since, self.idle_timeout, TimeoutReason::Idle),
        };
        let end = begun + limit.min(FAR_FUTURE);
        if end <= now {
            Timeouts::Over(why)
        } else {
            Timeouts::Until(end.min(now + interval))
        }
    }

    /// Locks the state. No code leaves it half changed, so a panic does not make it unusable.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what the connection waits for.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        state.since = Instant::now();
        let waits = state.waits_for_client();
        drop(state);
        if waits && self.signal.is_wanted.load(Ordering::SeqCst) {
            self.signal.freed.notify_one();
        }
    }
}

// === impl EvictionSignal ===

impl EvictionSignal {
    /// Sets whether connections report when they begin to wait for their client.
    pub(super) fn is_wanted(&self, wanted: bool) {
        self.is_wanted.store(wanted, Ordering::SeqCst);
    }

    /// Waits until a connection may have begun to wait for its client.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }
}

// === impl InFlight ===

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.change(|state| state.in_flight -= 1);
    }
}

// === impl State ===

impl State {
    fn waits_for_client(&self) -> bool {
        self.is_stalled || self.in_flight <= self.uploading
    }
}
