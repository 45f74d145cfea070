//! Collects a body into one buffer.

use std::{
    error::Error,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BufMut as _, Bytes, BytesMut};
#[cfg(feature = "json-rpc")]
use http::StatusCode;
use http_body::Body;
use pin_project_lite::pin_project;

#[cfg(feature = "json-rpc")]
use crate::reject::Rejection;

type BoxError = Box<dyn Error + Send + Sync>;

pin_project! {
    /// Future of a whole body; fails before it holds more than `max_bytes`.
    pub(crate) struct Collect<B> {
        #[pin]
        body: B,
        gathered: CollectedBody,
        max_bytes: usize,
    }
}

/// The reason why a body could not be collected.
#[derive(Debug)]
pub(crate) enum Unreadable {
    TooLarge,
    Broken(BoxError),
}

/// The data of several frames in one buffer; a single frame is not copied.
#[derive(Default)]
pub(crate) struct CollectedBody {
    first: Bytes,
    joined: BytesMut,
}

// === impl Collect ===

impl<B> Collect<B> {
    pub(crate) fn new(body: B, max_bytes: usize) -> Self {
        Self {
            body,
            gathered: CollectedBody::default(),
            max_bytes,
        }
    }
}

impl<B> Future for Collect<B>
where
    B: Body<Error: Into<BoxError>>,
{
    type Output = Result<Bytes, Unreadable>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let rest = *this.max_bytes - this.gathered.len();
            let announced = usize::try_from(this.body.size_hint().lower()).unwrap_or(usize::MAX);
            if announced > rest {
                return Poll::Ready(Err(Unreadable::TooLarge));
            }
            match ready!(this.body.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => {
                    // Trailers are not part of a message.
                    let Ok(data) = frame.into_data() else {
                        continue;
                    };
                    if data.remaining() > rest {
                        return Poll::Ready(Err(Unreadable::TooLarge));
                    }
                    this.gathered.push(data, announced);
                }
                Some(Err(error)) => return Poll::Ready(Err(Unreadable::Broken(error.into()))),
                None => return Poll::Ready(Ok(this.gathered.take())),
            }
        }
    }
}

// === impl Unreadable ===

#[cfg(feature = "json-rpc")]
impl Unreadable {
    /// Describes the refusal of a request with this body.
    pub(crate) fn rejection(&self) -> Rejection {
        match self {
            Self::TooLarge => Rejection::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "request_too_large",
                "Request body too large",
            ),
            Self::Broken(error) => Rejection::unreadable_body(&**error),
        }
    }
}

// === impl CollectedBody ===

impl CollectedBody {
    pub(crate) fn len(&self) -> usize {
        self.first.len() + self.joined.len()
    }

    /// Adds a frame; `announced` is the size of the remaining body, including this frame.
    pub(crate) fn push(&mut self, mut data: impl Buf, announced: usize) {
        let length = data.remaining();
        if self.len() == 0 {
            self.first = data.copy_to_bytes(length);
            return;
        }
        if self.joined.is_empty() {
            self.joined
                .reserve(self.first.len() + announced.max(length));
            self.joined.put(mem::take(&mut self.first));
        }
        self.joined.put(data);
    }

    pub(crate) fn take(&mut self) -> Bytes {
        if self.joined.is_empty() {
            mem::take(&mut self.first)
        } else {
            mem::take(&mut self.joined).freeze()
        }
    }
}
