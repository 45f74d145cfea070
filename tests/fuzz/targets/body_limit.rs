//! Any length headers and any chunks of a body: it passes whole within the limit, or is refused.
#![no_main]

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Collected};
use libfuzzer_sys::fuzz_target;
use tower::{Layer as _, ServiceExt as _, service_fn};
use ziggurat_layers::body_limit::{BodyLimitLayer, LimitedBody};

const LIMIT: usize = 64;

/// A body of unknown length, cut at the places the fuzzer chooses.
struct Chunked(VecDeque<Bytes>);

impl Body for Chunked {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|chunk| Ok(Frame::data(chunk))))
    }
}

fuzz_target!(|input: (Vec<Vec<u8>>, Vec<Vec<u8>>)| {
    let (lengths, chunks) = input;
    let total: usize = chunks.iter().map(Vec::len).sum();
    let mut request = Request::new(Chunked(chunks.into_iter().map(Bytes::from).collect()));
    let mut strict = true;
    for length in &lengths {
        let Ok(value) = HeaderValue::from_bytes(length) else {
            return;
        };
        strict &= length.iter().all(u8::is_ascii_digit) && !length.is_empty();
        request.headers_mut().append(header::CONTENT_LENGTH, value);
    }
    strict &= lengths.len() <= 1;

    let inner = service_fn(|request: Request<LimitedBody<Chunked>>| async {
        let read = request.into_body().collect().await;
        let bytes = read.map(Collected::to_bytes).unwrap_or_default();
        Ok::<_, Infallible>(Response::new(bytes))
    });
    let service = BodyLimitLayer::new(LIMIT as u64).layer(inner);
    let mut future = pin!(service.oneshot(request));
    let Poll::Ready(Ok(response)) = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("nothing here has to wait")
    };
    match response.status() {
        StatusCode::OK => assert!(strict && response.body().len() == total && total <= LIMIT),
        StatusCode::BAD_REQUEST => assert!(!strict),
        StatusCode::PAYLOAD_TOO_LARGE => assert!(strict),
        other => panic!("unexpected status {other}"),
    }
});
