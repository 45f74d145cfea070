//! Tests of the page of metrics and of the export of traces.

use rustix::process::Signal;
use serde_json::json;
use ziggurat_black_box::{Client, Collector, MetricsPage, Postgres, Program, spans_of, until};

use crate::support::{Home, exchange};

const METRICS: &str = "telemetry: {metrics: {address: 127.0.0.1:0}}\n";

#[test]
fn requests_tokens_and_accounts_are_counted() {
    let home = Home::new();
    home.configure(&format!(
        "rate_limit: {{failures_per_client: 2 per hour}}\n{METRICS}"
    ));
    let (program, session, made) = home.started();
    let page = MetricsPage::of(&program);
    let wrong = json!("no such secret");
    for status in [401, 401, 429] {
        let answer = exchange(&session.client, &json!("no such client"), &wrong);
        assert_eq!(answer.status, status, "{answer:?}");
    }
    assert_eq!(session.get("/clients").status, 200);
    let stranger = Client::new(session.client.address().to_owned());
    assert_eq!(stranger.get("/account/v1/clients").status, 401);
    let refused = stranger.send("GET", "/ready", "origin: https://evil.example\r\n", "");
    assert_eq!(refused.status, 403);
    assert_eq!(stranger.get("/invented").status, 404);

    for (result, expected) in [
        ("ok", 1.0),
        ("refused", 2.0),
        ("limited", 1.0),
        ("failed", 0.0),
    ] {
        let labels = format!(r#"{{grant_type="client_credentials",result="{result}"}}"#);
        let series = format!("ziggurat_tokens_issued_total{labels}");
        assert_eq!(page.value(&series), Some(expected), "{series}");
    }
    for (series, expected) in [
        (r#"limits_reached_total{limit="logins"}"#, 1.0),
        (r#"refused_total{reason="token"}"#, 1.0),
        (r#"refused_total{reason="origin"}"#, 1.0),
        (
            r#"http_requests_total{endpoint="/account/v1",status="2xx"}"#,
            2.0,
        ),
        (
            r#"http_requests_total{endpoint="/account/v1",status="4xx"}"#,
            4.0,
        ),
        (r#"http_requests_total{endpoint="other",status="4xx"}"#, 1.0),
        (r#"reloads_total{result="failed"}"#, 0.0),
    ] {
        let series = format!("ziggurat_{series}");
        assert_eq!(page.value(&series), Some(expected), "{series}");
    }
    assert!(page.value("ziggurat_http_connections").is_some());
    let accounts = |kind: &str| page.value(&format!(r#"ziggurat_accounts{{kind="{kind}"}}"#));
    until("the accounts are counted", || accounts("tenant").is_some());
    let kinds = ["tenant", "user", "client", "invite"];
    assert_eq!(kinds.map(accounts), [1.0, 1.0, 1.0, 0.0].map(Some));
    let text = page.text();
    for secret in [&made["client_secret"], &made["client_id"], &wrong] {
        let secret = secret.as_str().expect("a text");
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn connections_to_the_database_of_the_accounts_are_counted() {
    let postgres = Postgres::new();
    let mut home = Home::new();
    home.set("ZIGGURAT_PLATFORM_STATE_URL", postgres.url());
    home.configure(METRICS);
    let (program, _session, _) = home.started();
    let page = MetricsPage::of(&program);
    let series = r#"ziggurat_connections_opened_total{database="state"}"#;
    assert!(page.value(series) >= Some(1.0));
    let series = r#"ziggurat_connections_failed_total{database="state"}"#;
    assert_eq!(page.value(series), Some(0.0));
}

#[test]
fn limited_requests_are_counted_and_the_page_answers_local_hosts_only() {
    let home = Home::new();
    home.configure(&format!("server: {{rate_limit: 1 per hour}}\n{METRICS}"));
    let (program, client) = home.serve();
    let page = MetricsPage::of(&program);
    for status in [200, 429] {
        assert_eq!(client.get("/.well-known/jwks.json").status, status);
    }
    for series in [
        r#"ziggurat_refused_total{reason="limit"}"#,
        r#"ziggurat_limits_reached_total{limit="requests"}"#,
    ] {
        assert_eq!(page.value(series), Some(1.0), "{series}");
    }
    let host = "host: evil.example\r\n";
    assert_eq!(page.0.send("GET", "/metrics", host, "").status, 403);
}

#[test]
fn the_log_of_a_fault_names_the_trace_of_the_request() {
    let collector = Collector::start();
    let mut home = Home::new();
    home.set("ZIGGURAT_LOG_FORMAT", "json");
    home.set(
        "ZIGGURAT_PLATFORM_STATE_URL",
        "postgres://nobody@127.0.0.1:1/none",
    );
    home.configure(&format!(
        "telemetry: {{otlp: {{url: '{}', ratio: 0}}}}\n",
        collector.url
    ));
    let program = Program::start(&mut home.command(&["-addr", "127.0.0.1:0"]));
    let line = program.wait_for("listening on http://");
    let address = line.split("http://").nth(1).expect("an address");
    let address = address.split('"').next().expect("its end");
    let client = Client::new(address.to_owned());
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let headers = format!(
        "traceparent: 00-{trace}-00f067aa0ba902b7-01\r\ncontent-type: application/json\r\n"
    );
    let body = json!({"client_id": "none", "client_secret": "none"}).to_string();
    let answer = client.send("POST", "/account/v1/oauth/token", &headers, &body);
    assert!(answer.status >= 500, "{answer:?}");
    let line = program.wait_for("server fault");
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(line["trace_id"], trace, "{line}");
    assert_eq!(line["request_id"].as_str(), answer.header("x-request-id"));
}

#[test]
fn unknown_keys_are_errors() {
    let home = Home::new();
    home.configure("telemetry: {metrics: {adress: 127.0.0.1:0}}\n");
    let ran = home.ran(&["-check-config"]);
    assert_eq!(ran.code, Some(1));
    let expected = "unknown key 'telemetry.metrics.adress'";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn the_configurations_of_the_chapter_about_metrics_are_good() {
    let chapter = include_str!("../../../../docs/src/metrics.md");
    let blocks = chapter.split("```yaml\n").skip(1);
    let blocks = blocks.filter(|block| block.starts_with("telemetry:"));
    let mut seen = 0;
    for block in blocks {
        let home = Home::new();
        home.configure(block.split("```").next().unwrap_or_default());
        let ran = home.ran(&["-check-config"]);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{block}");
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[test]
fn requests_have_spans_below_those_of_their_callers_and_without_ids() {
    let collector = Collector::start();
    let url = &collector.url;
    let home = Home::new();
    home.configure(&format!(
        "telemetry: {{otlp: {{url: '{url}', ratio: 0}}}}\n"
    ));
    let (mut program, session, made) = home.started();
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let header = format!("traceparent: 00-{trace}-00f067aa0ba902b7-01\r\n");
    let id = made["client_record_id"].as_str().expect("an id");
    let path = format!("/account/v1/clients/{id}");
    assert_eq!(session.client.send("GET", &path, &header, "").status, 200);
    // A caller without a token does not decide.
    let stranger = Client::new(session.client.address().to_owned());
    stranger.send("GET", "/.well-known/jwks.json", &header, "");
    // The spans that wait are exported at the end.
    program.signal(Signal::TERM);
    assert_eq!(program.ended().code(), Some(0));

    let exports = collector.exports();
    let spans = spans_of(&exports);
    assert_eq!(spans.len(), 1, "{exports:?}");
    assert_eq!(spans[0]["name"], "GET /account/v1/clients/{id}");
    assert_eq!(spans[0]["traceId"], trace);
    assert_eq!(spans[0]["parentSpanId"], "00f067aa0ba902b7");
    let text = json!(exports).to_string();
    assert!(text.contains("ziggurat-platform"), "{text}");
    for secret in [id, &session.token] {
        assert!(!text.contains(secret), "{text}");
    }
}
