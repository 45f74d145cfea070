use std::{
    collections::HashMap,
    convert::Infallible,
    future::{Ready, pending, ready},
    io,
    pin::Pin,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{HeaderMap, response::Builder};
use tower::{ServiceExt as _, service_fn};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::*;

const FIXED: &str = r#"{"error":"Internal server error"}"#;

/// The fields of one event, its level under `level`.
pub(crate) type Line = HashMap<&'static str, String>;

/// Stores log events.
#[derive(Clone, Default)]
pub(crate) struct Log(pub(crate) Arc<Mutex<Vec<Line>>>);

struct Fields(Line);

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let level = event.metadata().level().to_string();
        let mut fields = Fields(HashMap::from([("level", level)]));
        event.record(&mut fields);
        self.0.lock().expect("not poisoned").push(fields.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// Sends a request to `/v1/answers?q=private` through the layer; returns the response and the log.
fn send<R, S, F>(
    layer: &SanitizeLayer<R>,
    id: Option<&str>,
    service: S,
) -> (Response<Bytes>, Vec<Line>)
where
    R: Render<Bytes> + Clone,
    S: FnMut(Request<()>) -> F,
    F: Future<Output = Result<Response<Bytes>, Infallible>>,
{
    let mut request = Request::post("/v1/answers?q=private")
        .body(())
        .expect("valid parts");
    if let Some(id) = id {
        let id: RequestId = id.parse().expect("valid");
        request.extensions_mut().insert(id);
    }
    let log = Log::default();
    let response = tracing::subscriber::with_default(log.clone(), || {
        tokio_test::block_on(layer.layer(service_fn(service)).oneshot(request))
    });
    let lines = log.0.lock().expect("not poisoned").clone();
    (response.expect("infallible"), lines)
}

/// Sends this response through the layer.
fn through<R>(layer: &SanitizeLayer<R>, response: Response<Bytes>) -> (Response<Bytes>, Vec<Line>)
where
    R: Render<Bytes> + Clone,
{
    let mut response = Some(response);
    send(layer, Some("test-1"), move |_| {
        ready(Ok(response.take().expect("called once")))
    })
}

fn status(status: u16) -> Builder {
    Response::builder().status(status)
}

fn driver_error() -> io::Error {
    io::Error::other("cannot reach postgres://app:hunter2@10.0.0.7/sales")
}

#[test]
fn everything_below_500_passes_untouched_and_unlogged() {
    for code in [101, 200, 204, 206, 304, 400, 401, 404, 429, 499] {
        let response = status(code)
            .header("content-length", "7")
            .header("etag", "\"a\"")
            .extension(ErrorDetail::new("not for here"))
            .body(Bytes::from_static(b"private"))
            .expect("valid parts");
        let (response, log) = through(&SanitizeLayer::new(), response);
        assert_eq!(response.status(), code);
        assert_eq!(response.body(), "private", "{code}");
        let names: Vec<_> = response.headers().keys().collect();
        assert_eq!(names, ["content-length", "etag"], "{code}");
        assert!(log.is_empty(), "{code}: {log:?}");
    }
}

#[test]
fn a_fault_keeps_its_status_but_not_its_body() {
    for code in [500, 502, 503, 511, 599, 600, 999] {
        let response = status(code).body(Bytes::from_static(b"private"));
        let (response, _) = through(&SanitizeLayer::new(), response.expect("valid parts"));
        assert_eq!(response.status(), code);
        assert_eq!(response.body(), FIXED, "{code}");
        assert_eq!(response.headers()["x-request-id"], "test-1", "{code}");
        let id = response.extensions().get::<RequestId>();
        assert_eq!(id.expect("for outer layers").as_str(), "test-1");
        let rejection = response.extensions().get::<Rejection>();
        assert_eq!(rejection.expect("kept").code(), "internal_error");
    }
}

#[test]
fn headers_about_the_old_body_are_removed_and_others_stay() {
    let mut old = HeaderMap::new();
    for name in &BODY_HEADERS {
        old.insert(name.clone(), HeaderValue::from_static("old"));
    }
    let kept = [
        "retry-after",
        "set-cookie",
        "link",
        "www-authenticate",
        "vary",
    ];
    for name in kept {
        old.append(name, HeaderValue::from_static("kept"));
        old.append(name, HeaderValue::from_static("kept too"));
    }
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    *response.headers_mut() = old;

    let (response, _) = through(&SanitizeLayer::new(), response);
    let headers = response.headers();
    for name in kept {
        let values: Vec<_> = headers.get_all(name).iter().collect();
        assert_eq!(values, ["kept", "kept too"], "{name}");
    }
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["cache-control"], "no-store");
    for name in [
        "content-length",
        "etag",
        "content-encoding",
        "content-range",
    ] {
        assert!(!headers.contains_key(name), "{name}");
    }
    assert!(headers.values().all(|value| value != "old"), "{headers:?}");
}

#[test]
fn a_fault_is_logged_once_with_its_scrubbed_causes() {
    let response = status(502)
        .extension(ErrorDetail::new(driver_error()))
        .body(Bytes::new())
        .expect("valid parts");
    let (response, log) = through(&SanitizeLayer::new(), response);
    assert_eq!(response.body(), FIXED);
    assert!(response.extensions().get::<ErrorDetail>().is_none());
    let expected = [
        ("level", "ERROR"),
        ("message", "server fault"),
        ("request_id", "test-1"),
        ("status", "502"),
        ("method", "POST"),
        ("path", "/v1/answers"),
        (
            "error",
            "cannot reach postgres://app:[redacted]@10.0.0.7/sales",
        ),
    ];
    let expected: Line = expected
        .map(|(name, value)| (name, value.to_owned()))
        .into();
    assert_eq!(log, [expected]);
}

#[test]
fn a_body_written_for_the_client_stays_and_is_logged_when_it_has_a_detail() {
    let rejection = || Rejection::new(StatusCode::GATEWAY_TIMEOUT, "timeout", "It took too long");
    let public = |mut response: Response<Bytes>| {
        response.extensions_mut().insert(Public);
        response
    };
    let report = || {
        public(
            status(503)
                .body(Bytes::from_static(b"sick"))
                .expect("valid"),
        )
    };
    let with_detail = |mut response: Response<Bytes>| {
        let detail = ErrorDetail::new(driver_error());
        response.extensions_mut().insert(detail);
        response
    };
    let refused = rejection().into_response(&ErrorString);
    let refused_for = with_detail(rejection().into_response(&ErrorString));
    let cases = [
        (
            "refusal",
            refused,
            r#"{"error":"It took too long"}"#,
            "DEBUG",
        ),
        (
            "refusal with detail",
            refused_for,
            r#"{"error":"It took too long"}"#,
            "ERROR",
        ),
        ("report", report(), "sick", "DEBUG"),
        ("report with detail", with_detail(report()), "sick", "ERROR"),
    ];
    for (case, mut response, body, level) in cases {
        let etag = HeaderValue::from_static("\"a\"");
        response.headers_mut().insert("etag", etag);
        for shown in [false, true] {
            let layer = SanitizeLayer::new().with_detail(shown);
            let (response, log) = through(&layer, response.clone());
            assert_eq!(response.body(), body, "{case}");
            assert_eq!(response.headers()["etag"], "\"a\"", "{case}");
            assert_eq!(response.headers()["x-request-id"], "test-1", "{case}");
            assert_eq!(log.len(), 1, "{case}");
            assert_eq!(log[0]["level"], level, "{case}");
            assert_eq!(log[0].contains_key("error"), level == "ERROR", "{case}");
        }
    }
}

#[test]
fn a_panic_while_the_future_runs_is_a_fault() {
    let (response, log) = send(&SanitizeLayer::new(), Some("test-1"), async |_| {
        let password = "password=hunter2";
        panic!("no luck with {password}")
    });
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(response.body(), FIXED);
    assert_eq!(response.headers()["x-request-id"], "test-1");
    assert_eq!(log.len(), 1);
    assert_eq!(
        log[0]["error"],
        "panicked: no luck with password=[redacted]"
    );
}

#[test]
fn a_panic_in_call_is_a_fault() {
    let service = |_| -> Ready<Result<Response<Bytes>, Infallible>> { panic!("out of reach") };
    let (response, log) = send(&SanitizeLayer::new(), None, service);
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(response.body(), FIXED);
    assert_eq!(log[0]["error"], "panicked: out of reach");
    assert_eq!(response.headers()["x-request-id"], log[0]["request_id"]);
}

#[test]
fn a_panic_with_any_other_value_is_a_fault_too() {
    let (response, log) = send(&SanitizeLayer::new(), None, async |_| {
        std::panic::panic_any(7)
    });
    assert_eq!(response.body(), FIXED);
    assert_eq!(log[0]["error"], "panicked: with a value that is not a text");
}

#[test]
fn after_a_panic_the_future_is_dropped_and_the_service_is_used_again() {
    let alive = Arc::new(());
    let mut calls = 0;
    let service = service_fn(|_: Request<()>| {
        calls += 1;
        let first = calls == 1;
        let alive = Arc::clone(&alive);
        async move {
            assert!(!first, "only the first call");
            drop(alive);
            Ok::<_, Infallible>(Response::new(Bytes::new()))
        }
    });
    let mut service = SanitizeLayer::new().layer(service);
    let mut first = tokio_test::task::spawn(service.call(Request::new(())));
    let response = tokio_test::assert_ready_ok!(first.poll());
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(Arc::strong_count(&alive), 1, "dropped before the answer is");
    let second = tokio_test::block_on(service.call(Request::new(())));
    assert_eq!(second.expect("infallible").status(), StatusCode::OK);
}

#[test]
fn the_id_comes_from_the_request_then_from_the_response_or_is_generated() {
    let fault = |id: Option<&'static str>| {
        move |_| {
            let mut response = status(500).body(Bytes::new()).expect("valid parts");
            if let Some(id) = id {
                let id: RequestId = id.parse().expect("valid");
                response.extensions_mut().insert(id);
            }
            ready(Ok(response))
        }
    };
    let layer = SanitizeLayer::new();
    let (response, _) = send(&layer, Some("outer"), fault(Some("inner")));
    assert_eq!(response.headers()["x-request-id"], "outer");
    let (response, _) = send(&layer, None, fault(Some("inner")));
    assert_eq!(response.headers()["x-request-id"], "inner");
    let (response, log) = send(&layer, None, fault(None));
    let id = &response.headers()["x-request-id"];
    assert_eq!(*id, log[0]["request_id"]);
    let (response, _) = send(&layer, None, fault(None));
    assert_ne!(*id, response.headers()["x-request-id"]);
}

#[test]
fn a_second_layer_changes_and_logs_nothing() {
    let log = Log::default();
    let response = tracing::subscriber::with_default(log.clone(), || {
        let fault = service_fn(|_: Request<()>| {
            let response = status(500).extension(ErrorDetail::new("once"));
            ready(response.body(Bytes::new()))
        });
        let layer = SanitizeLayer::new();
        let outer = layer.with_message("From further out");
        let service = outer.layer(layer.layer(fault));
        tokio_test::block_on(service.oneshot(Request::new(()))).expect("valid parts")
    });
    assert_eq!(response.body(), FIXED);
    let log = log.0.lock().expect("not poisoned");
    let errors = log.iter().filter(|line| line["level"] == "ERROR");
    assert_eq!(errors.count(), 1);
    assert_eq!(log[0]["request_id"], log[1]["request_id"]);
}

#[test]
fn message_and_render_set_the_response() {
    let render = |rejection: &Rejection| {
        let id = rejection.headers()["x-request-id"].to_str().expect("ASCII");
        Response::new(Bytes::from(format!("{} ({id})", rejection.message())))
    };
    let layer = SanitizeLayer::new()
        .with_message("Ask us")
        .with_render(render);
    let fault = status(500).body(Bytes::new()).expect("valid parts");
    let (response, _) = through(&layer, fault);
    assert_eq!(response.body(), "Ask us (test-1)");
}

#[test]
fn development_shows_the_scrubbed_detail_or_the_body_itself() {
    let layer = SanitizeLayer::new().with_detail(true);
    let detailed = status(500)
        .extension(ErrorDetail::new(driver_error()))
        .body(Bytes::new());
    let (response, _) = through(&layer, detailed.expect("valid parts"));
    let shown = r#"{"error":"cannot reach postgres://app:[redacted]@10.0.0.7/sales"}"#;
    assert_eq!(response.body(), shown);

    let bare = status(500).header("etag", "\"a\"");
    let (response, log) = through(&layer, bare.body("as it is".into()).expect("valid parts"));
    assert_eq!(response.body(), "as it is");
    assert_eq!(response.headers()["etag"], "\"a\"");
    assert_eq!(response.headers()["x-request-id"], "test-1");
    assert_eq!(log[0]["level"], "ERROR");

    let (response, _) = send(&layer, None, async |_| panic!("token=abc"));
    assert_eq!(response.body(), r#"{"error":"panicked: token=[redacted]"}"#);

    let (response, _) = send(&layer.with_detail(false), None, async |_| panic!("no"));
    assert_eq!(response.body(), FIXED);
}

/// A body that panics when it is read.
#[derive(Debug)]
struct UnreadableBody;

impl http_body::Body for UnreadableBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        panic!("the body was polled")
    }
}

#[test]
fn bodies_are_never_polled() {
    let render = |_: &Rejection| Response::new(UnreadableBody);
    let layer = SanitizeLayer::new().with_render(render);
    for code in [200, 404, 500] {
        let service = layer.layer(service_fn(move |_: Request<UnreadableBody>| {
            ready(status(code).body(UnreadableBody))
        }));
        let response = tokio_test::block_on(service.oneshot(Request::new(UnreadableBody)));
        assert_eq!(response.expect("valid parts").status(), code);
    }
}

#[test]
fn errors_of_the_service_pass() {
    let failing = service_fn(|_: Request<()>| ready(Err::<Response<Bytes>, _>("broken")));
    let service = SanitizeLayer::new().layer(failing);
    let result = tokio_test::block_on(service.oneshot(Request::new(())));
    assert_eq!(result.expect_err("passed on"), "broken");
}

#[test]
fn the_layer_is_ready_when_the_service_is() {
    let (mut service, mut handle) =
        tower_test::mock::spawn_layer::<Request<()>, Response<Bytes>, _>(SanitizeLayer::new());
    handle.allow(0);
    tokio_test::assert_pending!(service.poll_ready());
    handle.allow(1);
    tokio_test::assert_ready_ok!(service.poll_ready());
}

#[test]
fn a_pending_future_stays_pending() {
    let service = service_fn(|_: Request<()>| pending::<Result<Response<Bytes>, Infallible>>());
    let mut service = SanitizeLayer::new().layer(service);
    let mut response = tokio_test::task::spawn(service.call(Request::new(())));
    tokio_test::assert_pending!(response.poll());
}

#[test]
fn layer_service_and_future_are_send_sync_and_clone() {
    fn check<T: Send + Sync + Clone + fmt::Debug>() {}
    fn check_future<T: Send + Sync + fmt::Debug>() {}
    check::<SanitizeLayer>();
    check::<Sanitize<()>>();
    check::<ErrorDetail>();
    check::<RequestId>();
    check::<Public>();
    check::<Sanitizer>();
    check_future::<ResponseFuture<Ready<()>>>();
}

/// An error with a text and a source of its own.
#[derive(Debug)]
struct Caused(&'static str, Option<Box<Caused>>);

impl fmt::Display for Caused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Caused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.1.as_deref().map(|source| source as _)
    }
}

#[test]
fn a_detail_names_every_source_once() {
    let inner = Caused("connection refused", None);
    let middle = Caused("token=abc: connection refused", Some(inner.into()));
    let detail = ErrorDetail::new(Caused("select failed", Some(middle.into())));
    let text = "select failed: token=[redacted] connection refused";
    assert_eq!(detail.to_string(), text);
    assert_eq!(format!("{detail:?}"), format!("ErrorDetail({text:?})"));
    assert_eq!(ErrorDetail::new(detail).to_string(), text);
}

#[test]
fn a_long_detail_is_cut_at_a_blank_so_that_no_half_secret_is_left() {
    let cases = [
        ("a ".repeat(2000) + &"b".repeat(200), 3999),
        ("a ".repeat(2000) + "é ✓ sk-ant-" + &"b".repeat(200), 4006),
        ("é".repeat(4000), 0),
    ];
    for (text, kept) in cases {
        let cut = ErrorDetail::new(text.clone()).to_string();
        assert_eq!(cut, format!("{}…", &text[..kept]));
    }
    let whole = "a".repeat(4096);
    assert_eq!(ErrorDetail::new(whole.clone()).to_string(), whole);
    let secret = "a ".repeat(2000) + "password='" + &"b ".repeat(2000);
    let cut = ErrorDetail::new(secret).to_string();
    assert!(cut.ends_with("a password='[redacted]…"), "{cut}");
}

#[test]
fn a_sanitizer_shows_the_cause_in_development_only() {
    let error = Caused("select failed", Some(Caused("pwd=x", None).into()));
    let fixed = "provider could not be reached";
    for sanitizer in [Sanitizer::production(), Sanitizer::default()] {
        assert_eq!(sanitizer.public(&error, fixed), fixed);
    }
    let shown = Sanitizer::development().public(&error, fixed);
    assert_eq!(shown, "select failed: pwd=[redacted]");
    let detail = ErrorDetail::new(error);
    assert_eq!(Sanitizer::development().public(&detail, fixed), shown);
}

#[test]
fn the_path_is_scrubbed_and_cut() {
    let endless = format!("/{}", "a".repeat(5000));
    for (path, logged) in [
        ("/v1/answers", "/v1/answers"),
        ("/hooks/sk-ant-0123456789/x", "/hooks/[redacted]/x"),
        (&endless, "…"),
    ] {
        let request = Request::get(path).body(()).expect("valid parts");
        let log = Log::default();
        tracing::subscriber::with_default(log.clone(), || {
            let fault = service_fn(|_: Request<()>| ready(status(500).body(Bytes::new())));
            let service = SanitizeLayer::new().layer(fault);
            tokio_test::block_on(service.oneshot(request)).expect("valid parts");
        });
        assert_eq!(log.0.lock().expect("not poisoned")[0]["path"], logged);
    }
}
