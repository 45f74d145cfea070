//! The two ways to a server.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use ziggurat_mcp::protocol::Revision;

use crate::{
    error::ClientError,
    message::Message,
    outgoing::Outgoing,
    pipe::{Pipe, PipeExchange},
    streamable::{Http, HttpExchange},
};

/// A way to a server.
#[derive(Clone)]
pub(crate) enum Transport {
    Http(Arc<Http>),
    Pipe(Arc<Pipe>),
}

/// A request and the messages that the server sends for it. Dropping it cancels the request, unless
/// it is finished.
pub(crate) enum Exchange {
    // Boxed: much larger than the other.
    Http(Box<HttpExchange>),
    Pipe(PipeExchange),
}

// === impl Transport ===

impl Transport {
    pub(crate) fn start(&self, request: Outgoing<'_>) -> Exchange {
        match self {
            Self::Http(http) => Exchange::Http(Box::new(http.start(request))),
            Self::Pipe(pipe) => Exchange::Pipe(pipe.start(&request)),
        }
    }

    /// Sends a message that has no answer.
    pub(crate) async fn send(
        &self,
        revision: Option<Revision>,
        message: Bytes,
    ) -> Result<(), ClientError> {
        match self {
            Self::Http(http) => http.send(revision, message).await,
            Self::Pipe(pipe) => pipe.send(&message).await,
        }
    }

    /// Sends the cancellations of dropped requests.
    pub(crate) async fn flush(&self) -> Result<(), ClientError> {
        match self {
            Self::Http(http) => {
                http.flush().await;
                Ok(())
            }
            Self::Pipe(pipe) => pipe.flush().await,
        }
    }

    pub(crate) async fn close(&self, revision: Revision) -> Result<(), ClientError> {
        match self {
            Self::Http(http) => http.close(revision).await,
            Self::Pipe(pipe) => pipe.close().await,
        }
    }
}

// === impl Exchange ===

impl Exchange {
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, ClientError>> {
        match self {
            Self::Http(exchange) => exchange.poll_next(cx),
            Self::Pipe(exchange) => exchange.poll_next(cx),
        }
    }

    /// Marks the request as answered.
    pub(crate) fn finish(&mut self) {
        match self {
            Self::Http(exchange) => exchange.finish(),
            Self::Pipe(exchange) => exchange.finish(),
        }
    }
}
