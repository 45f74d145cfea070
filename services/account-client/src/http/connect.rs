//! Connects to a server: directly or through a proxy, with TLS for `https`.

use std::io;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::{client::proxy::matcher::Intercept, rt::TokioIo};
use rustls_pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use crate::http::{address::Origin, message::TransportError, retry, transport};

/// A stream of bytes in both directions.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A stream of any kind. Boxed: one per connection, not per request.
pub(super) type AnyStream = Box<dyn Stream>;

/// Opens a connection.
pub(super) async fn dial(
    origin: &Origin,
    proxy: Option<&Intercept>,
    tls: Option<&TlsConnector>,
) -> Result<AnyStream, TransportError> {
    let stream = match proxy {
        None => tcp(origin).await?,
        Some(proxy) => {
            let at = Origin::of(proxy.uri());
            let stream = secured(tcp(&at).await?, &at, tls).await?;
            if origin.is_tls {
                tunnel(stream, origin, proxy).await?
            } else {
                stream
            }
        }
    };
    secured(stream, origin, tls).await
}

async fn tcp(origin: &Origin) -> Result<AnyStream, TransportError> {
    let stream = TcpStream::connect((origin.host.as_str(), origin.port))
        .await
        .map_err(|error| {
            TransportError::passing(format!("connect to {}: {error}", origin.authority()))
        })?;
    // A request is one small write, which Nagle's algorithm would only delay.
    let _ = stream.set_nodelay(true);
    Ok(Box::new(stream))
}

/// Adds TLS if the URL requires it.
async fn secured(
    stream: AnyStream,
    origin: &Origin,
    tls: Option<&TlsConnector>,
) -> Result<AnyStream, TransportError> {
    if !origin.is_tls {
        return Ok(stream);
    }
    let tls = tls.ok_or_else(|| TransportError::lasting("TLS is not configured"))?;
    let name = ServerName::try_from(origin.host.clone()).map_err(|_| {
        TransportError::lasting(format!("{:?} is not a valid server name", origin.host))
    })?;
    match tls.connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        // A certificate that is rejected now is rejected by a retry, too.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(TransportError::lasting(format!("TLS: {error}")))
        }
        Err(error) => Err(TransportError::passing(format!("TLS: {error}"))),
    }
}

/// Opens a tunnel through a proxy.
///
/// The tunnel of `hyper-util` hides the status of an error response, but 429, 502, 503 and 504 have
/// to be retried.
async fn tunnel(
    stream: AnyStream,
    origin: &Origin,
    proxy: &Intercept,
) -> Result<AnyStream, TransportError> {
    let authority = origin.authority();
    let mut request = Request::connect(&authority).header(header::HOST, &authority);
    if let Some(authorization) = proxy.basic_auth() {
        request = request.header(header::PROXY_AUTHORIZATION, authorization);
    }
    let request = request
        // The body type of all requests, so that the code of the connection exists once.
        .body(Full::<Bytes>::default())
        .map_err(|error| TransportError::lasting(format!("proxy: {error}")))?;
    let broken = |error: hyper::Error| transport::broken("proxy: ", &error);
    let (mut sender, connection) = http1::Builder::new()
        .title_case_headers(true)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let opened = async {
        let answer = sender.send_request(request).await.map_err(broken)?;
        let status = answer.status();
        if status.is_success() {
            return hyper::upgrade::on(answer).await.map_err(broken);
        }
        Err(TransportError::Connection {
            cause: format!("the proxy responded {} to CONNECT", status.as_u16()),
            is_passing: retry::is_passing(status),
        })
    };
    let mut driver: Option<transport::Driver> = Some(Box::pin(connection.with_upgrades()));
    let stream = transport::drive(&mut driver, opened).await?;
    Ok(Box::new(TokioIo::new(stream)))
}
