//! Any `Link` headers of an inner service: they stay as they are, and at most one link is added.
//! Any target and parameter is written in a form that the parser finds again.
#![no_main]

use std::{
    convert::Infallible,
    future::ready,
    pin::pin,
    task::{Context, Poll, Waker},
};

use http::{HeaderValue, Request, Response, header};
use libfuzzer_sys::fuzz_target;
use tower::{Layer as _, ServiceExt as _, service_fn};
use ziggurat_layers::link::{LinkLayer, LinkValue};

fn through(layer: &LinkLayer, response: Response<()>) -> Response<()> {
    let mut response = Some(response);
    let inner = service_fn(move |_: Request<()>| {
        ready(Ok::<_, Infallible>(response.take().expect("called once")))
    });
    let mut future = pin!(layer.layer(inner).oneshot(Request::new(())));
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(Ok(response)) => response,
        _ => panic!("nothing here waits or fails"),
    }
}

fuzz_target!(|input: (Vec<Vec<u8>>, &str, &str, &str)| {
    let (lines, target, name, value) = input;
    let Ok(link) = LinkValue::service_desc(target) else {
        return;
    };
    let link = link.clone().with_param(name, value).unwrap_or(link);
    let layer = LinkLayer::new([link]);

    let mut response = Response::new(());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    for line in &lines {
        let Ok(line) = HeaderValue::from_bytes(line) else {
            return;
        };
        response.headers_mut().append(header::LINK, line);
    }
    let once = through(&layer, response);
    let written: Vec<_> = once.headers().get_all(header::LINK).iter().collect();
    assert!(written.len() <= lines.len() + 1);
    assert!(
        written
            .iter()
            .zip(&lines)
            .all(|(written, line)| written.as_bytes() == line)
    );

    let count = written.len();
    let twice = through(&layer, once);
    assert_eq!(
        twice.headers().get_all(header::LINK).iter().count(),
        count,
        "added twice"
    );
});
