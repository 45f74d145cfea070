//! `query` and the resources of the server that `npx @modelcontextprotocol/server-postgres` starts,
//! for clients that were set up for it.

mod answer;
mod json;
mod tables;
#[cfg(test)]
mod tests;
mod value;

use serde::Deserialize;
use serde_json::json;
use ziggurat_answers::{SqlErrors, client};
use ziggurat_calls::Call;
use ziggurat_databases::{Current, Databases};
use ziggurat_layers::json_rpc;
use ziggurat_mcp::{
    Annotations, Error, Failure, Lenient, Recorded, Schema, ToolDescriptor, ToolHandler,
    ToolRequest, ToolResult,
};
use ziggurat_postgres::{error::QueryError, large_rows::LargeRows, statement::Statement};
use ziggurat_sql::Refusal;

pub use self::tables::TableSchemas;
use crate::query_database::{LARGE_ANSWERS, MIN_ROW_LIMIT, Words};

/// Message of PostgreSQL about more than one statement.
const SEVERAL: &str = "cannot insert multiple commands into a prepared statement";

/// Runs a statement for its caller, and answers with its rows as JSON, as the old server did.
///
/// It only reads, even if the database allows writes. Errors are errors of the protocol.
#[derive(Clone, Debug)]
pub struct Query {
    databases: Databases,
    max_bytes: usize,
    large_rows: LargeRows,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments<'a> {
    #[serde(borrow)]
    sql: Lenient<Words<'a>>,
}

// === impl Query ===

impl Query {
    /// Makes a tool that runs statements in the database of the caller. The JSON of an answer has
    /// `max_bytes` at most.
    #[must_use]
    pub fn new(databases: Databases, max_bytes: usize) -> Self {
        Self {
            databases,
            max_bytes,
            large_rows: LargeRows::new(max_bytes.saturating_mul(LARGE_ANSWERS)),
        }
    }

    async fn run(
        &self,
        current: &Current,
        sql: &str,
        call: &Call,
    ) -> Result<ToolResult, QueryError> {
        let statement = match Statement::read_only(current.database(), sql) {
            Err(QueryError::Empty) => return Ok(ToolResult::texts(["[]".to_owned()])),
            statement => statement?,
        };
        let statement = statement
            .with_streamed_rows(u32::MAX)
            .with_max_row_bytes(self.max_bytes.max(MIN_ROW_LIMIT))
            .with_large_rows(self.large_rows.clone())
            .with_max_cost(call.max_cost());
        let lease = call.lease(current.pool()).await?;
        let rows = statement.run(lease).await?;
        answer::read(rows, self.max_bytes, call).await
    }
}

impl ToolHandler for Query {
    fn describe(&self) -> ToolDescriptor {
        ToolDescriptor::new(
            "query",
            "Runs one read-only SQL statement. Returns its rows as JSON.",
            // The old server said no more. Other arguments are ignored, as there.
            Schema::raw(json!({"type": "object", "properties": {"sql": {"type": "string"}}})),
        )
        .with_recorded(Recorded::Statement("sql"))
        .with_annotations(Annotations::reading())
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let arguments = request.arguments::<Arguments<'_>>();
        let Some(Words(sql)) = arguments.ok().and_then(|arguments| arguments.sql.0) else {
            let failure = Failure::new("Missing or invalid 'sql' parameter");
            return Err(failure.with_code(json_rpc::Error::INVALID_PARAMS).into());
        };
        let call = Call::of(&request);
        let answer = async {
            let current = client::configured(&self.databases, &request, None).await?;
            call.admit(current.database(), &sql).await?;
            let answer = self.run(&current, &sql, call).await;
            answer.map_err(|error| {
                call.set_error(&error);
                reported(message(&current, &error))
            })
        };
        answer.await.map_err(|error: Error| match error {
            Error::Reported(text) => reported(text.as_str().to_owned()),
            Error::NotReady => reported(error.to_string()),
            error => error,
        })
    }
}

/// Returns the message of PostgreSQL, or describes an error that is not from there.
fn message(current: &Current, error: &QueryError) -> String {
    match error {
        QueryError::Failed { report, .. } => report.message.clone(),
        // The guard is first, and has other words than PostgreSQL.
        QueryError::Refused(Refusal::Several) => SEVERAL.to_owned(),
        QueryError::Refused(refusal) => refusal.to_string(),
        error => {
            let reported = SqlErrors::new(current, "").unreported(error);
            reported.as_str().to_owned()
        }
    }
}

/// Makes an error of the protocol with this message.
fn reported(message: String) -> Error {
    let failure = Failure::new(message);
    failure.with_code(json_rpc::Error::INTERNAL_ERROR).into()
}
