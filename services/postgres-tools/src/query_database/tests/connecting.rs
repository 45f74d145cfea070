//! Connection phrases, with a real PostgreSQL server.

use std::{sync::Arc, time::Duration};

use secrecy::ExposeSecret as _;
use tokio::{task, time};
use ziggurat_answers::test_server;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_postgres::database::Password;
use ziggurat_runtime::logs::captured::CapturedLog;
use ziggurat_tokens::Holder;

use super::*;

impl TestServer {
    /// Returns the URL of the database, and the form that callers see.
    fn url(&self) -> (String, String) {
        let Settings {
            host,
            port,
            database,
            user,
            password,
            ..
        } = &self.fixture.settings;
        let Password::Given(password) = password else {
            panic!("the fixture knows its password");
        };
        let with =
            |password: &str| format!("postgres://{user}:{password}@{host}:{port}/{database}");
        (with(password.expose_secret()), with("***"))
    }
}

const REFUSED: &str = "Error iterating rows: ERROR: cannot execute DELETE in a read-only \
                       transaction (SQLSTATE 25006)";

const NO_CONNECTION: &str = "no connection could be made; check the host, port, user, password \
                             and database of the URL";

const TOKEN: &str = "an API token is bound to its database and cannot connect to another one";

const CLIENT: &str = "an OAuth client cannot connect to databases that are not configured";

const USER: &str = "access to databases is restricted by account on this server, so connecting \
                    to others is not allowed";

fn user(databases: &[&str]) -> Identity {
    let databases = databases.iter().map(ToString::to_string).collect();
    let name = Arc::from("ann");
    Identity::new(TokenHash::of("user"), Holder::User { name, databases })
}

#[tokio::test]
async fn a_url_for_one_call_is_used_for_that_call_alone() {
    let mut test_server = TestServer::with(PEOPLE).await;
    let (url, shown) = test_server.url();
    // Makes the database reachable by the URL only.
    test_server.describe(|settings| settings.port = 1);
    let (text, failed) = test_server
        .query(&format!("SELECT name FROM people at {url} WHERE id = 1;"))
        .await;
    assert_eq!(
        text,
        format!(
            "Using connection: {shown}\n\nSQL Query:\nSELECT name FROM people WHERE id = 1\n\n\
             Results (1 rows):\nname\nAda"
        )
    );
    assert!(!failed);
    let (text, failed) = test_server.query(&format!("db {url} SELECT nope")).await;
    assert_eq!(
        text,
        format!(
            "Using connection: {shown}\n\nSQL Query:\nSELECT nope\n\n\
             Error executing query: ERROR: column \"nope\" does not exist (SQLSTATE 42703)"
        )
    );
    assert!(failed);
    let (text, _) = test_server.query("SELECT 1").await;
    assert!(
        text.starts_with("Failed to get database client: "),
        "{text}"
    );

    let (text, failed) = test_server.query(&format!("database {url} ;")).await;
    assert_eq!(
        text,
        "Connection command executed successfully. No query to run."
    );
    assert!(!failed);
    let ours = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'ziggurat'";
    let closed = async {
        while test_server.fixture.count(ours).await > 0 {
            task::yield_now().await;
        }
    };
    let closed = time::timeout(Duration::from_secs(10), closed).await;
    closed.expect("they are closed in time");
}

#[tokio::test]
async fn a_url_can_be_made_the_default_of_a_session() {
    let mut test_server = TestServer::with(PEOPLE).await;
    test_server
        .fixture
        .given("CREATE VIEW names AS SELECT name FROM people")
        .await;
    let (url, shown) = test_server.url();
    test_server.describe(|settings| settings.port = 1);
    let (text, failed) = test_server.query(&format!("Use database {url}")).await;
    assert_eq!(
        text,
        format!(
            "Successfully set default database connection to:\n{shown}\n\n\
             Metadata loaded: 2 tables/views available."
        )
    );
    assert!(!failed);
    let (text, _) = test_server.query("SELECT count(*) FROM people").await;
    let opening = format!("Database: {shown}\n\nSQL Query:\n");
    assert!(
        text.starts_with(&opening) && text.ends_with("\n3"),
        "{text}"
    );

    // The default belongs to this session, and a selection removes it.
    test_server.identity = Some(user(&[]));
    let (text, _) = test_server.query("SELECT 1").await;
    assert!(
        text.starts_with("Failed to get database client: "),
        "{text}"
    );
    test_server.identity = None;
    test_server
        .databases
        .select(None, "main")
        .await
        .expect("configured");
    let (text, _) = test_server.query("SELECT 1").await;
    assert!(
        text.starts_with("Failed to get database client: "),
        "{text}"
    );
}

#[tokio::test]
async fn a_database_given_by_url_is_read_only() {
    let test_server = TestServer::with(PEOPLE).await;
    test_server.describe(|settings| settings.allow_writes = true);
    let (url, _) = test_server.url();
    let (text, _) = test_server
        .query(&format!("DELETE FROM people at {url}"))
        .await;
    assert_eq!(text, REFUSED);
    test_server.query(&format!("set default {url}")).await;
    let (text, _) = test_server.query("DELETE FROM people").await;
    assert_eq!(text, REFUSED);
}

#[tokio::test]
async fn a_url_that_does_not_work_changes_nothing() {
    let test_server = TestServer::with(PEOPLE).await;
    let (url, shown) = test_server.url();
    let database = &test_server.fixture.settings.database;
    let (url, shown) = (
        url.replace(database, "gone"),
        shown.replace(database, "gone"),
    );
    let (text, failed) = test_server.query(&format!("switch to {url}")).await;
    assert!(failed);
    assert_eq!(
        text,
        format!("Failed to set default connection to {shown}: {NO_CONNECTION}")
    );
    let (text, failed) = test_server.query(&format!("SELECT 1 in {url}")).await;
    assert!(failed);
    assert_eq!(
        text,
        format!("Failed to connect to {shown}: {NO_CONNECTION}")
    );
    let (text, _) = test_server.query("SELECT 1").await;
    assert!(text.starts_with("Database: main\n"), "{text}");
}

#[tokio::test]
async fn a_url_that_cannot_be_parsed_is_not_shown() {
    let test_server = TestServer::with(PEOPLE).await;
    for (query, opening) in [
        (
            "SELECT 1 at postgres://me:tr@ut@host/db",
            "Failed to connect to postgres://***: the connection URL is malformed",
        ),
        (
            "switch to postgres://me:trout@%2Frun/db",
            "Failed to set default connection to postgres://***: Unix sockets are not allowed",
        ),
    ] {
        let (text, failed) = test_server.query(query).await;
        assert!(text.starts_with(opening), "{text}");
        assert!(
            !text.contains("ut@") && !text.contains("trout") && failed,
            "{text}"
        );
    }
}

#[tokio::test]
async fn callers_that_are_restricted_to_databases_cannot_use_urls() {
    let mut test_server = TestServer::with(PEOPLE).await;
    let (url, shown) = test_server.url();
    let program = |database: Option<&str>| {
        let (id, database) = ("token-1".into(), database.map(Arc::from));
        Identity::new(TokenHash::of("program"), Holder::Program { id, database })
    };
    let client = Identity::new(
        TokenHash::of("client"),
        Holder::Client {
            subject: Arc::from("bot"),
            client: None,
            tenant: None,
            scopes: Arc::default(),
            databases: Arc::default(),
        },
    );
    for (identity, why) in [
        (client, CLIENT),
        (program(None), TOKEN),
        (program(Some("main")), TOKEN),
        (user(&["main"]), USER),
    ] {
        test_server.identity = Some(identity);
        let (text, failed) = test_server.query(&format!("SELECT 1 at {url}")).await;
        assert_eq!(text, format!("Failed to connect to {shown}: {why}"));
        assert!(failed);
        let (text, failed) = test_server.query(&format!("set default {url}")).await;
        assert_eq!(
            text,
            format!("Failed to set default connection to {shown}: {why}")
        );
        assert!(failed);
    }

    // A default set by URL ends when the user is restricted to databases.
    test_server.identity = Some(user(&[]));
    let (text, _) = test_server.query(&format!("set default {url}")).await;
    assert!(text.starts_with("Successfully set "), "{text}");
    let restricted = Configured::new(test_server.fixture.describe(|_| {})).with_users(["ann"]);
    test_server.databases.replace([restricted]);
    let (text, _) = test_server.query("SELECT 1").await;
    assert!(text.starts_with("Database: main\n"), "{text}");
    let (text, _) = test_server.query(&format!("SELECT 1 at {url}")).await;
    assert_eq!(text, format!("Failed to connect to {shown}: {USER}"));
}

#[tokio::test]
async fn connection_urls_can_be_disabled() {
    let mut test_server = TestServer::with(PEOPLE).await;
    test_server.connection_urls = ConnectionUrls::Off;
    let (url, _) = test_server.url();
    for query in [format!("SELECT 1 at {url}"), format!("set default {url}")] {
        let (text, failed) = test_server.query(&query).await;
        assert!(
            text.starts_with("Connection URLs in queries are switched off"),
            "{text}"
        );
        assert!(failed);
    }
}

#[tokio::test]
async fn a_url_may_name_hosts_of_configured_databases_or_listed_hosts() {
    let mut test_server = TestServer::with(PEOPLE).await;
    let (url, shown) = test_server.url();
    let Settings { host, port, .. } = test_server.fixture.settings.clone();
    let query = format!("SELECT count(*) FROM people at {url}");
    let listed = |host: &str| ConnectionUrls::Listed(vec![host.parse().expect("a host")]);
    let refused = format!(
        "Failed to connect to {shown}: {host}:{port} is no host and port that connection URLs may \
         name on this server; its operator decides which are"
    );
    for (urls, configured_port, is_served) in [
        (ConnectionUrls::Configured, port, true),
        (ConnectionUrls::Configured, 1, false),
        (ConnectionUrls::Any, 1, true),
        (listed(&host), 1, true),
        (listed(&format!("{host}:{port}")), 1, true),
        (listed(&format!("{host}:1")), port, false),
        (listed("db.example"), port, false),
    ] {
        test_server.describe(|settings| settings.port = configured_port);
        test_server.connection_urls = urls.clone();
        let (text, failed) = test_server.query(&query).await;
        assert_eq!(failed, !is_served, "{urls:?} {text}");
        if is_served {
            assert!(text.ends_with("\n3"), "{urls:?} {text}");
        } else {
            assert_eq!(text, refused, "{urls:?}");
        }
    }
    // One refused host refuses the whole URL.
    test_server.connection_urls = listed(&host);
    let two = url.replace(&format!("@{host}"), &format!("@{host},db.example"));
    let (text, failed) = test_server.query(&format!("SELECT 1 at {two}")).await;
    assert!(
        failed && text.contains(&format!("db.example:{port} is no host")),
        "{text}"
    );
}

#[tokio::test]
async fn without_authentication_only_local_callers_may_use_urls() {
    let mut test_server = TestServer::with(PEOPLE).await;
    let (url, shown) = test_server.url();
    test_server.is_local = false;
    let (text, failed) = test_server.query(&format!("SELECT 1 at {url}")).await;
    let opening = format!("Failed to connect to {shown}: connection URLs in queries are for users");
    assert!(failed && text.starts_with(&opening), "{text}");
    test_server.identity = Some(user(&[]));
    let (text, failed) = test_server.query(&format!("SELECT 1 at {url}")).await;
    assert!(!failed, "{text}");
}

#[tokio::test]
async fn a_failure_to_connect_is_one_sentence_whatever_the_cause_and_its_cause_is_logged() {
    let test_server = TestServer::with(PEOPLE).await;
    let (url, _) = test_server.url();
    let Settings {
        host,
        port,
        database,
        user,
        ..
    } = &test_server.fixture.settings;
    let closed = url.replace(&format!(":{port}/"), ":1/");
    let no_database = url.replace(&format!("/{database}"), "/gone");
    let no_password = format!("postgres://{user}:guess@{host}:{port}/{database}");
    let log = CapturedLog::default();
    let _guard = log.capture();
    for (url, at, cause) in [
        (closed, format!("{host}:1"), "refused"),
        (no_database, format!("{host}:{port}"), "3D000"),
        (no_password, format!("{host}:{port}"), "28P01"),
    ] {
        let (text, failed) = test_server.query(&format!("SELECT 1 at {url}")).await;
        assert!(
            failed && text.ends_with(&format!(": {NO_CONNECTION}")),
            "{text}"
        );
        let lines = log.take();
        let line = lines.lines().find(|line| line.starts_with("WARN "));
        let line = line.unwrap_or_else(|| panic!("no warning in {lines}"));
        assert!(
            line.contains(&format!("hosts={at}")) && line.contains(cause),
            "{line}"
        );
        assert!(!lines.contains("guess"), "{lines}");
    }
    test_server.query(&format!("SELECT 1 at {url}")).await;
    let lines = log.take();
    let line = format!("INFO connected by a URL in a query hosts={host}:{port}");
    assert!(lines.contains(&line), "{lines}");
}

#[tokio::test]
async fn wrong_passwords_count_like_failed_logins() {
    let mut test_server = TestServer::with(PEOPLE).await;
    let (url, _) = test_server.url();
    let Settings {
        host,
        port,
        database,
        user,
        ..
    } = test_server.fixture.settings.clone();
    let guess = |n: u32| format!("SELECT 1 at postgres://{user}:guess{n}@{host}:{port}/{database}");
    let client = |last: u8| Some(ClientIp::from_peer(([192, 0, 2, last], 4711).into()));
    test_server.client = client(1);
    for n in 0..10 {
        let (text, _) = test_server.query(&guess(n)).await;
        assert!(text.ends_with(NO_CONNECTION), "{text}");
        // A correct password does not reset the count of wrong ones.
        if n < 9 {
            let (text, failed) = test_server.query(&format!("SELECT 1 at {url}")).await;
            assert!(!failed, "{text}");
        }
    }
    for query in [
        guess(10),
        format!("SELECT 1 at {url}"),
        format!("set default {url}"),
    ] {
        let (text, failed) = test_server.query(&query).await;
        assert!(
            failed && text.contains("too many failed authentication attempts from this IP address"),
            "{text}"
        );
    }
    test_server.client = client(2);
    let (text, failed) = test_server.query(&format!("SELECT 1 at {url}")).await;
    assert!(!failed, "{text}");
}

#[tokio::test]
async fn a_url_in_a_literal_is_only_text() {
    let test_server = TestServer::with(PEOPLE).await;
    let (text, failed) = test_server
        .query("SELECT ' set default at postgres://u:p@h/d' AS a -- at postgres://u@h/d")
        .await;
    assert!(
        text.starts_with("Database: main\n")
            && text.ends_with("\na\n set default at postgres://u:p@h/d"),
        "{text}"
    );
    assert!(!failed);
}

#[tokio::test]
async fn the_structure_has_rows_of_a_url_and_is_empty_without_a_statement() {
    let test_server = TestServer::with(PEOPLE).await;
    let (url, _) = test_server.url();
    for (query, columns, rows) in [
        (
            format!("SELECT id FROM people at {url} WHERE id = 1"),
            json!(["id"]),
            json!([[1]]),
        ),
        (format!("at {url};"), json!([]), json!([])),
        (
            format!("set default database to {url}"),
            json!([]),
            json!([]),
        ),
    ] {
        let arguments = json!({"query": query});
        let (text, table) = test_server::structured(test_server.tool(), arguments).await;
        let count = rows.as_array().map(Vec::len);
        let expected =
            json!({"columns": columns, "rows": rows, "row_count": count, "truncated": false});
        assert_eq!(table, expected, "{text}");
    }
}
