//! A connection to a server: direct, or through a proxy, with TLS where the address asks for it.

use std::{fmt, io};

use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::{address::Origin, proxy::Proxy};

/// How much a proxy may say before the tunnel begins.
const PROXY_HEAD: usize = 16 * 1024;

/// What bytes travel on.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Why there is no connection.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) cause: String,
    /// Another attempt may go better.
    pub(super) is_passing: bool,
}

/// Opens a connection.
pub(super) async fn dial(
    origin: &Origin,
    proxy: Option<&Proxy>,
    tls: Option<&TlsConnector>,
) -> Result<Box<dyn Stream>, Refused> {
    // Boxed: one per connection, not per request.
    let stream: Box<dyn Stream> = match proxy {
        None => Box::new(tcp(origin).await?),
        Some(proxy) => {
            let stream: Box<dyn Stream> = Box::new(tcp(&proxy.origin).await?);
            let mut stream = if proxy.origin.is_tls {
                secured(stream, &proxy.origin, tls).await?
            } else {
                stream
            };
            if origin.is_tls {
                tunnel(&mut stream, origin, proxy).await?;
            }
            stream
        }
    };
    if origin.is_tls {
        secured(stream, origin, tls).await
    } else {
        Ok(stream)
    }
}

async fn tcp(origin: &Origin) -> Result<TcpStream, Refused> {
    let stream = TcpStream::connect((origin.host.as_str(), origin.port))
        .await
        .map_err(|error| Refused::passing(format!("connect to {}: {error}", origin.authority())))?;
    // A request is one small write whose answer is waited for.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

async fn secured(
    stream: Box<dyn Stream>,
    origin: &Origin,
    tls: Option<&TlsConnector>,
) -> Result<Box<dyn Stream>, Refused> {
    let Some(tls) = tls else {
        return Err(Refused::for_good("TLS is not set up"));
    };
    let name = ServerName::try_from(origin.host.clone())
        .map_err(|_| Refused::for_good(format!("{:?} is no name of a server", origin.host)))?;
    match tls.connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        // A certificate that is refused now is refused in a second.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Refused::for_good(format!("TLS: {error}")))
        }
        Err(error) => Err(Refused::passing(format!("TLS: {error}"))),
    }
}

async fn tunnel(
    stream: &mut Box<dyn Stream>,
    origin: &Origin,
    proxy: &Proxy,
) -> Result<(), Refused> {
    let authority = origin.authority();
    let authorization = proxy
        .authorization
        .as_ref()
        .map_or_else(String::new, |value| {
            format!("Proxy-Authorization: {value}\r\n")
        });
    let head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{authorization}\r\n");
    let broken = |error: io::Error| Refused::passing(format!("proxy: {error}"));
    stream.write_all(head.as_bytes()).await.map_err(broken)?;
    stream.flush().await.map_err(broken)?;
    let status = proxy_status(stream).await?;
    if (200..300).contains(&status) {
        Ok(())
    } else {
        let cause = format!("the proxy answered {status} to CONNECT");
        Err(Refused {
            cause,
            is_passing: matches!(status, 429 | 502..=504),
        })
    }
}

/// Reads the head of the proxy's answer and not one byte more: what follows belongs to the tunnel.
async fn proxy_status(stream: &mut Box<dyn Stream>) -> Result<u16, Refused> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == PROXY_HEAD {
            return Err(Refused::for_good("proxy: its answer has no end"));
        }
        let byte = stream
            .read_u8()
            .await
            .map_err(|error| Refused::passing(format!("proxy: {error}")))?;
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head);
    head.strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1)?.trim().parse().ok())
        .ok_or_else(|| Refused::for_good("proxy: its answer is not HTTP"))
}

// === impl Refused ===

impl Refused {
    fn passing(cause: String) -> Self {
        Self {
            cause,
            is_passing: true,
        }
    }

    pub(super) fn for_good(cause: impl Into<String>) -> Self {
        Self {
            cause: cause.into(),
            is_passing: false,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.cause)
    }
}
