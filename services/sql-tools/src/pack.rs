//! Tools for administrators. Their definitions are a part of the program.
//!
//! They are SQL tools that also take the database as an argument, and only clients that negotiate a
//! revision see them. `index_advice` is not a single statement, and has a module of its own.

mod health;
#[cfg(test)]
mod tests;

use std::{mem, sync::Arc};

use serde_json::json;
use serde_yaml::Value as Yaml;
use ziggurat_answers::{ResultFormat, client};
use ziggurat_calls::Call;
use ziggurat_databases::Databases;
use ziggurat_mcp::{
    Error, ToolDescriptor, ToolHandler, ToolRequest, ToolResult, Tools, Visibility,
};
use ziggurat_postgres::error::QueryError;

use self::health::HealthChecks;
use crate::{
    Environment, SqlTools,
    arguments::Members,
    definition::Definition,
    index_advice::{ABSENT_CODES, IndexAdvice, NO_TOP_QUERIES},
    input_schema,
    kind::{Checked, Kind, Scalar, TextRules},
    parameter::{Filling, Parameter},
    tool::{AnswerError, SqlTool, ToolCall},
};

/// The definitions of the tools. Its first lines describe how each is run.
const DEFINITIONS: &str = include_str!("../dba.yaml");

/// The argument that names the database of a call.
const DATABASE: &str = "database";

/// The tools with statements of all sessions in their results, and the column that has them.
const WITH_STATEMENTS: [&str; 3] = ["top_queries", "active_sessions", "lock_tree"];
const STATEMENTS: &str = "query";

/// The names of the tools for administrators.
pub const ADMINISTRATOR_TOOLS: [&str; 5] = [
    "db_health",
    "top_queries",
    "active_sessions",
    "lock_tree",
    "index_advice",
];

/// A tool for administrators.
struct PackTool {
    tool: SqlTool,
    plan: Plan,
}

/// The statements of a call.
enum Plan {
    /// The one of the tool.
    Single,
    /// The one of the tool, and another if PostgreSQL lacks something for it.
    WithFallback(Box<SqlTool>),
    /// Those that the one of the tool chooses.
    Health(HealthChecks),
}

/// Adds the tools for administrators to a list. An answer has rows of at most `max_bytes` bytes.
pub fn add_administrator_tools(
    tools: Tools,
    databases: &Databases,
    max_bytes: usize,
    format: ResultFormat,
) -> Tools {
    let (pack, _) = read(DEFINITIONS);
    let own = pack.tools(databases, max_bytes, format);
    let tools = own.map(PackTool::of).fold(tools, Tools::with);
    tools.with(IndexAdvice::new(databases.clone(), format))
}

/// Reads definitions, and returns their problems too. A test shows that there are no problems.
fn read(yaml: &str) -> (SqlTools, Vec<String>) {
    let mut pack = SqlTools::default();
    let mut file: Yaml = serde_yaml::from_str(yaml).unwrap_or_default();
    let entries = file.get_mut("tools").and_then(Yaml::as_sequence_mut);
    let entries = entries.map(mem::take).unwrap_or_default();
    let problems = pack.read("dba.yaml", yaml, entries, &Environment::default());
    (pack, problems)
}

/// Reads a statement of the program that is no tool of its own.
fn statement(
    name: &str,
    statement: &str,
    parameters: &[serde_json::Value],
) -> Option<Arc<Definition>> {
    let entry = serde_yaml::to_value(json!({
        "name": name,
        "description": name,
        "statement": statement,
        "parameters": parameters,
        "row_limit": 1000,
    }));
    let definition = Definition::read(entry.ok()?, 0, &Environment::default());
    definition.ok().map(Arc::new)
}

// === impl PackTool ===

impl PackTool {
    fn of(tool: SqlTool) -> Self {
        let has_statements = WITH_STATEMENTS.contains(&&*tool.definition.name);
        let tool = SqlTool {
            statements: has_statements.then_some(STATEMENTS),
            ..tool
        };
        let fallback = || statement("top_queries", NO_TOP_QUERIES, &[]);
        let plan = match &*tool.definition.name {
            "db_health" => Plan::Health(HealthChecks::of(&tool)),
            "top_queries" => fallback().map_or(Plan::Single, |definition| {
                Plan::WithFallback(Box::new(tool.with_definition(definition)))
            }),
            _ => Plan::Single,
        };
        Self { tool, plan }
    }

    async fn answer(
        &self,
        call: &ToolCall<'_>,
        values: Vec<Option<Checked>>,
    ) -> Result<ToolResult, AnswerError> {
        if let Plan::Health(checks) = &self.plan {
            return checks.answer(&self.tool, call, values).await;
        }
        let text = self.tool.definition.statement(&values);
        let answer = self.tool.answer(call, &text, values).await;
        match (&self.plan, answer) {
            (
                Plan::WithFallback(other),
                Err(AnswerError::Query(QueryError::Failed { report, .. })),
            ) if ABSENT_CODES.contains(&&*report.sqlstate) => {
                let text = other.definition.statement(&[]);
                other.answer(call, &text, Vec::new()).await
            }
            (_, answer) => answer,
        }
    }
}

impl ToolHandler for PackTool {
    fn describe(&self) -> ToolDescriptor {
        let definition = &self.tool.definition;
        let tool = self.tool.describe();
        let tool = tool.with_visibility(Visibility::OnlyNegotiated);
        if !self.tool.databases.has_several(None) {
            return tool;
        }
        let mut parameters = definition.parameters.clone();
        parameters.push(Parameter {
            name: DATABASE.to_owned(),
            description: Some(client::DATABASE.to_owned()),
            kind: Kind::Scalar(Scalar::Text(TextRules::default())),
            filling: Filling::Optional,
            is_sensitive: false,
        });
        tool.with_negotiated(
            definition.description.clone(),
            input_schema::of(&parameters, false),
        )
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let tool = &self.tool;
        let (database, values) = {
            let mut members: Members<'_> = request.arguments()?;
            // For other clients it is an unknown argument, which is refused: the answer would be
            // about another database.
            let database = if request.is_negotiated() {
                database(&mut members)?
            } else {
                None
            };
            (database, tool.values(&members, &request)?)
        };
        let current = client::chosen(&tool.databases, &request, database).await?;
        let text = tool.definition.statement(&values);
        Call::of(&request)
            .admit_of_operator(current.database(), &text)
            .await?;
        let label = client::label(&tool.databases, &request, &current);
        let call = ToolCall {
            current: &current,
            request: &request,
            label: &label,
        };
        let answer = self.answer(&call, values).await;
        answer.map_err(|error| client::labelled(&label, tool.error(&call, error)))
    }
}

/// Takes the name of the database out of the arguments.
fn database(members: &mut Members<'_>) -> Result<Option<String>, Error> {
    let Some(json) = members.take(DATABASE) else {
        return Ok(None);
    };
    serde_json::from_str(json.get())
        .map_err(|_| Error::said("Invalid argument 'database': must be a string"))
}
