use std::{future::pending, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::{Notify, Semaphore},
    task::JoinSet,
    time::{Instant, timeout},
};
use tower::service_fn;
use tower_layer::Layer as _;

use super::{
    idle::{FIRST_REQUEST_TIME, TimeoutReason},
    *,
};
use ziggurat_layers::shutdown::ShutdownLayer;

/// Timeout after which a test has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Longer than any test.
const LONG: Duration = Duration::from_hours(1);

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: t\r\n\r\n";

/// A server that runs until it is dropped.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    stop: Arc<Notify>,
    tasks: JoinSet<()>,
}

/// Limits that no test reaches by accident.
pub(super) fn limits() -> Limits {
    Limits {
        handshake_timeout: LONG,
        header_timeout: LONG,
        body_timeout: LONG,
        idle_timeout: LONG,
        ..Limits::default()
    }
}

/// Starts a server that answers with the length of the request body, or with its error.
pub(super) async fn start(server: Server) -> Running {
    start_with(server, || std::future::ready(())).await
}

/// Starts the same server; it does some work first.
async fn start_with<F>(
    server: Server,
    work: impl Fn() -> F + Clone + Send + Sync + 'static,
) -> Running
where
    F: Future<Output = ()> + Send + 'static,
{
    let service = service_fn(move |request: Request<RequestBody>| {
        let work = work.clone();
        async move {
            let text = match request.into_body().collect().await {
                Ok(body) => format!("{} bytes", body.to_bytes().len()),
                Err(error) => error.to_string(),
            };
            work().await;
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(text)))
        }
    });
    start_service(server, service).await
}

/// Starts a server with the service of the test.
pub(super) async fn start_service<S, B>(server: Server, service: S) -> Running
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let stop = Arc::new(Notify::new());
    let stopped = Arc::clone(&stop);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let serving = server.serve(listener, service, stopped.notified());
        serving.await.expect("the listener lives");
    });
    Running {
        address,
        stop,
        tasks,
    }
}

impl Running {
    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("listening")
    }

    async fn say(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.expect("heard");
        stream
    }

    /// Stops the server and waits for its end.
    async fn stop(mut self) {
        self.stop.notify_one();
        let ended = timeout(PATIENCE, self.tasks.join_next()).await;
        ended
            .expect("in time")
            .expect("one task")
            .expect("no panic");
    }
}

/// Reads until the server closes the connection.
pub(super) async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    read.expect("the server closes").expect("without a reset");
    String::from_utf8(bytes).expect("text")
}

/// Reads the response to a request that was not the last one.
async fn answer(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    while !text.ends_with(" bytes") {
        let byte = timeout(PATIENCE, stream.read_u8()).await.expect("in time");
        text.push(char::from(byte.expect("more to come")));
    }
    text
}

/// Waits until the work on one more request has begun.
async fn arrival(begun: &Semaphore) {
    let arrived = timeout(PATIENCE, begun.acquire()).await;
    arrived.expect("in time").expect("open").forget();
}

fn activity(limits: &Limits) -> Arc<Activity> {
    Arc::new(Activity::new(Arc::default(), limits))
}

// === timeouts ===

#[tokio::test(start_paused = true)]
async fn an_idle_connection_gets_more_time_than_one_that_has_begun_a_request() {
    let limits = Limits::default();
    let activity = activity(&limits);
    drop(activity.begin());
    let begun = Instant::now();
    assert_eq!(activity.timed_out().await, TimeoutReason::Idle);
    assert_eq!(begun.elapsed(), limits.idle_timeout);

    activity.was_notified();
    time::advance(limits.idle_timeout / 2).await;
    activity.received();
    let begun = Instant::now();
    assert_eq!(activity.timed_out().await, TimeoutReason::Slow);
    assert_eq!(begun.elapsed(), limits.header_timeout);
}

#[tokio::test(start_paused = true)]
async fn a_connection_does_not_time_out_while_the_server_works() {
    let limits = Limits::default();
    let activity = activity(&limits);
    let request = activity.begin();
    let waiting = timeout(limits.idle_timeout * 10, activity.timed_out());
    waiting.await.expect_err("still patient");
    drop(request);
    let begun = Instant::now();
    assert_eq!(activity.timed_out().await, TimeoutReason::Idle);
    assert_eq!(begun.elapsed(), limits.idle_timeout);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_that_was_started_early_sees_later_events() {
    let limits = Limits::default();
    let activity = activity(&limits);
    let begun = Instant::now();
    let request = activity.begin();
    let later = async {
        time::sleep(Duration::from_secs(13)).await;
        drop(request);
        time::sleep(Duration::from_secs(8)).await;
        activity.received();
        pending::<()>().await;
    };
    let why = tokio::select! {
        why = activity.timed_out() => why,
        () = later => unreachable!("it never ends"),
    };
    assert_eq!(why, TimeoutReason::Slow);
    let expected = Duration::from_secs(21) + limits.header_timeout;
    assert_eq!(begun.elapsed(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_connection_waits_for_its_client_unless_a_response_is_due() {
    let activity = activity(&limits());
    let waits = || activity.waits_since().is_some();
    assert!(!waits(), "it is new");
    time::advance(FIRST_REQUEST_TIME).await;
    assert!(waits(), "nothing was said");
    let request = activity.begin();
    assert!(!waits(), "a request is worked on");
    activity.awaits_body();
    assert!(waits(), "its body does not come in");
    let another = activity.begin();
    assert!(!waits(), "another request is worked on");
    activity.stalls(true);
    assert!(waits(), "nothing is taken");
    activity.stalls(false);
    drop(request);
    activity.has_body();
    assert!(!waits(), "the other one still is");
    drop(another);
    assert!(waits(), "all is answered");
}

// === real sockets ===

#[tokio::test]
async fn a_connection_without_a_request_is_closed_after_the_idle_timeout() {
    let limits = Limits {
        idle_timeout: Duration::from_millis(200),
        ..limits()
    };
    let server = start(Server::new(limits)).await;
    let mut stream = server.say(GET).await;
    answer(&mut stream).await;
    stream.write_all(GET).await.expect("kept alive");
    answer(&mut stream).await;
    let begun = Instant::now();
    assert_eq!(rest(&mut stream).await, "");
    assert!(begun.elapsed() >= Duration::from_millis(190), "not at once");
}

#[tokio::test]
async fn a_second_request_that_arrives_slowly_is_cut_off_like_the_first() {
    let limits = Limits {
        header_timeout: Duration::from_millis(200),
        ..limits()
    };
    let server = start(Server::new(limits)).await;
    let mut stream = server.say(GET).await;
    answer(&mut stream).await;
    stream.write_all(&GET[..9]).await.expect("kept alive");
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test]
async fn a_body_that_does_not_arrive_breaks_off_and_the_service_reports_it() {
    let limits = Limits {
        body_timeout: Duration::from_millis(200),
        ..limits()
    };
    let server = start(Server::new(limits)).await;
    let head = b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 9\r\n\r\nabc";
    let mut stream = server.say(head).await;
    let response = rest(&mut stream).await;
    let expected = "the request body did not arrive in time";
    assert!(response.ends_with(expected), "{response}");
}

#[tokio::test]
async fn a_body_that_goes_on_arriving_breaks_off_after_four_times_its_timeout() {
    let body_timeout = Duration::from_millis(200);
    let limits = Limits {
        body_timeout,
        ..limits()
    };
    let server = start(Server::new(limits)).await;
    let head = b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 10000000\r\n\r\n";
    let mut stream = server.say(head).await;
    let begun = Instant::now();
    // Each piece earns two seconds.
    let sending = async {
        loop {
            stream.write_all(&[b'x'; 16 << 10]).await.expect("open");
            let mut byte = [0];
            let reading = timeout(body_timeout / 4, stream.read(&mut byte));
            if reading.await.is_ok() {
                break;
            }
        }
    };
    let ended = timeout(LONG, sending).await;
    ended.expect("the body is not awaited for ever");
    assert!(begun.elapsed() >= body_timeout * 4, "not earlier");
}

#[tokio::test]
async fn a_long_piece_of_work_is_not_cut_by_the_time_for_the_request() {
    let short = Duration::from_millis(50);
    let limits = Limits {
        header_timeout: short,
        body_timeout: short,
        idle_timeout: short,
        ..limits()
    };
    let work = move || time::sleep(short * 10);
    let server = start_with(Server::new(limits), work).await;
    let mut stream = server.say(GET).await;
    assert!(rest(&mut stream).await.ends_with("0 bytes"));
}

#[tokio::test]
async fn connections_that_send_nothing_make_room_for_others() {
    let limits = Limits {
        max_connections: 16,
        ..limits()
    };
    let server = start(Server::new(limits)).await;
    let upload = b"POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 9\r\n\r\nabc";
    let beginnings = [
        &b""[..],
        b"GET / HT",
        upload,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    let mut squatters = Vec::new();
    for at in 0..40 {
        squatters.push(server.say(beginnings[at % beginnings.len()]).await);
        if at % 10 == 0 {
            let mut stream = server.say(GET).await;
            answer(&mut stream).await;
            squatters.push(stream);
        }
    }
    let mut stream = server.say(GET).await;
    answer(&mut stream).await;
}

#[tokio::test]
async fn a_connection_at_work_stays_and_the_next_one_waits() {
    let limits = Limits {
        max_connections: 1,
        ..limits()
    };
    let begun = Arc::new(Semaphore::new(0));
    let go_on = Arc::new(Semaphore::new(0));
    let gates = (Arc::clone(&begun), Arc::clone(&go_on));
    let work = move || {
        let (begun, go_on) = gates.clone();
        async move {
            begun.add_permits(1);
            go_on.acquire().await.expect("open").forget();
        }
    };
    let server = start_with(Server::new(limits), work).await;
    let mut first = server.say(GET).await;
    arrival(&begun).await;
    let mut second = server.say(GET).await;
    let early = timeout(Duration::from_millis(100), begun.acquire()).await;
    early.expect_err("the second one waits");
    go_on.add_permits(1);
    answer(&mut first).await;
    // The first one is idle from here on, and is closed.
    arrival(&begun).await;
    go_on.add_permits(1);
    answer(&mut second).await;
    assert_eq!(rest(&mut first).await, "");
}

#[tokio::test]
async fn a_shutdown_waits_for_the_request_in_flight_and_not_for_the_silent() {
    let begun = Arc::new(Semaphore::new(0));
    let go_on = Arc::new(Semaphore::new(0));
    let gates = (Arc::clone(&begun), Arc::clone(&go_on));
    let work = move || {
        let (begun, go_on) = gates.clone();
        async move {
            begun.add_permits(1);
            go_on.acquire().await.expect("open").forget();
        }
    };
    let limits = Limits {
        shutdown_grace: LONG,
        ..limits()
    };
    let server = start_with(Server::new(limits), work).await;
    let mut silent = server.connect().await;
    let mut asking = server.say(GET).await;
    arrival(&begun).await;
    let stopping = server.stop();
    let asking = async {
        rest(&mut silent).await;
        go_on.add_permits(1);
        assert!(rest(&mut asking).await.ends_with("0 bytes"));
    };
    tokio::join!(stopping, asking);
}

#[tokio::test]
async fn a_long_upload_outlasts_the_time_for_a_body() {
    let limits = Limits {
        body_timeout: Duration::from_millis(500),
        ..limits()
    };
    let server = start(Server::new(limits)).await;
    // They extend the time as far as it goes, to two seconds.
    let upload = vec![b'x'; 64 << 10];
    let head = "POST / HTTP/1.1\r\nhost: t\r\ncontent-length: 65537\r\n\r\n";
    let mut stream = server.say(&[head.as_bytes(), &upload].concat()).await;
    let early = timeout(Duration::from_millis(700), stream.read_u8()).await;
    early.expect_err("the rest is waited for");
    stream.write_all(b"x").await.expect("heard");
    assert!(answer(&mut stream).await.ends_with("\r\n65537 bytes"));
}

#[tokio::test]
async fn a_request_that_is_cut_off_after_the_grace_period_gets_a_response() {
    let begun = Arc::new(Semaphore::new(0));
    let begins = Arc::clone(&begun);
    let stuck = service_fn(move |_: Request<RequestBody>| {
        begins.add_permits(1);
        pending::<Result<Response<Full<Bytes>>, Infallible>>()
    });
    let limits = Limits {
        shutdown_grace: Duration::from_millis(50),
        ..limits()
    };
    let cut_off = CutOff::default();
    let service = ShutdownLayer::new(cut_off.clone()).layer(stuck);
    let server = Server::new(limits).with_cut_off(cut_off);
    let server = start_service(server, service).await;
    let mut asking = server.say(GET).await;
    arrival(&begun).await;
    server.stop().await;
    let response = rest(&mut asking).await;
    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    let expected = r#"{"error":"The server is shutting down"}"#;
    assert!(response.ends_with(expected), "{response}");
}
