//! Weaknesses of row security in a database: ways to the rows of others.
//!
//! The statement is also a check of `db_health`.

use ziggurat_callers::{Callers, RoleUse};
use ziggurat_postgres::{
    driver::Row,
    error::QueryError,
    pool::Pool,
    single_round_trip::{ReadOnlyQuery, Value},
};

/// The check of `db_health`, for the roles of its own session.
pub(crate) const CHECK: &str = include_str!("../dba/health/policies.sql");

/// The line in front of the end of the check.
const END: &str = "-- End of the findings.";

/// A weakness of row security.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFinding {
    /// True if a caller gets the rows of others; else it may.
    pub is_problem: bool,
    /// The table, view, function or role, and the sentence about it.
    pub text: String,
    /// Advice about it.
    pub advice: String,
}

/// Returns the weaknesses of row security for the callers of a database. The connections have its own
/// user.
///
/// # Errors
/// Fails if a query does.
pub async fn policy_findings(
    pool: &Pool,
    callers: &Callers,
) -> Result<Vec<PolicyFinding>, QueryError> {
    let uses = callers.role_use();
    let own = matches!(uses, RoleUse::Own).then(|| pool.database().settings().user.clone());
    let roles = query("SELECT rolname FROM pg_catalog.pg_roles", Vec::new());
    let name = |row: &Row| row.text(0).map(str::to_owned);
    let mut roles = roles.read(pool.lease().await?, name).await?;
    roles.retain(|role| own.as_ref() == Some(role) || callers.may_give(role));
    let findings = CHECK
        .split_once(END)
        .map_or(CHECK, |(findings, _)| findings);
    let findings = findings.replace("NULL::text[] AS roles", "$1::text[] AS roles");
    let text = findings
        + "SELECT kind, is_problem, concat_ws(': ', name, part, finding), advice
           FROM found
           ORDER BY is_problem DESC, 3";
    let found = query(&text, vec![Value::Texts(roles)]);
    let finding = |row: &Row| {
        let kind = row.text(0)?.to_owned();
        let is_problem = row.text(1)? == "t";
        let (text, advice) = (row.get(2)?, row.get(3)?);
        let found = PolicyFinding {
            is_problem,
            text,
            advice,
        };
        Ok((kind, found))
    };
    let mut found = found.read(pool.lease().await?, finding).await?;
    let is_guarded = matches!(uses, RoleUse::Set) || !callers.settings.is_empty();
    found.retain(|(kind, _)| match kind.as_str() {
        // A caller that logs in as its role stays it, whatever runs.
        "function" => is_guarded,
        "login" => matches!(uses, RoleUse::Set),
        _ => true,
    });
    Ok(found.into_iter().map(|(_, finding)| finding).collect())
}

fn query(text: &str, values: Vec<Value>) -> ReadOnlyQuery {
    ReadOnlyQuery {
        name: "SELECT",
        before: None,
        query: text.to_owned(),
        values,
    }
}
