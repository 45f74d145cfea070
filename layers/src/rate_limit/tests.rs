use std::{
    collections::HashMap,
    convert::Infallible,
    future::{Ready, ready},
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use bytes::Bytes;
use proptest::prelude::*;
use tokio_test::{assert_pending, assert_ready_ok, block_on};
use tower::{ServiceExt as _, service_fn, util::ServiceFn};
use tower_test::mock;

use super::*;
use crate::{
    client_ip::ClientIp,
    clock::{Clock as _, ManualClock},
    reject::{AuthFailed, Problem},
};

type Answer = Response<Bytes>;

const MINUTE: Duration = Duration::from_secs(60);

type Inner = ServiceFn<fn(Request<()>) -> Ready<Result<Answer, &'static str>>>;

/// Answers with the outcome in the request's extension, or fails without one.
fn answer(request: &Request<()>) -> Result<Answer, &'static str> {
    let mut response = Response::new(Bytes::from_static(b"done"));
    let said = response.extensions_mut();
    match request.extensions().get().ok_or("out of order")? {
        Outcome::Failed => drop(said.insert(AuthFailed)),
        Outcome::Succeeded => drop(said.insert(AuthSucceeded)),
        Outcome::Neither => {}
    }
    Ok(response)
}

fn wrap<P: Clone, R: Clone>(
    layer: &RateLimitLayer<P, ByAddress, R>,
) -> RateLimit<Inner, P, ByAddress, R> {
    layer.layer(service_fn(|request| ready(answer(&request))))
}

fn from(peer: &str, outcome: Outcome) -> Request<()> {
    let peer: IpAddr = peer.parse().expect("an address");
    let mut request = Request::new(());
    let caller = ClientIp::from_peer(SocketAddr::new(peer, 4711));
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(outcome);
    request
}

fn send<P, R>(layer: &RateLimitLayer<P, ByAddress, R>, request: Request<()>) -> Answer
where
    P: Policy + Clone,
    R: Render<Bytes> + Clone,
{
    block_on(wrap(layer).oneshot(request)).expect("the request carries an outcome")
}

fn field<'a>(response: &'a Answer, name: &str) -> Option<&'a str> {
    let value = response.headers().get(name)?;
    Some(value.to_str().expect("ascii"))
}

fn quota(text: &str) -> Quota {
    text.parse().expect(text)
}

fn key(n: u32) -> Key {
    IpAddr::V4(n.into()).into()
}

fn failures(text: &str) -> (ManualClock, FailureWindow<ManualClock>) {
    let clock = ManualClock::new();
    let policy = FailureWindow::new(quota(text)).with_clock(clock.clone());
    (clock, policy)
}

fn steady(text: &str) -> (ManualClock, Steady<ManualClock>) {
    let clock = ManualClock::new();
    let policy = Steady::new(quota(text)).with_clock(clock.clone());
    (clock, policy)
}

/// Sends attempts, one after the other, until one is refused.
fn admitted<P: Policy>(policy: &P, key: Key, outcome: Outcome) -> u32 {
    let mut admitted = 0;
    while let Ok(permit) = policy.admit(key, policy.limit()) {
        permit.settle(outcome);
        admitted += 1;
        assert!(admitted < 1000, "never refused");
    }
    admitted
}

#[derive(Clone, Debug)]
struct Closed(Duration);

impl Policy for Closed {
    type Limit = Quota;
    type Permit = Remaining;

    fn limit(&self) -> Quota {
        quota("5/m")
    }

    fn admit(&self, _: Key, _: Quota) -> Result<Remaining, Limited> {
        Err(Limited::new(self.0))
    }
}

// === the layer ===

#[test]
fn layers_and_services_are_send_sync_and_clone_and_futures_send_and_sync() {
    fn check<T: Send + Sync + Clone>(_: &T) {}
    fn check_future<T: Send + Sync>(_: &T) {}
    let layer = RateLimitLayer::new(Steady::new(quota("5/s")));
    check(&layer);
    check(&layer.layer(()));
    let layer = RateLimitLayer::new(FailureWindow::new(quota("5/s")));
    check(&layer);
    check(&layer.layer(()));
    check_future(&wrap(&layer).call(from("192.0.2.1", Outcome::Neither)));
}

#[test]
fn a_refusal_says_why_and_when_to_come_back() {
    let response = send(
        &RateLimitLayer::new(Closed(Duration::from_millis(872_100))),
        from("192.0.2.1", Outcome::Neither),
    );
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.body(), r#"{"error":"Rate limit exceeded"}"#);
    assert_eq!(field(&response, "retry-after"), Some("873"));
    assert_eq!(
        field(&response, "ratelimit-policy"),
        Some(r#""default";q=5;w=60"#)
    );
    assert_eq!(
        field(&response, "ratelimit"),
        Some(r#""default";r=0;t=873"#)
    );
    let rejection = response.extensions().get::<Rejection>().expect("kept");
    assert_eq!(rejection.code(), "rate_limited");
}

#[test]
fn render_message_and_name_of_the_refusal_can_be_set() {
    let layer = RateLimitLayer::new(Closed(MINUTE))
        .with_render(Problem)
        .with_message("Slow down")
        .with_name(r#"the "front\" door"#)
        .expect("printable");
    let response = send(&layer, from("192.0.2.1", Outcome::Neither));
    assert_eq!(
        field(&response, "content-type"),
        Some("application/problem+json")
    );
    let body = std::str::from_utf8(response.body()).expect("json");
    assert!(body.contains("Slow down"), "{body}");
    assert_eq!(
        field(&response, "ratelimit"),
        Some(r#""the \"front\\\" door";r=0;t=60"#)
    );

    for name in ["line\nbreak", "caf\u{e9}", "\u{7f}"] {
        let layer = RateLimitLayer::new(Closed(MINUTE));
        assert!(layer.with_name(name).is_err(), "{name:?}");
    }
}

#[test]
fn retry_after_is_rounded_up_and_never_zero() {
    let cases = [
        (Duration::ZERO, "1"),
        (Duration::from_nanos(1), "1"),
        (Duration::from_secs(1), "1"),
        (Duration::from_nanos(1_000_000_001), "2"),
        (Duration::from_millis(59_999), "60"),
        (Duration::MAX, "999999999999999"),
    ];
    for (wait, expected) in cases {
        let layer = RateLimitLayer::new(Closed(wait));
        let response = send(&layer, from("192.0.2.1", Outcome::Neither));
        assert_eq!(field(&response, "retry-after"), Some(expected), "{wait:?}");
    }
}

#[tokio::test]
async fn the_service_has_to_be_ready_and_is_not_called_for_a_refused_request() {
    let layer = RateLimitLayer::new(Closed(MINUTE));
    let (mut service, mut handle) = mock::spawn_layer::<Request<()>, Answer, _>(layer);
    handle.allow(0);
    assert_pending!(service.poll_ready());
    handle.allow(1);
    assert_ready_ok!(service.poll_ready());
    let response = service.call(from("192.0.2.1", Outcome::Neither)).await;
    assert_eq!(
        response.expect("refused").status(),
        StatusCode::TOO_MANY_REQUESTS
    );
    drop(service);
    assert!(
        handle.next_request().await.is_none(),
        "the service was called"
    );
}

#[test]
fn clients_are_distinguished_by_ipv4_address_and_ipv6_64() {
    let cases = [
        ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "::ffff:192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false),
        ("2001:db8::1", "2001:db8::ffff:0:0:2", true),
        ("2001:db8::1", "2001:db8:0:1::1", false),
    ];
    for (first, second, together) in cases {
        let layer = RateLimitLayer::new(steady("1/m").1);
        send(&layer, from(first, Outcome::Neither));
        let refused = send(&layer, from(second, Outcome::Neither)).status() != StatusCode::OK;
        assert_eq!(refused, together, "{first} and {second}");
    }
}

#[test]
fn requests_without_an_address_share_one_quota() {
    let layer = RateLimitLayer::new(steady("1/m").1);
    let mut request = Request::new(());
    request.extensions_mut().insert(Outcome::Neither);
    assert_eq!(send(&layer, request.clone()).status(), StatusCode::OK);
    assert_eq!(
        send(&layer, request).status(),
        StatusCode::TOO_MANY_REQUESTS
    );
    let known = from("192.0.2.1", Outcome::Neither);
    assert_eq!(send(&layer, known).status(), StatusCode::OK);
}

#[test]
fn admitted_responses_carry_the_fields_only_when_asked_to() {
    let request = || from("192.0.2.1", Outcome::Failed);

    let response = send(&RateLimitLayer::new(steady("60/m").1), request());
    assert!(response.headers().is_empty());

    let layer = RateLimitLayer::new(steady("60/m").1).with_fields_on_success();
    send(&layer, request());
    let response = send(&layer, request());
    assert_eq!(response.body(), "done");
    assert_eq!(
        field(&response, "ratelimit-policy"),
        Some(r#""requests";q=60;w=60"#)
    );
    assert_eq!(
        field(&response, "ratelimit"),
        Some(r#""requests";r=58;t=2"#)
    );

    let (clock, policy) = failures("3 per 15 minutes");
    let layer = RateLimitLayer::new(policy).with_fields_on_success();
    let response = send(&layer, from("192.0.2.1", Outcome::Neither));
    assert_eq!(field(&response, "ratelimit"), Some(r#""failures";r=3"#));
    send(&layer, request());
    clock.advance(MINUTE);
    let response = send(&layer, request());
    assert_eq!(
        field(&response, "ratelimit"),
        Some(r#""failures";r=1;t=840"#)
    );
    let response = send(&layer, from("192.0.2.1", Outcome::Neither));
    assert_eq!(
        field(&response, "ratelimit"),
        Some(r#""failures";r=1;t=840"#)
    );
}

#[test]
fn the_fields_of_several_limits_are_all_sent() {
    let outer = RateLimitLayer::new(steady("60/m").1).with_fields_on_success();
    let inner = RateLimitLayer::new(Closed(MINUTE));
    let service = outer.layer(wrap(&inner));
    let request = from("192.0.2.1", Outcome::Neither);
    let response: Answer = block_on(service.oneshot(request)).expect("refused inside");
    let limits: Vec<_> = response.headers().get_all("ratelimit").iter().collect();
    assert_eq!(limits, [r#""default";r=0;t=60"#, r#""requests";r=59;t=1"#]);
}

#[test]
fn a_failure_wins_over_a_success_in_one_response() {
    let mut response = Response::new(());
    assert_eq!(Outcome::of(&response), Outcome::Neither);
    response.extensions_mut().insert(AuthSucceeded);
    assert_eq!(Outcome::of(&response), Outcome::Succeeded);
    response.extensions_mut().insert(AuthFailed);
    assert_eq!(Outcome::of(&response), Outcome::Failed);
}

// === the steady policy ===

#[test]
fn a_steady_rate_admits_a_burst_and_then_one_at_a_time() {
    let (clock, policy) = steady("10 per 15 minutes");
    assert_eq!(admitted(&policy, key(1), Outcome::Neither), 10);
    let limited = policy
        .admit(key(1), policy.limit())
        .expect_err("the burst is spent");
    assert_eq!(limited.retry_after(), Duration::from_secs(90));

    clock.advance(Duration::from_secs(89));
    assert_eq!(admitted(&policy, key(1), Outcome::Neither), 0);
    clock.advance(Duration::from_secs(1));
    assert_eq!(admitted(&policy, key(1), Outcome::Neither), 1);
    clock.advance(Duration::from_secs(100 * 900));
    assert_eq!(admitted(&policy, key(1), Outcome::Neither), 10);
}

#[test]
fn the_burst_is_independent_of_the_rate_and_capped() {
    let burst = |n| NonZeroU32::new(n).expect("not zero");
    let (clock, policy) = steady("60/m");
    let policy = policy.with_burst(burst(3));
    assert_eq!(admitted(&policy, key(1), Outcome::Neither), 3);
    clock.advance(Duration::from_secs(2));
    assert_eq!(admitted(&policy, key(1), Outcome::Neither), 2);

    let (_, policy) = steady("1 per 366 days");
    let policy = policy.with_burst(burst(u32::MAX));
    assert_eq!(admitted(&policy, key(1), Outcome::Neither), 100);
    let (_, policy) = steady("4294967295/s");
    assert!(policy.admit(key(1), policy.limit()).is_ok());
}

#[test]
fn the_options_of_the_steady_policy_keep_each_other() {
    let clock = ManualClock::new();
    let policy = Steady::new(quota("60/m"))
        .with_burst(NonZeroU32::MIN)
        .with_clock(clock.clone())
        .with_max_keys(2);
    for n in 0..5 {
        assert_eq!(admitted(&policy, key(n), Outcome::Neither), 1, "{n}");
        assert!(policy.len() <= 2, "{n}");
    }
    assert_eq!(admitted(&policy, key(3), Outcome::Neither), 0);
    clock.advance(Duration::from_secs(1));
    assert_eq!(admitted(&policy, key(3), Outcome::Neither), 1);
    // The last admitted request of 4 is now the oldest, so 4 is dropped for 0.
    assert_eq!(admitted(&policy, key(0), Outcome::Neither), 1);
    assert_eq!(admitted(&policy, key(3), Outcome::Neither), 0);
}

// === the failure policy ===

#[test]
fn after_the_last_permitted_failure_none_is_admitted_until_the_window_ends() {
    let (clock, policy) = failures("3 per 15 minutes");
    let layer = RateLimitLayer::new(policy);
    let fail = || send(&layer, from("192.0.2.1", Outcome::Failed));
    for _ in 0..3 {
        assert_eq!(fail().status(), StatusCode::OK);
        clock.advance(MINUTE);
    }
    let response = send(&layer, from("192.0.2.1", Outcome::Succeeded));
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(
        response.body(),
        r#"{"error":"too many failed authentication attempts from this IP address, please try again later"}"#
    );
    // The window began with the first failure.
    assert_eq!(field(&response, "retry-after"), Some("720"));
    let other = send(&layer, from("192.0.2.2", Outcome::Failed));
    assert_eq!(other.status(), StatusCode::OK);

    // Refusals do not move its end.
    clock.advance(Duration::new(719, 999_999_999));
    let response = fail();
    assert_eq!(field(&response, "retry-after"), Some("1"));
    clock.advance(Duration::from_nanos(1));
    for attempt in 0..3 {
        assert_eq!(fail().status(), StatusCode::OK, "{attempt}");
    }
    assert_eq!(fail().status(), StatusCode::TOO_MANY_REQUESTS);
}

#[test]
fn requests_that_do_not_fail_are_neither_counted_nor_remembered() {
    for policy in [
        failures("2/m").1,
        failures("2/m").1.with_in_flight_counted(),
        failures("2/m").1.with_forgiveness(),
    ] {
        let layer = RateLimitLayer::new(policy.clone());
        for outcome in [Outcome::Neither, Outcome::Succeeded] {
            for n in 0..10 {
                let response = send(&layer, from("192.0.2.1", outcome));
                assert_eq!(
                    response.status(),
                    StatusCode::OK,
                    "{policy:?}, {outcome:?}, {n}"
                );
            }
        }
        assert!(policy.is_empty(), "{policy:?}");
    }
}

#[test]
fn a_success_clears_failures_only_with_forgiveness() {
    for counted in [false, true] {
        for forgiving in [false, true] {
            let (_, mut policy) = failures("3/m");
            if counted {
                policy = policy.with_in_flight_counted();
            }
            if forgiving {
                policy = policy.with_forgiveness();
            }
            let layer = RateLimitLayer::new(policy.clone());
            for outcome in [Outcome::Failed, Outcome::Failed, Outcome::Succeeded] {
                send(&layer, from("192.0.2.1", outcome));
            }
            let caller = from("192.0.2.1", Outcome::Neither);
            let key = Key::from(*caller.extensions().get::<ClientIp>().expect("inserted"));
            let expected = if forgiving { 3 } else { 1 };
            let left = admitted(&policy, key, Outcome::Failed);
            assert_eq!(left, expected, "counted: {counted}, forgiving: {forgiving}");
        }
    }
}

#[test]
fn guesses_sent_at_once_all_pass_unless_those_in_flight_are_counted() {
    for (counted, expected) in [(false, 20), (true, 3)] {
        let (clock, mut policy) = failures("3/m");
        if counted {
            policy = policy.with_in_flight_counted();
        }
        let guesses: Vec<_> = (0..20)
            .filter_map(|_| policy.admit(key(1), policy.limit()).ok())
            .collect();
        assert_eq!(guesses.len(), expected, "counted: {counted}");
        for guess in guesses {
            guess.settle(Outcome::Failed);
        }
        assert!(
            policy.admit(key(1), policy.limit()).is_err(),
            "counted: {counted}"
        );
        clock.advance(MINUTE);
        assert!(
            policy.admit(key(1), policy.limit()).is_ok(),
            "counted: {counted}"
        );
    }
}

#[test]
fn an_abandoned_request_is_a_failure_where_those_in_flight_are_counted() {
    for (counted, expected) in [(false, 3), (true, 1)] {
        let (_, mut policy) = failures("3/m");
        if counted {
            policy = policy.with_in_flight_counted();
        }
        let mut service = wrap(&RateLimitLayer::new(policy.clone()));
        drop(service.call(from("0.0.0.1", Outcome::Neither)));

        let mut broken = from("0.0.0.1", Outcome::Neither);
        broken.extensions_mut().remove::<Outcome>();
        assert_eq!(
            block_on(service.call(broken)).expect_err("broken"),
            "out of order"
        );

        let left = admitted(&policy, key(1), Outcome::Failed);
        assert_eq!(left, expected, "counted: {counted}");
    }
}

#[test]
fn a_late_answer_counts_in_the_window_of_its_request_or_begins_the_next() {
    let (clock, policy) = failures("2/m");
    let policy = policy.with_in_flight_counted();
    let good = policy
        .admit(key(1), policy.limit())
        .expect("nothing counted yet");
    let bad = policy.admit(key(1), policy.limit()).expect("one counted");
    clock.advance(MINUTE);
    let fresh = policy
        .admit(key(1), policy.limit())
        .expect("the window has ended");
    // The old window is gone, so nothing is subtracted from the new one.
    let remaining = good.settle(Outcome::Neither);
    assert_eq!(remaining.count(), 1);
    // A failure counts when it is known.
    let remaining = bad.settle(Outcome::Failed);
    assert_eq!(remaining.count(), 0);
    let remaining = fresh.settle(Outcome::Neither);
    assert_eq!(remaining.count(), 1);
}

#[test]
fn a_failure_after_a_forgiving_success_is_counted_again() {
    let (_, policy) = failures("3/m");
    let policy = policy.with_in_flight_counted().with_forgiveness();
    let guess = policy
        .admit(key(1), policy.limit())
        .expect("nothing counted yet");
    let login = policy.admit(key(1), policy.limit()).expect("one counted");
    assert_eq!(login.settle(Outcome::Succeeded).count(), 3);
    assert_eq!(guess.settle(Outcome::Failed).count(), 2);
}

#[test]
fn the_oldest_window_is_dropped_first() {
    let (clock, policy) = failures("2/m");
    let policy = policy.with_max_keys(3);
    let fail = |n| {
        let attempt = policy
            .admit(key(n), policy.limit())
            .expect("below the limit");
        attempt.settle(Outcome::Failed);
        clock.advance(Duration::from_secs(1));
    };
    for n in [1, 1, 2, 2, 3, 3] {
        fail(n);
    }
    fail(4);
    assert_eq!(policy.len(), 3);
    let refused: Vec<_> = (1..=4)
        .filter(|&n| policy.admit(key(n), policy.limit()).is_err())
        .collect();
    assert_eq!(refused, [2, 3]);
}

#[test]
fn ended_windows_are_dropped_over_time() {
    let (clock, policy) = failures("2/m");
    for n in 0..64 {
        assert!(
            policy
                .admit(key(n), policy.limit())
                .map(|it| it.settle(Outcome::Failed))
                .is_ok()
        );
    }
    assert_eq!(policy.len(), 64);
    clock.advance(MINUTE);
    // Each new window drops two ended ones in its own shard.
    for n in 1000..2000 {
        assert!(
            policy
                .admit(key(n), policy.limit())
                .map(|it| it.settle(Outcome::Failed))
                .is_ok()
        );
    }
    assert_eq!(policy.len(), 1000);
}

// === both ===

#[test]
fn clones_and_services_count_together() {
    let layer = RateLimitLayer::new(failures("1/m").1);
    send(&layer.clone(), from("192.0.2.1", Outcome::Failed));
    let response = send(&layer, from("192.0.2.1", Outcome::Failed));
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
}

/// Runs `turn` on eight threads, a thousand times each.
fn hammer(turn: impl Fn(u32) + Sync) {
    thread::scope(|scope| {
        for thread in 0..8 {
            let turn = &turn;
            scope.spawn(move || (0..1000).for_each(|n| turn(thread * 1000 + n)));
        }
    });
}

#[test]
fn threads_on_one_key_share_one_quota() {
    let (_, steady) = steady("100/m");
    let (_, failures) = failures("100/m");
    let failures = failures.with_in_flight_counted();
    let (by_rate, by_failures) = (AtomicU32::new(0), AtomicU32::new(0));
    hammer(|n| {
        if steady.admit(key(1), steady.limit()).is_ok() {
            by_rate.fetch_add(1, Ordering::Relaxed);
        }
        if let Ok(attempt) = failures.admit(key(1), failures.limit()) {
            // One in three is abandoned, and stays counted.
            if n % 3 > 0 {
                attempt.settle(Outcome::Failed);
            }
            by_failures.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(by_rate.into_inner(), 100);
    assert_eq!(by_failures.into_inner(), 100);
}

#[test]
fn threads_on_many_keys_never_exceed_the_cap() {
    let steady = steady("5/m").1.with_max_keys(1000);
    let failures = failures("5/m").1.with_max_keys(1000);
    hammer(|n| {
        let _ = steady.admit(key(n), steady.limit());
        if let Ok(attempt) = failures.admit(key(n), failures.limit()) {
            attempt.settle(Outcome::Failed);
        }
        assert!(steady.len() <= 1000, "after {n}");
        assert!(failures.len() <= 1000, "after {n}");
    });
    assert_eq!((steady.len(), failures.len()), (1000, 1000));
}

// === concurrency ===

fn at_once(count: u32) -> AtOnce {
    AtOnce(NonZeroU32::new(count).expect("not zero"))
}

#[test]
fn a_request_counts_until_it_is_answered_or_abandoned() {
    let policy = Concurrency::new(at_once(2));
    let layer = RateLimitLayer::new(policy.clone());
    let (mut service, mut handle) = mock::spawn_layer(layer);
    handle.allow(10);
    let call = |service: &mut mock::Spawn<_>| {
        assert_ready_ok!(service.poll_ready());
        tokio_test::task::spawn(service.call(from("192.0.2.1", Outcome::Neither)))
    };
    let (mut first, second) = (call(&mut service), call(&mut service));
    let mut third = call(&mut service);
    let refused = assert_ready_ok!(third.poll());
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(field(&refused, "retry-after"), Some("1"));
    let announced = r#""concurrency";q=2;qu="concurrent-requests""#;
    assert_eq!(field(&refused, "ratelimit-policy"), Some(announced));
    assert_eq!(
        field(&refused, "ratelimit"),
        Some(r#""concurrency";r=0;t=1"#)
    );

    assert_pending!(first.poll());
    let (_, reply) = tokio_test::assert_ready!(handle.poll_request()).expect("the first");
    reply.send_response(Response::new(Bytes::new()));
    assert_ready_ok!(first.poll());
    let fourth = call(&mut service);
    assert_eq!(policy.len(), 1, "one client has two requests");
    drop((second, fourth));
    assert!(policy.is_empty());
}

#[test]
fn clients_are_limited_each_and_a_full_map_drops_the_oldest() {
    let policy = Concurrency::new(at_once(1)).with_max_keys(2);
    let admit = |n| policy.admit(key(n), policy.limit());
    let first = admit(1).expect("the first of 1");
    let second = admit(2).expect("the first of 2");
    assert!(admit(1).is_err() && admit(2).is_err());
    let third = admit(3).expect("the first of 3");
    let again = admit(1).expect("1 was dropped for 3");
    drop(first);
    assert!(
        admit(1).is_err(),
        "the dropped entry does not free the new one"
    );
    drop((second, third, again));
    assert!(policy.is_empty());
}

#[test]
fn threads_never_exceed_the_limit_of_one_client() {
    let policy = Concurrency::new(at_once(3));
    let (running, most) = (AtomicU32::new(0), AtomicU32::new(0));
    hammer(|_| {
        if let Ok(permit) = policy.admit(key(1), policy.limit()) {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            running.fetch_sub(1, Ordering::SeqCst);
            drop(permit);
        }
    });
    assert!((1..=3).contains(&most.into_inner()));
    assert!(policy.is_empty());
}

// === keys and limits by identity ===

#[derive(Clone, Hash)]
struct User(u32);

fn of_user(user: u32, peer: u32, header: &str) -> Request<()> {
    let peer = SocketAddr::new(IpAddr::V4(peer.into()), 4711);
    let request = Request::get("/")
        .extension(User(user))
        .extension(Outcome::Neither);
    let request = request.extension(ClientIp::from_peer(peer));
    request
        .header("x-forwarded-for", header)
        .body(())
        .expect("valid parts")
}

#[test]
fn forged_addresses_and_headers_do_not_move_the_bucket_of_an_identity() {
    let (_, policy) = steady("5 per day");
    let layer = RateLimitLayer::new(policy.clone()).with_extension::<User>();
    let mut service = layer.layer(service_fn(|request| ready(answer(&request))));
    let mut served = 0;
    // A million in `tests/long`; every address, port and header is different.
    for n in 0..20_000_u32 {
        let request = of_user(7, n.wrapping_mul(2_654_435_761), &format!("192.0.2.{n}"));
        let response = block_on(service.call(request)).expect("answered");
        served += u32::from(response.status() == StatusCode::OK);
    }
    assert_eq!((served, policy.len()), (5, 1));
    let other = block_on(service.call(of_user(8, 1, ""))).expect("answered");
    assert_eq!(
        other.status(),
        StatusCode::OK,
        "another identity has its own bucket"
    );
}

#[test]
fn a_request_without_the_extension_counts_by_address() {
    let (_, policy) = steady("1 per day");
    let layer = RateLimitLayer::new(policy).with_extension::<User>();
    let mut service = layer.layer(service_fn(|request| ready(answer(&request))));
    let mut status = |peer| {
        let response = block_on(service.call(from(peer, Outcome::Neither)));
        response.expect("answered").status()
    };
    assert_eq!(status("192.0.2.1"), StatusCode::OK);
    assert_eq!(status("192.0.2.1"), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(status("192.0.2.2"), StatusCode::OK);
}

#[test]
fn a_client_may_have_a_limit_of_its_own_and_is_told_so() {
    let (_, policy) = steady("2 per hour");
    let paying = quota("4 per hour");
    let layer = RateLimitLayer::new(policy).with_client_of(move |extensions: &http::Extensions| {
        let User(user) = extensions.get().expect("a user");
        let client = Client::new(Key::of(user));
        if *user == 1 {
            client.with_limit(paying)
        } else {
            client
        }
    });
    let mut service = layer.layer(service_fn(|request| ready(answer(&request))));
    for (user, limit) in [(1, 4), (2, 2)] {
        for n in 0..5 {
            let response = block_on(service.call(of_user(user, 1, ""))).expect("answered");
            let is_served = response.status() == StatusCode::OK;
            assert_eq!(is_served, n < limit, "request {n} of user {user}");
            if !is_served {
                let announced = format!(r#""requests";q={limit};w=3600"#);
                assert_eq!(field(&response, "ratelimit-policy"), Some(&*announced));
            }
        }
    }
}

#[test]
fn a_window_of_failures_ends_with_the_period_of_its_client() {
    let (clock, policy) = failures("1 per hour");
    let strict = quota("1 per day");
    let fail = |n, limit| {
        policy
            .admit(key(n), limit)
            .map(|attempt| attempt.settle(Outcome::Failed))
    };
    fail(1, policy.limit()).expect("the first of 1");
    fail(2, strict).expect("the first of 2");
    clock.advance(Duration::from_secs(3600));
    assert!(fail(1, policy.limit()).is_ok());
    let limited = fail(2, strict).expect_err("a day has not passed");
    assert_eq!(limited.retry_after(), Duration::from_secs(23 * 3600));
}

#[test]
fn a_hundred_thousand_steps_agree_with_a_model_of_the_bucket() {
    let (clock, policy) = steady("7 per minute");
    let quotas = [policy.limit(), quota("3 per second"), quota("90 per hour")];
    // The model counts the content of each bucket in nanoseconds times requests.
    let mut buckets: HashMap<u32, (u128, Duration)> = HashMap::new();
    let mut random = 1_u32;
    for step in 0..100_000 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        clock.advance(Duration::from_millis(u64::from(random >> 20)));
        let client = random >> 8 & 15;
        let limit = quotas[(client % 3) as usize];
        let interval = limit.period().as_nanos() / u128::from(limit.count());
        let size = interval * u128::from(limit.count());
        let (content, since) = buckets.entry(client).or_insert((size, clock.now()));
        *content = size.min(*content + clock.now().saturating_sub(*since).as_nanos());
        *since = clock.now();
        match policy.admit(key(client), limit) {
            Ok(remaining) => {
                assert!(*content >= interval, "step {step}: admitted with {content}");
                *content -= interval;
                assert_eq!(
                    u128::from(remaining.count()),
                    *content / interval,
                    "step {step}"
                );
            }
            Err(limited) => {
                let missing = interval.checked_sub(*content).expect("an empty bucket");
                assert_eq!(limited.retry_after().as_nanos(), missing, "step {step}");
            }
        }
    }
}

proptest! {
    #[test]
    fn failures_admits_what_a_fixed_window_admits(
        max in 1..5_u32,
        attempts in prop::collection::vec((0..40_u64, 0..3_u32, any::<bool>()), 0..120),
        counted: bool,
    ) {
        let (clock, policy) = failures(&format!("{max} per minute"));
        let policy = if counted { policy.with_in_flight_counted() } else { policy };
        let mut windows: HashMap<u32, (Duration, u32)> = HashMap::new();
        for (pause, caller, fails) in attempts {
            clock.advance(Duration::from_secs(pause));
            let now = clock.now();
            windows.retain(|_, (began, _)| now.saturating_sub(*began) < MINUTE);
            let so_far = windows.get(&caller).map_or(0, |(_, failures)| *failures);
            match policy.admit(key(caller), policy.limit()) {
                Ok(attempt) => {
                    prop_assert!(so_far < max, "{so_far} failures, and admitted");
                    let outcome = if fails { Outcome::Failed } else { Outcome::Neither };
                    let remaining = attempt.settle(outcome);
                    if fails {
                        windows.entry(caller).or_insert((now, 0)).1 += 1;
                    }
                    let so_far = windows.get(&caller).map_or(0, |(_, failures)| *failures);
                    prop_assert_eq!(remaining.count(), max - so_far);
                }
                Err(limited) => {
                    prop_assert_eq!(so_far, max);
                    let (began, _) = windows[&caller];
                    prop_assert_eq!(limited.retry_after() + now.saturating_sub(began), MINUTE);
                }
            }
        }
    }

    #[test]
    fn steady_admits_no_more_than_the_burst_and_what_has_flowed_in_since(
        count in 1..60_u32,
        pauses in prop::collection::vec(0..5000_u64, 1..200),
    ) {
        let (clock, policy) = steady(&format!("{count} per minute"));
        let start = clock.now();
        let mut admitted = 0;
        for pause in pauses {
            clock.advance(Duration::from_millis(pause));
            admitted += u32::from(policy.admit(key(1), policy.limit()).is_ok());
            let passed = clock.now().saturating_sub(start).as_nanos();
            let flowed = passed * u128::from(count) / MINUTE.as_nanos();
            // The interval is rounded down to nanoseconds, hence the extra one.
            prop_assert!(u128::from(admitted) <= u128::from(count) + flowed + 1);
        }
    }

    #[test]
    fn every_printable_name_is_a_header_value(name in "[ -~]{0,40}") {
        let layer = RateLimitLayer::new(Closed(MINUTE)).with_name(&name);
        let response = send(&layer.expect("printable"), from("192.0.2.1", Outcome::Neither));
        let limit = field(&response, "ratelimit").expect("a refusal has one").to_owned();
        let quoted = limit.strip_suffix(";r=0;t=60").expect("the parameters follow");
        let inside = &quoted[1..quoted.len() - 1];
        prop_assert_eq!(unescape(inside), name);
    }
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        out.push(match character {
            '\\' => rest.next().expect("something is escaped"),
            '"' => panic!("a bare quote in {text}"),
            plain => plain,
        });
    }
    out
}

#[test]
fn the_response_body_keeps_its_type() {
    fn body_of<S, B>(_: &S)
    where
        S: Service<Request<()>, Response = Response<B>>,
    {
    }
    struct Opaque;
    impl From<Bytes> for Opaque {
        fn from(_: Bytes) -> Self {
            Self
        }
    }
    let inner = service_fn(
        |_: Request<()>| -> Ready<Result<Response<Opaque>, Infallible>> {
            ready(Ok(Response::new(Opaque)))
        },
    );
    let layer = RateLimitLayer::new(Closed(MINUTE));
    body_of::<_, Opaque>(&layer.layer(inner));
}
