// A test of the whole stack.
#[cfg(feature = "full")]
mod mixed;

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::{Ready, pending, ready},
    io,
    panic::resume_unwind,
    pin::pin,
    task::Waker,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Version};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt as _, Full};
use proptest::prelude::*;
use tokio_test::{assert_pending, assert_ready_ok};
use tower::{ServiceExt as _, service_fn};
use tower_test::mock;

use super::*;
use crate::{
    client_ip::ClientIp,
    clock::ManualClock,
    sanitize::{RequestId, tests::Log},
};

/// A body of prepared steps, which is dropped or polled to its end.
#[derive(Clone, Debug, Default)]
struct Steps {
    steps: VecDeque<Step>,
    /// The size that the body announces.
    size: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Data(&'static str),
    Trailers,
    Wait,
    Fail,
    Panic,
    /// The end, which the body does not announce.
    End,
}

impl Steps {
    fn of(steps: &[Step]) -> Self {
        Self {
            steps: steps.iter().copied().collect(),
            size: None,
        }
    }
}

impl From<Bytes> for Steps {
    fn from(_: Bytes) -> Self {
        Self::of(&[Step::Data("refused")])
    }
}

impl Body for Steps {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.steps.pop_front() {
            Some(Step::Data(data)) => Poll::Ready(Some(Ok(Frame::data(data.into())))),
            Some(Step::Trailers) => Poll::Ready(Some(Ok(Frame::trailers(HeaderMap::new())))),
            Some(Step::Wait) => Poll::Pending,
            Some(Step::Fail) => Poll::Ready(Some(Err(io::Error::other("broken")))),
            // Unlike `panic!`, runs no hook, which would print a message.
            Some(Step::Panic) => resume_unwind(Box::new("a panic of the body")),
            Some(Step::End) | None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.size.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

/// A layer with a queue, and the queue.
fn recorded() -> (AuditLayer<Queue>, Records) {
    let (queue, records) = Queue::bounded(10);
    (AuditLayer::new(queue), records)
}

fn only(records: &Records) -> Record {
    let record = records.try_next().expect("a record");
    assert!(records.try_next().is_none(), "one record of one request");
    record
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn catch<T>(code: impl FnOnce() -> T) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(code)).is_err()
}

/// Answers a request with this status and this body.
fn respond(
    status: u16,
    steps: &[Step],
    request: Request<()>,
) -> (Response<AuditedBody<Steps>>, Records) {
    let body = Steps::of(steps);
    respond_with(
        Response::builder()
            .status(status)
            .body(body)
            .expect("parts"),
        request,
    )
}

fn respond_with(
    response: Response<Steps>,
    request: Request<()>,
) -> (Response<AuditedBody<Steps>>, Records) {
    let (layer, records) = recorded();
    let service = layer.layer(service_fn(move |_| {
        ready(Ok::<_, Infallible>(response.clone()))
    }));
    let Poll::Ready(Ok(response)) = poll(pin!(service.oneshot(request))) else {
        panic!("answered at once")
    };
    (response, records)
}

/// Polls a body until it ends, waits or fails, as a server does; then drops it.
fn read(response: Response<AuditedBody<Steps>>) {
    let mut body = pin!(response.into_body());
    while !body.is_end_stream()
        && let Poll::Ready(Some(Ok(frame))) = body
            .as_mut()
            .poll_frame(&mut Context::from_waker(Waker::noop()))
    {
        if frame.is_trailers() {
            return;
        }
    }
}

#[test]
fn the_outcome_is_the_end_of_the_response_body() {
    use Step::{Data, End, Fail, Trailers, Wait};
    for (steps, outcome, bytes) in [
        (&[][..], Outcome::Completed, 0),
        (&[Data("ab")], Outcome::Completed, 2),
        (&[Data("ab"), Data("c")], Outcome::Completed, 3),
        (&[Data("ab"), End], Outcome::Completed, 2),
        (&[Data("ab"), Trailers], Outcome::Completed, 2),
        // A server stops at the trailers.
        (&[Data("ab"), Trailers, End], Outcome::Completed, 2),
        (&[Data("ab"), Wait], Outcome::ResponseAborted, 2),
        (&[Wait, Data("ab")], Outcome::ResponseAborted, 0),
        (&[Data("ab"), Fail], Outcome::BodyFailed, 2),
        (&[Fail, Data("ab")], Outcome::BodyFailed, 0),
    ] {
        let (response, records) = respond(200, steps, Request::new(()));
        read(response);
        let record = only(&records);
        assert_eq!(record.outcome(), outcome, "{steps:?}");
        assert_eq!(record.bytes_out(), bytes, "{steps:?}");
        assert_eq!(record.status(), Some(StatusCode::OK));
    }
}

#[test]
fn a_body_that_is_not_read_is_aborted_unless_the_server_sends_none() {
    for (method, status, outcome) in [
        (Method::GET, 200, Outcome::ResponseAborted),
        (Method::GET, 404, Outcome::ResponseAborted),
        (Method::HEAD, 200, Outcome::Completed),
        (Method::GET, 101, Outcome::Completed),
        (Method::GET, 204, Outcome::Completed),
        (Method::GET, 304, Outcome::Completed),
        (Method::CONNECT, 200, Outcome::Completed),
        (Method::CONNECT, 502, Outcome::ResponseAborted),
    ] {
        let case = format!("{method} {status}");
        let request = Request::builder().method(method).body(()).expect("parts");
        let (response, records) = respond(status, &[Step::Data("ab")], request);
        if outcome == Outcome::Completed {
            assert_eq!(only(&records).outcome(), outcome, "at the head: {case}");
        }
        drop(response);
        if outcome != Outcome::Completed {
            assert_eq!(only(&records).outcome(), outcome, "{case}");
        }
        assert!(records.try_next().is_none(), "{case}");
    }
}

#[test]
fn a_body_that_is_dropped_after_its_content_length_is_complete() {
    for (length, outcome) in [
        ("2", Outcome::Completed),
        ("0", Outcome::Completed),
        ("3", Outcome::ResponseAborted),
        ("two", Outcome::ResponseAborted),
    ] {
        let response = Response::builder().header("content-length", length);
        let body = Steps::of(&[Step::Data("ab"), Step::Wait, Step::End]);
        let (response, records) =
            respond_with(response.body(body).expect("parts"), Request::new(()));
        read(response);
        assert_eq!(only(&records).outcome(), outcome, "{length}");
    }
}

#[test]
fn a_body_that_announces_its_size_needs_no_content_length() {
    for (size, outcome) in [(2, Outcome::Completed), (3, Outcome::ResponseAborted)] {
        let mut body = Steps::of(&[Step::Data("ab"), Step::Wait, Step::End]);
        body.size = Some(size);
        let (response, records) = respond_with(Response::new(body), Request::new(()));
        read(response);
        assert_eq!(only(&records).outcome(), outcome, "{size}");
    }
}

#[test]
fn a_dropped_future_is_cancelled_before_and_after_its_first_poll() {
    for is_polled in [false, true] {
        let (layer, records) = recorded();
        let wait = |_: Request<CountedBody<()>>| pending::<Result<Response<Steps>, Infallible>>();
        let mut service = layer.layer(service_fn(wait));
        let mut future = Box::pin(service.call(Request::new(())));
        if is_polled {
            assert!(poll(future.as_mut()).is_pending());
        }
        assert!(records.try_next().is_none());
        drop(future);
        let record = only(&records);
        assert_eq!(record.outcome(), Outcome::Cancelled, "{is_polled}");
        assert_eq!(record.status(), None);
    }
}

#[test]
fn an_error_of_the_service_is_recorded_and_returned() {
    let (layer, records) = recorded();
    let fail = |_: Request<CountedBody<()>>| ready(Err::<Response<Steps>, _>("broken"));
    let service = layer.layer(service_fn(fail));
    let Poll::Ready(Err(error)) = poll(pin!(service.oneshot(Request::new(())))) else {
        panic!("failed at once")
    };
    assert_eq!(error, "broken");
    assert_eq!(only(&records).outcome(), Outcome::ServiceError);
}

type Inner = Ready<Result<Response<Steps>, Infallible>>;

#[test]
fn a_panic_passes_and_is_recorded_even_if_it_is_caught_before_the_drop() {
    let (layer, records) = recorded();
    let serve = |_: Request<CountedBody<()>>| -> Inner { resume_unwind(Box::new("in call")) };
    let mut service = layer.layer(service_fn(serve));
    assert!(catch(|| drop(service.call(Request::new(())))));
    assert_eq!(only(&records).outcome(), Outcome::Panicked);

    let serve = |_: Request<CountedBody<()>>| {
        std::future::poll_fn(|_| -> Poll<Result<Response<Steps>, Infallible>> {
            resume_unwind(Box::new("in poll"))
        })
    };
    let mut service = layer.layer(service_fn(serve));
    let mut future = Box::pin(service.call(Request::new(())));
    assert!(catch(|| poll(future.as_mut()).is_ready()));
    assert!(records.try_next().is_none(), "the future still exists");
    drop(future);
    assert_eq!(only(&records).outcome(), Outcome::Panicked);

    let (response, records) = respond(200, &[Step::Data("ab"), Step::Panic], Request::new(()));
    assert!(catch(|| read(response)));
    let record = only(&records);
    assert_eq!(record.outcome(), Outcome::Panicked);
    assert_eq!(
        (record.status(), record.bytes_out()),
        (Some(StatusCode::OK), 2)
    );
}

#[test]
fn a_request_that_is_dropped_by_the_panic_of_other_code_is_cancelled() {
    let (layer, records) = recorded();
    let wait = |_: Request<CountedBody<()>>| pending::<Result<Response<Steps>, Infallible>>();
    let future = layer.layer(service_fn(wait)).call(Request::new(()));
    assert!(catch(|| {
        let _future = future;
        resume_unwind(Box::new("in other code"))
    }));
    assert_eq!(only(&records).outcome(), Outcome::Cancelled);
}

#[test]
fn the_record_has_what_the_request_and_the_handler_say() {
    let (queue, records) = Queue::bounded(1);
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(1_000));
    let layer = AuditLayer::new(queue).with_clock(clock.clone());
    let service = layer.layer(service_fn(|request: Request<CountedBody<Full<Bytes>>>| {
        let clock = clock.clone();
        async move {
            let entry = request
                .extensions()
                .get::<AuditEntry>()
                .expect("an entry")
                .clone();
            request.into_body().collect().await.expect("a body");
            clock.advance(Duration::from_millis(5));
            entry.set_route("/users/{id}");
            entry.set_identity("ali");
            Ok::<_, Infallible>(Response::new(Steps::of(&[Step::Data("hello")])))
        }
    }));
    let request = Request::post("/users/7?token=hunter2")
        .version(Version::HTTP_2)
        .header("authorization", "Bearer hunter2")
        .header("x-request-id", "42")
        .header(
            "traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        )
        .extension(ClientIp::from_peer(([192, 0, 2, 1], 4711).into()))
        .body(Full::from("hunter2 again"))
        .expect("parts");
    let Poll::Ready(Ok(response)) = poll(pin!(service.oneshot(request))) else {
        panic!("answered at once")
    };
    clock.advance(Duration::from_millis(5));
    read(response);

    let record = only(&records);
    assert_eq!(
        (record.method(), record.version()),
        (&Method::POST, Version::HTTP_2)
    );
    assert_eq!(
        (record.path(), record.route()),
        ("/users/7", Some("/users/{id}"))
    );
    assert_eq!((record.bytes_in(), record.bytes_out()), (13, 5));
    assert_eq!(record.started(), Duration::from_secs(1_000));
    assert_eq!(record.duration(), Duration::from_millis(10));
    assert_eq!(record.client(), Some([192, 0, 2, 1].into()));
    assert_eq!(record.identity(), Some("ali"));
    assert_eq!(record.request_id().map(RequestId::as_str), Some("42"));
    let trace_id = record.trace_id().expect("a trace id").to_string();
    assert_eq!(trace_id, "0af7651916cd43dd8448eb211c80319c");
    assert!(!format!("{record:?}").contains("hunter2"));
}

#[test]
fn the_request_id_of_the_extensions_wins_and_a_bad_header_counts_as_none() {
    let id: RequestId = "ours".parse().expect("an id");
    for (header, extension, expected) in [
        ("theirs", Some(id), Some("ours")),
        ("theirs", None, Some("theirs")),
        ("a b", None, None),
    ] {
        let mut request = Request::get("/")
            .header("x-request-id", header)
            .body(())
            .expect("parts");
        request.extensions_mut().extend(
            extension
                .map(|id| {
                    let mut extensions = http::Extensions::new();
                    extensions.insert(id);
                    extensions
                })
                .unwrap_or_default(),
        );
        let record = Record::of(&request, Duration::ZERO);
        assert_eq!(
            record.request_id().map(RequestId::as_str),
            expected,
            "{header}"
        );
    }
}

#[test]
fn long_texts_are_cut_between_characters() {
    let request = Request::builder()
        .method(&*"M".repeat(100))
        .uri(format!("/{}", "p".repeat(5_000)))
        .body(())
        .expect("parts");
    let mut record = Record::of(&request, Duration::ZERO);
    record.set_route("ä".repeat(500).into());
    record.set_identity("𝄞".repeat(500).into());
    assert_eq!(record.method().as_str().len(), 32);
    for (text, max) in [
        (record.path(), 1024),
        (record.route().expect("a route"), 256),
        (record.identity().expect("an identity"), 256),
    ] {
        assert!(
            text.len() <= max && text.len() > max - 4 && text.ends_with('…'),
            "{text}"
        );
    }
}

#[test]
fn a_queued_record_takes_no_more_than_300_bytes_and_its_texts() {
    assert!(size_of::<Record>() + size_of::<QueueSlot>() <= 300);
}

#[test]
fn a_refusal_of_an_inner_layer_is_recorded_with_its_code() {
    let (layer, records) = recorded();
    let service = layer.layer(service_fn(|_: Request<CountedBody<()>>| {
        let refusal = Rejection::new(StatusCode::FORBIDDEN, "closed", "Closed");
        ready(Ok::<_, Infallible>(
            refusal.into_response::<Steps>(&ErrorString),
        ))
    }));
    let Poll::Ready(Ok(response)) = poll(pin!(service.oneshot(Request::new(())))) else {
        panic!("answered at once")
    };
    read(response);
    let record = only(&records);
    assert_eq!(record.outcome(), Outcome::Completed);
    assert_eq!(record.status(), Some(StatusCode::FORBIDDEN));
    assert_eq!(record.code(), Some("closed"));
}

#[test]
fn the_identity_layer_notes_only_an_identity_of_its_type() {
    for (identity, expected) in [(Some("ali"), Some("ali")), (None, None)] {
        let (layer, records) = recorded();
        let inner = service_fn(|_: Request<CountedBody<()>>| {
            ready(Ok::<_, Infallible>(Response::new(Steps::default())))
        });
        let service = layer.layer(AuditIdentityLayer::<&str>::new().layer(inner));
        let mut request = Request::get("/").extension(7_u64).body(()).expect("parts");
        if let Some(identity) = identity {
            request.extensions_mut().insert(identity);
        }
        assert!(poll(pin!(service.oneshot(request))).is_ready());
        assert_eq!(only(&records).identity(), expected);
    }
}

#[test]
fn a_request_without_a_record_passes_the_identity_layer() {
    let inner = service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(7)));
    let service = AuditIdentityLayer::<&str>::new().layer(inner);
    let request = Request::get("/").extension("ali").body(()).expect("parts");
    assert!(matches!(
        poll(pin!(service.oneshot(request))),
        Poll::Ready(Ok(7))
    ));
}

#[test]
fn without_required_a_full_sink_loses_records_and_serves() {
    let (queue, records) = Queue::bounded(1);
    let layer = AuditLayer::new(queue);
    let service = layer.layer(service_fn(|_: Request<CountedBody<()>>| {
        ready(Ok::<_, Infallible>(Response::new(Steps::default())))
    }));
    for _ in 0..3 {
        let response = poll(pin!(service.clone().oneshot(Request::new(()))));
        assert!(matches!(response, Poll::Ready(Ok(response)) if response.status() == 200));
    }
    assert_eq!((layer.lost(), layer.refused()), (2, 0));
    only(&records);
}

#[test]
fn with_required_a_full_sink_refuses_with_503_and_does_not_call_the_service() {
    let (queue, records) = Queue::bounded(1);
    let layer = AuditLayer::new(queue).with_required();
    let (service, mut handle) = mock::pair::<Request<CountedBody<()>>, Response<Steps>>();
    let mut service = layer.layer(service);
    handle.allow(2);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_ready());
    let first = service.call(Request::new(()));
    assert!(service.poll_ready(&mut cx).is_ready());
    let refused = pin!(service.call(Request::new(())));
    let Poll::Ready(Ok(response)) = poll(refused) else {
        panic!("refused at once")
    };
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "1");
    let code = response.extensions().get().map(Rejection::code);
    assert_eq!(code, Some("audit_unavailable"));
    read(response);
    assert!(poll(pin!(handle.next_request())).is_ready());
    assert!(
        poll(pin!(handle.next_request())).is_pending(),
        "the second was not sent"
    );

    // The slot of the first request was taken all the time; its record is kept.
    drop(first);
    assert_eq!((layer.lost(), layer.refused()), (0, 1));
    only(&records);
}

#[test]
fn a_slot_is_free_again_when_it_is_dropped_or_its_record_is_taken() {
    let (queue, records) = Queue::bounded(0);
    drop(queue.reserve().expect("a slot"));
    let slot = queue.reserve().expect("a slot");
    let record = Record::of(&Request::new(()), Duration::ZERO);
    assert_eq!(queue.accept(slot, record), Ok(()));
    assert!(queue.reserve().is_none());
    only(&records);
    assert!(queue.reserve().is_some());
}

#[test]
fn a_queue_without_its_writer_accepts_nothing() {
    let (queue, records) = Queue::bounded(9);
    let slot = queue.reserve().expect("a slot");
    drop(records);
    assert!(queue.reserve().is_none());
    let record = Record::of(&Request::new(()), Duration::ZERO);
    assert_eq!(queue.accept(slot, record), Err(Lost));
}

#[test]
fn the_writer_gets_the_records_in_order_and_ends_with_the_queue() {
    let (queue, records) = Queue::bounded(3);
    for second in 0..3 {
        let record = Record::of(&Request::new(()), Duration::from_secs(second));
        let slot = queue.reserve().expect("a slot");
        queue.accept(slot, record).expect("accepted");
    }
    drop(queue);
    let started: Vec<_> = records.map(|record| record.started().as_secs()).collect();
    assert_eq!(started, [0, 1, 2]);
}

#[test]
fn a_reserved_slot_is_always_accepted_while_other_threads_fill_the_queue() {
    const EACH: usize = 2_000;
    let (queue, records) = Queue::bounded(3);
    let fill = |queue: Queue| {
        let mut sent = 0;
        while sent < EACH {
            if let Some(slot) = queue.reserve() {
                let record = Record::of(&Request::new(()), Duration::ZERO);
                queue.accept(slot, record).expect("a slot was reserved");
                sent += 1;
            } else {
                std::thread::yield_now();
            }
        }
    };
    let count = std::thread::scope(|scope| {
        for _ in 0..4 {
            let queue = queue.clone();
            scope.spawn(move || fill(queue));
        }
        drop(queue);
        records.count()
    });
    assert_eq!(count, 4 * EACH);
}

#[test]
fn a_sink_that_panics_loses_the_record_only_also_during_a_panic() {
    let layer = AuditLayer::new(|_: Record| resume_unwind(Box::new("a panic of the sink")));
    let serve = |request: Request<CountedBody<()>>| -> Inner {
        match request.uri().path() {
            "/panic" => resume_unwind(Box::new("a panic of the service")),
            _ => ready(Ok(Response::new(Steps::default()))),
        }
    };
    let mut service = layer.layer(service_fn(serve));
    let request = Request::get("/panic").body(()).expect("parts");
    assert!(catch(|| drop(service.call(request))));
    let future = pin!(service.call(Request::new(())));
    assert!(matches!(poll(future), Poll::Ready(Ok(_))));
    assert_eq!(layer.lost(), 2);
}

#[test]
fn the_tracing_sink_writes_one_event_with_the_fields_of_the_record() {
    let request = Request::get("/a?token=hunter2")
        .header("x-request-id", "42")
        .extension(ClientIp::from_peer(([192, 0, 2, 1], 4711).into()))
        .body(())
        .expect("parts");
    let mut record = Record::of(&request, Duration::from_secs(7));
    record.set_identity("ali\nroot".into());
    record.status = Some(StatusCode::OK);
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        TracingSink.reserve().expect("a subscriber");
        TracingSink.accept((), record).expect("accepted");
    });
    let mut lines = log.0.lock().expect("not poisoned");
    let line = lines.pop().expect("an event");
    assert!(lines.is_empty());
    for (field, value) in [
        ("level", "INFO"),
        ("method", "GET"),
        ("path", "/a"),
        ("status", "200"),
        ("outcome", "cancelled"),
        ("client", "192.0.2.1"),
        ("identity", "ali\nroot"),
        ("request_id", "42"),
        ("started_ms", "7000"),
        ("duration_us", "0"),
    ] {
        assert_eq!(line[field], value, "{field}");
    }
    assert!(!line.contains_key("route") && !format!("{line:?}").contains("hunter2"));
}

#[test]
fn a_record_that_no_subscriber_takes_is_lost() {
    let layer = AuditLayer::new(TracingSink).with_required();
    let service = layer.layer(service_fn(|_: Request<CountedBody<()>>| {
        ready(Ok::<_, Infallible>(Response::new(Steps::default())))
    }));
    let none = tracing::subscriber::NoSubscriber::default();
    let response =
        tracing::subscriber::with_default(none, || poll(pin!(service.oneshot(Request::new(())))));
    assert!(matches!(response, Poll::Ready(Ok(response)) if response.status() == 503));
}

#[test]
fn bodies_forward_their_frames_their_size_and_their_end() {
    let (response, _records) = respond(200, &[Step::Data("ab"), Step::Trailers], Request::new(()));
    let body = response.into_body();
    assert!(!body.is_end_stream());
    let Poll::Ready(Ok(collected)) = poll(pin!(body.collect())) else {
        panic!("ready at once")
    };
    assert!(collected.trailers().is_some());
    assert_eq!(collected.to_bytes(), "ab");

    let (layer, _records) = recorded();
    let service = layer.layer(service_fn(|request: Request<CountedBody<Full<Bytes>>>| {
        assert_eq!(request.body().size_hint().exact(), Some(3));
        assert!(!request.body().is_end_stream());
        let body = Full::<Bytes>::from("abcd");
        ready(Ok::<_, Infallible>(Response::new(body)))
    }));
    let request = Request::new(Full::from("abc"));
    let Poll::Ready(Ok(response)) = poll(pin!(service.oneshot(request))) else {
        panic!("answered at once")
    };
    assert_eq!(response.body().size_hint().exact(), Some(4));
}

#[test]
fn readiness_is_that_of_the_service() {
    let (layer, _records) = recorded();
    let (service, mut handle) = mock::pair::<Request<CountedBody<()>>, Response<Steps>>();
    let mut service = tokio_test::task::spawn(layer.layer(service));
    handle.allow(0);
    let readiness =
        service.enter(|cx, mut service| Service::<Request<()>>::poll_ready(&mut *service, cx));
    assert_pending!(readiness);
    handle.allow(1);
    let readiness =
        service.enter(|cx, mut service| Service::<Request<()>>::poll_ready(&mut *service, cx));
    assert_ready_ok!(readiness);
}

#[test]
fn everything_is_send_and_sync_and_the_services_are_clone() {
    fn check<T: Clone + Send + Sync>(_: &T) {}
    fn is_shared<T: Send + Sync>(_: &T) {}
    fn is_send<T: Send>(_: &T) {}
    let (layer, records) = recorded();
    check(&layer);
    check(&layer.layer(()));
    check(&AuditIdentityLayer::<String>::new().layer(()));
    is_send(&records);
    let (response, _records) = respond(200, &[Step::Wait], Request::new(()));
    is_shared(response.body());
}

#[test]
fn only_one_well_formed_traceparent_counts() {
    const ID: &str = "0af7651916cd43dd8448eb211c80319c";
    let valid = format!("00-{ID}-b7ad6b7169203331-01");
    for (values, is_valid) in [
        (&[&*valid][..], true),
        (&[], false),
        (&[&valid, &valid], false),
        (&[&format!("cc-{ID}-b7ad6b7169203331-01-more")], true),
        (&[&format!("00-{ID}-b7ad6b7169203331-01-more")], false),
        (&[&format!("00-{ID}-b7ad6b7169203331-01-")], false),
        (&[&format!("ff-{ID}-b7ad6b7169203331-01")], false),
        (&[&format!("00-{ID}-0000000000000000-01")], false),
        (
            &[&format!("00-{}-b7ad6b7169203331-01", "0".repeat(32))],
            false,
        ),
        (&[&valid.to_uppercase()], false),
        (&[&format!("+0-{ID}-b7ad6b7169203331-01")], false),
        (&[&format!("00-{ID}-b7ad6b7169203331")], false),
        (&[&format!(" {valid}")], false),
    ] {
        let mut request = Request::new(());
        for value in values {
            let name = HeaderName::from_static("traceparent");
            let value = HeaderValue::from_str(value).expect("a value");
            request.headers_mut().append(name, value);
        }
        let found = Record::of(&request, Duration::ZERO).trace_id();
        assert_eq!(
            found.map(|id| id.to_string()),
            is_valid.then(|| ID.to_owned()),
            "{values:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_trace_id_that_is_not_zero_reads_back(id in 1_u128.., parent in 1_u64.., flags: u8) {
        let header = format!("00-{id:032x}-{parent:016x}-{flags:02x}");
        let read = TraceId::from_traceparent(&header).expect("well formed");
        prop_assert_eq!(read.to_string(), format!("{id:032x}"));
    }

    #[test]
    fn a_trace_id_that_is_read_stands_in_the_text(text in "([0-9a-fA-F]{2}-?){1,30}|.{0,60}") {
        if let Some(id) = TraceId::from_traceparent(&text) {
            prop_assert_eq!(&text[3..35], id.to_string());
        }
    }
}
