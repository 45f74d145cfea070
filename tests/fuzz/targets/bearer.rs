//! Any `Authorization` header and any path: a request passes only with the one good token or
//! to an exempt path, and nothing panics.
#![no_main]

use std::{convert::Infallible, future::ready};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri};
use libfuzzer_sys::fuzz_target;
use tower::{Layer as _, ServiceExt as _, service_fn};
use ziggurat_layers::bearer::{BearerLayer, Hashed, TokenHash};

const TOKEN: &str = "open-sesame";

fuzz_target!(|input: (&[u8], &[u8])| {
    let (header, path) = input;
    let Ok(value) = HeaderValue::from_bytes(header) else {
        return;
    };
    let Ok(uri) = Uri::try_from(path) else { return };
    let mut request = Request::new(());
    *request.uri_mut() = uri.clone();
    request.headers_mut().insert("authorization", value);

    let tokens = Hashed::from_iter([(TokenHash::of(TOKEN), ())]);
    let layer = BearerLayer::new(tokens).with_exempt(["/open/*"]);
    let inner =
        service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(Bytes::new()))));
    let mut future = std::pin::pin!(layer.layer(inner).oneshot(request));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Ok(response)) = future.as_mut().poll(&mut cx) else {
        panic!("nothing here has to wait")
    };
    if response.status().is_success() {
        let has_token = header.ends_with(TOKEN.as_bytes())
            && header.to_ascii_lowercase().starts_with(b"bearer ");
        assert!(has_token || uri.path().starts_with("/open/"));
    }
});
