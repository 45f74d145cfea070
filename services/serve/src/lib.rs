//! Accepts connections and serves a tower service on them.
//!
//! With the feature `http2`, HTTP/1.1 and HTTP/2 are distinguished by their first bytes, also behind
//! an [`Acceptor`], which adds TLS. Every request has a [`ClientIp`] with the peer of its connection.
//!
//! ```
//! use std::{convert::Infallible, future::ready, io};
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use tokio::net::TcpListener;
//! use tower::service_fn;
//! use ziggurat_serve::{Limits, RequestBody, Server};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> io::Result<()> {
//! let hello = service_fn(async |_: Request<RequestBody>| {
//!     Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("hello")))
//! });
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! // A real server waits for a signal here.
//! let stop = ready(());
//! Server::new(Limits::default()).serve(listener, hello, stop).await
//! # }
//! ```
//!
//! # Limits for clients
//!
//! [`Limits`] bounds the connections, the time for a handshake, for the head of a request and for
//! its body, for reading some of a response, the idle time between two requests, and the time for
//! closing a connection. None of them includes the time that a service needs for its response.
//!
//! A new connection is accepted even if the maximum is reached: the connection that has kept the
//! server waiting longest is closed. It is idle, in the middle of sending a request, or not reading
//! its response. A connection with a running request is never closed for this. So connections that
//! only occupy a place keep no client out. The same happens when the process or the system has no
//! more open files.
//!
//! The number of HTTP/2 streams is a setting of this server. For streams that are reset as soon as
//! they are opened, and other floods of frames, the limits of the protocol library hold: it ends a
//! connection with 20 streams that were reset before they were handled, or with 1,024 that it had
//! to reset itself, and accepts heads of up to 16 KiB.
//!
//! # How connections end
//!
//! A connection that ends while its client is still sending is closed in stages (RFC 9112, section
//! 9.6), so that the client can read the reason. For the same reason an HTTP/2 stream ends after
//! the rest of its request was read, if that does not take too long. The client of an idle
//! connection is notified if the protocol has a message for it.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod acceptor;
mod body;
mod connection;
mod connections;
mod content_type;
mod idle;
mod listeners;
mod socket;
pub mod sse;
#[cfg(test)]
mod tests;
mod unread;

use std::{
    convert::Infallible,
    error::Error,
    future::poll_fn,
    io,
    pin::pin,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper_util::rt::TokioIo;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, sync::watch, time};
use tower_service::Service;
use tracing::{debug, warn};
use ziggurat_layers::{
    client_ip::ClientIp,
    shutdown::{CutOff, ERROR_SEND_TIME},
};

use self::{
    connection::{Watched, drive},
    connections::Connections,
    idle::Activity,
    socket::Socket,
};

pub use self::{
    acceptor::{AcceptError, Acceptor, Plain},
    body::{BodyError, RequestBody},
    content_type::is_json,
    listeners::Listeners,
};

type BoxError = Box<dyn Error + Send + Sync>;

/// Decides which versions of HTTP are served.
#[cfg(feature = "http2")]
type Protocol = hyper_util::server::conn::auto::Builder<hyper_util::rt::TokioExecutor>;
#[cfg(not(feature = "http2"))]
type Protocol = hyper::server::conn::http1::Builder;

/// Limits on what clients may use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Connections open at once.
    pub max_connections: usize,
    /// Time for the handshake of an [`Acceptor`].
    pub handshake_timeout: Duration,
    /// Time for the head of a request, and for the first one to begin.
    pub header_timeout: Duration,
    /// Time for the body of a request to arrive, from the first time the service waits for it. Each
    /// 8 KiB that have arrived add a second, so that long uploads get enough time, up to four times
    /// this time in all.
    pub body_timeout: Duration,
    /// Time between two requests on a connection.
    pub idle_timeout: Duration,
    /// Time for which a client may read nothing while the server has bytes to send.
    pub write_timeout: Duration,
    /// Streams open at once on one HTTP/2 connection.
    pub max_streams: u32,
    /// Time for the requests in flight when the server shuts down; after it they have half a second
    /// to end with an error.
    pub shutdown_grace: Duration,
    /// Time to continue reading after a rejection, so that the client can read the response.
    pub linger: Duration,
    /// Bytes to continue reading after a rejection.
    pub linger_bytes: u64,
}

/// A server: HTTP settings and limits, ready to serve listeners.
#[derive(Clone, Debug)]
pub struct Server<A = Plain> {
    http: Protocol,
    limits: Limits,
    cut_off: CutOff,
    connections: Arc<AtomicUsize>,
    acceptor: A,
}

/// A service that a [`Server`] can serve: it answers every request, and each connection has a clone.
pub trait HttpService:
    Service<
        Request<RequestBody>,
        Response = Response<<Self as HttpService>::ResponseBody>,
        Error = Infallible,
        Future: Send + 'static,
    > + Clone
    + Send
    + 'static
{
    /// Body of its responses.
    type ResponseBody: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> HttpService for S
where
    S: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type ResponseBody = B;
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(120),
            write_timeout: Duration::from_secs(60),
            max_streams: 128,
            shutdown_grace: Duration::from_secs(10),
            linger: Duration::from_secs(5),
            linger_bytes: 16 << 20,
        }
    }
}

// === impl Server ===

impl Server {
    /// Creates a server with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            http: protocol(&limits),
            limits,
            cut_off: CutOff::default(),
            connections: Arc::default(),
            acceptor: Plain,
        }
    }
}

impl<A> Server<A> {
    /// Sets what happens on a connection before HTTP, such as a TLS handshake.
    #[must_use]
    pub fn with_acceptor<T>(self, acceptor: T) -> Server<T> {
        Server {
            http: self.http,
            limits: self.limits,
            cut_off: self.cut_off,
            connections: self.connections,
            acceptor,
        }
    }

    /// Notifies the service when the time for the requests in flight is over, so that it can still
    /// answer them.
    #[must_use]
    pub fn with_cut_off(mut self, cut_off: CutOff) -> Self {
        self.cut_off = cut_off;
        self
    }

    /// Counts the open connections in `count`.
    #[must_use]
    pub fn with_connection_count(mut self, count: Arc<AtomicUsize>) -> Self {
        self.connections = count;
        self
    }
}

impl<A: Acceptor> Server<A> {
    /// Serves `service` on the listeners until `shutdown` resolves, then waits for the requests in
    /// flight for at most [`Limits::shutdown_grace`].
    ///
    /// # Errors
    /// Fails if a listener fails. An error on one connection ends that connection only.
    pub async fn serve(
        self,
        listeners: impl Into<Listeners>,
        service: impl HttpService,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let listeners = listeners.into();
        let mut shutdown = pin!(shutdown);
        let (stop, stopped) = watch::channel(());
        let mut connections = Connections::new(&self.limits, Arc::clone(&self.connections));
        let acceptor = self.acceptor.clone();
        let mut beside = pin!(acceptor.run());
        loop {
            let (stream, peer) = tokio::select! {
                () = &mut shutdown => break,
                () = poll_fn(|cx| connections.poll_forget(cx)) => continue,
                never = &mut beside => match never {},
                accepted = listeners.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) if is_exhaustion(&error) => tokio::select! {
                        () = &mut shutdown => break,
                        () = connections.evict_for_open_files(&error) => continue,
                    },
                    Err(error) => return Err(error),
                },
            };
            tokio::select! {
                () = &mut shutdown => break,
                () = connections.make_room() => {}
            }
            let activity = connections.activity(&self.limits);
            let peer = ClientIp::from_peer(peer);
            let connection = self.clone().connection(
                stream,
                peer,
                service.clone(),
                Arc::clone(&activity),
                stopped.clone(),
            );
            connections.join(activity, connection);
        }
        drop((listeners, stop));
        let grace = self.limits.shutdown_grace;
        if time::timeout(grace, connections.join_all()).await.is_err() {
            warn!(
                connections = connections.len(),
                "cut off after the grace period"
            );
            self.cut_off.happen();
            time::timeout(ERROR_SEND_TIME, connections.join_all())
                .await
                .ok();
        }
        connections.shutdown().await;
        Ok(())
    }

    /// Serves one connection from its first byte to its last.
    async fn connection(
        self,
        stream: TcpStream,
        peer: ClientIp,
        service: impl HttpService,
        activity: Arc<Activity>,
        mut stop: watch::Receiver<()>,
    ) {
        let opened = tokio::select! {
            opened = self.open(stream, &activity) => opened,
            () = activity.evicted() => None,
            _ = stop.changed() => None,
        };
        let Some(stream) = opened else { return };
        activity.is_open();
        let socket = Socket::new(stream, Arc::clone(&activity), &self.limits);
        let service = Watched::new(service, peer, Arc::clone(&activity), self.limits);
        let connection = self.http.serve_connection(TokioIo::new(socket), service);
        if let Err(error) = drive(connection, &activity, stop).await {
            debug!(%error, peer = %peer.client(), "connection ended early");
        }
    }

    /// Lets the acceptor prepare the connection.
    async fn open(&self, stream: TcpStream, activity: &Arc<Activity>) -> Option<A::Stream> {
        let accepting = self.acceptor.accept(stream);
        match time::timeout(self.limits.handshake_timeout, accepting).await {
            Ok(Ok(stream)) => return Some(stream),
            Ok(Err(AcceptError::Refused(stream, response))) => {
                let mut socket = Socket::new(stream, Arc::clone(activity), &self.limits);
                if socket.write_all(response).await.is_ok() {
                    socket.shutdown().await.ok();
                }
                debug!("a connection was refused before HTTP");
            }
            Ok(Err(AcceptError::Failed(error))) => {
                debug!(error = &error as &dyn Error, "handshake failed");
            }
            Err(_) => debug!("handshake timed out"),
        }
        None
    }
}

// hyper's timeout for heads would include the idle time before one; ours does not.
#[cfg(feature = "http2")]
fn protocol(limits: &Limits) -> Protocol {
    let mut protocol = Protocol::new(hyper_util::rt::TokioExecutor::new());
    protocol.http1().header_read_timeout(None);
    protocol
        .http2()
        .timer(hyper_util::rt::TokioTimer::new())
        .max_concurrent_streams(limits.max_streams)
        .keep_alive_interval(Duration::from_secs(30));
    protocol
}

#[cfg(not(feature = "http2"))]
fn protocol(_: &Limits) -> Protocol {
    let mut protocol = Protocol::new();
    protocol.header_read_timeout(None);
    protocol
}

/// Returns whether the process or the system has too many open files, which ends when connections
/// end.
fn is_exhaustion(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}
