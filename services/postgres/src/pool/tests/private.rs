//! PostgreSQL server for one test, which may change and crash it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::{task::JoinSet, time};
use ziggurat_local_pg::LocalPg;

use super::*;
use crate::database::{Host, Settings};

pub(super) struct Private {
    pub(super) pools: Pools,
    pub(super) pg: LocalPg,
    _reaper: JoinSet<()>,
    folder: TempDir,
}

impl Private {
    pub(super) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // The Unix account of the server needs access to it.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("our own");
        let (pools, reaper) = Pools::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(reaper.run());
        Self {
            pg: LocalPg::private(folder.path()).await.expect("a server"),
            pools,
            _reaper: tasks,
            folder,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns its Unix socket, which needs no password.
    pub(super) fn host(&self) -> Host {
        let folder = self.pg.socket_dir().expect("a server of our own");
        Host::new(folder.to_string_lossy(), self.pg.port())
    }

    pub(super) fn describe(&self, change: impl FnOnce(&mut Settings)) -> Arc<Database> {
        let mut settings = Settings {
            name: "main".into(),
            hosts: vec![self.host()],
            user: self.pg.user().into(),
            ..Settings::default()
        };
        change(&mut settings);
        Arc::new(Database::try_from(settings).expect("a valid description"))
    }

    pub(super) async fn try_connect(&self) -> sqlx::Result<PgConnection> {
        let url = self.pg.socket_url("postgres").expect("a socket");
        PgConnection::connect(&url).await
    }

    pub(super) async fn given(&self, statements: &[&str]) {
        let mut connection = self.try_connect().await.expect("a connection");
        for sql in statements {
            sqlx::raw_sql(AssertSqlSafe(*sql))
                .execute(&mut connection)
                .await
                .expect(sql);
        }
    }

    /// Writes a file into the data folder, as the Unix account of the server.
    pub(super) async fn write(&self, name: &str, text: &str) {
        let text = text.replace('\'', "''");
        let copy = format!(
            "COPY (SELECT unnest(string_to_array('{text}', chr(10)))) \
             TO PROGRAM 'umask 077; cat > {name}'"
        );
        self.given(&[&copy]).await;
    }

    /// Kills a session, so that the server ends all sessions and restarts.
    pub(super) async fn crash(&self) {
        let mut victim = self.try_connect().await.expect("a connection");
        let mut witness = self.try_connect().await.expect("a connection");
        let process: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
            .fetch_one(&mut victim)
            .await
            .expect("a process");
        let kill = format!("COPY (SELECT 1) TO PROGRAM 'kill -9 {process}'");
        let _ = sqlx::raw_sql(AssertSqlSafe(kill))
            .execute(&mut witness)
            .await;
        time::timeout(Duration::from_secs(30), async {
            while witness.ping().await.is_ok() {}
            while self.try_connect().await.is_err() {}
        })
        .await
        .expect("it is back in time");
    }
}
