//! The databases as their administrator sees them, and a test of one of them.

use std::{sync::Arc, time::Duration};

use thiserror::Error;
use tokio::time;
use ziggurat_postgres::{
    database::Database,
    error::QueryError,
    pool::{Cause, LeaseError, TriedHost},
};

use crate::{Configured, Databases, Entry, inspection::Inspection};

/// Longest duration of a test.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A database as its administrator sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Overview {
    /// The entry that callers see.
    pub entry: Entry,
    /// Is true if statements may call functions with effects beyond their transaction.
    pub allow_dangerous_functions: bool,
    /// Users that may use it; empty for all.
    pub users: Vec<String>,
    /// Entries for clients of an issuer that may use it; empty for all.
    pub clients: Vec<String>,
    /// Version of the server at the last look at its tables.
    pub version: Option<String>,
    /// Number of tables that the role sees, at the same time. Partitions count as their table.
    pub tables: Option<usize>,
    /// Connections of all callers.
    pub connections: Usage,
}

/// Connections to a database of all callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Number of connections that run statements, or are held by a call.
    pub in_use: usize,
    /// Number of connections that are kept open.
    pub idle: usize,
    /// Number of callers that wait because the limit is reached.
    pub waiting: usize,
    /// Greatest number of connections.
    pub limit: usize,
}

/// Result of a test that connected.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tested {
    /// Properties of the server and of the role.
    pub found: Inspection,
    /// Sentences about what should be changed.
    pub warnings: Vec<String>,
}

/// Reason why a test failed, for the administrator. It has no text of the server, which may name
/// addresses, and only hosts of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TestError(String);

// === impl Databases ===

impl Databases {
    /// Returns all databases, in the order of the configuration. Connects to none.
    #[must_use]
    pub fn overview(&self) -> Vec<Overview> {
        let list = self.list();
        let each = list.iter();
        each.map(|configured| self.overview_of(configured))
            .collect()
    }

    /// Counts the connections to a database.
    #[must_use]
    pub fn connections(&self, database: &Database) -> Usage {
        // Both numbers are taken at different moments.
        let [open, idle, waiting] = self.shared.pools.connections(database);
        let limit = database.settings().max_total_connections;
        Usage {
            in_use: open.saturating_sub(idle),
            idle,
            waiting,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        }
    }

    fn overview_of(&self, configured: &Configured) -> Overview {
        let database = &configured.database;
        let cached = configured.cache.cached().map(|(metadata, _)| metadata);
        let cached = cached.as_ref();
        Overview {
            entry: Entry::of(configured),
            allow_dangerous_functions: database.allows_dangerous_functions(),
            users: configured.users.to_vec(),
            clients: configured.client_entries(),
            version: cached.map(|metadata| metadata.version().to_owned()),
            tables: cached.map(|metadata| {
                let tables = metadata.tables().filter(|table| !table.is_partition());
                tables.count()
            }),
            connections: self.connections(database),
        }
    }

    /// Connects to the database of a name on a connection of its own, and looks at the server and
    /// the role, for ten seconds at most. Returns `None` if there is no such database.
    pub async fn test(&self, name: &str) -> Option<Result<Tested, TestError>> {
        let (cache, database) = {
            let list = self.list();
            let configured = list.iter().find(|it| it.database.name() == name)?;
            (
                Arc::clone(&configured.cache),
                Arc::clone(&configured.database),
            )
        };
        let inspected = time::timeout(TEST_TIMEOUT, cache.inspect(&self.shared.pools)).await;
        Some(match inspected.unwrap_or(Err(QueryError::Silent)) {
            Ok(found) => Ok(Tested {
                warnings: warnings(&found, database.allows_writes(), database.is_local()),
                found,
            }),
            Err(error) => Err(TestError(sentence(&error))),
        })
    }
}

fn warnings(found: &Inspection, allows_writes: bool, is_local: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut warn = |is_so: bool, sentence: &str| {
        if is_so {
            warnings.push(sentence.to_owned());
        }
    };
    let powers = found.powers.join(", ");
    warn(
        !powers.is_empty(),
        &format!(
            "the role has privileges beyond its database ({powers}): connect with a role that has \
             fewer"
        ),
    );
    warn(
        found.role.bypasses_row_security && !found.role.is_superuser,
        "policies of row-level security do not apply to the role",
    );
    warn(
        allows_writes && found.is_standby,
        "allow_writes is on, but the server is a standby and refuses writes",
    );
    warn(
        allows_writes && !found.role.may_write,
        "allow_writes is on, but the role may change no table",
    );
    warn(
        !found.has_tls && !is_local,
        "the connection is not encrypted: set sslmode to verify-full",
    );
    warnings
}

/// Describes a failure without the texts of the server.
fn sentence(error: &QueryError) -> String {
    match error {
        QueryError::Lease(LeaseError::Connect { tried, .. }) => match &**tried {
            [only] => cause(&only.cause),
            several => {
                let each = several.iter();
                let each = each.map(
                    |TriedHost {
                         host, cause: why, ..
                     }| format!("{host}: {}", cause(why)),
                );
                each.collect::<Vec<_>>().join("; ")
            }
        },
        QueryError::Lease(error) => error.to_string(),
        QueryError::Failed { report, .. } => {
            format!("a query of the test failed (SQLSTATE {})", report.sqlstate)
        }
        QueryError::Silent => "the database did not answer in time".to_owned(),
        _ => "the connection broke off".to_owned(),
    }
}

fn cause(cause: &Cause) -> String {
    let Cause::Report(report) = cause else {
        return cause.to_string();
    };
    let code = &report.sqlstate;
    let why = match &**code {
        "28P01" => "PostgreSQL refuses the password of the role",
        "28000" => "PostgreSQL refuses the role: see pg_hba.conf of the server",
        "3D000" => "the database does not exist",
        "42501" => "the role may not connect to the database",
        "53300" => "PostgreSQL has no free connection",
        "57P03" => "PostgreSQL is starting or stopping",
        _ => "PostgreSQL refuses the connection",
    };
    format!("{why} (SQLSTATE {code})")
}

#[cfg(test)]
mod tests {
    use ziggurat_postgres::{database::Settings, fixture::Fixture};

    use super::*;
    use crate::fixture::databases;

    fn over(fixture: &Fixture) -> Databases {
        let database = fixture.describe(|_| {});
        Databases::new(fixture.pools.clone(), [Configured::new(database)])
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_database_is_tested_on_a_connection_of_its_own() {
        let fixture = Fixture::new().await;
        let databases = over(&fixture);
        assert!(databases.test("other").await.is_none());
        let tested = databases.test("main").await.expect("it is there");
        let tested = tested.expect("connected");
        assert!(!tested.found.version.is_empty());
        let before = &databases.overview()[0];
        assert_eq!((&before.version, before.tables), (&None, None));
        databases.warm().await;
        let after = &databases.overview()[0];
        assert_eq!(after.version.as_ref(), Some(&tested.found.version));
        assert_eq!(after.tables, Some(0));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_failure_names_no_address_and_no_secret() {
        let fixture = Fixture::new().await;
        let test = async |change: &dyn Fn(&mut Settings)| {
            let configured = Configured::new(fixture.describe(change));
            let databases = Databases::new(fixture.pools.clone(), [configured]);
            let tested = databases.test("main").await.expect("it is there");
            tested.expect_err("no connection").to_string()
        };
        let missing = test(&|settings| settings.database = "no such".into()).await;
        assert_eq!(missing, "the database does not exist (SQLSTATE 3D000)");
        let refused = test(&|settings| settings.password = "wrong".to_owned().into()).await;
        assert_eq!(
            refused,
            "PostgreSQL refuses the password of the role (SQLSTATE 28P01)"
        );
        let away = test(&|settings| {
            settings.host = "127.0.0.1".into();
            settings.port = 1;
        })
        .await;
        assert_eq!(away, "connection refused");
    }

    #[test]
    fn an_overview_connects_to_nothing() {
        let overview = databases().overview();
        assert_eq!(overview[2].users, ["ann"]);
        assert_eq!(overview[2].clients, [""; 0]);
        assert_eq!(overview[2].connections.in_use, 0);
        assert_eq!(overview[2].tables, None);
    }
}
