//! Runs the SQL text of a caller.
//!
//! ```no_run
//! use futures_util::TryStreamExt as _;
//! use ziggurat_postgres::{error::QueryError, pool::Pool, statement::Statement, tsv::Format};
//!
//! # async fn example(pool: Pool) -> Result<(), QueryError> {
//! let statement = Statement::new(pool.database(), "SELECT id, name FROM book;")?;
//! let mut rows = statement.run(pool.lease().await?).await?;
//! let mut tsv = String::new();
//! rows.write_header(&mut tsv, Format::default());
//! while let Some(row) = rows.try_next().await? {
//!     tsv.push('\n');
//!     row.write_tsv(&mut tsv, Format::default())?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # One message
//!
//! A query without a `;` in its text is sent as one message, which PostgreSQL runs as one
//! transaction, in one round trip: set the transaction to read-only, set its timeout, run the text
//! in parentheses with a LIMIT behind them, for one row more than wanted. Without a `;` PostgreSQL
//! can see only one statement there, whatever quotes and comments it has, and a text that begins
//! with a parenthesis can only be a query. PostgreSQL parses the message before it runs any of it,
//! so nothing runs if the syntax is wrong. The LIMIT applies to the text itself: its order is kept,
//! and PostgreSQL plans for the number of rows that are wanted.
//!
//! A text with its own LIMIT or OFFSET cannot get another one. It becomes a subquery, or a cursor
//! from which the rows are fetched; a cursor costs PostgreSQL an eighth more.
//!
//! # Two writes
//!
//! All other texts, and those that PostgreSQL cannot parse as one message, are sent in two writes:
//! begin, and let PostgreSQL parse the text alone, which it does for one statement only; then run,
//! commit, and reset the session (`DISCARD ALL`), so that no change of the session outlives the
//! call. This also distinguishes a text that could not be parsed from one that failed while
//! running, and all positions refer to the caller's text alone. On a database that allows writes
//! the text may have several statements; the first one that returns rows provides the rows.
//!
//! # Values
//!
//! A text with values for `$1`, `$2` and so on is sent with the extended protocol, a query in one
//! write: begin, the text with a LIMIT, and the end of the transaction. A text that takes no LIMIT
//! runs as it is, in a second write, and is asked for its first rows. The values never become text
//! of a statement.
//!
//! # Costs
//!
//! A text with a limit on its cost is sent in three writes: PostgreSQL parses it, then plans it in
//! the same transaction (`EXPLAIN`), with the LIMIT that it will have, and then runs it.
//!
//! # Changed rows
//!
//! A text with a limit on the rows that it changes is sent in three writes: begin, with the counters
//! of PostgreSQL so far; the text, with messages that let deferred triggers run and ask for counters
//! and locks; and the commit.
//!
//! # Settings
//!
//! Each statement sends its settings as `SET LOCAL`, so none stays on the connection. Behind a
//! pooler that assigns connections per transaction, they are sent in a message before the text,
//! read-only transactions end with ROLLBACK, which undoes a `SET`, and statements that would change
//! the session are refused.
//!
//! # Large results
//!
//! If an operator allows more than [`MAX_ROWS`] rows, their number is sent before the rows, but
//! they must not all be held in memory. So PostgreSQL keeps them for the transaction: the text
//! becomes a materialized WITH query behind a cursor, a MOVE to its end counts the rows, and they
//! are fetched in batches as they are read. A scrolling cursor alone would not work, since moving
//! back may run the text again, with its volatile functions. A text that fails does so before its
//! first row is sent.
//!
//! # Rows and errors
//!
//! A query stops after the last wanted row, and one that fails may have sent rows before. A cursor
//! sends no rows then: PostgreSQL collects the rows of a FETCH before it sends them. Without a
//! LIMIT or a cursor (EXPLAIN, SHOW, RETURNING) PostgreSQL sends all rows, and those beyond the
//! limit are dropped as they arrive.
//!
//! A read-only EXPLAIN is rolled back: `EXPLAIN ANALYZE CREATE TABLE … AS` runs what it explains,
//! and PostgreSQL does not check there whether the transaction is read-only.

mod executor;
mod masked_columns;
mod route;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::Arc, time::Duration};

pub use self::{
    executor::HeldRows,
    masked_columns::{MaskedColumns, mask_findings},
};

use ziggurat_sql::{Bounds, Policy, Refusal, explains};

use crate::{
    database::{Database, MAX_ROWS},
    driver::Value,
    error::QueryError,
    large_rows::LargeRows,
    notices::Notices,
    pool::Lease,
    rows::{Handoff, Rows},
    statement::route::Route,
};

/// Default limit on the size of a row.
const MAX_ROW_BYTES: usize = 4 << 20;

/// Text that may be run.
#[derive(Clone, Debug)]
#[must_use]
pub struct Statement {
    text: Arc<str>,
    /// Number of characters before the caller's text.
    lead: usize,
    access: Access,
    timeout: Option<Duration>,
    window: Window,
    /// Limit on the rows of one call.
    most: u32,
    route: Route,
    bounds: Bounds,
    command: Cow<'static, str>,
    only_reads: bool,
    defines: bool,
    /// It changes the session beyond its transaction.
    outlives: bool,
    max_row_bytes: usize,
    large_rows: Option<LargeRows>,
    notices: Option<Notices>,
    /// Number of rows above which PostgreSQL counts and keeps them first.
    counted_above: u32,
    max_cost: Option<f64>,
    /// Limit on the rows that it may change.
    max_changed_rows: Option<u64>,
    mask_mode: MaskMode,
    /// Column of the result with statements of others, of which literals are not shown.
    statements: Option<&'static str>,
    /// Values for `$1`, `$2` and so on.
    values: Arc<[Value]>,
}

/// Range of the rows of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Number of rows to skip.
    pub offset: u64,
    /// Number of rows to return.
    pub rows: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    ReadOnly,
    ReadWrite,
}

/// Masking of a statement, if columns are masked for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MaskMode {
    /// The operator's configuration for the texts of callers.
    Configured,
    /// Masked columns may only be selected, whatever is configured.
    Plan,
    /// Columns of the result are masked by their origin, whatever is configured.
    Origin,
    /// Nothing is masked.
    Off,
}

// === impl Statement ===

impl Statement {
    /// Prepares a text for a database, with the access and the limits that its operator allows.
    ///
    /// # Errors
    /// Fails when it is empty, and when it is refused before it is sent (see [`Policy`]).
    pub fn new(database: &Database, text: &str) -> Result<Self, QueryError> {
        let access = if database.allows_writes() {
            Access::ReadWrite
        } else {
            Access::ReadOnly
        };
        Self::of_caller(database, text, access)
    }

    /// Prepares a text that must not change anything, even if the operator allows writes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn read_only(database: &Database, text: &str) -> Result<Self, QueryError> {
        Self::of_caller(database, text, Access::ReadOnly)
    }

    /// Prepares a caller's text inside of a text of this server, read-only like
    /// [`read_only`](Self::read_only).
    ///
    /// The policy applies to the whole text, and a [`Report`](super::error::Report) has positions
    /// in the caller's text. `before` and `after` must keep the caller's text in its place; it is
    /// one statement in any case.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn wrapped(
        database: &Database,
        before: &str,
        text: &str,
        after: &str,
    ) -> Result<Self, QueryError> {
        let whole = format!("{before}{text}{after}");
        Ok(Self {
            lead: before.chars().count(),
            ..Self::prepare(database, &whole, Access::ReadOnly)?
        })
    }

    fn of_caller(database: &Database, text: &str, access: Access) -> Result<Self, QueryError> {
        if database.hides_plans() && explains(text) {
            return Err(Refusal::Plans.into());
        }
        Self::prepare(database, text, access)
    }

    fn prepare(database: &Database, text: &str, access: Access) -> Result<Self, QueryError> {
        let (bytes, max) = (text.len(), database.settings().max_statement_bytes);
        if bytes > max {
            return Err(Refusal::TooLong { bytes, max }.into());
        }
        let text = text
            .trim()
            .trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        if text.is_empty() {
            return Err(QueryError::Empty);
        }
        let dangerous = database.allows_dangerous_functions();
        let read_only = Policy::read_only().with_dangerous_functions(dangerous);
        let policy = match access {
            Access::ReadOnly => read_only,
            Access::ReadWrite => Policy::writable().with_dangerous_functions(dangerous),
        };
        let shape = policy.check(text)?;
        if let Some(acting) = database.acts() {
            acting.check(text)?;
        }
        if shape.copies_through_the_client() {
            return Err(Refusal::Copy.into());
        }
        let bounds = shape.bounds();
        let most = database.row_limit().max(MAX_ROWS);
        let window = Window {
            offset: 0,
            rows: database.row_limit(),
        };
        Ok(Self {
            lead: 0,
            access,
            timeout: database.query_timeout(),
            window: narrowed(bounds, window, most),
            most,
            route: Route::of(text, &shape, access),
            bounds,
            command: shape.command(),
            // What a read-only transaction does not prevent is a write too, large objects for example.
            only_reads: shape.only_reads()
                && (access == Access::ReadOnly || read_only.check(text).is_ok()),
            defines: shape.mentions_a_definition(),
            outlives: shape.outlives() && access == Access::ReadWrite,
            max_row_bytes: MAX_ROW_BYTES,
            large_rows: None,
            notices: None,
            counted_above: MAX_ROWS,
            max_cost: None,
            max_changed_rows: Some(database.settings().max_changed_rows).filter(|&max| max > 0),
            mask_mode: MaskMode::Configured,
            statements: None,
            values: Arc::default(),
            text: text.into(),
        })
    }

    /// Replaces the default window: the first rows, up to the operator's default number.
    ///
    /// It has at least one row, and no more than the operator allows or [`MAX_ROWS`], whichever is
    /// more. A text with its own LIMIT gets no other, so its rows are limited by that and start at
    /// the first; one with its own OFFSET gets no other. [`window`](Self::window) returns the
    /// result.
    pub fn with_window(mut self, window: Window) -> Self {
        self.window = narrowed(self.bounds, window, self.most);
        self
    }

    /// Sets the number of rows to return, also for a text with its own LIMIT. It is at least one, and
    /// no more than the operator allows or [`MAX_ROWS`], whichever is more.
    pub fn with_row_limit(mut self, rows: u32) -> Self {
        self.window = Window {
            offset: 0,
            rows: rows.clamp(1, self.most),
        };
        self
    }

    /// Sets the number of rows to return, also for a text with its own LIMIT and beyond what the
    /// operator allows for one call. They are sent as they come: PostgreSQL neither counts nor keeps
    /// them first.
    pub fn with_streamed_rows(mut self, rows: u32) -> Self {
        self.window = Window {
            offset: 0,
            // One more is asked for.
            rows: rows.clamp(1, u32::MAX - 1),
        };
        self.counted_above = u32::MAX;
        self
    }

    /// Returns the same statement, which also returns a list of expressions for each row that it
    /// changes. It must return no rows itself.
    pub fn returning(&self, list: &str, most: u32) -> Self {
        // The line break ends a comment at the end of the text.
        let text = format!("{}\nRETURNING {list}", self.text);
        Self {
            text: text.into(),
            window: Window {
                offset: 0,
                rows: most,
            },
            ..self.clone()
        }
    }

    /// Sets the list that gets the notices of PostgreSQL.
    pub fn with_notices(mut self, notices: &Notices) -> Self {
        self.notices = Some(notices.clone());
        self
    }

    /// Shortens the time that it may take, to a millisecond at least.
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Self {
        // For PostgreSQL zero is no limit.
        let timeout = timeout.map(|timeout| timeout.max(Duration::from_millis(1)));
        self.timeout = self.timeout.into_iter().chain(timeout).min();
        self
    }

    /// Sets the values for `$1`, `$2` and so on. The text is one statement then.
    pub fn with_values(mut self, values: Vec<Value>) -> Self {
        self.values = values.into();
        self
    }

    /// Replaces the limit on the size of a row. The result ends before a larger row. The bytes of
    /// that row are dropped as they arrive.
    pub fn with_max_row_bytes(mut self, bytes: usize) -> Self {
        self.max_row_bytes = bytes;
        self
    }

    /// Sets the limit that its large rows share with other statements.
    pub fn with_large_rows(mut self, large_rows: LargeRows) -> Self {
        self.large_rows = Some(large_rows);
        self
    }

    /// Sets a limit on the cost that PostgreSQL estimates for it, in its own unit. A statement above
    /// it does not run, nor one that PostgreSQL cannot estimate, such as a REFRESH. One that takes
    /// little whatever the tables hold, such as a SHOW or a DROP, has no cost.
    pub fn with_max_cost(mut self, max_cost: Option<f64>) -> Self {
        self.max_cost = max_cost;
        self
    }

    /// Sets a limit on the rows that it may change, unless the database has a smaller one. Above it
    /// the statement is rolled back.
    pub fn with_max_changed_rows(mut self, max_changed_rows: Option<u64>) -> Self {
        let limits = self.max_changed_rows.into_iter().chain(max_changed_rows);
        self.max_changed_rows = limits.min();
        self
    }

    /// Lets its plan decide if it may use masked columns, whatever is configured: its result tells
    /// something about values that it does not return.
    pub fn judged_by_plan(mut self) -> Self {
        self.mask_mode = MaskMode::Plan;
        self
    }

    /// Masks its result by the origins of the columns, whatever is configured: its text is the
    /// operator's.
    pub fn masked_by_origin(mut self) -> Self {
        self.mask_mode = MaskMode::Origin;
        self
    }

    /// Shows the statements in a column of its result with `?` for literals.
    pub fn normalizing(mut self, column: &'static str) -> Self {
        self.statements = Some(column);
        self
    }

    /// Masks nothing: its text is the operator's, who allows that.
    pub fn unmasked(mut self) -> Self {
        self.mask_mode = MaskMode::Off;
        self
    }

    /// Runs it in a read-only transaction, although the operator allows writes: no user has confirmed
    /// it. It must be one that [only reads](Self::only_reads) as far as its text shows. If a function
    /// writes all the same, it fails with an error that
    /// [is about a write](QueryError::is_about_a_write).
    pub fn unconfirmed(mut self) -> Self {
        self.access = Access::ReadOnly;
        if self.route == Route::Plain && self.command == "EXPLAIN" {
            self.route = Route::Trial;
        }
        self
    }

    /// Returns whether its transaction may write.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.access == Access::ReadWrite
    }

    /// Returns whether it changes a setting of the session, which lasts only for its own call.
    #[must_use]
    pub fn is_setting(&self) -> bool {
        matches!(&*self.command, "SET" | "RESET")
    }

    /// Returns its command, such as `SELECT` or `CREATE TABLE`.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Returns the text as it is sent, without the `;` at its end.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the range of rows that will be returned.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns whether it has its own LIMIT or OFFSET, so that no offset can be added.
    #[must_use]
    pub fn pages_itself(&self) -> bool {
        self.bounds.limits || self.bounds.offsets
    }

    /// Returns whether it looks read-only. A function that it calls may still write.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        self.only_reads
    }

    /// Returns whether running it may change the definition of tables; true if in doubt.
    #[must_use]
    pub fn may_define(&self) -> bool {
        self.access == Access::ReadWrite && self.defines
    }

    /// Returns whether it has values of its own.
    fn is_bound(&self) -> bool {
        !self.values.is_empty()
    }

    /// Returns the limit on the rows that it may change, if it may change some.
    fn limit_on_changes(&self) -> Option<u64> {
        self.max_changed_rows.filter(|_| self.may_write())
    }

    fn route(&self) -> Route {
        match self.route {
            // The extended protocol takes one statement, and returns its first rows without a cursor.
            Route::Script | Route::CursorAtOnce | Route::Cursor if self.is_bound() => Route::Plain,
            Route::Limited | Route::Nested | Route::CursorAtOnce | Route::Cursor
                if self.window.rows > self.counted_above
                    && !self.is_bound()
                    && self.limit_on_changes().is_none() =>
            {
                Route::Spool
            }
            route => route,
        }
    }

    /// Runs it, and returns when the columns of its result are known.
    ///
    /// # Errors
    /// Fails when PostgreSQL refuses it, or it fails before its first row. A later error comes
    /// after the rows before it. The connection stays usable then, unless it broke.
    pub fn run(
        self,
        lease: Lease,
    ) -> impl Future<Output = Result<Rows, QueryError>> + Send + 'static {
        let handoff = Handoff::default();
        let evidence = lease.call().evidence().cloned();
        if let Some(evidence) = &evidence {
            let Window { rows, offset } = self.window;
            evidence.begin(lease.database(), &self.text, rows, offset);
        }
        let driver = Box::pin(executor::execute(lease, self, handoff.clone()));
        Rows::start(driver, handoff, evidence)
    }
}

/// Adapts a window to the text's own LIMIT and OFFSET.
fn narrowed(bounds: Bounds, window: Window, most: u32) -> Window {
    Window {
        offset: if bounds.limits || bounds.offsets {
            0
        } else {
            // PostgreSQL moves cursors by an int8.
            window.offset.min(i64::MAX.unsigned_abs())
        },
        rows: if bounds.limits {
            most
        } else {
            window.rows.clamp(1, most)
        },
    }
}
