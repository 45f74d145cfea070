//! A PostgreSQL, and its own benchmark.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use ziggurat_local_pg::{LocalPg, TestDatabase};

use super::program;

/// A database of a bench, dropped with this value.
#[derive(Debug)]
pub struct Postgres {
    // Dropped before the server it is on.
    database: TestDatabase,
    server: LocalPg,
    runtime: Runtime,
    scripts: TempDir,
}

// === impl Postgres ===

impl Postgres {
    /// Creates a database and runs this SQL in it.
    ///
    /// # Panics
    /// Panics when there is no PostgreSQL.
    #[must_use]
    pub fn with(sql: &str) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let (server, database) = runtime.block_on(async {
            let server = LocalPg::start().await.expect("a PostgreSQL");
            let database = server.database().await.expect("a database");
            (server, database)
        });
        let postgres = Self {
            database,
            server,
            runtime,
            scripts: tempfile::tempdir().expect("a folder"),
        };
        postgres.run(sql);
        postgres
    }

    /// Runs statements.
    ///
    /// # Panics
    /// Panics when one fails.
    pub fn run(&self, sql: &str) {
        self.runtime.block_on(async {
            let mut connection = self.connect().await;
            let run = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection);
            run.await.expect("good statements");
            connection.close().await.expect("closed");
        });
    }

    /// Runs queries on one connection, one after another, and reads all rows; returns the
    /// milliseconds of each.
    ///
    /// # Panics
    /// Panics when one fails.
    #[must_use]
    pub fn times(&self, queries: &[String]) -> Vec<f64> {
        self.runtime.block_on(async {
            let mut connection = self.connect().await;
            let mut times = Vec::with_capacity(queries.len());
            for query in queries {
                let begun = Instant::now();
                let run = sqlx::raw_sql(AssertSqlSafe(&**query)).fetch_all(&mut connection);
                run.await.expect("a good query");
                times.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            connection.close().await.expect("closed");
            times
        })
    }

    /// Queries one number.
    ///
    /// # Panics
    /// Panics when there is no row.
    #[must_use]
    pub fn count(&self, sql: &str) -> i32 {
        self.runtime.block_on(async {
            let asked = sqlx::query_scalar(AssertSqlSafe(sql));
            let answer = asked.fetch_one(&mut self.connect().await).await;
            answer.expect("a number")
        })
    }

    /// Queries one text.
    ///
    /// # Panics
    /// Panics when there is no row.
    #[must_use]
    pub fn text(&self, sql: &str) -> String {
        self.runtime.block_on(async {
            let asked = sqlx::query_scalar(AssertSqlSafe(sql));
            let answer = asked.fetch_one(&mut self.connect().await).await;
            answer.expect("a text")
        })
    }

    /// The version of the server.
    #[must_use]
    pub fn version(&self) -> &str {
        self.server.version()
    }

    /// The name of the database.
    #[must_use]
    pub fn name(&self) -> &str {
        self.database.name()
    }

    /// The URL of the database.
    #[must_use]
    pub fn url(&self) -> String {
        self.database.url()
    }

    /// An entry for the list of databases in a configuration file, with additional settings.
    #[must_use]
    pub fn entry(&self, settings: &str) -> String {
        let (host, port, user) = (self.server.host(), self.server.port(), self.server.user());
        let (database, password) = (self.name(), self.password());
        format!(
            "databases: [{{name: bench, host: \"{host}\", port: {port}, database: {database}, \
             user: {user}, password: \"{password}\", {settings}}}]\n"
        )
    }

    /// The database of a pipeline in a configuration file.
    #[must_use]
    pub fn connection(&self) -> String {
        self.connection_by(self.server.port())
    }

    /// Describes the database over another port of the machine.
    fn connection_by(&self, port: u16) -> String {
        let (host, user) = (self.server.host(), self.server.user());
        let (database, password) = (self.name(), self.password());
        format!(
            "{{host: \"{host}\", port: {port}, database: {database}, username: {user}, \
             password: \"{password}\"}}"
        )
    }

    /// Returns the bytes that a program sends, which `run` gives a database of a configuration.
    ///
    /// # Panics
    /// Panics when a connection fails.
    pub fn sent_by(&self, run: impl FnOnce(&str)) -> Vec<u8> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let server = (self.server.host().to_owned(), self.server.port());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&sent);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect((&*server.0, server.1)).expect("PostgreSQL");
                let (mut answers, mut back) = (clone(&server), clone(&client));
                thread::spawn(move || io::copy(&mut answers, &mut back));
                let record = Arc::clone(&record);
                thread::spawn(move || forward(client, server, &record));
            }
        });
        run(&self.connection_by(port));
        let sent = sent.lock().expect("no thread panics");
        sent.clone()
    }

    /// Returns the transactions per second of pgbench with a script.
    ///
    /// # Panics
    /// Panics when it is not installed, or the script fails.
    #[must_use]
    pub fn pgbench(&self, script: &str, clients: usize, seconds: u32) -> f64 {
        let file = self.scripts.path().join("script.sql");
        fs::write(&file, script).expect("written");
        let output = Command::new(self.program())
            .args(["--no-vacuum", "--protocol=simple", "--jobs=2"])
            .arg(format!("--client={clients}"))
            .arg(format!("--time={seconds}"))
            .arg("--file")
            .arg(&file)
            .env("PGHOST", self.server.host())
            .env("PGPORT", self.server.port().to_string())
            .env("PGUSER", self.server.user())
            .env("PGPASSWORD", self.password())
            .env("PGDATABASE", self.name())
            .output()
            .expect("pgbench, which comes with PostgreSQL");
        let text = String::from_utf8_lossy(&output.stdout);
        let rate = text.lines().find_map(|line| {
            let rest = line.strip_prefix("tps = ")?;
            rest.split(' ').next()?.parse().ok()
        });
        rate.unwrap_or_else(|| panic!("no rate: {output:?}"))
    }

    /// Returns the seconds of processor time that all processes of the server have used.
    ///
    /// # Panics
    /// Panics where there is no `/proc`, and if the server runs on another machine.
    #[must_use]
    pub fn processor_time(&self) -> f64 {
        let folder = self.text("SELECT current_setting('data_directory')");
        let file = fs::read_to_string(Path::new(&folder).join("postmaster.pid"));
        let file = file.expect("the folder of a server that runs here");
        let main: u32 = file
            .lines()
            .next()
            .and_then(|line| line.parse().ok())
            .expect("a number");
        // The time of the main process, and of its processes that have ended.
        let mut seconds = program::ticks(main, 4).expect("the server runs");
        for process in fs::read_dir("/proc").expect("measured on Linux").flatten() {
            let name = process.file_name();
            if let Some(number) = name.to_str().and_then(|name| name.parse().ok())
                && program::parent(number) == Some(main)
            {
                // It may have ended meanwhile.
                seconds += program::ticks(number, 2).unwrap_or_default();
            }
        }
        seconds
    }

    /// The `pgbench` of the server's installation, else the one on the search path.
    fn program(&self) -> PathBuf {
        let folder: String = self.runtime.block_on(async {
            let asked = sqlx::query_scalar("SELECT setting FROM pg_config WHERE name = 'BINDIR'");
            let answer = asked.fetch_one(&mut self.connect().await).await;
            answer.expect("a superuser may ask")
        });
        let installed = Path::new(&folder).join("pgbench");
        if installed.exists() {
            installed
        } else {
            "pgbench".into()
        }
    }

    async fn connect(&self) -> PgConnection {
        self.database.connect().await.expect("a connection")
    }

    fn password(&self) -> String {
        let url = self.database.url();
        let authority = url.split_once("://").map_or("", |(_, rest)| rest);
        let user = authority.split('@').next().unwrap_or_default();
        let password = user.split_once(':').map_or("", |(_, password)| password);
        password.to_owned()
    }
}

/// Forwards what a client sends, and records it.
fn forward(mut client: TcpStream, mut server: TcpStream, record: &Mutex<Vec<u8>>) {
    let mut piece = [0; 1 << 14];
    while let Ok(length @ 1..) = client.read(&mut piece) {
        let piece = &piece[..length];
        record
            .lock()
            .expect("no thread panics")
            .extend_from_slice(piece);
        if server.write_all(piece).is_err() {
            return;
        }
    }
}

fn clone(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("cloned")
}
