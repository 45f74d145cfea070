//! Writes that are approved by what they change.
//!
//! The statement runs and is rolled back, a person or the client approves the rows that it would
//! change, and it runs again: it is committed only if it changes the same rows.

mod steps;
mod texts;

use serde_json::json;
use ziggurat_calls::{Call, ErrorReason};
use ziggurat_changes::Seen;
use ziggurat_databases::Current;
use ziggurat_mcp::{Error, ToolRequest, ToolResult};
use ziggurat_postgres::{
    database::{Approval, Database, PreviewMode},
    error::QueryError,
    rows::Rows,
    statement::Statement,
};

pub use self::steps::{Before, CheckedSteps, Preview, Uncommitted, lost};
use crate::{
    checked::texts::{NOT_APPROVED, ROUNDS},
    confirm::{self, Confirmation, PREVIEW},
};

/// Action that a seal for a client is for.
const ACTION: &str = "approve";

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

// === impl CheckedWrite ===

impl CheckedWrite<'_> {
    /// Runs the write as far as it is approved.
    ///
    /// # Errors
    /// Fails if the statement does, and if it is not run because the client cannot approve it, or it would do
    /// something else each time.
    pub async fn run(&self) -> Result<Checked, NotWritten> {
        let steps = self.steps();
        if wants_preview(self.request) {
            return self.next(&steps, steps.preview().await, 0).await;
        }
        let can_ask = confirm::can_ask(self.request);
        if !can_ask && !self.may_approve_itself() {
            return Err(refused(NOT_APPROVED));
        }
        let state = self.request.inputs().state();
        let sealed = self.approve.filter(|_| !can_ask);
        let sealed = sealed.and_then(|text| steps.open(text));
        let given = match &sealed {
            None => state.and_then(|state| state.strip_prefix(&*self.state(&steps))),
            Some(seal) => Some(seal.state()),
        };
        if state == Some(&self.unseen_state(&steps)) && self.mode == PreviewMode::Offer {
            return self.without_preview(&steps, None).await;
        }
        let Some((mark, round)) = given.and_then(parse) else {
            return self.next(&steps, steps.preview().await, 0).await;
        };
        let committed = match &sealed {
            Some(seal) => steps.commit(mark, steps.sealer.0.use_up(seal)).await,
            None if self.is_confirmed()? => steps.commit(mark, self.request.use_up()).await,
            None => Err(steps.preview().await),
        };
        match committed {
            Ok((rows, _)) => Ok(Checked::Committed(rows)),
            Err(uncommitted) => self.next(&steps, uncommitted, round).await,
        }
    }

    fn steps(&self) -> CheckedSteps<'_> {
        CheckedSteps {
            call: self.call(),
            current: self.current,
            statement: self.statement,
            text: [self.statement.text(), &self.values],
            sealer: (self.request.sealer(), ACTION),
            // The server drops the call.
            ends_if_cancelled: false,
        }
    }

    /// Returns whether the client may approve a change for itself.
    fn may_approve_itself(&self) -> bool {
        takes_approval(self.current.database()) && self.request.is_negotiated()
    }

    /// Returns whether the user has confirmed the change; false without an answer.
    fn is_confirmed(&self) -> Result<bool, NotWritten> {
        let subject = self.texts.question.subject;
        let confirmed = confirm::answer(self.request, subject);
        Ok(confirmed.map_err(refuse)?.unwrap_or_default())
    }

    /// Goes on after a step that has committed nothing.
    async fn next(
        &self,
        steps: &CheckedSteps<'_>,
        uncommitted: Uncommitted,
        round: u32,
    ) -> Result<Checked, NotWritten> {
        let is_alone = wants_preview(self.request);
        match uncommitted {
            Uncommitted::Shown(Preview { seen, .. }) if is_alone => {
                self.count(&seen);
                let text = self.texts.alone(&seen, self.current.label());
                Ok(Checked::Answer(ToolResult::text(text)))
            }
            Uncommitted::Shown(preview) => self.show(steps, &preview, round).await,
            Uncommitted::Unseen(reason) if is_alone => {
                Err(refused(format!("There is no preview: {reason}.")))
            }
            Uncommitted::Unseen(reason) => {
                self.without_preview(steps, Some(reason.to_string())).await
            }
            Uncommitted::Failed(error) => Err(NotWritten::Failed(error)),
            Uncommitted::Cancelled(by) => Err(refused(by.message())),
            Uncommitted::UnknownUse(error) => {
                let subject = self.texts.question.subject;
                Err(refuse(confirm::unknown(subject, &error)))
            }
            Uncommitted::Lost(transaction) => Err(refused(lost(transaction))),
        }
    }

    /// Asks for an approval, unless the exchange had all of its rounds.
    async fn show(
        &self,
        steps: &CheckedSteps<'_>,
        preview: &Preview,
        round: u32,
    ) -> Result<Checked, NotWritten> {
        if preview.before != Before::Changed {
            return self.ask(steps, preview, round);
        }
        if round < self.current.database().settings().preview.rounds {
            return self.ask(steps, preview, round + 1);
        }
        let columns = steps.unstable(preview).await;
        self.call().set_reason(ErrorReason::Asked);
        Err(refused(format!("{ROUNDS}{}", texts::unstable(&columns))))
    }

    /// Ends the call with the demand to approve a preview.
    fn ask(
        &self,
        steps: &CheckedSteps<'_>,
        preview: &Preview,
        round: u32,
    ) -> Result<Checked, NotWritten> {
        let text = self.texts.text(preview, self.current.label());
        let state = format!("{} {round}", preview.mark);
        if !confirm::can_ask(self.request) {
            self.count(&preview.seen);
            self.call().set_reason(ErrorReason::Asked);
            return Err(refused(texts::for_client(&text, &steps.seal(&state))));
        }
        let structure = if self.request.asks_for_structure() {
            let is_changed = preview.before == Before::Changed;
            Some(json!({"preview": preview.object(self.call()), "changed": is_changed}))
        } else {
            self.count(&preview.seen);
            None
        };
        let confirmation = Confirmation {
            state: self.state(steps) + &state,
            message: texts::for_person(&text),
            subject: self.texts.question.subject,
            structure,
        };
        let asked = confirmation.ask(self.request).map_err(refuse)?;
        Ok(Checked::Answer(asked))
    }

    /// Asks as without previews, or refuses the write where they are required.
    async fn without_preview(
        &self,
        steps: &CheckedSteps<'_>,
        reason: Option<String>,
    ) -> Result<Checked, NotWritten> {
        if self.mode == PreviewMode::Require || !confirm::can_ask(self.request) {
            let reason = reason.unwrap_or_default();
            self.call().set_reason(ErrorReason::Refused);
            return Err(refused(format!("The statement was not run: {reason}.")));
        }
        let mut confirmation = self.texts.question.clone();
        confirmation.state = self.unseen_state(steps);
        if let Some(reason) = reason {
            let message = &confirmation.message;
            confirmation.message = format!("There is no preview: {reason}.\n\n{message}");
            let structure = self.request.asks_for_structure();
            confirmation.structure = structure.then(|| json!({"reason": reason}));
        }
        let asked = confirmation.question(self.request).await.map_err(refuse)?;
        Ok(asked.map_or(Checked::Unchecked, Checked::Answer))
    }

    /// Returns how the state of a question about a preview begins. The arguments of the call are signed
    /// with it.
    fn state(&self, steps: &CheckedSteps<'_>) -> String {
        let facts = self.request.sealer().mark(steps.facts().as_bytes());
        format!("checked {facts}: ")
    }

    fn unseen_state(&self, steps: &CheckedSteps<'_>) -> String {
        format!("un{}", self.state(steps).trim_end_matches(": "))
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
