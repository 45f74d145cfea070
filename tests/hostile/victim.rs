//! A PostgreSQL with a database to attack.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use ziggurat_local_pg::LocalPg;

use super::snapshot::{self, Snapshot};

const SCHEMA: &str = "
    CREATE TABLE account (id int PRIMARY KEY, owner text, balance numeric);
    INSERT INTO account SELECT i, 'owner ' || i, i * 10 FROM generate_series(1, 100) i;
    CREATE SEQUENCE counter;
    CREATE MATERIALIZED VIEW total AS SELECT sum(balance) FROM account;
    SELECT lo_from_bytea(4711, 'a large object');
    VACUUM ANALYZE";

/// A server with a database.
pub(crate) struct Victim {
    pub(crate) pg: LocalPg,
    connection: PgConnection,
    /// Another session, which no statement may end.
    _other_session: PgConnection,
    folder: TempDir,
}

impl Victim {
    /// The name of the database.
    pub(crate) const DATABASE: &str = "victim";

    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        open(folder.path(), 0o755);
        let canary = folder.path().join("canary");
        fs::create_dir(&canary).expect("a folder");
        fs::write(canary.join("bird"), "sings").expect("a file");
        open(&canary, 0o777);

        let home = folder.path().join("pg");
        fs::create_dir(&home).expect("a folder");
        open(&home, 0o755);
        let pg = LocalPg::private(&home).await.expect("a PostgreSQL");
        let mut postgres = connect(&pg, "postgres").await;
        for sql in [
            "ALTER SYSTEM SET autovacuum = off",
            "SELECT pg_reload_conf()",
            "SELECT pg_stat_reset_shared('bgwriter')",
            "CREATE ROLE bystander LOGIN SUPERUSER PASSWORD 'p'",
            "CREATE DATABASE victim",
        ] {
            run(&mut postgres, sql).await;
        }
        let mut connection = connect(&pg, "victim").await;
        for sql in SCHEMA.split(";\n") {
            run(&mut connection, sql).await;
        }
        let url = pg.url("victim");
        let (_, address) = url.split_once('@').expect("a password");
        let url = format!("postgres://bystander:p@{address}");
        let bystander = PgConnection::connect(&url).await.expect("lets it in");
        Self {
            connection,
            _other_session: bystander,
            folder,
            pg,
        }
    }

    /// Replaces the placeholders in a statement.
    pub(crate) fn expanded(&self, text: &str) -> String {
        text.replace("{canary}", &self.canary().to_string_lossy())
            .replace("{comments}", &"/**/".repeat(40_000))
            .replace("{nested}", &("/*".repeat(40_000) + &"*/".repeat(40_000)))
            .replace("{signs}", &"+-".repeat(40_000))
    }

    fn canary(&self) -> PathBuf {
        self.folder.path().join("canary")
    }

    pub(crate) async fn snapshot(&mut self) -> Snapshot {
        let canary = self.canary();
        snapshot::take(&mut self.connection, &canary).await
    }

    pub(crate) async fn do_harm(&mut self, sql: &str) {
        let sql = self.expanded(sql);
        run(&mut self.connection, &sql).await;
    }
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own");
}

async fn connect(pg: &LocalPg, database: &str) -> PgConnection {
    PgConnection::connect(&pg.url(database))
        .await
        .expect("lets us in")
}

async fn run(connection: &mut PgConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .expect(sql);
}
