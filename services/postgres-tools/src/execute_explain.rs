//! `execute_explain`: shows the plan of a SELECT, and hints to make it faster.

mod findings;
mod plan;
mod select;
mod shape;
mod structured;
#[cfg(test)]
mod tests;

use futures_util::TryStreamExt as _;
use serde::Deserialize;
use ziggurat_answers::{ResultFormat, SqlErrors, client};
use ziggurat_calls::Call;
use ziggurat_databases::{Current, Databases};
use ziggurat_mcp::{
    Annotations, Error, Lenient, Property, Recorded, Reported, Schema, ToolDescriptor, ToolHandler,
    ToolRequest, ToolResult, Visibility,
};
use ziggurat_postgres::{
    database::MAX_ROWS,
    error::{Phase, QueryError},
    statement::{Statement, Window},
};

use self::{
    findings::Findings,
    select::is_select,
    structured::{Explained, PlanNode},
};

const MISSING: &str = "Parameter 'query' is required and must be a non-empty string";

const NOT_A_SELECT: &str = "Only SELECT queries are supported. EXPLAIN with ANALYZE runs the \
    statement it explains, so a statement that changes something, or creates a table, is refused.";

const RULE: &str =
    "================================================================================";

/// Limit on the bytes of a plan in an answer: a plan over thousands of partitions is too long to be
/// useful.
const MAX_BYTES: usize = 1 << 20;

/// Explains a SELECT to its caller.
///
/// With ANALYZE the query runs in a read-only transaction, whatever the database allows. It is
/// rolled back, and has the same timeout as other statements.
#[derive(Clone, Debug)]
pub struct ExecuteExplain {
    databases: Databases,
    format: ResultFormat,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    query: Lenient<String>,
    analyze: Lenient<bool>,
    buffers: Lenient<bool>,
    format: Lenient<String>,
    database: Lenient<String>,
}

/// A query to explain, with its options.
struct Question {
    query: String,
    analyze: bool,
    buffers: bool,
    is_json: bool,
}

// === impl ExecuteExplain ===

impl ExecuteExplain {
    /// Makes a tool that explains queries to the database of the caller.
    #[must_use]
    pub fn new(databases: Databases) -> Self {
        let format = ResultFormat::default();
        Self { databases, format }
    }

    /// Sets the form of the values in texts.
    #[must_use]
    pub fn with_format(mut self, format: ResultFormat) -> Self {
        self.format = format;
        self
    }
}

impl ToolHandler for ExecuteExplain {
    fn describe(&self) -> ToolDescriptor {
        let analyze =
            Property::boolean("Run the query and measure it. If false, PostgreSQL only estimates.");
        let buffers = Property::boolean("Count the blocks that were read.");
        let format = Property::string("Format of the plan; only text is analysed.");
        let tool = ToolDescriptor::new(
            "execute_explain",
            "Shows the plan of a SELECT, measured by running it unless analyze is false, and \
             points out what makes it slow. Use it before proposing an index.",
            Schema::new()
                .with_required("query", Property::string("One SELECT statement."))
                .with_optional("analyze", analyze.with_default(true))
                .with_optional("buffers", buffers.with_default(true))
                .with_optional(
                    "format",
                    format.with_choices(["text", "json"]).with_default("text"),
                ),
        )
        .with_title("Explain a query")
        .with_recorded(Recorded::Statement("query"))
        .with_output_on_demand(Explained::schema())
        .with_annotations(Annotations::reading())
        .with_visibility(Visibility::Negotiated);
        client::with_database(&self.databases, tool)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let mut arguments: Arguments = request.arguments()?;
        let database = arguments.database.0.take();
        let question = Question::read(arguments)?;
        let current = client::chosen(&self.databases, &request, database).await?;
        let format = self.format.of(&request);
        let call = Call::of(&request);
        call.admit(current.database(), &question.query).await?;
        let plan = question.ask(&current, call).await;
        if let Err(error) = &plan {
            call.set_error(error);
        }
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) if request.is_negotiated() => {
                let label = client::label(&self.databases, &request, &current);
                let errors = SqlErrors::new(&current, &*question.query).for_request(&request);
                let reported = Box::pin(errors.reported(&error)).await;
                return Err(format.error(client::labelled(&label, reported.into())));
            }
            Err(error) => return Err(format.error(question.complaint(&error).into())),
        };
        let findings = question.findings(&plan);
        let explained = Explained {
            database: current.label(),
            query: &question.query,
            plan: &plan,
            findings: &findings,
            nodes: request.asks_for_structure().then(|| {
                if question.is_json {
                    Vec::new()
                } else {
                    PlanNode::all(&plan, &findings)
                }
            }),
        };
        let structure = request.wants_structure().then(|| explained.structure());
        let heading = client::heading(&self.databases, &request, &current);
        let text = format.text(&answer(&heading, &explained)).into_owned();
        Ok(ToolResult::text(text).with_structure(structure))
    }
}

// === impl Question ===

impl Question {
    fn read(arguments: Arguments) -> Result<Self, Reported> {
        let query = arguments.query.0.unwrap_or_default();
        let query = query.trim();
        if query.is_empty() {
            return Err(Reported::new(MISSING));
        }
        let query = query.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        if !is_select(query) {
            return Err(Reported::new(NOT_A_SELECT));
        }
        Ok(Self {
            query: query.to_owned(),
            analyze: arguments.analyze.0.unwrap_or(true),
            buffers: arguments.buffers.0.unwrap_or(true),
            is_json: arguments.format.0.as_deref() == Some("json"),
        })
    }

    /// Returns the command before the query.
    fn command(&self) -> String {
        let mut options = Vec::new();
        if self.analyze {
            options.push("ANALYZE TRUE");
        }
        if self.buffers {
            options.push("BUFFERS TRUE");
        } else if self.analyze {
            // From PostgreSQL 18 on, ANALYZE includes BUFFERS by default.
            options.push("BUFFERS FALSE");
        }
        if self.is_json {
            options.push("FORMAT JSON");
        }
        if options.is_empty() {
            "EXPLAIN ".to_owned()
        } else {
            format!("EXPLAIN ({}) ", options.join(", "))
        }
    }

    async fn ask(&self, current: &Current, call: &Call) -> Result<String, QueryError> {
        if shape::is_due(current, call).await? {
            return shape::ask(self, current, call).await;
        }
        self.run(&self.command(), current, call).await
    }

    /// Runs a command with the query behind it, and returns the lines of the plan.
    async fn run(
        &self,
        command: &str,
        current: &Current,
        call: &Call,
    ) -> Result<String, QueryError> {
        let window = Window {
            offset: 0,
            rows: MAX_ROWS,
        };
        let statement =
            Statement::wrapped(current.database(), command, &self.query, "")?.judged_by_plan();
        let lease = call.lease(current.pool()).await?;
        let statement = statement.with_window(window).with_max_cost(call.max_cost());
        let mut rows = statement.run(lease).await?;
        let mut plan = String::new();
        let mut is_cut = false;
        while let Some(row) = rows.try_next().await? {
            let line = row.text(0)?.unwrap_or_default();
            let room = MAX_BYTES.saturating_sub(plan.len());
            let shown = &line[..line.floor_char_boundary(room)];
            is_cut |= shown.len() < line.len();
            plan.push_str(shown);
            plan.push_str(if is_cut { "" } else { "\n" });
        }
        if is_cut || rows.summary().is_some_and(|summary| summary.has_more) {
            plan.push_str("\n(the plan is longer; the rest is not shown)\n");
        }
        Ok(plan)
    }

    /// Returns the findings for a plan that was executed.
    fn findings(&self, plan: &str) -> Findings {
        if self.analyze && !self.is_json {
            Findings::of(plan)
        } else {
            Findings::default()
        }
    }

    fn complaint(&self, error: &QueryError) -> Reported {
        Reported::new(match error {
            QueryError::Refused(refusal) => refusal.to_string(),
            QueryError::TooCostly { cost, max } => return client::too_costly(*cost, *max),
            QueryError::Lease(error) => return client::unavailable(error),
            QueryError::Failed { phase, report } => match phase {
                Phase::Begin => format!("Failed to begin transaction: {report}"),
                Phase::Parse => format!(
                    "Error executing EXPLAIN: {}\n\nQuery: {}{}",
                    client::explained(report),
                    self.command(),
                    self.query
                ),
                _ => format!(
                    "Error iterating EXPLAIN output: {}",
                    client::explained(report)
                ),
            },
            _ => {
                "Error iterating EXPLAIN output: the connection to the database was lost".to_owned()
            }
        })
    }
}

fn answer(heading: &str, explained: &Explained<'_>) -> String {
    let Explained {
        query,
        plan,
        findings,
        ..
    } = explained;
    let mut text = format!("{heading}\n\nQuery:\n{query}\n\nExecution Plan:\n{RULE}\n{plan}{RULE}");
    if !findings.is_empty() {
        text.push_str("\n\nAnalysis:\n");
        text.push_str(&findings.to_string());
    }
    text
}
