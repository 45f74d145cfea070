//! Tests of the page as a whole.

mod exposition;
mod operations;
mod recording;
mod serving;

use std::{mem, time::Duration};

use http::{HeaderMap, HeaderValue, StatusCode, header};

use self::exposition::Page;
use crate::{
    AccountCount, AuditCounts, EndedCall, GrantCount, IdleCount, Known, Metrics, Program, Set,
    SyncCount, accept::Format,
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
        .with(Set::Endpoints, ["/mcp", "/api"])
}

fn call<'a>() -> EndedCall<'a> {
    EndedCall {
        method: "tools/call",
        tool: "query_database",
        database: "shop",
        verdict: "ok",
        caller_kind: "user",
        duration: Duration::from_millis(2),
        bytes: 0,
    }
}

/// Records one event of each kind, and sets all sources.
fn record_everything(metrics: &Metrics) {
    let duration = Duration::from_millis(2);
    metrics.call_ended(&EndedCall {
        bytes: 831,
        ..call()
    });
    metrics.database("shop").statement(duration, 12);
    for (database, open, busy) in [("shop", 4, 1), ("x", 11, 2)] {
        let database = metrics.database(database);
        // They stay open.
        let open = (0..open).map(|_| database.connection_opened());
        open.for_each(mem::forget);
        let waited = Duration::from_millis(2);
        (0..busy).for_each(|_| database.connection_lent(waited));
    }
    metrics.read_idle_connections(|| {
        [("shop", 3), ("x", 4), ("y", 5)]
            .map(|(database, count)| IdleCount {
                database: database.to_owned(),
                count,
            })
            .into()
    });
    metrics.database("läger").connection_failed();
    metrics.http_request("/mcp", StatusCode::NOT_FOUND);
    metrics.refused("token");
    metrics.limit_reached("calls");
    metrics.reload("failed");
    metrics.provider("openai", "embedding", "timeout", duration);
    metrics.tokens("openai", 30, 7);
    metrics.pipeline("docs", "rerank", duration);
    metrics.token_issued("client_credentials", "refused");
    metrics.sign_in("password", "ok");
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
    metrics.read_grants(|| {
        let kind = "device".to_owned();
        vec![GrantCount { kind, count: 19 }]
    });
    metrics.read_sync(|| {
        vec![SyncCount {
            pipeline: "docs".to_owned(),
            backlog: 16,
            oldest: 17,
            failed: 18,
        }]
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
