//! Log event, metrics and span of a statement.

use std::{borrow::Cow, sync::Arc, time::Instant};

use tracing::{Level, debug, enabled};
use ziggurat_telemetry::traces::StatementSpan;

use crate::{LOG_TARGET, error::QueryError, pool, rows::Summary};

/// Commands that the log names. Any other word may be secret text of a caller.
const KNOWN_COMMANDS: &str = "ALTER ANALYZE CALL CHECKPOINT CLOSE CLUSTER COMMENT COPY CREATE DEALLOCATE DECLARE DELETE \
    DO DROP EXECUTE EXPLAIN FETCH GRANT IMPORT INSERT LISTEN LOCK MERGE NOTIFY PREPARE REFRESH \
    REINDEX RESET REVOKE SELECT SET SHOW TABLE TRUNCATE UPDATE VACUUM VALUES";

/// Log record, metrics and span of a statement, as far as they are wanted.
pub(crate) struct StatementLog {
    running: Option<Running>,
    span: Option<StatementSpan>,
}

struct Running {
    pool: Arc<pool::Inner>,
    process: i32,
    /// The command, if it is logged.
    command: Option<&'static str>,
    began: Instant,
}

/// Numbers of rows of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    /// Rows that were read.
    pub(crate) rows: u64,
    /// Rows that were changed, if that is counted.
    pub(crate) affected: Option<u64>,
}

// === impl Counts ===

impl Counts {
    pub(crate) fn of(summary: &Summary) -> Self {
        Self {
            rows: summary.rows.into(),
            affected: Some(summary.affected),
        }
    }

    /// Counts rows that were read.
    pub(crate) fn read(rows: usize) -> Self {
        Self {
            rows: rows.try_into().unwrap_or(u64::MAX),
            affected: None,
        }
    }
}

// === impl StatementLog ===

impl StatementLog {
    /// Begins with the command, of which only a known one is named, and the text.
    pub(crate) fn open(lease: &pool::Lease, command: &str, text: &str) -> Self {
        let pool = lease.inner();
        let is_logged = enabled!(target: LOG_TARGET, Level::DEBUG);
        let running = (is_logged || pool.metrics.is_on()).then(|| Running {
            pool: Arc::clone(pool),
            process: lease.process(),
            command: is_logged.then(|| known(command)),
            began: Instant::now(),
        });
        let span = lease.call().begin(lease.database().name(), text);
        Self { running, span }
    }

    /// Begins only a span, for a statement with a log event of its own.
    pub(crate) fn without_event(lease: &pool::Lease, text: &str) -> Self {
        let span = lease.call().begin(lease.database().name(), text);
        let running = None;
        Self { running, span }
    }

    /// Returns the comment before the statement, or an empty text. It is ASCII.
    pub(crate) fn comment(&self, lease: &pool::Lease) -> String {
        lease.call().comment(self.span.as_ref())
    }

    /// Records the duration, which includes the time of the reader, and the result.
    pub(crate) fn close(self, done: Result<Counts, &QueryError>) {
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
        let counts = done.ok();
        let duration = running.began.elapsed();
        let rows = counts.map_or(0, |counts| counts.rows);
        running.pool.metrics.statement(duration, rows);
        let sqlstate = match done {
            Err(QueryError::Failed { report, .. }) => Some(&*report.sqlstate),
            _ => None,
        };
        debug!(
            target: LOG_TARGET,
            database = running.pool.database.name(),
            process = running.process,
            command = running.command,
            duration_ms = duration.as_secs_f64() * 1e3,
            rows = counts.map(|counts| counts.rows),
            affected = counts.and_then(|counts| counts.affected),
            sqlstate,
            is_ok = done.is_ok(),
            "statement"
        );
    }
}

/// Returns a text with a comment before it.
pub(crate) fn commented<'a>(comment: &str, text: &'a str) -> Cow<'a, str> {
    if comment.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{comment}{text}"))
    }
}

/// Returns the first word of a command if it is known, else `OTHER`.
fn known(command: &str) -> &'static str {
    let first = command.split(' ').next().unwrap_or_default();
    let known = KNOWN_COMMANDS.split(' ').find(|known| *known == first);
    known.unwrap_or("OTHER")
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
