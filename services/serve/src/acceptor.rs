//! Acceptors: the step between a TCP connection and HTTP, such as a TLS handshake.

use std::{convert::Infallible, future::pending, io};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

/// Turns a TCP connection into the stream that carries HTTP, for example with TLS.
///
/// ```
/// use std::io;
/// use tokio::net::TcpStream;
/// use ziggurat_serve::{AcceptError, Acceptor, Limits, Server};
///
/// /// Plain TCP, and a line in the log for each connection.
/// #[derive(Clone)]
/// struct Logged;
///
/// impl Acceptor for Logged {
///     type Stream = TcpStream;
///
///     async fn accept(&self, stream: TcpStream) -> Result<TcpStream, AcceptError> {
///         tracing::info!(peer = ?stream.peer_addr().ok(), "a connection");
///         Ok(stream)
///     }
/// }
///
/// let server = Server::new(Limits::default()).with_acceptor(Logged);
/// # let _ = server;
/// ```
pub trait Acceptor: Clone + Send + Sync + 'static {
    /// The stream that carries HTTP.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Accepts a connection, within [`Limits::handshake_timeout`](crate::Limits::handshake_timeout).
    fn accept(
        &self,
        stream: TcpStream,
    ) -> impl Future<Output = Result<Self::Stream, AcceptError>> + Send;

    /// Runs beside the server until it ends, for example to load renewed certificates.
    fn run(&self) -> impl Future<Output = Infallible> + Send {
        pending()
    }
}

/// Reason why a connection is not served.
#[derive(Debug)]
#[non_exhaustive]
pub enum AcceptError {
    /// These bytes are sent to the client, and the connection is closed.
    Refused(TcpStream, &'static [u8]),
    /// The handshake failed. The client was notified, if possible.
    Failed(io::Error),
}

/// Accepts plain TCP.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

// === impl Plain ===

impl Acceptor for Plain {
    type Stream = TcpStream;

    async fn accept(&self, stream: TcpStream) -> Result<TcpStream, AcceptError> {
        Ok(stream)
    }
}
