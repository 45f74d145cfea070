//! The HTTP service that a client calls, without its types.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Mutex,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{error::BoxError, lock::lock};

// Boxed: the client has no type parameters, so that programs can store it, and the network costs
// more than a box.
pub(crate) type BoxBody = Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>;
pub(crate) type BoxResponse =
    Pin<Box<dyn Future<Output = Result<Response<BoxBody>, BoxError>> + Send>>;

/// The body of a request of a [`Client`](crate::Client).
#[derive(Debug, Default)]
pub struct RequestBody(Option<Bytes>);

/// A service of any type.
pub(crate) trait HttpService: Send + Sync {
    fn call(&self, request: Request<RequestBody>) -> BoxResponse;
}

/// A service that is cloned for each request.
pub(crate) struct Cloned<S>(pub(crate) Mutex<S>);

pin_project! {
    struct ErasedBody<B> {
        #[pin]
        body: B,
    }
}

// === impl RequestBody ===

impl From<Bytes> for RequestBody {
    fn from(bytes: Bytes) -> Self {
        Self(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

// === impl Cloned ===

impl<S, B> HttpService for Cloned<S>
where
    S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn call(&self, request: Request<RequestBody>) -> BoxResponse {
        let mut service = lock(&self.0).clone();
        Box::pin(async move {
            let ready = poll_fn(|cx| service.poll_ready(cx)).await;
            ready.map_err(Into::into)?;
            let response = service.call(request).await.map_err(Into::into)?;
            Ok(response.map(|body| Box::pin(ErasedBody { body }) as BoxBody))
        })
    }
}

// === impl ErasedBody ===

impl<B> Body for ErasedBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.project().body.poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl fmt::Debug for dyn HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}
