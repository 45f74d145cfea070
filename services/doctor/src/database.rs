//! Checks of a database and of the role of the connection.
//!
//! One connection and one read-only query find all facts. Nothing is written, and no caller's data
//! are read.

mod connection;
mod facts;
mod limits;
mod rights;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use tokio::time;
use ziggurat_postgres::{
    database::Database,
    error::QueryError,
    pool::{LeaseError, Pools},
};

use self::facts::Facts;
use crate::Finding;

/// Features of the program that need something of a database.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// True if vectors are searched.
    pub vectors: bool,
    /// True if statistics of statements are shown.
    pub statistics: bool,
}

/// A database, and the facts that were found.
struct Subject<'a> {
    database: &'a Database,
    needs: Needs,
    facts: Facts,
    has_tls: bool,
    is_pooled: bool,
}

/// Checks a database: the connection, and with one the server, the role and its limits.
pub async fn check(
    pools: &Pools,
    database: &Arc<Database>,
    needs: Needs,
    timeout: Duration,
) -> Vec<Finding> {
    let looked = time::timeout(timeout, look(pools, database, needs)).await;
    let findings = match looked.unwrap_or(Err(QueryError::Silent)) {
        Ok(subject) => subject.findings(),
        Err(QueryError::Lease(LeaseError::Connect { tried, .. })) => {
            connection::failures(database.settings(), &tried)
        }
        Err(error) => vec![connection::unfinished(&error)],
    };
    let name = database.name();
    findings.into_iter().map(|it| it.of(name)).collect()
}

/// Checks the connection to a database of the program itself, under this id.
pub async fn reach(
    id: &'static str,
    pools: &Pools,
    database: &Arc<Database>,
    timeout: Duration,
) -> Vec<Finding> {
    let connected = time::timeout(timeout, pools.connect_once(database)).await;
    let settings = database.settings();
    let findings = match connected.map_err(|_| QueryError::Silent) {
        Ok(Ok(_)) => vec![connection::reached(settings)],
        Ok(Err(LeaseError::Connect { tried, .. })) => connection::failures(settings, &tried),
        Ok(Err(error)) => vec![connection::unfinished(&error.into())],
        Err(error) => vec![connection::unfinished(&error)],
    };
    let findings = findings.into_iter();
    findings.map(|it| Finding { id, ..it }).collect()
}

async fn look<'a>(
    pools: &Pools,
    database: &'a Arc<Database>,
    needs: Needs,
) -> Result<Subject<'a>, QueryError> {
    let mut lease = pools.connect_once(database).await?;
    let is_pooled = lease.is_shared();
    let has_tls = lease.begin().has_tls();
    lease.settle();
    Ok(Subject {
        database,
        needs,
        facts: Facts::ask(lease).await?,
        has_tls,
        is_pooled,
    })
}

// === impl Subject ===

impl Subject<'_> {
    fn findings(&self) -> Vec<Finding> {
        let settings = self.database.settings();
        let mut findings = vec![
            connection::reached(settings),
            connection::tls(self.database, self.has_tls),
            limits::version(&self.facts),
        ];
        findings.extend(connection::programs(settings));
        findings.extend(rights::role(&self.facts));
        findings.extend(rights::writes(settings.allow_writes, &self.facts));
        findings.extend(limits::limits(settings, &self.facts));
        findings.push(limits::pooler(settings, self.is_pooled));
        findings.extend(limits::extensions(self.needs, &self.facts));
        findings.push(rights::reads(&self.facts));
        findings
    }
}

/// Returns the problems, or without one a finding that all is well.
fn each_or(problems: Vec<Finding>, well: impl FnOnce() -> Finding) -> Vec<Finding> {
    if problems.is_empty() {
        vec![well()]
    } else {
        problems
    }
}
