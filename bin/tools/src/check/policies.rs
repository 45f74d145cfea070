//! Weak row security in databases that know their callers.

use ziggurat_postgres::{error::QueryError, pool::Pools};
use ziggurat_sql_tools::policy_findings;

use crate::configuration::Configuration;

/// The findings about all databases, as sentences.
#[derive(Default)]
pub(super) struct PolicySentences {
    pub(super) problems: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Looks for weaknesses in the databases that know their callers. One that cannot be reached is
/// reported elsewhere.
pub(super) async fn findings(configuration: &Configuration, pools: &Pools) -> PolicySentences {
    let mut sentences = PolicySentences::default();
    for entry in &configuration.databases {
        let Some(callers) = &entry.callers else {
            continue;
        };
        let name = entry.database.name();
        let pool = pools.pool("policies", &entry.database);
        match policy_findings(&pool, callers).await {
            Ok(found) => {
                for finding in found {
                    let list = if finding.is_problem {
                        &mut sentences.problems
                    } else {
                        &mut sentences.warnings
                    };
                    list.push(format!("{name}: {}", finding.text));
                }
            }
            Err(QueryError::Lease(_)) => {}
            Err(error) => {
                let warning = format!("{name}: row security is unchecked: {error}");
                sentences.warnings.push(warning);
            }
        }
    }
    sentences
}
