//! Accepts connections and serves a tower service on them: one loop for all servers.
//!
//! HTTP/1.1 and HTTP/2 are told apart by their first bytes. Every request carries a
//! [`ClientIp`] that names the peer of its connection. What one client can hold is bounded by
//! [`Limits`]: connections, the time to send a request head, to take some of a response, and
//! for a connection to end.
//!
//! A connection that ends while its client is still sending is closed in stages (RFC 9112
//! section 9.6), so that the client can read why it was refused.

mod socket;

use std::{
    convert::Infallible,
    error::Error,
    io,
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time,
};
use tower_service::Service;
use tracing::{debug, warn};
use ziggurat_layers::client_ip::ClientIp;

use self::socket::Socket;

type BoxError = Box<dyn Error + Send + Sync>;

/// What clients may take of the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Connections open at once; the next one waits in the system's queue.
    pub max_connections: usize,
    /// Time for the head of a request, and for an idle connection to send one.
    pub header_timeout: Duration,
    /// Time a client may take nothing of what is sent to it.
    pub write_timeout: Duration,
    /// Streams open at once on one HTTP/2 connection.
    pub max_streams: u32,
    /// Time for the requests in flight when the server shuts down.
    pub shutdown_grace: Duration,
    /// Time to read on after a refusal, so that the client gets to read it.
    pub linger: Duration,
    /// Bytes to read on after a refusal.
    pub linger_bytes: u64,
}

/// A server: HTTP settings and limits, ready to serve listeners.
#[derive(Clone, Debug)]
pub struct Server {
    http: auto::Builder<TokioExecutor>,
    limits: Limits,
}

/// Puts the peer's address into the requests of one connection.
#[derive(Clone, Debug)]
struct FromPeer<S> {
    inner: S,
    peer: ClientIp,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            header_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_mins(1),
            max_streams: 128,
            shutdown_grace: Duration::from_secs(10),
            linger: Duration::from_secs(5),
            linger_bytes: 16 << 20,
        }
    }
}

// === impl Server ===

impl Server {
    /// Prepares a server.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_timeout);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(limits.max_streams)
            .keep_alive_interval(Duration::from_secs(30));
        Self { http, limits }
    }

    /// Serves `service` on `listener` until `shutdown` resolves, then lets the requests in
    /// flight finish for as long as the limits say.
    ///
    /// # Errors
    /// Fails when the listener itself does. Trouble on one connection ends that connection.
    pub async fn serve<S, B>(
        self,
        listener: TcpListener,
        service: S,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()>
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send + 'static,
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let mut shutdown = pin!(shutdown);
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(self.limits.max_connections));
        let mut connections = JoinSet::new();
        loop {
            let (stream, peer, permit) = tokio::select! {
                () = &mut shutdown => break,
                // Joined as they end, so the set holds no more than what is open.
                Some(_) = connections.join_next() => continue,
                accepted = accept(&listener, &room) => accepted?,
            };
            let peer = ClientIp::from_peer(peer);
            let service = TowerToHyperService::new(FromPeer {
                inner: service.clone(),
                peer,
            });
            let socket = Socket::new(stream, &self.limits);
            let connection = self
                .http
                .serve_connection(TokioIo::new(socket), service)
                .into_owned();
            let connection = graceful.watch(connection);
            connections.spawn(async move {
                if let Err(error) = connection.await {
                    debug!(error = &*error, peer = %peer.client(), "connection ended early");
                }
                drop(permit);
            });
        }
        drop(listener);
        if time::timeout(self.limits.shutdown_grace, graceful.shutdown())
            .await
            .is_err()
        {
            warn!(
                connections = connections.len(),
                "cut off after the grace period"
            );
        }
        connections.shutdown().await;
        Ok(())
    }
}

/// Waits for room, then for a connection.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room)
        .acquire_owned()
        .await
        .expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Answers are written whole; waiting for more only delays them.
                stream.set_nodelay(true).ok();
                return Ok((stream, peer, permit));
            }
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) if is_exhaustion(&error) => {
                warn!(
                    error = &error as &dyn Error,
                    "cannot accept, trying again in a second"
                );
                time::sleep(Duration::from_secs(1)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

/// Too many open files, here or in the whole system: it passes when connections end.
fn is_exhaustion(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

// === impl FromPeer ===

impl<S, B> Service<Request<B>> for FromPeer<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        self.inner.call(request)
    }
}
