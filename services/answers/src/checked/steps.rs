//! The steps of a write that is approved by what it changes.
//!
//! 1. [`preview`](CheckedSteps::preview): the statement runs and is rolled back, which is recorded as
//!    `preview`. The answer has the mark of the changes, in a seal.
//! 2. [`commit`](CheckedSteps::commit): it runs again. With another mark it is rolled back, which is
//!    recorded as `mismatch`. With the same one the seal is used up and the changes are committed, which
//!    is recorded as `committed`, or as `unknown` if the connection was lost.

use serde_json::json;
use ziggurat_calls::{Call, ErrorReason, activity::CancelledBy};
use ziggurat_changes::{Decision, Outcome, Pending, Ran, Reason, Rules, Seen, Shown, preview, run};
use ziggurat_databases::Current;
use ziggurat_mcp::{RecordUnreachable, Seal, Sealer};
use ziggurat_postgres::{error::QueryError, rows::Rows, statement::Statement};

/// Number of digits of the mark of a digest that are shown.
const SHOWN_DIGITS: usize = 12;

/// A write of a call, in a database with previews.
#[derive(Debug)]
pub struct CheckedSteps<'a> {
    /// The call.
    pub call: &'a Call,
    /// The database.
    pub current: &'a Current,
    /// The statement.
    pub statement: &'a Statement,
    /// Its text as the caller has sent it, and a text that differs for other values.
    pub text: [&'a str; 2],
    /// Seals for the caller, and the action that they are for.
    pub sealer: (Sealer<'a>, &'static str),
    /// True if nothing else ends a run of a call that is cancelled.
    pub ends_if_cancelled: bool,
}

/// Outcome of a step that commits nothing.
#[derive(Debug)]
pub enum Uncommitted {
    /// These changes can be approved.
    Shown(Preview),
    /// It cannot be shown what the statement would change.
    Unseen(Reason),
    /// The statement failed.
    Failed(QueryError),
    /// The call was cancelled.
    Cancelled(CancelledBy),
    /// It is not known whether the approval was used before.
    UnknownUse(RecordUnreachable),
    /// The connection was lost at the commit. Nothing was changed, or it is not known what became of this
    /// transaction.
    Lost(Option<u64>),
}

/// Rows that a statement would change.
#[derive(Debug)]
pub struct Preview {
    /// The changed rows.
    pub seen: Box<Seen>,
    /// Mark of their digest, which tells nothing of masked values.
    pub mark: String,
    /// The approval that came before.
    pub before: Before,
}

/// Approval that came before a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// No approval.
    Nothing,
    /// An approval of other changes.
    Changed,
    /// An approval of these changes, which was used before.
    UsedUp,
}

// === impl CheckedSteps ===

impl CheckedSteps<'_> {
    /// Runs the statement, rolls it back, and shows what it would change.
    pub async fn preview(&self) -> Uncommitted {
        match self.outcome().await {
            Ok(Outcome::Seen(seen)) => self.show(seen, Before::Nothing),
            Ok(Outcome::Unseen(reason)) => Uncommitted::Unseen(reason),
            Err(error) => error,
        }
    }

    /// Runs the statement again, and commits its changes if they have the mark that was approved and the
    /// approval was not used before. Returns the rows of the statement, and the changes.
    ///
    /// # Errors
    /// Fails if nothing is committed, or that is not known.
    pub async fn commit(
        &self,
        approved: &str,
        use_up: impl Future<Output = Result<bool, RecordUnreachable>>,
    ) -> Result<(Rows, Seen), Uncommitted> {
        let rules = self.rules();
        let ran = run(self.current.pool(), self.statement, &rules);
        let pending = match self.running(ran).await? {
            Ran::Pending(pending) => pending,
            Ran::Unseen(reason) => return Err(Uncommitted::Unseen(reason)),
        };
        let mark = self.mark(pending.seen());
        if mark != approved {
            return Err(self.roll_back(pending, Before::Changed).await?);
        }
        match use_up.await {
            Ok(true) => {}
            Ok(false) => return Err(self.roll_back(pending, Before::UsedUp).await?),
            Err(error) => {
                pending.roll_back().await?;
                return Err(Uncommitted::UnknownUse(error));
            }
        }
        let seen = pending.seen().clone();
        let begins = |transaction| self.record("unknown", &mark, &seen, Some(transaction));
        let decision = pending.commit(&begins).await;
        if !matches!(decision, Ok(Decision::Unknown(_))) {
            self.record_nothing();
        }
        match decision? {
            Decision::Committed(done) => {
                self.record("committed", &mark, &done.seen, Some(done.transaction));
                let change = (done.transaction, shown(&mark));
                let rows = done.rows.read(self.statement, self.current.pool(), change);
                Ok((rows.await, done.seen))
            }
            Decision::Different(pending) => Err(self.roll_back(pending, Before::Changed).await?),
            Decision::Undone => Err(Uncommitted::Lost(None)),
            Decision::Unknown(transaction) => {
                self.call.set_reason(ErrorReason::Unknown);
                Err(Uncommitted::Lost(Some(transaction)))
            }
        }
    }

    /// Runs the statement once more, and returns the columns with other values in each run, if they are
    /// all that differs from a preview.
    pub async fn unstable(&self, preview: &Preview) -> Vec<String> {
        match self.outcome().await {
            Ok(Outcome::Seen(other)) => preview.seen.unstable(&other),
            _ => Vec::new(),
        }
    }

    /// Seals a state for the same write of the same caller, with the same role and settings in the
    /// database.
    #[must_use]
    pub fn seal(&self, state: &str) -> String {
        let (sealer, action) = &self.sealer;
        sealer.seal(action, self.facts().as_bytes(), state)
    }

    /// Opens a seal for this write.
    #[must_use]
    pub fn open(&self, seal: &str) -> Option<Seal> {
        let (sealer, action) = &self.sealer;
        sealer.open(seal, action, self.facts().as_bytes())
    }

    /// Returns the database, the caller's role and settings there, the statement and its values.
    #[must_use]
    pub fn facts(&self) -> String {
        let acting = self.current.database().acts();
        let identity = acting.map_or("", |acting| acting.mark());
        let [text, values] = self.text;
        json!([self.current.label(), identity, text, values]).to_string()
    }

    fn rules(&self) -> Rules {
        (&self.current.database().settings().preview).into()
    }

    fn mark(&self, seen: &Seen) -> String {
        self.sealer.0.mark(&seen.digest.0)
    }

    async fn outcome(&self) -> Result<Outcome, Uncommitted> {
        let rules = self.rules();
        let outcome = preview(self.current.pool(), self.statement, &rules);
        self.running(outcome).await
    }

    async fn running<T>(
        &self,
        run: impl Future<Output = Result<T, QueryError>>,
    ) -> Result<T, Uncommitted> {
        self.call.runs();
        if !self.ends_if_cancelled {
            return Ok(run.await?);
        }
        let ran = self.call.or_cancelled(run).await;
        Ok(ran.map_err(Uncommitted::Cancelled)??)
    }

    async fn roll_back(&self, it: Pending<'_>, before: Before) -> Result<Uncommitted, QueryError> {
        Ok(self.show(it.roll_back().await?, before))
    }

    fn show(&self, seen: Box<Seen>, before: Before) -> Uncommitted {
        let mark = self.mark(&seen);
        let step = match before {
            Before::Changed => "mismatch",
            Before::Nothing | Before::UsedUp => "preview",
        };
        self.record(step, &mark, &seen, None);
        Uncommitted::Shown(Preview { seen, mark, before })
    }

    fn record(&self, step: &str, mark: &str, seen: &Seen, transaction: Option<u64>) {
        if let Some(record) = self.call.record() {
            record.write(&seen.recorded(step, shown(mark), transaction));
        }
    }

    fn record_nothing(&self) {
        if let Some(record) = self.call.record() {
            record.write("");
        }
    }
}

// === impl Preview ===

impl Preview {
    /// Returns the changed rows as an object, and counts them for the limits of the caller.
    #[must_use]
    pub fn object(&self, call: &Call) -> Shown<'_> {
        let object = self.seen.shown(shown(&self.mark));
        call.count(object.changes() as u64, 0);
        object
    }
}

// === impl Uncommitted ===

impl From<QueryError> for Uncommitted {
    fn from(error: QueryError) -> Self {
        Self::Failed(error)
    }
}

/// Returns the sentence about a connection that was lost at the commit.
#[must_use]
pub fn lost(transaction: Option<u64>) -> String {
    let Some(id) = transaction else {
        return "The change was not committed.".to_owned();
    };
    format!("It is not known whether the change was committed: transaction {id}.")
}

/// Returns the digits of a mark that are shown.
fn shown(mark: &str) -> &str {
    mark.get(..SHOWN_DIGITS).unwrap_or(mark)
}
