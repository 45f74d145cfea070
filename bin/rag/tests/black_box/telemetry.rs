//! Tests of the page of metrics and of traces.

use rustix::process::Signal;
use serde_json::json;
use ziggurat_black_box::{Collector, MetricsPage, spans_of};
use ziggurat_fake_providers::{Fake, Turn};

use crate::support::{Home, asking, library, nowhere, pipeline, question, server};

const METRICS: &str = "telemetry: {metrics: {address: '127.0.0.1:0'}}\n";

const FERNS: &str = "What do ferns like?";

#[test]
fn questions_their_stages_and_calls_to_providers_are_measured() {
    let (postgres, fake) = (library(), Fake::start());
    let list = asking("docs", &postgres, &fake, "");
    let mut home = Home::with(&format!("{}{METRICS}pipelines:\n{list}", server("")));
    home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
    let (program, client) = home.serve();
    let page = MetricsPage::of(&program);
    fake.next(Turn::text("Shade."));
    client.post("/v1/pipelines/docs", &question(FERNS));
    fake.next(Turn::text("Shade."));
    let streamed = json!({"query": FERNS, "stream": true}).to_string();
    client.post("/v1/pipelines/docs", &streamed);
    fake.next(Turn::refusal(401));
    client.post("/v1/pipelines/docs", &question(FERNS));
    for number in 0..3 {
        client.post(&format!("/v1/pipelines/invented_{number}"), "{}");
    }

    let stages = ["embed", "vector", "keyword", "model"].map(|stage| {
        let labels = format!(r#"pipeline="docs",stage="{stage}""#);
        page.value(&format!("ziggurat_pipeline_seconds_count{{{labels}}}"))
    });
    assert_eq!(stages, [Some(3.0); 4]);
    let calls = |labels: &str| {
        let method = r#"method="POST /v1/pipelines/{name}""#;
        let kind = r#"caller_kind="local""#;
        page.value(&format!("ziggurat_calls_total{{{method},{labels},{kind}}}"))
    };
    let (_, database) = postgres.environment()[2].clone();
    let docs = |verdict: &str| calls(&format!(r#"database="{database}",verdict="{verdict}""#));
    assert_eq!((docs("ok"), docs("error")), (Some(2.0), Some(1.0)));
    assert_eq!(calls(r#"verdict="unknown""#), Some(3.0));
    let provider = |outcome: &str| {
        let labels = format!(r#"provider="anthropic",kind="completion",outcome="{outcome}""#);
        page.value(&format!("ziggurat_provider_seconds_count{{{labels}}}"))
    };
    assert_eq!((provider("ok"), provider("error")), (Some(2.0), Some(1.0)));
    let tokens = r#"ziggurat_provider_tokens_total{provider="anthropic",direction="output"}"#;
    assert!(page.value(tokens) > Some(0.0), "{}", page.text());
    let text = page.text();
    assert!(
        !text.contains("invented") && !text.contains("ferns"),
        "{text}"
    );
}

#[test]
fn requests_connections_and_refusals_are_counted() {
    let list = nowhere("lost", "");
    let home = Home::with(&format!("{}{METRICS}pipelines:\n{list}", server("")));
    let (program, client) = home.serve();
    let page = MetricsPage::of(&program);
    client.post("/v1/pipelines/lost", &question(FERNS));
    let host = client.send("GET", "/v1/stats", "host: evil.example\r\n", "");
    assert_eq!(host.status, 403, "{host:?}");
    for (series, expected) in [
        (r#"ziggurat_refused_total{reason="host"}"#, 1.0),
        (
            r#"ziggurat_http_requests_total{endpoint="/v1/pipelines",status="5xx"}"#,
            1.0,
        ),
        (
            r#"ziggurat_http_requests_total{endpoint="/v1/stats",status="4xx"}"#,
            1.0,
        ),
    ] {
        assert_eq!(page.value(series), Some(expected), "{series}");
    }
    assert!(page.value("ziggurat_http_connections").is_some());
}

#[test]
fn pipelines_of_a_reload_have_series_of_their_own() {
    let postgres = library();
    let section = server("");
    let configured = |name: &str| {
        let list = pipeline(name, &postgres, "");
        format!("{section}{METRICS}audit: {{file: audit.jsonl}}\npipelines:\n{list}")
    };
    let home = Home::with(&configured("one"));
    let (program, client) = home.serve();
    let page = MetricsPage::of(&program);
    program.wait_for("watching for configuration changes");
    program.until_it_says("configuration reloaded", || {
        home.configure(&configured("two"));
    });
    client.post("/v1/pipelines/two", &question(FERNS));
    program.until_it_says("config reload failed", || home.configure("pipelines: ["));
    for (series, expected) in [
        (
            r#"ziggurat_pipeline_seconds_count{pipeline="two",stage="embed"}"#,
            1.0,
        ),
        (r#"ziggurat_reloads_total{result="ok"}"#, 1.0),
        (r#"ziggurat_reloads_total{result="failed"}"#, 1.0),
        ("ziggurat_audit_missed_total", 0.0),
    ] {
        assert_eq!(page.value(series), Some(expected), "{series}");
    }
}

#[test]
fn changed_settings_of_the_audit_trail_and_of_telemetry_need_a_restart() {
    let section = server("");
    let list = nowhere("one", "");
    let home = Home::with(&format!("{section}pipelines:\n{list}"));
    let (program, _client) = home.serve();
    program.wait_for("watching for configuration changes");
    let line = program.until_it_says("server settings have changed", || {
        let audit = "audit: {file: audit.jsonl}\n";
        home.configure(&format!("{section}{audit}{METRICS}pipelines:\n{list}"));
    });
    assert!(line.contains("keys=audit,telemetry"), "{line}");
}

#[test]
fn a_question_has_a_span_below_that_of_its_client() {
    let postgres = library();
    let collector = Collector::start();
    let url = &collector.url;
    let list = pipeline("docs", &postgres, "");
    let home = Home::with(&format!(
        "{}telemetry: {{otlp: {{url: '{url}', ratio: 1}}}}\naudit: {{file: audit.jsonl}}\npipelines:\n{list}",
        server("")
    ));
    let (mut program, client) = home.serve();
    let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let header = format!("traceparent: 00-{trace}-{parent}-01\r\n");
    let answer = client.send("POST", "/v1/pipelines/docs", &header, &question(FERNS));
    assert_eq!(answer.status, 200, "{answer:?}");
    program.signal(Signal::TERM);
    assert!(program.ended().success(), "{}", program.log());
    let exports = collector.exports();
    let exported = json!(exports).to_string();
    // The spans of its statements end before it.
    let spans = spans_of(&exports);
    let span = spans.last().expect("spans");
    assert_eq!(span["name"], "POST /v1/pipelines/{name}", "{exported}");
    assert_eq!(
        (&span["traceId"], &span["parentSpanId"]),
        (&json!(trace), &json!(parent))
    );
    let verdict = json!({"key": "ziggurat.verdict", "value": {"stringValue": "ok"}});
    let attributes = span["attributes"].as_array().expect("attributes");
    assert!(attributes.contains(&verdict), "{span}");
    assert!(!exported.contains("ferns"), "{exported}");
    let trail = std::fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    assert!(
        trail.contains(&format!("\"trace_id\":\"{trace}\"")),
        "{trail}"
    );
}

#[test]
fn responses_have_an_id_while_questions_are_recorded_or_traced() {
    let collector = Collector::start();
    let traces = format!("telemetry: {{otlp: {{url: '{}'}}}}\n", collector.url);
    for (settings, has_ids) in [
        ("", false),
        (METRICS, false),
        (&traces, true),
        ("audit: {file: audit.jsonl}\n", true),
    ] {
        let list = nowhere("docs", "");
        let home = Home::with(&format!("{}{settings}pipelines:\n{list}", server("")));
        let (_program, client) = home.serve();
        for answer in [
            client.get("/v1/live"),
            client.post("/v1/pipelines/docs", "{}"),
        ] {
            let id = answer.header("x-request-id");
            assert_eq!(id.is_some(), has_ids, "{settings}: {answer:?}");
        }
    }
}
