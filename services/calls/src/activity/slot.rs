//! Places for calls that may run statements.

use std::{
    fmt, mem,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::Instant,
};

use jiff::Timestamp;
use ziggurat_runtime::lock;

use crate::caller::{Caller, LOCAL};

/// Maximum length of a statement in the list, in bytes.
const MAX_STATEMENT: usize = 8 << 10;

/// Longest text that a free place keeps memory for, in bytes.
const MAX_KEPT: usize = 1 << 10;

/// Progress of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// The call has no statement, or none yet, and is not listed.
    #[default]
    Unlisted,
    /// It waits for a place among the statements of its caller, or for a connection.
    Waiting,
    /// PostgreSQL runs it.
    Running,
    /// Its rows are sent.
    Sending,
    /// It was cancelled, and has not ended yet.
    Cancelling,
}

/// Caller of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelledBy {
    /// The caller that runs it.
    Caller,
    /// An administrator.
    Administrator,
}

/// Facts about a call and its statement. The texts keep their memory for the next call.
#[derive(Clone)]
pub(crate) struct Facts {
    pub(crate) id: u64,
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) account: String,
    pub(crate) via: &'static str,
    pub(crate) tool: String,
    pub(crate) database: String,
    /// Empty if it is not shown.
    pub(crate) statement: String,
    /// True for a statement of the operator, of which only administrators see the text.
    pub(crate) is_of_operator: bool,
    pub(crate) started_at: Timestamp,
    pub(crate) began: Instant,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// Contents of a place.
#[derive(Default)]
pub(crate) struct Entry {
    pub(crate) facts: Facts,
    pub(crate) state: State,
    pub(crate) cancelled_by: Option<CancelledBy>,
    /// Wakes the task of the call.
    waker: Option<Waker>,
}

/// A place, which serves one call after the other.
#[derive(Default)]
pub(crate) struct Slot(Mutex<Entry>);

/// The entry of a call, for the parts that run its statement. After the end of the call it does
/// nothing, and by default it is of no call.
#[derive(Clone, Default)]
pub struct CallEntry(Option<Place>);

#[derive(Clone)]
struct Place {
    slot: Arc<Slot>,
    id: u64,
    has_statements: bool,
}

// === impl CancelledBy ===

impl CancelledBy {
    /// Returns the sentence for the caller of the statement.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::Caller => "The statement was cancelled by its caller, from the console.",
            Self::Administrator => {
                "The statement was cancelled by an administrator, from the console."
            }
        }
    }
}

// === impl Slot ===

impl Slot {
    /// Changes the entry of a call, unless the place has another one by now.
    pub(crate) fn with<T>(&self, id: u64, change: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        let mut entry = lock(&self.0);
        (entry.facts.id == id).then(|| change(&mut entry))
    }

    /// Reads the entry if it is listed.
    pub(crate) fn listed<T>(&self, read: impl FnOnce(&Entry) -> T) -> Option<T> {
        let entry = lock(&self.0);
        (entry.state != State::Unlisted).then(|| read(&entry))
    }

    /// Gives the place to a call.
    pub(crate) fn begin(&self, id: u64, begin: impl FnOnce(&mut Facts)) {
        let mut entry = lock(&self.0);
        entry.facts.id = id;
        begin(&mut entry.facts);
    }

    /// Cancels the statement, if `by` says for whom this is done. Returns whether it is listed and may
    /// be cancelled; the first cancellation counts.
    pub(crate) fn cancel(&self, id: u64, by: impl FnOnce(&Facts) -> Option<CancelledBy>) -> bool {
        let waker = self.with(id, |entry| {
            if entry.state == State::Unlisted {
                return None;
            }
            let by = by(&entry.facts)?;
            entry.cancelled_by.get_or_insert(by);
            entry.state = State::Cancelling;
            Some(entry.waker.take())
        });
        let Some(waker) = waker.flatten() else {
            return false;
        };
        // Not under the lock: the task may run at once.
        waker.into_iter().for_each(Waker::wake);
        true
    }
}

// === impl Entry ===

impl Entry {
    /// Exchanges the facts for spare ones, and frees the place.
    pub(crate) fn end(&mut self, spare: &mut Facts) {
        mem::swap(&mut self.facts, spare);
        self.clear();
    }

    /// Frees the place.
    pub(crate) fn clear(&mut self) {
        self.facts.clear();
        self.state = State::Unlisted;
        self.cancelled_by = None;
        self.waker = None;
    }

    pub(crate) fn poll_cancelled(&mut self, cx: &Context<'_>) -> Poll<CancelledBy> {
        if let Some(by) = self.cancelled_by {
            return Poll::Ready(by);
        }
        let is_known = |waker: &Waker| waker.will_wake(cx.waker());
        if !self.waker.as_ref().is_some_and(is_known) {
            self.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

// === impl Facts ===

impl Default for Facts {
    fn default() -> Self {
        Self {
            id: 0,
            kind: "",
            name: String::new(),
            account: String::new(),
            via: "",
            tool: String::new(),
            database: String::new(),
            statement: String::new(),
            is_of_operator: false,
            started_at: Timestamp::UNIX_EPOCH,
            began: Instant::now(),
            rows: 0,
            bytes: 0,
        }
    }
}

impl Facts {
    /// Returns whether a statement is of a caller.
    pub(crate) fn is_of(&self, caller: &Caller<'_>) -> bool {
        // The name of the caller without authentication may change in a reload.
        self.kind == caller.kind && (self.kind == LOCAL || self.account == caller.account)
    }

    /// Forgets the call, and the memory of a long statement.
    fn clear(&mut self) {
        self.id = 0;
        (self.rows, self.bytes) = (0, 0);
        self.is_of_operator = false;
        let texts = [
            &mut self.name,
            &mut self.account,
            &mut self.tool,
            &mut self.database,
            &mut self.statement,
        ];
        for text in texts {
            if text.capacity() > MAX_KEPT {
                *text = String::new();
            }
            text.clear();
        }
    }
}

// === impl CallEntry ===

impl CallEntry {
    pub(crate) fn new(slot: &Arc<Slot>, id: u64, has_statements: bool) -> Self {
        Self(Some(Place {
            slot: Arc::clone(slot),
            id,
            has_statements,
        }))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        let place = self.0.as_ref()?;
        place.slot.with(place.id, change)
    }

    /// Returns the id in the list, if the call is followed.
    #[must_use]
    pub fn id(&self) -> Option<String> {
        self.0.as_ref().map(|place| shown_id(place.id))
    }

    /// Shows the text to administrators only, because it is of the operator and not of the caller.
    pub(crate) fn conceal(&self) {
        self.change(|entry| entry.facts.is_of_operator = true);
    }

    /// Lists a statement that waits. A later one of the same call takes its line.
    pub fn wait(&self, database: &str, statement: &str) {
        let has_statements = self.0.as_ref().is_some_and(|it| it.has_statements);
        self.change(|Entry { facts, state, .. }| {
            match state {
                State::Unlisted => {
                    facts.began = Instant::now();
                    facts.started_at = Timestamp::now();
                }
                State::Cancelling => return,
                State::Waiting | State::Running | State::Sending => {}
            }
            *state = State::Waiting;
            replace(&mut facts.database, database);
            if has_statements {
                let end = statement.floor_char_boundary(MAX_STATEMENT);
                replace(&mut facts.statement, &statement[..end]);
            }
        });
    }

    /// Notes that the statement has a connection.
    pub fn run(&self) {
        self.change(|Entry { state, .. }| {
            if *state == State::Waiting {
                *state = State::Running;
            }
        });
    }

    /// Notes rows and bytes that are sent.
    pub fn count(&self, rows: u64, bytes: usize) {
        self.change(|Entry { facts, state, .. }| {
            if matches!(state, State::Waiting | State::Running) {
                *state = State::Sending;
            }
            facts.rows = facts.rows.saturating_add(rows);
            let bytes = bytes.try_into().unwrap_or(u64::MAX);
            facts.bytes = facts.bytes.saturating_add(bytes);
        });
    }

    /// Waits until the statement is cancelled; the task that polled last is woken.
    pub fn poll_cancelled(&self, cx: &Context<'_>) -> Poll<CancelledBy> {
        let polled = self.change(|entry| entry.poll_cancelled(cx));
        polled.unwrap_or(Poll::Pending)
    }
}

impl fmt::Debug for CallEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The entry may hold a statement, which does not belong in a log.
        f.debug_struct("CallEntry").finish_non_exhaustive()
    }
}

// === impl State ===

impl State {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unlisted => "unlisted",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Sending => "sending",
            Self::Cancelling => "cancelling",
        }
    }
}

/// Returns an id as it is shown.
pub(crate) fn shown_id(id: u64) -> String {
    format!("{id:016x}")
}

fn replace(text: &mut String, other: &str) {
    text.clear();
    text.push_str(other);
}
