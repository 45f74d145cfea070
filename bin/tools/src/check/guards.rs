//! Row security and masks in the databases: ways to values that a caller must not see.

use std::time::Duration;

use tokio::time;
use ziggurat_postgres::{error::QueryError, pool::Pools, statement};
use ziggurat_sql_tools::{PolicyFinding, policy_findings};

use crate::configuration::Entry;

/// A rule of the configuration about rows or columns that the database has to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// Row security, for databases that know their callers.
    Policies,
    /// Masked columns.
    Masks,
}

/// A way around a guard.
#[derive(Debug)]
pub(super) struct Weakness {
    /// True if a caller gets the values; else it may.
    pub(super) is_problem: bool,
    /// A sentence about it.
    pub(super) text: String,
    /// Advice about it.
    pub(super) fix: String,
}

// === impl Guard ===

impl Guard {
    pub(super) const ALL: [Self; 2] = [Self::Policies, Self::Masks];

    /// Looks for weaknesses in a database. `None` if it has no such guard, or cannot be reached, which
    /// is reported elsewhere.
    pub(super) async fn weaknesses(
        self,
        entry: &Entry,
        pools: &Pools,
        timeout: Option<Duration>,
    ) -> Option<Vec<Weakness>> {
        let found = async {
            match self {
                Self::Policies => policies(entry, pools).await,
                Self::Masks => masks(entry, pools).await,
            }
        };
        let found = match timeout {
            Some(timeout) => time::timeout(timeout, found).await,
            None => Ok(found.await),
        };
        match found.unwrap_or(Some(Err(QueryError::Silent)))? {
            Ok(weaknesses) => Some(weaknesses),
            Err(QueryError::Lease(_)) => None,
            Err(error) => Some(vec![self.unchecked(&error)]),
        }
    }

    fn unchecked(self, error: &QueryError) -> Weakness {
        let guarded = match self {
            Self::Policies => "row security is",
            Self::Masks => "masked columns are",
        };
        Weakness {
            is_problem: false,
            text: format!("{guarded} unchecked: {error}"),
            fix: "run the check again when the database answers in time".to_owned(),
        }
    }
}

async fn policies(entry: &Entry, pools: &Pools) -> Option<Result<Vec<Weakness>, QueryError>> {
    let callers = entry.callers.as_ref()?;
    let pool = pools.pool("policies", &entry.database);
    let found = policy_findings(&pool, callers).await;
    let found = found.map(|found| found.into_iter().map(Weakness::from).collect());
    Some(found)
}

async fn masks(entry: &Entry, pools: &Pools) -> Option<Result<Vec<Weakness>, QueryError>> {
    let masks = entry.masks.as_ref()?;
    let pool = pools.pool("masks", &entry.database);
    let callers = entry.callers.as_ref();
    let may_give = |role: &str| callers.is_some_and(|callers| callers.may_give(role));
    let found = statement::mask_findings(&pool, &masks.masking, may_give).await;
    let weakness = |is_problem, fix: &str, text: String| Weakness {
        is_problem,
        text: format!("masking: {text}"),
        fix: fix.to_owned(),
    };
    Some(found.map(|found| {
        let problems = found.problems.into_iter();
        let problems =
            problems.map(|text| weakness(true, "run the statements of the finding", text));
        let warnings = found.warnings.into_iter();
        let fix = "correct the columns of masking, or the policy";
        problems
            .chain(warnings.map(|text| weakness(false, fix, text)))
            .collect()
    }))
}

// === impl Weakness ===

impl From<PolicyFinding> for Weakness {
    fn from(found: PolicyFinding) -> Self {
        Self {
            is_problem: found.is_problem,
            text: found.to_string(),
            fix: found.advice,
        }
    }
}
