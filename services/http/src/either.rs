//! The response body of one of two services.

use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

// Boxed: it is needed only for a body that breaks off.
type BoxError = Box<dyn Error + Send + Sync>;

pin_project! {
    /// The response body of one of two services.
    ///
    /// It makes one type of two, so that services with different bodies fit into the same
    /// [`Routes`](super::Routes). Bodies that a layer renders become the first kind.
    #[derive(Debug)]
    pub struct EitherBody<A, B> {
        #[pin]
        kind: Kind<A, B>,
    }
}

pin_project! {
    #[project = KindProj]
    #[derive(Debug)]
    enum Kind<A, B> {
        First { #[pin] body: A },
        Second { #[pin] body: B },
    }
}

// === impl EitherBody ===

impl<A, B> EitherBody<A, B> {
    /// Wraps a body of the first kind.
    pub fn first(body: A) -> Self {
        let kind = Kind::First { body };
        Self { kind }
    }

    /// Wraps a body of the second kind.
    pub fn second(body: B) -> Self {
        let kind = Kind::Second { body };
        Self { kind }
    }
}

impl<A: From<Bytes>, B> From<Bytes> for EitherBody<A, B> {
    fn from(bytes: Bytes) -> Self {
        Self::first(bytes.into())
    }
}

impl<A, B> Body for EitherBody<A, B>
where
    A: Body<Error: Into<BoxError>>,
    B: Body<Data = A::Data, Error: Into<BoxError>>,
{
    type Data = A::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<A::Data>, BoxError>>> {
        match self.project().kind.project() {
            KindProj::First { body } => body
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(Into::into))),
            KindProj::Second { body } => body
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(Into::into))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::First { body } => body.is_end_stream(),
            Kind::Second { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::First { body } => body.size_hint(),
            Kind::Second { body } => body.size_hint(),
        }
    }
}
