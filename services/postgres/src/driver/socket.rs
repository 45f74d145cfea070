//! Socket of a connection, with TLS or without.

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use crate::driver::{
    DriverError, Endpoint, Tls,
    tls::TlsRequest,
    tunnel::{Tunnel, TunnelAddress},
};

/// Idle time before a TCP keepalive probe, and between two probes.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Connected socket.
pub(super) struct Socket {
    pub(super) stream: Stream,
    /// Address to connect to the same server again.
    pub(super) peer: Peer,
    pub(super) tls: Tls,
    /// Ends after the stream.
    tunnel: Option<Tunnel>,
}

// Boxed: the buffers of TLS would make every connection as large.
type Stream = Either<PlainStream, Box<TlsStream<PlainStream>>>;

/// Stream without TLS.
pub(super) type PlainStream = Either<TcpStream, UnixStream>;

/// Address of the server a socket is connected to, since a host name may have several.
#[derive(Clone, Debug)]
pub(super) enum Peer {
    Tcp { host: String, address: SocketAddr },
    Unix(PathBuf),
    Tunnel(TunnelAddress),
}

// === impl Socket ===

impl Socket {
    /// Connects, and negotiates TLS as its mode requires.
    pub(super) async fn connect(
        endpoint: &Endpoint,
        tls: &Tls,
        silence: Duration,
    ) -> Result<Self, DriverError> {
        match endpoint {
            Endpoint::Unix(path) => Self::to_unix(path.clone(), tls).await,
            Endpoint::Tunnel(address) => Self::through(address, tls).await,
            Endpoint::Tcp {
                host,
                port,
                address,
            } => {
                // An IPv6 address may have the brackets of a URL.
                let name = host.trim_matches(['[', ']']);
                let stream = match address {
                    Some(address) => TcpStream::connect((*address, *port)).await?,
                    None => TcpStream::connect((name, *port)).await?,
                };
                Self::over(stream, name.to_owned(), tls, silence).await
            }
        }
    }

    /// Connects to the same server in the same way.
    pub(super) async fn again(
        peer: &Peer,
        tls: &Tls,
        silence: Duration,
    ) -> Result<Self, DriverError> {
        match peer {
            Peer::Unix(path) => Self::to_unix(path.clone(), tls).await,
            Peer::Tunnel(address) => Self::through(address, tls).await,
            Peer::Tcp { host, address } => {
                let stream = TcpStream::connect(address).await?;
                Self::over(stream, host.clone(), tls, silence).await
            }
        }
    }

    pub(super) fn has_tls(&self) -> bool {
        matches!(self.stream, Either::Right(_))
    }

    async fn to_unix(path: PathBuf, tls: &Tls) -> Result<Self, DriverError> {
        Ok(Self {
            stream: Either::Left(Either::Right(UnixStream::connect(&path).await?)),
            peer: Peer::Unix(path),
            tls: tls.clone(),
            tunnel: None,
        })
    }

    /// Connects through a program. TLS runs inside.
    async fn through(address: &TunnelAddress, tls: &Tls) -> Result<Self, DriverError> {
        let (stream, mut tunnel) = address.open()?;
        match encrypted(Either::Right(stream), &address.host, tls).await {
            Ok(stream) => Ok(Self {
                stream,
                peer: Peer::Tunnel(address.clone()),
                tls: tls.clone(),
                tunnel: Some(tunnel),
            }),
            Err(error) => Err(tunnel.explain(error).await),
        }
    }

    /// Returns how the program of the connection ended, if that is the cause of an error.
    pub(super) async fn explain(&mut self, error: DriverError) -> DriverError {
        match &mut self.tunnel {
            Some(tunnel) => tunnel.explain(error).await,
            None => error,
        }
    }

    async fn over(
        stream: TcpStream,
        host: String,
        tls: &Tls,
        silence: Duration,
    ) -> Result<Self, DriverError> {
        stream.set_nodelay(true)?;
        keep_alive(&stream, silence)?;
        let address = stream.peer_addr()?;
        Ok(Self {
            stream: encrypted(Either::Left(stream), &host, tls).await?,
            peer: Peer::Tcp { host, address },
            tls: tls.clone(),
            tunnel: None,
        })
    }
}

/// Negotiates TLS as its mode requires.
async fn encrypted(mut stream: PlainStream, host: &str, tls: &Tls) -> Result<Stream, DriverError> {
    let asking = tls.asking();
    if asking == TlsRequest::No {
        return Ok(Either::Left(stream));
    }
    match (offers_tls(&mut stream).await?, asking) {
        (true, _) => Ok(Either::Right(Box::new(tls.handshake(stream, host).await?))),
        (false, TlsRequest::Preferred) => Ok(Either::Left(stream)),
        (false, _) => Err(DriverError::NoTls),
    }
}

async fn offers_tls(stream: &mut PlainStream) -> Result<bool, DriverError> {
    let mut request = bytes::BytesMut::new();
    postgres_protocol::message::frontend::ssl_request(&mut request);
    stream.write_all(&request).await?;
    match stream.read_u8().await? {
        b'S' => Ok(true),
        // A server that does not know the request answers `E`, an error.
        b'N' | b'E' => Ok(false),
        _ => Err(DriverError::Protocol("no response to a request for TLS")),
    }
}

/// Sets timeouts for a server that silently disappears, both while it owes an answer and while it
/// owes the acknowledgement of sent data.
fn keep_alive(stream: &TcpStream, silence: Duration) -> io::Result<()> {
    use rustix::net::sockopt;

    let idle = KEEPALIVE.min(silence);
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, idle)?;
    sockopt::set_tcp_keepintvl(stream, idle)?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    #[cfg(target_os = "linux")]
    {
        let silence = u32::try_from(silence.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(stream, silence)?;
    }
    Ok(())
}
