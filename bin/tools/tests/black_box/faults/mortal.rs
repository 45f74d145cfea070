//! PostgreSQL server that a test can kill.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use rustix::process::{Pid, Signal, kill_process};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use ziggurat_local_pg::LocalPg;

use super::load::until;

const DATABASE: &str = "postgres";

/// PostgreSQL server of one test, with data that survive a kill.
pub(super) struct Mortal {
    // Dropped before the folder, because it writes there until it has ended.
    server: LocalPg,
    runtime: Runtime,
    folder: TempDir,
}

impl Mortal {
    /// Starts a server and runs this SQL in it.
    pub(super) fn with(sql: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // If root starts the server, it runs as another account, which needs access to the folder.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        let runtime = Runtime::new().expect("a runtime");
        let server = start(&runtime, folder.path());
        let mortal = Self {
            server,
            runtime,
            folder,
        };
        mortal.runtime.block_on(async {
            let mut connection = mortal.connect().await;
            let ran = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection);
            ran.await.expect(sql);
            connection.close().await.expect("closed");
        });
        mortal
    }

    /// Returns an entry for the list of databases, with these additional lines.
    pub(super) fn entry(&self, name: &str, more: &str) -> String {
        let url = self.server.url(DATABASE);
        let password = url.split('@').next().and_then(|who| who.rsplit(':').next());
        format!(
            "  - name: {name}\n    host: \"{}\"\n    port: {}\n    database: {DATABASE}\n    \
             user: {}\n    password: \"{}\"\n{more}",
            self.server.host(),
            self.server.port(),
            self.server.user(),
            password.expect("it has one"),
        )
    }

    /// Kills the server with all its processes.
    pub(super) fn kill(&self) {
        let file = self.folder.path().join("postgresql/data/postmaster.pid");
        let text = fs::read_to_string(file).expect("it runs");
        let postmaster = text.lines().next().and_then(|pid| pid.parse().ok());
        let postmaster = postmaster.expect("a number");
        let children = children(postmaster);
        for pid in [postmaster].into_iter().chain(children) {
            // The child processes also end by themselves after their parent.
            kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).ok();
        }
        let watchdog = self.folder.path().join("postgresql/watchdog.lock");
        let watchdog = fs::File::open(watchdog).expect("it is there");
        until("PostgreSQL is gone", || watchdog.try_lock_shared().is_ok());
    }

    /// Starts the server again with the same data and port.
    pub(super) fn start_again(&mut self) {
        let port = self.server.port();
        self.server = start(&self.runtime, self.folder.path());
        assert_eq!(self.server.port(), port, "the port was taken");
    }

    /// Runs a query that returns one number.
    pub(super) fn count(&self, sql: &str) -> i64 {
        self.runtime.block_on(async {
            let mut connection = self.connect().await;
            let count = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection);
            count.await.expect(sql)
        })
    }

    async fn connect(&self) -> PgConnection {
        let url = self.server.url(DATABASE);
        PgConnection::connect(&url).await.expect("a connection")
    }
}

fn start(runtime: &Runtime, folder: &Path) -> LocalPg {
    let server = runtime.block_on(LocalPg::private(folder));
    server.expect("a PostgreSQL to kill")
}

/// Returns the child processes of a process, as far as the system shows them.
fn children(parent: i32) -> Vec<i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id: &i32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The state and the parent come after the name, which is in parentheses.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split(' ');
        fields.nth(2).and_then(|parent| parent.parse().ok()) == Some(parent)
    })
    .collect()
}
