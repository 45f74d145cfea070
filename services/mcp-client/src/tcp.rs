//! HTTP over plain TCP.

use std::{
    fmt,
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use http::{Request, Response, Uri, uri::PathAndQuery};
use http_body::{Body, Frame};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::{
    error::{BoxError, ClientError},
    lock::lock,
    service::RequestBody,
};

/// Limit on connections that are kept between requests.
const MAX_IDLE: usize = 8;

/// Sends requests to one server, over connections that it keeps for the next request.
///
/// A connection is polled by the request that uses it, so nothing runs in the background.
#[derive(Clone)]
pub(crate) struct Tcp {
    host: Arc<str>,
    port: u16,
    idle: Arc<Mutex<Vec<Connection>>>,
}

struct Connection {
    sender: SendRequest<RequestBody>,
    driver: Pin<Box<http1::Connection<TokioIo<TcpStream>, RequestBody>>>,
    is_closed: bool,
}

/// Body of a response. At its end the connection can be used again; dropping it before closes the
/// connection.
pub(crate) struct TcpBody {
    incoming: Incoming,
    connection: Option<Connection>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

// === impl Tcp ===

impl Tcp {
    /// Makes a service for the server of a URI.
    pub(crate) fn new(uri: &Uri) -> Result<Self, ClientError> {
        let refuse = |problem: &str| ClientError::Setup(format!("the address `{uri}` {problem}"));
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(refuse(
                    "needs TLS, which a service for `Client::service` brings",
                ));
            }
            _ => return Err(refuse("does not begin with `http://`")),
        }
        let host = uri.host().ok_or_else(|| refuse("has no host"))?;
        Ok(Self {
            // The URI has brackets around an IPv6 address, and a socket address has none.
            host: host.trim_start_matches('[').trim_end_matches(']').into(),
            port: uri.port_u16().unwrap_or(80),
            idle: Arc::default(),
        })
    }

    async fn send(self, mut request: Request<RequestBody>) -> Result<Response<TcpBody>, BoxError> {
        let path = request.uri().path_and_query().cloned();
        *request.uri_mut() = path
            .unwrap_or_else(|| PathAndQuery::from_static("/"))
            .into();
        loop {
            let idle = self.take_idle();
            let is_reused = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.connect().await?,
            };
            match connection.send(request).await {
                Ok(response) => {
                    return Ok(response.map(|incoming| TcpBody {
                        incoming,
                        connection: Some(connection),
                        idle: self.idle,
                    }));
                }
                // The server closed the connection before it read the request.
                Err((_, Some(unsent))) if is_reused => request = unsent,
                Err((error, _)) => return Err(error),
            }
        }
    }

    /// Returns a connection that is still open.
    fn take_idle(&self) -> Option<Connection> {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            let mut connection = lock(&self.idle).pop()?;
            connection.poll_driver(&mut cx);
            if !connection.is_closed && connection.sender.is_ready() {
                return Some(connection);
            }
        }
    }

    async fn connect(&self) -> Result<Connection, BoxError> {
        let stream = TcpStream::connect((&*self.host, self.port)).await?;
        stream.set_nodelay(true)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
        Ok(Connection {
            sender,
            driver: Box::pin(driver),
            is_closed: false,
        })
    }
}

impl Service<Request<RequestBody>> for Tcp {
    type Response = Response<TcpBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

impl fmt::Debug for Tcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tcp")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

// === impl Connection ===

impl Connection {
    /// Sends a request; a request that was not sent comes back with the error.
    async fn send(
        &mut self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, (BoxError, Option<Request<RequestBody>>)> {
        let ready = poll_fn(|cx| {
            self.poll_driver(cx);
            self.sender.poll_ready(cx)
        });
        if let Err(error) = ready.await {
            return Err((error.into(), Some(request)));
        }
        let mut response = pin!(self.sender.try_send_request(request));
        let (driver, is_closed) = (&mut self.driver, &mut self.is_closed);
        let response = poll_fn(|cx| {
            if !*is_closed {
                *is_closed = driver.as_mut().poll(cx).is_ready();
            }
            response.as_mut().poll(cx)
        });
        response.await.map_err(|mut error| {
            let unsent = error.take_message();
            (error.into_error().into(), unsent)
        })
    }

    /// Reads and writes. The error of a connection reaches its request.
    fn poll_driver(&mut self, cx: &mut Context<'_>) {
        if !self.is_closed {
            self.is_closed = self.driver.as_mut().poll(cx).is_ready();
        }
    }
}

// === impl TcpBody ===

impl Body for TcpBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Some(connection) = &mut this.connection {
            connection.poll_driver(cx);
        }
        let frame = ready!(Pin::new(&mut this.incoming).poll_frame(cx));
        if frame.is_none()
            && let Some(connection) = this.connection.take()
        {
            let mut idle = lock(&this.idle);
            if !connection.is_closed && idle.len() < MAX_IDLE {
                idle.push(connection);
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }
}
