//! The databases of the corpus.

mod airline;
mod clinic;
mod generated;
mod lager;
mod legacy;
mod many;
mod school;
mod shop;
mod wide;

use anyhow::Context as _;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use ziggurat_local_pg::{LocalPg, TestDatabase};

/// A database to make, with its questions.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) name: &'static str,
    /// The questions with their statements, as YAML.
    pub(crate) questions: &'static str,
    /// Definitions for the server, as YAML.
    pub(crate) glossary: Option<&'static str>,
    /// The SQL that makes it; each script in a transaction of its own.
    scripts: Vec<String>,
    /// True if it takes seconds to make, so that a template of it is kept between runs.
    is_large: bool,
    /// The rights of the role that reads it, with `{role}` for its name. Without them the owner
    /// reads it.
    grants: Option<&'static str>,
}

/// A database on a PostgreSQL that runs.
#[derive(Debug)]
pub(crate) struct Running {
    pg: LocalPg,
    database: TestDatabase,
    /// The role that reads it, if it is not the owner; its password is its name.
    role: Option<String>,
}

/// Returns all databases.
pub(crate) fn all() -> Vec<Database> {
    vec![
        shop::database(),
        school::database(),
        airline::database(),
        clinic::database(),
        wide::database(),
        many::database(),
        lager::database(),
        legacy::database(),
    ]
}

// === impl Database ===

impl Database {
    fn new(name: &'static str, questions: &'static str) -> Self {
        Self {
            name,
            questions,
            glossary: None,
            scripts: Vec::new(),
            is_large: false,
            grants: None,
        }
    }

    /// Makes it, with statistics.
    pub(crate) async fn start(&self, pg: &LocalPg) -> anyhow::Result<Running> {
        let database = if self.is_large {
            let fill = async |connection: &mut PgConnection| self.fill(connection).await;
            let name = format!("corpus_{}", self.name);
            let template = pg.template(&name, self.scripts.concat(), fill).await?;
            template.database().await?
        } else {
            let database = pg.database().await?;
            let mut connection = database.connect().await?;
            let filled = self.fill(&mut connection).await;
            filled.with_context(|| format!("making the database {}", self.name))?;
            connection.close().await?;
            database
        };
        let mut running = Running {
            pg: pg.clone(),
            database,
            role: None,
        };
        if let Some(grants) = self.grants {
            let role = format!("{}_reader", running.database.name());
            let create = format!("CREATE ROLE \"{role}\" LOGIN PASSWORD '{role}';");
            let grants = grants.replace("{role}", &format!("\"{role}\""));
            running.run(&(create + &grants)).await?;
            running.role = Some(role);
        }
        Ok(running)
    }

    async fn fill(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        for script in self.scripts.iter().map(String::as_str).chain(["ANALYZE"]) {
            sqlx::raw_sql(AssertSqlSafe(script))
                .execute(&mut *connection)
                .await?;
        }
        Ok(())
    }
}

// === impl Running ===

impl Running {
    /// Connects as the owner.
    pub(crate) async fn connect(&self) -> anyhow::Result<PgConnection> {
        Ok(self.database.connect().await?)
    }

    /// Connects as the role that the server uses.
    pub(crate) async fn connect_as_reader(&self) -> anyhow::Result<PgConnection> {
        let mut connection = self.connect().await?;
        if let Some(role) = &self.role {
            let set = format!("SET ROLE \"{role}\"");
            sqlx::raw_sql(AssertSqlSafe(set))
                .execute(&mut connection)
                .await?;
        }
        Ok(connection)
    }

    /// Returns the entry for the list of databases in a configuration file.
    pub(crate) fn entry(&self, name: &str) -> String {
        let url = self.database.url();
        let authority = url.split_once("://").map_or("", |(_, rest)| rest);
        let password = authority
            .split('@')
            .next()
            .and_then(|user| user.split_once(':'));
        let (user, password) = match &self.role {
            Some(role) => (role.as_str(), role.as_str()),
            None => (
                self.pg.user(),
                password.map_or("", |(_, password)| password),
            ),
        };
        format!(
            "  - name: {name}\n    host: \"{}\"\n    port: {}\n    database: {}\n    user: {user}\n    \
             password: \"{password}\"\n",
            self.pg.host(),
            self.pg.port(),
            self.database.name(),
        )
    }

    /// Drops the role, which belongs to the whole server, and then the database.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match &self.role {
            Some(role) => {
                self.run(&format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\""))
                    .await
            }
            None => Ok(()),
        }
    }

    async fn run(&self, sql: &str) -> anyhow::Result<()> {
        let mut connection = self.connect().await?;
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await?;
        Ok(connection.close().await?)
    }
}
