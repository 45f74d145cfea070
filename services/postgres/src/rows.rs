//! The result of a statement, row by row.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use futures_util::Stream;
use ziggurat_runtime::line::{Line, Plain};

use super::{
    driver::{self, Field},
    error::QueryError,
    kind::Kind,
    large_rows::Room,
    scalar::Scalar,
    tsv,
};

/// A column of a result.
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    type_oid: u32,
    kind: Kind,
}

/// The columns of a result, and its rows as they arrive.
///
/// It holds one row at a time and lets the server wait meanwhile. It owns its connection: when
/// it comes to its end the connection goes back to its pool, and when it is dropped before that
/// the statement is cancelled.
#[must_use = "a statement runs only while its rows are asked for"]
pub struct Rows {
    columns: Arc<[Column]>,
    is_command: bool,
    extent: Option<Extent>,
    desk: Handoff,
    /// `None` when it has come to its end.
    driver: Option<Driver>,
    summary: Option<Summary>,
}

/// A row of a result.
#[derive(Debug)]
pub struct Row {
    values: driver::Row,
    columns: Arc<[Column]>,
}

/// How large a result is, where PostgreSQL has counted it before it sends any of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extent {
    /// How many rows there will be.
    pub rows: u32,
    /// Whether there are more than were asked for.
    pub has_more: bool,
}

/// What is known when all rows have been read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// How many rows there were.
    pub rows: u32,
    /// Whether there are more than were asked for.
    pub has_more: bool,
    /// The size of a row that was larger than the limit: it was passed over, and the result ends
    /// before it.
    pub oversized: Option<usize>,
    /// The command tag of a statement without columns, such as `INSERT 0 2` or `CREATE TABLE`.
    pub command: String,
    /// How many rows a statement without columns changed.
    pub affected: u64,
}

/// Runs the statement to its end, and leaves what it finds on a [`Handoff`].
///
/// Boxed: one per statement, and its stream borrows the connection it holds.
pub(super) type Driver = Pin<Box<dyn Future<Output = Result<Summary, QueryError>> + Send>>;

/// Where a driver leaves one thing, and waits until it is taken.
///
/// The driver is polled by whoever takes it, so neither needs to be woken.
#[derive(Clone, Default)]
pub(super) struct Handoff {
    found: Arc<Mutex<Option<Found>>>,
}

/// What a driver finds: always a head, then rows.
pub(super) enum Found {
    Head {
        columns: Arc<[Column]>,
        is_command: bool,
        extent: Option<Extent>,
    },
    Row(driver::Row),
}

// === impl Found ===

impl Found {
    /// The columns of rows whose number is not known.
    pub(super) fn head(columns: Arc<[Column]>) -> Self {
        Self::Head {
            columns,
            is_command: false,
            extent: None,
        }
    }
}

// === impl Column ===

impl Column {
    pub(super) fn new(field: &Field, kind: impl Fn(u32) -> Option<Kind>) -> Self {
        Self {
            name: field.name.clone(),
            type_oid: field.type_oid,
            kind: kind(field.type_oid).unwrap_or(Kind::Text),
        }
    }

    /// Its name, which other columns may have too.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of its type in `pg_type`; of a domain, of what it is made of.
    #[must_use]
    pub fn type_oid(&self) -> u32 {
        self.type_oid
    }

    /// How its values are written.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

// === impl Rows ===

impl Rows {
    /// Runs until it is known what the result looks like.
    pub(super) async fn start(mut driver: Driver, desk: Handoff) -> Result<Self, QueryError> {
        let head = poll_fn(|cx| match driver.as_mut().poll(cx) {
            Poll::Ready(end) => Poll::Ready(end.map(|_| None)),
            Poll::Pending => match desk.take() {
                Some(found) => Poll::Ready(Ok(Some(found))),
                None => Poll::Pending,
            },
        });
        match head.await? {
            Some(Found::Head {
                columns,
                is_command,
                extent,
            }) => Ok(Self {
                columns,
                is_command,
                extent,
                desk,
                driver: Some(driver),
                summary: None,
            }),
            Some(Found::Row(_)) | None => unreachable!("a driver finds a head first"),
        }
    }

    /// The columns; a query may have none.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Whether the statement returns no rows by its nature, as INSERT does.
    #[must_use]
    pub fn is_command(&self) -> bool {
        self.is_command
    }

    /// How many rows there will be, if that is known by now: a window of more than
    /// [`MAX_ROWS`](super::database::MAX_ROWS) is counted first.
    #[must_use]
    pub fn extent(&self) -> Option<Extent> {
        self.extent
    }

    /// What there is to say in the end, once the last row was read.
    #[must_use]
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// Writes the names of the columns, with tabs between them.
    pub fn write_header(&self, out: &mut impl Line) {
        for (index, column) in self.columns.iter().enumerate() {
            if index > 0 {
                out.push_tab();
            }
            tsv::write_text(out, &column.name);
        }
    }
}

impl Stream for Rows {
    type Item = Result<Row, QueryError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(driver) = &mut this.driver else {
            return Poll::Ready(None);
        };
        let polled = driver.as_mut().poll(cx);
        if let Some(Found::Row(values)) = this.desk.take() {
            let columns = Arc::clone(&this.columns);
            return Poll::Ready(Some(Ok(Row { values, columns })));
        }
        let end = ready!(polled);
        this.driver = None;
        match end {
            Ok(summary) => {
                this.summary = Some(summary);
                Poll::Ready(None)
            }
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("columns", &self.columns)
            .field("is_command", &self.is_command)
            .field("extent", &self.extent)
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

// === impl Row ===

impl Row {
    /// The columns; a row may have none.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The room it takes, if it is large. What is made of it may keep that.
    #[must_use]
    pub fn room(&self) -> Option<&Arc<Room>> {
        self.values.room()
    }

    /// The text of a value, or `None` if it is NULL.
    ///
    /// # Errors
    /// When there is no such column, and when the text is not UTF-8, which a database whose
    /// encoding is `SQL_ASCII` may send.
    pub fn text(&self, column: usize) -> Result<Option<&str>, QueryError> {
        let value = self.values.value(column).map_err(QueryError::Row)?;
        value.map(text).transpose()
    }

    /// Writes the values as a line of tab-separated text, without a line break.
    ///
    /// # Errors
    /// As [`text`](Self::text) does. What was written by then is not taken back.
    pub fn write_tsv(&self, out: &mut impl Line) -> Result<(), QueryError> {
        for (index, (column, value)) in self.columns.iter().zip(self.values.values()).enumerate() {
            if index > 0 {
                out.push_tab();
            }
            let Some(bytes) = value else {
                continue;
            };
            match Plain::new(bytes) {
                Some(plain) if column.kind == Kind::Text => out.push_plain(plain),
                _ => tsv::write_value(out, column.kind, text(bytes)?),
            }
        }
        Ok(())
    }

    /// The values, as a program reads them.
    ///
    /// # Errors
    /// Each as [`text`](Self::text) does.
    pub fn scalars(&self) -> impl Iterator<Item = Result<Scalar<'_>, QueryError>> {
        let columns = self.columns.iter().zip(self.values.values());
        columns.map(|(column, value)| match value {
            Some(bytes) => Ok(Scalar::of(column.type_oid, text(bytes)?)),
            None => Ok(Scalar::Null),
        })
    }
}

fn text(bytes: &[u8]) -> Result<&str, QueryError> {
    let text = str::from_utf8(bytes);
    text.map_err(QueryError::value)
}

// === impl Handoff ===

impl Handoff {
    /// Leaves something, and waits until it is taken.
    pub(super) async fn leave(&self, found: Found) {
        *self.lock() = Some(found);
        poll_fn(|_| match *self.lock() {
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        })
        .await;
    }

    fn take(&self) -> Option<Found> {
        self.lock().take()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
