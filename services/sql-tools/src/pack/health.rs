//! The checks of `db_health`: a statement for each, run one by one.
//!
//! A check that fails or takes too long must not take the others with it, so each has a transaction
//! of its own. What it lacks becomes a row of the answer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::time;
use ziggurat_mcp::ToolResult;
use ziggurat_postgres::{
    error::QueryError,
    quoted,
    rows::{ResultColumn, ResultRow},
};

use crate::{
    definition::Definition,
    kind::Checked,
    pack::statement,
    policies,
    tool::{AnswerError, SqlTool, ToolCall},
};

/// Time for one check.
const CHECK_TIME: Duration = Duration::from_secs(5);

/// Time for all checks. With the grace of the last one it is 20 seconds.
const TIME: Duration = Duration::from_millis(19_500);

/// Time that PostgreSQL has to report the end of the time for a check, which keeps the connection.
const GRACE: Duration = Duration::from_millis(500);

/// The columns of the answer.
const COLUMNS: [&str; 6] = ["check", "status", "subject", "value", "threshold", "advice"];

/// The parameter that the checks share with the tool.
const SCHEMA: &str = "schema";

/// The statements, by the names that the statement of the tool chooses.
pub(super) const STATEMENTS: [(&str, &str); 19] = [
    ("cache", include_str!("../../dba/health/cache.sql")),
    (
        "connections",
        include_str!("../../dba/health/connections.sql"),
    ),
    (
        "long_transactions",
        include_str!("../../dba/health/long_transactions.sql"),
    ),
    (
        "wraparound",
        include_str!("../../dba/health/wraparound.sql"),
    ),
    ("vacuum", include_str!("../../dba/health/vacuum.sql")),
    (
        "bloat_tables",
        include_str!("../../dba/health/bloat_tables.sql"),
    ),
    (
        "bloat_tables_measured",
        include_str!("../../dba/health/bloat_tables_measured.sql"),
    ),
    (
        "bloat_indexes",
        include_str!("../../dba/health/bloat_indexes.sql"),
    ),
    (
        "indexes_invalid",
        include_str!("../../dba/health/indexes_invalid.sql"),
    ),
    (
        "indexes_duplicate",
        include_str!("../../dba/health/indexes_duplicate.sql"),
    ),
    (
        "indexes_unused",
        include_str!("../../dba/health/indexes_unused.sql"),
    ),
    (
        "indexes_missing_fk",
        include_str!("../../dba/health/indexes_missing_fk.sql"),
    ),
    ("sequences", include_str!("../../dba/health/sequences.sql")),
    (
        "replication",
        include_str!("../../dba/health/replication.sql"),
    ),
    (
        "checkpoints_14",
        include_str!("../../dba/health/checkpoints_14.sql"),
    ),
    (
        "checkpoints_17",
        include_str!("../../dba/health/checkpoints_17.sql"),
    ),
    ("settings", include_str!("../../dba/health/settings.sql")),
    (
        "constraints",
        include_str!("../../dba/health/constraints.sql"),
    ),
    ("policies", policies::CHECK),
];

/// The checks of a database.
pub(super) struct HealthChecks(Vec<SqlTool>);

// === impl HealthChecks ===

impl HealthChecks {
    /// Makes the checks that a tool chooses from.
    pub(super) fn of(tool: &SqlTool) -> Self {
        let definitions = STATEMENTS.into_iter().filter_map(definition);
        let checks = definitions.map(|definition| tool.with_definition(definition));
        Self(checks.collect())
    }

    /// Runs the checks that the statement of the tool chooses.
    pub(super) async fn answer(
        &self,
        tool: &SqlTool,
        call: &ToolCall<'_>,
        values: Vec<Option<Checked>>,
    ) -> Result<ToolResult, AnswerError> {
        let begin = Instant::now();
        let schema = tool.definition.parameters.iter().zip(&values);
        let schema = schema.filter(|(parameter, _)| parameter.name == SCHEMA);
        let schema: Vec<_> = schema.map(|(_, value)| value.clone()).collect();
        let text = tool.definition.statement(&values);
        let chosen = tool
            .rows(call, tool.statement(call, &text, values)?)
            .await?;
        let columns: Arc<[ResultColumn]> = COLUMNS.map(ResultColumn::text).into();
        let mut found = Vec::new();
        for row in chosen {
            let check = row.text(0)?.unwrap_or_default();
            let name = row.text(1)?.unwrap_or(check);
            let rows = if let Some(reason) = row.text(2)? {
                Err(reason.to_owned())
            } else {
                let left = TIME.saturating_sub(begin.elapsed());
                self.run(name, call, &schema, left).await
            };
            match rows {
                Ok(rows) => found.extend(rows),
                Err(reason) => {
                    let texts = [check, "unknown", name, "", "", &reason];
                    found.push(ResultRow::of_texts(&columns, &texts));
                }
            }
        }
        tool.writer(call).write_rows(columns.to_vec(), found)
    }

    /// Runs a check, and returns its rows or the reason for its failure.
    async fn run(
        &self,
        name: &str,
        call: &ToolCall<'_>,
        schema: &[Option<Checked>],
        left: Duration,
    ) -> Result<Vec<ResultRow>, String> {
        let limit = CHECK_TIME.min(left);
        let check = self.0.iter().find(|check| check.definition.name == name);
        let Some(check) = check.filter(|_| !limit.is_zero()) else {
            return Err("not reached within 20 s: ask for this check alone".to_owned());
        };
        let has_schema = !check.definition.parameters.is_empty();
        let values = schema.iter().filter(|_| has_schema).cloned().collect();
        let begin = Instant::now();
        let text = check.definition.statement(&[]);
        let rows = async {
            let statement = check.statement(call, &text, values)?;
            check.rows(call, statement.with_timeout(Some(limit))).await
        };
        let rows = time::timeout(limit + GRACE, rows).await;
        rows.unwrap_or(Err(QueryError::Silent))
            .map_err(|error| reason(&error, call, begin.elapsed()))
    }
}

/// Makes the definition of a check.
pub(super) fn definition((name, text): (&str, &str)) -> Option<Arc<Definition>> {
    let schema = json!({"name": SCHEMA, "type": "string", "required": false});
    let has_schema = text.contains(":schema");
    statement(name, text, &[schema][usize::from(!has_schema)..])
}

/// Says in one sentence why a check has no rows, and what helps.
fn reason(error: &QueryError, call: &ToolCall<'_>, elapsed: Duration) -> String {
    match error {
        QueryError::Silent => late(elapsed),
        QueryError::Failed { report, .. } => match &*report.sqlstate {
            "57014" => late(elapsed),
            "42501" => {
                let role = quoted(&call.current.database().settings().user);
                format!("{}: grant it to {role}", report.message)
            }
            _ => format!("{report}: the log of PostgreSQL has more"),
        },
        QueryError::Lease(error) => {
            let cause = error.public_message();
            format!("{cause}: check the connection settings of the server")
        }
        _ => "the connection to the database was lost: ask again".to_owned(),
    }
}

fn late(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f32();
    format!("cancelled after {seconds:.1} s: name a schema, or ask for this check alone")
}
