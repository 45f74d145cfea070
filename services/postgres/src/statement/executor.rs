//! The conversation with PostgreSQL about one statement.

mod spool;
mod statement_log;
mod text;

use std::{error::Error, pin::Pin, sync::Arc};

use tokio::time;
use tracing::{error, warn};
use ziggurat_sql::Refusal;

use self::statement_log::Account;
use super::{Access, Route, Statement, Window};
use crate::{
    driver::{DriverError, Event, Field},
    error::{Phase, QueryError},
    pool::{Lease, Pool},
    rows::{Column, Found, Handoff, Summary},
};

/// The cursor of a transaction. Its name only has to differ from those callers declare.
const CURSOR: &str = "ziggurat_cursor";

/// What is ours in a message, and some more.
const ROOM: usize = 256;

const INFALLIBLE: &str = "a string takes everything";

/// Runs a statement to its end.
pub(super) async fn drive(
    lease: Lease,
    statement: Statement,
    desk: Handoff,
) -> Result<Summary, QueryError> {
    let account = Account::open(&lease, &statement);
    let mut run = Run {
        lease,
        desk,
        tally: Progress::default(),
        columns: None,
        statement,
    };
    let mut done = run.go().await;
    if let Err(Stop::Failed(error)) = &done
        && run.found_dead(error)
    {
        run.lease.renew().await?;
        done = run.go().await;
    }
    let done = done.map_err(|stop| match stop {
        Stop::Failed(error) => error,
        Stop::Unfit => unreachable!("only a cursor can be unfit"),
    });
    if let Err(QueryError::Connection(error)) = &done {
        let database = run.lease.database().name();
        let error = error as &dyn Error;
        error!(error, database, "the connection to a database was lost");
    }
    account.close(&done);
    done
}

struct Run {
    lease: Lease,
    statement: Statement,
    desk: Handoff,
    tally: Progress,
    /// Columns, known once PostgreSQL has parsed the text or before its first row.
    columns: Option<Arc<[Column]>>,
}

/// Why a way was not gone to its end.
enum Stop {
    /// The text is nothing a cursor takes. None of it has run.
    Unfit,
    Failed(QueryError),
}

/// What has come in of one message.
#[derive(Default)]
struct Progress {
    /// Commands that have completed.
    completed: u32,
    set: Set,
    /// It is known what the result looks like, and to the reader too.
    has_head: bool,
    skipped: u64,
    rows: u32,
    has_more: bool,
    affected: u64,
    /// The size of a row that was passed over.
    oversized: Option<usize>,
}

/// The rows of one command: those of a second one are not part of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    #[default]
    Awaited,
    Arriving,
    Over,
}

impl Run {
    async fn go(&mut self) -> Result<Summary, Stop> {
        self.tally = Progress::default();
        self.columns = None;
        if self.statement.outlives
            && self.lease.session().is_shared
            && self.statement.access == Access::ReadWrite
        {
            return Err(Stop::Failed(Refusal::Session.into()));
        }
        match self.statement.route() {
            Route::Limited | Route::Nested | Route::Flight => match self.flight().await {
                Err(Stop::Unfit) => self.slowly(Route::Plain).await,
                done => done,
            },
            Route::Cursor | Route::Spool => match self.slowly(self.statement.route()).await {
                Err(Stop::Unfit) => self.slowly(Route::Plain).await,
                done => done,
            },
            route => self.slowly(route).await,
        }
    }

    /// Boxed: the short way is the usual one, and should not carry the long one along.
    fn slowly(
        &mut self,
        route: Route,
    ) -> Pin<Box<impl Future<Output = Result<Summary, Stop>> + Send>> {
        Box::pin(async move {
            match route {
                Route::Spool => self.spool().await,
                route => self.steps(route).await,
            }
        })
    }

    /// Whether the connection was dead before it got the statement, which may then be sent
    /// again. What only reads may run twice, should it be that it did get there.
    fn found_dead(&self, error: &QueryError) -> bool {
        let is_dead = match error {
            QueryError::Connection(DriverError::Io(_)) => true,
            // What a server that ended it had left in the line.
            QueryError::Failed { report, .. } => report.is_fatal() && report.is_intervention(),
            _ => false,
        };
        is_dead
            && self.statement.access == Access::ReadOnly
            && self.lease.is_untested()
            && self.tally.completed == 0
            && self.tally.set == Set::Awaited
    }

    /// All in one write, and where the session allows it in one message, of which PostgreSQL
    /// makes one transaction by itself.
    async fn flight(&mut self) -> Result<Summary, Stop> {
        let is_limited = self.statement.route != Route::Flight;
        let is_one = self.lease.session().takes_one_message();
        let mut sql = String::with_capacity(ROOM + self.statement.text.len());
        if is_one {
            self.write_opening("SET TRANSACTION", &mut sql);
        } else {
            // Once more, should the message before it fail: this one is sent by then.
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
        if !is_one {
            self.lease.begin().queue("COMMIT");
        }
        self.flush_and_open(!is_one).await?;
        if let Err(error) = self.read(0).await {
            let is_understood = self.columns.is_some();
            let error = QueryError::new(error, Phase::Run, lead);
            let is_unfit = match (is_limited, is_one) {
                // PostgreSQL reads all of a message before it runs any of it.
                (true, true) => self.tally.completed < 1,
                (true, false) => !is_understood && is_syntax(&error),
                // What is ours, and DECLARE.
                (false, true) => self.tally.completed < 3,
                (false, false) => self.tally.completed < 2,
            };
            return Err(match self.stop(error, is_unfit, false).await {
                Stop::Failed(error) if is_limited && !is_understood => self.judge(error).await,
                stop => stop,
            });
        }
        self.finish(false).await
    }

    /// Sends what is queued, and reads the answer to BEGIN if there is one.
    async fn flush_and_open(&mut self, has_opening: bool) -> Result<(), Stop> {
        let client = self.lease.begin();
        let opened = async {
            client.flush().await?;
            if !has_opening {
                return Ok(());
            }
            loop {
                if let Some(Event::Ready) | None = client.next().await? {
                    return Ok(());
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

    /// Whether a text failed, or was not understood to begin with.
    async fn judge(&mut self, error: QueryError) -> Stop {
        match &error {
            QueryError::Failed { report, .. }
                if !report.is_fatal() && !report.is_intervention() => {}
            _ => return Stop::Failed(error),
        }
        self.lease.begin().queue_parse(&self.statement.text);
        match Box::pin(self.prove()).await {
            Ok(()) => {
                self.lease.settle();
                Stop::Failed(error)
            }
            Err(error) => self.stop(error, false, false).await,
        }
    }

    /// One thing after another, in two writes.
    async fn steps(&mut self, route: Route) -> Result<Summary, Stop> {
        self.begin(route != Route::Script).await?;
        let (sql, lead, skip) = if route == Route::Cursor {
            let mut sql = String::new();
            let lead = self.write_cursor(&mut sql);
            (sql, lead, 0)
        } else {
            let sql = self.statement.text.to_string();
            (sql, self.statement.lead, self.statement.window.offset)
        };
        let client = self.lease.begin();
        client.queue(&sql);
        self.queue_ending(route);
        if let Err(error) = self.read_on(skip).await {
            let is_unfit = route == Route::Cursor && self.tally.completed == 0;
            let error = QueryError::new(error, Phase::Run, lead);
            return Err(self.stop(error, is_unfit, false).await);
        }
        self.finish(route != Route::Cursor).await
    }

    /// Begins, and has PostgreSQL parse the text if that is wanted.
    async fn begin(&mut self, is_proved: bool) -> Result<(), Stop> {
        self.tally = Progress::default();
        self.columns = None;
        self.queue_opening();
        if is_proved {
            self.lease.begin().queue_parse(&self.statement.text);
        }
        self.flush_and_open(true).await?;
        if is_proved && let Err(error) = self.prove().await {
            return Err(self.stop(error, false, true).await);
        }
        Ok(())
    }

    fn queue_opening(&mut self) {
        let mut opening = String::new();
        self.write_opening("BEGIN", &mut opening);
        self.lease.begin().queue(&opening);
    }

    /// Ends the transaction, and everything the statement may have done to its session.
    fn queue_ending(&mut self, route: Route) {
        let is_shared = self.lease.session().is_shared;
        let is_read_only = self.statement.access == Access::ReadOnly;
        let is_undone = route == Route::Trial || is_shared && is_read_only;
        let client = self.lease.begin();
        client.queue(if is_undone { "ROLLBACK" } else { "COMMIT" });
        if !is_shared {
            client.queue("DISCARD ALL");
        }
    }

    /// Reads the answers to what ends a statement: it has ended, one way or the other.
    async fn end(&mut self) -> Result<(), Stop> {
        let ended = async {
            let client = self.lease.begin();
            client.flush().await?;
            client.rows().await
        };
        if let Err(error) = ended.await {
            let error = QueryError::new(error, Phase::Commit, 0);
            return Err(self.stop(error, false, false).await);
        }
        self.lease.has_answered();
        self.lease.settle();
        Ok(())
    }

    /// Reads what PostgreSQL says of the text, which proves that it is one statement.
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
        self.columns = Some(columns(&fields, &self.lease.pool()).await);
        Ok(())
    }

    /// Sends what is queued, and hands on the rows that are wanted.
    async fn read_on(&mut self, skip: u64) -> Result<(), DriverError> {
        self.lease.begin().flush().await?;
        self.read(skip).await
    }

    /// Reads the answer to the message with the text, and hands on the rows that are wanted.
    async fn read(&mut self, skip: u64) -> Result<(), DriverError> {
        let pool = self.lease.pool();
        let wanted = self.statement.window.rows;
        let tally = &mut self.tally;
        let client = self.lease.begin();
        client.set_max_row_bytes(self.statement.max_row_bytes);
        client.set_large_rows(self.statement.large_rows.as_ref());
        while let Some(event) = client.next().await? {
            match event {
                Event::Ready => break,
                Event::Completed { rows } => tally.complete(rows),
                Event::Columns(fields) if tally.set == Set::Awaited => {
                    self.columns = Some(columns(&fields, &pool).await);
                }
                Event::Columns(_) => {}
                _ if tally.set == Set::Over => {}
                Event::Oversized { bytes } => {
                    tally.has_more = true;
                    if tally.skipped >= skip && tally.rows < wanted {
                        tally.oversized = Some(bytes);
                        tally.set = Set::Over;
                        if self.statement.access == Access::ReadOnly {
                            // The lease is in the middle of the result: the rest is cancelled.
                            return Ok(());
                        }
                    }
                }
                Event::Row(row) => {
                    if tally.set == Set::Awaited {
                        tally.set = Set::Arriving;
                        tally.has_head = true;
                        let columns = self.columns.clone().unwrap_or_default();
                        self.desk.leave(Found::head(columns)).await;
                    }
                    if tally.skipped < skip {
                        tally.skipped += 1;
                    } else if tally.rows < wanted {
                        tally.rows += 1;
                        self.desk.leave(Found::Row(row)).await;
                    } else {
                        tally.has_more = true;
                    }
                }
            }
        }
        Ok(())
    }

    /// Leaves the connection as it was before the statement that failed, if that can be;
    /// `has_begun` says that a transaction is open.
    async fn stop(&mut self, error: QueryError, is_unfit: bool, has_begun: bool) -> Stop {
        let QueryError::Failed { report, .. } = &error else {
            if matches!(&error, QueryError::Connection(DriverError::Io(_))) {
                self.lease.give_up();
            }
            // Else it is not known what goes on at the other end: the lease stays busy, and
            // is cancelled and closed.
            return Stop::Failed(error);
        };
        let is_intervention = report.is_intervention();
        if report.is_fatal() {
            self.lease.give_up();
            return Stop::Failed(error);
        }
        self.lease.has_answered();
        let client = self.lease.begin();
        if has_begun {
            client.queue("ROLLBACK");
        }
        if let Err(lost) = client.drain().await {
            self.lease.give_up();
            warn!(
                error = &lost as &dyn Error,
                "the rest of an answer could not be read"
            );
            return Stop::Failed(error);
        }
        self.lease.settle();
        if is_unfit && !is_intervention {
            Stop::Unfit
        } else {
            Stop::Failed(error)
        }
    }

    /// Sums up, and says what the columns are if no row has.
    async fn finish(&mut self, may_be_command: bool) -> Result<Summary, Stop> {
        if self.tally.oversized.is_none() || self.statement.access == Access::ReadWrite {
            self.end().await?;
        }
        let tally = &self.tally;
        let columns = self.columns.take().unwrap_or_default();
        let is_command = may_be_command && tally.set == Set::Awaited && columns.is_empty();
        if !tally.has_head {
            self.desk
                .leave(Found::Head {
                    columns,
                    is_command,
                    extent: None,
                })
                .await;
        }
        Ok(Summary {
            rows: tally.rows,
            has_more: tally.has_more,
            oversized: tally.oversized,
            affected: if is_command { tally.affected } else { 0 },
            command: if is_command {
                tag(&self.statement.command, tally.affected)
            } else {
                String::new()
            },
        })
    }
}

// === impl Progress ===

impl Progress {
    fn complete(&mut self, rows: u64) {
        self.completed += 1;
        if self.set == Set::Arriving {
            self.set = Set::Over;
        } else {
            self.affected += rows;
        }
    }
}

/// The columns of a result. Unknown types are asked about on another connection, since this one
/// is in the middle of an answer.
async fn columns(fields: &[Field], pool: &Pool) -> Arc<[Column]> {
    let unknown: Vec<u32> = fields
        .iter()
        .map(|field| field.type_oid)
        .filter(|&oid| pool.catalogue().kind(oid).is_none())
        .collect();
    if !unknown.is_empty()
        // Boxed: once for each type.
        && let Err(error) = Box::pin(learn(&unknown, pool)).await
    {
        // Arrays of such types look the way PostgreSQL prints them, this once.
        warn!(
            error = &*error,
            database = pool.database().name(),
            "types could not be looked up"
        );
    }
    fields
        .iter()
        .map(|field| Column::new(field, |oid| pool.catalogue().kind(oid)))
        .collect()
}

async fn learn(oids: &[u32], pool: &Pool) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut side_connection = pool.side_connection().await?;
    let limit = pool.database().settings().connect_timeout;
    time::timeout(limit, pool.catalogue().learn(oids, &mut side_connection)).await??;
    Ok(())
}

/// Tells whether PostgreSQL did not understand a text (`syntax_error`).
fn is_syntax(error: &QueryError) -> bool {
    matches!(error, QueryError::Failed { report, .. } if report.sqlstate == "42601")
}

/// The command tag, rebuilt from the command and the count.
fn tag(command: &str, affected: u64) -> String {
    match command {
        "INSERT" => format!("INSERT 0 {affected}"),
        "UPDATE" | "DELETE" | "MERGE" => format!("{command} {affected}"),
        _ => command.to_owned(),
    }
}
