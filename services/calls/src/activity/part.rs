//! A part of the list of statements.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use ziggurat_runtime::lock;

use crate::{
    Caller,
    activity::{
        End,
        latency::Latency,
        list::PARTS,
        slot::{Entry, Facts, Slot, State},
    },
};

/// Maximum number of calls that a part follows at a time. If all parts are full, further calls run,
/// but are not listed.
const MAX_CALLS: usize = 10_000 / PARTS;

/// Number of statements that are kept after their end.
pub(crate) const MAX_FINISHED: usize = 200;

/// Outcome of a call that asked its user whether to run the statement.
const ASKED: &str = "asked";

/// Outcome of a call that was dropped.
pub(crate) const CANCELLED: &str = "cancelled";

/// Outcomes that are no errors.
const FINE: [&str; 2] = ["ok", CANCELLED];

/// Statements of the calls that some of the threads have begun. Threads with parts of their own do
/// not wait for each other.
// Processors take memory from each other in pieces of this size.
#[repr(align(128))]
pub(crate) struct Part {
    number: usize,
    /// True if statements are shown.
    pub(crate) has_statements: bool,
    contents: Mutex<Contents>,
}

struct Contents {
    calls: usize,
    slots: Vec<Arc<Slot>>,
    free: Vec<Arc<Slot>>,
    finished: VecDeque<Ended>,
    latency: Latency,
}

/// A statement that has ended.
#[derive(Clone, Default)]
pub(crate) struct Ended {
    pub(crate) facts: Facts,
    pub(crate) took: Duration,
    pub(crate) outcome: &'static str,
    pub(crate) code: String,
}

// === impl Part ===

impl Part {
    pub(crate) fn new(number: usize, has_statements: bool, began: Instant) -> Self {
        Self {
            number,
            has_statements,
            contents: Mutex::new(Contents {
                calls: 0,
                slots: Vec::new(),
                free: Vec::new(),
                finished: VecDeque::new(),
                latency: Latency::new(began),
            }),
        }
    }

    /// Returns a place for a call, and a number that no other call has, in no part; `None` if too many
    /// calls are followed.
    pub(crate) fn take(&self) -> Option<(u64, Arc<Slot>)> {
        let mut contents = lock(&self.contents);
        let slot = contents.free.pop().or_else(|| contents.add_slot())?;
        contents.calls += 1;
        let number = contents.calls * PARTS + self.number;
        Some((u64::try_from(number).unwrap_or(u64::MAX), slot))
    }

    /// Returns all places.
    pub(crate) fn slots(&self) -> Vec<Arc<Slot>> {
        lock(&self.contents).slots.clone()
    }

    /// Returns the last statements that have ended, the latest last, of one caller or of all.
    pub(crate) fn finished(&self, caller: Option<Caller<'_>>) -> Vec<Ended> {
        let contents = lock(&self.contents);
        let is_own = |ended: &&Ended| caller.is_none_or(|caller| ended.facts.is_of(&caller));
        contents.finished.iter().filter(is_own).cloned().collect()
    }

    /// Adds the times of all statements to others.
    pub(crate) fn add_times(&self, others: &mut Latency) {
        others.join(&lock(&self.contents).latency);
    }

    /// Ends a call and frees its place. Its statement is kept, if it had one.
    pub(crate) fn end(&self, slot: Arc<Slot>, id: u64, end: &End<'_>) {
        let mut contents = lock(&self.contents);
        slot.with(id, |entry| {
            if end.outcome == ASKED || entry.state == State::Unlisted {
                entry.clear();
            } else {
                contents.keep(entry, end);
            }
        });
        contents.free.push(slot);
    }
}

// === impl Contents ===

impl Contents {
    fn add_slot(&mut self) -> Option<Arc<Slot>> {
        (self.slots.len() < MAX_CALLS).then(|| {
            let slot = Arc::<Slot>::default();
            self.slots.push(Arc::clone(&slot));
            slot
        })
    }

    /// Moves the statement of a call to those that have ended.
    fn keep(&mut self, entry: &mut Entry, end: &End<'_>) {
        let now = Instant::now();
        let is_full = self.finished.len() >= MAX_FINISHED;
        // The call that gets the place next uses the texts of the oldest one again.
        let oldest = is_full.then(|| self.finished.pop_front()).flatten();
        let mut ended = oldest.unwrap_or_default();
        entry.end(&mut ended.facts);
        ended.took = now.saturating_duration_since(ended.facts.began);
        ended.facts.rows = end.rows.unwrap_or(ended.facts.rows);
        ended.facts.bytes = ended.facts.bytes.max(end.bytes);
        ended.outcome = end.outcome;
        ended.code.clear();
        ended.code.push_str(end.code.unwrap_or_default());
        self.latency
            .add(&ended.facts.tool, ended.took, ended.is_error(), now);
        self.finished.push_back(ended);
    }
}

// === impl Ended ===

impl Ended {
    pub(crate) fn is_error(&self) -> bool {
        !FINE.contains(&self.outcome)
    }

    /// Returns the time of the end.
    pub(crate) fn at(&self) -> Instant {
        self.facts.began + self.took
    }
}
