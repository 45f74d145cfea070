//! A database for one test.

use std::{
    fmt, mem,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::runtime::Runtime;
use ziggurat_local_pg::{LocalPg, TestDatabase};

use crate::PATIENCE;

/// A database on a real PostgreSQL, dropped with this value.
pub struct Postgres {
    server: LocalPg,
    database: TestDatabase,
    runtime: Runtime,
    /// Roles belong to the whole server, so they are dropped separately.
    roles: Vec<String>,
}

impl Default for Postgres {
    fn default() -> Self {
        Self::new()
    }
}

impl Postgres {
    /// Makes an empty database.
    pub fn new() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let (server, database) = runtime.block_on(async {
            let server = LocalPg::start().await.expect("a PostgreSQL to test with");
            let database = server.database().await.expect("a database");
            (server, database)
        });
        Self {
            server,
            database,
            runtime,
            roles: Vec::new(),
        }
    }

    /// Makes a database on a server of its own in this folder, which logs all statements there with
    /// the process that runs them, but not their values.
    pub fn logging(folder: &Path) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let (server, database) = runtime.block_on(async {
            let server = LocalPg::private(folder).await.expect("a PostgreSQL");
            let database = server.database().await.expect("a database");
            (server, database)
        });
        let postgres = Self {
            server,
            database,
            runtime,
            roles: Vec::new(),
        };
        for setting in [
            "log_statement = 'all'",
            "log_parameter_max_length = 0",
            "log_line_prefix = '%p '",
        ] {
            postgres.run(&format!("ALTER SYSTEM SET {setting}"));
        }
        postgres.run("SELECT pg_reload_conf()");
        postgres.wait_until("current_setting('log_line_prefix') = '%p '");
        postgres
    }

    /// Makes a database and runs this SQL in it.
    pub fn with(sql: &str) -> Self {
        let postgres = Self::new();
        postgres.run(sql);
        postgres
    }

    /// Runs statements over a connection of its own.
    pub fn run(&self, sql: &str) {
        self.runtime.block_on(async {
            let mut connection = self.database.connect().await.expect("a connection");
            sqlx::raw_sql(AssertSqlSafe(sql))
                .execute(&mut connection)
                .await
                .expect(sql);
            connection.close().await.expect("closed");
        });
    }

    /// Queries one number over a connection of its own.
    pub fn count(&self, sql: &str) -> i64 {
        self.runtime.block_on(async {
            let mut connection: PgConnection = self.database.connect().await.expect("a connection");
            sqlx::query_scalar(AssertSqlSafe(sql))
                .fetch_one(&mut connection)
                .await
                .expect(sql)
        })
    }

    /// Opens a connection and runs this SQL on it; closed on drop.
    pub fn holding(&self, sql: &str) -> PgConnection {
        self.runtime.block_on(async {
            let mut connection = self.database.connect().await.expect("a connection");
            sqlx::raw_sql(AssertSqlSafe(sql))
                .execute(&mut connection)
                .await
                .expect(sql);
            connection
        })
    }

    /// Waits until this condition in SQL is true.
    pub fn wait_until(&self, condition: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.count(&format!("SELECT ({condition})::int::bigint")) == 0 {
            assert!(Instant::now() < deadline, "not in time: {condition}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until this number of statements with this text are running in the database.
    pub fn wait_for_running(&self, text: &str, number: usize) {
        self.wait_until(&format!(
            "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND state = 'active' AND pid <> pg_backend_pid() \
             AND strpos(query, '{text}') > 0) = {number}"
        ));
    }

    /// Makes a role without privileges, with its name as the password; dropped with this value.
    pub fn role(&mut self) -> String {
        let role = format!("{}_{}", self.name(), self.roles.len());
        self.run(&format!("CREATE ROLE \"{role}\" LOGIN PASSWORD '{role}'"));
        self.roles.push(role.clone());
        role
    }

    /// Returns the name of a role that the caller makes; dropped with this value.
    pub fn future_role(&mut self) -> String {
        let role = format!("{}_{}", self.name(), self.roles.len());
        self.roles.push(role.clone());
        role
    }

    /// An entry for the list of databases, for a role made by [`role`](Self::role).
    pub fn entry_as(&self, name: &str, role: &str) -> String {
        format!(
            "  - name: {name}\n    host: \"{}\"\n    port: {}\n    database: {}\n    \
             user: {role}\n    password: {role}\n",
            self.server.host(),
            self.server.port(),
            self.database.name(),
        )
    }

    /// The URL as the programs show it, without the password.
    pub fn shown_url(&self) -> String {
        self.url()
            .replacen(&format!(":{}@", self.password()), ":***@", 1)
    }

    /// The name of the database.
    pub fn name(&self) -> &str {
        self.database.name()
    }

    /// The URL with the password.
    pub fn url(&self) -> String {
        self.database.url()
    }

    /// An entry for the list of databases in a configuration file.
    pub fn entry(&self, name: &str) -> String {
        format!(
            "  - name: {name}\n    host: \"{}\"\n    port: {}\n    database: {}\n    user: {}\n    \
             password: \"{}\"\n",
            self.server.host(),
            self.server.port(),
            self.database.name(),
            self.server.user(),
            self.password(),
        )
    }

    /// The environment variables of a PostgreSQL client for it.
    pub fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("PGHOST", self.server.host().to_owned()),
            ("PGPORT", self.server.port().to_string()),
            ("PGDATABASE", self.database.name().to_owned()),
            ("PGUSER", self.server.user().to_owned()),
            ("PGPASSWORD", self.password()),
        ]
    }

    /// The password of its role; empty if it needs none.
    pub fn password(&self) -> String {
        let url = self.database.url();
        let authority = url.split_once("://").map_or("", |(_, rest)| rest);
        let user = authority.split('@').next().unwrap_or_default();
        user.split_once(':')
            .map_or("", |(_, password)| password)
            .to_owned()
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        for role in mem::take(&mut self.roles) {
            if self.count(&format!(
                "SELECT count(*) FROM pg_roles WHERE rolname = '{role}'"
            )) > 0
            {
                self.run(&format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\""));
            }
        }
    }
}
