//! Any `Idempotency-Key`: an admitted one is a short string, and its quoted form is the same key.
#![no_main]

use std::{
    future::{Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Extensions, HeaderValue, Request, Response};
use http_body_util::Full;
use libfuzzer_sys::fuzz_target;
use tower::{Layer, Service, ServiceExt as _, service_fn};
use ziggurat_layers::idempotency::{DigestedBody, IdempotencyLayer};

type Body = Full<Bytes>;

fn served(_: Request<DigestedBody<Body>>) -> Ready<Result<Response<Body>, ()>> {
    ready(Ok(Response::new(Body::default())))
}

fn send<S>(service: S, key: &[u8]) -> Option<Response<Body>>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = ()>,
{
    let key = HeaderValue::from_bytes(key).ok()?;
    let request = Request::post("/").header("idempotency-key", key);
    let request = request.body(Body::default()).expect("parts");
    match pin!(service.oneshot(request)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(response)) => Some(response),
        _ => panic!("nothing here waits or fails"),
    }
}

/// Returns the characters of a string or of the bare form, without checking them.
fn characters(value: &str) -> String {
    let value = value.trim_matches([' ', '\t']);
    let Some(escaped) = value.strip_prefix('"') else {
        return value.to_owned();
    };
    let mut characters = escaped[..escaped.len() - 1].chars();
    let mut read = String::new();
    while let Some(character) = characters.next() {
        read.extend(if character == '\\' {
            characters.next()
        } else {
            Some(character)
        });
    }
    read
}

fuzz_target!(|value: &[u8]| {
    let layer = IdempotencyLayer::new(|_: &Extensions| Some(()));
    let service = layer.layer(service_fn(served));
    let Some(response) = send(service.clone(), value) else {
        return;
    };
    if response.status() == 400 {
        assert!(layer.is_empty());
        return;
    }
    let value = std::str::from_utf8(value).expect("an admitted key is ASCII");
    let key = characters(value);
    assert!((1..=255).contains(&key.len()), "{value}");
    assert!(
        key.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
        "{value}"
    );
    let quoted = format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""));
    let again = send(service, quoted.as_bytes()).expect("a header");
    assert_eq!(again.headers()["idempotent-replayed"], "true", "{value}");
});
