//! Each layer against the most similar published one, in turns.
//!
//! The benches of single layers run one after the other, and the state of the allocator and of the
//! branch predictor then differs more than two layers do. Here both answer the same requests, a few
//! at a time and in turns, and the first changes with every round. The addresses of stack and heap
//! have as large an effect, so there are several processes, and the median counts. `cargo bench -p
//! ziggurat-benches --bench peers` runs it.

use std::{
    array,
    collections::BTreeMap,
    env,
    fmt::Debug,
    io::{self, Write as _},
    num::NonZeroU32,
    process::Command,
    time::{Duration, Instant},
};

use http::Request;
use tower::{Layer as _, Service, limit::ConcurrencyLimitLayer};
use tower_http::{catch_panic::CatchPanicLayer, limit::RequestBodyLimitLayer, trace::TraceLayer};
use ziggurat_benches::{
    Bare, Body, TOKEN,
    issuer::{access_tokens, peer, with_new_token, with_token},
    of_page,
    peer_layers::{self, BareAxum},
    request, serve,
};
use ziggurat_layers::{
    audit::{AuditLayer, TracingSink},
    bearer::{BearerLayer, Hashed, TokenHash},
    body_limit::BodyLimitLayer,
    link::{LinkLayer, LinkValue},
    origin::{OriginLayer, Origins},
    rate_limit::{AtOnce, Concurrency, RateLimitLayer, Steady},
    sanitize::SanitizeLayer,
};

/// Set in the processes that measure.
const MEASURES: &str = "ZIGGURAT_BENCH_MEASURES";
const PROCESSES: usize = 15;
const ROUNDS: usize = 20_000;
/// Rounds where a request takes as long as verifying a signature.
const SLOW_ROUNDS: usize = 500;
/// Few enough for the cache, enough for the resolution of the clock.
const REQUESTS: u32 = 16;

/// Nanoseconds per request: with our layer, with the published one, with neither.
type Times = [f64; 3];

fn main() -> io::Result<()> {
    if env::var_os(MEASURES).is_some() {
        measure()
    } else {
        print_medians()
    }
}

/// Prints the median of the results of the processes.
fn print_medians() -> io::Result<()> {
    let mut times = BTreeMap::<_, Vec<Times>>::new();
    for _ in 0..PROCESSES {
        let said = Command::new(env::current_exe()?)
            .env(MEASURES, "1")
            .output()?;
        let said = String::from_utf8(said.stdout).map_err(io::Error::other)?;
        for line in said.lines() {
            let (name, measured) = line.split_once(": ").expect("a line of `compare`");
            let mut numbers = measured.split(' ').map(str::parse);
            let numbers = array::from_fn(|_| numbers.next().expect("three").expect("a number"));
            times.entry(name.to_owned()).or_default().push(numbers);
        }
    }
    for (name, times) in times {
        let [ours, theirs, bare] = array::from_fn(|which| median(times.iter().map(|of| of[which])));
        let ratio = |[ours, theirs, _]: &Times| ours / theirs;
        let least = times.iter().map(ratio).fold(f64::INFINITY, f64::min);
        let most = times.iter().map(ratio).fold(0.0, f64::max);
        let ratio = median(times.iter().map(ratio));
        writeln!(
            io::stdout(),
            "{name}: {ratio:.2} ({least:.2} to {most:.2}); \
             {ours:.0} and {theirs:.0} ns, {bare:.0} with neither"
        )?;
    }
    Ok(())
}

fn measure() -> io::Result<()> {
    compare_layers()?;
    compare_access_tokens()?;
    let origins = Origins::listed(["http://localhost:3000"]).expect("an origin");
    compare_with(
        "origin / Csrf",
        ROUNDS,
        of_page,
        OriginLayer::new(origins).layer(Bare),
        peer_layers::origin("http://localhost:3000").layer(Bare),
    )?;
    let _log = peer_layers::log();
    compare(
        "audit / Trace, to one log",
        AuditLayer::new(TracingSink).layer(Bare),
        TraceLayer::new_for_http().layer(Bare),
    )
}

fn compare_access_tokens() -> io::Result<()> {
    compare_with(
        "access_token, remembered / tower-oauth2-resource-server",
        SLOW_ROUNDS,
        with_token,
        BearerLayer::new(access_tokens(10_000)).layer(Bare),
        peer().layer(Bare),
    )?;
    compare_with(
        "access_token, first time / tower-oauth2-resource-server",
        SLOW_ROUNDS,
        with_new_token,
        BearerLayer::new(access_tokens(1)).layer(Bare),
        peer().layer(Bare),
    )
}

fn compare_layers() -> io::Result<()> {
    let tokens = Hashed::from_iter([(TokenHash::of(TOKEN), ())]);
    compare(
        "bearer / AsyncRequireAuthorization",
        BearerLayer::new(tokens.clone()).layer(Bare),
        peer_layers::bearer(tokens).layer(Bare),
    )?;
    let quota = "1000000000 per second".parse().expect("a quota");
    compare(
        "rate_limit / tower_governor",
        RateLimitLayer::new(Steady::new(quota)).layer(BareAxum),
        peer_layers::rate_limit(1_000_000_000, Duration::from_nanos(1)).layer(BareAxum),
    )?;
    let one = Concurrency::new(AtOnce(NonZeroU32::MIN));
    compare(
        "rate_limit, concurrency / ConcurrencyLimit",
        RateLimitLayer::new(one).layer(Bare),
        ConcurrencyLimitLayer::new(1).layer(Bare),
    )?;
    compare(
        "body_limit / RequestBodyLimit",
        BodyLimitLayer::new(1 << 20).layer(Bare),
        RequestBodyLimitLayer::new(1 << 20).layer(Bare),
    )?;
    let link = LinkValue::service_desc("/openapi.json").expect("a reference");
    let appending = peer_layers::link(r#"</openapi.json>; rel="service-desc""#);
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

/// Prints the time of a request with each of two services.
fn compare<A, B>(name: &str, ours: A, theirs: B) -> io::Result<()>
where
    A: Service<Request<Body>, Error: Debug>,
    B: Service<Request<Body>, Error: Debug>,
{
    compare_with(name, ROUNDS, request, ours, theirs)
}

fn compare_with<A, B>(
    name: &str,
    rounds: usize,
    request: fn() -> Request<Body>,
    mut ours: A,
    mut theirs: B,
) -> io::Result<()>
where
    A: Service<Request<Body>, Error: Debug>,
    B: Service<Request<Body>, Error: Debug>,
{
    let (mut with_ours, mut with_theirs) = (Vec::new(), Vec::new());
    let mut bare = Vec::new();
    for round in 0..rounds {
        if round % 2 == 0 {
            with_ours.push(time(&mut ours, request));
            with_theirs.push(time(&mut theirs, request));
        } else {
            with_theirs.push(time(&mut theirs, request));
            with_ours.push(time(&mut ours, request));
        }
        bare.push(time(&mut Bare, request));
    }
    let [ours, theirs, bare] =
        [with_ours, with_theirs, bare].map(|times| median(times.into_iter().map(nanoseconds)));
    writeln!(io::stdout(), "{name}: {ours} {theirs} {bare}")
}

/// Returns the time of a request, with dropping the answer but without making the request.
fn time<S>(service: &mut S, request: fn() -> Request<Body>) -> Duration
where
    S: Service<Request<Body>, Error: Debug>,
{
    let mut requests = array::from_fn::<_, { REQUESTS as usize }, _>(|_| Some(request()));
    let start = Instant::now();
    for request in &mut requests {
        serve(request, service);
    }
    start.elapsed() / REQUESTS
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
