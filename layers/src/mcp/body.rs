//! The body of a request with checked messages.

use std::{
    convert::Infallible,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The body of a request that [`McpPolicy`](crate::mcp::McpPolicy) passes on: the bytes that were
/// checked, in one frame.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use ziggurat_layers::mcp::CheckedBody;
///
/// // A server behind the layer need not collect the body again.
/// async fn echo(request: Request<CheckedBody>) -> Response<Full<Bytes>> {
///     Response::new(Full::new(request.into_body().into()))
/// }
/// # let _ = echo;
/// ```
#[derive(Clone, Debug, Default)]
pub struct CheckedBody(Bytes);

// === impl CheckedBody ===

impl CheckedBody {
    pub(super) fn new(whole: Bytes) -> Self {
        Self(whole)
    }
}

impl From<CheckedBody> for Bytes {
    fn from(body: CheckedBody) -> Self {
        body.0
    }
}

impl Body for CheckedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let whole = mem::take(&mut self.0);
        Poll::Ready((!whole.is_empty()).then(|| Ok(Frame::data(whole))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}
