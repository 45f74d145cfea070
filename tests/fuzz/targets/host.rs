//! Any `Host` and any `Origin`: an admitted one is on this machine, as a URL parser reads it.
#![no_main]

use std::{
    future::{Ready, ready},
    net::Ipv6Addr,
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri};
use libfuzzer_sys::fuzz_target;
use tower::{Layer, Service, ServiceExt as _, service_fn, util::ServiceFn};
use ziggurat_layers::{
    host::{HostLayer, Hosts},
    origin::{OriginLayer, Origins},
};

type Inner = fn(Request<()>) -> Ready<Result<Response<Bytes>, ()>>;

fn served(_: Request<()>) -> Ready<Result<Response<Bytes>, ()>> {
    ready(Ok(Response::new(Bytes::new())))
}

fn is_admitted<L>(layer: &L, request: Request<()>) -> bool
where
    L: Layer<ServiceFn<Inner>>,
    L::Service: Service<Request<()>, Response = Response<Bytes>, Error = ()>,
{
    let service = layer.layer(service_fn(served as Inner));
    match pin!(service.oneshot(request)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(response)) => response.status() == 200,
        _ => panic!("nothing here waits or fails"),
    }
}

fn is_local(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else {
        return false;
    };
    let Some(authority) = uri.authority() else {
        return false;
    };
    let host = authority.host().trim_end_matches('.').to_ascii_lowercase();
    let ipv6 = host.trim_start_matches('[').trim_end_matches(']').parse();
    !authority.as_str().contains('@')
        && (["localhost", "127.0.0.1"].contains(&&*host) || ipv6 == Ok(Ipv6Addr::LOCALHOST))
}

fuzz_target!(|input: (&str, &str)| {
    let (host, origin) = input;
    let _ = (Hosts::listed([host]), Origins::listed([origin]));
    if let Ok(value) = HeaderValue::from_str(host) {
        let request = Request::get("/")
            .header("host", value)
            .body(())
            .expect("parts");
        if is_admitted(&HostLayer::default(), request) {
            assert!(is_local(&format!("http://{host}/")), "{host}");
        }
    }
    if let Ok(value) = HeaderValue::from_str(origin) {
        let request = Request::get("/")
            .header("origin", value)
            .body(())
            .expect("parts");
        if is_admitted(&OriginLayer::default(), request) {
            assert!(is_local(origin), "{origin}");
        }
    }
});
