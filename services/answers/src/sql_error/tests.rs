mod access;
mod names;
mod values;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use ziggurat_mcp::{ToolHandler, protocol::Revision};
use ziggurat_postgres_tools::{CountRows, ExecuteExplain, QueryDatabase};

use super::{MAX_MESSAGE, MAX_PART};
use crate::test_server::{TestServer, respond};

const SHOP: &str = r#"
    CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, email text, "birthDate" date);
    CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customer (id),
        total numeric CHECK (total >= 0), note jsonb, tags text[]);
    CREATE TABLE city (id int, name text);
    CREATE TABLE "order" (number int);
    CREATE TABLE "Kunden" (id int, "Name" text);
    CREATE SCHEMA sales;
    CREATE TABLE sales.invoices (id int, amount numeric);
    CREATE VIEW sales.recent AS SELECT id FROM sales.invoices;
    CREATE TABLE sales."Offers" (id int);
    CREATE SCHEMA archive;
    CREATE TABLE archive.invoices_2023 (id int);
    CREATE FUNCTION sales.discount(numeric, int) RETURNS numeric LANGUAGE sql AS 'SELECT $1';
"#;

/// Calls a tool as a client that negotiates the revision, and returns the text of the error.
async fn failure(tool: impl ToolHandler, arguments: Value) -> String {
    let body = respond(tool, Revision::V2025_11_25, arguments).await;
    let answer = body.collect().await.expect("whole").to_bytes();
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    let result = &answer["result"];
    assert_eq!(result["isError"], true, "{answer}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    text.to_owned()
}

async fn query(server: &TestServer, query: &str) -> String {
    let tool = QueryDatabase::new(server.databases());
    failure(tool, json!({"query": query})).await
}

/// Runs statements that fail, and compares the last hint of each text, or its absence.
async fn check(server: &TestServer, cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        let text = query(server, sql).await;
        let hint = text.rsplit_once("\nHINT: ");
        assert_eq!(hint.map_or("", |(_, hint)| hint), *expected, "{text}");
    }
}

#[tokio::test]
async fn the_text_has_the_message_the_place_and_the_hints() {
    let server = TestServer::with(SHOP).await;
    let text = query(&server, "\n SELECT 1,\n\tlenght(name)\nFROM customer;").await;
    let expected = "ERROR: function lenght(text) does not exist (SQLSTATE 42883)\n\
        LINE 2:  lenght(name)\n         ^\n";
    assert!(text.starts_with(expected), "{text}");
    let expected = "\nHINT: Functions with a similar name: length(text), height(box).";
    assert!(text.ends_with(expected), "{text}");

    let text = query(&server, "SELECT nmae FROM customer").await;
    let expected = "ERROR: column \"nmae\" does not exist (SQLSTATE 42703)\n\
        LINE 1: SELECT nmae FROM customer\n               ^\n\
        HINT: Perhaps you meant to reference the column \"customer.name\".";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn each_way_to_run_a_statement_keeps_the_position_of_an_error() {
    let server = TestServer::with(SHOP).await;
    let cases = [
        "SELECT 'é', nmae FROM customer",
        "SELECT 'é', nmae FROM customer LIMIT 3",
        "(SELECT 'é', nmae FROM customer)",
        "WITH a AS (SELECT 'é', nmae FROM customer) SELECT * FROM a",
        "EXPLAIN SELECT 'é', nmae FROM customer",
        "SELECT 'é;', nmae FROM customer",
    ];
    for sql in cases {
        let text = query(&server, sql).await;
        let lines: Vec<_> = text.lines().collect();
        let place = sql.chars().take_while(|&c| c != 'n').count();
        assert_eq!(lines[1], format!("LINE 1: {sql}"), "{text}");
        assert_eq!(
            lines[2].chars().count(),
            "LINE 1: ".len() + place + 1,
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_condition_of_count_rows_has_positions_of_its_own() {
    let server = TestServer::with(SHOP).await;
    let cases = [
        (
            json!({"table": "custmer", "where": "name = 'a'"}),
            "ERROR: relation \"public.custmer\" does not exist (SQLSTATE 42P01)\n\
             HINT: Tables with a similar name: customer. search_schema shows tables and \
             their columns.",
        ),
        (
            json!({"table": "customer", "where": "id = 1 AND birthdate IS NULL"}),
            "ERROR: column \"birthdate\" does not exist (SQLSTATE 42703)\n\
             LINE 1: id = 1 AND birthdate IS NULL\n                   ^\n\
             HINT: Perhaps you meant to reference the column \"customer.birthDate\".\n\
             HINT: customer has a column \"birthDate\": write \"birthDate\". PostgreSQL reads names \
             without double quotes in lower case.",
        ),
        (
            json!({"table": "customer", "where": "name ="}),
            "ERROR: syntax error at or near \")\" (SQLSTATE 42601)\n\
             LINE 1: name =\n              ^\n\
             HINT: The text ends too early: something is missing at its end.",
        ),
    ];
    for (arguments, expected) in cases {
        let tool = CountRows::new(server.databases());
        assert_eq!(
            failure(tool, arguments.clone()).await,
            expected,
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn a_query_to_explain_has_positions_of_its_own() {
    let server = TestServer::with(SHOP).await;
    let tool = ExecuteExplain::new(server.databases());
    let text = failure(tool, json!({"query": "SELECT total FROM customer c"})).await;
    assert_eq!(
        text,
        "ERROR: column \"total\" does not exist (SQLSTATE 42703)\n\
         LINE 1: SELECT total FROM customer c\n               ^\n\
         HINT: total is a column of orders: add JOIN orders ON c.id = orders.customer_id."
    );
}

#[tokio::test]
async fn a_text_is_bounded() {
    let mut server = TestServer::with(SHOP).await;
    let long = "x".repeat(100_000);
    let columns: Vec<_> = (0..1_000).map(|n| format!("a_column_{n} int")).collect();
    let wide = format!("CREATE TABLE wide ({})", columns.join(", "));
    server.fixture.given(&wide).await;
    for sql in [
        format!("SELECT '{long}'::int"),
        format!("SELECT {long} FROM wide, wide w2, customer"),
        format!("SELECT \"{long}\" FROM {long}"),
        format!("SELECT * FROM {long}.{long}.{long}"),
        format!("SELECT a_column, {} FROM wide", "other, ".repeat(5_000)),
    ] {
        let text = query(&server, &sql).await;
        let length = text.chars().count();
        assert!(length < MAX_MESSAGE + 2 * MAX_PART, "{length}: {text}");
    }
}

#[tokio::test]
async fn clients_that_do_not_negotiate_get_the_texts_of_the_first_revision() {
    let server = TestServer::with(SHOP).await;
    let sql = "SELECT * FROM custmer";
    let (text, _) = server.call(QueryDatabase::new, json!({"query": sql})).await;
    let message = "ERROR: relation \"custmer\" does not exist (SQLSTATE 42P01)";
    assert_eq!(
        text,
        format!("SQL Query:\n{sql}\n\nError executing query: {message}")
    );
    let (text, _) = server
        .call(ExecuteExplain::new, json!({"query": sql}))
        .await;
    assert!(
        text.starts_with(&format!("Error executing EXPLAIN: {message}\n\n")),
        "{text}"
    );
    let (text, _) = server
        .call(CountRows::new, json!({"table": "custmer"}))
        .await;
    assert!(text.ends_with("does not exist (SQLSTATE 42P01)"), "{text}");
}
