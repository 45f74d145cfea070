//! Statements that are confirmed by what they change.

use http::StatusCode;
use serde_json::{Value, json};
use ziggurat_answers::checked::{Before, CheckedSteps, Uncommitted, lost};
use ziggurat_audit::Verdict;
use ziggurat_changes::{NoUndo, Reason};
use ziggurat_mcp::StateSigner;
use ziggurat_postgres::{
    database::PreviewMode, error::QueryError, rows::Rows, statement::Statement,
};

use crate::{
    prepare::{RunningStatement, unknown_use},
    stop::{CONFIRM, ConfirmationDemand, DEMANDED, Stop},
};

/// Action that a seal of a preview is for.
const ACTION: &str = "POST /api/query: preview";

/// State of a seal for a statement without a preview.
const UNSEEN: &str = "unseen";

const CHANGED: &str = "The data have changed, and the statement would do something else now. \
                       Confirm it to run it.";

/// Statement that is confirmed by its preview.
pub(crate) struct CheckedStatement {
    pub(crate) statement: Statement,
    /// The text as the caller has sent it.
    pub(crate) sql: String,
    pub(crate) signer: StateSigner,
    /// The request asks for a statement that undoes the changes.
    pub(crate) wants_undo: bool,
}

/// Reason why a checked statement was not committed.
pub(crate) enum NotCommitted {
    /// The statement failed.
    Failed(QueryError),
    /// This is the response.
    Stopped(Stop),
}

/// Continuation of a checked statement.
pub(crate) enum Next {
    /// It was committed, and these are its rows, and the statement that undoes its changes if the
    /// request asks for it.
    Committed(Rows, Option<Result<String, NoUndo>>),
    /// It may be run without a preview.
    Unchecked,
}

// === impl CheckedStatement ===

impl CheckedStatement {
    /// Runs the statement for its preview, and returns that as the response.
    pub(crate) async fn alone(&self, running: &RunningStatement) -> NotCommitted {
        match self.steps(running).preview().await {
            Uncommitted::Shown(preview) => {
                running.caller.call.note(Verdict::Ok);
                let object = preview.object(&running.caller.call);
                Stop::Preview(Box::new(json!(object))).into()
            }
            Uncommitted::Unseen(reason) => Stop::no_preview(&reason).into(),
            other => self.stop(running, other),
        }
    }

    /// Runs the statement as far as it is confirmed. With a seal of a preview it is committed if it
    /// changes the same rows.
    pub(crate) async fn run(
        &self,
        running: &RunningStatement,
        confirm: Option<&str>,
    ) -> Result<Next, NotCommitted> {
        let steps = self.steps(running);
        let Some(seal) = confirm.and_then(|seal| steps.open(seal)) else {
            return Err(self.demand(running).await);
        };
        let used = steps.sealer.0.use_up(&seal);
        if seal.state() == UNSEEN {
            if mode(running) == PreviewMode::Offer && used.await.map_err(|it| unknown_use(&it))? {
                return Ok(Next::Unchecked);
            }
            return Err(self.demand(running).await);
        }
        match steps.commit(seal.state(), used).await {
            Ok((rows, seen)) => {
                let undo = self.wants_undo.then(|| seen.undo());
                Ok(Next::Committed(rows, undo))
            }
            Err(uncommitted) => Err(self.stop(running, uncommitted)),
        }
    }

    /// Runs the statement for its preview, and returns the demand to confirm it.
    pub(crate) async fn demand(&self, running: &RunningStatement) -> NotCommitted {
        self.stop(running, self.steps(running).preview().await)
    }

    fn steps<'a>(&'a self, running: &'a RunningStatement) -> CheckedSteps<'a> {
        CheckedSteps {
            call: &running.caller.call,
            current: &running.current,
            statement: &self.statement,
            text: [&self.sql, ""],
            sealer: (
                self.signer.sealer(running.caller.session().to_owned()),
                ACTION,
            ),
            ends_if_cancelled: true,
        }
    }

    /// Returns the demand to confirm the statement, its refusal or its error.
    fn stop(&self, running: &RunningStatement, uncommitted: Uncommitted) -> NotCommitted {
        let call = &running.caller.call;
        let demanded = (DEMANDED, CONFIRM);
        let (state, (error, code), preview, reason) = match uncommitted {
            Uncommitted::Shown(preview) => {
                let is_changed = preview.before == Before::Changed;
                let texts = if is_changed {
                    (CHANGED, "changed")
                } else {
                    demanded
                };
                let object = json!(preview.object(call));
                (preview.mark, texts, object, None)
            }
            Uncommitted::Unseen(reason) if mode(running) == PreviewMode::Offer => {
                let reason = Some(reason.to_string());
                (UNSEEN.to_owned(), demanded, Value::Null, reason)
            }
            Uncommitted::Unseen(reason) => return Stop::no_preview(&reason).into(),
            // Without a connection the response has no lines.
            Uncommitted::Failed(QueryError::Lease(error)) => return error.into(),
            Uncommitted::Failed(error) => return NotCommitted::Failed(error),
            Uncommitted::Cancelled(by) => return by.into(),
            Uncommitted::UnknownUse(error) => return unknown_use(&error).into(),
            Uncommitted::Lost(transaction) => return Stop::lost(transaction).into(),
        };
        call.note(Verdict::Asked);
        let demand = ConfirmationDemand {
            error,
            code,
            statement: self.sql.clone(),
            database: running.current.label().to_owned(),
            confirm: self.steps(running).seal(&state),
            preview: Some(preview),
            reason,
        };
        Stop::Confirm(Box::new(demand)).into()
    }
}

fn mode(running: &RunningStatement) -> PreviewMode {
    running.current.database().settings().preview.mode
}

// === impl NotCommitted ===

impl<T: Into<Stop>> From<T> for NotCommitted {
    fn from(stop: T) -> Self {
        Self::Stopped(stop.into())
    }
}

// === impl Stop ===

impl Stop {
    /// 422: it cannot be shown what the statement would change, and that is required.
    fn no_preview(reason: &Reason) -> Self {
        let message = format!("The statement was not run: {reason}.");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "no_preview", message)
    }

    /// 422: the database has no previews.
    pub(crate) fn no_previews() -> Self {
        let message = "The statement was not run: this database has no previews.";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "no_preview", message)
    }

    /// 503: the connection was lost at the commit. The change was not committed, or that is not known.
    fn lost(transaction: Option<u64>) -> Self {
        let code = transaction.map_or("not_committed", |_| "unknown");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, lost(transaction))
    }
}
