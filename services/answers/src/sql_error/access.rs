//! Hints for what this server or its role may not do.

use ziggurat_postgres::{database::Database, error::Report};
use ziggurat_sql::Refusal;

use crate::sql_error::scope::Scope;

/// Statements that a read-only database runs.
const ALLOWED: &str = "SELECT, VALUES, TABLE, WITH queries, EXPLAIN and SHOW work";

/// The line for a write that the grant of a caller does not allow, though the database does.
pub const WITHHELD: &str =
    "This connection was allowed to read only. Connect again and allow changes.";

/// Reason why a statement may not write.
#[derive(Clone, Copy, Debug)]
pub(super) enum WriteRule {
    /// The operator does not allow writes.
    Never,
    /// The grant of the caller does not allow writes.
    Withheld,
    /// The tool only reads; another one writes.
    OtherTool,
    /// The caller named the connection by a URL.
    AdHoc,
}

/// Describes the statements that are allowed instead of a write (25006).
pub(super) fn read_only(rule: WriteRule) -> String {
    match rule {
        WriteRule::Never => format!(
            "This server is read-only by design: {ALLOWED}. To change data, the operator has to \
             set allow_writes: true for this database."
        ),
        WriteRule::Withheld => WITHHELD.to_owned(),
        WriteRule::OtherTool => format!(
            "This statement ran in a read-only transaction, where {ALLOWED}. In this database \
             query_database may change data."
        ),
        WriteRule::AdHoc => {
            format!("A database that is named by a URL is always read-only: {ALLOWED}.")
        }
    }
}

/// Describes the allowed alternative to a refused text.
pub(super) fn refused(refusal: &Refusal, rule: WriteRule) -> Option<String> {
    Some(match refusal {
        Refusal::Several => {
            "Send each statement in a call of its own; WITH joins several queries to one."
                .to_owned()
        }
        Refusal::Transaction(_) => {
            "Send only the statement itself: each call is a transaction of its own.".to_owned()
        }
        Refusal::Forbidden(_) => read_only(rule),
        Refusal::Dangerous { .. } => {
            "Queries over tables, views and other functions are allowed. Only the operator can \
             allow this, with allow_dangerous_functions."
                .to_owned()
        }
        _ => return None,
    })
}

/// Describes a statement that was cancelled (57014).
pub(super) fn cancelled(report: &Report, database: &Database) -> Option<String> {
    // PostgreSQL has one code for both; a cancellation by an administrator has this message.
    if report.message.contains("user request") {
        return Some("An administrator of the database cancelled the statement.".to_owned());
    }
    let limit = database.query_timeout()?;
    Some(format!(
        "A statement may run for {limit:?}. Make it cheaper: filter on indexed columns, aggregate \
         over fewer rows, join fewer tables. LIMIT does not help if all rows must be sorted or \
         aggregated first. EXPLAIN without ANALYZE shows the plan without running it."
    ))
}

/// Describes the privilege that the role lacks (42501).
pub(super) fn denied(report: &Report, scope: &Scope<'_>) -> String {
    const GRANT: &str = "Only the operator can grant it.";
    // In another language the message stands alone.
    let object = report.message.strip_prefix("permission denied for ");
    let Some((kind, name)) = object.and_then(|object| object.rsplit_once(' ')) else {
        return format!("The role of this server lacks a privilege. {GRANT}");
    };
    let is_relation = ["table", "view", "materialized view", "foreign table"].contains(&kind);
    let bare = name.trim_matches('"');
    if is_relation && scope.len() > 0 && !scope.mentions(bare) {
        return format!(
            "A view or function of this statement reads the {kind} {name}, which its role may not \
             read. {GRANT}"
        );
    }
    let is_target = |words: &[&str]| {
        let mut sources = scope.sources().iter();
        scope.is_word(0, words) && sources.next().is_some_and(|source| source.name == bare)
    };
    let privilege = match kind {
        _ if is_relation && is_target(&["INSERT"]) => "INSERT",
        _ if is_relation && is_target(&["UPDATE"]) => "UPDATE or SELECT",
        _ if is_relation && is_target(&["DELETE"]) => "DELETE or SELECT",
        _ if is_relation => "SELECT",
        "schema" if scope.is_word(0, &["CREATE"]) => "CREATE",
        "function" | "procedure" | "aggregate" | "routine" => "EXECUTE",
        "schema" | "sequence" | "type" | "domain" | "language" => "USAGE",
        "database" => "CREATE",
        _ => "a privilege",
    };
    format!("The role of this server lacks {privilege} on the {kind} {name}. {GRANT}")
}
