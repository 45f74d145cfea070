//! Writes that are approved by what they change.
//!
//! The statement runs and is rolled back, a person or the client approves the rows that it would
//! change, and it runs again: it is committed only if it changes the same rows.

mod texts;

use serde_json::json;
use ziggurat_calls::{Call, ErrorReason};
use ziggurat_changes::{
    Committed, Decision, Outcome, Pending, Ran, Reason, Rules, Seen, preview, run,
};
use ziggurat_databases::Current;
use ziggurat_mcp::{Error, Reported, Seal, ToolRequest, ToolResult};
use ziggurat_postgres::{
    database::{Approval, Database, PreviewMode, PreviewSettings},
    error::QueryError,
    rows::Rows,
    statement::Statement,
};

use crate::{
    checked::texts::{Before, LOST, LOST_FATE, NOT_APPROVED, ROUNDS},
    confirm::{self, Confirmation, PREVIEW},
};

/// Action that a seal for a client is for.
const ACTION: &str = "approve";

/// Number of digits of the mark of a digest that are shown.
const SHOWN_DIGITS: usize = 12;

/// A write of a call, in a database with previews.
#[derive(Debug)]
pub struct CheckedWrite<'a> {
    /// The database.
    pub current: &'a Current,
    /// The call.
    pub request: &'a ToolRequest,
    /// The statement.
    pub statement: &'a Statement,
    /// The texts about it.
    pub texts: WriteTexts,
    /// Text that differs for other values, also for those that are no arguments of the call.
    pub values: String,
    /// The seal with which a client approves the change.
    pub approve: Option<&'a str>,
    /// Use of previews: of a tool that always asks it is [`PreviewMode::Require`].
    pub mode: PreviewMode,
}

/// Texts about a write.
#[derive(Debug)]
pub struct WriteTexts {
    /// The subject of the first line, such as `This statement`, or a tool by its title.
    pub subject: String,
    /// The text below the first line: the statement, or the values of the tool.
    pub content: String,
    /// The question without a preview.
    pub question: Confirmation,
}

/// A write after the checks.
#[derive(Debug)]
pub enum Checked {
    /// The call ends with this: a question, or a preview.
    Answer(ToolResult),
    /// The change is committed, and these are the rows of the statement.
    Committed(Rows),
    /// The statement may be run without a preview.
    Unchecked,
}

/// Reason why a write was not run.
#[derive(Debug)]
pub enum NotWritten {
    /// The statement failed.
    Failed(QueryError),
    /// The call fails with this.
    Refused(Error),
}

/// A preview that was approved.
struct Approved<'a> {
    mark: &'a str,
    round: u32,
    /// The seal of a client; without, the state of a question.
    seal: Option<Seal>,
}

/// A preview that is to be approved.
struct ToApprove<'a> {
    seen: &'a Seen,
    before: Before,
    round: u32,
}

/// Returns the use of previews for the writes of a call, if there are previews for it: a client that
/// cannot approve writes as without them, unless they are required.
#[must_use]
pub fn mode_for(request: &ToolRequest, current: &Current) -> Option<PreviewMode> {
    let mode = current.database().previews()?.mode;
    let is_required = mode == PreviewMode::Require;
    (is_required || confirm::can_ask(request) || wants_preview(request)).then_some(mode)
}

/// Returns whether a call asks for a preview alone.
#[must_use]
pub fn wants_preview(request: &ToolRequest) -> bool {
    request.is_negotiated() && request.asks_for(PREVIEW)
}

/// Refuses a call that asks for a preview alone in a database that allows writes and has no previews.
///
/// # Errors
/// Fails for such a call.
pub fn check_wish(request: &ToolRequest, database: &Database) -> Result<(), Error> {
    let could_write = database.allows_writes() && database.previews().is_none();
    if could_write && wants_preview(request) {
        let refused = "There is no preview: this database has no previews.";
        return Err(Error::said(refused));
    }
    Ok(())
}

/// Returns whether a client may approve changes in a database for itself.
#[must_use]
pub fn takes_approval(database: &Database) -> bool {
    let previews = database.previews();
    previews.is_some_and(|it| it.approval == Approval::Client)
}

/// Notes a step of a checked write for the record of a call.
pub fn record(call: &Call, step: &str, mark: &str, seen: &Seen, transaction: Option<u64>) {
    if let Some(record) = call.record() {
        record.write(&seen.recorded(step, shown(mark), transaction));
    }
}

/// Returns the digits of a mark that are shown.
#[must_use]
pub fn shown(mark: &str) -> &str {
    mark.get(..SHOWN_DIGITS).unwrap_or(mark)
}

impl CheckedWrite<'_> {
    /// Runs the write as far as it is approved.
    ///
    /// # Errors
    /// Fails if the statement does, and if it is not run because the client cannot approve it, or it would do
    /// something else each time.
    pub async fn run(&self) -> Result<Checked, NotWritten> {
        let rules = Rules::from(self.settings());
        if wants_preview(self.request) {
            return self.preview_alone(&rules).await;
        }
        let can_ask = confirm::can_ask(self.request);
        if !can_ask && !self.may_approve_itself() {
            return Err(refused(NOT_APPROVED));
        }
        let state = self.request.inputs().state();
        if state == Some(&self.unseen_state()) && self.mode == PreviewMode::Offer {
            return self.without_preview(None).await;
        }
        let given = state.and_then(|state| state.strip_prefix(&*self.state()));
        if let Some((mark, round)) = given.and_then(parse) {
            if self.is_confirmed()? {
                let seal = None;
                return self.run_again(Approved { mark, round, seal }, &rules).await;
            }
            return self.show(&rules, Before::Nothing, round).await;
        }
        if let Some(text) = self.approve.filter(|_| !can_ask) {
            let facts = self.facts();
            let sealer = self.request.sealer();
            let seal = sealer.open(text, ACTION, facts.as_bytes());
            let state = seal.as_ref().map(|seal| seal.state().to_owned());
            if let Some((mark, round)) = state.as_deref().and_then(parse) {
                return self.run_again(Approved { mark, round, seal }, &rules).await;
            }
        }
        self.show(&rules, Before::Nothing, 0).await
    }

    fn settings(&self) -> &PreviewSettings {
        &self.current.database().settings().preview
    }

    /// Returns whether the client may approve a change for itself.
    fn may_approve_itself(&self) -> bool {
        takes_approval(self.current.database()) && self.request.is_negotiated()
    }

    /// Returns the caller's role and settings in the database, the database and the values.
    fn facts(&self) -> String {
        let database = self.current.database();
        let identity = database.acts().map_or("", |acting| acting.mark());
        let text = self.statement.text();
        json!([self.current.label(), identity, &**text, self.values]).to_string()
    }

    /// Returns how the state of a question about a preview begins. The arguments of the call are
    /// signed with it.
    fn state(&self) -> String {
        let facts = self.request.sealer().mark(self.facts().as_bytes());
        format!("checked {facts}: ")
    }

    fn unseen_state(&self) -> String {
        let facts = self.request.sealer().mark(self.facts().as_bytes());
        format!("unchecked {facts}")
    }

    /// Returns whether the user has confirmed the change; false without an answer.
    fn is_confirmed(&self) -> Result<bool, NotWritten> {
        let subject = self.texts.question.subject;
        let confirmed = confirm::answer(self.request, subject);
        Ok(confirmed.map_err(refuse)?.unwrap_or_default())
    }

    /// Runs the statement for its preview, and ends the call with that.
    async fn preview_alone(&self, rules: &Rules) -> Result<Checked, NotWritten> {
        let seen = match self.preview(rules).await? {
            Outcome::Seen(seen) => seen,
            Outcome::Unseen(reason) => {
                return Err(refused(format!("There is no preview: {reason}.")));
            }
        };
        let mark = self.mark(&seen);
        record(self.call(), "preview", &mark, &seen, None);
        self.count(&seen);
        let text = self.texts.alone(&seen, self.current.label());
        Ok(Checked::Answer(ToolResult::text(text)))
    }

    async fn preview(&self, rules: &Rules) -> Result<Outcome, NotWritten> {
        self.call().runs();
        let seen = preview(self.current.pool(), self.statement, rules).await;
        seen.map_err(NotWritten::Failed)
    }

    /// Runs the statement for its preview, and asks for an approval.
    async fn show(&self, rules: &Rules, before: Before, round: u32) -> Result<Checked, NotWritten> {
        match self.preview(rules).await? {
            Outcome::Seen(seen) => {
                let mark = self.mark(&seen);
                record(self.call(), "preview", &mark, &seen, None);
                let seen = &*seen;
                let to_approve = ToApprove {
                    seen,
                    before,
                    round,
                };
                self.ask(&to_approve, &mark)
            }
            Outcome::Unseen(reason) => self.without_preview(Some(&reason)).await,
        }
    }

    /// Ends the call with the demand to approve a preview.
    fn ask(&self, to_approve: &ToApprove<'_>, mark: &str) -> Result<Checked, NotWritten> {
        let (seen, label) = (to_approve.seen, self.current.label());
        let text = self.texts.text(to_approve.before, seen, label);
        if !confirm::can_ask(self.request) {
            self.count(seen);
            let state = format!("{mark} {}", to_approve.round);
            let sealer = self.request.sealer();
            let seal = sealer.seal(ACTION, self.facts().as_bytes(), &state);
            self.call().set_reason(ErrorReason::Asked);
            return Err(refused(texts::for_client(&text, &seal)));
        }
        let structure = self
            .request
            .asks_for_structure()
            .then(|| seen.shown(shown(mark)));
        match &structure {
            Some(structure) => self.call().count(structure.changes() as u64, 0),
            None => self.count(seen),
        }
        let confirmation = Confirmation {
            state: format!("{}{mark} {}", self.state(), to_approve.round),
            message: texts::for_person(&text),
            subject: self.texts.question.subject,
            structure: structure.map(|preview| {
                let changed = matches!(to_approve.before, Before::Changed);
                json!({"preview": preview, "changed": changed})
            }),
        };
        let asked = confirmation.ask(self.request).map_err(refuse)?;
        Ok(Checked::Answer(asked))
    }

    /// Runs the statement again, and commits it if it changes the same rows.
    async fn run_again(
        &self,
        approved: Approved<'_>,
        rules: &Rules,
    ) -> Result<Checked, NotWritten> {
        self.call().runs();
        let ran = run(self.current.pool(), self.statement, rules).await;
        let pending = match ran.map_err(NotWritten::Failed)? {
            Ran::Pending(pending) => pending,
            Ran::Unseen(reason) => return self.without_preview(Some(&reason)).await,
        };
        let mark = self.mark(pending.seen());
        if mark == approved.mark {
            return match self.use_up(&approved).await {
                Ok(true) => self.commit(pending, &mark, approved.round).await,
                Ok(false) => {
                    let seen = pending.roll_back().await.map_err(NotWritten::Failed)?;
                    let before = Before::UsedUp(self.texts.question.subject);
                    self.ask_anew(&seen, before, approved.round, &mark)
                }
                Err(error) => {
                    pending.roll_back().await.map_err(NotWritten::Failed)?;
                    Err(NotWritten::Refused(error.into()))
                }
            };
        }
        let seen = pending.roll_back().await.map_err(NotWritten::Failed)?;
        record(self.call(), "mismatch", &mark, &seen, None);
        if approved.round >= self.settings().rounds {
            let columns = match self.preview(rules).await? {
                Outcome::Seen(other) => seen.unstable(&other),
                Outcome::Unseen(_) => Vec::new(),
            };
            self.call().set_reason(ErrorReason::Asked);
            return Err(refused(format!("{ROUNDS}{}", texts::unstable(&columns))));
        }
        self.ask_anew(&seen, Before::Changed, approved.round + 1, &mark)
    }

    fn ask_anew(
        &self,
        seen: &Seen,
        before: Before,
        round: u32,
        mark: &str,
    ) -> Result<Checked, NotWritten> {
        let to_approve = ToApprove {
            seen,
            before,
            round,
        };
        self.ask(&to_approve, mark)
    }

    async fn use_up(&self, approved: &Approved<'_>) -> Result<bool, Reported> {
        let used = match &approved.seal {
            Some(seal) => self.request.sealer().use_up(seal).await,
            None => self.request.use_up().await,
        };
        used.map_err(|error| confirm::unknown(self.texts.question.subject, &error))
    }

    async fn commit(
        &self,
        pending: Pending<'_>,
        mark: &str,
        round: u32,
    ) -> Result<Checked, NotWritten> {
        let seen = pending.seen().clone();
        match pending.commit().await.map_err(NotWritten::Failed)? {
            Decision::Committed(committed) => {
                let Committed {
                    seen,
                    rows,
                    transaction,
                } = *committed;
                record(self.call(), "committed", mark, &seen, Some(transaction));
                let (pool, change) = (self.current.pool(), (transaction, shown(mark)));
                let rows = rows.read(self.statement, pool, change).await;
                Ok(Checked::Committed(rows))
            }
            Decision::Different(pending) => {
                let seen = pending.roll_back().await.map_err(NotWritten::Failed)?;
                let mark = self.mark(&seen);
                record(self.call(), "mismatch", &mark, &seen, None);
                self.ask_anew(&seen, Before::Changed, round, &mark)
            }
            Decision::Undone => Err(refused(LOST)),
            Decision::Unknown(transaction) => {
                record(self.call(), "unknown", mark, &seen, Some(transaction));
                self.call().set_reason(ErrorReason::Unknown);
                Err(refused(format!("{LOST_FATE}{transaction}.")))
            }
        }
    }

    /// Asks as without previews, or refuses the write where they are required.
    async fn without_preview(&self, reason: Option<&Reason>) -> Result<Checked, NotWritten> {
        if self.mode == PreviewMode::Require || !confirm::can_ask(self.request) {
            let reason = reason.map(ToString::to_string).unwrap_or_default();
            self.call().set_reason(ErrorReason::Refused);
            return Err(refused(format!("The statement was not run: {reason}.")));
        }
        let mut confirmation = self.texts.question.clone();
        confirmation.state = self.unseen_state();
        if let Some(reason) = reason {
            let message = &confirmation.message;
            confirmation.message = format!("There is no preview: {reason}.\n\n{message}");
            let structure = self.request.asks_for_structure();
            confirmation.structure = structure.then(|| json!({"reason": reason.to_string()}));
        }
        let asked = confirmation.question(self.request).await.map_err(refuse)?;
        Ok(asked.map_or(Checked::Unchecked, Checked::Answer))
    }

    /// Returns the mark of a digest, which tells nothing of masked values.
    fn mark(&self, seen: &Seen) -> String {
        self.request.sealer().mark(&seen.digest.0)
    }

    fn call(&self) -> &Call {
        Call::of(self.request)
    }

    /// Counts the rows that are shown, for the limits of the caller.
    fn count(&self, seen: &Seen) {
        let rows = seen.rows().min(texts::MAX_ROWS);
        self.call().count(rows as u64, 0);
    }
}

fn refused(text: impl Into<String>) -> NotWritten {
    NotWritten::Refused(Error::said(text.into()))
}

fn refuse(error: impl Into<Error>) -> NotWritten {
    NotWritten::Refused(error.into())
}

/// Reads the mark and the round of a state.
fn parse(state: &str) -> Option<(&str, u32)> {
    let (mark, round) = state.split_once(' ')?;
    Some((mark, round.parse().ok()?))
}
