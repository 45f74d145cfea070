mod cancelling;
mod ending;
mod reading;

use std::{
    future::pending,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    sync::oneshot,
    task,
};
use ziggurat_layers::json_rpc::{Id, Json};

use super::*;

type TestBody = UnsyncBoxBody<Bytes, Infallible>;
type TestReply = Reply<TestBody>;

/// A service that lets the test answer its calls.
#[derive(Clone)]
struct TestService(mpsc::UnboundedSender<ReceivedCall>);

/// A call that reached the service. It is dropped when the caller stops waiting for the reply.
struct ReceivedCall {
    call: Call,
    reply: oneshot::Sender<TestReply>,
}

/// The client's ends of the pipes.
struct Client {
    input: DuplexStream,
    output: BufReader<DuplexStream>,
    calls: mpsc::UnboundedReceiver<ReceivedCall>,
}

// === impl TestService ===

impl Service<Call> for TestService {
    type Response = TestReply;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<TestReply, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let (reply, replied) = oneshot::channel();
        // A test that ignores its calls leaves them without a reply.
        self.0.send(ReceivedCall { call, reply }).ok();
        Box::pin(async {
            match replied.await {
                Ok(reply) => Ok(reply),
                Err(_) => pending().await,
            }
        })
    }
}

// === impl ReceivedCall ===

impl ReceivedCall {
    fn id(&self) -> &str {
        self.call.id().map_or("none", Id::as_json)
    }

    fn reply(self, text: &str) {
        let json = Json::new(text).expect("JSON");
        self.reply.send(json.into()).expect("the call is running");
    }

    fn stream(self, body: TestBody) {
        let reply = Reply::stream(body);
        self.reply.send(reply).expect("the call is running");
    }

    /// Resolves when the caller stops waiting for the reply.
    async fn dropped(mut self) {
        soon(self.reply.closed()).await;
    }
}

// === impl Client ===

impl Client {
    async fn send(&mut self, lines: &str) {
        self.input.write_all(lines.as_bytes()).await.expect("sent");
    }

    async fn request(&mut self, id: u32) {
        self.send(&request(id)).await;
    }

    async fn cancel(&mut self, id: &str) {
        let method = "notifications/cancelled";
        self.send(&format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{\"requestId\":{id}}}}}\n"
        ))
        .await;
    }

    /// Returns the next call that reaches the service.
    async fn call(&mut self, id: u32) -> ReceivedCall {
        let call = soon(self.calls.recv()).await.expect("a server");
        assert_eq!(call.id(), id.to_string());
        call
    }

    /// Returns the next line, or an empty text at the end.
    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = soon(self.output.read_line(&mut line)).await;
        read.expect("text");
        line
    }

    /// Ends the input and reads on to the end of the output.
    async fn rest(self) -> String {
        drop(self.input);
        let (mut output, mut rest) = (self.output, String::new());
        let read = soon(output.read_to_string(&mut rest)).await;
        read.expect("text");
        rest
    }
}

/// Waits for a future, with a long timeout against tests that hang.
async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    let within = time::timeout(Duration::from_mins(3), awaited).await;
    within.expect("in time")
}

fn request(id: u32) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"wait\"}}\n")
}

fn answer(id: u32, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"{result}\"}}\n")
}

/// Capacity of each pipe in bytes.
const PIPE: usize = 1 << 10;

/// Timeout of a conversation between a client and a server.
const STUCK: Duration = Duration::from_secs(10);

/// Runs a server and its client until both are done.
async fn converse<O>(stdio: Stdio, client: impl AsyncFnOnce(Client) -> O) -> (io::Result<()>, O) {
    let (input, server_input) = tokio::io::duplex(PIPE);
    let (server_output, output) = tokio::io::duplex(PIPE);
    let (call, calls) = mpsc::unbounded_channel();
    let output = BufReader::new(output);
    let server = stdio.serve(TestService(call), server_input, server_output, pending());
    let client = client(Client {
        input,
        output,
        calls,
    });
    let both = async { tokio::join!(server, client) };
    time::timeout(STUCK, both).await.expect("nothing is stuck")
}

/// Yields until the server has done all it can.
async fn settle() {
    for _ in 0..64 {
        task::yield_now().await;
    }
}

fn limits(max_calls: usize, max_waiting: usize) -> Limits {
    Limits {
        max_calls,
        max_waiting,
        ..Limits::default()
    }
}

/// Returns a JSON string in frames, longer than the capacity of a pipe.
fn long_text() -> (TestBody, String) {
    let frame = Bytes::from(vec![b'x'; PIPE]);
    let quote = Bytes::from_static(b"\"");
    let frames = [quote.clone(), frame.clone(), frame, quote];
    let frames = frames.map(|data| Ok(http_body::Frame::data(data)));
    let body = StreamBody::new(futures_util::stream::iter(frames));
    (body.boxed_unsync(), "x".repeat(2 * PIPE))
}

fn short_text() -> TestBody {
    Full::new(Bytes::from_static(b"\"short\"")).boxed_unsync()
}
