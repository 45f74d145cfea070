//! Weaknesses of row security in a database: ways to the rows of others.
//!
//! The statement is also a check of `db_health`.

use std::fmt;

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
    /// Its kind, a word.
    pub kind: String,
    /// True if a caller gets the rows of others; else it may.
    pub is_problem: bool,
    /// The table, view, function or role.
    pub object: String,
    /// The policy of a table, if it is about one.
    pub part: Option<String>,
    /// The sentence about it.
    pub finding: String,
    /// Advice about it.
    pub advice: String,
}

impl fmt::Display for PolicyFinding {
    /// Writes the object, the part and the sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.object)?;
        let mut part = self.part.iter();
        part.try_for_each(|part| write!(f, "{part}: "))?;
        f.write_str(&self.finding)
    }
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
        + "SELECT kind, is_problem, name, part, finding, advice FROM found
           ORDER BY is_problem DESC, concat_ws(': ', name, part, finding)";
    let found = query(&text, vec![Value::Texts(roles)]);
    let finding = |row: &Row| {
        Ok(PolicyFinding {
            kind: row.get(0)?,
            is_problem: row.text(1)? == "t",
            object: row.get(2)?,
            part: row.get(3)?,
            finding: row.get(4)?,
            advice: row.get(5)?,
        })
    };
    let mut found = found.read(pool.lease().await?, finding).await?;
    let is_guarded = matches!(uses, RoleUse::Set) || !callers.settings.is_empty();
    found.retain(|found| match found.kind.as_str() {
        // A caller that logs in as its role stays it, whatever runs.
        "function" => is_guarded,
        "login" => matches!(uses, RoleUse::Set),
        _ => true,
    });
    Ok(found)
}

fn query(text: &str, values: Vec<Value>) -> ReadOnlyQuery {
    ReadOnlyQuery {
        name: "SELECT",
        before: None,
        query: text.to_owned(),
        values,
    }
}
