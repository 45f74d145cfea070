//! Accepts connections and serves a tower service on them: one loop for all servers.
//!
//! HTTP/1.1 and HTTP/2 are distinguished by their first bytes, with [TLS](Server::with_tls), too.
//! Every request has a [`ClientIp`] with the peer of its connection.
//!
//! # Limits for clients
//!
//! [`Limits`] bounds the connections, the time for a handshake, for the head of a request and for
//! its body, for reading some of a response, the idle time between two requests, and the time for
//! closing a connection. None of them includes the time that a service needs for its response.
//!
//! A new connection is accepted even if the maximum is reached: the one that has kept the server
//! waiting longest is closed. It is idle, in the middle of sending a request, or not reading its
//! response, but never one whose request is being served. So connections that only occupy a place
//! keep no client out. The same happens when the process or the system has no more open files.
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
//! the rest of its request was read, if that does not take too long. A client whose connection was
//! idle is notified if the protocol has a message for it.

mod body;
mod connection;
mod connections;
mod idle;
mod listeners;
mod ready;
mod socket;
#[cfg(test)]
mod tests;
mod tls;
mod unread;

use std::{
    convert::Infallible,
    error::Error,
    future::{pending, poll_fn},
    io,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{io::AsyncWriteExt as _, net::TcpStream, sync::watch, time};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tower_service::Service;
use tracing::{debug, warn};
use ziggurat_layers::client_ip::ClientIp;
use ziggurat_runtime::cut_off::{CutOff, ERROR_SEND_TIME};

use self::{
    connection::{Watched, drive},
    connections::Connections,
    idle::Activity,
    socket::Socket,
    tls::HandshakeError,
};

pub use self::{
    body::{BodyError, RequestBody},
    listeners::Listeners,
    ready::{Readiness, Report, Status},
    tls::{Tls, TlsError},
};

type BoxError = Box<dyn Error + Send + Sync>;

/// A connection without or with TLS.
// Boxed: one per connection, and a hundred times as large as the other variant.
type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// Response to a client that uses plain HTTP on a TLS port.
const PLAIN_HTTP_RESPONSE: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: application/json\r\n\
    content-length: 44\r\n\
    connection: close\r\n\r\n\
    {\"error\":\"This port speaks HTTPS, not HTTP\"}";

/// Limits on what clients may use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Connections open at once.
    pub max_connections: usize,
    /// Time for a TLS handshake.
    pub handshake_timeout: Duration,
    /// Time for the head of a request, and for the first one to begin.
    pub header_timeout: Duration,
    /// Time for the body of a request to arrive, from the first time the service waits for it. Each
    /// 8 KiB that have arrived add a second, so that long uploads get enough time.
    pub body_timeout: Duration,
    /// Time between two requests on a connection.
    pub idle_timeout: Duration,
    /// Time for which a client may read nothing of what is sent to it.
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
pub struct Server {
    http: auto::Builder<TokioExecutor>,
    limits: Limits,
    cut_off: CutOff,
    tls: Option<Tls>,
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
            idle_timeout: Duration::from_mins(2),
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
    /// Creates a server with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let mut http = auto::Builder::new(TokioExecutor::new());
        // hyper's timeout would include the idle time before the head of a request; ours does not.
        http.http1().header_read_timeout(None);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(limits.max_streams)
            .keep_alive_interval(Duration::from_secs(30));
        Self {
            http,
            limits,
            cut_off: CutOff::default(),
            tls: None,
        }
    }

    /// Uses TLS on every connection. A renewed certificate is loaded while the server runs.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Notifies the service when the time for the requests in flight is over, so that it can still
    /// answer them.
    #[must_use]
    pub fn with_cut_off(mut self, cut_off: CutOff) -> Self {
        self.cut_off = cut_off;
        self
    }

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
        let mut connections = Connections::new(&self.limits);
        let tls = self.tls.clone();
        let mut renewals = pin!(async {
            match tls {
                Some(tls) => tls.follow().await,
                None => pending().await,
            }
        });
        loop {
            let (stream, peer) = tokio::select! {
                () = &mut shutdown => break,
                () = poll_fn(|cx| connections.poll_forget(cx)) => continue,
                never = &mut renewals => match never {},
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
            debug!(error = &*error, peer = %peer.client(), "connection ended early");
        }
    }

    /// Does the TLS handshake, if the server uses TLS.
    async fn open(&self, stream: TcpStream, activity: &Arc<Activity>) -> Option<Stream> {
        let Some(tls) = &self.tls else {
            return Some(Stream::Left(stream));
        };
        let accepted = time::timeout(self.limits.handshake_timeout, tls.accept(stream)).await;
        match accepted {
            Ok(Ok(stream)) => return Some(Stream::Right(Box::new(stream))),
            Ok(Err(HandshakeError::Http(stream))) => {
                let mut socket = Socket::new(stream, Arc::clone(activity), &self.limits);
                if socket.write_all(PLAIN_HTTP_RESPONSE).await.is_ok() {
                    socket.shutdown().await.ok();
                }
                debug!("a client sent HTTP without TLS");
            }
            Ok(Err(HandshakeError::Handshake(error))) => {
                debug!(error = &error as &dyn Error, "TLS handshake failed");
            }
            Err(_) => debug!("TLS handshake timed out"),
        }
        None
    }
}

/// Returns whether the process or the system has too many open files, which ends when connections
/// end.
fn is_exhaustion(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}
