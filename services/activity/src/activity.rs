//! Statements of all callers.

use std::{
    collections::VecDeque,
    fmt,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use ziggurat_runtime::lock;

use crate::{
    CallEntry, CallerName,
    latency::{Latency, ToolLatency},
    shown::{Finished, Running},
    slot::{CancelledBy, Entry, Facts, Slot, State, shown_id},
};

/// Maximum number of calls that are followed at a time. Further ones run, but are not listed.
const MAX_CALLS: usize = 10_000;

/// Number of statements that are kept after their end.
const MAX_FINISHED: usize = 200;

/// Spreads the numbers of calls over all ids; it is odd, so that no two have the same.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Outcome of a call that asked its user whether to run the statement.
const ASKED: &str = "asked";

/// Outcome of a call that was dropped.
const CANCELLED: &str = "cancelled";

/// Outcomes that are no errors.
const FINE: [&str; 2] = ["ok", CANCELLED];

/// The statements of all callers: those that run, the last that have ended, and their times. Clones
/// share them.
#[derive(Clone)]
pub struct Activity(Arc<Shared>);

struct Shared {
    began: Instant,
    /// True if statements are shown.
    has_statements: bool,
    calls: AtomicU64,
    key: u64,
    places: Mutex<Places>,
    finished: Mutex<VecDeque<Ended>>,
    latency: Mutex<Latency>,
}

#[derive(Default)]
struct Places {
    all: Vec<Arc<Slot>>,
    free: Vec<Arc<Slot>>,
}

/// A statement that has ended.
#[derive(Clone, Default)]
struct Ended {
    facts: Facts,
    took: Duration,
    outcome: &'static str,
    code: String,
}

/// The beginning of a call that may run statements.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// The caller.
    pub caller: CallerName<'a>,
    /// The way in: `http`, `stdio` or `rest`.
    pub via: &'static str,
    /// The tool, or the path of the request.
    pub tool: &'a str,
}

/// The end of a call.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    /// The word of the audit trail for it.
    pub outcome: &'static str,
    /// The SQLSTATE or another code of the error.
    pub code: Option<&'a str>,
    /// Rows of the result, if they are known better than from what was counted.
    pub rows: Option<u64>,
    /// Bytes of the result.
    pub bytes: u64,
}

/// A call that is followed, until it ends. One that is dropped was cancelled.
#[must_use]
pub struct FollowedCall {
    activity: Activity,
    /// Is `None` after the end.
    slot: Option<Arc<Slot>>,
    id: u64,
}

// === impl Activity ===

impl Activity {
    /// Makes a list, with the texts of statements or without.
    #[must_use]
    pub fn new(has_statements: bool) -> Self {
        let mut finished = VecDeque::new();
        finished.reserve_exact(MAX_FINISHED);
        let began = Instant::now();
        Self(Arc::new(Shared {
            began,
            has_statements,
            calls: AtomicU64::new(0),
            key: RandomState::new().hash_one(0),
            places: Mutex::default(),
            finished: Mutex::new(finished),
            latency: Mutex::new(Latency::new(began)),
        }))
    }

    /// Follows a call, which is listed once it has a statement; `None` if too many are followed.
    #[must_use]
    pub fn begin(&self, begin: &Begin<'_>) -> Option<FollowedCall> {
        let slot = lock(&self.0.places).take()?;
        let id = self.next_id();
        slot.begin(id, |facts| {
            facts.kind = begin.caller.kind;
            facts.name.push_str(begin.caller.name);
            facts.via = begin.via;
            facts.tool.push_str(begin.tool);
        });
        Some(FollowedCall {
            activity: self.clone(),
            slot: Some(slot),
            id,
        })
    }

    fn next_id(&self) -> u64 {
        loop {
            let number = self.0.calls.fetch_add(1, Ordering::Relaxed);
            let id = number.wrapping_mul(SPREAD) ^ self.0.key;
            // That of no call.
            if id != 0 {
                return id;
            }
        }
    }

    /// Cancels the statement of a call for a caller, or for an administrator. Returns false if there
    /// is none that this caller may cancel.
    pub(crate) fn cancel(&self, id: &str, caller: CallerName<'_>, is_admin: bool) -> bool {
        let Some(id) = parsed_id(id) else {
            return false;
        };
        let by = |facts: &Facts| {
            if caller.owns(facts) {
                Some(CancelledBy::Caller)
            } else {
                is_admin.then_some(CancelledBy::Administrator)
            }
        };
        let places = lock(&self.0.places).all.clone();
        places.iter().any(|slot| slot.cancel(id, by))
    }

    /// Returns the statements that run, the oldest first: those of a caller, or all.
    pub(crate) fn running(&self, caller: Option<CallerName<'_>>) -> Vec<Running> {
        let places = lock(&self.0.places).all.clone();
        // Copied under the lock of the call, and written without it.
        let listed = places.iter().filter_map(|slot| {
            slot.listed(|Entry { facts, state, .. }| {
                let is_shown = caller.is_none_or(|caller| caller.owns(facts));
                is_shown.then(|| (facts.clone(), *state))
            })
        });
        let listed = listed.flatten();
        let running = listed.map(|(facts, state)| Running::new(facts, state));
        let mut running: Vec<_> = running.collect();
        running.sort_by(|one, other| one.order().cmp(&other.order()));
        running
    }

    /// Returns the last statements that have ended, the latest first: those of a caller, or all.
    pub(crate) fn finished(&self, caller: Option<CallerName<'_>>) -> Vec<Finished> {
        let own: Vec<Ended> = {
            let finished = lock(&self.0.finished);
            let is_own = |ended: &&Ended| caller.is_none_or(|caller| caller.owns(&ended.facts));
            finished.iter().rev().filter(is_own).cloned().collect()
        };
        let finished = own.into_iter();
        finished
            .map(|ended| Finished::new(ended.facts, ended.took, ended.outcome, ended.code))
            .collect()
    }

    /// Returns the times of statements by tool: of all, or of the last ones of a caller, who may not
    /// know the tools of others.
    pub(crate) fn latency(&self, caller: Option<CallerName<'_>>) -> Vec<ToolLatency> {
        let now = Instant::now();
        let Some(caller) = caller else {
            return lock(&self.0.latency).shown(now);
        };
        let mut latency = Latency::new(self.0.began);
        for ended in &*lock(&self.0.finished) {
            if caller.owns(&ended.facts) {
                let at = ended.facts.began + ended.took;
                latency.add(&ended.facts.tool, ended.took, ended.is_error(), at);
            }
        }
        latency.shown(now)
    }

    /// Returns the number of statements that wait in a database.
    #[must_use]
    pub fn waiting(&self, database: &str) -> u64 {
        let places = lock(&self.0.places).all.clone();
        let waits = places.iter().filter(|slot| {
            let waits = slot
                .listed(|entry| entry.state == State::Waiting && entry.facts.database == database);
            waits.unwrap_or_default()
        });
        waits.count() as u64
    }

    fn end(&self, slot: Arc<Slot>, id: u64, end: &End<'_>) {
        if end.outcome != ASKED && slot.listed(|entry| entry.facts.id) == Some(id) {
            self.keep(&slot, id, end);
        } else {
            slot.with(id, Entry::clear);
        }
        lock(&self.0.places).free.push(slot);
    }

    /// Moves the statement of a call to those that have ended.
    fn keep(&self, slot: &Slot, id: u64, end: &End<'_>) {
        let now = Instant::now();
        let mut finished = lock(&self.0.finished);
        let is_full = finished.len() >= MAX_FINISHED;
        // The call that gets the place next uses the texts of the oldest one again.
        let oldest = is_full.then(|| finished.pop_front()).flatten();
        let mut ended = oldest.unwrap_or_default();
        slot.with(id, |entry| entry.end(&mut ended.facts));
        ended.took = now.saturating_duration_since(ended.facts.began);
        ended.facts.rows = end.rows.unwrap_or(ended.facts.rows);
        ended.facts.bytes = ended.facts.bytes.max(end.bytes);
        ended.outcome = end.outcome;
        ended.code.clear();
        ended.code.push_str(end.code.unwrap_or_default());
        let mut latency = lock(&self.0.latency);
        latency.add(&ended.facts.tool, ended.took, ended.is_error(), now);
        drop(latency);
        finished.push_back(ended);
    }
}

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Statements do not belong in a log.
        f.debug_struct("Activity").finish_non_exhaustive()
    }
}

// === impl Ended ===

impl Ended {
    fn is_error(&self) -> bool {
        !FINE.contains(&self.outcome)
    }
}

// === impl Places ===

impl Places {
    /// Takes a free place, or makes one.
    fn take(&mut self) -> Option<Arc<Slot>> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        (self.all.len() < MAX_CALLS).then(|| {
            let slot = Arc::<Slot>::default();
            self.all.push(Arc::clone(&slot));
            slot
        })
    }
}

// === impl FollowedCall ===

impl FollowedCall {
    /// Returns the entry, for the parts that run the statement.
    #[must_use]
    pub fn entry(&self) -> CallEntry {
        let has_statements = self.activity.0.has_statements;
        let slot = self.slot.as_ref();
        slot.map_or_else(CallEntry::default, |slot| {
            CallEntry::new(slot, self.id, has_statements)
        })
    }

    /// Returns who has cancelled the statement; the task that polled last is woken by it.
    pub fn poll_cancelled(&self, cx: &Context<'_>) -> Poll<CancelledBy> {
        let slot = self.slot.as_ref();
        let polled = slot.and_then(|slot| slot.with(self.id, |entry| entry.poll_cancelled(cx)));
        polled.unwrap_or(Poll::Pending)
    }

    /// Ends the call.
    pub fn end(mut self, end: &End<'_>) {
        if let Some(slot) = self.slot.take() {
            self.activity.end(slot, self.id, end);
        }
    }
}

impl Drop for FollowedCall {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            let end = End {
                outcome: CANCELLED,
                code: None,
                rows: None,
                bytes: 0,
            };
            self.activity.end(slot, self.id, &end);
        }
    }
}

impl fmt::Debug for FollowedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedCall").finish_non_exhaustive()
    }
}

/// Reads an id as it is shown.
fn parsed_id(id: &str) -> Option<u64> {
    let parsed = u64::from_str_radix(id, 16).ok()?;
    (shown_id(parsed) == id).then_some(parsed)
}
