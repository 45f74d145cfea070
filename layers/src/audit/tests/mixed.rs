//! Many requests of all kinds at random, with a model of how each one ends.

use std::{
    any::Any,
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::AtomicUsize,
};

use super::*;
use crate::{
    bearer::{BearerLayer, Hashed, TokenHash},
    body_limit::BodyLimitLayer,
    host::HostLayer,
    origin::OriginLayer,
    rate_limit::{RateLimitLayer, Steady},
    sanitize::SanitizeLayer,
};

const REQUESTS: u64 = 100_000;

/// The number of requests that are served at the same time.
const AT_ONCE: usize = 20;

/// Numbers that look random and are the same in every run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// The behaviour of the handler, as an extension of the request.
#[derive(Clone, Debug)]
enum Behaviour {
    PanicInCall,
    PanicInPoll,
    Fail,
    Answer { after: u64, body: Steps },
}

impl Behaviour {
    fn any(numbers: &mut Numbers) -> Self {
        match numbers.below(12) {
            0 => Self::PanicInCall,
            1 => Self::PanicInPoll,
            2 => Self::Fail,
            _ => {
                let after = numbers.below(4);
                let kinds = [
                    Step::Data("ab"),
                    Step::Data("abc"),
                    Step::Wait,
                    Step::Wait,
                    Step::End,
                    Step::Trailers,
                    Step::Fail,
                    Step::Panic,
                ];
                let step = |_| kinds[usize::try_from(numbers.below(8)).expect("small")];
                let steps: Vec<_> = (0..5).map(step).collect();
                let kept = usize::try_from(numbers.below(6)).expect("small");
                let body = Steps::of(&steps[..kept]);
                Self::Answer { after, body }
            }
        }
    }
}

/// Behaves as the request says.
#[derive(Clone, Debug)]
struct Handler;

struct Handling(Behaviour);

impl<B> Service<Request<B>> for Handler {
    type Response = Response<Steps>;
    type Error = &'static str;
    type Future = Handling;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Handling {
        let behaviour = request
            .extensions()
            .get::<Behaviour>()
            .expect("a behaviour");
        if let Behaviour::PanicInCall = behaviour {
            resume_unwind(Box::new("in call"));
        }
        Handling(behaviour.clone())
    }
}

impl Future for Handling {
    type Output = Result<Response<Steps>, &'static str>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Behaviour::Answer { after: 0, body } => Poll::Ready(Ok(Response::new(body.clone()))),
            Behaviour::Answer { after, .. } => {
                *after -= 1;
                Poll::Pending
            }
            Behaviour::Fail => Poll::Ready(Err("broken")),
            _ => resume_unwind(Box::new("in poll")),
        }
    }
}

/// A request that the driver serves, polls by hand and may drop.
struct Exchange<F> {
    id: u64,
    is_head: bool,
    /// The number of polls before it is dropped.
    patience: u64,
    state: State<F>,
}

enum State<F> {
    Head(Pin<Box<F>>),
    Body(StatusCode, Pin<Box<AuditedBody<Steps>>>),
}

/// The end of a request, and its status, as the driver sees them.
type Seen = (Outcome, Option<u16>);

fn caught<T>(code: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(code))
}

impl<F> Exchange<F>
where
    F: Future<Output = Result<Response<AuditedBody<Steps>>, &'static str>>,
{
    /// Polls once; returns the end if this was it. The exchange is dropped then.
    fn advance(&mut self) -> Option<Seen> {
        let is_given_up = self.patience == 0;
        self.patience = self.patience.saturating_sub(1);
        match &mut self.state {
            State::Head(_) if is_given_up => Some((Outcome::Cancelled, None)),
            State::Body(status, _) if is_given_up => {
                Some((Outcome::ResponseAborted, Some(status.as_u16())))
            }
            State::Head(future) => match caught(|| poll(future.as_mut())) {
                Err(_) => Some((Outcome::Panicked, None)),
                Ok(Poll::Pending) => None,
                Ok(Poll::Ready(Err(_))) => Some((Outcome::ServiceError, None)),
                Ok(Poll::Ready(Ok(response))) => {
                    let (head, body) = response.into_parts();
                    let is_whole = self.is_head || body.is_end_stream();
                    self.state = State::Body(head.status, Box::pin(body));
                    is_whole.then_some((Outcome::Completed, Some(head.status.as_u16())))
                }
            },
            State::Body(status, body) => {
                let polled = caught(|| {
                    let cx = &mut Context::from_waker(Waker::noop());
                    body.as_mut().poll_frame(cx)
                });
                let outcome = match polled {
                    Err(_) => Some(Outcome::Panicked),
                    Ok(Poll::Pending) => None,
                    Ok(Poll::Ready(None)) => Some(Outcome::Completed),
                    Ok(Poll::Ready(Some(Err(_)))) => Some(Outcome::BodyFailed),
                    Ok(Poll::Ready(Some(Ok(frame)))) => {
                        let is_last = frame.is_trailers() || body.is_end_stream();
                        is_last.then_some(Outcome::Completed)
                    }
                };
                outcome.map(|outcome| (outcome, Some(status.as_u16())))
            }
        }
    }
}

/// A request that some layer may refuse.
fn any_request(id: u64, numbers: &mut Numbers) -> Request<Full<Bytes>> {
    let refused_by = numbers.below(12);
    let host = if refused_by == 0 {
        "evil.example"
    } else {
        "localhost"
    };
    let token = if refused_by == 1 {
        "Bearer wrong"
    } else {
        "Bearer open-sesame"
    };
    let size = if refused_by == 2 { 100 } else { 3 };
    let client = if refused_by == 3 {
        0
    } else {
        u32::try_from(id).expect("small")
    };
    let method = if numbers.below(8) == 0 {
        Method::HEAD
    } else {
        Method::POST
    };
    let mut request = Request::builder()
        .method(method)
        .uri("/")
        .header("host", host)
        .header("authorization", token)
        .header("x-request-id", id)
        .extension(ClientIp::from_peer((client.to_be_bytes(), 1).into()))
        .extension(Behaviour::any(numbers));
    if refused_by == 4 {
        request = request.header("origin", "https://evil.example");
    }
    request.body(Full::from(vec![b'a'; size])).expect("parts")
}

/// All layers that refuse, behind the audit, and the number of requests that pass it.
fn stack<K: Sink>(
    layer: &AuditLayer<K>,
    is_sanitized: bool,
    served: Arc<AtomicUsize>,
) -> impl Stack {
    let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), "ali")]);
    let rate = Steady::new("1 per hour".parse().expect("a quota")).with_clock(ManualClock::new());
    tower::ServiceBuilder::new()
        .layer(layer.clone())
        .map_request(move |request| {
            served.fetch_add(1, Ordering::Relaxed);
            request
        })
        .option_layer(is_sanitized.then(SanitizeLayer::new))
        .layer(HostLayer::default())
        .layer(OriginLayer::default())
        .layer(BodyLimitLayer::new(10))
        .layer(RateLimitLayer::new(rate))
        .layer(BearerLayer::new(tokens))
        .layer(AuditIdentityLayer::<&str>::new())
        .service(Handler)
}

trait Stack:
    Service<Request<Full<Bytes>>, Response = Response<AuditedBody<Steps>>, Error = &'static str>
{
}

impl<S> Stack for S where
    S: Service<Request<Full<Bytes>>, Response = Response<AuditedBody<Steps>>, Error = &'static str>
{
}

/// Sends all requests, some of them at once, and returns the end of each by its id.
fn drive(mut service: impl Stack, requests: u64, mut each: impl FnMut()) -> HashMap<u64, Seen> {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut seen = HashMap::new();
    let mut running = Vec::new();
    let mut next = 0;
    while next < requests || !running.is_empty() {
        each();
        if next < requests && running.len() < AT_ONCE {
            let request = any_request(next, &mut numbers);
            let is_head = request.method() == Method::HEAD;
            let patience = if numbers.below(4) == 0 {
                numbers.below(6)
            } else {
                100
            };
            match caught(|| service.call(request)) {
                Ok(future) => running.push(Exchange {
                    id: next,
                    is_head,
                    patience,
                    state: State::Head(Box::pin(future)),
                }),
                Err(_) => _ = seen.insert(next, (Outcome::Panicked, None)),
            }
            next += 1;
        }
        if running.is_empty() {
            continue;
        }
        let index = usize::try_from(numbers.below(running.len() as u64)).expect("small");
        if let Some(end) = running[index].advance() {
            seen.insert(running.swap_remove(index).id, end);
        }
    }
    seen
}

fn id_of(record: &Record) -> u64 {
    let id = record.request_id().expect("an id").as_str();
    id.parse().expect("a number")
}

/// Checks that these are the records of different requests, and say how each ended.
fn assert_match(records: &[Record], seen: &mut HashMap<u64, Seen>) {
    for record in records {
        let id = id_of(record);
        let end = seen
            .remove(&id)
            .unwrap_or_else(|| panic!("{id} has two records"));
        let status = record.status().map(|status| status.as_u16());
        assert_eq!((record.outcome(), status), end, "{id}: {record:?}");
        if record.code().is_none() && status == Some(200) {
            assert_eq!(record.identity(), Some("ali"));
        }
    }
}

#[test]
fn each_of_100_000_mixed_requests_has_exactly_one_record_that_says_how_it_ended() {
    let records = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&records);
    let layer = AuditLayer::new(move |record| kept.lock().expect("no panic").push(record));
    for is_sanitized in [false, true] {
        let mut seen = drive(
            stack(&layer, is_sanitized, Arc::default()),
            REQUESTS / 2,
            || (),
        );
        let records = std::mem::take(&mut *records.lock().expect("no panic"));
        assert_eq!(records.len() as u64, REQUESTS / 2);
        assert_match(&records, &mut seen);
        assert!(seen.is_empty());
        for code in [
            "host_not_allowed",
            "origin_not_allowed",
            "request_too_large",
            "rate_limited",
            "invalid_token",
        ] {
            let count = records
                .iter()
                .filter(|record| record.code() == Some(code))
                .count();
            assert!(count > 100, "{code}: {count}");
        }
        for outcome in [
            Outcome::Completed,
            Outcome::ResponseAborted,
            Outcome::BodyFailed,
            Outcome::Cancelled,
            Outcome::ServiceError,
            Outcome::Panicked,
        ] {
            let of_outcome = records.iter().filter(|record| record.outcome() == outcome);
            assert!(of_outcome.count() > 100, "{outcome:?}");
        }
    }
    assert_eq!(layer.lost(), 0);
}

/// Fails in each way that a sink can, and keeps the other records.
struct Unreliable {
    calls: AtomicUsize,
    records: Arc<Mutex<Vec<Record>>>,
}

impl Sink for Unreliable {
    type Slot = ();

    fn reserve(&self) -> Option<()> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        (!call.is_multiple_of(7)).then_some(())
    }

    fn accept(&self, (): (), record: Record) -> Result<(), Lost> {
        match self.calls.fetch_add(1, Ordering::Relaxed) % 11 {
            0 => Err(Lost),
            1 => resume_unwind(Box::new("in accept")),
            _ => {
                self.records.lock().expect("no panic").push(record);
                Ok(())
            }
        }
    }
}

#[test]
fn with_a_failing_sink_each_request_is_recorded_or_counted_as_lost() {
    let records = Arc::new(Mutex::new(Vec::new()));
    let layer = AuditLayer::new(Unreliable {
        calls: AtomicUsize::new(0),
        records: Arc::clone(&records),
    });
    let served = Arc::<AtomicUsize>::default();
    let mut seen = drive(stack(&layer, false, Arc::clone(&served)), REQUESTS, || ());
    let records = std::mem::take(&mut *records.lock().expect("no panic"));
    assert_match(&records, &mut seen);
    assert_eq!(served.load(Ordering::Relaxed) as u64, REQUESTS);
    assert_eq!(records.len() as u64 + layer.lost(), REQUESTS);
    assert!(layer.lost() > 1_000 && records.len() > 1_000);
}

#[test]
fn in_the_required_mode_no_request_is_served_unrecorded() {
    let (queue, waiting) = Queue::bounded(20);
    let layer = AuditLayer::new(queue).with_required();
    let served = Arc::<AtomicUsize>::default();
    let mut records = Vec::new();
    let mut numbers = Numbers(7);
    // The writer is slow at times.
    let write = || {
        if numbers.below(20) == 0 {
            records.extend(std::iter::from_fn(|| waiting.try_next()));
        }
    };
    let mut seen = drive(stack(&layer, false, Arc::clone(&served)), REQUESTS, write);
    records.extend(std::iter::from_fn(|| waiting.try_next()));
    let total = records.len() as u64;
    assert_match(&records, &mut seen);
    assert_eq!(served.load(Ordering::Relaxed) as u64, total);
    assert_eq!(total + layer.refused(), REQUESTS);
    assert_eq!(layer.lost(), 0);
    assert!(layer.refused() > 1_000 && total > 1_000);
    assert_eq!(seen.len() as u64, layer.refused(), "the rest was refused");
}
