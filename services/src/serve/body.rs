//! The body of a request and that of a response, each watched.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use super::activity::{Activity, InFlight};

/// The body of a request, as it comes in.
///
/// A client that takes longer over it than
/// [`Limits::request_timeout`](super::Limits::request_timeout) is given up: the body breaks off
/// with an error. The time begins when somebody waits for the body, so nobody's own work
/// counts.
#[derive(Debug)]
pub struct RequestBody {
    inner: Incoming,
    activity: Arc<Activity>,
    timeout: Duration,
    // Boxed: only for a body that has to be waited for.
    deadline: Option<Pin<Box<Sleep>>>,
    is_awaited: bool,
}

/// Why the body of a request ended before its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// It took longer than the server waits.
    #[error("the body of the request did not come in in time")]
    TooSlow,
    /// The connection or the framing broke.
    #[error("the body of the request broke off")]
    Broken(#[source] hyper::Error),
}

pin_project! {
    /// The body of a response; as long as it is there, so is its request.
    pub(super) struct ResponseBody<B> {
        #[pin]
        inner: B,
        is_withheld: bool,
        request: InFlight,
    }
}

// === impl RequestBody ===

impl RequestBody {
    pub(super) fn new(inner: Incoming, activity: Arc<Activity>, timeout: Duration) -> Self {
        Self {
            inner,
            activity,
            timeout,
            deadline: None,
            is_awaited: false,
        }
    }

    fn is_awaited(&mut self, awaited: bool) {
        if awaited != self.is_awaited {
            self.is_awaited = awaited;
            if awaited {
                self.activity.awaits_body();
            } else {
                self.activity.has_body();
            }
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) {
            this.is_awaited(false);
            return Poll::Ready(frame.map(|frame| frame.map_err(BodyError::Broken)));
        }
        this.is_awaited(true);
        let timeout = this.timeout;
        let deadline = this
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Some(Err(BodyError::TooSlow)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.is_awaited(false);
    }
}

// === impl ResponseBody ===

impl<B> ResponseBody<B> {
    /// A body that is withheld is not sent.
    pub(super) fn new(inner: B, is_withheld: bool, request: InFlight) -> Self {
        Self {
            inner,
            is_withheld,
            request,
        }
    }
}

impl<B: Body> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        if self.is_withheld {
            return Poll::Ready(None);
        }
        self.project().inner.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.is_withheld || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_withheld {
            return SizeHint::with_exact(0);
        }
        self.inner.size_hint()
    }
}
