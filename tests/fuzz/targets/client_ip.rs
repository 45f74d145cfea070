//! Any forwarding headers: the walk ends and believes only listed proxies. Any text of a quota or
//! of a list of networks is read or refused.
#![no_main]

use std::{
    future::{Ready, ready},
    net::IpAddr,
    pin::pin,
    task::{Context, Poll, Waker},
};

use http::{HeaderValue, Request};
use libfuzzer_sys::fuzz_target;
use tower::{Layer as _, ServiceExt as _, service_fn};
use ziggurat_layers::{
    client_ip::{ClientIp, HopHeader, SetClientIpLayer, TrustedProxies},
    rate_limit::Quota,
};

fn seen(trusted: &str, header: HopHeader, request: Request<()>) -> IpAddr {
    let inner = service_fn(|request: Request<()>| -> Ready<Result<IpAddr, ()>> {
        let caller = request.extensions().get().map(ClientIp::client);
        ready(caller.ok_or(()))
    });
    let trusted = trusted.parse().expect("a constant list");
    let service = SetClientIpLayer::new(trusted, header).layer(inner);
    match pin!(service.oneshot(request)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(client)) => client,
        _ => panic!("nothing here waits or fails"),
    }
}

fuzz_target!(|input: (Vec<Vec<u8>>, &str)| {
    let (lines, text) = input;
    if let Ok(quota) = text.parse::<Quota>() {
        assert_eq!(quota.to_string().parse(), Ok(quota));
    }
    let _ = text.parse::<TrustedProxies>();

    let peer = "10.0.0.1:1".parse().expect("an address");
    let mut request = Request::builder().extension(ClientIp::from_peer(peer));
    for line in &lines {
        let Ok(value) = HeaderValue::from_bytes(line) else {
            return;
        };
        request = request
            .header("forwarded", value.clone())
            .header("x-forwarded-for", value.clone())
            .header("x-real-ip", value);
    }
    let request = request.body(()).expect("checked headers");
    for header in [
        HopHeader::Forwarded,
        HopHeader::XForwardedFor,
        HopHeader::Single("x-real-ip".parse().expect("a name")),
    ] {
        let client = seen("", header.clone(), request.clone());
        assert_eq!(client.to_string(), "10.0.0.1", "nobody is listed");
        let client = seen("10.0.0.0/8", header, request.clone());
        assert_eq!(client, client.to_canonical());
    }
});
