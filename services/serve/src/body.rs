//! Bodies of requests and responses, with time limits.

use std::{
    error::Error,
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use tokio::{
    sync::oneshot,
    time::{Instant, Sleep, sleep_until},
};

use crate::{
    Limits,
    idle::{Activity, FAR_FUTURE, InFlight},
    unread::Unread,
};

/// Bytes per second for which a body gets more time: a faster upload gets as much time as there is.
const MIN_BYTES_PER_SECOND: u64 = 8 << 10;

/// Maximum time of a body, as a multiple of its timeout: what it holds is not held longer.
const MAX_TIMEOUTS: u32 = 4;

/// The body of a request, as it arrives.
///
/// A body that arrives too slowly breaks off with an error. It has
/// [`Limits::body_timeout`](super::Limits::body_timeout), and a second more for every 8 KiB that
/// have arrived, up to four times the timeout. The time begins when the service first waits for the body, so the work of the
/// service before that does not count.
#[derive(Debug)]
pub struct RequestBody {
    // `None` after it was passed on in `drop`.
    inner: Option<Incoming>,
    activity: Arc<Activity>,
    timeout: Duration,
    received: u64,
    begun: Option<Instant>,
    // Boxed, because only a body that has to be waited for needs it.
    deadline: Option<Pin<Box<Sleep>>>,
    is_awaited: bool,
    /// Receives the part that the service did not read.
    unread: Option<oneshot::Sender<Incoming>>,
}

/// Error that ended the body of a request early.
#[derive(Debug)]
#[non_exhaustive]
pub enum BodyError {
    /// It arrived too slowly. The source is of the kind [`TimedOut`](io::ErrorKind::TimedOut).
    TooSlow(io::Error),
    /// The connection or the framing broke.
    Broken(hyper::Error),
}

pin_project! {
    /// The body of a response; the request counts as in flight for as long as it exists.
    pub(super) struct ResponseBody<B> {
        // Dropped at its end, because it may hold the body of the request.
        #[pin]
        inner: Option<B>,
        is_withheld: bool,
        unread: Unread,
        request: InFlight,
    }
}

// === impl BodyError ===

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooSlow(_) => "the request body did not arrive in time",
            Self::Broken(_) => "the request body is incomplete",
        })
    }
}

impl Error for BodyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(match self {
            Self::TooSlow(error) => error,
            Self::Broken(error) => error,
        })
    }
}

// === impl RequestBody ===

impl RequestBody {
    pub(super) fn new(inner: Incoming, activity: Arc<Activity>, limits: &Limits) -> Self {
        Self {
            inner: Some(inner),
            activity,
            timeout: limits.body_timeout.min(FAR_FUTURE),
            received: 0,
            begun: None,
            deadline: None,
            is_awaited: false,
            unread: None,
        }
    }

    /// Passes the unread part on when this is dropped.
    pub(super) fn pass_on(&mut self) -> oneshot::Receiver<Incoming> {
        let (sender, receiver) = oneshot::channel();
        self.unread = Some(sender);
        receiver
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

    /// Returns ready when the body has taken too long.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let earned =
            Duration::from_millis(self.received.saturating_mul(1000) / MIN_BYTES_PER_SECOND);
        let time = (self.timeout + earned).min(self.timeout.saturating_mul(MAX_TIMEOUTS));
        let until = begun + time.min(FAR_FUTURE);
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep_until(until)));
        if deadline.deadline() != until {
            deadline.as_mut().reset(until);
        }
        deadline.as_mut().poll(cx)
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
        let Some(inner) = &mut this.inner else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(frame) = Pin::new(inner).poll_frame(cx) {
            this.is_awaited(false);
            if let Some(Ok(frame)) = &frame {
                let length = frame.data_ref().map_or(0, Bytes::len);
                this.received = this.received.saturating_add(length as u64);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(BodyError::Broken)));
        }
        this.is_awaited(true);
        ready!(this.poll_deadline(cx));
        let cause = io::ErrorKind::TimedOut.into();
        Poll::Ready(Some(Err(BodyError::TooSlow(cause))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let inner = self.inner.as_ref();
        inner.map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.is_awaited(false);
        if let Some(inner) = self.inner.take().filter(|inner| !inner.is_end_stream())
            && let Some(unread) = self.unread.take()
        {
            // If the response is gone, the client does not wait for it either.
            unread.send(inner).ok();
        }
    }
}

// === impl ResponseBody ===

impl<B> ResponseBody<B> {
    /// Wraps the body of a response; a withheld body is not sent.
    pub(super) fn new(inner: B, is_withheld: bool, unread: Unread, request: InFlight) -> Self {
        Self {
            inner: Some(inner),
            is_withheld,
            unread,
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
        let mut this = self.project();
        if let Some(inner) = this.inner.as_mut().as_pin_mut() {
            if !*this.is_withheld
                && let Some(frame) = ready!(inner.poll_frame(cx))
            {
                return Poll::Ready(Some(frame));
            }
            this.inner.set(None);
        }
        this.unread.poll_drained(cx).map(|()| None)
    }

    fn is_end_stream(&self) -> bool {
        let inner = self.inner.as_ref();
        (self.is_withheld || inner.is_none_or(Body::is_end_stream)) && self.unread.is_drained()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Some(inner) if !self.is_withheld => inner.size_hint(),
            _ => SizeHint::with_exact(0),
        }
    }
}
