//! Calls in progress.

use std::{
    fmt,
    future::poll_fn,
    mem,
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
    task::{Context, Poll, Waker},
    time::Duration,
};

use thiserror::Error;
use tokio::{task::yield_now, time::timeout};
use ziggurat_runtime::lock;

use crate::{
    Audit, CallEnd, StatementForm, StatementPlace, Verdict,
    draft::{Draft, Field},
    settings::CallSettings,
};

/// Time for which a call waits for its `open` line.
const PATIENCE: Duration = Duration::from_secs(5);

/// A call in progress; its record is written when it ends.
///
/// Clones share the record, so that a tool can add to it what the dispatcher does not know. Without
/// an [`end`](Self::end), the call counts as cancelled when the last clone is dropped.
#[derive(Clone)]
pub struct Record(Arc<Shared>);

/// The record of a call cannot be written, so the call must not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("audit is unavailable")]
pub struct Unavailable;

/// State that the clones of a [`Record`] and the writer share.
pub(crate) struct Shared {
    audit: Audit,
    settings: CallSettings,
    progress: Mutex<Progress>,
}

struct Progress {
    /// Is `None` after the record went to the writer.
    record: Option<Box<Draft>>,
    opening: Opening,
    wakers: Vec<Waker>,
}

/// Writes the `open` lines of all calls that wait when it is dropped, also if the call that waits for
/// the others is cancelled.
struct WriteOpens<'a>(&'a Audit);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    NotAsked,
    Waiting,
    Written,
    Failed,
}

// === impl Record ===

impl Record {
    pub(crate) fn new(audit: Audit, settings: CallSettings, record: Box<Draft>) -> Self {
        let progress = Progress {
            record: Some(record),
            opening: Opening::NotAsked,
            wakers: Vec::new(),
        };
        Self(Arc::new(Shared {
            audit,
            settings,
            progress: Mutex::new(progress),
        }))
    }

    /// Returns whether the call may not run without a record.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.0.settings.is_required
    }

    /// Returns whether arguments are recorded, so that others need not be prepared.
    #[must_use]
    pub fn has_arguments(&self) -> bool {
        self.0.settings.has_arguments
    }

    /// Waits until the trail says that this call is about to run, if that is required.
    ///
    /// Record it before a statement, a provider or a file is touched, when the database and the
    /// statement are known. If records are not required it returns at once.
    ///
    /// # Errors
    /// Fails if the line cannot be written within five seconds. The call must not run then. The trail
    /// counts it among the missed ones, or has its record if it can be written later.
    pub async fn open(&self) -> Result<(), Unavailable> {
        if !self.is_required() {
            return Ok(());
        }
        self.ask();
        if !self.0.settings.is_slow {
            // Waking the writer would cost several times as much as this short write.
            let write = WriteOpens(&self.0.audit);
            // Calls that begin at the same time add their lines, and one of them writes all.
            yield_now().await;
            drop(write);
        }
        let opened = timeout(PATIENCE, poll_fn(|cx| self.0.poll_open(cx)));
        opened.await.unwrap_or_else(|_| {
            let queue = self.0.audit.queue();
            queue.is_unavailable.store(true, Relaxed);
            Err(Unavailable)
        })
    }

    /// Sets the database.
    pub fn database(&self, name: &str) {
        self.change(|record| record.set(Field::Database, name));
    }

    /// Sets the role under which the statement runs.
    pub fn role(&self, name: &str) {
        self.change(|record| record.set(Field::Role, name));
    }

    /// Keeps the link of the `open` line, for [`open_line`](Self::open_line).
    pub fn keep_open_line(&self) {
        self.change(|record| record.keeps_link = true);
    }

    /// Returns the number and the link of the `open` line, if it was written and is kept.
    #[must_use]
    pub fn open_line(&self) -> Option<(u64, String)> {
        let progress = lock(&self.0.progress);
        let record = progress.record.as_ref()?;
        let link = record.open_link.as_ref()?;
        Some((record.open?, link.as_str().to_owned()))
    }

    /// Sets the id and the digest of the receipt of the call.
    pub fn receipt(&self, id: &str, sha256: &str) {
        let members = format!(r#""receipt":{{"id":"{id}","sha256":"{sha256}"}}"#);
        self.change(|record| record.set_members(&members));
    }

    /// Sets the mark of the role and the settings under which the statement runs.
    pub fn identity(&self, mark: &str) {
        self.change(|record| record.set(Field::Identity, mark));
    }

    /// Marks a call that named something that exists and that its caller does not see.
    pub fn hidden(&self) {
        self.change(|record| record.is_hidden = true);
    }

    /// Sets the statement, which is recorded in the form of the settings.
    pub fn statement(&self, text: &str) {
        self.statement_in(text, StatementPlace::Whole);
    }

    /// Sets the statement at a place of a text, such as the arguments of a tool.
    ///
    /// It reads a short text only when the record is written, and not in the time of the call, unless
    /// the call may not run without a record.
    pub fn statement_in(&self, text: &str, place: StatementPlace) {
        self.set_statement(self.0.settings.statement, text, place);
    }

    /// Sets a question in plain words, of which at most the digest is recorded.
    pub fn question(&self, text: &str) {
        self.question_in(text, StatementPlace::Whole);
    }

    /// Sets the question in plain words at a place of a text, as for
    /// [`statement_in`](Self::statement_in).
    pub fn question_in(&self, text: &str, place: StatementPlace) {
        self.set_statement(self.0.settings.statement.of_question(), text, place);
    }

    /// Sets the arguments of a tool as JSON, if the settings ask for them.
    ///
    /// The caller replaces the values of sensitive and bound parameters before.
    pub fn arguments(&self, json: &str) {
        if self.has_arguments() {
            self.change(|record| record.set_arguments(json));
        }
    }

    /// Sets what a checked statement changes, as a JSON object.
    pub fn write(&self, json: &str) {
        self.change(|record| record.set_write(json));
    }

    /// Ends the call. Only the first end counts. If the queue is full, the record is missed.
    #[expect(single_use_lifetimes, reason = "a lifetime in `impl` needs a name")]
    pub fn end<'a>(&self, end: impl Into<CallEnd<'a>>) {
        let end = end.into();
        let ended = {
            let mut progress = lock(&self.0.progress);
            let is_first = progress.record.as_mut().is_some_and(|it| it.end(&end));
            // The writer takes the record itself once it has written the `open` line.
            if is_first && progress.opening != Opening::Waiting {
                progress.record.take()
            } else {
                None
            }
        };
        if let Some(record) = ended {
            self.0.audit.queue().push(record);
        }
    }

    /// Puts the `open` line into the queue, once.
    fn ask(&self) {
        {
            let mut progress = lock(&self.0.progress);
            let is_going_on = progress.record.as_ref().is_some_and(|it| !it.has_ended());
            if !is_going_on || progress.opening != Opening::NotAsked {
                return;
            }
            progress.opening = Opening::Waiting;
        }
        let (queue, call) = (self.0.audit.queue(), Arc::clone(&self.0));
        if !queue.push_open(call, self.0.settings.is_slow) {
            self.0.fail();
        }
    }

    fn set_statement(&self, form: StatementForm, text: &str, place: StatementPlace) {
        let is_required = self.is_required();
        self.change(|record| record.set_statement(form, text, place, is_required));
    }

    fn change(&self, change: impl FnOnce(&mut Draft)) {
        if let Some(record) = &mut lock(&self.0.progress).record
            && !record.has_ended()
        {
            change(record);
        }
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The record may hold a statement, which does not belong in a log.
        f.debug_struct("Record").finish_non_exhaustive()
    }
}

// === impl WriteOpens ===

impl Drop for WriteOpens<'_> {
    fn drop(&mut self) {
        self.0.write_opens();
    }
}

// === impl Shared ===

impl Shared {
    /// Lets the writer format the `open` line, unless the call has ended meanwhile.
    pub(crate) fn format_open(&self, format: impl FnOnce(&mut Draft) -> u64) -> Option<u64> {
        let mut progress = lock(&self.progress);
        let record = progress.record.as_mut().filter(|it| !it.has_ended())?;
        Some(format(record))
    }

    /// Notes that the `open` line was written, or that none is needed any more.
    ///
    /// Returns the record if the call has ended meanwhile: it is the writer's then.
    pub(crate) fn opened(self: Arc<Self>, seq: Option<u64>) -> Option<Box<Draft>> {
        let ended = {
            let mut progress = lock(&self.progress);
            if let Some(record) = &mut progress.record {
                record.open = seq;
            }
            progress.settle(Opening::Written);
            progress.record.take_if(|record| record.has_ended())
        };
        if ended.is_some() {
            return ended;
        }
        // Dropped here, the record of a cancelled call would go into the queue, for which the
        // writer must not wait.
        let mut last = Arc::into_inner(self)?;
        last.cancelled()
    }

    /// Notes that the `open` line cannot be written; the call has no record then.
    pub(crate) fn fail(&self) {
        let mut progress = lock(&self.progress);
        progress.record = None;
        progress.settle(Opening::Failed);
    }

    fn poll_open(&self, cx: &Context<'_>) -> Poll<Result<(), Unavailable>> {
        let mut progress = lock(&self.progress);
        match progress.opening {
            Opening::Written => Poll::Ready(Ok(())),
            Opening::Failed | Opening::NotAsked => Poll::Ready(Err(Unavailable)),
            Opening::Waiting => {
                let wakers = &mut progress.wakers;
                if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
                    wakers.push(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    fn cancelled(&mut self) -> Option<Box<Draft>> {
        let progress = self.progress.get_mut();
        let progress = progress.unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut record = progress.record.take()?;
        record.end(&Verdict::Cancelled.into());
        Some(record)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(record) = self.cancelled() {
            self.audit.queue().push(record);
        }
    }
}

// === impl Progress ===

impl Progress {
    fn settle(&mut self, opening: Opening) {
        self.opening = opening;
        for waker in mem::take(&mut self.wakers) {
            waker.wake();
        }
    }
}
