//! Properties of a server and of the role of a connection, for an administrator.
//!
//! ```no_run
//! use ziggurat_postgres::{error::QueryError, inspection::Inspection, pool::Pool};
//!
//! # async fn example(pool: Pool) -> Result<(), QueryError> {
//! let found = Inspection::ask(pool.lease().await?).await?;
//! println!("PostgreSQL {}, standby: {}", found.version, found.is_standby);
//! # Ok(())
//! # }
//! ```

use crate::{
    driver::{Client, DriverError, Row},
    error::{Phase, QueryError},
    metadata::{POWERS, SCHEMAS},
    pool::Lease,
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
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

const EXTENSIONS: &str =
    "SELECT e.extname, e.extversion FROM pg_catalog.pg_extension e ORDER BY e.extname";

// === impl Inspection ===

impl Inspection {
    /// Asks the server. Runs three short statements.
    ///
    /// # Errors
    /// Fails if a query fails.
    pub async fn ask(mut lease: Lease) -> Result<Self, QueryError> {
        let asked = Self::of(lease.begin()).await;
        let found = asked.map_err(|error| QueryError::new(error, Phase::Run, 0))?;
        lease.settle();
        Ok(found)
    }

    async fn of(client: &mut Client) -> Result<Self, DriverError> {
        let facts = client.ask(&facts()).await?;
        let powers = client.ask(POWERS).await?;
        let extensions = client.ask(EXTENSIONS).await?;
        let row = facts
            .first()
            .ok_or(DriverError::Protocol("a query has no rows"))?;
        let extension = |row: &Row| {
            Ok(Extension {
                name: row.get(0)?,
                version: row.get(1)?,
            })
        };
        Ok(Self {
            version: row.get(0)?,
            has_tls: client.has_tls(),
            is_standby: row.text(1)? == "t",
            role: RoleRights {
                is_superuser: row.text(2)? == "t",
                bypasses_row_security: row.text(3)? == "t",
                may_write: row.text(4)? == "t",
            },
            powers: powers
                .iter()
                .map(|row| row.get(0))
                .collect::<Result<_, _>>()?,
            extensions: extensions
                .iter()
                .map(extension)
                .collect::<Result<_, DriverError>>()?,
        })
    }
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
                    OR pg_catalog.has_any_column_privilege(c.oid, 'INSERT, UPDATE')))
        FROM pg_catalog.pg_roles r WHERE r.rolname = current_user"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

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
