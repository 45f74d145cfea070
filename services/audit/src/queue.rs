//! Queue between calls and the writer.

use std::{
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ziggurat_runtime::lock;

use crate::{CallStart, Verdict, draft::Draft, record::Shared};

/// Maximum number of records that wait for the writer, and of calls that wait for `open` lines.
pub(crate) const MAX_LINES: usize = 8192;

/// Time for which the writer lets records gather before it writes them together. Much less, and it
/// interrupts the threads of a busy server too often.
const GATHER: Duration = Duration::from_millis(10);

/// Number of records for which the writer does not wait any longer.
const GATHERED: usize = 1024;

/// Maximum size of the records that are used again.
const MAX_KEPT_BYTES: usize = 2048;

/// Pause between two attempts to write, unless a call asks for one.
const RETRY: Duration = Duration::from_secs(1);

/// Number of refused tokens that are recorded one by one in a second.
const DENIED_PER_SECOND: u32 = 10;

const SECOND: Duration = Duration::from_secs(1);

/// A call that waits for its `open` line.
pub(crate) struct Open {
    pub(crate) call: Arc<Shared>,
    /// Sequence number of the line, once it is formatted.
    pub(crate) seq: Option<u64>,
}

/// Records that wait to be written as lines; each moves without a copy.
pub(crate) type Records = Vec<Box<Draft>>;

/// Work for the writer.
#[derive(Default)]
pub(crate) struct Batch {
    /// Calls that wait for their `open` lines, which are written before the others.
    pub(crate) opens: Vec<Open>,
    pub(crate) records: Records,
}

/// Queue between calls and the writer.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Wakes the writer.
    work: Condvar,
    /// Is true while no line can be written although records are required.
    pub(crate) is_unavailable: Arc<AtomicBool>,
    pub(crate) missed: AtomicU64,
    pub(crate) records: AtomicU64,
    pub(crate) failures: AtomicU64,
}

#[derive(Default)]
struct State {
    batch: Batch,
    /// Records that were written, for other calls.
    spare: Records,
    orders: Orders,
    /// Is true if a call waits for its `open` line.
    is_urgent: bool,
    /// Is true after an attempt to write has failed.
    is_failing: bool,
    sleep: Sleep,
    denied: Denied,
}

/// Sleep of the writer, which decides which calls pay for waking it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Sleep {
    #[default]
    Awake,
    UntilWork,
    Gathering,
}

/// Refused tokens of one second.
#[derive(Default)]
struct Denied {
    since: Option<Instant>,
    recorded: u32,
    repeated: u64,
}

/// Requests to the writer that come with a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Orders {
    /// Number of records that are to be noted as missed.
    pub(crate) missed: u64,
    /// Is true if the file is to be opened anew.
    pub(crate) reopen: bool,
    /// Is true if the writer is to end.
    pub(crate) close: bool,
}

// === impl Queue ===

impl Queue {
    /// Makes a record of a call that begins.
    pub(crate) fn new_record(&self, start: &CallStart<'_>) -> Box<Draft> {
        let spare = lock(&self.state).spare.pop();
        let Some(mut record) = spare else {
            return Box::new(Draft::new("call", start));
        };
        record.begin("call", start);
        record
    }

    /// Adds a record. If the queue is full, the record is missed: waiting would block a thread of the
    /// runtime.
    pub(crate) fn push(&self, record: Box<Draft>) {
        let mut state = lock(&self.state);
        if state.is_full() || state.orders.close {
            state.orders.missed += 1;
            self.missed.fetch_add(1, Relaxed);
            return;
        }
        state.batch.records.push(record);
        self.wake(state);
    }

    /// Adds the record of a reload of the configuration.
    pub(crate) fn push_reload(&self, verdict: Verdict) {
        self.push(Box::new(Draft::event("reload", Some(verdict), None)));
    }

    /// Adds the record of an event of a sign-in.
    pub(crate) fn push_sign_in(&self, start: &CallStart<'_>, members: &str) {
        self.push(Box::new(Draft::sign_in(start, members)));
    }

    /// Adds a call that waits for its `open` line. Returns false if no writer will come, or if it has
    /// not come for too many calls.
    ///
    /// Its task writes the line itself, unless `is_urgent` leaves it to the writer.
    pub(crate) fn push_open(&self, call: Arc<Shared>, is_urgent: bool) -> bool {
        let mut state = lock(&self.state);
        if state.orders.close || state.batch.opens.len() >= MAX_LINES {
            state.orders.missed += 1;
            self.missed.fetch_add(1, Relaxed);
            return false;
        }
        state.batch.opens.push(Open { call, seq: None });
        if is_urgent {
            state.is_urgent = true;
            self.wake(state);
        }
        true
    }

    /// Puts the calls that wait for their `open` lines into `batch`.
    pub(crate) fn take_opens(&self, opens: &mut Vec<Open>) -> u64 {
        let mut state = lock(&self.state);
        opens.append(&mut state.batch.opens);
        mem::take(&mut state.orders.missed)
    }

    /// Returns whether calls wait for `open` lines that are not left to the writer.
    pub(crate) fn has_opens(&self) -> bool {
        let state = lock(&self.state);
        !state.is_urgent && !state.batch.opens.is_empty()
    }

    /// Adds a call that ended while its `open` line was written. Never waits.
    pub(crate) fn push_late(&self, record: Box<Draft>) {
        lock(&self.state).batch.records.push(record);
    }

    /// Adds a refused token, or counts it if there were many.
    pub(crate) fn push_denied(&self, record: impl FnOnce() -> Box<Draft>) {
        let mut state = lock(&self.state);
        state.end_denied(Instant::now(), false);
        if state.denied.recorded >= DENIED_PER_SECOND {
            state.denied.repeated += 1;
            // The writer has to know when the second is over.
            self.wake(state);
            return;
        }
        state.denied.recorded += 1;
        drop(state);
        self.push(record());
    }

    /// Asks the writer to open the file anew.
    pub(crate) fn reopen(&self) {
        let mut state = lock(&self.state);
        state.orders.reopen = true;
        self.wake(state);
    }

    /// Asks the writer to end.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.orders.close = true;
        self.wake(state);
    }

    /// Waits for work, at most until `until`, and puts it into `batch`.
    pub(crate) fn take(&self, batch: &mut Batch, until: Option<Instant>) -> Orders {
        // While there is much to do, records come during the first wait, and no call has to wake the
        // writer.
        let mut state = self.gather(lock(&self.state), until);
        if state.is_idle() {
            state = self.sleep(state, Sleep::UntilWork, until, |state| {
                state.is_idle() && !state.is_pressing()
            });
            state = self.gather(state, until);
        }
        let is_closed = state.orders.close;
        state.end_denied(Instant::now(), is_closed);
        mem::swap(&mut state.batch, batch);
        state.is_urgent = false;
        Orders {
            missed: mem::take(&mut state.orders.missed),
            reopen: mem::take(&mut state.orders.reopen),
            close: state.orders.close,
        }
    }

    /// Puts back, before all others, what could not be written.
    pub(crate) fn put_back(&self, unwritten: &mut Records, missed: u64) {
        let mut state = lock(&self.state);
        unwritten.append(&mut state.batch.records);
        mem::swap(&mut state.batch.records, unwritten);
        let records = &mut state.batch.records;
        let lost = records.drain(records.len().min(MAX_LINES)..).len() as u64;
        state.orders.missed += missed + lost;
        self.missed.fetch_add(lost, Relaxed);
    }

    /// Keeps records that were written for other calls.
    pub(crate) fn keep(&self, written: &mut Records) {
        written.retain(|record| record.capacity() <= MAX_KEPT_BYTES);
        let mut state = lock(&self.state);
        let room = GATHERED.saturating_sub(state.spare.len());
        let kept = written.len().min(room);
        state.spare.extend(written.drain(..kept));
        drop(state);
        written.clear();
    }

    /// Counts calls that have no record because their `open` line could not be written.
    pub(crate) fn miss(&self, calls: u64) {
        lock(&self.state).orders.missed += calls;
        self.missed.fetch_add(calls, Relaxed);
    }

    /// Notes whether the writer can write.
    pub(crate) fn set_failing(&self, is_failing: bool) {
        lock(&self.state).is_failing = is_failing;
    }

    /// Returns the number of records that are not written yet, with those that were missed since the
    /// last line.
    pub(crate) fn unwritten(&self) -> u64 {
        let State { batch, orders, .. } = &*lock(&self.state);
        orders.missed + (batch.opens.len() + batch.records.len()) as u64
    }

    /// Waits for records to write together, until there are enough of them, but not longer than a
    /// pause.
    fn gather<'a>(
        &self,
        state: MutexGuard<'a, State>,
        until: Option<Instant>,
    ) -> MutexGuard<'a, State> {
        let pause = if state.is_failing { RETRY } else { GATHER };
        let until = earlier(until, Instant::now().checked_add(pause));
        self.sleep(state, Sleep::Gathering, until, |state| {
            !state.is_gathered() && !state.is_pressing()
        })
    }

    fn sleep<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        sleep: Sleep,
        until: Option<Instant>,
        goes_on: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        while goes_on(&state) {
            let until = earlier(until, state.denied.until());
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            state.sleep = sleep;
            state = match left {
                Some(left) => {
                    let waited = self.work.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .work
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.sleep = Sleep::Awake;
        state
    }

    /// Wakes the writer if there is enough to do for it.
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let wakes = match state.sleep {
            Sleep::Awake => false,
            Sleep::UntilWork => true,
            Sleep::Gathering => state.is_gathered() || state.is_pressing(),
        };
        if wakes {
            state.sleep = Sleep::Awake;
            drop(state);
            self.work.notify_one();
        }
    }
}

// === impl State ===

impl State {
    /// Returns whether there is nothing to write.
    fn is_idle(&self) -> bool {
        let Batch { opens, records } = &self.batch;
        opens.is_empty() && records.is_empty() && self.orders.missed == 0
    }

    fn is_full(&self) -> bool {
        self.batch.records.len() >= MAX_LINES
    }

    /// Returns whether there are enough lines for a write that may succeed.
    fn is_gathered(&self) -> bool {
        self.batch.records.len() >= GATHERED && !self.is_failing
    }

    /// Returns whether the writer has work for which it must not wait.
    fn is_pressing(&self) -> bool {
        self.is_urgent || self.orders.close || self.orders.reopen
    }

    /// Ends the second of refused tokens if it is over, or if there will be no other.
    fn end_denied(&mut self, now: Instant, is_last: bool) {
        let since = *self.denied.since.get_or_insert(now);
        if !is_last && now.saturating_duration_since(since) < SECOND {
            return;
        }
        let denied = mem::take(&mut self.denied);
        if denied.repeated > 0 {
            let record = Draft::event("denied", None, Some(denied.repeated));
            self.batch.records.push(Box::new(record));
        }
        self.denied.since = Some(now);
    }
}

// === impl Denied ===

impl Denied {
    /// Returns the time at which a count of refused tokens is due.
    fn until(&self) -> Option<Instant> {
        let since = self.since.filter(|_| self.repeated > 0)?;
        since.checked_add(SECOND)
    }
}

/// Returns the earlier of two times, of which each may be missing.
fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
