//! The result of a statement, row by row.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, ready},
};

use futures_util::Stream;
use ziggurat_runtime::lock;
use ziggurat_text::{Line, Plain};

use crate::{
    call_context::Evidence,
    database::ResultMasks,
    driver::{self, Field},
    error::QueryError,
    kind::Kind,
    large_rows::LargeRowPermit,
    scalar::Scalar,
    tsv,
    type_name::TEXT,
};

/// Column of a result.
#[derive(Clone, Debug)]
pub struct ResultColumn {
    name: String,
    type_oid: u32,
    kind: Kind,
    origin: (u32, i16),
    is_masked: bool,
}

/// Columns of a result, and its rows as they arrive.
///
/// It holds one row at a time and makes the server wait meanwhile. It owns its connection: at its
/// end the connection returns to its pool, and if it is dropped before that the statement is
/// cancelled.
#[must_use = "a statement runs only while its rows are asked for"]
pub struct Rows {
    columns: Arc<[ResultColumn]>,
    is_command: bool,
    extent: Option<Extent>,
    /// Masks of the columns, if there are some.
    masks: Option<Arc<ResultMasks>>,
    /// Collects facts about the rows, for a receipt.
    evidence: Option<Evidence>,
    handoff: Handoff,
    /// `None` after its end.
    driver: Option<Driver>,
    summary: Option<Summary>,
}

/// Row of a result.
#[derive(Debug)]
pub struct ResultRow {
    values: driver::Row,
    columns: Arc<[ResultColumn]>,
}

/// Number of rows of a result, if PostgreSQL has counted them before it sends any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extent {
    /// Number of rows that will follow.
    pub rows: u32,
    /// True if there are more than were asked for.
    pub has_more: bool,
}

/// Summary of a result, known when all rows have been read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of rows.
    pub rows: u32,
    /// True if there are more than were asked for.
    pub has_more: bool,
    /// Size of a row that was larger than the limit: it was skipped, and the result ends before it.
    pub oversized: Option<usize>,
    /// The command tag of a statement without columns, such as `INSERT 0 2` or `CREATE TABLE`.
    pub command: String,
    /// Number of rows that a statement without columns changed.
    pub affected: u64,
    /// Number of rows that PostgreSQL reported for a statement with rows.
    ///
    /// With `RETURNING` it counts all changed rows, even if the caller asked for fewer. It is 0 for
    /// a statement that only reads and returns its rows in pieces.
    pub processed: u64,
}

/// Runs the statement to its end, and passes its columns and rows through a [`Handoff`].
///
/// Boxed, since its stream borrows the connection that it holds.
pub(super) type Driver = Pin<Box<dyn Future<Output = Result<Summary, QueryError>> + Send>>;

/// Slot for one item, in which a driver waits until the item is taken.
///
/// The reader that takes the item also polls the driver, so neither needs a waker.
#[derive(Clone, Default)]
pub(super) struct Handoff {
    found: Arc<Mutex<Option<Item>>>,
}

/// Item of a driver: first the head, then rows.
pub(super) enum Item {
    Head {
        header: Header,
        is_command: bool,
        extent: Option<Extent>,
    },
    Row(driver::Row),
}

/// Columns of a result, without those that a mask drops, and the masks of its rows.
#[derive(Clone, Default)]
pub(super) struct Header {
    columns: Arc<[ResultColumn]>,
    masks: Option<Arc<ResultMasks>>,
}

// === impl Header ===

impl Header {
    /// Makes the columns of a result.
    pub(super) fn new(
        fields: &[Field],
        kind: impl Fn(u32) -> Option<Kind>,
        masks: Option<Arc<ResultMasks>>,
    ) -> Self {
        let columns = fields.iter().map(|field| ResultColumn::new(field, &kind));
        let Some(masks) = masks else {
            return Self {
                columns: columns.collect(),
                masks: None,
            };
        };
        let masked = columns
            .enumerate()
            .filter_map(|(place, column)| match masks.mask(place) {
                Some(mask) if mask.drops() => None,
                Some(_) => Some(column.masked()),
                None => Some(column),
            });
        Self {
            columns: masked.collect(),
            masks: Some(masks),
        }
    }

    /// Returns whether the result has no columns, not even masked ones.
    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty() && self.masks.is_none()
    }
}

// === impl Item ===

impl Item {
    /// Makes a head for an unknown number of rows.
    pub(super) fn head(header: Header) -> Self {
        Self::Head {
            header,
            is_command: false,
            extent: None,
        }
    }
}

// === impl ResultColumn ===

impl ResultColumn {
    fn new(field: &Field, kind: impl Fn(u32) -> Option<Kind>) -> Self {
        Self {
            name: field.name.clone(),
            type_oid: field.type_oid,
            kind: kind(field.type_oid).unwrap_or(Kind::Text),
            origin: field.origin,
            is_masked: false,
        }
    }

    /// Returns the same column with masked values, which are texts.
    fn masked(self) -> Self {
        Self {
            type_oid: TEXT,
            kind: Kind::Text,
            is_masked: true,
            ..self
        }
    }

    /// Makes a column of texts, for rows that are not from PostgreSQL.
    #[must_use]
    pub fn text(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            type_oid: TEXT,
            kind: Kind::Text,
            origin: (0, 0),
            is_masked: false,
        }
    }

    /// Returns its name, which other columns may have too.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the format of its values.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns whether its values are masked.
    #[must_use]
    pub fn is_masked(&self) -> bool {
        self.is_masked
    }

    /// Returns the OID of its type, or of the base type of its domain.
    #[must_use]
    pub fn type_oid(&self) -> u32 {
        self.type_oid
    }

    /// Returns the OID of its table and the number of the column there; `None` if it is computed.
    #[must_use]
    pub fn origin(&self) -> Option<(u32, u16)> {
        let (table, number) = self.origin;
        let number = u16::try_from(number).ok().filter(|number| *number > 0)?;
        (table != 0).then_some((table, number))
    }
}

// === impl Rows ===

impl Rows {
    /// Runs until the columns of the result are known.
    pub(super) async fn start(
        mut driver: Driver,
        handoff: Handoff,
        evidence: Option<Evidence>,
    ) -> Result<Self, QueryError> {
        let head = poll_fn(|cx| match driver.as_mut().poll(cx) {
            Poll::Ready(end) => Poll::Ready(end.map(|_| None)),
            Poll::Pending => match handoff.take() {
                Some(found) => Poll::Ready(Ok(Some(found))),
                None => Poll::Pending,
            },
        });
        match head.await? {
            Some(Item::Head {
                header: Header { columns, masks },
                is_command,
                extent,
            }) => {
                if let (Some(evidence), Some(_)) = (&evidence, &masks) {
                    evidence.masked();
                }
                Ok(Self {
                    columns,
                    is_command,
                    extent,
                    masks,
                    evidence,
                    handoff,
                    driver: Some(driver),
                    summary: None,
                })
            }
            Some(Item::Row(_)) | None => unreachable!("a driver finds a head first"),
        }
    }

    /// Returns the columns; a query may have none.
    #[must_use]
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Returns whether the statement is a command without rows, such as INSERT.
    #[must_use]
    pub fn is_command(&self) -> bool {
        self.is_command
    }

    /// Returns the number of rows that will follow, if it is already known: a window of more than
    /// [`MAX_ROWS`](super::database::MAX_ROWS) is counted first.
    #[must_use]
    pub fn extent(&self) -> Option<Extent> {
        self.extent
    }

    /// Returns the summary, after the last row was read.
    #[must_use]
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// Leaves the last row, and all that follow, out of the evidence: the answer has no room for
    /// them.
    pub fn leave_out(&self) {
        if let Some(evidence) = &self.evidence {
            evidence.leave_out();
        }
    }

    /// Writes the names of the columns, with tabs between them.
    pub fn write_header(&self, out: &mut impl Line, format: tsv::Format) {
        for (index, column) in self.columns.iter().enumerate() {
            if index > 0 {
                out.push_tab();
            }
            format.write_text(out, &column.name);
        }
    }
}

impl Stream for Rows {
    type Item = Result<ResultRow, QueryError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(driver) = &mut this.driver else {
            return Poll::Ready(None);
        };
        let polled = driver.as_mut().poll(cx);
        if let Some(Item::Row(values)) = this.handoff.take() {
            let columns = Arc::clone(&this.columns);
            let values = match &this.masks {
                Some(masks) => masks.apply(&values),
                None => values,
            };
            if let Some(evidence) = &this.evidence {
                evidence.row(&values);
            }
            return Poll::Ready(Some(Ok(ResultRow { values, columns })));
        }
        let end = ready!(polled);
        this.driver = None;
        match end {
            Ok(summary) => {
                if let Some(evidence) = &this.evidence {
                    evidence.end(summary.has_more || summary.oversized.is_some());
                }
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

// === impl ResultRow ===

impl ResultRow {
    /// Makes a row of texts, which says something in place of a result.
    #[must_use]
    pub fn of_texts(columns: &Arc<[ResultColumn]>, texts: &[&str]) -> Self {
        Self {
            values: driver::Row::of_texts(texts),
            columns: Arc::clone(columns),
        }
    }

    /// Returns the columns; a row may have none.
    #[must_use]
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Returns the number of bytes that PostgreSQL sent for it.
    #[must_use]
    pub fn size(&self) -> usize {
        self.values.size()
    }

    /// Returns its memory permit, if it is large. Text made of it should keep the permit.
    #[must_use]
    pub fn permit(&self) -> Option<&Arc<LargeRowPermit>> {
        self.values.permit()
    }

    /// Returns the text of a value, or `None` if it is NULL.
    ///
    /// # Errors
    /// Fails when there is no such column, and when the text is not UTF-8. A database with the
    /// encoding `SQL_ASCII` may send such texts.
    pub fn text(&self, column: usize) -> Result<Option<&str>, QueryError> {
        let value = self.values.value(column).map_err(QueryError::Row)?;
        value.map(text).transpose()
    }

    /// Writes the values as a line of tab-separated text, without a line break, and returns whether
    /// one of them was cut.
    ///
    /// # Errors
    /// The same as [`text`](Self::text). Text that was already written stays.
    pub fn write_tsv(&self, out: &mut impl Line, format: tsv::Format) -> Result<bool, QueryError> {
        let mut is_cut = false;
        for (index, (column, value)) in self.columns.iter().zip(self.values.values()).enumerate() {
            if index > 0 {
                out.push_tab();
            }
            let Some(bytes) = value else {
                format.write_null(out);
                continue;
            };
            match Plain::new(bytes) {
                Some(plain) if column.kind == Kind::Text && format.keeps(bytes) => {
                    out.push_plain(plain);
                }
                _ => is_cut |= format.write_value(out, column.kind, text(bytes)?),
            }
        }
        Ok(is_cut)
    }

    /// Returns the values as scalars.
    ///
    /// # Errors
    /// For each value, the same as [`text`](Self::text).
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
    /// Puts an item into the slot, and waits until it is taken.
    pub(super) async fn put(&self, found: Item) {
        *lock(&self.found) = Some(found);
        poll_fn(|_| match *lock(&self.found) {
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        })
        .await;
    }

    pub(super) fn take(&self) -> Option<Item> {
        lock(&self.found).take()
    }
}
