//! Weaknesses that the definition of the schema shows, as findings.

use ziggurat_postgres::pool::Pools;
use ziggurat_prove::{Finding, Place, Rule};
use ziggurat_sql_tools::{PolicyFinding, policy_findings};

use crate::configuration::Entry;

/// Returns the weaknesses of a database that knows its callers.
pub(super) async fn of(entry: &Entry, pools: &Pools) -> anyhow::Result<Vec<Finding>> {
    let Some(callers) = &entry.callers else {
        return Ok(Vec::new());
    };
    let pool = pools.pool("policies", &entry.database);
    let found = policy_findings(&pool, callers).await?;
    let name = entry.database.name();
    Ok(found.into_iter().map(|it| finding(name, it)).collect())
}

fn finding(database: &str, found: PolicyFinding) -> Finding {
    let object = names(&found.object);
    let part = match &object {
        Some(_) => found.part,
        None => Some(found.object),
    };
    Finding {
        place: Place {
            database: database.to_owned(),
            object,
            part,
        },
        rule: Rule::Policy(format!("policy-{}", found.kind)),
        text: found.finding,
        case: None,
    }
}

/// Takes a quoted name apart into the schema and the name; none for a role.
fn names(quoted: &str) -> Option<(String, String)> {
    let mut is_quoted = false;
    let dot = quoted.find(|it| {
        is_quoted ^= it == '"';
        it == '.' && !is_quoted
    })?;
    let plain = |name: &str| match name.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').unwrap_or(rest).replace("\"\"", "\""),
        None => name.to_owned(),
    };
    let schema = plain(&quoted[..dot]);
    (!schema.contains(' ') || quoted.starts_with('"')).then(|| (schema, plain(&quoted[dot + 1..])))
}
