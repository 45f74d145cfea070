//! The conversation with PostgreSQL about one statement.

mod account;
mod spool;

use std::{error::Error, fmt::Write as _, pin::Pin, sync::Arc};

use futures_util::TryStreamExt as _;
use sqlx::{
    AssertSqlSafe, Connection as _, Either, Executor as _, Row as _, SqlSafeStr as _,
    Statement as _, postgres::PgRow,
};
use tokio::time;
use tracing::warn;

use self::account::Account;
use super::{Access, Route, Statement, Window};
use crate::pg::{
    error::{Phase, QueryError},
    lease::{Lease, Pool, milliseconds},
    rows::{Column, Desk, Found, Summary, type_oid},
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
    desk: Desk,
) -> Result<Summary, QueryError> {
    let account = Account::open(&lease, &statement);
    let mut run = Run {
        lease,
        desk,
        tally: Tally::default(),
        columns: None,
        statement,
    };
    let mut done = run.go().await;
    if let Err(Stop::Failed(error)) = &done
        && run.found_nobody(error)
    {
        run.lease.renew().await?;
        done = run.go().await;
    }
    let done = done.map_err(|stop| match stop {
        Stop::Failed(error) => error,
        Stop::Unfit => unreachable!("only a cursor can be unfit"),
    });
    account.close(&done);
    done
}

struct Run {
    lease: Lease,
    statement: Statement,
    desk: Desk,
    tally: Tally,
    /// What PostgreSQL said when it parsed the text.
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
struct Tally {
    /// Commands that have completed.
    completed: u32,
    set: Set,
    skipped: u64,
    rows: u32,
    has_more: bool,
    affected: u64,
}

/// The rows of one command: those of a second one are not part of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    #[default]
    Awaited,
    Arriving,
    Over,
}

/// A message, and where in it the caller's text begins.
struct Message {
    sql: String,
    lead: usize,
}

impl Run {
    async fn go(&mut self) -> Result<Summary, Stop> {
        match self.statement.route() {
            Route::Limited | Route::Flight => match self.flight().await {
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
    fn found_nobody(&self, error: &QueryError) -> bool {
        let is_dead = match error {
            QueryError::Connection(sqlx::Error::Io(_)) => true,
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

    /// All in one message, which PostgreSQL makes one transaction of by itself.
    async fn flight(&mut self) -> Result<Summary, Stop> {
        let mut sql = String::with_capacity(ROOM + self.statement.text.len());
        self.write_opening("SET TRANSACTION", &mut sql);
        sql.push_str("; ");
        let is_limited = self.statement.route == Route::Limited;
        let lead = if is_limited {
            self.write_limited(&mut sql)
        } else {
            self.write_cursor(&mut sql)
        };
        let message = Message { sql, lead };
        if let Err(error) = self.read(message, 0).await {
            let error = QueryError::new(error, Phase::Run, lead);
            // Twice SET; then the text runs, or DECLARE does, and after it the text.
            let is_unfit = self.tally.completed < if is_limited { 1 } else { 3 };
            return Err(match self.stop(error, is_unfit, false).await {
                Stop::Failed(error) if is_limited => self.judge(error).await,
                stop => stop,
            });
        }
        self.lease.settle();
        if self.tally.set == Set::Awaited {
            // PostgreSQL names the columns of no rows too, and the driver keeps it to itself.
            Box::pin(self.prove()).await.map_err(Stop::Failed)?;
            self.lease.settle();
        }
        self.finish(false).await
    }

    /// Whether a text failed, or was not understood to begin with.
    async fn judge(&mut self, error: QueryError) -> Stop {
        let may_not_have_run = self.tally.set == Set::Awaited;
        match &error {
            QueryError::Failed { report, .. }
                if may_not_have_run && !report.is_fatal() && !report.is_intervention() => {}
            _ => return Stop::Failed(error),
        }
        match Box::pin(self.prove()).await {
            Ok(()) => {
                self.lease.settle();
                Stop::Failed(error)
            }
            Err(error) => self.stop(error, false, false).await,
        }
    }

    /// One thing after another.
    async fn steps(&mut self, route: Route) -> Result<Summary, Stop> {
        self.begin().await?;
        if route != Route::Script
            && let Err(error) = self.prove().await
        {
            return Err(self.stop(error, false, true).await);
        }
        let (message, skip) = if route == Route::Cursor {
            let mut sql = String::new();
            let lead = self.write_cursor(&mut sql);
            (Message { sql, lead }, 0)
        } else {
            let sql = self.statement.text.to_string();
            let lead = self.statement.lead;
            (Message { sql, lead }, self.statement.window.offset)
        };
        let lead = message.lead;
        if let Err(error) = self.read(message, skip).await {
            let is_unfit = route == Route::Cursor && self.tally.completed == 0;
            let error = QueryError::new(error, Phase::Run, lead);
            return Err(self.stop(error, is_unfit, true).await);
        }
        let ending = if route == Route::Trial {
            "ROLLBACK"
        } else {
            "COMMIT"
        };
        self.end(ending).await?;
        self.finish(route != Route::Cursor).await
    }

    async fn begin(&mut self) -> Result<(), Stop> {
        self.tally = Tally::default();
        let mut opening = String::new();
        self.write_opening("BEGIN", &mut opening);
        if let Err(error) = self.execute(opening).await {
            let error = QueryError::new(error, Phase::Begin, 0);
            return Err(self.stop(error, false, false).await);
        }
        Ok(())
    }

    async fn end(&mut self, ending: &str) -> Result<(), Stop> {
        if let Err(error) = self.execute(ending.to_owned()).await {
            // It has ended, one way or the other.
            let error = QueryError::new(error, Phase::Commit, 0);
            return Err(self.stop(error, false, false).await);
        }
        self.lease.settle();
        Ok(())
    }

    fn write_opening(&self, command: &str, sql: &mut String) {
        let access = match self.statement.access {
            Access::ReadOnly => " READ ONLY; SET LOCAL statement_timeout = ",
            Access::ReadWrite => " READ WRITE; SET LOCAL statement_timeout = ",
        };
        sql.push_str(command);
        sql.push_str(access);
        let timeout = milliseconds(self.statement.timeout);
        write!(sql, "{timeout}").expect(INFALLIBLE);
    }

    /// Writes what is limited, and returns where in it the caller's text begins.
    fn write_limited(&self, sql: &mut String) -> usize {
        sql.push('(');
        let lead = sql.len() + self.statement.lead;
        sql.push_str(&self.statement.text);
        let Window { offset, rows } = self.statement.window;
        // On a line of its own, behind whatever comment the text ends with.
        write!(sql, "\n) LIMIT {}", rows + 1).expect(INFALLIBLE);
        // PostgreSQL takes its time for an OFFSET of nothing, too.
        if offset > 0 {
            write!(sql, " OFFSET {offset}").expect(INFALLIBLE);
        }
        lead
    }

    /// Writes what goes through a cursor, and returns where in it the caller's text begins.
    fn write_cursor(&self, sql: &mut String) -> usize {
        write!(sql, "DECLARE {CURSOR} NO SCROLL CURSOR FOR ").expect(INFALLIBLE);
        let lead = sql.len() + self.statement.lead;
        sql.push_str(&self.statement.text);
        // On a line of its own, behind whatever comment the text ends with.
        sql.push('\n');
        let window = self.statement.window;
        if window.offset > 0 {
            let offset = window.offset;
            write!(sql, "; MOVE FORWARD {offset} IN {CURSOR}").expect(INFALLIBLE);
        }
        let rows = window.rows + 1;
        write!(sql, "; FETCH FORWARD {rows} FROM {CURSOR}").expect(INFALLIBLE);
        lead
    }

    async fn execute(&mut self, sql: String) -> sqlx::Result<()> {
        let connection = self.lease.begin();
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(sql)))
            .await?;
        self.lease.has_answered();
        Ok(())
    }

    /// Has PostgreSQL parse the text, which proves that it is one statement.
    async fn prove(&mut self) -> Result<(), QueryError> {
        let pool = self.lease.pool();
        let text = AssertSqlSafe(Arc::clone(&self.statement.text)).into_sql_str();
        let connection = self.lease.begin();
        let proof = connection
            .prepare(text)
            .await
            .map_err(|error| QueryError::new(error, Phase::Parse, self.statement.lead))?;
        // Forgotten at once, here and in PostgreSQL: a proof holds for now only, since settings
        // of the session decide what ends a string.
        connection
            .clear_cached_statements()
            .await
            .map_err(|error| QueryError::new(error, Phase::Parse, 0))?;
        self.columns = Some(
            proof
                .columns()
                .iter()
                .map(|column| Column::new(column, |oid| pool.catalogue().kind(oid)))
                .collect(),
        );
        Ok(())
    }

    /// Sends a message, and hands on the rows that are wanted.
    async fn read(&mut self, message: Message, skip: u64) -> sqlx::Result<()> {
        let pool = self.lease.pool();
        let wanted = self.statement.window.rows;
        let tally = &mut self.tally;
        let mut results = sqlx::raw_sql(AssertSqlSafe(message.sql)).fetch_many(self.lease.begin());
        while let Some(result) = results.try_next().await? {
            let row = match result {
                Either::Left(done) => {
                    tally.complete(done.rows_affected());
                    continue;
                }
                Either::Right(row) => row,
            };
            if tally.set == Set::Over {
                continue;
            }
            if tally.set == Set::Awaited {
                tally.set = Set::Arriving;
                let columns = columns(&row, &pool).await;
                self.desk
                    .leave(Found::Head {
                        columns,
                        is_command: false,
                        extent: None,
                    })
                    .await;
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
        Ok(())
    }

    /// Leaves the connection as it was before the statement that failed, if that can be;
    /// `has_begun` says that a transaction is open.
    async fn stop(&mut self, error: QueryError, is_unfit: bool, has_begun: bool) -> Stop {
        let QueryError::Failed { report, .. } = &error else {
            if matches!(&error, QueryError::Connection(sqlx::Error::Io(_))) {
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
        if has_begun && let Err(lost) = self.execute("ROLLBACK".to_owned()).await {
            self.lease.give_up();
            warn!(
                error = &lost as &dyn Error,
                "a transaction could not be rolled back"
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
        let tally = &self.tally;
        let columns = self.columns.take().unwrap_or_default();
        let is_command = may_be_command && tally.set == Set::Awaited && columns.is_empty();
        if tally.set == Set::Awaited {
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
            affected: if is_command { tally.affected } else { 0 },
            command: if is_command {
                tag(&self.statement.command, tally.affected)
            } else {
                String::new()
            },
        })
    }
}

// === impl Tally ===

impl Tally {
    fn complete(&mut self, rows: u64) {
        self.completed += 1;
        if self.set == Set::Arriving {
            self.set = Set::Over;
        } else {
            self.affected += rows;
        }
    }
}

/// The columns of a row. Types nobody has met before are asked about on another connection,
/// since this one is in the middle of the result.
async fn columns(row: &PgRow, pool: &Pool) -> Arc<[Column]> {
    let unknown: Vec<u32> = row
        .columns()
        .iter()
        .map(type_oid)
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
    row.columns()
        .iter()
        .map(|column| Column::new(column, |oid| pool.catalogue().kind(oid)))
        .collect()
}

async fn learn(oids: &[u32], pool: &Pool) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut aside = pool.aside().await?;
    let limit = pool.database().settings().connect_timeout;
    time::timeout(limit, pool.catalogue().learn(oids, &mut aside)).await??;
    Ok(())
}

/// The command tag, rebuilt: the driver keeps only the count.
fn tag(command: &str, affected: u64) -> String {
    match command {
        "INSERT" => format!("INSERT 0 {affected}"),
        "UPDATE" | "DELETE" | "MERGE" => format!("{command} {affected}"),
        _ => command.to_owned(),
    }
}
