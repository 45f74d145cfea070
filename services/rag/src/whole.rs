//! A body that is completely in memory.

use std::{
    convert::Infallible,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// A body that is completely in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole(Bytes);

// === impl Whole ===

impl From<Bytes> for Whole {
    fn from(bytes: Bytes) -> Self {
        Self(bytes)
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = mem::take(&mut self.get_mut().0);
        // Without bytes there is no frame, as `is_end_stream` announces.
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len().try_into().unwrap_or(u64::MAX))
    }
}
