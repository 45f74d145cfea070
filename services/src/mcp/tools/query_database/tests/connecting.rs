//! Connection phrases, against the real server.

use std::{sync::Arc, time::Duration};

use secrecy::ExposeSecret as _;
use tokio::{task, time};
use ziggurat_layers::bearer::TokenHash;

use super::*;
use crate::{accounts::Holder, mcp::tools::bench, pg::database::Password};

impl Bench {
    /// The URL of the database, and how it is shown.
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

const TOKEN: &str = "an API token is bound to its database and cannot connect to another one";

const USER: &str = "access to databases is restricted by account on this server, so connecting \
                    to others is not allowed";

fn user(databases: &[&str]) -> Identity {
    let databases = databases.iter().map(ToString::to_string).collect();
    let name = Arc::from("ann");
    Identity::new(TokenHash::of("user"), Holder::User { name, databases })
}

#[tokio::test]
async fn a_url_for_one_call_is_used_for_that_call_alone() {
    let mut bench = Bench::with(PEOPLE).await;
    let (url, shown) = bench.url();
    // Reachable by the URL only.
    bench.describe(|settings| settings.port = 1);
    let (text, failed) = bench
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
    let (text, failed) = bench.query(&format!("db {url} SELECT nope")).await;
    assert_eq!(
        text,
        format!(
            "Using connection: {shown}\n\nSQL Query:\nSELECT nope\n\n\
             Error executing query: ERROR: column \"nope\" does not exist (SQLSTATE 42703)"
        )
    );
    assert!(failed);
    let (text, _) = bench.query("SELECT 1").await;
    assert!(
        text.starts_with("Failed to get database client: "),
        "{text}"
    );

    let (text, failed) = bench.query(&format!("database {url} ;")).await;
    assert_eq!(
        text,
        "Connection command executed successfully. No query to run."
    );
    assert!(!failed);
    let ours = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'ziggurat'";
    let closed = async {
        while bench.fixture.count(ours).await > 0 {
            task::yield_now().await;
        }
    };
    let closed = time::timeout(Duration::from_secs(10), closed).await;
    closed.expect("they are closed in time");
}

#[tokio::test]
async fn a_url_can_be_made_the_default_of_a_session() {
    let mut bench = Bench::with(PEOPLE).await;
    bench
        .fixture
        .given("CREATE VIEW names AS SELECT name FROM people")
        .await;
    let (url, shown) = bench.url();
    bench.describe(|settings| settings.port = 1);
    let (text, failed) = bench.query(&format!("Use database {url}")).await;
    assert_eq!(
        text,
        format!(
            "Successfully set default database connection to:\n{shown}\n\n\
             Metadata loaded: 2 tables/views available."
        )
    );
    assert!(!failed);
    let (text, _) = bench.query("SELECT count(*) FROM people").await;
    let opening = format!("Database: {shown}\n\nSQL Query:\n");
    assert!(
        text.starts_with(&opening) && text.ends_with("\n3"),
        "{text}"
    );

    // It is of this session, and gone with a selection.
    bench.identity = Some(user(&[]));
    let (text, _) = bench.query("SELECT 1").await;
    assert!(
        text.starts_with("Failed to get database client: "),
        "{text}"
    );
    bench.identity = None;
    bench
        .databases
        .select(None, "main")
        .await
        .expect("configured");
    let (text, _) = bench.query("SELECT 1").await;
    assert!(
        text.starts_with("Failed to get database client: "),
        "{text}"
    );
}

#[tokio::test]
async fn what_is_brought_along_is_never_written_to() {
    let bench = Bench::with(PEOPLE).await;
    bench.describe(|settings| settings.allow_writes = true);
    let (url, _) = bench.url();
    let (text, _) = bench.query(&format!("DELETE FROM people at {url}")).await;
    assert_eq!(text, REFUSED);
    bench.query(&format!("set default {url}")).await;
    let (text, _) = bench.query("DELETE FROM people").await;
    assert_eq!(text, REFUSED);
}

#[tokio::test]
async fn a_url_that_does_not_work_changes_nothing() {
    let bench = Bench::with(PEOPLE).await;
    let (url, shown) = bench.url();
    let database = &bench.fixture.settings.database;
    let (url, shown) = (
        url.replace(database, "gone"),
        shown.replace(database, "gone"),
    );
    let why = "FATAL: database \"gone\" does not exist (SQLSTATE 3D000)";
    let (text, failed) = bench.query(&format!("switch to {url}")).await;
    assert!(failed);
    assert!(
        text.starts_with(&format!("Failed to set default connection to {shown}: ")),
        "{text}"
    );
    assert!(text.contains(why), "{text}");
    let (text, failed) = bench.query(&format!("SELECT 1 in {url}")).await;
    assert!(failed);
    assert!(
        text.starts_with(&format!("Failed to connect to {shown}: ")),
        "{text}"
    );
    assert!(text.contains(why), "{text}");
    let (text, _) = bench.query("SELECT 1").await;
    assert!(text.starts_with("Database: main\n"), "{text}");
}

#[tokio::test]
async fn a_url_that_cannot_be_read_is_not_shown() {
    let bench = Bench::with(PEOPLE).await;
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
        let (text, failed) = bench.query(query).await;
        assert!(text.starts_with(opening), "{text}");
        assert!(
            !text.contains("ut@") && !text.contains("trout") && failed,
            "{text}"
        );
    }
}

#[tokio::test]
async fn who_is_kept_to_databases_stays_there() {
    let mut bench = Bench::with(PEOPLE).await;
    let (url, shown) = bench.url();
    let program = |database: Option<&str>| {
        let database = database.map(Arc::from);
        Identity::new(TokenHash::of("program"), Holder::Program { database })
    };
    for (identity, why) in [
        (program(None), TOKEN),
        (program(Some("main")), TOKEN),
        (user(&["main"]), USER),
    ] {
        bench.identity = Some(identity);
        let (text, failed) = bench.query(&format!("SELECT 1 at {url}")).await;
        assert_eq!(text, format!("Failed to connect to {shown}: {why}"));
        assert!(failed);
        let (text, failed) = bench.query(&format!("set default {url}")).await;
        assert_eq!(
            text,
            format!("Failed to set default connection to {shown}: {why}")
        );
        assert!(failed);
    }

    // A default that was brought along ends with the freedom to do so.
    bench.identity = Some(user(&[]));
    let (text, _) = bench.query(&format!("set default {url}")).await;
    assert!(text.starts_with("Successfully set "), "{text}");
    let restricted = Configured::new(bench.fixture.describe(|_| {})).with_users(["ann"]);
    bench.databases.replace([restricted]);
    let (text, _) = bench.query("SELECT 1").await;
    assert!(text.starts_with("Database: main\n"), "{text}");
    let (text, _) = bench.query(&format!("SELECT 1 at {url}")).await;
    assert_eq!(text, format!("Failed to connect to {shown}: {USER}"));
}

#[tokio::test]
async fn the_feature_can_be_switched_off() {
    let mut bench = Bench::with(PEOPLE).await;
    bench.connection_urls = false;
    let (url, _) = bench.url();
    for query in [format!("SELECT 1 at {url}"), format!("set default {url}")] {
        let (text, failed) = bench.query(&query).await;
        assert!(
            text.starts_with("Connection URLs in queries are switched off"),
            "{text}"
        );
        assert!(failed);
    }
}

#[tokio::test]
async fn a_url_in_a_literal_is_nothing_but_text() {
    let bench = Bench::with(PEOPLE).await;
    let (text, failed) = bench
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
async fn a_table_comes_from_elsewhere_too_and_is_empty_where_nothing_was_run() {
    let bench = Bench::with(PEOPLE).await;
    let (url, _) = bench.url();
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
        let (text, table) = bench::structured(bench.tool(), arguments).await;
        let count = rows.as_array().map(Vec::len);
        let expected =
            json!({"columns": columns, "rows": rows, "row_count": count, "truncated": false});
        assert_eq!(table, expected, "{text}");
    }
}
