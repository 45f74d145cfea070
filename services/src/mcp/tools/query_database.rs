//! `query_database`: one statement, its rows as tab-separated text.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use futures_util::TryStreamExt as _;
use serde::Deserialize;
use serde_json::Number;

use crate::{
    databases::{Current, Databases},
    mcp::{
        Given, Property, Reported, Schema, Tool, ToolDescriptor, ToolError, ToolRequest,
        ToolResult, tools::client,
    },
    pg::{
        database::{Database, MAX_ROWS},
        error::{Phase, QueryError},
        rows::{Rows, Summary},
        statement::{Statement, Window},
    },
};

/// How many bytes of rows one answer holds unless it is told otherwise.
const DEFAULT_MAX_BYTES: usize = 4 << 20;

/// Runs a statement for its caller.
///
/// The statement runs in a read-only transaction unless the database allows writes, on a
/// connection that belongs to the caller's token alone. An answer holds as many rows as the
/// window and [`with_max_bytes`](Self::with_max_bytes) allow, and says how to ask for more.
#[derive(Clone, Debug)]
pub struct QueryDatabase {
    databases: Databases,
    max_bytes: usize,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    query: Given<String>,
    limit: Given<Number>,
    offset: Given<Number>,
}

/// The rows of an answer, before their number is known and can be written above them.
struct Page {
    tsv: String,
    rows: u64,
    is_cut: bool,
}

// === impl QueryDatabase ===

impl QueryDatabase {
    /// Runs statements in the database the caller is using.
    #[must_use]
    pub fn new(databases: Databases) -> Self {
        Self {
            databases,
            max_bytes: DEFAULT_MAX_BYTES,
        }
    }

    /// Sets how many bytes of rows an answer may hold (4 MiB by default); it holds a row at
    /// least.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    async fn run(&self, statement: Statement, current: &Current) -> Result<String, Reported> {
        let lead = format!(
            "Database: {}\n\nSQL Query:\n{}\n\n",
            current.label(),
            statement.text()
        );
        let asked = format!("SQL Query:\n{}\n\n", statement.text());
        let window = statement.window();
        let lease = current
            .pool()
            .lease()
            .await
            .map_err(|error| complaint(&asked, &error.into()))?;
        let mut rows = statement
            .run(lease)
            .await
            .map_err(|error| complaint(&asked, &error))?;
        let page = self
            .page(&mut rows)
            .await
            .map_err(|error| complaint(&asked, &error))?;

        let mut text = lead;
        match rows.summary() {
            Some(summary) if rows.is_command() => write_command(&mut text, summary),
            summary => {
                let has_more = page.is_cut || summary.is_some_and(|summary| summary.has_more);
                write_heading(&mut text, window, page.rows, has_more);
                text.push_str(&page.tsv);
            }
        }
        Ok(text)
    }

    /// Reads rows until there are no more, or no more fit.
    async fn page(&self, rows: &mut Rows) -> Result<Page, QueryError> {
        let mut page = Page {
            tsv: String::new(),
            rows: 0,
            is_cut: false,
        };
        rows.write_header(&mut page.tsv);
        while let Some(row) = rows.try_next().await? {
            let whole = page.tsv.len();
            page.tsv.push('\n');
            row.write_tsv(&mut page.tsv)?;
            if page.rows > 0 && page.tsv.len() > self.max_bytes {
                page.tsv.truncate(whole);
                page.is_cut = true;
                break;
            }
            page.rows += 1;
        }
        Ok(page)
    }
}

impl Tool for QueryDatabase {
    fn describe(&self) -> ToolDescriptor {
        let limit = Property::integer("How many rows to return.")
            .with_default(100)
            .with_minimum(1)
            .with_maximum(MAX_ROWS.into());
        let offset = Property::integer("How many rows to pass over first, to page on.")
            .with_default(0)
            .with_minimum(0);
        ToolDescriptor::new(
            "query_database",
            "Runs a SQL statement in PostgreSQL and returns its rows as tab-separated text: a line \
             of column names, then a line for each row, NULL as an empty field. Statements run in \
             a read-only transaction. Results are cut at the limit; when there are more rows the \
             answer says which offset comes next. Ask for the columns you need, aggregate in SQL \
             rather than fetching rows to add up, and look at the schema first if a name is not \
             known.",
            Schema::new()
                .with_required("query", Property::string("One SQL statement."))
                .with_optional("limit", limit)
                .with_optional("offset", offset),
        )
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, ToolError> {
        let arguments: Arguments = request.arguments()?;
        let query = arguments
            .query
            .or_report("Missing or invalid 'query' parameter")?;
        let current = client::current(&self.databases, request.caller()).await?;
        let database = current.database();
        let statement = Statement::new(database, &query)
            .map_err(|error| complaint("", &error))?
            .with_window(window(database, arguments.limit, arguments.offset));
        Ok(ToolResult::text(self.run(statement, &current).await?))
    }
}

/// A limit out of its range is no limit the caller meant; a negative offset is none.
fn window(database: &Database, limit: Given<Number>, offset: Given<Number>) -> Window {
    let limit = limit.0.and_then(|limit| limit.as_u64());
    let rows = limit
        .and_then(|limit| u32::try_from(limit).ok())
        .filter(|rows| (1..=MAX_ROWS).contains(rows));
    Window {
        rows: rows.unwrap_or(database.row_limit()),
        offset: offset.0.and_then(|offset| offset.as_u64()).unwrap_or(0),
    }
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

/// What a model is told, so that it can do better.
fn complaint(asked: &str, error: &QueryError) -> Reported {
    Reported::new(match error {
        QueryError::Empty => "Query is empty".to_owned(),
        QueryError::Refused(refusal) => refusal.to_string(),
        QueryError::Failed { phase, report } => match phase {
            Phase::Begin => format!("Failed to begin transaction: {report}"),
            Phase::Parse => format!(
                "{asked}Error executing query: {}",
                client::explained(report)
            ),
            Phase::Commit => format!("Failed to commit transaction: {report}"),
            _ => format!("Error iterating rows: {}", client::explained(report)),
        },
        QueryError::Row(_) => "Error reading row: the value is not text".to_owned(),
        QueryError::Lease(error) => return client::unavailable(error),
        _ => "Error iterating rows: the connection to the database was lost".to_owned(),
    })
}
