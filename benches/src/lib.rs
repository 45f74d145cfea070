//! Shared code of all benches: the bare service, and functions to drive it without a runtime.
//!
//! A bench compares, in one run, the bare service (`baseline`), a request that the layer admits
//! (`pass`), one it refuses (`refuse`) and the most similar published layer (`peer`). Allocations
//! are counted, too. Making the request is not measured, dropping it is.

pub mod cli;
pub mod issuer;
pub mod peer_layers;
pub mod rag;
pub mod tools;

use std::{
    convert::Infallible,
    fmt::Debug,
    net::SocketAddr,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use divan::Bencher;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::Full;
use tower_service::Service;
use ziggurat_layers::client_ip::ClientIp;

/// The body of requests and responses.
pub type Body = Full<Bytes>;

/// The token in the requests.
pub const TOKEN: &str = "O9ms9jqTfUdy-DIjvpFWeqd_yH_NEj7me0mgOnOjGdQ=";

/// Answers every request with the same small JSON.
#[derive(Clone, Copy, Debug)]
pub struct Bare;

/// Response future of [`Bare`], which is ready at the first poll.
#[derive(Clone, Copy, Debug)]
pub struct Answer;

impl<B> Service<Request<B>> for Bare {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    // Not inlined: a handler and its future are separate from the layers before it.
    #[inline(never)]
    fn call(&mut self, _: Request<B>) -> Self::Future {
        Answer
    }
}

impl Future for Answer {
    type Output = Result<Response<Body>, Infallible>;

    #[inline(never)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(json(r#"{"ok":true}"#)))
    }
}

/// A JSON response.
#[must_use]
pub fn json(body: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::from(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Runs the benches of a file.
///
/// A sample is long enough for the timer, and its requests fit into the cache, as a request that
/// was just read from a socket does.
pub fn run() {
    divan::Divan::from_args()
        .sample_count(4000)
        .sample_size(16)
        .main();
}

/// Measures one request through a service, from the call to dropping the answer.
pub fn measure<S, B>(bencher: Bencher<'_, '_>, mut service: S, request: fn() -> Request<B>)
where
    S: Service<Request<B>, Error: Debug>,
{
    bencher
        .with_inputs(|| Some(request()))
        .bench_local_refs(|request| serve(request, &mut service));
}

/// Runs a future that is ready at once.
///
/// # Panics
/// Panics when it is pending.
pub fn ready_now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nothing in a bench has to wait"),
    }
}

/// Sends one request and takes the answer.
///
/// # Panics
/// Panics when the service is not ready or fails.
pub fn send<S, B>(service: &mut S, request: Request<B>) -> S::Response
where
    S: Service<Request<B>, Error: Debug>,
{
    match answer(service, &mut Some(request)) {
        Poll::Ready(response) => response.expect("the services of a bench do not fail"),
        Poll::Pending => panic!("nothing in a bench has to wait"),
    }
}

/// Takes the request, sends it and drops the answer in place, so that no move is measured.
///
/// # Panics
/// Panics when it is empty already, or the service is not ready or fails.
pub fn serve<S, B>(request: &mut Option<Request<B>>, service: &mut S)
where
    S: Service<Request<B>, Error: Debug>,
{
    let answer = answer(service, request);
    assert!(matches!(answer, Poll::Ready(Ok(_))), "answered at once");
}

#[inline]
fn answer<S, R>(service: &mut S, request: &mut Option<R>) -> Poll<Result<S::Response, S::Error>>
where
    S: Service<R>,
{
    let ready = service.poll_ready(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(ready, Poll::Ready(Ok(()))), "always ready");
    poll(pin!(call(service, request)))
}

// A server reads a request into its own memory, keeps the future in a task and polls it through a
// pointer. Without these two functions the optimiser would remove all that for some layers and not
// for others.

#[inline(never)]
fn call<S, R>(service: &mut S, request: &mut Option<R>) -> S::Future
where
    S: Service<R>,
{
    service.call(request.take().expect("a request is sent once"))
}

#[inline(never)]
fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A request as a server passes it on: a few headers, and the client address.
///
/// # Panics
/// Never: its parts are constants.
#[must_use]
pub fn request() -> Request<Body> {
    let peer = SocketAddr::from(([192, 0, 2, 7], 4711));
    // Shares its bytes, as the URI of a request read from a socket does.
    Request::post(Uri::from_static("/mcp/v1"))
        .header("host", "localhost:8080")
        .header("user-agent", "bench")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("content-length", "40")
        .header("authorization", format!("Bearer {TOKEN}"))
        .extension(ClientIp::from_peer(peer))
        .body(Full::from(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#))
        .expect("constant parts")
}

/// The same request, sent by a page of this machine.
#[must_use]
pub fn of_page() -> Request<Body> {
    let mut request = request();
    let origin = HeaderValue::from_static("http://localhost:3000");
    request.headers_mut().insert(header::ORIGIN, origin);
    request
}
