//! Tests of the page of metrics.

use serde_json::{Value, json};
use ziggurat_black_box::{MetricsPage, until};

use crate::{
    revisions::{ask, result},
    support::{Client, Home, Postgres},
};

/// A server with metrics, and a client of their page.
struct Measured {
    _postgres: Postgres,
    home: Home,
}

impl Measured {
    fn new(more: &str) -> Self {
        let postgres = Postgres::with("CREATE TABLE book AS SELECT 1 AS id, 'Emma' AS title");
        let home = Home::new();
        let entry = postgres.entry("main");
        home.configure(&format!(
            "databases:\n{entry}telemetry: {{metrics: {{address: 127.0.0.1:0}}}}\n{more}"
        ));
        Self {
            _postgres: postgres,
            home,
        }
    }
}

fn query(client: &Client, sql: &str) -> Value {
    let params = json!({"name": "query_database", "arguments": {"query": sql}});
    result(client, "tools/call", &params)
}

#[test]
fn calls_statements_and_requests_are_counted_with_bounded_labels() {
    let measured = Measured::new("");
    let token = measured.home.token("main");
    let (program, stranger) = measured.home.serve(&[]);
    let client = stranger.bearing(&token);
    let page = MetricsPage::of(&program);
    query(&client, "SELECT generate_series(1, 7)");
    query(&client, "SELECT * FROM nothing");
    for number in 0..3 {
        let params = json!({"name": format!("invented_{number}")});
        ask(&client, "tools/call", &params);
    }
    client.get("/api/databases");
    stranger.get("/api/databases");
    let host = client.send("GET", "/api/databases", "host: evil.example\r\n", "");
    assert_eq!(host.status, 403, "{host:?}");

    let calls = |labels: &str| page.value(&format!("ziggurat_calls_total{{{labels}}}"));
    let tool = r#"method="tools/call",tool="query_database",database="main""#;
    assert_eq!(
        calls(&format!(r#"{tool},verdict="ok",caller_kind="token""#)),
        Some(1.0)
    );
    assert_eq!(
        calls(&format!(r#"{tool},verdict="error",caller_kind="token""#)),
        Some(1.0)
    );
    let unknown = r#"method="tools/call",tool="other",verdict="unknown",caller_kind="token""#;
    assert_eq!(calls(unknown), Some(3.0));
    let request = r#"method="GET /api/databases",verdict="ok",caller_kind="token""#;
    assert_eq!(calls(request), Some(1.0));
    for (series, expected) in [
        (r#"ziggurat_database_rows_total{database="main"}"#, 7.0),
        (r#"ziggurat_refused_total{reason="token"}"#, 1.0),
        (r#"ziggurat_refused_total{reason="host"}"#, 1.0),
        (
            r#"ziggurat_http_requests_total{endpoint="/mcp",status="2xx"}"#,
            2.0,
        ),
        (
            r#"ziggurat_http_requests_total{endpoint="/api",status="4xx"}"#,
            2.0,
        ),
        (
            r#"ziggurat_pool_connections{database="main",state="busy"}"#,
            0.0,
        ),
    ] {
        assert_eq!(page.value(series), Some(expected), "{series}");
    }
    let bytes = page.value(r#"ziggurat_result_bytes_total{database="main"}"#);
    assert!(bytes > Some(50.0), "{bytes:?}");
    let opened = page.value(r#"ziggurat_connections_opened_total{database="main"}"#);
    assert!(opened >= Some(1.0), "{opened:?}");
    let text = page.text();
    assert!(
        !text.contains("invented") && !text.contains(&token),
        "{text}"
    );
}

#[test]
fn the_page_answers_local_hosts_and_one_path_only() {
    let measured = Measured::new("");
    let (program, client) = measured.home.serve(&["-no-auth"]);
    let page = MetricsPage::of(&program);
    assert_eq!(page.0.get("/").status, 404);
    assert_eq!(page.0.send("POST", "/metrics", "", "").status, 405);
    assert_eq!(
        page.0
            .send("GET", "/metrics", "host: evil.example\r\n", "")
            .status,
        403
    );
    assert_eq!(client.get("/metrics").status, 404);
    let accept = "accept: application/openmetrics-text\r\n";
    let answer = page.0.send("GET", "/metrics", accept, "");
    assert!(answer.body.ends_with("# EOF\n"), "{answer:?}");
}

#[test]
fn the_audit_trail_and_the_connections_are_on_the_page() {
    let measured = Measured::new("audit: {file: audit.jsonl}\n");
    let (program, client) = measured.home.serve(&["-no-auth"]);
    let page = MetricsPage::of(&program);
    query(&client, "SELECT 1");
    // The record is written soon after the answer.
    let records = || page.value("ziggurat_audit_records_total");
    until("the record", || records() >= Some(1.0));
    assert_eq!(page.value("ziggurat_audit_missed_total"), Some(0.0));
    assert!(page.value("ziggurat_http_connections").is_some());
}
