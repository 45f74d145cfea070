//! Statements of all callers.

use std::{
    array,
    cmp::Reverse,
    fmt,
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use ziggurat_telemetry::thread_number;

use crate::{
    Caller,
    activity::{
        CallEntry,
        latency::{Latency, ToolLatency},
        part::{CANCELLED, Ended, MAX_FINISHED, Part},
        shown::{Finished, RunningStatement, TextView},
        slot::{CancelledBy, Entry, Facts, Slot, State, shown_id},
    },
};

/// Number of parts of the list.
pub(crate) const PARTS: usize = 4;

/// Spreads the numbers of calls over all ids; it is odd, so that no two have the same.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The statements of all callers: those that run, the last that have ended, and their times. Clones
/// share them.
#[derive(Clone)]
pub struct Activity(Arc<Shared>);

struct Shared {
    began: Instant,
    key: u64,
    /// Literals of others' texts are not shown.
    hides_literals: AtomicBool,
    parts: [Arc<Part>; PARTS],
}

/// The reader of the list.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) caller: Caller<'a>,
    /// It reads about all callers.
    pub(crate) reads_all: bool,
    /// It may see the texts of the operator.
    pub(crate) has_texts: bool,
}

/// The beginning of a call that may run statements.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
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
    /// Rows of the result, if they are known better than by counting.
    pub rows: Option<u64>,
    /// Bytes of the result.
    pub bytes: u64,
}

/// A call that is followed, until it ends. One that is dropped was cancelled.
#[must_use]
pub struct FollowedCall {
    part: Arc<Part>,
    /// Is `None` after the end.
    slot: Option<Arc<Slot>>,
    id: u64,
}

// === impl Activity ===

impl Activity {
    /// Makes a list, with the texts of statements or without.
    #[must_use]
    pub fn new(has_statements: bool) -> Self {
        let began = Instant::now();
        Self(Arc::new(Shared {
            began,
            key: RandomState::new().hash_one(0),
            hides_literals: AtomicBool::new(false),
            parts: array::from_fn(|number| Arc::new(Part::new(number, has_statements, began))),
        }))
    }

    /// Shows the texts of other callers with `?` for literals, which may be values under a mask, or as
    /// they were sent. This holds at once, also for statements that have begun or ended.
    pub fn hide_literals(&self, hides: bool) {
        self.0.hides_literals.store(hides, Ordering::Relaxed);
    }

    /// Follows a call, which is listed once it has a statement; `None` if too many are followed.
    #[must_use]
    pub fn begin(&self, caller: &Caller<'_>, begin: &Begin<'_>) -> Option<FollowedCall> {
        let Shared { key, parts, .. } = &*self.0;
        let own = thread_number() % PARTS;
        let mut parts = parts.iter().cycle().skip(own).take(PARTS);
        let (part, number, slot) = parts.find_map(|part| {
            let (number, slot) = part.take()?;
            Some((part, number, slot))
        })?;
        // No call has the id 0.
        let id = (number.wrapping_mul(SPREAD) ^ key).max(1);
        slot.begin(id, |facts| {
            facts.kind = caller.kind;
            facts.name.push_str(caller.name);
            facts.account.push_str(caller.account);
            facts.via = begin.via;
            facts.tool.push_str(begin.tool);
        });
        Some(FollowedCall {
            part: Arc::clone(part),
            slot: Some(slot),
            id,
        })
    }

    /// Returns all places.
    fn slots(&self) -> Vec<Arc<Slot>> {
        self.0.parts.iter().flat_map(|part| part.slots()).collect()
    }

    /// Cancels the statement of a call for a caller, or for an administrator. Returns false if this
    /// caller may not cancel it, or if it does not exist.
    pub(crate) fn cancel(&self, id: &str, caller: Caller<'_>, is_admin: bool) -> bool {
        let Some(id) = parsed_id(id) else {
            return false;
        };
        let by = |facts: &Facts| {
            if facts.is_of(&caller) {
                Some(CancelledBy::Caller)
            } else {
                is_admin.then_some(CancelledBy::Administrator)
            }
        };
        self.slots().iter().any(|slot| slot.cancel(id, by))
    }

    /// Returns the statements that run, the oldest first: the statements of a reader, or all.
    pub(crate) fn running(&self, reader: Reader<'_>) -> Vec<RunningStatement> {
        let slots = self.slots();
        // Copied under the lock of the call, and written without it.
        let listed = slots.iter().filter_map(|slot| {
            slot.listed(|Entry { facts, state, .. }| {
                let is_shown = reader.reads_all || facts.is_of(&reader.caller);
                is_shown.then(|| (facts.clone(), *state))
            })
        });
        let listed = listed.flatten();
        let running = listed.map(|(facts, state)| {
            let view = self.view(&facts, reader);
            RunningStatement::new(facts, state, view)
        });
        let mut running: Vec<_> = running.collect();
        running.sort_by(|one, other| one.order().cmp(&other.order()));
        running
    }

    /// Returns the last statements that have ended, the latest first, of a reader or of all.
    pub(crate) fn finished(&self, reader: Reader<'_>) -> Vec<Finished> {
        let mut finished = self.ended(reader.own());
        finished.sort_by_key(|ended| Reverse(ended.at()));
        finished.truncate(MAX_FINISHED);
        let finished = finished.into_iter();
        let shown = finished.map(|ended| {
            let view = self.view(&ended.facts, reader);
            Finished::new(ended, view)
        });
        shown.collect()
    }

    /// Returns how a reader sees the text of a statement.
    fn view(&self, facts: &Facts, reader: Reader<'_>) -> TextView {
        if facts.is_of_operator && !reader.has_texts {
            TextView::Tool
        } else if self.0.hides_literals.load(Ordering::Relaxed) && !facts.is_of(&reader.caller) {
            TextView::Normalized
        } else {
            TextView::Whole
        }
    }

    fn ended(&self, caller: Option<Caller<'_>>) -> Vec<Ended> {
        let parts = self.0.parts.iter();
        parts.flat_map(|part| part.finished(caller)).collect()
    }

    /// Returns the times of statements by tool: of all, or of the last ones of a caller, who may not
    /// know the tools of others.
    pub(crate) fn latency(&self, caller: Option<Caller<'_>>) -> Vec<ToolLatency> {
        let mut latency = Latency::new(self.0.began);
        if caller.is_none() {
            for part in &self.0.parts {
                part.add_times(&mut latency);
            }
        } else {
            let mut ended = self.ended(caller);
            ended.sort_by_key(Ended::at);
            for ended in ended {
                let at = ended.at();
                latency.add(&ended.facts.tool, ended.took, ended.is_error(), at);
            }
        }
        latency.shown(Instant::now())
    }

    /// Returns the number of statements that wait in a database.
    #[must_use]
    pub fn waiting(&self, database: &str) -> u64 {
        let slots = self.slots();
        let waits = slots.iter().filter(|slot| {
            let waits = slot
                .listed(|entry| entry.state == State::Waiting && entry.facts.database == database);
            waits.unwrap_or_default()
        });
        waits.count() as u64
    }
}

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Statements do not belong in a log.
        f.debug_struct("Activity").finish_non_exhaustive()
    }
}

// === impl Reader ===

impl<'a> Reader<'a> {
    /// Returns the caller that it reads about, if it is only one.
    pub(crate) fn own(self) -> Option<Caller<'a>> {
        (!self.reads_all).then_some(self.caller)
    }
}

// === impl FollowedCall ===

impl FollowedCall {
    /// Returns the entry, for the parts that run the statement.
    #[must_use]
    pub fn entry(&self) -> CallEntry {
        let slot = self.slot.as_ref();
        slot.map_or_else(CallEntry::default, |slot| {
            CallEntry::new(slot, self.id, self.part.has_statements)
        })
    }

    /// Ends the call.
    pub fn end(mut self, end: &End<'_>) {
        if let Some(slot) = self.slot.take() {
            self.part.end(slot, self.id, end);
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
            self.part.end(slot, self.id, &end);
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
