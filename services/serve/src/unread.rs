//! The part of a request that the service did not read.
//!
//! HTTP/2 resets a stream if its response ends before its request. Some clients treat that as a
//! failure and lose the response (RFC 9113, section 8.1), so the rest of a request is read and
//! dropped first, within limits. On HTTP/1 the connection does the same when it closes.

#[cfg(test)]
mod tests;

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::{
    sync::oneshot,
    time::{Instant, Sleep, sleep_until},
};

use crate::{
    Limits,
    idle::{Activity, FAR_FUTURE},
    socket::MAX_PAUSE,
};

/// The part of a request that the service did not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// No part is left to wait for.
    Drained,
    /// Not known until the body of the request is dropped.
    Unknown(Expected),
    // Boxed, because few requests have an unread part.
    Draining(Box<Draining>),
}

/// Receiver of the rest of a request, and the limits for reading it.
#[derive(Debug)]
pub(super) struct Expected {
    rest: oneshot::Receiver<Incoming>,
    activity: Arc<Activity>,
    limits: Arc<Limits>,
}

/// Reads the rest of a request and drops it.
#[derive(Debug)]
pub(super) struct Draining {
    rest: Incoming,
    activity: Arc<Activity>,
    /// Bytes that may still be read.
    bytes: u64,
    until: Instant,
    pause: Pin<Box<Sleep>>,
}

// === impl Unread ===

impl Unread {
    /// Expects the rest of a request from this receiver.
    pub(super) fn of(
        rest: oneshot::Receiver<Incoming>,
        activity: &Arc<Activity>,
        limits: &Arc<Limits>,
    ) -> Self {
        Self::Unknown(Expected {
            rest,
            activity: Arc::clone(activity),
            limits: Arc::clone(limits),
        })
    }

    /// Returns whether no unread part is left or known.
    pub(super) fn is_drained(&self) -> bool {
        match self {
            Self::Drained => true,
            Self::Unknown(expected) => expected.rest.is_empty(),
            Self::Draining(_) => false,
        }
    }

    /// Reads the rest, until it ends or pauses, or the limit of time or bytes is reached. Does not
    /// wait for a request while the service still holds its body.
    pub(super) fn poll_drained(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Self::Unknown(expected) = self {
            *self = match expected.rest.try_recv() {
                Ok(rest) => Self::Draining(Box::new(Draining::new(rest, expected))),
                Err(_) => Self::Drained,
            };
        }
        if let Self::Draining(draining) = self {
            ready!(draining.poll(cx));
            *self = Self::Drained;
        }
        Poll::Ready(())
    }
}

// === impl Draining ===

impl Draining {
    fn new(rest: Incoming, expected: &Expected) -> Self {
        let Expected {
            activity, limits, ..
        } = expected;
        // The connection waits for the client now, so it may be closed to make room for others.
        activity.awaits_body();
        let now = Instant::now();
        let until = now + limits.linger.min(FAR_FUTURE);
        Self {
            rest,
            activity: Arc::clone(activity),
            bytes: limits.linger_bytes,
            until,
            pause: Box::pin(sleep_until(until.min(now + MAX_PAUSE))),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.rest.size_hint().lower() > self.bytes {
                return Poll::Ready(());
            }
            match Pin::new(&mut self.rest).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let length = frame.data_ref().map_or(0, Bytes::len) as u64;
                    let Some(bytes) = self.bytes.checked_sub(length) else {
                        return Poll::Ready(());
                    };
                    self.bytes = bytes;
                    let pause = self.until.min(Instant::now() + MAX_PAUSE);
                    self.pause.as_mut().reset(pause);
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.pause.as_mut().poll(cx),
            }
        }
    }
}

impl Drop for Draining {
    fn drop(&mut self) {
        self.activity.has_body();
    }
}
