use std::{
    collections::VecDeque,
    convert::Infallible,
    error::Error as _,
    future::{pending, ready},
    pin::Pin,
};

use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt as _, Empty, Full};
use proptest::prelude::*;
use tokio_test::{assert_pending, assert_ready, assert_ready_ok, block_on, task};
use tower::{ServiceExt as _, service_fn};
use tower_test::mock;

use super::*;

type Outcome = Response<Bytes>;

/// A body of unknown length that yields the given frames.
#[derive(Debug, Default)]
struct Chunked {
    frames: VecDeque<Result<Frame<Bytes>, &'static str>>,
}

impl Chunked {
    fn of(chunks: &[&'static str]) -> Self {
        let frame = |chunk: &&'static str| Ok(Frame::data(Bytes::from_static(chunk.as_bytes())));
        Self {
            frames: chunks.iter().map(frame).collect(),
        }
    }

    fn and(mut self, frame: Result<Frame<Bytes>, &'static str>) -> Self {
        self.frames.push_back(frame);
        self
    }
}

impl Body for Chunked {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        Poll::Ready(self.frames.pop_front())
    }
}

/// A body that panics when it is read.
struct UnreadableBody(SizeHint);

impl Body for UnreadableBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        panic!("the body was read")
    }

    fn size_hint(&self) -> SizeHint {
        self.0
    }
}

fn refused_untouched(headers: &[(&'static str, &str)], hint: SizeHint) -> Outcome {
    let mut request = Request::new(UnreadableBody(hint));
    for (name, value) in headers {
        let value = value.parse().expect("a header value");
        request.headers_mut().append(*name, value);
    }
    let inner = service_fn(|_: Request<LimitedBody<UnreadableBody>>| async {
        panic!("the service was called");
        #[expect(unreachable_code, reason = "gives the future its type")]
        Ok::<Outcome, Infallible>(Response::default())
    });
    block_on(BodyLimitLayer::new(10).layer(inner).oneshot(request)).expect("infallible")
}

/// Sends a body to a handler that reads all of it and answers with `answer`.
fn send(body: Chunked, answer: fn(Result<Bytes, BodyError>) -> Outcome) -> Outcome {
    let inner = service_fn(move |request: Request<LimitedBody<Chunked>>| async move {
        let read = request.into_body().collect().await;
        Ok::<_, Infallible>(answer(read.map(http_body_util::Collected::to_bytes)))
    });
    let service = BodyLimitLayer::new(10).layer(inner);
    block_on(service.oneshot(Request::new(body))).expect("infallible")
}

fn echo(read: Result<Bytes, BodyError>) -> Outcome {
    Response::new(read.expect("within the limit"))
}

#[test]
fn the_layer_its_service_and_its_body_are_send_sync_and_clone() {
    fn check<T: Send + Sync + Clone>(_: &T) {}
    fn check_body<T: Send + Sync>() {}
    let layer = BodyLimitLayer::new(1);
    check(&layer);
    check(
        &layer.layer(service_fn(|_: Request<LimitedBody<Full<Bytes>>>| {
            ready(Ok::<Outcome, Infallible>(Response::default()))
        })),
    );
    check_body::<LimitedBody<Full<Bytes>>>();
}

#[test]
fn an_announced_overrun_is_refused_from_the_headers_alone() {
    let too_large: [(&[(&'static str, &str)], SizeHint); 4] = [
        (&[("content-length", "11")], SizeHint::new()),
        (
            &[("content-length", "99999999999999999999999999")],
            SizeHint::new(),
        ),
        (&[], SizeHint::with_exact(11)),
        (&[("content-length", "3")], SizeHint::with_exact(11)),
    ];
    for (headers, hint) in too_large {
        let response = refused_untouched(headers, hint);
        assert_eq!(
            response.status(),
            StatusCode::PAYLOAD_TOO_LARGE,
            "{headers:?}"
        );
        assert_eq!(response.headers()["connection"], "close", "{headers:?}");
        assert_eq!(response.body(), r#"{"error":"Request body too large"}"#);
    }
}

#[test]
fn an_ambiguous_content_length_is_refused() {
    let ambiguous: [&[(&'static str, &str)]; 9] = [
        &[("content-length", "")],
        &[("content-length", "+5")],
        &[("content-length", "-5")],
        &[("content-length", "5 ")],
        &[("content-length", "0x5")],
        &[("content-length", "5, 5")],
        &[("content-length", "5"), ("content-length", "5")],
        &[("content-length", "5"), ("content-length", "6")],
        &[("content-length", "5"), ("transfer-encoding", "chunked")],
    ];
    for headers in ambiguous {
        let response = refused_untouched(headers, SizeHint::new());
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{headers:?}");
        assert_eq!(response.headers()["connection"], "close", "{headers:?}");
    }
}

#[test]
fn an_http_2_refusal_has_no_connection_header() {
    let mut request = Request::new(Full::<Bytes>::from("12345678901"));
    *request.version_mut() = Version::HTTP_2;
    let inner = service_fn(|_: Request<LimitedBody<Full<Bytes>>>| {
        ready(Ok::<Outcome, Infallible>(Response::default()))
    });
    let response = block_on(BodyLimitLayer::new(10).layer(inner).oneshot(request));
    let response = response.expect("infallible");
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(!response.headers().contains_key(header::CONNECTION));
}

#[test]
fn a_body_of_exactly_the_limit_passes() {
    let response = send(Chunked::of(&["12345", "67890"]), echo);
    assert_eq!(response.body(), "1234567890");
    let response = send(Chunked::of(&[""]), echo);
    assert_eq!(response.body(), "");
}

#[test]
fn chunked_overrun_is_413_even_when_the_handler_says_500() {
    let answers: [fn(Result<Bytes, BodyError>) -> Outcome; 2] = [
        |read| {
            assert!(read.expect_err("too large").is_too_large());
            let mut response = Outcome::default();
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        },
        |_| Outcome::default(),
    ];
    for answer in answers {
        for chunks in [&["1234567890", "x"][..], &["12345678901"]] {
            let response = send(Chunked::of(chunks), answer);
            assert_eq!(
                response.status(),
                StatusCode::PAYLOAD_TOO_LARGE,
                "{chunks:?}"
            );
        }
    }
}

#[test]
fn the_handlers_future_is_dropped_before_the_413_is_rendered() {
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let inner = service_fn(move |request: Request<LimitedBody<Chunked>>| {
        let held = Arc::clone(&held);
        async move {
            let read = request.into_body().collect().await;
            assert!(read.is_err());
            // A handler that continues after a failed read.
            pending::<()>().await;
            drop(held);
            Ok::<_, Infallible>(Outcome::default())
        }
    });
    let watched = Arc::clone(&alive);
    let render = move |rejection: &Rejection| {
        // `alive`, the service and this closure hold one each; the handler held another.
        assert_eq!(Arc::strong_count(&watched), 3);
        Response::new(Bytes::from(rejection.message().to_owned()))
    };
    let mut service = BodyLimitLayer::new(10).with_render(&render).layer(inner);
    let response = service.call(Request::new(Chunked::of(&["12345678901"])));
    let response = block_on(response).expect("infallible");
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    drop(service);
}

#[test]
fn an_overrun_on_another_task_wakes_the_response() {
    let (service, mut handle) = mock::pair::<Request<LimitedBody<Chunked>>, Outcome>();
    let mut service = mock::Spawn::new(BodyLimitLayer::new(10).layer(service));
    assert_ready_ok!(service.poll_ready());
    let body = Chunked::of(&["12345678901"]);
    let mut response = task::spawn(service.call(Request::new(body)));
    assert_pending!(response.poll());

    let (request, _reply) =
        assert_ready!(task::spawn(handle.next_request()).poll()).expect("passed on");
    let mut reader = task::spawn(request.into_body().collect());
    assert!(assert_ready!(reader.poll()).is_err());

    assert!(response.is_woken());
    let response = assert_ready_ok!(response.poll());
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[test]
fn readiness_is_the_inner_services() {
    let (service, mut handle) = mock::pair::<Request<LimitedBody<Chunked>>, Outcome>();
    let mut service = mock::Spawn::new(BodyLimitLayer::new(10).layer(service));
    handle.allow(0);
    assert_pending!(service.poll_ready());
    handle.allow(1);
    assert_ready_ok!(service.poll_ready());
}

#[test]
fn trailers_and_errors_of_the_inner_body_are_passed_on() {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", HeaderValue::from_static("1"));
    let inner = Chunked::of(&["12345"])
        .and(Ok(Frame::trailers(trailers.clone())))
        .and(Err("cut off"));
    let mut body = limited(inner, 10);

    let frame = block_on(body.frame()).expect("data").expect("good");
    assert_eq!(frame.into_data().expect("data"), "12345");
    let frame = block_on(body.frame()).expect("trailers").expect("good");
    assert_eq!(frame.into_trailers().expect("trailers"), trailers);
    let error = block_on(body.frame()).expect("an error").expect_err("bad");
    assert!(!error.is_too_large());
    assert_eq!(error.source().expect("kept").to_string(), "cut off");
}

#[test]
fn an_overrun_body_has_ended() {
    let mut body = limited(Chunked::of(&["123", "4"]), 2);
    assert!(block_on(body.frame()).expect("an error").is_err());
    assert!(block_on(body.frame()).is_none());
    assert!(body.is_end_stream());
    assert_eq!(body.size_hint().exact(), Some(0));
}

#[test]
fn the_size_hint_stays_within_the_limit() {
    let hint = limited(Full::<Bytes>::from("123"), 10).size_hint();
    assert_eq!(hint.exact(), Some(3));
    let hint = limited(Chunked::default(), 10).size_hint();
    assert_eq!((hint.lower(), hint.upper()), (0, Some(10)));
    assert!(limited(Empty::<Bytes>::new(), 10).is_end_stream());
}

#[test]
fn message_and_rendering_can_be_replaced() {
    let layer = BodyLimitLayer::new(10)
        .with_message("body exceeds 10 bytes")
        .with_render(crate::reject::ErrorObject);
    let inner = service_fn(|_: Request<LimitedBody<Full<Bytes>>>| {
        ready(Ok::<Outcome, Infallible>(Response::default()))
    });
    let request = Request::new(Full::<Bytes>::from("12345678901"));
    let response = block_on(layer.layer(inner).oneshot(request)).expect("infallible");
    assert_eq!(
        response.body(),
        r#"{"error":{"code":"REQUEST_TOO_LARGE","message":"body exceeds 10 bytes"}}"#
    );
}

fn limited<B>(inner: B, max_bytes: u64) -> LimitedBody<B> {
    LimitedBody {
        inner,
        remaining: max_bytes,
        overrun: None,
        permit: None,
        is_over: false,
    }
}

/// Name of a caller, as a layer further out adds it.
#[derive(Clone, Hash)]
struct User(&'static str);

/// Makes a layer with a budget of a hundred kilobytes, and half of it for a caller.
fn budgeted() -> BodyLimitLayer {
    let budget = ByteBudget::new(100_000, 50_000);
    BodyLimitLayer::new(60_000).with_budget(budget, |extensions| {
        ByteBudget::caller(&extensions.get::<User>())
    })
}

/// Makes a request with a body of this many bytes, announced or not.
fn sized<B>(user: &'static str, body: B) -> Request<B> {
    let mut request = Request::new(body);
    request.extensions_mut().insert(User(user));
    request
}

fn bytes(count: usize) -> Full<Bytes> {
    Full::from(vec![b'x'; count])
}

#[test]
fn bodies_of_one_caller_get_no_more_than_its_share_until_one_ends() {
    let inner = service_fn(|request: Request<LimitedBody<Full<Bytes>>>| {
        assert!(request.extensions().get::<BodyPermit>().is_some());
        pending::<Result<Outcome, Infallible>>()
    });
    let mut service = budgeted().layer(inner);
    let mut first = task::spawn(service.call(sized("alice", bytes(30_000))));
    assert_pending!(first.poll());
    let refused = block_on(service.call(sized("alice", bytes(30_000)))).expect("infallible");
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(refused.headers()["connection"], "close");
    let expected = "Too many large requests of this caller are in progress. Try again later.";
    assert_eq!(*refused.body(), format!(r#"{{"error":"{expected}"}}"#));

    let mut other = task::spawn(service.call(sized("bob", bytes(30_000))));
    assert_pending!(other.poll());
    let mut third = task::spawn(service.call(sized("carol", bytes(30_000))));
    assert_pending!(third.poll());
    let refused = block_on(service.call(sized("dave", bytes(30_000)))).expect("infallible");
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()["retry-after"], "1");

    drop(first);
    let mut later = task::spawn(service.call(sized("alice", bytes(30_000))));
    assert_pending!(later.poll());
}

#[test]
fn small_bodies_pass_next_to_a_large_one_that_takes_all_it_can() {
    let inner =
        service_fn(|_: Request<LimitedBody<Full<Bytes>>>| pending::<Result<Outcome, Infallible>>());
    let budget = ByteBudget::new(400_000, 400_000);
    let mut service = BodyLimitLayer::new(1_000_000)
        .with_budget(budget, |_| 1)
        .layer(inner);
    let mut large = task::spawn(service.call(sized("alice", bytes(1_000_000))));
    assert_pending!(large.poll());
    let refused = block_on(service.call(sized("alice", bytes(70_000)))).expect("infallible");
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let mut small = task::spawn(service.call(sized("alice", bytes(60_000))));
    assert_pending!(small.poll());
    // As small as the head of a request.
    let mut waiting = Vec::new();
    for _ in 0..100 {
        let mut tiny = task::spawn(service.call(sized("alice", bytes(4096))));
        assert_pending!(tiny.poll());
        waiting.push(tiny);
    }
}

#[test]
fn a_body_of_unknown_size_takes_its_bytes_as_they_arrive() {
    const PIECE: &str = "0123456789abcdef0123456789abcdef";
    let pieces = |count| Chunked::of(&vec![PIECE; count]);
    let budget = ByteBudget::new(1000, 1000);
    let held = budget.take(1, 900).expect("room");
    let inner = service_fn(|request: Request<LimitedBody<Chunked>>| async {
        let read = request.into_body().collect().await;
        let read = read.map_err(|error| assert!(!error.is_too_large()));
        Ok::<_, Infallible>(Response::new(read.unwrap_or_default().to_bytes()))
    });
    let mut service = BodyLimitLayer::new(60_000)
        .with_budget(budget.clone(), |_| 2)
        .layer(inner);
    let passed = block_on(service.call(Request::new(pieces(3)))).expect("infallible");
    assert_eq!(passed.body().len(), 3 * PIECE.len());
    let refused = block_on(service.call(Request::new(pieces(4)))).expect("infallible");
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    drop(held);
    assert!(budget.take(3, 1000).is_ok(), "nothing is left behind");
}

proptest! {
    #[test]
    fn a_body_passes_whole_or_is_413(sizes in prop::collection::vec(0_usize..6, 0..8)) {
        let zeroes: &'static str = "000000";
        let chunks: Vec<_> = sizes.iter().map(|size| &zeroes[..*size]).collect();
        let total: usize = sizes.iter().sum();
        let response = send(Chunked::of(&chunks), |read| {
            read.map_or_else(|_| Outcome::default(), Response::new)
        });
        if total <= 10 {
            prop_assert_eq!(response.status(), StatusCode::OK);
            prop_assert_eq!(response.body().len(), total);
        } else {
            prop_assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
        }
    }

    #[test]
    fn a_content_length_is_read_as_its_digits_or_refused(text in "[0-9+ ,x-]{0,24}") {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_LENGTH, text.parse().expect("visible ascii"));
        let expected = match text.parse::<u128>() {
            Ok(number) if !text.starts_with('+') => {
                Ok(Some(u64::try_from(number).unwrap_or(u64::MAX)))
            }
            _ => Err(BodyFault::ContentLength),
        };
        prop_assert_eq!(content_length(&headers, &SizeHint::new()), expected);
    }
}

proptest! {
    #[test]
    fn permits_never_exceed_the_limits_and_give_back_all(
        steps in prop::collection::vec((0_u64..4, 0_u64..200_000, any::<bool>()), 0..60)
    ) {
        const TOTAL: u64 = 500_000;
        const SHARE: u64 = 200_000;
        let budget = ByteBudget::new(TOTAL, SHARE);
        let mut held: Vec<(u64, u64, BytePermit)> = Vec::new();
        for (caller, size, is_kept) in steps {
            if let Ok(permit) = budget.take(caller, size) {
                held.push((caller, size.min(SHARE / 4 * 3), permit));
            }
            if !is_kept && !held.is_empty() {
                drop(held.remove(0));
            }
            prop_assert!(held.iter().map(|(_, taken, _)| taken).sum::<u64>() <= TOTAL);
            for caller in 0..4 {
                let own = held.iter().filter(|(it, ..)| *it == caller);
                prop_assert!(own.map(|(_, taken, _)| taken).sum::<u64>() <= SHARE);
            }
        }
        held.clear();
        prop_assert!(budget.take(9, TOTAL).is_ok());
    }
}
