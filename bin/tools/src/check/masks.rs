//! Masked columns, as they are in the databases.

use ziggurat_postgres::{error::QueryError, pool::Pools, statement};

use crate::{check::Findings, configuration::Configuration};

/// Looks for masked columns that do not exist or that policies use, and for roles that may read some
/// though PostgreSQL has to refuse that. A database that cannot be reached is reported elsewhere.
pub(super) async fn look_at(configuration: &Configuration, pools: &Pools, to: &mut Findings) {
    for entry in &configuration.databases {
        let Some(masks) = &entry.masks else {
            continue;
        };
        let name = entry.database.name();
        let pool = pools.pool("masks", &entry.database);
        let callers = entry.callers.as_ref();
        let may_give = |role: &str| callers.is_some_and(|callers| callers.may_give(role));
        match statement::mask_findings(&pool, &masks.masking, may_give).await {
            Ok(found) => {
                let sentence = |text: String| format!("{name}: masking: {text}");
                to.problems.extend(found.problems.into_iter().map(sentence));
                to.warnings.extend(found.warnings.into_iter().map(sentence));
            }
            Err(QueryError::Lease(_)) => {}
            Err(error) => {
                let warning = format!("{name}: masked columns are unchecked: {error}");
                to.warnings.push(warning);
            }
        }
    }
}
