//! Plans without numbers, for callers who do not see all rows.

use ziggurat_calls::Call;
use ziggurat_databases::Current;
use ziggurat_postgres::{error::QueryError, single_round_trip::ReadOnlyQuery};

use crate::execute_explain::Question;

/// Asks whether row security holds for the caller. A plan names the partitions of a table and not the
/// table, so all tables count.
const IS_SECURED: &str = "SELECT pg_catalog.bool_or(pg_catalog.row_security_active(oid)) IS TRUE \
                          FROM pg_catalog.pg_class WHERE relrowsecurity";

/// Lines of a measured plan that count no rows.
const TIMES: [&str; 2] = ["Planning Time:", "Execution Time:"];

/// Returns whether the numbers of a plan would count rows that the caller does not see.
pub(super) async fn is_due(current: &Current, call: &Call) -> Result<bool, QueryError> {
    if !current.database().hides_plans() {
        return Ok(false);
    }
    let query = ReadOnlyQuery {
        name: "row security",
        before: None,
        query: IS_SECURED.to_owned(),
        values: Vec::new(),
    };
    let lease = call.lease(current.pool()).await?;
    let answers = query.read(lease, |row| Ok(row.text(0)? == "t")).await?;
    Ok(answers != [false])
}

/// Returns the steps of a plan, and with ANALYZE the two times of the whole.
pub(super) async fn ask(
    question: &Question,
    current: &Current,
    call: &Call,
) -> Result<String, QueryError> {
    let command = if question.is_json {
        "EXPLAIN (COSTS FALSE, FORMAT JSON) "
    } else {
        "EXPLAIN (COSTS FALSE) "
    };
    let mut plan = question.run(command, current, call).await?;
    if question.analyze {
        let command = "EXPLAIN (ANALYZE TRUE, COSTS FALSE, TIMING FALSE, BUFFERS FALSE) ";
        let measured = question.run(command, current, call).await?;
        let is_time = |line: &&str| TIMES.iter().any(|start| line.starts_with(start));
        for line in measured.lines().filter(is_time) {
            plan.push_str(line);
            plan.push('\n');
        }
    }
    Ok(plan)
}
