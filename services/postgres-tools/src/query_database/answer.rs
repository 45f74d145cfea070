//! The text of an answer.
//!
//! The number of rows stands above them, so a small answer is held until the last row is read. From
//! [`STREAM_THRESHOLD`] on it is streamed: the number of rows comes first if PostgreSQL has counted
//! them, else last.

use std::{fmt::Write as _, mem, sync::Arc};

use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use ziggurat_answers::{
    CallFormat, Fence, ResultFormat, SqlErrors, Table, WITHHELD, client, write_cut_note,
};
use ziggurat_calls::{
    Call,
    limits::{Left, Refused},
};
use ziggurat_mcp::{ListedTools, Piece, Reported, Structure, Text, ToolRequest, ToolResult};
use ziggurat_postgres::{
    error::{Phase, QueryError},
    large_rows::LargeRowPermit,
    pool::Lease,
    rows::{ResultColumn, ResultRow, Rows, Summary},
    statement::{Statement, Window},
};
use ziggurat_text::Line;

use crate::query_database::CallOptions;

/// The size of a piece of a large answer.
const PIECE_SIZE: usize = 32 << 10;

/// A row up to this size is read even if the limit of the answer is smaller.
pub(crate) const MIN_ROW_LIMIT: usize = 1 << 10;

/// An answer from this size on is sent before its last row is read.
const STREAM_THRESHOLD: usize = 64 << 10;

/// The error of a statement that writes when the user can no longer be asked.
pub(super) const UNCONFIRMED: &str = "The statement changes data after its first rows, and was \
                                      undone, since no user has confirmed it. Send what changes \
                                      data as a statement of its own.";

/// The statement, its database and the limits of the answer.
#[derive(Clone)]
pub(super) struct Request {
    /// The first line: the database, or the connection.
    place: String,
    /// The lines above an error about the statement.
    above: String,
    sql: Arc<str>,
    window: Window,
    pages_itself: bool,
    max_bytes: usize,
    is_structured: bool,
    /// The tools that an answer may name; `None` for a client that gets answers in a fixed form.
    tools: Option<ListedTools>,
    /// Notes the rows and the error for the record of the call.
    call: Call,
    format: CallFormat,
    fence: Option<Fence>,
    /// The line before errors that are found while the answer is sent.
    label: String,
    /// Permission that the statement lacks, if it would need one to write.
    writes: Option<WritePermission>,
    /// Describes errors to clients that negotiate the revision.
    // Boxed: it is large, and most statements do not fail.
    errors: Option<Box<SqlErrors>>,
}

/// Permission that a statement needs before it may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WritePermission {
    /// The user has to confirm.
    User,
    /// The operator has to allow writes.
    Operator,
    /// The person has allowed the client to read only.
    Grant,
}

/// Line below the error of a refused write.
const ALLOW_WRITES: &str =
    "HINT: To change data, the operator has to set allow_writes: true for this database.";

/// The rows of the structured result, if requested.
// Boxed: most calls do not request it.
type StructuredRows = Option<Box<Table>>;

/// An answer that is being read.
struct AnswerReader {
    request: Request,
    rows: Rows,
    /// The text that is not sent yet.
    piece: Text,
    /// Bytes of text of rows that have been sent.
    sent: usize,
    /// Bytes of rows with values that were cut: they count as if they were whole, because memory is
    /// reserved for each of them.
    cut: usize,
    /// Number of rows so far.
    count: u64,
    /// Sent after the text.
    structured: StructuredRows,
    /// The memory reservation of a large row, until its text is sent.
    permit: Option<Arc<LargeRowPermit>>,
    end: RowsEnd,
    /// Set once a value was cut.
    has_cut_values: bool,
}

/// End of the rows of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RowsEnd {
    /// Not reached yet.
    Open,
    /// PostgreSQL has counted the rows, and all of them will be read.
    Counted { has_more: bool },
    /// No more rows exist or are requested.
    Done { has_more: bool },
    /// The next row does not fit.
    Cut,
    /// The next row is larger than an answer may be.
    Oversized { bytes: usize },
    /// The next row exceeds what the caller may be sent today.
    UsedUp(Refused),
}

// === impl Request ===

impl Request {
    /// Makes a request. Its answer begins with the line `place`.
    pub(super) fn new(place: String, statement: &Statement, max_bytes: usize) -> Self {
        Self {
            place,
            above: String::new(),
            sql: Arc::clone(statement.text()),
            window: statement.window(),
            pages_itself: statement.pages_itself(),
            max_bytes,
            is_structured: false,
            tools: None,
            call: Call::default(),
            format: ResultFormat::default().for_client(false),
            fence: None,
            label: String::new(),
            writes: None,
            errors: None,
        }
    }

    /// Makes a request for a URL of the caller, shown as `shown`.
    pub(super) fn for_ad_hoc(shown: &str, statement: &Statement, max_bytes: usize) -> Self {
        let place = format!("Using connection: {shown}");
        Self {
            above: format!("{place}\n\n"),
            ..Self::new(place, statement, max_bytes)
        }
    }

    /// Sets the form of the answer, and the call: its client knows the tools that the answer may name.
    pub(super) fn with_call(mut self, options: CallOptions, request: &ToolRequest) -> Self {
        self.is_structured = options.is_structured;
        self.format = options.format;
        self.fence = options.format.fence();
        self.tools = request.is_negotiated().then(|| request.listed_tools());
        self.call = Call::of(request).clone();
        self
    }

    /// Sets the line before errors that are found while the answer is sent.
    pub(super) fn with_label(mut self, label: String) -> Self {
        self.label = label;
        self
    }

    /// Sets the permission that the statement lacks to write.
    pub(super) fn with_writes(mut self, writes: Option<WritePermission>) -> Self {
        self.writes = writes;
        self
    }

    /// Sets the texts about errors; without, they have the form of the first revision.
    pub(super) fn with_errors(mut self, errors: Option<SqlErrors>) -> Self {
        self.errors = errors.map(Box::new);
        self
    }

    /// Runs the statement. Returns `None` if it writes, and the user has to be asked.
    pub(super) async fn run(
        self,
        statement: Statement,
        lease: Lease,
    ) -> Result<Option<ToolResult>, Reported> {
        let is_setting = statement.is_setting();
        let statement = statement.with_max_row_bytes(self.max_bytes.max(MIN_ROW_LIMIT));
        match statement.run(lease).await {
            Ok(rows) => self.read(rows, is_setting).await,
            Err(error) => self.no_answer(&error).await,
        }
    }

    /// Reads the rows of a statement. Returns `None` if it writes, and the user has to be asked.
    pub(super) async fn read(
        self,
        rows: Rows,
        is_setting: bool,
    ) -> Result<Option<ToolResult>, Reported> {
        let structured = self.structured(&rows);
        let mut reader = AnswerReader::new(self, rows, structured);
        if !matches!(reader.end, RowsEnd::Counted { .. })
            && let Err(error) = reader.fill(STREAM_THRESHOLD).await
        {
            return reader.request.no_answer(&error).await;
        }
        if matches!(reader.end, RowsEnd::Open | RowsEnd::Counted { .. }) {
            return Ok(Some(ToolResult::stream(reader.stream())));
        }
        let permit = reader.permit.take();
        let (text, structure) = reader.whole(is_setting);
        Ok(Some(match permit {
            Some(permit) => ToolResult::stream(held(text, structure, permit)),
            None => ToolResult::text(text).with_structure(structure),
        }))
    }

    /// Makes a table for the structured result, if requested.
    fn structured(&self, rows: &Rows) -> StructuredRows {
        let columns = rows.columns().iter().map(ResultColumn::name);
        let table = || Box::new(Table::new(columns, self.max_bytes));
        self.is_structured.then(table)
    }

    fn opening(&self) -> String {
        let sql = self.format.text(&self.sql);
        format!("{}\n\nSQL Query:\n{sql}\n\n", self.place)
    }

    /// Writes the heading of the rows, and the first line of their fence.
    fn write_heading(&self, text: &mut String, extent: &str) {
        let fence = self.fence.as_ref().map(Fence::first_line);
        writeln!(text, "Results ({extent}):").expect("a string takes all that is written");
        text.push_str(&fence.unwrap_or_default());
    }

    /// Returns the last line of the fence.
    fn end_of_rows(&self) -> String {
        self.fence
            .as_ref()
            .map(Fence::last_line)
            .unwrap_or_default()
    }

    /// Returns what the caller may still be sent.
    fn left(&self) -> Left {
        self.call.left()
    }

    /// Describes which rows of the result the answer has.
    fn extent(&self, rows: u64, has_more: bool) -> String {
        let offset = self.window.offset;
        let (first, last) = (offset + 1, offset + rows);
        let can_count = || {
            let tools = self.tools.as_ref();
            tools.is_none_or(|tools| tools.has("count_rows"))
        };
        let total = if has_more && can_count() {
            " or count_rows for total"
        } else {
            ""
        };
        match (offset, has_more) {
            (0, false) => format!("{rows} rows"),
            (0, true) => format!(
                "{rows} rows shown, more available - use offset={last} for next page{total}"
            ),
            (_, false) => format!("rows {first}-{last}"),
            (_, true) => {
                format!("rows {first}-{last}, more available - use offset={last} for next page")
            }
        }
    }

    /// Writes notes before the heading, because the heading has a fixed form and rows follow it.
    fn write_notes(&self, text: &mut String, end: RowsEnd) {
        let max_bytes = self.max_bytes;
        match end {
            RowsEnd::Cut => writeln!(
                text,
                "Note: the rows were cut at {max_bytes} bytes. Ask for fewer or shorter columns \
                 to see more of them at once."
            ),
            RowsEnd::Oversized { bytes } => writeln!(
                text,
                "Note: the result ends before a row of {bytes} bytes, more than the {max_bytes} \
                 that an answer may have. Ask for fewer or shorter columns, for example \
                 left(column, 1000)."
            ),
            RowsEnd::UsedUp(refused) => writeln!(text, "Note: the rows end here. {refused}"),
            RowsEnd::Open | RowsEnd::Counted { .. } | RowsEnd::Done { .. } => Ok(()),
        }
        .expect("a string takes all that is written");
        let has_more = end.has_more();
        if has_more && self.pages_itself {
            text.push_str(
                "Note: the statement has a LIMIT or OFFSET of its own, and no other is added. \
                 Change these for the next page.\n",
            );
        }
        if !text.is_empty() {
            text.push('\n');
        }
    }

    async fn no_answer(&self, error: &QueryError) -> Result<Option<ToolResult>, Reported> {
        if self.writes == Some(WritePermission::User) && error.is_about_a_write() {
            return Ok(None);
        }
        Err(self.complaint(error).await)
    }

    /// Describes a query error, so that the model can correct its statement.
    pub(super) async fn complaint(&self, error: &QueryError) -> Reported {
        self.call.set_error(error);
        if self.writes == Some(WritePermission::User) && error.is_about_a_write() {
            return Reported::new(UNCONFIRMED);
        }
        let Self { above, sql, .. } = self;
        if let Some(errors) = &self.errors {
            return Box::pin(errors.reported(error)).await;
        }
        match error {
            QueryError::Failed {
                phase: Phase::Parse,
                report,
            } => Reported::new(format!(
                "{above}SQL Query:\n{sql}\n\nError executing query: {}",
                client::explained(report)
            )),
            QueryError::Failed { report, .. } if error.is_about_a_write() => {
                let text = client::explained(report);
                let hint = match self.writes {
                    Some(WritePermission::Operator) => ALLOW_WRITES,
                    Some(WritePermission::Grant) => WITHHELD,
                    _ => return complaint(error),
                };
                Reported::new(format!("Error iterating rows: {text}\n{hint}"))
            }
            _ => complaint(error),
        }
    }
}

// === impl RowsEnd ===

impl RowsEnd {
    /// Returns whether there are more rows than the answer has.
    fn has_more(self) -> bool {
        match self {
            Self::Open => false,
            Self::Counted { has_more } | Self::Done { has_more } => has_more,
            Self::Cut | Self::Oversized { .. } | Self::UsedUp(_) => true,
        }
    }
}

// === impl AnswerReader ===

impl AnswerReader {
    fn new(request: Request, rows: Rows, structured: StructuredRows) -> Self {
        let mut piece = Text::new();
        rows.write_header(&mut piece, request.format.fields());
        let has_more = rows.extent().map(|extent| extent.has_more);
        Self {
            request,
            rows,
            piece,
            sent: 0,
            cut: 0,
            count: 0,
            structured,
            permit: None,
            end: has_more.map_or(RowsEnd::Open, |has_more| RowsEnd::Counted { has_more }),
            has_cut_values: false,
        }
    }

    /// Reads rows until the piece has this many bytes or the rows end, and counts them for the
    /// limits of the caller.
    async fn fill(&mut self, bytes: usize) -> Result<(), QueryError> {
        let (rows, text) = (self.count, self.piece.text_len());
        self.read_rows(bytes).await?;
        let bytes = self.piece.text_len() - text;
        self.request.call.count(self.count - rows, bytes);
        Ok(())
    }

    async fn read_rows(&mut self, bytes: usize) -> Result<(), QueryError> {
        let left = self.request.left();
        let (rows_before, text_before) = (self.count, self.piece.text_len());
        while self.piece.len() < bytes {
            let Some(row) = self.rows.try_next().await? else {
                let summary = self.rows.summary();
                let oversized = summary.and_then(|summary| summary.oversized);
                let has_more = summary.is_some_and(|summary| summary.has_more);
                self.end = match oversized {
                    Some(bytes) => RowsEnd::Oversized { bytes },
                    None => RowsEnd::Done { has_more },
                };
                return Ok(());
            };
            let before = self.piece.mark();
            let has_cut = write_line(&mut self.piece, &row, self.request.format)?;
            let is_counted = matches!(self.end, RowsEnd::Counted { .. });
            self.cut += if has_cut { row.size() } else { 0 };
            let size = self.sent + self.piece.text_len() + self.cut;
            if !is_counted && self.count > 0 && size > self.request.max_bytes {
                self.piece.cut(before);
                self.rows.leave_out();
                self.end = RowsEnd::Cut;
                return Ok(());
            }
            let text = self.piece.text_len() - text_before;
            if let Some(refused) = left.exceeded(self.count + 1 - rows_before, text) {
                self.piece.cut(before);
                self.rows.leave_out();
                self.end = RowsEnd::UsedUp(refused);
                return Ok(());
            }
            self.count += 1;
            self.has_cut_values |= has_cut;
            // The text of a cut row is small, so its permit is not kept: an answer that waits for
            // memory for a row must not hold the memory of another row.
            if let (false, Some(permit)) = (has_cut, row.permit()) {
                self.permit = Some(Arc::clone(permit));
            }
            if let Some(table) = &mut self.structured {
                table.add(|table| table.write_row(row.scalars()))?;
            }
        }
        Ok(())
    }

    /// Returns the notes about the rows and their values.
    fn notes(&self, end: RowsEnd) -> String {
        let mut notes = String::new();
        if self.has_cut_values {
            write_cut_note(&mut notes, self.request.format.fields().max_bytes);
        }
        self.request.write_notes(&mut notes, end);
        notes
    }

    /// Notes the number of rows for the record of the call.
    fn note_rows(&self) {
        let summary = self.rows.summary().filter(|_| self.rows.is_command());
        self.request
            .call
            .set_rows(summary.map_or(self.count, |summary| summary.affected));
    }

    /// Returns the complete answer.
    fn whole(self, is_setting: bool) -> (Text, Option<Structure>) {
        self.note_rows();
        let mut text = self.request.opening();
        if let Some(summary) = self.rows.summary()
            && self.rows.is_command()
        {
            write_command(&mut text, summary);
            if is_setting {
                text.push_str(
                    "\nNote: a setting ends with its call, and a call has one statement. Write what \
                     the setting would change into the statement itself: schema.table, or AT TIME \
                     ZONE.",
                );
            }
            let structure = self.structured.map(|_| Table::changed(summary.affected));
            return (text.into(), structure);
        }
        text.push_str(&self.notes(self.end));
        let extent = self.request.extent(self.count, self.end.has_more());
        self.request.write_heading(&mut text, &extent);
        let mut text = Text::from(text);
        text.append(&self.piece);
        text.push_str(&self.request.end_of_rows());
        let has_more = self.end.has_more();
        let structure = self.structured.map(|table| table.finish(has_more));
        (text, structure)
    }

    /// Streams the answer.
    fn stream(mut self) -> impl Stream<Item = Result<Piece, Reported>> + Send + 'static {
        let mut opening = self.request.opening();
        match self.rows.extent() {
            Some(rows) => {
                opening.push_str(&self.notes(self.end));
                let extent = self.request.extent(rows.rows.into(), rows.has_more);
                self.request.write_heading(&mut opening, &extent);
            }
            None => self
                .request
                .write_heading(&mut opening, "their number stands below"),
        }
        let next = Text::with_capacity(PIECE_SIZE + PIECE_SIZE / 8);
        let piece = mem::replace(&mut self.piece, next);
        self.sent = piece.text_len();
        let first = [Ok(Text::from(opening).into()), Ok(piece.into())];
        let rest = stream::try_unfold((Some(self), None::<Structure>), |rest| async {
            match rest {
                (Some(reader), _) => {
                    let (text, rest) = reader.next().await?;
                    Ok(Some((text.into(), rest)))
                }
                (None, Some(structure)) => Ok(Some((structure.into(), (None, None)))),
                (None, None) => Ok(None),
            }
        });
        stream::iter(first).chain(rest)
    }

    /// Reads the next piece, and returns the rest of the answer. If a row fails, the piece is
    /// dropped and the error is sent instead.
    async fn next(mut self) -> Result<(Text, (Option<Self>, Option<Structure>)), Reported> {
        // The text of the large row has been sent.
        self.permit = None;
        let is_counted = matches!(self.end, RowsEnd::Counted { .. });
        if let Err(error) = self.fill(PIECE_SIZE).await {
            let Request { format, label, .. } = &self.request;
            let text = self.request.complaint(&error).await;
            let text = format!("{label}{}", format.text(text.as_str()));
            return Err(Reported::new(text));
        }
        if matches!(self.end, RowsEnd::Open | RowsEnd::Counted { .. }) {
            let next = Text::with_capacity(PIECE_SIZE + PIECE_SIZE / 8);
            let piece = mem::replace(&mut self.piece, next);
            self.sent += piece.text_len();
            return Ok((piece, (Some(self), None)));
        }
        self.note_rows();
        self.piece.push_str(&self.request.end_of_rows());
        let is_short = matches!(self.end, RowsEnd::Oversized { .. } | RowsEnd::UsedUp(_));
        if !is_counted || is_short || self.has_cut_values {
            let notes = self.notes(self.end);
            let extent = self.request.extent(self.count, self.end.has_more());
            self.piece.push_str(&format!("\n\n{notes}({extent})"));
        }
        let has_more = self.end.has_more();
        let structure = self.structured.map(|table| table.finish(has_more));
        Ok((self.piece, (None, structure)))
    }
}

/// Streams a complete answer, and keeps its memory reservation until it is sent.
fn held(
    text: Text,
    structure: Option<Structure>,
    permit: Arc<LargeRowPermit>,
) -> impl Stream<Item = Result<Piece, Reported>> + Send + 'static {
    let pieces = [Some(text.into()), structure.map(Into::into)];
    let pieces = pieces.into_iter().flatten();
    stream::unfold((pieces, permit), async |(mut pieces, permit)| {
        Some((Ok(pieces.next()?), (pieces, permit)))
    })
}

/// Describes a query error without its statement, such as one that the statement did not cause.
pub(super) fn complaint(error: &QueryError) -> Reported {
    Reported::new(match error {
        QueryError::Empty => "Query is empty".to_owned(),
        QueryError::Refused(refusal) => refusal.to_string(),
        QueryError::Changes(limit) => limit.to_string(),
        QueryError::TooCostly { cost, max } => return client::too_costly(*cost, *max),
        QueryError::Failed { phase, report } => match phase {
            Phase::Begin => format!("Failed to begin transaction: {report}"),
            Phase::Commit => format!("Failed to commit transaction: {report}"),
            _ => format!("Error iterating rows: {}", client::explained(report)),
        },
        QueryError::Row(_) => "Error reading row: the value is not text".to_owned(),
        QueryError::Silent => {
            "Error iterating rows: the database did not answer in time".to_owned()
        }
        QueryError::NoRoom => "Error iterating rows: other answers with large rows take all the \
                               memory there is for them. Ask for fewer or shorter columns, or try \
                               again later."
            .to_owned(),
        QueryError::Lease(error) => return client::unavailable(error),
        QueryError::Connection(_) => {
            "Error iterating rows: the connection to the database was lost".to_owned()
        }
    })
}

/// Writes a row on a new line, and returns whether a value was cut. Rows without columns write no lines.
fn write_line(
    tsv: &mut impl Line,
    row: &ResultRow,
    format: CallFormat,
) -> Result<bool, QueryError> {
    if row.columns().is_empty() {
        return Ok(false);
    }
    tsv.push_str("\n");
    row.write_tsv(tsv, format.fields())
}

fn write_command(text: &mut String, summary: &Summary) {
    let Summary {
        command, affected, ..
    } = summary;
    write!(text, "Statement executed successfully.\nCommand: {command}")
        .expect("a string takes all that is written");
    let counts = ["INSERT", "UPDATE", "DELETE"];
    if *affected > 0 || counts.iter().any(|verb| command.starts_with(verb)) {
        write!(text, "\nRows affected: {affected}").expect("a string takes all that is written");
    }
}
