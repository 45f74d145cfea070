//! A server on a free port, and a client that sends raw bytes.

use std::{convert::Infallible, future::pending, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinSet,
    time::timeout,
};
use tower::Service;
use ziggurat_serve::{Limits, RequestBody, Server};

pub(crate) type Body = Full<Bytes>;

/// Time limit of every wait of a test.
const TEST_TIMEOUT: Duration = Duration::from_mins(3);

/// A server that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) address: std::net::SocketAddr,
    _tasks: JoinSet<()>,
}

/// A connection for raw bytes.
pub(crate) struct RawConnection {
    pub(crate) reading: OwnedReadHalf,
    pub(crate) writing: OwnedWriteHalf,
}

/// Serves `service` with the default limits of the product.
pub(crate) async fn start<S, B>(service: S) -> Running
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static,
{
    start_with(Limits::default(), service).await
}

/// Serves `service` with limits that a test can reach.
pub(crate) async fn start_with<S, B>(limits: Limits, service: S) -> Running
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let serving = Server::new(limits).serve(listener, service, pending());
        serving.await.expect("the listener lives");
    });
    Running {
        address,
        _tasks: tasks,
    }
}

impl Running {
    pub(crate) async fn connect(&self) -> RawConnection {
        let stream = TcpStream::connect(self.address).await.expect("listening");
        let (reading, writing) = stream.into_split();
        RawConnection { reading, writing }
    }

    /// Sends bytes on a new connection and reads until the server closes it.
    pub(crate) async fn exchange(&self, bytes: &str) -> String {
        let mut wire = self.connect().await;
        wire.send(bytes).await;
        wire.rest().await
    }
}

impl RawConnection {
    pub(crate) async fn send(&mut self, bytes: &str) {
        let written = self.writing.write_all(bytes.as_bytes());
        written.await.expect("the server listens");
    }

    /// Reads until the server closes the connection.
    pub(crate) async fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        let read = timeout(TEST_TIMEOUT, self.reading.read_to_end(&mut bytes)).await;
        read.expect("the server closes").expect("without a reset");
        String::from_utf8(bytes).expect("text")
    }

    /// Reads until the text ends with `end`.
    pub(crate) async fn until(&mut self, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            let byte = timeout(TEST_TIMEOUT, self.reading.read_u8()).await;
            let byte = byte.unwrap_or_else(|_| panic!("no {end:?} after {text:?}"));
            text.push(char::from(
                byte.unwrap_or_else(|_| panic!("closed after {text:?}")),
            ));
        }
        text
    }
}
