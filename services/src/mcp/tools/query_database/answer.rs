//! The text of an answer.
//!
//! The number of rows stands above them, so what is not too large is held until the last row is
//! in. What is too large PostgreSQL has counted, and it goes out as it comes.

use std::{fmt::Write as _, mem, sync::Arc};

use futures_util::{Stream, TryStreamExt as _, stream};

use crate::{
    mcp::{Piece, Reported, Structure, Text, ToolResult, table::Table, tools::client},
    pg::{
        error::{Phase, QueryError},
        lease::Lease,
        rows::{Column, Extent, Row, Rows, Summary},
        statement::{Statement, Window},
        tsv::Line,
    },
};

/// The size of a piece of a large answer.
const PIECE: usize = 32 << 10;

/// What was asked, and where.
pub(super) struct Asked {
    /// The first line: the database, or the connection.
    place: String,
    /// What stands above a complaint about the text.
    above: String,
    sql: Arc<str>,
    window: Window,
    pages_itself: bool,
    max_bytes: usize,
    is_structured: bool,
}

/// The rows of an answer, before their number is known and can be written above them.
struct Page {
    tsv: Text,
    rows: u64,
    is_cut: bool,
}

/// The rows for programs, if they are wanted.
// Boxed: mostly they are not.
type Beside = Option<Box<Table>>;

/// A large answer on its way.
struct Flow {
    asked: Asked,
    rows: Rows,
    /// What has not been sent yet.
    piece: Text,
    /// What is sent behind all of it.
    beside: Beside,
    has_more: bool,
}

// === impl Asked ===

impl Asked {
    /// A statement in the database the caller is using.
    pub(super) fn here(label: &str, statement: &Statement, max_bytes: usize) -> Self {
        Self {
            place: format!("Database: {label}"),
            above: String::new(),
            sql: Arc::clone(statement.text()),
            window: statement.window(),
            pages_itself: statement.pages_itself(),
            max_bytes,
            is_structured: false,
        }
    }

    /// A statement for which the caller brought a URL, shown as `shown`.
    pub(super) fn elsewhere(shown: &str, statement: &Statement, max_bytes: usize) -> Self {
        let place = format!("Using connection: {shown}");
        Self {
            above: format!("{place}\n\n"),
            place,
            ..Self::here("", statement, max_bytes)
        }
    }

    /// Sets whether the rows are wanted for programs too.
    pub(super) fn with_structure(mut self, is_structured: bool) -> Self {
        self.is_structured = is_structured;
        self
    }

    /// Runs the statement.
    pub(super) async fn run(
        self,
        statement: Statement,
        lease: Lease,
    ) -> Result<ToolResult, Reported> {
        let run = statement.run(lease).await;
        let mut rows = run.map_err(|error| self.complaint(&error))?;
        let mut beside = self.beside(&rows);
        if let Some(extent) = rows.extent() {
            return Ok(ToolResult::stream(self.flow(extent, rows, beside)));
        }
        let page = self.page(&mut rows, beside.as_deref_mut()).await;
        let page = page.map_err(|error| self.complaint(&error))?;
        let mut text = self.opening();
        match rows.summary() {
            Some(summary) if rows.is_command() => {
                write_command(&mut text, summary);
                let structure = beside.map(|_| Table::changed(summary.affected));
                Ok(ToolResult::text(text).with_structure(structure))
            }
            summary => {
                let has_more = page.is_cut || summary.is_some_and(|summary| summary.has_more);
                self.write_notes(&mut text, page.is_cut, has_more);
                write_heading(&mut text, self.window, page.rows, has_more);
                let mut text = Text::from(text);
                text.append(&page.tsv);
                let structure = beside.map(|table| table.finish(has_more));
                Ok(ToolResult::text(text).with_structure(structure))
            }
        }
    }

    /// A table for the rows, if one is wanted.
    fn beside(&self, rows: &Rows) -> Beside {
        let columns = rows.columns().iter().map(Column::name);
        let table = || Box::new(Table::new(columns, self.max_bytes));
        self.is_structured.then(table)
    }

    fn opening(&self) -> String {
        format!("{}\n\nSQL Query:\n{}\n\n", self.place, self.sql)
    }

    /// Reads rows until there are no more, or no more fit.
    async fn page(
        &self,
        rows: &mut Rows,
        mut beside: Option<&mut Table>,
    ) -> Result<Page, QueryError> {
        let mut page = Page {
            tsv: Text::new(),
            rows: 0,
            is_cut: false,
        };
        rows.write_header(&mut page.tsv);
        while let Some(row) = rows.try_next().await? {
            let before = page.tsv.mark();
            write_line(&mut page.tsv, &row)?;
            if page.rows > 0 && page.tsv.text_len() > self.max_bytes {
                page.tsv.cut(before);
                page.is_cut = true;
                break;
            }
            page.rows += 1;
            if let Some(table) = &mut beside {
                table.add(|table| table.write_row(row.scalars()))?;
            }
        }
        Ok(page)
    }

    fn flow(
        self,
        extent: Extent,
        rows: Rows,
        beside: Beside,
    ) -> impl Stream<Item = Result<Piece, Reported>> + Send + 'static {
        let mut opening = self.opening();
        self.write_notes(&mut opening, false, extent.has_more);
        write_heading(
            &mut opening,
            self.window,
            extent.rows.into(),
            extent.has_more,
        );
        rows.write_header(&mut opening);
        let flow = Flow {
            asked: self,
            rows,
            piece: Text::from(&*opening),
            beside,
            has_more: extent.has_more,
        };
        stream::try_unfold((Some(flow), None::<Structure>), |rest| async {
            match rest {
                (Some(flow), _) => {
                    let (text, rest) = flow.next().await?;
                    Ok(Some((text.into(), rest)))
                }
                (None, Some(structure)) => Ok(Some((structure.into(), (None, None)))),
                (None, None) => Ok(None),
            }
        })
    }

    /// What the heading has no words for, in a paragraph before it: its own are fixed, and what
    /// follows is rows.
    fn write_notes(&self, text: &mut String, is_cut: bool, has_more: bool) {
        if is_cut {
            let max_bytes = self.max_bytes;
            writeln!(
                text,
                "Note: the rows were cut at {max_bytes} bytes. Ask for fewer or shorter columns \
                 to see more of them at once."
            )
            .expect("a string takes all that is written");
        }
        if has_more && self.pages_itself {
            text.push_str(
                "Note: the statement has a LIMIT or OFFSET of its own, and no other is added. \
                 Change these for the next page.\n",
            );
        }
        if is_cut || has_more && self.pages_itself {
            text.push('\n');
        }
    }

    /// What a model is told, so that it can do better.
    fn complaint(&self, error: &QueryError) -> Reported {
        let Self { above, sql, .. } = self;
        match error {
            QueryError::Failed {
                phase: Phase::Parse,
                report,
            } => Reported::new(format!(
                "{above}SQL Query:\n{sql}\n\nError executing query: {}",
                client::explained(report)
            )),
            _ => complaint(error),
        }
    }
}

// === impl Flow ===

impl Flow {
    /// Fills a piece, and says what is left. What was in it when a row fails is not sent: what
    /// is sent then is why.
    async fn next(mut self) -> Result<(Text, (Option<Self>, Option<Structure>)), Reported> {
        while self.piece.len() < PIECE {
            let row = self.rows.try_next().await;
            let Some(row) = row.map_err(|error| self.asked.complaint(&error))? else {
                let has_more = self.has_more;
                let structure = self.beside.map(|table| table.finish(has_more));
                return Ok((self.piece, (None, structure)));
            };
            write_line(&mut self.piece, &row).map_err(|error| self.asked.complaint(&error))?;
            if let Some(table) = &mut self.beside {
                let added = table.add(|table| table.write_row(row.scalars()));
                added.map_err(|error| self.asked.complaint(&error))?;
            }
        }
        let next = Text::with_capacity(PIECE + PIECE / 8);
        let piece = mem::replace(&mut self.piece, next);
        Ok((piece, (Some(self), None)))
    }
}

/// What a model is told when its text was not the reason, or not shown.
pub(super) fn complaint(error: &QueryError) -> Reported {
    Reported::new(match error {
        QueryError::Empty => "Query is empty".to_owned(),
        QueryError::Refused(refusal) => refusal.to_string(),
        QueryError::Failed { phase, report } => match phase {
            Phase::Begin => format!("Failed to begin transaction: {report}"),
            Phase::Commit => format!("Failed to commit transaction: {report}"),
            _ => format!("Error iterating rows: {}", client::explained(report)),
        },
        QueryError::Row(_) => "Error reading row: the value is not text".to_owned(),
        QueryError::Silent => {
            "Error iterating rows: the database did not answer in time".to_owned()
        }
        QueryError::Lease(error) => return client::unavailable(error),
        _ => "Error iterating rows: the connection to the database was lost".to_owned(),
    })
}

/// A row on a line of its own, behind what there is. Rows without columns leave no lines.
fn write_line(tsv: &mut impl Line, row: &Row) -> Result<(), QueryError> {
    if row.columns().is_empty() {
        return Ok(());
    }
    tsv.push_str("\n");
    row.write_tsv(tsv)
}

fn write_heading(text: &mut String, window: Window, rows: u64, has_more: bool) {
    let Window { offset, .. } = window;
    let (first, last) = (offset + 1, offset + rows);
    match (offset, has_more) {
        (0, false) => writeln!(text, "Results ({rows} rows):"),
        (0, true) => writeln!(
            text,
            "Results ({rows} rows shown, more available - use offset={last} for next page or \
             count_rows for total):"
        ),
        (_, false) => writeln!(text, "Results (rows {first}-{last}):"),
        (_, true) => writeln!(
            text,
            "Results (rows {first}-{last}, more available - use offset={last} for next page):"
        ),
    }
    .expect("a string takes all that is written");
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
