//! Properties of a server and of the role of a connection, for an administrator.

use serde::{Deserialize, de::DeserializeOwned};
use ziggurat_postgres::{
    driver::{DriverError, Row},
    error::QueryError,
    metadata::{POWERS, SCHEMAS},
    pool::Lease,
    single_round_trip::ReadOnlyQuery,
};

/// Properties of a server and of the role of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// Version of the server, such as `16.4`.
    pub version: String,
    /// Is true if the connection is encrypted.
    pub has_tls: bool,
    /// Is true if the server only follows another one.
    pub is_standby: bool,
    /// Rights of the role.
    pub role: RoleRights,
    /// Privileges of the role that no read-only transaction limits.
    pub powers: Vec<String>,
    /// Extensions of the database, by name.
    pub extensions: Vec<Extension>,
}

/// Rights of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoleRights {
    /// Is true for a superuser.
    pub is_superuser: bool,
    /// Is true if it may change data of some table, or create tables, whatever the transaction.
    pub may_write: bool,
    /// Is true if policies of row-level security do not apply to it.
    pub bypasses_row_security: bool,
}

/// An extension of a database.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

// === impl Inspection ===

impl Inspection {
    /// Asks the server.
    ///
    /// # Errors
    /// Fails if the query fails.
    pub(crate) async fn ask(mut lease: Lease) -> Result<Self, QueryError> {
        let query = ReadOnlyQuery {
            name: "inspection",
            before: None,
            query: facts(),
            values: Vec::new(),
        };
        let has_tls = lease.begin().has_tls();
        let mut found = query.read(lease, |row| Self::of(row, has_tls)).await?;
        let none = DriverError::Protocol("a query has no rows");
        found.pop().ok_or(QueryError::Connection(none))
    }

    fn of(row: &Row, has_tls: bool) -> Result<Self, DriverError> {
        let is = |column| Ok::<_, DriverError>(row.text(column)? == "t");
        Ok(Self {
            version: row.get(0)?,
            has_tls,
            is_standby: is(1)?,
            role: RoleRights {
                is_superuser: is(2)?,
                bypasses_row_security: is(3)?,
                may_write: is(4)?,
            },
            powers: list(row, 5)?,
            extensions: list(row, 6)?,
        })
    }
}

/// Reads a list of JSON that the query has made.
fn list<T: DeserializeOwned>(row: &Row, column: usize) -> Result<Vec<T>, DriverError> {
    let list = serde_json::from_str(row.text(column)?);
    list.map_err(|_| DriverError::Protocol("a list is not JSON"))
}

/// Returns the query for the server and the role. The search for a table that the role may change
/// ends at the first.
fn facts() -> String {
    format!(
        "SELECT pg_catalog.split_part(pg_catalog.current_setting('server_version'), ' ', 1),
            pg_catalog.pg_is_in_recovery(), r.rolsuper, r.rolsuper OR r.rolbypassrls,
            r.rolsuper
            OR pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')
            OR EXISTS (SELECT FROM ({SCHEMAS}) AS s
                WHERE pg_catalog.has_schema_privilege(s.oid, 'CREATE'))
            OR EXISTS (SELECT FROM pg_catalog.pg_class c
                JOIN ({SCHEMAS}) AS s ON s.oid = c.relnamespace
                WHERE s.is_open AND c.relkind IN ('r', 'p', 'v', 'f') AND (
                    pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
                    OR pg_catalog.has_any_column_privilege(c.oid, 'INSERT, UPDATE'))),
            (SELECT coalesce(pg_catalog.json_agg(power), '[]') FROM ({POWERS}) AS powers),
            (SELECT coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
                    'name', e.extname, 'version', e.extversion) ORDER BY e.extname), '[]')
                FROM pg_catalog.pg_extension e)
        FROM pg_catalog.pg_roles r WHERE r.rolname = current_user"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_postgres::fixture::Fixture;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_role_is_described_by_what_it_may_do() {
        let mut fixture = Fixture::new().await;
        fixture.given("CREATE TABLE things (id int)").await;
        let lease = fixture.readable().lease().await.expect("connected");
        let found = Inspection::ask(lease).await.expect("asked");
        assert!(
            found
                .version
                .starts_with(|first: char| first.is_ascii_digit())
        );
        assert!(!found.version.contains(' '), "{}", found.version);
        assert!(!found.is_standby && !found.has_tls);
        assert!(found.extensions.iter().any(|it| it.name == "plpgsql"));
        let role = found.role;
        assert_eq!(role.is_superuser, found.powers == ["superuser"]);
        assert!(!role.is_superuser || role.may_write && role.bypasses_row_security);
    }
}
