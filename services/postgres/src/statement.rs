//! Runs one caller's text.
//!
//! ```no_run
//! use futures_util::TryStreamExt as _;
//! use ziggurat_postgres::{error::QueryError, pool::Pool, statement::Statement};
//!
//! # async fn example(pool: Pool) -> Result<(), QueryError> {
//! let statement = Statement::new(pool.database(), "SELECT id, name FROM book;")?;
//! let mut rows = statement.run(pool.lease().await?).await?;
//! let mut tsv = String::new();
//! rows.write_header(&mut tsv);
//! while let Some(row) = rows.try_next().await? {
//!     tsv.push('\n');
//!     row.write_tsv(&mut tsv)?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # The short way
//!
//! A query whose text holds no `;` goes out as one message, of which PostgreSQL makes one
//! transaction, and takes one round trip: make the transaction read-only, set its timeout, run
//! the text in parentheses with a LIMIT behind them, for as many rows as are wanted and one
//! more. Without a `;` PostgreSQL can see only one statement there, whatever quotes and
//! comments it has, and what begins with a parenthesis is nothing but a query. PostgreSQL parses
//! the message before it runs any of it, so a broken text runs nothing. The LIMIT is that of the
//! text itself: its order holds, and PostgreSQL plans for the rows that are wanted.
//!
//! A text with a LIMIT or an OFFSET of its own takes no other. It is declared as a cursor, from
//! which the rows are fetched; that costs PostgreSQL an eighth more.
//!
//! # The long way
//!
//! Everything else, and whatever the short way does not take, goes in two writes: begin, and have
//! PostgreSQL parse the text by itself, which it does for one statement only; then run, commit,
//! and reset the session (`DISCARD ALL`), so that nothing a statement does to its session outlives
//! the call. That also tells a text that was not understood from one that failed while
//! running, and in terms of the caller's text alone. On a database that allows writes the text
//! may hold several statements; the rows are those of the first that returns any.
//!
//! # Settings
//!
//! Each statement brings its own, as `SET LOCAL`: nothing of ours stays on a connection. Behind a
//! pooler that hands out connections for the length of a transaction, they travel in a message
//! before the text, what only reads ends with ROLLBACK, which undoes a `SET`, and what would stay
//! in the session is refused.
//!
//! # Large results
//!
//! An operator may allow more than [`MAX_ROWS`] rows, and then their number stands above them in
//! an answer nobody wants to hold in memory. So PostgreSQL keeps them for the length of the
//! transaction: the text becomes a materialized WITH query behind a cursor, a MOVE to its end
//! says how many rows there are, and they are fetched some at a time as they are asked for. A
//! scrolling cursor alone would not do, since going back may run the text once more, and
//! volatile functions with it. A text that fails does so before its first row is sent.
//!
//! # What is sent
//!
//! A query stops after the last row that is wanted, and one that fails may have sent rows before.
//! From a cursor none come then: PostgreSQL gathers what a FETCH returns before it sends any of
//! it. Without either (EXPLAIN, SHOW, RETURNING) PostgreSQL sends all rows, and those beyond the
//! limit are dropped as they arrive.
//!
//! A read-only EXPLAIN is rolled back. `EXPLAIN ANALYZE CREATE TABLE … AS` runs what it explains,
//! and PostgreSQL does not ask there whether the transaction may write.

mod executor;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::Arc, time::Duration};

use ziggurat_sql::{Bounds, Policy, Refusal, StatementShape};

use super::{
    database::{Database, MAX_ROWS},
    error::QueryError,
    large_rows::LargeRows,
    pool::Lease,
    rows::{Handoff, Rows},
};

/// The size of the largest row that is read where nothing else is said.
const MAX_ROW_BYTES: usize = 4 << 20;

/// A text that may be run.
#[derive(Clone, Debug)]
#[must_use]
pub struct Statement {
    text: Arc<str>,
    /// How many characters of ours stand before the caller's.
    lead: usize,
    access: Access,
    timeout: Option<Duration>,
    window: Window,
    /// The most rows the operator lets one call have.
    most: u32,
    route: Route,
    bounds: Bounds,
    command: Cow<'static, str>,
    defines: bool,
    /// Something of it stays in the session.
    outlives: bool,
    max_row_bytes: usize,
    large_rows: Option<LargeRows>,
}

/// Which rows of a result are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How many are passed over.
    pub offset: u64,
    /// How many are returned.
    pub rows: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    ReadOnly,
    ReadWrite,
}

/// How a text gets to PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// All at once, with a LIMIT.
    Limited,
    /// All at once, with a LIMIT around what has one of its own.
    Nested,
    /// All at once, with a cursor.
    Flight,
    /// In steps, with a cursor.
    Cursor,
    /// In steps, its rows kept by PostgreSQL until they are asked for.
    Spool,
    /// In steps, as it is.
    Plain,
    /// In steps, as it is, and undone in the end.
    Trial,
    /// In steps, as it is, and without asking whether it is one statement.
    Script,
}

// === impl Statement ===

impl Statement {
    /// Prepares a text for a database, with the access and the limits its operator allows.
    ///
    /// # Errors
    /// When there is nothing in it, and when it is refused before it is sent (see
    /// [`Policy`]).
    pub fn new(database: &Database, text: &str) -> Result<Self, QueryError> {
        let access = if database.allows_writes() {
            Access::ReadWrite
        } else {
            Access::ReadOnly
        };
        Self::prepare(database, text, access)
    }

    /// Prepares a text that must not change anything, whatever the operator allows.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn read_only(database: &Database, text: &str) -> Result<Self, QueryError> {
        Self::prepare(database, text, Access::ReadOnly)
    }

    /// Prepares a text of ours with one of the caller's in it, read-only like
    /// [`read_only`](Self::read_only).
    ///
    /// The guard judges all of it, and a [`Report`](super::error::Report) says where in the
    /// caller's text something is. That the caller's text does not reach beyond its place is for
    /// whoever made the place to see to; it is one statement in any case.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn around(
        database: &Database,
        before: &str,
        text: &str,
        after: &str,
    ) -> Result<Self, QueryError> {
        let whole = format!("{before}{text}{after}");
        Ok(Self {
            lead: before.chars().count(),
            ..Self::read_only(database, &whole)?
        })
    }

    fn prepare(database: &Database, text: &str, access: Access) -> Result<Self, QueryError> {
        let text = text
            .trim()
            .trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        let sketch = StatementShape::new(text);
        if text.is_empty() {
            return Err(QueryError::Empty);
        }
        let policy = match access {
            Access::ReadOnly => Policy::read_only(),
            Access::ReadWrite => Policy::writable(),
        };
        let dangerous = database.allows_dangerous_functions();
        policy.with_dangerous_functions(dangerous).check(text)?;
        if sketch.copies_through_the_client() {
            return Err(Refusal::Copy.into());
        }
        let bounds = if sketch.is_query() {
            sketch.bounds()
        } else {
            Bounds::default()
        };
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
            route: Route::of(text, &sketch, access),
            bounds,
            command: sketch.command(),
            defines: sketch.mentions_a_definition(),
            outlives: sketch.outlives(),
            max_row_bytes: MAX_ROW_BYTES,
            large_rows: None,
            text: text.into(),
        })
    }

    /// Replaces the rows that are wanted: the first ones, as many as the operator says.
    ///
    /// There is always one, and no more than the operator allows or [`MAX_ROWS`], whichever is
    /// more. A text with a LIMIT of its own gets no other, so its rows are bounded by that and
    /// start at the first; one with an OFFSET of its own gets no other. What remains is
    /// [`window`](Self::window).
    pub fn with_window(mut self, window: Window) -> Self {
        self.window = narrowed(self.bounds, window, self.most);
        self
    }

    /// Replaces the size of the largest row that is read. The result ends before a larger one:
    /// its bytes are dropped as they arrive.
    pub fn with_max_row_bytes(mut self, bytes: usize) -> Self {
        self.max_row_bytes = bytes;
        self
    }

    /// Sets whose room its large rows take.
    pub fn with_large_rows(mut self, large_rows: LargeRows) -> Self {
        self.large_rows = Some(large_rows);
        self
    }

    /// Tells whether it is a setting for the session: it holds for its own call only.
    #[must_use]
    pub fn is_setting(&self) -> bool {
        matches!(&*self.command, "SET" | "RESET")
    }

    /// The text as PostgreSQL gets it, without the `;` at its end.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The rows that will be returned.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Whether it says itself where its rows begin or end, so that no offset can be added.
    #[must_use]
    pub fn pages_itself(&self) -> bool {
        self.bounds.limits || self.bounds.offsets
    }

    /// Whether running it may change which tables there are, or what they look like. Rather
    /// once too often than not.
    #[must_use]
    pub fn may_define(&self) -> bool {
        self.access == Access::ReadWrite && self.defines
    }

    fn route(&self) -> Route {
        match self.route {
            Route::Limited | Route::Nested | Route::Flight | Route::Cursor
                if self.window.rows > MAX_ROWS =>
            {
                Route::Spool
            }
            route => route,
        }
    }

    /// Runs it, and returns when it is known what its result looks like.
    ///
    /// # Errors
    /// When PostgreSQL refuses it, or it fails before its first row. What fails later comes
    /// after the rows before it. The connection is good for another statement then, unless it
    /// broke.
    pub async fn run(self, lease: Lease) -> Result<Rows, QueryError> {
        let desk = Handoff::default();
        let driver = Box::pin(executor::drive(lease, self, desk.clone()));
        Rows::start(driver, desk).await
    }
}

// === impl Route ===

impl Route {
    fn of(text: &str, sketch: &StatementShape<'_>, access: Access) -> Self {
        // A write cannot be in a cursor, and one that sounds like it would be tried in vain.
        let takes_a_cursor =
            sketch.is_query() && (access == Access::ReadOnly || !sketch.mentions_a_write());
        if takes_a_cursor && !text.contains(';') {
            if sketch.takes_a_limit() {
                Self::Limited
            } else if sketch.takes_another_limit() {
                Self::Nested
            } else {
                Self::Flight
            }
        } else if sketch.is_several() && access == Access::ReadWrite {
            Self::Script
        } else if takes_a_cursor {
            Self::Cursor
        } else if access == Access::ReadOnly && sketch.explains() {
            Self::Trial
        } else {
            Self::Plain
        }
    }
}

/// Leaves to a text what it says itself.
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
