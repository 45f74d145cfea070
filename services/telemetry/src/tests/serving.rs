//! Tests of the page over HTTP, and of the reference.

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use tokio_test::block_on;
use tower::ServiceExt as _;

use super::*;
use crate::{MetricsService, reference, table::Metric};

fn ask(method: Method, target: &str, accept: Option<&'static str>) -> Response<Bytes> {
    let metrics = Metrics::new(Program::Tools, "1.2.3", &known());
    // The page has the same length twice.
    metrics.read_http_connections(|| 1);
    let mut request = Request::new(());
    *request.method_mut() = method;
    *request.uri_mut() = target.parse().expect("an address");
    if let Some(accept) = accept {
        let accept = HeaderValue::from_static(accept);
        request.headers_mut().insert(header::ACCEPT, accept);
    }
    block_on(async {
        let answered = MetricsService::new(metrics).oneshot(request).await;
        let (head, body) = answered.expect("infallible").into_parts();
        let body = body.collect().await.expect("whole").to_bytes();
        Response::from_parts(head, body)
    })
}

#[test]
fn only_the_path_of_the_page_is_there() {
    for (target, status) in [
        ("/metrics", 200),
        ("/metrics?name=x", 200),
        ("http://localhost:9464/metrics", 200),
        ("/", 404),
        ("/metrics/", 404),
        ("/Metrics", 404),
        ("/metrics/x", 404),
        ("/%6Detrics", 404),
    ] {
        assert_eq!(ask(Method::GET, target, None).status(), status, "{target}");
        if status == 404 {
            assert_eq!(ask(Method::POST, target, None).status(), 404, "{target}");
        }
    }
}

#[test]
fn other_methods_are_refused_with_those_that_are_allowed() {
    for method in [
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
    ] {
        let response = ask(method, "/metrics", None);
        assert_eq!(response.status(), 405);
        assert_eq!(response.headers()[header::ALLOW], "GET, HEAD");
        assert_eq!(response.body(), "");
    }
}

#[test]
fn a_head_request_gets_the_headers_of_the_page_and_no_body() {
    let get = ask(Method::GET, "/metrics", None);
    let head = ask(Method::HEAD, "/metrics", None);
    assert_eq!(head.status(), 200);
    assert_eq!(head.body(), "");
    assert_eq!(
        head.headers()[header::CONTENT_TYPE],
        get.headers()[header::CONTENT_TYPE]
    );
    let length = get.body().len().to_string();
    assert_eq!(get.headers()[header::CONTENT_LENGTH], &*length);
    assert!(head.headers().contains_key(header::CONTENT_LENGTH));
}

#[test]
fn the_format_is_the_one_that_the_client_prefers() {
    let text = "text/plain; version=0.0.4; charset=utf-8";
    let open_metrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    for (accept, content_type) in [
        (None, text),
        (Some("*/*"), text),
        (Some("image/png"), text),
        (
            Some("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
            open_metrics,
        ),
        (
            Some("application/openmetrics-text;q=0.4,text/plain;q=0.5"),
            text,
        ),
    ] {
        let response = ask(Method::GET, "/metrics", accept);
        assert_eq!(
            response.headers()[header::CONTENT_TYPE],
            content_type,
            "{accept:?}"
        );
        let is_open_metrics = response.body().ends_with(b"# EOF\n");
        assert_eq!(is_open_metrics, content_type == open_metrics, "{accept:?}");
    }
}

#[test]
fn the_reference_lists_the_metrics_of_each_page_with_their_types() {
    let reference = reference();
    for program in programs() {
        let metrics = Metrics::new(program, "1", &known());
        let served = page(&metrics)
            .into_iter()
            .map(|(name, family)| (name, family.kind));
        let listed = reference.lines().filter_map(|line| {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let [_, name, kind, _, _, programs, _, _] = cells[..] else {
                return None;
            };
            let name = name.strip_prefix('`')?.strip_suffix('`')?;
            let is_here = programs == "all" || programs.contains(&format!("`{}`", program.name()));
            is_here.then(|| (name.to_owned(), kind.to_owned()))
        });
        let mut listed: Vec<_> = listed.collect();
        listed.sort();
        assert!(served.eq(listed), "{}", program.name());
    }
}

#[test]
fn the_reference_lists_the_labels_that_series_have() {
    let reference = reference();
    for program in programs() {
        let metrics = Metrics::new(program, "1", &known());
        record_everything(&metrics);
        let page = page(&metrics);
        for metric in Metric::of(program) {
            let mut expected: Vec<_> = metric.labels.iter().map(|label| label.name).collect();
            expected.sort_unstable();
            for (_, labels) in page[metric.name].samples.keys() {
                let labels: Vec<_> = labels.keys().filter(|name| *name != "le").collect();
                assert_eq!(labels, expected, "{}", metric.name);
            }
            for label in expected {
                let start = format!("| `{}` | `{label}` | ", metric.name);
                assert!(reference.contains(&start), "{start}");
            }
        }
    }
}
