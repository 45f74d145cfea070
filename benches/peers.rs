//! Each layer against the nearest published one, in turns.
//!
//! The benches of single layers measure one thing after another, and where the allocator and
//! the branch predictor stand by then is worth more than what separates two layers. Here both
//! answer the same requests a few at a time, first one and then the other, and who begins
//! changes with every round. `cargo bench -p ziggurat-benches --bench peers` runs it.

use std::{
    array,
    fmt::Debug,
    io::{self, Write as _},
    time::{Duration, Instant},
};

use http::{HeaderValue, Request, header};
use tower::{Layer as _, Service};
use tower_http::{
    catch_panic::CatchPanicLayer, limit::RequestBodyLimitLayer, set_header::SetResponseHeaderLayer,
};
use ziggurat_benches::{Bare, Body, request, send_from};
use ziggurat_layers::{
    body_limit::BodyLimitLayer,
    link::{Link, LinkLayer},
    sanitize::SanitizeLayer,
};

const ROUNDS: usize = 20_000;
/// Few enough to stay in the cache, and long enough for the clock.
const REQUESTS: u32 = 16;

fn main() -> io::Result<()> {
    compare(
        "body_limit / RequestBodyLimit",
        BodyLimitLayer::new(1 << 20).layer(Bare),
        RequestBodyLimitLayer::new(1 << 20).layer(Bare),
    )?;
    let link = Link::service_desc("/openapi.json").expect("a reference");
    let value = HeaderValue::from_static(r#"</openapi.json>; rel="service-desc""#);
    let appending = SetResponseHeaderLayer::appending(header::LINK, value);
    let linking = LinkLayer::new([link]);
    compare(
        "link / SetResponseHeader",
        linking.clone().layer(Bare),
        appending.clone().layer(Bare),
    )?;
    compare(
        "link on every response / SetResponseHeader",
        linking.on_every_response().layer(Bare),
        appending.layer(Bare),
    )?;
    compare(
        "sanitize / CatchPanic",
        SanitizeLayer::new().layer(Bare),
        CatchPanicLayer::new().layer(Bare),
    )
}

/// Prints what a request costs with each of two services.
fn compare<A, B>(name: &str, mut ours: A, mut theirs: B) -> io::Result<()>
where
    A: Service<Request<Body>, Error: Debug>,
    B: Service<Request<Body>, Error: Debug>,
{
    let (mut with_ours, mut with_theirs) = (Vec::new(), Vec::new());
    let mut bare = Vec::new();
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            with_ours.push(time(&mut ours));
            with_theirs.push(time(&mut theirs));
        } else {
            with_theirs.push(time(&mut theirs));
            with_ours.push(time(&mut ours));
        }
        bare.push(time(&mut Bare));
    }
    let [ours, theirs, bare] = [with_ours, with_theirs, bare].map(median);
    writeln!(
        io::stdout(),
        "{name}: {ours:?} and {theirs:?}, {:.3} ({bare:?} with neither)",
        ours.as_secs_f64() / theirs.as_secs_f64()
    )
}

/// What a request takes: dropping the answer is part of it, making the request is not.
fn time<S>(service: &mut S) -> Duration
where
    S: Service<Request<Body>, Error: Debug>,
{
    let mut requests = array::from_fn::<_, { REQUESTS as usize }, _>(|_| Some(request()));
    let start = Instant::now();
    for request in &mut requests {
        drop(send_from(request, service));
    }
    start.elapsed() / REQUESTS
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
