//! The bodies of audited requests and responses.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::audit::{
    Outcome,
    entry::{AuditEntry, EntryState, Recording},
};

pin_project! {
    /// A request body that counts its bytes.
    ///
    /// ```
    /// use std::future::ready;
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use http_body_util::Full;
    /// use tower::{Layer as _, service_fn};
    /// use ziggurat_layers::audit::{AuditLayer, CountedBody, TracingSink};
    ///
    /// let handler = |_: Request<CountedBody<Full<Bytes>>>| {
    ///     ready(Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("hello"))))
    /// };
    /// let service = AuditLayer::new(TracingSink).layer(service_fn(handler));
    /// # let _ = service;
    /// ```
    #[derive(Debug)]
    pub struct CountedBody<B> {
        #[pin]
        inner: B,
        entry: AuditEntry,
    }
}

pin_project! {
    /// A response body that ends the request when it ends.
    ///
    /// The request is recorded when this body ends, fails or is dropped. Frames of every kind pass
    /// unchanged.
    ///
    /// ```
    /// use std::future::ready;
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use http_body_util::Full;
    /// use tower::{Layer as _, ServiceExt as _, service_fn};
    /// use ziggurat_layers::audit::{AuditLayer, AuditedBody, TracingSink};
    ///
    /// # tokio_test::block_on(async {
    /// let service = AuditLayer::new(TracingSink).layer(service_fn(|_| {
    ///     ready(Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("hello"))))
    /// }));
    /// let response: Response<AuditedBody<Full<Bytes>>> = service.oneshot(Request::new(())).await?;
    /// # let _ = response;
    /// # Ok::<_, std::convert::Infallible>(())
    /// # }).unwrap();
    /// ```
    #[derive(Debug)]
    pub struct AuditedBody<B> {
        // Dropped first, so that the record has what its `drop` does.
        #[pin]
        inner: B,
        // `None`: recorded, or refused by this layer.
        recording: Option<Recording>,
    }
}

// === impl CountedBody ===

impl<B> CountedBody<B> {
    pub(super) fn new(inner: B, entry: Arc<EntryState>) -> Self {
        let entry = AuditEntry(entry);
        Self { inner, entry }
    }
}

impl<B: Body> Body for CountedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let frame = ready!(this.inner.poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(bytes) = frame.data_ref()
        {
            this.entry.0.add_bytes_in(bytes.remaining());
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

// === impl AuditedBody ===

impl<B> AuditedBody<B> {
    pub(super) fn new(inner: B, recording: Option<Recording>) -> Self {
        Self { inner, recording }
    }

    pub(super) fn unrecorded(inner: B) -> Self {
        Self::new(inner, None)
    }
}

/// Lets a layer further out refuse a request: this layer never sees it and records nothing.
impl<B: From<Bytes>> From<Bytes> for AuditedBody<B> {
    fn from(whole: Bytes) -> Self {
        Self::unrecorded(whole.into())
    }
}

impl<B: Body> Body for AuditedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let Some(recording) = this.recording else {
            return this.inner.poll_frame(cx);
        };
        let frame = ready!(recording.run(|| this.inner.as_mut().poll_frame(cx)));
        let outcome = match &frame {
            Some(Ok(frame)) => {
                let bytes = frame.data_ref();
                recording.add_bytes_out(bytes.map_or(0, Buf::remaining));
                // A server does not ask for more after the trailers, or at the end of the stream.
                let is_last = frame.is_trailers() || this.inner.is_end_stream();
                is_last.then_some(Outcome::Completed)
            }
            Some(Err(_)) => Some(Outcome::BodyFailed),
            None => Some(Outcome::Completed),
        };
        if let Some(outcome) = outcome
            && let Some(recording) = this.recording.take()
        {
            recording.finish(outcome);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
