//! Real servers, shared and private, and real processes that own them.

use std::{
    env, fs,
    io::{self, BufRead as _, BufReader, Write as _},
    net::{Ipv4Addr, TcpStream},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Instant,
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use sqlx::{Connection as _, PgConnection, error::DatabaseError, postgres::PgConnectOptions};
use tempfile::TempDir;
use ziggurat_black_box::{PATIENCE, ended, output, received, until};
use ziggurat_local_pg::LocalPg;

/// Tells the test in another process which server to own.
const ROLE: &str = "ZIGGURAT_LOCAL_PG_TEST_ROLE";

/// A process that owns a server and a database on it, until it is stopped.
struct Owner {
    process: Child,
    url: String,
}

// === impl Owner ===

impl Owner {
    /// Starts a process that owns the server in a folder.
    fn of(dir: &Path) -> Self {
        Self::start(&mut other_process_as(dir.to_str().expect("plain")))
    }

    fn start(command: &mut Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("runs itself");
        let stdout = BufReader::new(process.stdout.take().expect("piped"));
        let (sender, receiver) = mpsc::channel();
        // Read to its end, because the test program reports its result.
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if let Some((_, url)) = line.split_once("url ") {
                    sender.send(url.to_owned()).ok();
                }
            }
        });
        Self {
            process,
            url: received(&receiver),
        }
    }

    fn port(&self) -> u16 {
        let options: PgConnectOptions = self.url.parse().expect("a URL");
        options.get_port()
    }

    /// Lets it end normally.
    fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(ended(&mut self.process).success());
    }

    /// Kills it (SIGKILL).
    fn kill(mut self) {
        self.process.kill().expect("a child");
        ended(&mut self.process);
    }
}

/// The command that makes this test program own the shared server, or the one in a folder.
fn other_process_as(role: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this test program"));
    command
        .args(["--exact", "other_process", "--nocapture"])
        .env(ROLE, role);
    command
}

/// The error of the other process when it gets no server.
fn error_of(command: &mut Command) -> String {
    let output = output(command);
    assert!(!output.status.success(), "it got a server");
    String::from_utf8(output.stderr).expect("text")
}

/// Runs in the other process: owns a server until its standard input ends. Does nothing without a
/// role.
#[tokio::test]
async fn other_process() {
    let Ok(role) = env::var(ROLE) else {
        return;
    };
    let pg = match role.as_str() {
        "shared" => LocalPg::start().await,
        dir => LocalPg::private(Path::new(dir)).await,
    };
    let pg = pg.expect("a server");
    let _database = pg.database().await.expect("a database");
    println!("url {}", pg.url("postgres"));
    io::stdout().flush().expect("piped");
    io::stdin().lines().for_each(drop);
}

/// A folder that the server's account can enter.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("our own");
    folder
}

/// The process of the server in a folder.
fn postmaster(dir: &Path) -> Pid {
    let file = dir.join("postgresql/data/postmaster.pid");
    let text = fs::read_to_string(file).expect("the server runs");
    let pid = text.lines().next().expect("a line");
    Pid::from_raw(pid.parse().expect("a number")).expect("a process")
}

async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.expect("a way in")
}

/// The number of test databases.
async fn databases_of_tests(url: &str) -> i64 {
    sqlx::query_scalar(
        "SELECT count(*) FROM pg_database WHERE starts_with(datname, 'ziggurat_db_')",
    )
    .fetch_one(&mut connect(url).await)
    .await
    .expect("a count")
}

/// Waits until the watchdog of a server is gone, which releases its lock.
fn until_unwatched(server: &Path) {
    let lock = fs::File::open(server.join("watchdog.lock")).expect("a server was here");
    until("the watchdog is gone", || lock.try_lock_shared().is_ok());
}

#[test]
fn all_futures_are_send() {
    fn is_send<T: Send>(_: impl FnOnce(&'static LocalPg) -> T) {}
    fn is_shared<T: Send + Sync + Clone>() {}

    is_shared::<LocalPg>();
    is_shared::<ziggurat_local_pg::Template>();
    is_send(|_| LocalPg::start());
    is_send(LocalPg::database);
    is_send(|pg| {
        pg.template("x", "", async |connection| {
            sqlx::query("SELECT 1").execute(connection).await.map(drop)
        })
    });
}

#[tokio::test]
async fn a_server_is_found_or_provisioned_and_has_vectors() {
    let begun = Instant::now();
    let pg = LocalPg::start().await.expect("a server");
    println!("version {} in {:?}", pg.version(), begun.elapsed());

    let database = pg.database().await.expect("a database");
    let mut connection = database.connect().await.expect("a connection");
    sqlx::raw_sql("CREATE TABLE t (v vector(3)); INSERT INTO t VALUES ('[1,2,3]'), ('[4,5,6]')")
        .execute(&mut connection)
        .await
        .expect("pgvector is there");
    let nearest: String =
        sqlx::query_scalar("SELECT v::text FROM t ORDER BY v <-> '[4,4,4]' LIMIT 1")
            .fetch_one(&mut connection)
            .await
            .expect("pgvector works");
    assert_eq!(nearest, "[4,5,6]");
}

#[tokio::test]
async fn non_ascii_words_fold_and_split() {
    let pg = LocalPg::start().await.expect("a server");
    let database = pg.database().await.expect("a database");
    let mut connection = database.connect().await.expect("a connection");
    let (lower, words): (String, String) =
        sqlx::query_as("SELECT lower('ÉTÉ'), to_tsvector('simple', 'ÉTÉ l’Œuvre')::text")
            .fetch_one(&mut connection)
            .await
            .expect("text search");
    assert_eq!(
        (lower.as_str(), words.as_str()),
        ("été", "'l':2 'été':1 'œuvre':3")
    );
}

#[tokio::test]
async fn every_address_works_and_only_the_socket_needs_no_password() {
    let dir = folder();
    let pg = LocalPg::private(dir.path()).await.expect("a server");
    let socket = pg.socket_url("postgres").expect("a server of our own");
    for url in [pg.url("postgres"), socket] {
        let connection = PgConnection::connect(&url).await.expect("lets us in");
        connection.close().await.expect("says goodbye");
    }
    let without_password = format!(
        "postgres://{}:guess@{}:{}/postgres",
        pg.user(),
        pg.host(),
        pg.port()
    );
    let refused = PgConnection::connect(&without_password)
        .await
        .expect_err("wrong password");
    let code = refused.as_database_error().and_then(DatabaseError::code);
    assert_eq!(code.as_deref(), Some("28P01"), "{refused}");

    let mode = |path: &Path| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
    assert_eq!(mode(pg.socket_dir().expect("a server of our own")), 0o700);
    assert_eq!(mode(&dir.path().join("postgresql/password")), 0o600);
    assert!(!dir.path().join("postgresql/password.initdb").exists());
}

#[tokio::test]
async fn databases_of_one_template_do_not_see_each_other() {
    let pg = LocalPg::start().await.expect("a server");
    let fixture = "CREATE TABLE t AS SELECT generate_series(1, 3) AS n";
    let template = pg
        .template("isolated", fixture, async |connection| {
            sqlx::raw_sql(fixture).execute(connection).await.map(drop)
        })
        .await
        .expect("a template");

    let begun = Instant::now();
    let first = template.database().await.expect("a database");
    println!("a database from a template: {:?}", begun.elapsed());
    let second = template.database().await.expect("a database");
    assert_ne!(first.name(), second.name());

    let mut in_first = first.connect().await.expect("a connection");
    let mut in_second = second.connect().await.expect("a connection");
    sqlx::query("DELETE FROM t")
        .execute(&mut in_first)
        .await
        .expect("its own rows");
    let count = "SELECT count(*) FROM t";
    let left: i64 = sqlx::query_scalar(count)
        .fetch_one(&mut in_second)
        .await
        .expect("a count");
    assert_eq!(left, 3);
}

#[tokio::test]
async fn a_template_is_built_once_for_all_and_again_after_a_failure() {
    use std::sync::atomic::{AtomicU32, Ordering};

    let dir = folder();
    let pg = LocalPg::private(dir.path()).await.expect("a server");
    let built = AtomicU32::new(0);
    let ask = |content: &'static str| {
        pg.template("once", content, async |connection| {
            built.fetch_add(1, Ordering::Relaxed);
            sqlx::query("CREATE TABLE t ()")
                .execute(connection)
                .await
                .map(drop)
        })
    };
    let (first, second, third) = tokio::join!(ask("a"), ask("a"), ask("a"));
    let first = first.expect("a template");
    assert_eq!(first.name(), second.expect("the same").name());
    assert_eq!(first.name(), third.expect("the same").name());
    assert_eq!(built.load(Ordering::Relaxed), 1);

    let other = ask("b").await.expect("a template");
    assert_ne!(first.name(), other.name());
    assert_eq!(built.load(Ordering::Relaxed), 2);

    pg.template("broken", "", async |connection| {
        sqlx::query("CREATE TABLE t ()")
            .execute(&mut *connection)
            .await?;
        sqlx::query("SELECT 1 / 0")
            .execute(connection)
            .await
            .map(drop)
    })
    .await
    .expect_err("cannot be filled");
    let mended = pg
        .template("broken", "", async |connection| {
            sqlx::query("CREATE TABLE t ()")
                .execute(connection)
                .await
                .map(drop)
        })
        .await
        .expect("nothing is left of the first attempt");
    drop(mended.database().await.expect("a database"));
}

#[tokio::test]
async fn a_database_is_dropped_with_its_handle_despite_connections() {
    let dir = folder();
    let pg = LocalPg::private(dir.path()).await.expect("a server");
    let database = pg.database().await.expect("a database");
    let name = database.name().to_owned();
    let _connected = database.connect().await.expect("a connection");
    drop(database);

    let mut connection = connect(&pg.url("postgres")).await;
    let deadline = Instant::now() + PATIENCE;
    let exists = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)";
    while sqlx::query_scalar(exists)
        .bind(&name)
        .fetch_one(&mut connection)
        .await
        .expect("an answer")
    {
        assert!(Instant::now() < deadline, "{name} is still there");
    }
}

#[tokio::test]
async fn two_processes_share_one_server_and_it_outlives_either() {
    let dir = folder();
    let first = Owner::of(dir.path());
    let server = postmaster(dir.path());
    let second = Owner::of(dir.path());
    assert_eq!(first.port(), second.port());

    first.kill();
    let pg = LocalPg::private(dir.path()).await.expect("joins");
    assert_eq!(pg.port(), second.port());
    second.end();
    assert_eq!(postmaster(dir.path()), server, "still the same process");
    connect(&pg.url("postgres")).await;
}

#[tokio::test]
async fn the_shared_server_is_one_for_all_processes() {
    let pg = LocalPg::start().await.expect("a server");
    let other = Owner::start(&mut other_process_as("shared"));
    assert_eq!(other.port(), pg.port());
    other.end();
}

#[test]
fn the_server_stops_when_its_owner_is_killed() {
    let dir = folder();
    let owner = Owner::of(dir.path());
    let (server, port) = (postmaster(dir.path()), owner.port());
    test_kill_process(server).expect("the server runs");

    owner.kill();
    until("the server is gone", || test_kill_process(server).is_err());
    until_unwatched(&dir.path().join("postgresql"));
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect_err("nobody listens");
    assert!(!dir.path().join("postgresql/data/postmaster.pid").exists());
    assert!(
        dir.path().join("postgresql/clean").exists(),
        "it stopped in good order"
    );
}

// Only Linux tells a child that its parent died.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_server_stops_when_its_watchdog_is_killed_and_can_be_started_again() {
    let dir = folder();
    let first = LocalPg::private(dir.path()).await.expect("a server");
    let server = postmaster(dir.path());
    let status = format!("/proc/{}/status", server.as_raw_nonzero());
    let status = fs::read_to_string(status).expect("the server runs");
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    let parent = parent
        .expect("has a parent")
        .trim()
        .parse()
        .expect("a number");
    kill_process(Pid::from_raw(parent).expect("a process"), Signal::KILL).expect("ours");
    until("the server is gone", || test_kill_process(server).is_err());

    let second = LocalPg::private(dir.path()).await.expect("another server");
    assert_ne!(postmaster(dir.path()), server);
    assert_eq!(second.port(), first.port());
    connect(&second.url("postgres")).await;
}

#[tokio::test]
async fn a_shared_server_replaces_broken_data_and_drops_databases_left_behind() {
    let cache = folder();
    let pg = LocalPg::start().await.expect("a server");
    let bin: String = sqlx::query_scalar("SELECT setting FROM pg_config WHERE name = 'BINDIR'")
        .fetch_one(&mut connect(&pg.url("postgres")).await)
        .await
        .expect("it knows where it is");
    let mut command = other_process_as("shared");
    command
        .env_remove("ZIGGURAT_TEST_DATABASE_URL")
        .env("ZIGGURAT_PG_BIN", bin)
        .env("ZIGGURAT_CACHE_DIR", cache.path());

    let owner = Owner::start(&mut command);
    assert_ne!(owner.port(), pg.port(), "another cache is another server");
    assert_eq!(databases_of_tests(&owner.url).await, 1);
    owner.kill();
    let server = fs::read_dir(cache.path())
        .expect("a folder")
        .map(|entry| entry.expect("readable").path())
        .find(|path| path.join("data").exists())
        .expect("a server was here");
    until_unwatched(&server);

    // The next one uses the same data, without the databases of the killed process.
    let version = fs::metadata(server.join("data/PG_VERSION"))
        .expect("data")
        .ino();
    let owner = Owner::start(&mut command);
    assert_eq!(databases_of_tests(&owner.url).await, 1);
    owner.kill();
    until_unwatched(&server);
    let same = fs::metadata(server.join("data/PG_VERSION"))
        .expect("data")
        .ino();
    assert_eq!(same, version);

    // The server does not start on the first; it would on the second, but they cannot be trusted.
    for damage in ["data/global/pg_control", "clean"] {
        fs::remove_file(server.join(damage)).expect("was there");
        let mark = server.join("data/mark");
        fs::write(&mark, "").expect("our own");
        Owner::start(&mut command).kill();
        until_unwatched(&server);
        assert!(
            !mark.exists(),
            "the data are still the old ones, without {damage}"
        );
    }
}

#[tokio::test]
async fn a_given_server_is_used_if_possible() {
    let dir = folder();
    let pg = LocalPg::private(dir.path()).await.expect("a server");
    let given = |url: String| {
        let mut command = other_process_as("shared");
        command.env("ZIGGURAT_TEST_DATABASE_URL", url);
        command
    };
    let other = Owner::start(&mut given(pg.url("postgres")));
    assert_eq!(other.port(), pg.port());
    assert_eq!(databases_of_tests(&other.url).await, 1);
    other.end();

    sqlx::raw_sql("CREATE ROLE humble LOGIN PASSWORD 'humble'")
        .execute(&mut connect(&pg.url("postgres")).await)
        .await
        .expect("a role");
    let humble = format!("postgres://humble:humble@127.0.0.1:{}/postgres", pg.port());
    let said = error_of(&mut given(humble));
    assert!(
        said.contains("role `humble` may not create databases"),
        "{said}"
    );

    let nobody = "postgres://u:s3cret@127.0.0.1:1/postgres".to_owned();
    let said = error_of(&mut given(nobody));
    assert!(
        said.contains("ZIGGURAT_TEST_DATABASE_URL cannot be used"),
        "{said}"
    );
    assert!(said.contains("to use a server of your own"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

#[tokio::test]
async fn kept_data_are_there_after_a_restart() {
    let dir = folder();
    let pg = LocalPg::private(dir.path()).await.expect("a server");
    let (port, reach) = (pg.port(), pg.url("x"));
    let mut connection = connect(&pg.url("postgres")).await;
    let fsync: String = sqlx::query_scalar("SHOW fsync")
        .fetch_one(&mut connection)
        .await
        .expect("a setting");
    assert_eq!(fsync, "on");
    sqlx::query("CREATE TABLE kept AS SELECT 42 AS n")
        .execute(&mut connection)
        .await
        .expect("a table");
    drop((connection, pg));
    until_unwatched(&dir.path().join("postgresql"));
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect_err("nobody listens");

    let begun = Instant::now();
    let pg = LocalPg::private(dir.path()).await.expect("a server");
    println!("started again in {:?}", begun.elapsed());
    assert_eq!(pg.url("x"), reach);
    let n: i32 = sqlx::query_scalar("SELECT n FROM kept")
        .fetch_one(&mut connect(&pg.url("postgres")).await)
        .await
        .expect("the table");
    assert_eq!(n, 42);
}

#[tokio::test]
async fn a_killed_server_starts_again_for_the_same_owner_on_the_same_port() {
    let dir = folder();
    let pg = LocalPg::private(dir.path()).await.expect("a server");
    kill_process(postmaster(dir.path()), Signal::KILL).expect("ours");
    until_unwatched(&dir.path().join("postgresql"));

    let again = LocalPg::private(dir.path()).await.expect("a server");
    assert_eq!(again.url("x"), pg.url("x"));
    connect(&pg.url("postgres")).await;
}

#[tokio::test]
async fn a_folder_whose_name_is_too_long_for_a_socket_is_refused_with_advice() {
    let dir = folder();
    let deep = dir.path().join("d".repeat(100));
    let error = LocalPg::private(&deep)
        .await
        .expect_err("too long")
        .to_string();
    for part in [
        "too long for a socket",
        "choose a shorter",
        "ZIGGURAT_TEST_DATABASE_URL",
    ] {
        assert!(error.contains(part), "{part:?} in {error}");
    }
}
