use std::time::Duration;

use secrecy::ExposeSecret as _;
use tokio::time;
use ziggurat_llm as llm;
use ziggurat_postgres::{
    database::{Password, Settings},
    error::{Phase, Report},
};
use ziggurat_postgres_tools::{Embedder, SimilaritySearch};

use super::*;
use crate::SqlErrors;

const READ_ONLY: &str = "This server is read-only by design: SELECT, VALUES, TABLE, WITH queries, \
    EXPLAIN and SHOW work. To change data, the operator has to set allow_writes: true for this \
    database.";

#[tokio::test]
async fn a_write_is_told_what_a_read_only_database_allows() {
    let mut server = TestServer::with(SHOP).await;
    let cases = [
        ("INSERT INTO city VALUES (1)", READ_ONLY),
        ("CREATE TABLE t (a int)", READ_ONLY),
        ("DO $$BEGIN END$$", READ_ONLY),
        (
            "BEGIN",
            "Send only the statement itself: each call is a transaction of its own.",
        ),
        (
            "SELECT 1; SELECT 2",
            "Send each statement in a call of its own; WITH joins several queries to one.",
        ),
        (
            "SELECT pg_read_file('a')",
            "Queries over tables, views and other functions are allowed. Only the operator can \
             allow this, with allow_dangerous_functions.",
        ),
    ];
    check(&server, &cases).await;
    assert_eq!(query(&server, " ; ").await, "Query is empty");

    server.settings.allow_writes = true;
    server.fixture.given("CREATE SEQUENCE numbers").await;
    let tool = CountRows::new(server.databases());
    let condition = json!({"table": "customer", "where": "id < nextval('numbers')"});
    server
        .fixture
        .given("INSERT INTO customer VALUES (1, 'Ada')")
        .await;
    let text = failure(tool, condition).await;
    assert!(
        text.ends_with("In this database query_database may change data."),
        "{text}"
    );
}

#[tokio::test]
async fn a_missing_privilege_is_named_with_its_object() {
    let mut server = TestServer::with(SHOP).await;
    let role = format!("r_{}", server.settings.database);
    let given = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA archive TO {role};
         CREATE VIEW seen AS SELECT * FROM orders; ALTER VIEW seen OWNER TO {role};
         REVOKE EXECUTE ON FUNCTION sales.discount FROM PUBLIC;
         CREATE FUNCTION secret() RETURNS int LANGUAGE sql AS 'SELECT 1';
         REVOKE EXECUTE ON FUNCTION secret FROM PUBLIC"
    );
    server.fixture.given(&given).await;
    server.settings.user.clone_from(&role);
    server.settings.password = "p".to_owned().into();
    server.settings.allow_writes = true;
    let cases = [
        ("SELECT * FROM customer", "SELECT on the table customer"),
        ("SELECT * FROM sales.invoices", "USAGE on the schema sales"),
        ("INSERT INTO city VALUES (1)", "INSERT on the table city"),
        (
            "UPDATE city SET id = 1",
            "UPDATE or SELECT on the table city",
        ),
        ("SELECT secret()", "EXECUTE on the function secret"),
        (
            "CREATE TABLE archive.t (a int)",
            "CREATE on the schema archive",
        ),
    ];
    for (sql, missing) in cases {
        let expected =
            format!("The role of this server lacks {missing}. Only the operator can grant it.");
        check(&server, &[(sql, &expected)]).await;
    }
    let expected = "A view or function of this statement reads the table orders, which its role \
        may not read. Only the operator can grant it.";
    check(&server, &[("SELECT * FROM seen", expected)]).await;
    let dropped = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    server.fixture.given(&dropped).await;
}

#[tokio::test]
async fn a_statement_that_took_too_long_is_told_the_limit() {
    let mut server = TestServer::with("SELECT").await;
    server.settings.query_timeout = Duration::from_millis(50);
    let text = query(&server, "SELECT pg_sleep(60)").await;
    let expected = "ERROR: canceling statement due to statement timeout (SQLSTATE 57014)\n\
        HINT: A statement may run for 50ms. Make it cheaper: ";
    assert!(text.starts_with(expected), "{text}");
}

#[tokio::test]
async fn a_statement_at_a_url_has_the_place_but_no_names_of_the_catalogue() {
    let server = TestServer::with(SHOP).await;
    let Settings {
        host,
        port,
        database,
        user,
        password: Password::Given(password),
        ..
    } = &server.settings
    else {
        panic!("the fixture knows its password");
    };
    let password = password.expose_secret();
    let url = format!("postgres://{user}:{password}@{host}:{port}/{database}");
    let text = query(&server, &format!("db {url} SELECT * FROM custmer")).await;
    let expected = "ERROR: relation \"custmer\" does not exist (SQLSTATE 42P01)\n\
        LINE 1: SELECT * FROM custmer\n                      ^";
    assert_eq!(text, expected);
    let text = query(&server, &format!("db {url} DELETE FROM city")).await;
    let expected = "\nHINT: A database that is named by a URL is always read-only: ";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn a_search_by_meaning_names_the_missing_privilege() {
    let mut server = TestServer::with(
        "CREATE EXTENSION IF NOT EXISTS vector;
         CREATE TABLE page (body text, body_embedding vector(256))",
    )
    .await;
    let role = format!("r_{}", server.settings.database);
    let given = format!("CREATE ROLE {role} LOGIN PASSWORD 'p'");
    server.fixture.given(&given).await;
    server.settings.user.clone_from(&role);
    server.settings.password = "p".to_owned().into();
    let embedder = Embedder::Ready(llm::Embedder::local());
    let tool = SimilaritySearch::new(server.databases(), embedder);
    let text = failure(tool, json!({"query_text": "ferns", "table_name": "page"})).await;
    server.fixture.given(&format!("DROP ROLE {role}")).await;
    let expected = "ERROR: permission denied for table page (SQLSTATE 42501)\n\
        HINT: The role of this server lacks SELECT on the table page. Only the operator can grant \
        it.\n\n<diagnosis>\n- The search was of table public.page, ";
    assert!(text.starts_with(expected), "{text}");
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_streamed_answer_has_no_prefix() {
    let server = TestServer::with("SELECT").await;
    let sql = "SELECT repeat('x', 5000), 1 / (500 - i) FROM generate_series(1, 1000) i";
    let tool = QueryDatabase::new(server.databases());
    let body = respond(
        tool,
        Revision::V2025_11_25,
        json!({"query": sql, "limit": 1000}),
    )
    .await;
    let answer = body.collect().await.expect("whole").to_bytes();
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.contains("ERROR: division by zero (SQLSTATE 22012)"));
    assert!(
        answer.contains("HINT: Write NULLIF(divisor, 0)"),
        "{answer}"
    );
    assert!(!answer.contains("Error iterating rows"), "{answer}");
}

#[tokio::test]
async fn an_error_is_reported_without_a_hint_if_the_catalogue_cannot_be_read() {
    let server = TestServer::with("SELECT").await;
    let databases = server.databases();
    let current = databases.current(None).expect("a database");
    let mut leases = Vec::new();
    while leases.len() < 4 {
        leases.push(current.pool().lease().await.expect("a lease"));
    }
    // All connections of the caller are in use.
    time::pause();
    let errors = SqlErrors::new(&current, "SELECT lenght('a')");
    let mut report = Report::with_sqlstate("42883");
    report.position = Some(8);
    let text = errors.described(Phase::Run, &report).await;
    assert_eq!(
        text,
        "ERROR:  (SQLSTATE 42883)\nLINE 1: SELECT lenght('a')\n               ^"
    );
}
