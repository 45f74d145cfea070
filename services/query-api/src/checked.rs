//! Statements that are confirmed by what they change.

use http::StatusCode;
use serde_json::{Value, json};
use ziggurat_answers::checked::{record, shown};
use ziggurat_audit::Verdict;
use ziggurat_changes::{
    Committed, Decision, NoUndo, Outcome, Ran, Reason, Rules, Seen, preview, run,
};
use ziggurat_mcp::{Sealer, StateSigner};
use ziggurat_postgres::{
    database::PreviewMode, error::QueryError, pool::Pool, rows::Rows, statement::Statement,
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

/// Result of a run that is not committed.
enum Shown {
    Seen(Box<Seen>),
    Unseen(Reason),
}

impl CheckedStatement {
    /// Runs the statement for its preview, and returns that as the response.
    pub(crate) async fn alone(&self, running: &RunningStatement) -> Result<Stop, NotCommitted> {
        let seen = match self.preview(running).await? {
            Shown::Seen(seen) => seen,
            Shown::Unseen(reason) => return Ok(Stop::no_preview(&reason)),
        };
        let mark = self.sealer(running).mark(&seen.digest.0);
        record(&running.caller.call, "preview", &mark, &seen, None);
        running.caller.call.note(Verdict::Ok);
        Ok(Stop::Preview(Box::new(object(running, &seen, &mark))))
    }

    /// Runs the statement as far as it is confirmed. With a seal of a preview it is committed if it
    /// changes the same rows.
    pub(crate) async fn run(
        &self,
        running: &RunningStatement,
        confirm: Option<&str>,
    ) -> Result<Next, NotCommitted> {
        let facts = self.facts(running);
        let sealer = self.sealer(running);
        let seal = confirm.and_then(|seal| sealer.open(seal, ACTION, facts.as_bytes()));
        let Some(seal) = seal else {
            return Err(self.demand(running).await?.into());
        };
        if seal.state() == UNSEEN {
            if mode(running) == PreviewMode::Offer
                && sealer.use_up(&seal).await.map_err(|it| unknown_use(&it))?
            {
                return Ok(Next::Unchecked);
            }
            return Err(self.demand(running).await?.into());
        }
        let rules = rules(running);
        let pool = running.current.pool();
        let call = &running.caller.call;
        let ran = call
            .or_cancelled(run(pool, &self.statement, &rules))
            .await?;
        let pending = match ran.map_err(failed)? {
            Ran::Pending(pending) => pending,
            Ran::Unseen(reason) => {
                return Err(self.stop(running, &Shown::Unseen(reason), false).into());
            }
        };
        let mark = sealer.mark(&pending.seen().digest.0);
        let is_same = mark == seal.state();
        let used = if is_same {
            sealer.use_up(&seal).await
        } else {
            Ok(false)
        };
        if !matches!(used, Ok(true)) {
            let seen = pending.roll_back().await;
            let seen = seen.map_err(failed)?;
            used.map_err(|error| unknown_use(&error))?;
            return Err(self.stop(running, &Shown::Seen(seen), !is_same).into());
        }
        let seen = pending.seen().clone();
        let decision = pending.commit().await;
        match decision.map_err(failed)? {
            Decision::Committed(done) => {
                record(call, "committed", &mark, &done.seen, Some(done.transaction));
                Ok(self.committed(*done, pool, &mark).await)
            }
            Decision::Different(pending) => {
                let seen = pending.roll_back().await.map_err(failed)?;
                Err(self.stop(running, &Shown::Seen(seen), true).into())
            }
            Decision::Undone => Err(Stop::undone().into()),
            Decision::Unknown(transaction) => {
                record(call, "unknown", &mark, &seen, Some(transaction));
                call.note(Verdict::Failed);
                Err(Stop::unknown_fate(transaction).into())
            }
        }
    }

    /// Runs the statement for its preview, and returns the demand to confirm it.
    pub(crate) async fn demand(&self, running: &RunningStatement) -> Result<Stop, NotCommitted> {
        let shown = self.preview(running).await?;
        Ok(self.stop(running, &shown, false))
    }

    async fn preview(&self, running: &RunningStatement) -> Result<Shown, NotCommitted> {
        let rules = rules(running);
        let pool = running.current.pool();
        let seen = preview(pool, &self.statement, &rules);
        let seen = running.caller.call.or_cancelled(seen).await?;
        Ok(match seen.map_err(failed)? {
            Outcome::Seen(seen) => Shown::Seen(seen),
            Outcome::Unseen(reason) => Shown::Unseen(reason),
        })
    }

    /// Returns the demand to confirm the statement, or its refusal. `has_changed` if another preview
    /// was confirmed.
    fn stop(&self, running: &RunningStatement, shown: &Shown, has_changed: bool) -> Stop {
        let sealer = self.sealer(running);
        let (state, preview, reason) = match shown {
            Shown::Seen(seen) => {
                let mark = sealer.mark(&seen.digest.0);
                let step = if has_changed { "mismatch" } else { "preview" };
                record(&running.caller.call, step, &mark, seen, None);
                let object = object(running, seen, &mark);
                (mark, object, None)
            }
            Shown::Unseen(reason) if mode(running) == PreviewMode::Require => {
                return Stop::no_preview(reason);
            }
            Shown::Unseen(reason) => (UNSEEN.to_owned(), Value::Null, Some(reason.to_string())),
        };
        running.caller.call.note(Verdict::Asked);
        let facts = self.facts(running);
        let (error, code) = if has_changed {
            (CHANGED, "changed")
        } else {
            (DEMANDED, CONFIRM)
        };
        Stop::Confirm(Box::new(ConfirmationDemand {
            error,
            code,
            statement: self.sql.clone(),
            database: running.current.label().to_owned(),
            confirm: sealer.seal(ACTION, facts.as_bytes(), &state),
            preview: Some(preview),
            reason,
        }))
    }

    async fn committed(&self, done: Committed, pool: &Pool, mark: &str) -> Next {
        let undo = self.wants_undo.then(|| done.seen.undo());
        let change = (done.transaction, shown(mark));
        Next::Committed(done.rows.read(&self.statement, pool, change).await, undo)
    }

    fn sealer(&self, running: &RunningStatement) -> Sealer<'_> {
        self.signer.sealer(running.caller.session().to_owned())
    }

    /// Returns the database, the role and settings of the caller there, and the statement.
    fn facts(&self, running: &RunningStatement) -> String {
        let current = &running.current;
        let acting = current.database().acts();
        let identity = acting.map_or("", |acting| acting.mark());
        json!([current.label(), identity, self.sql]).to_string()
    }
}

fn mode(running: &RunningStatement) -> PreviewMode {
    running.current.database().settings().preview.mode
}

fn rules(running: &RunningStatement) -> Rules {
    (&running.current.database().settings().preview).into()
}

/// Returns the changed rows as an object, and counts them for the limits of the caller.
fn object(running: &RunningStatement, seen: &Seen, mark: &str) -> Value {
    let object = seen.shown(shown(mark));
    running.count(object.changes() as u64, 0);
    serde_json::to_value(object).expect("texts and numbers only")
}

/// Returns the response to an error: the lines of a statement, unless there was no connection.
fn failed(error: QueryError) -> NotCommitted {
    match error {
        QueryError::Lease(error) => NotCommitted::Stopped(error.into()),
        error => NotCommitted::Failed(error),
    }
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

    /// 503: the connection was lost at the commit.
    fn undone() -> Self {
        let message = "The change was not committed.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_committed", message)
    }

    /// 503: the connection was lost at the commit, and it is not known what became of it.
    fn unknown_fate(transaction: u64) -> Self {
        let message =
            format!("It is not known whether the change was committed: transaction {transaction}.");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unknown", message)
    }
}
