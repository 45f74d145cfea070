//! What goes on on one connection, and how long to bear with it.

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

use super::Limits;

/// Farther away than any connection lasts.
pub(super) const FAR: Duration = Duration::from_hours(24 * 365);

/// No look at a clock more often than this, whatever the limits are.
const SHORTEST_NAP: Duration = Duration::from_millis(1);

/// The time in which a client that has just connected is expected to send its request. Until it
/// is over, the connection is not closed to make room for another.
pub(super) const FIRST_WORDS: Duration = Duration::from_millis(250);

/// What goes on on one connection.
///
/// A connection waits for its client as long as there is no whole request to work on, or
/// nothing more of a response can be sent. Only such a connection runs out of patience, and
/// only such a one has to go when others want in.
#[derive(Debug)]
pub(super) struct Activity {
    // Taken by the tasks of one connection only, and for a few instructions.
    state: Mutex<State>,
    leave: Notify,
    room: Arc<Room>,
    header_timeout: Duration,
    idle_timeout: Duration,
}

/// Where the accept loop waits for a connection that may go.
#[derive(Debug, Default)]
pub(super) struct Room {
    is_wanted: AtomicBool,
    freed: Notify,
}

/// Why there is no more patience with a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeoutReason {
    /// It has begun a request and does not get on with it.
    Slow,
    /// It has not asked for anything in a long time.
    Idle,
}

/// A request that has not been answered in full; counted until it is dropped.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Activity>);

#[derive(Debug)]
struct State {
    /// Requests between their head and the end of their response.
    in_flight: u32,
    /// Those of them that wait for more of their body.
    uploading: u32,
    /// Whether the client takes nothing of what is sent to it.
    is_stalled: bool,
    /// When the client last got on, as far as it is waited for.
    since: Instant,
    /// When the head of a request began to come in, if one has.
    head_since: Option<Instant>,
    /// True once a request has come in.
    has_begun: bool,
    was_asked_to_leave: bool,
}

enum Timeouts {
    Until(Instant),
    Over(TimeoutReason),
}

// === impl Activity ===

impl Activity {
    /// A connection that has just begun; the head of its first request is due.
    pub(super) fn new(room: Arc<Room>, limits: &Limits) -> Self {
        let now = Instant::now();
        Self {
            state: Mutex::new(State {
                in_flight: 0,
                uploading: 0,
                is_stalled: false,
                since: now,
                head_since: Some(now),
                has_begun: false,
                was_asked_to_leave: false,
            }),
            leave: Notify::new(),
            room,
            header_timeout: limits.header_timeout,
            idle_timeout: limits.idle_timeout,
        }
    }

    /// The client may begin to speak HTTP: what came before does not count.
    pub(super) fn is_open(&self) {
        self.state().head_since = Some(Instant::now());
    }

    /// The client speaks HTTP/2. Frames come at all times there, and a head in several of
    /// them is the affair of the protocol.
    pub(super) fn speaks_http2(&self) {
        let mut state = self.state();
        state.head_since = None;
        state.since = Instant::now();
    }

    /// Bytes have come in on HTTP/1: outside of a request they begin one.
    pub(super) fn heard(&self) {
        let mut state = self.state();
        if state.in_flight == 0 && state.head_since.is_none() {
            state.head_since = Some(Instant::now());
        }
    }

    /// The head of a request is complete.
    pub(super) fn begin(self: &Arc<Self>) -> InFlight {
        let mut state = self.state();
        state.in_flight += 1;
        state.has_begun = true;
        state.head_since = None;
        drop(state);
        InFlight(Arc::clone(self))
    }

    /// The body of a request does not come in.
    pub(super) fn awaits_body(&self) {
        self.change(|state| state.uploading += 1);
    }

    /// More of the body has come in, or nobody wants it any more.
    pub(super) fn has_body(&self) {
        self.change(|state| state.uploading -= 1);
    }

    /// The client does not take what is sent to it, or takes it again.
    pub(super) fn stalls(&self, is_stalled: bool) {
        self.change(|state| state.is_stalled = is_stalled);
    }

    /// Waits until there is no more patience with the client.
    ///
    /// Nothing wakes this up when a request begins or ends. It looks again after the
    /// shortest time in which patience could run out, which costs less.
    pub(super) async fn worn_out(&self) -> TimeoutReason {
        loop {
            match self.patience(Instant::now()) {
                Timeouts::Until(then) => sleep_until(then).await,
                Timeouts::Over(why) => return why,
            }
        }
    }

    /// The client was told that the connection ends, and gets as much patience once more.
    pub(super) fn was_told(&self) {
        self.state().since = Instant::now();
    }

    /// Waits until the connection has to go, so that another gets in.
    pub(super) async fn has_to_leave(&self) {
        loop {
            self.leave.notified().await;
            // A request may have come in that has not been read yet: the runtime looks for what
            // has come in before it continues a task that yields.
            for _ in 0..2 {
                task::yield_now().await;
            }
            let mut state = self.state();
            if state.waits_for_client() {
                return;
            }
            // A request came in the meantime. Another connection may do.
            state.was_asked_to_leave = false;
            drop(state);
            self.room.freed.notify_one();
        }
    }

    /// Since when the client is waited for, if the connection may be closed to make room and was
    /// not asked to leave.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        let state = self.state();
        let is_new = !state.has_begun && state.since.elapsed() < FIRST_WORDS;
        let may_leave = state.waits_for_client() && !is_new && !state.was_asked_to_leave;
        may_leave.then_some(state.since)
    }

    pub(super) fn was_asked_to_leave(&self) -> bool {
        self.state().was_asked_to_leave
    }

    pub(super) fn ask_to_leave(&self) {
        self.state().was_asked_to_leave = true;
        self.leave.notify_one();
    }

    fn patience(&self, now: Instant) -> Timeouts {
        let state = self.state();
        let nap = self
            .header_timeout
            .min(self.idle_timeout)
            .clamp(SHORTEST_NAP, FAR);
        if state.in_flight > 0 || state.is_stalled {
            // The body of a request and the writing of a response have limits of their own.
            return Timeouts::Until(now + nap);
        }
        let (begun, patience, why) = match state.head_since {
            Some(begun) => (begun, self.header_timeout, TimeoutReason::Slow),
            None => (state.since, self.idle_timeout, TimeoutReason::Idle),
        };
        let end = begun + patience.min(FAR);
        if end <= now {
            Timeouts::Over(why)
        } else {
            Timeouts::Until(end.min(now + nap))
        }
    }

    /// Changes what the connection waits for.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        state.since = Instant::now();
        let waits = state.waits_for_client();
        drop(state);
        if waits && self.room.is_wanted.load(Ordering::SeqCst) {
            self.room.freed.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Room ===

impl Room {
    /// Has connections say when they begin to wait for their client; or no longer.
    pub(super) fn is_wanted(&self, wanted: bool) {
        self.is_wanted.store(wanted, Ordering::SeqCst);
    }

    /// Waits until some connection may have begun to wait for its client.
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
