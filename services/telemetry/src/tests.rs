//! Tests of the page as a whole.

mod exposition;
mod operations;
mod recording;
mod serving;

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header};

use self::exposition::Page;
use crate::{
    AccountCount, AuditCounts, Call, Known, Metrics, PoolConnections, Program, Set, accept::Format,
};

const FORMATS: [Format; 2] = [Format::Text, Format::OpenMetrics];

/// Names with everything that the formats escape.
fn known() -> Known {
    Known::default()
        .with(Set::Methods, ["tools/call", "resources/read"])
        .with(Set::Tools, ["query_database", "quoted \"\\\n{}=,# tool"])
        .with(Set::Databases, ["shop", "läger"])
        .with(Set::Pipelines, ["docs"])
        .with(Set::Providers, ["openai"])
        .with(Set::Faces, ["/mcp", "/api"])
}

fn call<'a>() -> Call<'a> {
    Call {
        method: "tools/call",
        tool: "query_database",
        database: "shop",
        verdict: "ok",
        caller_kind: "user",
        duration: Duration::from_millis(2),
    }
}

/// Records one event of each kind, and sets all sources.
fn record_everything(metrics: &Metrics) {
    let duration = Duration::from_millis(2);
    metrics.call_ended(&call());
    metrics.statement("shop", duration, 12);
    metrics.result_bytes("shop", 831);
    metrics.pool_wait("shop", duration);
    metrics.connection_opened("shop");
    metrics.connection_failed("läger");
    metrics.http_request("/mcp", StatusCode::NOT_FOUND);
    metrics.refused("token");
    metrics.limit_reached("calls");
    metrics.reload("failed");
    metrics.provider("openai", "embedding", "timeout", duration);
    metrics.tokens("openai", 30, 7);
    metrics.pipeline("docs", "rerank", duration);
    metrics.token_issued("refused");
    let pool = |database: &str, idle, busy| PoolConnections {
        database: database.to_owned(),
        idle,
        busy,
    };
    metrics.read_pools(move || vec![pool("shop", 3, 1), pool("x", 4, 0), pool("y", 5, 2)]);
    metrics.read_http_connections(|| 9);
    metrics.read_audit(|| AuditCounts {
        records: 11,
        missed: 12,
        failures: 13,
    });
    metrics.read_dropped_spans(|| 14);
    metrics.read_accounts(|| {
        let kind = "tenant";
        vec![AccountCount { kind, count: 15 }]
    });
}

fn body(metrics: &Metrics, format: Format) -> String {
    let mut headers = HeaderMap::new();
    let accept = HeaderValue::from_static(format.content_type());
    headers.insert(header::ACCEPT, accept);
    let response = metrics.page(&headers);
    assert_eq!(
        response.headers()[header::CONTENT_TYPE],
        format.content_type()
    );
    String::from_utf8(response.into_body().into()).expect("text")
}

/// Reads the page in text, strictly.
fn page(metrics: &Metrics) -> Page {
    exposition::read(&body(metrics, Format::Text), Format::Text).expect("accepted")
}

/// Returns the value of the series that has these labels.
fn value(page: &Page, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let labels = labels
        .iter()
        .map(|(name, value)| (String::from(*name), String::from(*value)));
    let series = (name.to_owned(), labels.collect());
    let mut values = page
        .values()
        .filter_map(|family| family.samples.get(&series));
    values.next().copied()
}

fn programs() -> [Program; 3] {
    Program::ALL
}
