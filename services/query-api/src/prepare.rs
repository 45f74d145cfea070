//! Checks before a statement runs.

use std::{
    future::ready,
    pin::Pin,
    time::{Duration, Instant},
};

use http::StatusCode;
use serde_json::json;
use tokio::time;
use tracing::warn;
use ziggurat_audit::Verdict;
use ziggurat_calls::{
    ErrorReason,
    limits::{Left, Refused},
};
use ziggurat_changes::NoUndo;
use ziggurat_databases::Current;
use ziggurat_mcp::RecordUnreachable;
use ziggurat_postgres::{
    error::QueryError,
    notices::Notices,
    pool::Lease,
    rows::{Rows, Summary},
    statement::Statement,
};

use crate::{
    QueryApi,
    checked::{CheckedStatement, Next, NotCommitted},
    receipt::LinesReceipt,
    request::QueryCaller,
    running::RunningQuery,
    stop::{CONFIRM, ConfirmationDemand, DEMANDED, Stop},
};

/// Maximum number of rows for API tokens and clients of an issuer, unless a toolset gives them more.
pub const MAX_PROGRAM_ROWS: u32 = 1000;

/// Maximum size of a row; the result ends before a larger one.
const MAX_ROW_BYTES: usize = 16 << 20;

/// Time for which the response waits for the first row of a statement that no user has confirmed: up
/// to then a write becomes the response 409, later the last line.
const CONFIRMATION_TIME: Duration = Duration::from_secs(2);

/// Action that a seal is for.
pub(crate) const ACTION: &str = "POST /api/query";

/// Contents of a request.
pub(crate) struct Asked<'a> {
    pub(crate) sql: &'a str,
    pub(crate) database: Option<&'a str>,
    pub(crate) max_rows: u64,
    pub(crate) timeout: Option<Duration>,
    pub(crate) confirm: Option<&'a str>,
    /// The request asks for the changed rows alone.
    pub(crate) is_preview: bool,
    /// The request asks for a statement that undoes the changes.
    pub(crate) wants_undo: bool,
}

/// The rows of a statement once its columns are known, or the error of one that was not sent.
pub(crate) type FutureRows = Pin<Box<dyn Future<Output = Result<Rows, QueryError>> + Send>>;

/// Statement while it runs.
pub(crate) struct RunningStatement {
    pub(crate) caller: QueryCaller,
    pub(crate) current: Current,
    pub(crate) notices: Notices,
    /// Number of characters before the first one that is sent.
    pub(crate) lead: usize,
    pub(crate) began: Instant,
    pub(crate) only_reads: bool,
    may_define: bool,
    command: String,
    /// The receipt that the request asks for.
    pub(crate) receipt: Option<Box<LinesReceipt>>,
    /// The response if the statement writes, though it looks like one that reads.
    demand: Option<Demand>,
    /// It was committed after its preview.
    pub(crate) is_committed: bool,
    /// The statement that undoes its changes, if the request asks for it.
    pub(crate) undo: Option<Result<String, NoUndo>>,
    /// Counted until this is dropped.
    _running: RunningQuery,
}

/// Demand for a confirmation of a statement that looks like one that reads.
pub(crate) enum Demand {
    /// It is known.
    Known(Box<ConfirmationDemand>),
    /// It has the rows that the statement would change.
    Preview(Box<CheckedStatement>),
}

/// Statement, the demand if it proves to write, and the statement to be checked at once.
type SeenFirst = (Statement, Option<Demand>, Option<Box<CheckedStatement>>);

impl QueryApi {
    /// Prepares a statement for its caller, and sends it.
    pub(crate) async fn prepare(
        &self,
        caller: QueryCaller,
        asked: &Asked<'_>,
        receipt: Option<Box<LinesReceipt>>,
    ) -> Result<(RunningStatement, FutureRows), Stop> {
        let mut current = caller.available(asked.sql, asked.database).await?;
        if let Some(it) = &receipt {
            let evidence = it.receipt().evidence().clone();
            current = current.with_call(caller.call.context().with_evidence(evidence));
        }
        let notices = Notices::default();
        let (mut demand, mut checked) = (None, None);
        let has_previews = current.database().previews().is_some();
        if asked.is_preview && !has_previews {
            return Err(Stop::no_previews());
        }
        let statement = match Statement::new(current.database(), asked.sql) {
            Ok(statement) => {
                let most = self.most_rows(&caller);
                let statement = self.limited(statement, &caller, asked, most);
                let statement = statement.with_notices(&notices);
                if has_previews {
                    let (statement, shown, held) = self.seen_first(statement, asked);
                    (demand, checked) = (shown, held);
                    Ok(statement)
                } else {
                    let permitted = self.permitted(&caller, &current, statement, asked);
                    let (statement, demanded) = permitted.await?;
                    demand = demanded.map(Demand::Known);
                    Ok(statement)
                }
            }
            Err(QueryError::Empty) => return Err(Stop::no_sql()),
            Err(error) => Err(error),
        };
        let running = self.enter(&caller)?;
        let sent = statement.as_ref().ok();
        let mut running = running.begin(caller, current, asked.sql, sent, notices);
        running.demand = demand;
        running.receipt = receipt;
        running.undo = asked.wants_undo.then_some(Err(NoUndo::Unseen));
        if let Some(checked) = checked {
            // Boxed: rare, and large.
            match Box::pin(running.check(&checked, asked)).await {
                Ok(Next::Unchecked) => {}
                Ok(Next::Committed(rows, undo)) => {
                    (running.is_committed, running.undo) = (true, undo);
                    return Ok((running, Box::pin(ready(Ok(rows)))));
                }
                Err(NotCommitted::Failed(error)) => {
                    return Ok((running, Box::pin(ready(Err(error)))));
                }
                Err(NotCommitted::Stopped(stop)) => return Err(stop),
            }
        }
        let rows: FutureRows = match statement {
            Ok(statement) => {
                let lease = running.admitted(asked.sql).await?;
                running.send(statement, lease).await?
            }
            Err(error) => Box::pin(ready(Err(error))),
        };
        Ok((running, rows))
    }

    /// Counts a statement of a session.
    pub(crate) fn enter(&self, caller: &QueryCaller) -> Result<RunningQuery, Stop> {
        let running = self.running.enter(caller.session());
        running.ok_or_else(Stop::busy)
    }

    fn most_rows(&self, caller: &QueryCaller) -> u32 {
        if caller.rights.is_unlimited {
            self.limits.max_rows
        } else {
            self.limits.max_rows.min(MAX_PROGRAM_ROWS)
        }
    }

    /// Applies the limits of the server, the caller and the request; `most` is the limit on rows.
    pub(crate) fn limited(
        &self,
        statement: Statement,
        caller: &QueryCaller,
        asked: &Asked<'_>,
        most: u32,
    ) -> Statement {
        let rows = u32::try_from(asked.max_rows).unwrap_or(most).min(most);
        statement
            .with_streamed_rows(rows)
            .with_max_row_bytes(MAX_ROW_BYTES)
            .with_large_rows(self.large_rows.clone())
            .with_max_cost(caller.call.max_cost())
            .with_max_changed_rows(caller.call.max_changed_rows())
            .with_timeout(asked.timeout)
    }

    /// Prepares a statement that shows its changes first. One that looks like reading only reads, until
    /// it has proved to write.
    fn seen_first(&self, statement: Statement, asked: &Asked<'_>) -> SeenFirst {
        let held = Box::new(CheckedStatement {
            statement: statement.clone(),
            sql: asked.sql.to_owned(),
            wants_undo: asked.wants_undo,
            signer: self.signer.clone(),
        });
        if statement.only_reads() && asked.reads_first() {
            (statement.unconfirmed(), Some(Demand::Preview(held)), None)
        } else {
            (statement, None, Some(held))
        }
    }

    /// Demands a confirmation for what may write, unless the request has one. What looks like
    /// reading only reads until it is confirmed; the demand for that is returned.
    async fn permitted(
        &self,
        caller: &QueryCaller,
        current: &Current,
        statement: Statement,
        asked: &Asked<'_>,
    ) -> Result<(Statement, Option<Box<ConfirmationDemand>>), Stop> {
        if !current.database().allows_writes() {
            return Ok((statement, None));
        }
        let (database, session) = (current.label(), caller.session());
        let facts = json!([database, asked.sql]).to_string();
        if let Some(seal) = asked.confirm {
            let redeemed = self.signer.redeem(seal, session, ACTION, facts.as_bytes());
            match redeemed.await {
                Ok(true) => return Ok((statement, None)),
                Ok(false) => {}
                Err(error) => return Err(unknown_use(&error)),
            }
        }
        let demand = Box::new(ConfirmationDemand {
            error: DEMANDED,
            code: CONFIRM,
            statement: asked.sql.to_owned(),
            database: database.to_owned(),
            confirm: self.signer.seal(session, ACTION, facts.as_bytes()),
            preview: None,
            reason: None,
        });
        if statement.only_reads() {
            return Ok((statement.unconfirmed(), Some(demand)));
        }
        caller.call.note(Verdict::Asked);
        Err(Stop::Confirm(demand))
    }
}

// === impl RunningQuery ===

impl RunningQuery {
    /// Begins a statement; without one, its text is not sent.
    pub(crate) fn begin(
        self,
        caller: QueryCaller,
        current: Current,
        sql: &str,
        statement: Option<&Statement>,
        notices: Notices,
    ) -> RunningStatement {
        let command = statement.map(Statement::command).unwrap_or_default();
        RunningStatement {
            lead: leading_white_space(sql),
            notices,
            began: Instant::now(),
            only_reads: statement.is_none_or(|it| it.only_reads() && !it.may_write()),
            may_define: statement.is_some_and(Statement::may_define),
            command: command.to_owned(),
            receipt: None,
            demand: None,
            is_committed: false,
            undo: None,
            _running: self,
            caller,
            current,
        }
    }
}

// === impl RunningStatement ===

impl RunningStatement {
    /// Runs a statement with previews as far as it is confirmed.
    async fn check(
        &self,
        checked: &CheckedStatement,
        asked: &Asked<'_>,
    ) -> Result<Next, NotCommitted> {
        let call = &self.caller.call;
        let admitted = async {
            call.admit(self.current.database(), asked.sql).await?;
            call.open().await?;
            Ok::<_, Stop>(())
        };
        call.or_cancelled(admitted).await??;
        call.runs();
        if asked.is_preview {
            return Err(checked.alone(self).await);
        }
        checked.run(self, asked.confirm).await
    }

    /// Waits until the caller may run the statement, and returns the connection for it.
    pub(crate) async fn admitted(&self, sql: &str) -> Result<Lease, Stop> {
        let call = &self.caller.call;
        let lease = async {
            call.admit(self.current.database(), sql).await?;
            call.open().await?;
            Ok::<_, Stop>(self.current.pool().lease().await?)
        };
        let lease = call.or_cancelled(lease).await??;
        call.runs();
        Ok(lease)
    }

    /// Sends the statement. Waits a moment for the first row if a confirmation may be demanded.
    async fn send(&mut self, statement: Statement, lease: Lease) -> Result<FutureRows, Stop> {
        let mut rows: FutureRows = Box::pin(statement.run(lease));
        if self.demand.is_none() {
            return Ok(rows);
        }
        let call = self.caller.call.clone();
        let first = time::timeout(CONFIRMATION_TIME, rows.as_mut());
        match call.or_cancelled(first).await? {
            Err(_) => Ok(rows),
            Ok(found) => match found.as_ref().err().and_then(|error| self.demand(error)) {
                None => Ok(Box::pin(ready(found))),
                Some(Demand::Known(demand)) => Err(Stop::Confirm(demand)),
                // Boxed: rare, and large.
                Some(Demand::Preview(checked)) => match Box::pin(checked.demand(self)).await {
                    NotCommitted::Stopped(stop) => Err(stop),
                    NotCommitted::Failed(error) => Ok(Box::pin(ready(Err(error)))),
                },
            },
        }
    }

    /// Returns the demand for a confirmation, if the error says that the statement needs one.
    pub(crate) fn demand(&mut self, error: &QueryError) -> Option<Demand> {
        let demand = self.demand.take_if(|_| error.is_about_a_write())?;
        if let Demand::Known(_) = demand {
            self.caller.call.note(Verdict::Asked);
        }
        Some(demand)
    }

    /// Notes that the statement has failed.
    pub(crate) fn fail(&self, error: &QueryError) {
        self.caller.call.set_error(error);
        self.caller.call.note_error();
    }

    /// Returns what the caller may still be sent.
    pub(crate) fn left(&self) -> Left {
        self.caller.call.left()
    }

    /// Counts rows and bytes for the limits of the caller.
    pub(crate) fn count(&self, rows: u64, bytes: usize) {
        self.caller.call.count(rows, bytes);
    }

    /// Notes that a limit of the caller has ended the rows.
    pub(crate) fn refuse(&self, refused: Refused) {
        let call = &self.caller.call;
        call.set_reason(ErrorReason::Limited(refused.key()));
        call.note_error();
    }

    /// Notes that the statement has ended, with or without an error.
    pub(crate) fn finish(&self) {
        if self.may_define {
            self.caller.changed(&self.current);
        }
    }

    /// Returns the command tag of a statement that may write, and the number of rows it changed.
    pub(crate) fn changes(
        &self,
        summary: Option<&Summary>,
        is_command: bool,
    ) -> (Option<String>, Option<u64>) {
        let Some(summary) = summary.filter(|_| !self.only_reads || is_command) else {
            return (None, None);
        };
        let is_counted = ["INSERT", "UPDATE", "DELETE", "MERGE"].contains(&&*self.command);
        if is_command {
            let affected = (is_counted || summary.affected > 0).then_some(summary.affected);
            return (Some(summary.command.clone()), affected);
        }
        let affected = is_counted.then_some(summary.processed);
        (Some(self.command.clone()), affected)
    }
}

// === impl QueryCaller ===

impl QueryCaller {
    /// Returns the database of a request, if its caller may run statements there, and notes the
    /// statement.
    pub(crate) async fn available(
        &self,
        sql: &str,
        database: Option<&str>,
    ) -> Result<Current, Stop> {
        if !self.rights.has_query {
            let message = "Statements are not available to you: query_database is switched off";
            return Err(Stop::new(StatusCode::FORBIDDEN, "not_available", message));
        }
        if sql.trim().is_empty() {
            return Err(Stop::no_sql());
        }
        let current = self.database(database).await?;
        self.call.set_database(current.database());
        if let Some(record) = self.call.record() {
            record.database(current.database().name());
            record.statement(sql);
        }
        Ok(current)
    }
}

/// Returns the response if it is not known whether a seal was used before.
pub(crate) fn unknown_use(error: &RecordUnreachable) -> Stop {
    let error: &dyn std::error::Error = error;
    warn!(error, "cannot mark a confirmation as used");
    let message = "It is not known whether this confirmation was used before, and the statement was \
                   not run. Try again later.";
    Stop::new(StatusCode::SERVICE_UNAVAILABLE, "unreachable", message)
}

// === impl Asked ===

impl Asked<'_> {
    /// Returns whether a text that looks like one that reads has to be run as one first.
    fn reads_first(&self) -> bool {
        self.confirm.is_none() && !self.is_preview
    }
}

/// Returns the number of characters before the first one of a statement.
pub(crate) fn leading_white_space(sql: &str) -> usize {
    let length = sql.len() - sql.trim_start().len();
    sql[..length].chars().count()
}
