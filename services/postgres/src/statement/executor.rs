//! Executes one statement.

mod changes;
mod cost;
mod ending;
mod masked;
mod spool;
mod text;
mod within;

use std::{error::Error, pin::Pin, sync::Arc};

use tokio::time;
use tracing::{error, warn};
use ziggurat_sql::{Refusal, keep_transaction};

use crate::{
    driver::{DriverError, Event, Field},
    error::{Phase, QueryError},
    pool::{Lease, Pool},
    rows::{Handoff, Header, Item, Summary},
    statement::{
        Access, Route, Statement, Window,
        executor::{
            changes::Counted,
            masked::{Masked, header},
        },
    },
    statement_log::{Counts, StatementLog},
};

pub use self::within::HeldRows;

/// Name of the cursor. It only has to differ from those that callers declare.
const CURSOR: &str = "ziggurat_cursor";

/// Capacity for the text around the caller's in a message.
const WRAPPER_CAPACITY: usize = 256;

const INFALLIBLE: &str = "a string takes everything";

/// Runs a statement to its end.
pub(super) fn execute(
    lease: Lease,
    statement: Statement,
    handoff: Handoff,
) -> impl Future<Output = Result<Summary, QueryError>> + Send {
    let log = StatementLog::open(&lease, &statement.command, &statement.text);
    let comment = log.comment(&lease);
    async move {
        let mut lease = lease;
        let mut run = Execution::new(&mut lease, statement, handoff, comment);
        let done = run.complete().await;
        log.close(done.as_ref().map(Counts::of));
        done
    }
}

struct Execution<'a> {
    lease: &'a mut Lease,
    statement: Statement,
    handoff: Handoff,
    progress: Progress,
    /// Columns, known after PostgreSQL has parsed the text, or before the first row.
    header: Option<Header>,
    /// The same as PostgreSQL described them, after it has parsed the text.
    fields: Option<Arc<[Field]>>,
    /// Masks that hold for the caller.
    masked: Option<Masked>,
    /// Rows that PostgreSQL had counted before the text, if the number of changed rows is limited.
    // Boxed: most statements have no such limit.
    counted: Option<Box<Counted>>,
    /// Comment before the statement, or an empty text. It is ASCII.
    comment: String,
}

/// Reason for the end of an attempt.
enum AttemptError {
    /// The text cannot be sent in this way. None of it has run.
    Unfit,
    Failed(QueryError),
}

/// Progress of the answer to one message.
#[derive(Default)]
struct Progress {
    /// Number of completed commands.
    completed: u32,
    set: RowsState,
    /// The reader has got the columns.
    has_head: bool,
    skipped: u64,
    rows: u32,
    has_more: bool,
    affected: u64,
    processed: u64,
    /// Size of a row that was skipped.
    oversized: Option<usize>,
}

/// State of the first set of rows; later sets are not part of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RowsState {
    /// The row of the snapshot comes first.
    Snapshot,
    #[default]
    Awaited,
    Arriving,
    Over,
}

impl<'a> Execution<'a> {
    fn new(lease: &'a mut Lease, statement: Statement, handoff: Handoff, comment: String) -> Self {
        Self {
            lease,
            statement,
            handoff,
            progress: Progress::default(),
            header: None,
            fields: None,
            masked: None,
            counted: None,
            comment,
        }
    }
}

impl Execution<'_> {
    /// Runs the statement, again on another connection if the first was dead.
    async fn complete(&mut self) -> Result<Summary, QueryError> {
        let mut done = self.attempt().await;
        if let Err(AttemptError::Failed(error)) = &done
            && self.found_dead(error)
        {
            // Boxed: rare, and large.
            Box::pin(self.lease.renew()).await?;
            done = self.attempt().await;
        }
        let done = done.map_err(|stop| match stop {
            AttemptError::Failed(error) => error,
            AttemptError::Unfit => unreachable!("only a cursor can be unfit"),
        });
        let done = match done {
            // Boxed: rare, and large.
            Err(error) if self.masked.is_some() => Err(Box::pin(self.told(error)).await),
            done => done,
        };
        if let Err(QueryError::Connection(error)) = &done {
            let database = self.lease.database().name();
            let error = error as &dyn Error;
            error!(error, database, "the connection to a database was lost");
        }
        done
    }

    async fn attempt(&mut self) -> Result<Summary, AttemptError> {
        self.progress = Progress::default();
        self.header = None;
        self.lease.limit(self.statement.timeout);
        if self.statement.outlives && self.lease.session().is_shared {
            return Err(AttemptError::Failed(Refusal::Session.into()));
        }
        let is_capped = self.statement.limit_on_changes().is_some();
        if is_capped && let Err(refusal) = keep_transaction(&self.statement.text) {
            return Err(AttemptError::Failed(refusal.into()));
        }
        if self.lease.database().masks().is_some() {
            // Boxed, since most callers have no masks.
            let judged = Box::pin(self.judge()).await;
            judged.map_err(AttemptError::Failed)?;
        }
        let route = self.statement.route();
        let done = match route {
            Route::Limited | Route::Nested | Route::CursorAtOnce
                if self.statement.max_cost.is_none()
                    && !is_capped
                    && !self.statement.is_bound()
                    && !self.needs_plan() =>
            {
                self.at_once().await
            }
            route => self.boxed_steps(route).await,
        };
        match done {
            Err(AttemptError::Unfit) => self.boxed_steps(Route::Plain).await,
            done => done,
        }
    }

    /// Runs a statement in steps. Boxed, so that the future of the usual, short case stays small.
    fn boxed_steps(
        &mut self,
        route: Route,
    ) -> Pin<Box<impl Future<Output = Result<Summary, AttemptError>> + Send>> {
        Box::pin(async move {
            match route {
                Route::Spool => self.spool().await,
                route => self.steps(route).await,
            }
        })
    }

    /// Returns whether the connection was dead before it got the statement, which is then sent
    /// again. A read-only statement may run twice if it did arrive.
    fn found_dead(&self, error: &QueryError) -> bool {
        error.is_dead_connection()
            && self.statement.access == Access::ReadOnly
            && self.lease.is_untested()
            && self.progress.completed == 0
            && matches!(self.progress.set, RowsState::Snapshot | RowsState::Awaited)
    }

    /// Sends all in one write, and if the session allows it in one message, which PostgreSQL runs
    /// as one transaction.
    async fn at_once(&mut self) -> Result<Summary, AttemptError> {
        let is_limited = self.statement.route != Route::CursorAtOnce;
        let is_one = self.lease.session().takes_one_message();
        let size = WRAPPER_CAPACITY + self.comment.len() + self.statement.text.len();
        let mut sql = String::with_capacity(size);
        sql.push_str(&self.comment);
        if is_one {
            self.write_opening("SET TRANSACTION", &mut sql);
            if self.wants_snapshot() {
                self.progress.set = RowsState::Snapshot;
            }
        } else {
            // Repeated, since this message is already sent if the one before it fails.
            self.write_access("SET TRANSACTION", &mut sql);
        }
        sql.push_str("; ");
        let lead = if is_limited {
            self.write_limited(&mut sql)
        } else {
            self.write_cursor(&mut sql)
        };
        if !is_one {
            self.queue_opening();
        }
        self.lease.begin().queue(&sql);
        // It may be long, and the answer may take long.
        drop(sql);
        if !is_one {
            self.lease.begin().queue("COMMIT");
        }
        self.flush_and_open(!is_one).await?;
        if let Err(error) = self.read(0).await {
            let is_understood = self.header.is_some();
            let error = QueryError::new(error, Phase::Run, lead);
            let is_unfit = match (is_limited, is_one) {
                // PostgreSQL parses all of a message before it runs any of it.
                (true, true) => self.progress.completed < 1,
                (true, false) => !is_understood && is_syntax(&error),
                // The commands before the text, and DECLARE.
                (false, true) => {
                    let commands = self.lease.session().prefix.commands;
                    let snapshot = u32::from(self.wants_snapshot());
                    self.progress.completed < commands + snapshot + 3
                }
                (false, false) => self.progress.completed < 2,
            };
            return Err(match self.stop(error, is_unfit, false).await {
                AttemptError::Failed(error) if is_limited && !is_understood => {
                    self.find_phase(error).await
                }
                stop => stop,
            });
        }
        self.finish(false).await
    }

    /// Sends the queued messages, and reads the answer to BEGIN if there is one.
    async fn flush_and_open(&mut self, has_opening: bool) -> Result<(), AttemptError> {
        let evidence = self.lease.call().evidence().cloned();
        let client = self.lease.begin();
        let opened = async {
            client.flush().await?;
            if !has_opening {
                return Ok(());
            }
            loop {
                match client.next().await? {
                    Some(Event::Ready) | None => return Ok(()),
                    Some(Event::Row(row)) => {
                        if let Some(evidence) = &evidence {
                            evidence.set_snapshot(&row);
                        }
                    }
                    Some(_) => {}
                }
            }
        };
        match opened.await {
            Ok(()) if has_opening => {
                self.lease.has_answered();
                Ok(())
            }
            Ok(()) => Ok(()),
            Err(error) => {
                let error = QueryError::new(error, Phase::Begin, 0);
                Err(self.stop(error, false, false).await)
            }
        }
    }

    /// Finds out whether a text failed while running or could not be parsed.
    async fn find_phase(&mut self, error: QueryError) -> AttemptError {
        match &error {
            QueryError::Failed { report, .. }
                if !report.is_fatal() && !report.is_intervention() => {}
            _ => return AttemptError::Failed(error),
        }
        self.lease.begin().queue_parse(&self.statement.text);
        match Box::pin(self.prove()).await {
            Ok(()) => {
                self.lease.settle();
                AttemptError::Failed(error)
            }
            Err(error) => self.stop(error, false, false).await,
        }
    }

    /// Runs the statement in two writes, a query with values in one.
    async fn steps(&mut self, route: Route) -> Result<Summary, AttemptError> {
        self.begin(route).await?;
        let mut sql = self.comment.clone();
        let is_bound = self.statement.is_bound();
        let (lead, skip) = match route {
            Route::Limited | Route::Nested => (self.write_limited(&mut sql), 0),
            Route::Cursor | Route::CursorAtOnce => (self.write_cursor(&mut sql), 0),
            _ => {
                sql.push_str(&self.statement.text);
                let lead = self.comment.len() + self.statement.lead;
                (lead, self.statement.window.offset)
            }
        };
        if is_bound {
            self.queue_bound(&sql, route);
        } else {
            self.lease.begin().queue(&sql);
        }
        drop(sql);
        let is_capped = self.statement.limit_on_changes().is_some();
        if is_capped {
            self.queue_recount();
        } else {
            self.queue_ending(route);
        }
        if self.is_pipelined(route) {
            self.flush_and_open(true).await?;
        }
        if let Err(error) = self.flush_and_read(skip).await {
            let error = QueryError::new(error, Phase::Run, lead);
            let completed = self.progress.completed;
            let has_run = is_bound && self.header.is_some() || !is_bound && completed > 0;
            let is_unfit = route.wraps() && !has_run;
            return Err(self.stop(error, is_unfit, is_capped).await);
        }
        if is_capped {
            self.check_changes().await?;
            self.queue_ending(route);
        }
        self.finish(!route.wraps()).await
    }

    /// Queues a text with values. Sent together with BEGIN, which may fail, it repeats the access.
    fn queue_bound(&mut self, sql: &str, route: Route) {
        let mut guard = String::new();
        if self.is_pipelined(route) {
            self.write_access("SET TRANSACTION", &mut guard);
        }
        let Window { offset, rows } = self.statement.window;
        let rows = i32::try_from(offset + u64::from(rows) + 1).unwrap_or(i32::MAX);
        let client = self.lease.begin();
        client.queue_first(&guard, sql, &self.statement.values, rows);
    }

    /// Returns whether BEGIN is sent with the statement: in parentheses it can only be a query.
    fn is_pipelined(&self, route: Route) -> bool {
        let is_query = matches!(route, Route::Limited | Route::Nested);
        let is_judged = self.statement.max_cost.is_some()
            || self.statement.limit_on_changes().is_some()
            || self.needs_plan();
        is_query && self.statement.is_bound() && !is_judged
    }

    /// Begins a transaction, and lets PostgreSQL parse and plan the text as far as necessary.
    async fn begin(&mut self, route: Route) -> Result<(), AttemptError> {
        // With values PostgreSQL takes one statement only.
        let is_proved = route != Route::Script && !self.statement.is_bound();
        self.progress = Progress::default();
        self.header = None;
        self.queue_opening();
        if self.is_pipelined(route) {
            return Ok(());
        }
        let is_capped = self.statement.limit_on_changes().is_some();
        if is_capped {
            self.queue_count();
        }
        if is_proved {
            self.lease.begin().queue_parse(&self.statement.text);
        }
        self.flush_and_open(true).await?;
        if is_capped && let Err(error) = self.read_count().await {
            let error = QueryError::new(error, Phase::Begin, 0);
            return Err(self.stop(error, false, true).await);
        }
        if is_proved && let Err(error) = self.prove().await {
            return Err(self.stop(error, false, true).await);
        }
        self.check_masks().await?;
        self.check_cost(route).await
    }

    fn queue_opening(&mut self) {
        let mut opening = self.comment.clone();
        self.write_opening("BEGIN", &mut opening);
        self.lease.begin().queue(&opening);
    }

    /// Reads the answer to the parsing of the text, which proves that it is one statement.
    async fn prove(&mut self) -> Result<(), QueryError> {
        let lead = self.statement.lead;
        let failed = |error| QueryError::new(error, Phase::Parse, lead);
        let client = self.lease.begin();
        client.flush().await.map_err(failed)?;
        let mut fields: Arc<[Field]> = Arc::default();
        loop {
            match client.next().await.map_err(failed)? {
                Some(Event::Columns(found)) => fields = found,
                Some(Event::Ready) | None => break,
                Some(_) => {}
            }
        }
        let (pool, statements) = (self.lease.pool(), self.statement.statements);
        self.header = Some(header(&fields, &pool, self.masked.as_mut(), statements).await);
        self.fields = Some(fields);
        Ok(())
    }

    /// Sends the queue, and passes the wanted rows to the reader.
    async fn flush_and_read(&mut self, skip: u64) -> Result<(), DriverError> {
        self.lease.begin().flush().await?;
        self.read(skip).await
    }

    /// Reads the answer to the message with the text, and passes the wanted rows to the reader.
    async fn read(&mut self, skip: u64) -> Result<(), DriverError> {
        let pool = self.lease.pool();
        let (wanted, statements) = (self.statement.window.rows, self.statement.statements);
        let evidence = self.lease.call().evidence().cloned();
        let progress = &mut self.progress;
        let client = self.lease.begin();
        client.set_max_row_bytes(self.statement.max_row_bytes);
        client.set_large_rows(self.statement.large_rows.as_ref());
        client.set_notices(self.statement.notices.as_ref());
        while let Some(event) = client.next().await? {
            match event {
                Event::Ready => break,
                Event::Completed { rows } => progress.complete(rows),
                Event::Columns(fields) if progress.set == RowsState::Awaited => {
                    self.header =
                        Some(header(&fields, &pool, self.masked.as_mut(), statements).await);
                }
                Event::Columns(_) | Event::Parameters(_) => {}
                _ if progress.set == RowsState::Over => {}
                Event::Row(row) if progress.set == RowsState::Snapshot => {
                    if let Some(evidence) = &evidence {
                        evidence.set_snapshot(&row);
                    }
                    progress.set = RowsState::Awaited;
                }
                Event::Oversized { bytes } => {
                    progress.has_more = true;
                    if progress.skipped >= skip && progress.rows < wanted {
                        progress.oversized = Some(bytes);
                        progress.set = RowsState::Over;
                        if self.statement.access == Access::ReadOnly {
                            // The lease is dropped in mid-result, which cancels the rest.
                            return Ok(());
                        }
                    }
                }
                Event::Row(row) => {
                    if progress.set == RowsState::Awaited {
                        progress.set = RowsState::Arriving;
                        progress.has_head = true;
                        let header = self.header.clone().unwrap_or_default();
                        self.handoff.put(Item::head(header)).await;
                    }
                    if progress.skipped < skip {
                        progress.skipped += 1;
                    } else if progress.rows < wanted {
                        progress.rows += 1;
                        self.handoff.put(Item::Row(row)).await;
                    } else {
                        progress.has_more = true;
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the transaction, and returns the summary.
    async fn finish(&mut self, may_be_command: bool) -> Result<Summary, AttemptError> {
        if self.progress.oversized.is_none() || self.statement.access == Access::ReadWrite {
            self.end().await?;
        }
        Ok(self.summarize(may_be_command).await)
    }

    /// Returns the summary, and sends the columns if there was no row.
    async fn summarize(&mut self, may_be_command: bool) -> Summary {
        let progress = &self.progress;
        let header = self.header.take().unwrap_or_default();
        let is_command = may_be_command && progress.set == RowsState::Awaited && header.is_empty();
        if !progress.has_head {
            self.handoff
                .put(Item::Head {
                    header,
                    is_command,
                    extent: None,
                })
                .await;
        }
        Summary {
            rows: progress.rows,
            has_more: progress.has_more,
            oversized: progress.oversized,
            affected: if is_command { progress.affected } else { 0 },
            processed: progress.processed,
            command: if is_command {
                tag(&self.statement.command, progress.affected)
            } else {
                String::new()
            },
        }
    }
}

// === impl Progress ===

impl Progress {
    fn complete(&mut self, rows: u64) {
        self.completed += 1;
        if self.set == RowsState::Arriving {
            self.set = RowsState::Over;
            self.processed = rows;
        } else {
            self.affected += rows;
        }
    }
}

/// Looks up unknown types of a result on another connection, since this one is in the middle of an
/// answer.
async fn learn_types(fields: &[Field], pool: &Pool) {
    let unknown: Vec<u32> = fields
        .iter()
        .map(|field| field.type_oid)
        .filter(|&oid| pool.catalogue().kind(oid).is_none())
        .collect();
    if !unknown.is_empty()
        // Boxed, since it runs only once for each type.
        && let Err(error) = Box::pin(learn(&unknown, pool)).await
    {
        // In this result, arrays of such types are written as PostgreSQL prints them.
        warn!(
            error = &*error,
            database = pool.database().name(),
            "cannot look up types"
        );
    }
}

async fn learn(oids: &[u32], pool: &Pool) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut side_connection = pool.side_connection().await?;
    let limit = pool.database().settings().connect_timeout;
    time::timeout(limit, pool.catalogue().learn(oids, &mut side_connection)).await??;
    Ok(())
}

/// Returns whether PostgreSQL could not parse a text (`syntax_error`).
fn is_syntax(error: &QueryError) -> bool {
    matches!(error, QueryError::Failed { report, .. } if report.sqlstate == "42601")
}

/// Returns the command tag, built from the command and the count.
fn tag(command: &str, affected: u64) -> String {
    match command {
        "INSERT" => format!("INSERT 0 {affected}"),
        "UPDATE" | "DELETE" | "MERGE" => format!("{command} {affected}"),
        _ => command.to_owned(),
    }
}
