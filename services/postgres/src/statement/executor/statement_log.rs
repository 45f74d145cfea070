//! Log event of a statement.

use std::{sync::Arc, time::Instant};

use tracing::{Level, debug, enabled};
use ziggurat_telemetry::{Metrics, traces::StatementSpan};

use super::Statement;
use crate::{LOG_TARGET, database::Database, error::QueryError, pool::Lease, rows::Summary};

/// Commands that the log names. Any other word may be secret text of a caller.
const KNOWN_COMMANDS: [&str; 37] = [
    "ALTER",
    "ANALYZE",
    "CALL",
    "CHECKPOINT",
    "CLOSE",
    "CLUSTER",
    "COMMENT",
    "COPY",
    "CREATE",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DO",
    "DROP",
    "EXECUTE",
    "EXPLAIN",
    "FETCH",
    "GRANT",
    "IMPORT",
    "INSERT",
    "LISTEN",
    "LOCK",
    "MERGE",
    "NOTIFY",
    "PREPARE",
    "REFRESH",
    "REINDEX",
    "RESET",
    "REVOKE",
    "SELECT",
    "SET",
    "SHOW",
    "TABLE",
    "TRUNCATE",
    "UPDATE",
    "VACUUM",
    "VALUES",
];

/// Log record, metrics and span of a statement, as far as they are wanted.
pub(super) struct StatementLog {
    running: Option<Running>,
    span: Option<StatementSpan>,
}

struct Running {
    database: Arc<Database>,
    metrics: Metrics,
    process: i32,
    command: &'static str,
    began: Instant,
}

// === impl StatementLog ===

impl StatementLog {
    pub(super) fn open(lease: &Lease, statement: &Statement) -> Self {
        let metrics = lease.metrics();
        let is_wanted = metrics.is_on() || enabled!(target: LOG_TARGET, Level::DEBUG);
        let running = is_wanted.then(|| Running {
            database: Arc::clone(lease.database()),
            metrics: metrics.clone(),
            process: lease.process(),
            command: known(&statement.command),
            began: Instant::now(),
        });
        let span = statement
            .call
            .begin(lease.database().name(), &statement.text);
        Self { running, span }
    }

    /// Returns the span of the statement, if its call has a trace.
    pub(super) fn span(&self) -> Option<&StatementSpan> {
        self.span.as_ref()
    }

    /// Records the duration, which includes the time of the reader, and the result.
    pub(super) fn close(self, done: &Result<Summary, QueryError>) {
        if let (Some(mut span), Err(error)) = (self.span, done) {
            match error {
                QueryError::Failed { report, .. } => span.set_status_code(&report.sqlstate),
                QueryError::Silent => span.set_error("timeout"),
                QueryError::Connection(_) => span.set_error("connection"),
                _ => span.set_error("_OTHER"),
            }
        }
        let Some(running) = self.running else {
            return;
        };
        let summary = done.as_ref().ok();
        let (database, duration) = (running.database.name(), running.began.elapsed());
        let rows = summary.map_or(0, |summary| summary.rows.into());
        running.metrics.statement(database, duration, rows);
        let sqlstate = match done {
            Err(QueryError::Failed { report, .. }) => Some(&*report.sqlstate),
            _ => None,
        };
        debug!(
            target: LOG_TARGET,
            database,
            process = running.process,
            command = running.command,
            duration_ms = duration.as_secs_f64() * 1e3,
            rows = summary.map(|summary| summary.rows),
            affected = summary.map(|summary| summary.affected),
            sqlstate,
            is_ok = done.is_ok(),
            "statement"
        );
    }
}

/// Returns the first word of a command if it is known, else `OTHER`.
fn known(command: &str) -> &'static str {
    let first = command.split(' ').next().unwrap_or_default();
    let known = KNOWN_COMMANDS.iter().find(|known| **known == first);
    known.copied().unwrap_or("OTHER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_command_is_not_repeated() {
        let cases = [
            ("SELECT", "SELECT"),
            ("CREATE TABLE", "CREATE"),
            ("HUNTER2", "OTHER"),
            ("CREATE HUNTER2", "CREATE"),
            ("", "OTHER"),
        ];
        for (command, expected) in cases {
            assert_eq!(known(command), expected, "{command}");
        }
    }
}
