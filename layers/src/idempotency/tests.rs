use std::{
    collections::VecDeque,
    convert::Infallible,
    future::{Ready, pending, ready},
    io,
    pin::Pin,
    sync::{
        Barrier, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use http::{HeaderMap, HeaderValue, request};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt as _, Full};
use proptest::prelude::*;
use tokio_test::{assert_pending, assert_ready_ok, block_on, task};
use tower::{ServiceExt as _, service_fn};
use tower_layer::Layer as _;
use tower_test::mock;

use super::{store::StoredResponse, *};
use crate::{clock::ManualClock, reject::Rejection};

type Text = Full<Bytes>;
type User = &'static str;
type IdentityOf = fn(&Extensions) -> Option<User>;

/// Reads the identity that authentication found.
fn user(request: &Extensions) -> Option<User> {
    request.get::<User>().copied()
}

fn layer() -> IdempotencyLayer<IdentityOf> {
    IdempotencyLayer::new(user)
}

fn post(key: &str) -> request::Builder {
    let key = HeaderValue::from_bytes(key.as_bytes()).expect("a header");
    Request::post("/orders")
        .header("idempotency-key", key)
        .extension::<User>("ali")
}

fn order(key: &str, body: &'static str) -> Request<Text> {
    post(key).body(Full::from(body)).expect("parts")
}

/// Sends a request, and polls it without a runtime.
fn send<S, Q, B>(service: &S, request: Request<Q>) -> Response<Bytes>
where
    S: Service<Request<Q>, Response = Response<B>, Error: fmt::Debug> + Clone,
    B: Body<Data = Bytes, Error: fmt::Debug>,
{
    let response = block_on(service.clone().oneshot(request)).expect("an answer");
    let (head, body) = response.into_parts();
    let body = block_on(body.collect()).expect("a body").to_bytes();
    Response::from_parts(head, body)
}

fn code<B>(response: &Response<B>) -> &'static str {
    let rejection = response.extensions().get::<Rejection>();
    rejection.map_or("none", Rejection::code)
}

fn is_replayed<B>(response: &Response<B>) -> bool {
    let replayed = response.headers().get("idempotent-replayed");
    replayed.is_some_and(|value| value == "true")
}

/// A service that counts its runs, and answers with the result of `respond`.
fn counting<'a, C, R, T>(
    layer: &IdempotencyLayer<IdentityOf, C, R>,
    runs: &'a AtomicUsize,
    respond: T,
) -> impl Service<Request<Text>, Response = Response<Text>, Error = Infallible> + Clone + use<'a, C, R, T>
where
    C: Clock + Clone,
    R: Render<Text> + Clone,
    T: Fn(usize, &Bytes) -> Response<Text> + Copy,
{
    layer.layer(service_fn(
        move |request: Request<DigestedBody<Text>>| async move {
            let run = runs.fetch_add(1, Ordering::Relaxed) + 1;
            let body = request.into_body().collect().await?.to_bytes();
            Ok::<_, Infallible>(respond(run, &body))
        },
    ))
}

fn echo(run: usize, body: &Bytes) -> Response<Text> {
    let body = format!("{run}: {}", String::from_utf8_lossy(body));
    Response::new(Full::from(body))
}

fn with_status(status: u16) -> Response<Text> {
    let mut response = Response::new(Full::from("body"));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}

#[test]
fn a_duplicate_gets_the_first_response_and_the_handler_runs_once() {
    let runs = AtomicUsize::new(0);
    let service = counting(&layer(), &runs, |run, body| {
        let mut response = echo(run, body);
        *response.status_mut() = StatusCode::CREATED;
        for (name, value) in [
            ("location", "/orders/1"),
            ("link", "</a>; rel=a"),
            ("link", "</b>; rel=b"),
            ("set-cookie", "session=1"),
            ("x-other", "1"),
        ] {
            let value = HeaderValue::from_static(value);
            response.headers_mut().append(name, value);
        }
        response
    });
    let first = send(&service, order("k", "chair"));
    assert_eq!(
        (first.status().as_u16(), &first.body()[..]),
        (201, &b"1: chair"[..])
    );
    assert!(!is_replayed(&first) && !first.headers().contains_key("idempotency-status"));
    assert_eq!(first.headers()["set-cookie"], "session=1");
    for _ in 0..2 {
        let again = send(&service, order("\"k\"", "chair"));
        assert_eq!(
            (again.status().as_u16(), &again.body()[..]),
            (201, &b"1: chair"[..])
        );
        assert!(is_replayed(&again));
        assert_eq!(again.headers()["location"], "/orders/1");
        assert_eq!(again.headers().get_all("link").iter().count(), 2);
        assert!(!again.headers().contains_key("set-cookie"));
        assert!(!again.headers().contains_key("x-other"));
    }
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[test]
fn a_key_used_for_another_request_is_422() {
    let runs = AtomicUsize::new(0);
    let service = counting(&layer(), &runs, echo);
    let first = || {
        post("k")
            .header("host", "a")
            .header("content-type", "text/plain")
    };
    let body = || Full::from("chair");
    send(&service, first().body(body()).expect("parts"));
    for (difference, request) in [
        ("another body", first().body(Full::from("table"))),
        ("a longer body", first().body(Full::from("chairs"))),
        ("a shorter body", first().body(Full::from("chai"))),
        ("no body", first().body(Full::default())),
        ("another path", first().uri("/other").body(body())),
        ("a query", first().uri("/orders?a").body(body())),
        ("another method", first().method("PATCH").body(body())),
        ("another host", first().uri("http://b/orders").body(body())),
        (
            "an encoding",
            first().header("content-encoding", "gzip").body(body()),
        ),
        (
            "no content type",
            post("k").header("host", "a").body(body()),
        ),
    ] {
        let response = send(&service, request.expect("parts"));
        assert_eq!(response.status(), 422, "{difference}");
        assert_eq!(code(&response), "idempotency_key_reused", "{difference}");
    }
    // The authority of HTTP/2 is the `Host` of HTTP/1.1.
    let same = post("k")
        .uri("http://a/orders")
        .header("content-type", "text/plain");
    assert!(is_replayed(&send(
        &service,
        same.body(body()).expect("parts")
    )));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[test]
fn keys_of_other_identities_and_other_keys_are_other_requests() {
    let runs = AtomicUsize::new(0);
    let service = counting(&layer(), &runs, echo);
    for (user, key, expected) in [
        ("ali", "k", "1: "),
        ("eve", "k", "2: "),
        ("ali", "kk", "3: "),
        // The end of the identity and the beginning of the key do not run together.
        ("alik", "k", "4: "),
        ("ali", "k", "1: "),
        ("eve", "\"k\"", "2: "),
    ] {
        let mut request = order(key, "");
        request.extensions_mut().insert::<User>(user);
        assert_eq!(send(&service, request).body(), expected, "{user} {key}");
    }
}

#[test]
fn a_key_without_an_identity_is_403_and_never_served() {
    let runs = AtomicUsize::new(0);
    let service = counting(&layer(), &runs, echo);
    let mut request = order("k", "");
    // No header is an identity.
    request
        .headers_mut()
        .insert("user", HeaderValue::from_static("ali"));
    request.extensions_mut().clear();
    let response = send(&service, request);
    assert_eq!(response.status(), 403);
    assert_eq!(code(&response), "idempotency_identity_missing");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[test]
fn requests_without_a_key_or_with_another_method_run_each_time() {
    let runs = AtomicUsize::new(0);
    let service = counting(&layer(), &runs, echo);
    for request in [
        Request::post("/").body(Text::default()),
        post("k").method("PUT").body(Text::default()),
        post("k").method("GET").body(Text::default()),
        post("not \"valid").method("GET").body(Text::default()),
    ] {
        let request = request.expect("parts");
        for _ in 0..2 {
            assert_eq!(send(&service, request.clone()).status(), 200);
        }
    }
    assert_eq!(runs.load(Ordering::Relaxed), 8);

    let strict = layer().with_required().with_methods([Method::PUT]);
    let service = counting(&strict, &runs, echo);
    for (method, status, code_expected) in [
        (Method::POST, 200, "none"),
        (Method::PUT, 400, "idempotency_key_missing"),
    ] {
        let request = Request::builder().method(&method).body(Text::default());
        let response = send(&service, request.expect("parts"));
        assert_eq!(response.status(), status, "{method}");
        assert_eq!(code(&response), code_expected, "{method}");
    }
}

#[test]
fn a_malformed_key_and_several_keys_are_400() {
    let runs = AtomicUsize::new(0);
    let service = counting(&layer(), &runs, echo);
    let long = "x".repeat(256);
    let long_string = format!("\"{long}\"");
    for key in [
        "",
        " ",
        "\"",
        "\"\"",
        "\"a",
        "a\"",
        "\"a\"b\"",
        "\"a\\\"",
        "\"a\\b\"",
        "\"a\";b",
        "a b",
        "a,b",
        "\"a\", \"b\"",
        "a;b",
        "a\\b",
        "ä",
        "\"ä\"",
        "\"a\tb\"",
        &long,
        &long_string,
    ] {
        let response = send(&service, order(key, ""));
        assert_eq!(response.status(), 400, "{key}");
        assert_eq!(code(&response), "idempotency_key_invalid", "{key}");
    }
    let twice = post("a")
        .header("idempotency-key", "a")
        .body(Text::default());
    assert_eq!(send(&service, twice.expect("parts")).status(), 400);
    assert_eq!(runs.load(Ordering::Relaxed), 0);

    for key in [
        "a",
        "\"a b,c;d\\\\e\\\"f\"",
        " a ",
        "a:/+=.~!#",
        &"x".repeat(255),
    ] {
        assert_eq!(send(&service, order(key, "")).status(), 200, "{key}");
    }
}

#[test]
fn a_duplicate_in_flight_is_409_with_retry_after() {
    let layer = layer();
    let (mut service, mut handle) = mock::spawn_with(
        |inner: mock::Mock<Request<DigestedBody<Text>>, Response<Text>>| layer.layer(inner),
    );
    assert_ready_ok!(service.poll_ready());
    let mut first = task::spawn(service.call(order("k", "chair")));
    assert_pending!(first.poll());
    let (_, respond) = block_on(handle.next_request()).expect("a request");

    assert_ready_ok!(service.poll_ready());
    let mut duplicate = task::spawn(service.call(order("k", "chair")));
    let response = assert_ready_ok!(duplicate.poll());
    assert_eq!(response.status(), 409);
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(code(&response), "idempotency_key_in_use");
    // The head alone shows that this is another request.
    let other = post("k")
        .uri("/other")
        .body(Text::default())
        .expect("parts");
    let mut other = task::spawn(service.call(other));
    assert_eq!(assert_ready_ok!(other.poll()).status(), 422);

    respond.send_response(Response::new(Full::from("done")));
    assert_eq!(assert_ready_ok!(first.poll()).status(), 200);
    let mut duplicate = task::spawn(service.call(order("k", "chair")));
    let response = assert_ready_ok!(duplicate.poll());
    // The mock dropped the request without reading it, so there was nothing to compare.
    assert!(is_replayed(&response));
}

#[test]
fn readiness_is_that_of_the_service() {
    let layer = layer();
    let (mut service, mut handle) = mock::spawn_with(
        |inner: mock::Mock<Request<DigestedBody<Text>>, Response<Text>>| layer.layer(inner),
    );
    handle.allow(0);
    assert_pending!(service.poll_ready());
    handle.allow(1);
    assert_ready_ok!(service.poll_ready());
}

#[test]
fn ten_thousand_concurrent_duplicates_run_the_handler_once_for_each_key() {
    const THREADS: usize = 8;
    const KEYS: usize = 4;
    const DUPLICATES: usize = 10_000;
    let runs: [AtomicUsize; KEYS] = std::array::from_fn(|_| AtomicUsize::new(0));
    let answered = AtomicUsize::new(0);
    let service = layer().layer(service_fn(|request: Request<DigestedBody<Text>>| {
        let key = request.headers()["idempotency-key"]
            .to_str()
            .expect("ASCII");
        runs[key.parse::<usize>().expect("a number")].fetch_add(1, Ordering::Relaxed);
        async {
            let body = request.into_body().collect().await?.to_bytes();
            // Others get their turn while this one runs.
            thread::yield_now();
            Ok::<_, Infallible>(Response::new(Full::from(body)))
        }
    }));
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let service = service.clone();
                start.wait();
                for n in 0..KEYS * DUPLICATES / THREADS {
                    let response = send(&service, order(&(n % KEYS).to_string(), "chair"));
                    match response.status().as_u16() {
                        200 => assert_eq!(response.body(), "chair"),
                        status => assert_eq!(status, 409),
                    }
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(answered.into_inner(), KEYS * DUPLICATES);
    assert_eq!(runs.map(AtomicUsize::into_inner), [1; KEYS]);
}

#[test]
fn ten_thousand_duplicates_of_a_running_request_are_all_409() {
    let runs = AtomicUsize::new(0);
    let service = layer().layer(service_fn(|_: Request<DigestedBody<Text>>| {
        runs.fetch_add(1, Ordering::Relaxed);
        pending::<Result<Response<Text>, Infallible>>()
    }));
    let mut first = task::spawn(service.clone().oneshot(order("k", "")));
    assert_pending!(first.poll());
    for _ in 0..10_000 {
        assert_eq!(send(&service, order("k", "")).status(), 409);
    }
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[test]
fn an_abandoned_request_can_be_sent_again() {
    let layer = layer();
    let service = layer.layer(service_fn(|_: Request<DigestedBody<Text>>| {
        pending::<Result<Response<Text>, Infallible>>()
    }));
    for _ in 0..2 {
        let mut first = task::spawn(service.clone().oneshot(order("k", "")));
        assert_pending!(first.poll());
        assert_eq!(layer.len(), 1);
        drop(first);
        assert!(layer.is_empty());
    }
    // The services of a layer share its keys.
    let failing = layer.layer(service_fn(|_: Request<DigestedBody<Text>>| {
        ready(Err::<Response<Text>, _>(io::Error::other("down")))
    }));
    assert!(block_on(failing.oneshot(order("k", ""))).is_err());
    assert!(layer.is_empty());
    let runs = AtomicUsize::new(0);
    let service = counting(&layer, &runs, echo);
    assert_eq!(send(&service, order("k", "")).body(), "1: ");
}

#[test]
fn a_panic_forgets_the_key() {
    fn broken(_: Request<DigestedBody<Text>>) -> Ready<Result<Response<Text>, Infallible>> {
        panic!("the handler is broken")
    }
    let layer = layer();
    for request in 0..2 {
        let service = layer.layer(service_fn(broken));
        let caught = thread::spawn(move || drop(service.oneshot(order("k", ""))));
        // `oneshot` calls the service only when it is polled.
        caught.join().expect("nothing ran");
        let service = layer.layer(service_fn(broken));
        let caught = thread::spawn(move || drop(block_on(service.oneshot(order("k", "")))));
        assert!(caught.join().is_err(), "{request}");
        assert!(layer.is_empty());
    }
}

#[test]
fn responses_that_ask_for_a_retry_and_server_faults_are_not_repeated() {
    for (status, runs_expected, at_most_once) in [
        (200, 1, 1),
        (303, 1, 1),
        (400, 1, 1),
        (404, 1, 1),
        (409, 1, 1),
        (408, 2, 2),
        (425, 2, 2),
        (429, 2, 2),
        (500, 2, 1),
        (503, 2, 1),
    ] {
        for (layer, expected) in [
            (layer(), runs_expected),
            (layer().with_at_most_once(), at_most_once),
        ] {
            let runs = AtomicUsize::new(0);
            let service = counting(&layer, &runs, |_, _| with_status(status));
            for _ in 0..2 {
                assert_eq!(send(&service, order("k", "")).status(), status);
            }
            assert_eq!(runs.load(Ordering::Relaxed), expected, "{status}");
        }
    }
}

#[test]
fn at_most_once_an_abandoned_request_is_not_run_again() {
    let clock = ManualClock::new();
    let layer = layer()
        .with_at_most_once()
        .with_lifetime(Duration::from_secs(60))
        .with_clock(clock.clone());
    let service = layer.layer(service_fn(|_: Request<DigestedBody<Text>>| {
        pending::<Result<Response<Text>, Infallible>>()
    }));
    let mut first = task::spawn(service.clone().oneshot(order("k", "")));
    assert_pending!(first.poll());
    drop(first);
    let response = send(&service, order("k", ""));
    assert_eq!(response.status(), 409);
    assert_eq!(code(&response), "idempotency_response_not_stored");
    assert!(!response.headers().contains_key("retry-after"));
    clock.advance(Duration::from_secs(60));
    let mut again = task::spawn(service.oneshot(order("k", "")));
    assert_pending!(again.poll());
}

/// A body of any frames. It may announce its length, and never ends if it has no end.
#[derive(Debug, Default)]
struct Frames {
    left: VecDeque<Result<Frame<Bytes>, io::Error>>,
    announced: Option<u64>,
    is_endless: bool,
    polls: Arc<AtomicUsize>,
}

impl Frames {
    fn new(texts: &[&'static str]) -> Self {
        let frames = texts.iter().map(|&text| Ok(Frame::data(Bytes::from(text))));
        Self {
            left: frames.collect(),
            ..Self::default()
        }
    }

    fn announced(mut self, length: u64) -> Self {
        self.announced = Some(length);
        self
    }

    fn then(mut self, last: Result<Frame<Bytes>, io::Error>) -> Self {
        self.left.push_back(last);
        self
    }
}

impl From<Bytes> for Frames {
    fn from(whole: Bytes) -> Self {
        let length = whole.len() as u64;
        Self::default()
            .then(Ok(Frame::data(whole)))
            .announced(length)
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        let frame = self.left.pop_front();
        if let (Some(rest), Some(Ok(frame))) = (self.announced, &frame) {
            let length = frame.data_ref().map_or(0, Bytes::len) as u64;
            self.announced = Some(rest.saturating_sub(length));
        }
        match frame {
            None if self.is_endless => Poll::Pending,
            frame => Poll::Ready(frame),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.announced
            .map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

fn upload(body: Frames) -> Request<Frames> {
    post("k").body(body).expect("parts")
}

/// A service that answers with the result of `respond`, without reading the request.
fn answering<T: Fn() -> Response<Frames> + Clone>(
    layer: &IdempotencyLayer<IdentityOf>,
    respond: T,
) -> impl Service<Request<Text>, Response = Response<Frames>, Error = Infallible> + Clone + use<T> {
    layer.layer(service_fn(move |_: Request<DigestedBody<Text>>| {
        ready(Ok::<_, Infallible>(respond()))
    }))
}

#[test]
fn a_response_that_cannot_be_stored_passes_with_a_mark_and_duplicates_are_409() {
    type Make = fn() -> Response<Frames>;
    let cases: [(&str, Make); 4] = [
        ("a stream", || Response::new(Frames::new(&["da", "ta"]))),
        ("too large", || {
            Response::new(Frames::from(Bytes::from("data!")))
        }),
        ("trailers", || {
            let mut response = Response::new(Frames::from(Bytes::from("data")));
            let names = HeaderValue::from_static("x-sum");
            response.headers_mut().insert(header::TRAILER, names);
            response
        }),
        ("too much for the store", || {
            let mut response = Response::new(Frames::from(Bytes::from("data")));
            let etag = HeaderValue::from_bytes(&[b'x'; 1000]).expect("a header");
            response.headers_mut().insert(header::ETAG, etag);
            response
        }),
    ];
    for (case, respond) in cases {
        let layer = layer().with_max_bytes(4).with_max_total_bytes(1000);
        let service = answering(&layer, respond);
        let first = send(&service, order("k", ""));
        assert_eq!(first.status(), 200, "{case}");
        assert_eq!(
            first.headers()["idempotency-status"],
            "not-stored",
            "{case}"
        );
        assert!(first.body().starts_with(b"data"), "{case}");
        let again = send(&service, order("k", ""));
        assert_eq!(again.status(), 409, "{case}");
        assert_eq!(code(&again), "idempotency_response_not_stored", "{case}");
        assert!(!again.headers().contains_key("retry-after"), "{case}");
    }
    let exact = layer().with_max_bytes(4);
    let service = answering(&exact, || Response::new(Frames::from(Bytes::from("data"))));
    for is_second in [false, true] {
        assert_eq!(is_replayed(&send(&service, order("k", ""))), is_second);
    }
}

#[test]
fn a_response_body_that_fails_is_500_and_the_key_is_forgotten() {
    let broken = || {
        Frames::new(&["da"])
            .then(Err(io::Error::other("gone")))
            .announced(4)
    };
    let too_long = || Frames::new(&["da", "taaa"]).announced(4);
    let bodies: [fn() -> Frames; 2] = [broken, too_long];
    for body in bodies {
        let layer = layer();
        let service = answering(&layer, move || Response::new(body()));
        let response = send(&service, order("k", ""));
        assert_eq!(response.status(), 500);
        assert_eq!(code(&response), "response_unreadable");
        assert!(layer.is_empty());

        let strict = layer.with_at_most_once();
        let service = answering(&strict, move || Response::new(body()));
        assert_eq!(send(&service, order("k", "")).status(), 500);
        assert_eq!(send(&service, order("k", "")).status(), 409);
    }
}

/// Reads this many frames of the request before it answers.
fn reading(
    layer: &IdempotencyLayer<IdentityOf>,
    frames: usize,
) -> impl Service<Request<Frames>, Response = Response<Text>, Error = Infallible> + Clone + use<> {
    layer.layer(service_fn(
        move |mut request: Request<DigestedBody<Frames>>| async move {
            let mut is_ok = true;
            for _ in 0..frames {
                let frame = request.body_mut().frame().await;
                is_ok &= frame.is_none_or(|frame| frame.is_ok());
            }
            Ok::<_, Infallible>(with_status(if is_ok { 200 } else { 400 }))
        },
    ))
}

#[test]
fn bytes_that_the_handler_left_unread_are_not_compared() {
    for (frames_read, duplicate, status) in [
        (0, &["other"][..], 200),
        (0, &[], 200),
        (1, &["ab", "zz"], 200),
        (1, &["a", "bzz"], 200),
        (1, &["ab"], 200),
        (1, &["a"], 422),
        (1, &["az", "cd"], 422),
        (2, &["abcd"], 200),
        (2, &["abcde"], 200),
        (3, &["abcd"], 200),
        (3, &["a", "", "bc", "d"], 200),
        (3, &["abcde"], 422),
        (3, &["abc"], 422),
        (3, &[], 422),
    ] {
        let service = reading(&layer(), frames_read);
        assert_eq!(
            send(&service, upload(Frames::new(&["ab", "cd"]))).status(),
            200
        );
        let again = send(&service, upload(Frames::new(duplicate)));
        assert_eq!(again.status(), status, "{frames_read} {duplicate:?}");
        assert_eq!(
            is_replayed(&again),
            status == 200,
            "{frames_read} {duplicate:?}"
        );
    }
}

#[test]
fn a_duplicate_is_read_no_further_than_the_first_request() {
    for (frames_read, polls_expected) in [(0, 0), (1, 1), (3, 3)] {
        let service = reading(&layer(), frames_read);
        assert_eq!(
            send(&service, upload(Frames::new(&["ab", "cd"]))).status(),
            200
        );
        let mut endless = Frames::new(&["ab", "cd", "ef"]);
        endless.is_endless = true;
        let polls = Arc::clone(&endless.polls);
        let _ = send(&service, upload(endless));
        assert_eq!(
            polls.load(Ordering::Relaxed),
            polls_expected,
            "{frames_read}"
        );
    }
}

#[test]
fn a_request_body_that_fails_forgets_the_key() {
    let layer = layer();
    let service = reading(&layer, 3);
    let broken = || Frames::new(&["ab"]).then(Err(io::Error::other("gone")));
    assert_eq!(send(&service, upload(broken())).status(), 400);
    assert!(layer.is_empty());
    assert_eq!(
        send(&service, upload(Frames::new(&["ab", "cd"]))).status(),
        200
    );
    // The body of a duplicate may fail as well; nothing is forgotten then.
    for (kind, status) in [(io::ErrorKind::TimedOut, 408), (io::ErrorKind::Other, 400)] {
        let broken = Frames::new(&["ab"]).then(Err(kind.into()));
        assert_eq!(send(&service, upload(broken)).status(), status);
    }
    assert!(is_replayed(&send(&service, upload(Frames::new(&["abcd"])))));
}

#[test]
fn at_most_once_a_request_body_that_fails_does_not_run_again() {
    let service = reading(&layer().with_at_most_once(), 3);
    let broken = Frames::new(&["ab"]).then(Err(io::Error::other("gone")));
    let first = send(&service, upload(broken));
    assert_eq!(first.headers()["idempotency-status"], "not-stored");
    let again = send(&service, upload(Frames::new(&["ab", "cd"])));
    assert_eq!(code(&again), "idempotency_response_not_stored");
}

#[test]
fn a_response_is_not_stored_while_another_task_reads_the_request() {
    let moved = Mutex::new(None);
    let service = layer().layer(service_fn(|request: Request<DigestedBody<Text>>| {
        *moved.lock().expect("one thread") = Some(request.into_body());
        ready(Ok::<_, Infallible>(with_status(200)))
    }));
    let first = send(&service, order("k", "chair"));
    assert_eq!(first.headers()["idempotency-status"], "not-stored");
    let body = moved.lock().expect("one thread").take().expect("a body");
    assert_eq!(
        block_on(body.collect()).expect("a body").to_bytes(),
        "chair"
    );
    assert_eq!(
        code(&send(&service, order("k", "chair"))),
        "idempotency_response_not_stored"
    );
}

#[test]
fn a_body_that_outlives_its_key_does_not_touch_the_next_request() {
    let moved = Mutex::new(Vec::new());
    let layer = layer();
    let service = layer.layer(service_fn(|request: Request<DigestedBody<Text>>| {
        moved.lock().expect("one thread").push(request.into_body());
        pending::<Result<Response<Text>, Infallible>>()
    }));
    for _ in 0..2 {
        let mut first = task::spawn(service.clone().oneshot(order("k", "chair")));
        assert_pending!(first.poll());
    }
    let mut second = task::spawn(service.clone().oneshot(order("k", "chair")));
    assert_pending!(second.poll());
    drop(moved.into_inner().expect("one thread").swap_remove(0));
    assert_eq!(send(&service_of(&layer), order("k", "chair")).status(), 409);
}

fn service_of(
    layer: &IdempotencyLayer<IdentityOf>,
) -> impl Service<Request<Text>, Response = Response<Frames>, Error = Infallible> + Clone {
    answering(layer, || Response::new(Frames::from(Bytes::from("data"))))
}

#[test]
fn a_response_is_repeated_until_its_lifetime_ends() {
    let clock = ManualClock::new();
    let layer = layer()
        .with_max_keys(100)
        .with_clock(clock.clone())
        .with_lifetime(Duration::from_secs(60));
    let runs = AtomicUsize::new(0);
    let service = counting(&layer, &runs, echo);
    for (seconds, expected) in [
        (0, "1: "),
        (59, "1: "),
        (1, "2: "),
        (30, "2: "),
        (60, "3: "),
    ] {
        clock.advance(Duration::from_secs(seconds));
        assert_eq!(send(&service, order("k", "")).body(), expected);
    }
    // Ended keys are dropped when others come.
    for n in 0..10 {
        send(&service, order(&n.to_string(), ""));
    }
    clock.advance(Duration::from_secs(60));
    send(&service, order("a", ""));
    assert_eq!(layer.len(), 11 - 2 + 1);
}

#[test]
fn a_full_store_forgets_answered_keys_but_never_running_ones() {
    let layer = layer().with_max_keys(3);
    let service = service_of(&layer);
    let slow = layer.layer(service_fn(|_: Request<DigestedBody<Text>>| {
        pending::<Result<Response<Text>, Infallible>>()
    }));
    let start = |key| {
        let mut request = task::spawn(slow.clone().oneshot(order(key, "")));
        assert_pending!(request.poll());
        request
    };
    let first = start("running");
    for n in 0..10 {
        assert_eq!(send(&service, order(&n.to_string(), "")).status(), 200);
        assert!(layer.len() <= 3);
    }
    assert!(is_replayed(&send(&service, order("8", ""))));
    assert!(!is_replayed(&send(&service, order("0", ""))));
    assert_eq!(
        code(&send(&service, order("running", ""))),
        "idempotency_key_in_use"
    );

    let others = [start("a"), start("b")];
    let refused = send(&service, order("c", ""));
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(code(&refused), "idempotency_store_full");
    drop(others);
    assert_eq!(send(&service, order("c", "")).status(), 200);
    drop(first);
}

#[test]
fn too_many_bytes_drop_the_oldest_response_but_not_its_key() {
    let layer = layer().with_max_total_bytes(4000);
    let runs = AtomicUsize::new(0);
    let service = counting(&layer, &runs, |_, _| {
        Response::new(Text::from(vec![b'x'; 1000]))
    });
    for n in 0..10 {
        send(&service, order(&n.to_string(), ""));
        assert!(layer.store.bytes() <= 4000);
    }
    assert!(is_replayed(&send(&service, order("9", ""))));
    let oldest = send(&service, order("0", ""));
    assert_eq!(code(&oldest), "idempotency_response_not_stored");
    assert_eq!(runs.load(Ordering::Relaxed), 10);
}

#[test]
fn responses_of_forgotten_keys_do_not_fill_the_store() {
    let layer = layer().with_max_keys(1);
    let runs = AtomicUsize::new(0);
    let service = counting(&layer, &runs, echo);
    for n in 0..1000 {
        send(&service, order(&n.to_string(), ""));
        assert!(layer.store.bytes() < 1000, "{n}");
    }
}

#[test]
fn a_stored_response_keeps_no_larger_buffer() {
    let buffer = Bytes::from(vec![b'x'; 100_000]);
    let mut head = Response::new(()).into_parts().0;
    let value = HeaderValue::from_maybe_shared(buffer.slice(..10)).expect("a header");
    head.headers.insert(header::ETAG, value);
    let stored = StoredResponse::copy(&head, &[header::ETAG], &buffer.slice(..10));
    drop(head);
    assert!(buffer.is_unique());
    assert_eq!(stored.body(), "xxxxxxxxxx");
}

#[test]
fn the_chosen_headers_are_repeated_once_and_never_a_cookie() {
    let layer = layer().with_headers([header::SET_COOKIE, header::ETAG, header::ETAG]);
    let service = answering(&layer, || {
        let mut response = Response::new(Frames::from(Bytes::from("data")));
        for name in [header::ETAG, header::SET_COOKIE, header::CONTENT_TYPE] {
            response
                .headers_mut()
                .insert(name, HeaderValue::from_static("x"));
        }
        response
    });
    send(&service, order("k", ""));
    let again = send(&service, order("k", ""));
    let mut names: Vec<_> = again
        .headers()
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["etag", "idempotent-replayed"]);
}

#[test]
fn refusals_are_rendered() {
    let layer =
        layer().with_render(|rejection: &Rejection| Response::new(Text::from(rejection.code())));
    let runs = AtomicUsize::new(0);
    let service = counting(&layer, &runs, echo);
    let refused = send(&service, order("\"", ""));
    assert_eq!(refused.status(), 400);
    assert_eq!(refused.body(), "idempotency_key_invalid");
}

#[test]
fn a_digested_body_passes_on_trailers_and_lengths() {
    for key in ["k", ""] {
        let service = IdempotencyLayer::new(user).with_methods([if key.is_empty() {
            Method::PUT
        } else {
            Method::POST
        }]);
        let service = service.layer(service_fn(|request: Request<DigestedBody<Frames>>| async {
            let mut body = request.into_body();
            assert_eq!(body.size_hint().exact(), Some(4));
            assert!(!body.is_end_stream());
            for _ in 0..2 {
                let frame = body.frame().await.expect("a frame").expect("data");
                assert_eq!(frame.into_data().expect("data").len(), 2);
            }
            let last = body.frame().await.expect("a frame").expect("trailers");
            assert_eq!(last.trailers_ref().expect("trailers")["x-sum"], "1");
            assert!(body.frame().await.is_none());
            Ok::<_, Infallible>(Response::new(Text::default()))
        }));
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", HeaderValue::from_static("1"));
        let body = Frames::new(&["ab", "cd"])
            .announced(4)
            .then(Ok(Frame::trailers(trailers)));
        assert_eq!(send(&service, upload(body)).status(), 200);
    }
}

#[test]
fn nothing_that_a_client_sent_is_in_the_debug_output() {
    let layer = layer();
    let service = service_of(&layer);
    send(&service, order("secret-key", "secret"));
    let shown = format!("{layer:?} {:?}", layer.layer("inner"));
    assert!(
        !shown.contains("secret") && !shown.contains("data"),
        "{shown}"
    );
    assert!(shown.contains("keys"), "{shown}");
}

#[test]
fn services_and_futures_cross_threads() {
    fn is_service<T: Clone + Send + Sync + fmt::Debug>(_: &T) {}
    fn is_future<T: Send>(_: &T) {}
    let layer = layer();
    is_service(&layer);
    let mut service = layer.layer(service_fn(|_: Request<DigestedBody<Text>>| {
        ready(Ok::<_, Infallible>(Response::new(Text::default())))
    }));
    is_future(&service.call(order("k", "")));
    is_service(&layer.layer(()));
}

/// Splits a text at these places.
fn split(text: &Bytes, places: &[prop::sample::Index]) -> Frames {
    let mut places: Vec<_> = places
        .iter()
        .map(|place| place.index(text.len() + 1))
        .collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    places.windows(2).fold(Frames::default(), |body, pair| {
        body.then(Ok(Frame::data(text.slice(pair[0]..pair[1]))))
    })
}

proptest! {
    #[test]
    fn a_key_is_read_as_it_was_written(key in "[ -~]{1,255}") {
        let escaped = key.replace('\\', "\\\\").replace('"', "\\\"");
        let read = SentKey::parse(format!("\"{escaped}\"").as_bytes());
        let read = read.expect("a string");
        prop_assert_eq!(read.as_bytes(), key.as_bytes());
    }

    #[test]
    fn the_bare_form_is_the_same_key(key in "[ -~]{1,20}") {
        if let Some(bare) = SentKey::parse(key.as_bytes())
            && !key.trim().starts_with('"')
        {
            let quoted = SentKey::parse(format!("\"{}\"", key.trim()).as_bytes());
            let quoted = quoted.expect("a string");
            prop_assert_eq!(quoted.as_bytes(), bare.as_bytes());
        }
    }

    #[test]
    fn any_bytes_are_a_short_printable_key_or_none(value in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Some(key) = SentKey::parse(&value) {
            let key = key.as_bytes();
            prop_assert!((1..=255).contains(&key.len()));
            prop_assert!(key.iter().all(|byte| (b' '..=b'~').contains(byte)));
        }
    }

    #[test]
    fn a_body_is_the_same_in_any_frames(
        text in prop::collection::vec(any::<u8>(), 0..64),
        first in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        second in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        changed in any::<prop::sample::Index>(),
    ) {
        let service = reading(&layer(), 100);
        let text = Bytes::from(text);
        prop_assert_eq!(send(&service, upload(split(&text, &first))).status(), 200);
        prop_assert!(is_replayed(&send(&service, upload(split(&text, &second)))));
        if !text.is_empty() {
            let mut other = text.to_vec();
            other[changed.index(text.len())] ^= 1;
            let response = send(&service, upload(split(&other.into(), &second)));
            prop_assert_eq!(response.status(), 422);
        }
    }
}
