//! A running example, and a client.

use std::{env, net::SocketAddr, path::PathBuf, process::Stdio, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    net::TcpListener,
    process::{Child, Command},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::timeout,
};

/// Time limit of every wait of a test.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// An example that runs until it is dropped.
pub(crate) struct Program {
    pub(crate) address: SocketAddr,
    child: Child,
    lines: UnboundedReceiver<String>,
    _readers: JoinSet<()>,
}

impl Program {
    /// Starts an example on a free port, and waits until it listens.
    pub(crate) async fn start(name: &str, settings: &[(&str, &str)]) -> Self {
        let mut child = Command::new(executable(name))
            .env_clear()
            .env("LISTEN", "127.0.0.1:0")
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("an executable file");
        let (sender, mut lines) = unbounded_channel();
        let mut readers = JoinSet::new();
        readers.spawn(read(child.stdout.take().expect("piped"), sender.clone()));
        readers.spawn(read(child.stderr.take().expect("piped"), sender));
        let address = loop {
            let line = next(&mut lines).await.expect("the example listens");
            if let Some((_, rest)) = line.split_once("listening on http://") {
                let address = rest.trim_end_matches(|it: char| !it.is_ascii_digit());
                let address = address.split(['"', ' ']).next();
                break address.and_then(|it| it.parse().ok()).expect("an address");
            }
        };
        Self {
            address,
            child,
            lines,
            _readers: readers,
        }
    }

    /// Stops the example as Ctrl-C does, and returns the rest of its output.
    pub(crate) async fn stop(mut self) -> Vec<String> {
        let id = self.child.id().expect("it runs").to_string();
        let mut kill = Command::new("kill");
        kill.args(["-INT", &id]).status().await.expect("kill");
        let mut rest = Vec::new();
        while let Some(line) = next(&mut self.lines).await {
            rest.push(line);
        }
        rest
    }

    /// Returns a request for this example.
    pub(crate) fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let uri = format!("http://{}{path}", self.address);
        Request::builder().method(method).uri(uri)
    }
}

/// Returns the file of an example, which stands beside the folder of this test.
fn executable(name: &str) -> PathBuf {
    let test = env::current_exe().expect("a path");
    let folder = test.ancestors().nth(2).expect("a target folder");
    let file = folder.join("examples").join(name);
    assert!(
        file.exists(),
        "build it first: cargo build -p ziggurat-layers --features full --examples"
    );
    file
}

async fn read(output: impl AsyncRead + Unpin, lines: UnboundedSender<String>) {
    let mut output = BufReader::new(output).lines();
    while let Ok(Some(line)) = output.next_line().await {
        // Without a receiver the test is over.
        _ = lines.send(line);
    }
}

async fn next(lines: &mut UnboundedReceiver<String>) -> Option<String> {
    timeout(TEST_TIMEOUT, lines.recv()).await.expect("a line")
}

/// Sends a request and returns the response; its body may still be on its way.
pub(crate) async fn send(
    request: http::request::Builder,
    body: impl Into<Bytes>,
) -> Response<Incoming> {
    exchange(request, body, false).await
}

/// Sends a request over HTTP/2.
pub(crate) async fn send_http2(
    request: http::request::Builder,
    body: impl Into<Bytes>,
) -> Response<Incoming> {
    exchange(request, body, true).await
}

async fn exchange(
    request: http::request::Builder,
    body: impl Into<Bytes>,
    http2: bool,
) -> Response<Incoming> {
    let mut client = Client::builder(TokioExecutor::new());
    let client = client.http2_only(http2).build_http();
    let request = request.body(Full::new(body.into())).expect("a request");
    let response = timeout(TEST_TIMEOUT, client.request(request)).await;
    response.expect("in time").expect("a response")
}

/// Sends a request, and returns the status and the whole body.
pub(crate) async fn answer(
    request: http::request::Builder,
    body: impl Into<Bytes>,
) -> (StatusCode, String) {
    let response = send(request, body).await;
    let status = response.status();
    let body = timeout(TEST_TIMEOUT, response.into_body().collect()).await;
    let body = body.expect("in time").expect("a body").to_bytes();
    (status, String::from_utf8(body.into()).expect("text"))
}

/// Returns an address where no program listens.
pub(crate) async fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("bound")
}
