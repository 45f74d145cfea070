//! A collector that answers as it is told.

use std::{cell::RefCell, collections::VecDeque, future::pending, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::timeout,
};

use super::TraceSettings;

/// Bound of every test.
const BOUND: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Ok,
    /// The status line, header fields and body.
    With(&'static str, &'static str, &'static str),
    /// Nothing, while the connection stays open.
    Hang,
}

#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) head: String,
    pub(super) body: String,
}

pub(super) struct Collector {
    listener: TcpListener,
    answers: RefCell<VecDeque<Answer>>,
    requests: RefCell<Vec<Request>>,
    arrival: Notify,
}

// === impl Collector ===

impl Collector {
    /// Answers one request with each of `answers`, and all after them as the last one.
    pub(super) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.expect("a port"),
            answers: RefCell::new(answers.into_iter().collect()),
            requests: RefCell::default(),
            arrival: Notify::new(),
        }
    }

    pub(super) fn settings(&self, settings: TraceSettings) -> TraceSettings {
        let address = self.listener.local_addr().expect("bound");
        TraceSettings {
            url: format!("http://{address}/v1/traces"),
            ..settings
        }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.borrow().clone()
    }

    /// Serves until a future is ready.
    pub(super) async fn serve(&self, until: impl Future<Output = ()>) {
        tokio::select! {
            () = until => {}
            () = self.serve_all() => {}
        }
    }

    /// Waits for a request.
    pub(super) async fn arrival(&self) {
        self.arrival.notified().await;
    }

    async fn serve_all(&self) {
        loop {
            self.serve_one().await;
        }
    }

    fn next_answer(&self) -> Answer {
        let mut answers = self.answers.borrow_mut();
        let answer = answers[0];
        if answers.len() > 1 {
            answers.pop_front();
        }
        answer
    }

    async fn serve_one(&self) {
        let (mut stream, _) = self.listener.accept().await.expect("a connection");
        let request = read(&mut stream).await;
        self.requests.borrow_mut().push(request);
        self.arrival.notify_one();
        let answer = self.next_answer();
        let (status, headers, body) = match answer {
            Answer::Ok => ("200 OK", "", "{}"),
            Answer::With(status, headers, body) => (status, headers, body),
            Answer::Hang => return pending().await,
        };
        let length = body.len();
        let response = format!(
            "HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let written = stream.write_all(response.as_bytes()).await;
        written.expect("the exporter reads");
    }
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.expect("a length").parse().expect("a number");
            if body.len() == length {
                return Request {
                    head: head.to_owned(),
                    body: body.to_owned(),
                };
            }
        }
        drop(text);
        let count = stream.read_buf(&mut bytes).await.expect("bytes");
        assert_ne!(count, 0, "the exporter closed the connection");
    }
}

/// Runs a test with a network and a timer, for a bounded time.
pub(super) fn block_on<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async { timeout(BOUND, test).await.expect("in time") })
}
