use std::{
    convert::Infallible,
    future::poll_fn,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures_util::{FutureExt as _, stream};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::{
    sync::oneshot,
    time::{Instant, advance},
};
use tower::{ServiceExt as _, service_fn};

use super::*;

type Answer = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

/// A call that the test answers, and its notifier.
struct PendingCall {
    notifier: Option<Notifier>,
    answer: oneshot::Sender<Response<Answer>>,
}

fn answer(pieces: &'static [&'static str]) -> Response<Answer> {
    let frames = pieces
        .iter()
        .map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
    Response::new(StreamBody::new(stream::iter(frames)).boxed_unsync())
}

/// Sends a request with this `Accept` header; returns the response and the call.
async fn begin(
    accept: &str,
) -> (
    impl Future<Output = Response<impl http_body::Body<Data = Bytes, Error = Infallible> + Unpin>>
    + Unpin,
    PendingCall,
) {
    let call = Arc::new(Mutex::new(None));
    let shared = Arc::clone(&call);
    let service = service_fn(move |request: Request<()>| {
        let (answer, answered) = oneshot::channel();
        let notifier = request.extensions().get::<Notifier>().cloned();
        *shared.lock().expect("whole") = Some(PendingCall { notifier, answer });
        answered.map(|answer| Ok::<_, Infallible>(answer.expect("answered")))
    });
    let service = StreamableLayer::new()
        .with_render(|_: &Rejection| unreachable!("JSON"))
        .layer(service);
    let request = Request::post("/")
        .header("content-type", "application/json")
        .header("accept", accept)
        .body(())
        .expect("valid parts");
    let mut response = Box::pin(service.oneshot(request));
    // The call starts when the response is polled first.
    poll_fn(|cx| {
        assert!(response.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    let call = call.lock().expect("whole").take().expect("called");
    let response = response.map(|response| {
        let Ok(response) = response;
        response.map(Box::pin)
    });
    (response, call)
}

#[tokio::test]
async fn an_answer_without_messages_before_it_is_unchanged() {
    let (response, call) = begin("application/json, text/event-stream").await;
    assert!(call.notifier.is_some());
    call.answer.send(answer(&["{}"])).expect("waiting");
    let response = response.await;
    assert!(response.headers().is_empty());
    assert_eq!(
        response
            .into_body()
            .collect()
            .await
            .expect("whole")
            .to_bytes(),
        "{}"
    );
}

#[tokio::test]
async fn messages_come_in_order_and_before_the_answer() {
    let (response, call) = begin("*/*").await;
    let notifier = call.notifier.expect("events are taken");
    notifier.send(Bytes::from_static(b"1"));
    let response = response.await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(
        response.headers()["cache-control"],
        "no-cache, no-transform"
    );
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    notifier.send(Bytes::from_static(b"2"));
    call.answer
        .send(answer(&["{\"a\"", ":1}"]))
        .expect("waiting");
    notifier.send(Bytes::from_static(b"3"));
    let body = response
        .into_body()
        .collect()
        .await
        .expect("whole")
        .to_bytes();
    let expected = [
        "event: message\ndata: 1\n\n",
        "event: message\ndata: 2\n\n",
        "event: message\ndata: 3\n\n",
        "event: message\ndata: {\"a\":1}\n\n",
    ];
    assert_eq!(body, expected.concat());
}

#[tokio::test]
async fn a_message_sent_just_before_the_answer_comes_first() {
    let (response, call) = begin("text/event-stream").await;
    let notifier = call.notifier.expect("events are taken");
    call.answer.send(answer(&["{}"])).expect("waiting");
    notifier.send(Bytes::from_static(b"1"));
    let body = response.await.into_body();
    let body = body.collect().await.expect("whole").to_bytes();
    assert_eq!(
        body,
        "event: message\ndata: 1\n\nevent: message\ndata: {}\n\n"
    );
}

#[tokio::test(start_paused = true)]
async fn a_long_silence_sends_keep_alives() {
    let (response, call) = begin("text/event-stream").await;
    let began = Instant::now();
    let response = response.await;
    assert_eq!(began.elapsed(), KEEP_ALIVE_INTERVAL);
    let mut body = response.into_body();
    for silences in 1..=3 {
        let frame = body.frame().await.expect("a frame").expect("infallible");
        assert_eq!(frame.into_data().expect("data"), sse::KEEP_ALIVE);
        assert_eq!(began.elapsed(), KEEP_ALIVE_INTERVAL * silences);
    }
    call.answer.send(answer(&["{}"])).expect("waiting");
    let rest = body.collect().await.expect("whole").to_bytes();
    assert_eq!(rest, "event: message\ndata: {}\n\n");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_accepts_no_events_waits_for_the_answer() {
    let (response, call) = begin("application/json").await;
    assert!(call.notifier.is_none());
    let mut response = response;
    advance(KEEP_ALIVE_INTERVAL * 10).await;
    assert!((&mut response).now_or_never().is_none());
    call.answer.send(answer(&["{}"])).expect("waiting");
    let body = response.await.into_body();
    assert_eq!(body.collect().await.expect("whole").to_bytes(), "{}");
}

#[tokio::test]
async fn a_client_that_hangs_up_drops_the_call() {
    let (response, call) = begin("*/*").await;
    call.notifier
        .expect("events are taken")
        .send(Bytes::from_static(b"1"));
    let response = response.await;
    assert!(!call.answer.is_closed());
    drop(response);
    assert!(call.answer.is_closed());
    let (response, call) = begin("*/*").await;
    drop(response);
    assert!(call.answer.is_closed());
}

#[tokio::test]
async fn a_request_that_is_not_json_is_refused() {
    let service = StreamableLayer::new().layer(service_fn(|_: Request<()>| {
        Box::pin(async {
            Ok::<_, Infallible>(Response::new(http_body_util::Full::<Bytes>::default()))
        })
    }));
    let request = Request::post("/").header("content-type", "text/plain");
    let response = service
        .oneshot(request.body(()).expect("valid parts"))
        .await;
    let Ok(response) = response;
    assert_eq!(response.status(), 415);
}

#[test]
fn a_plain_body_has_no_space_for_a_call() {
    type Call = std::future::Ready<[u8; 1024]>;
    let plain = size_of::<StreamableBody<Call, Answer>>();
    assert!(
        plain <= size_of::<Answer>() + size_of::<usize>(),
        "{plain} bytes"
    );
}
