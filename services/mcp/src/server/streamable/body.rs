//! The body of a response: an answer, or messages and then an answer.

use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use ziggurat_serve::sse;

use crate::{Notifier, server::streamable::KEEP_ALIVE_INTERVAL};

const OPENING: &[u8] = b"event: message\ndata: ";
const CLOSING: &[u8] = b"\n\n";

pin_project! {
    /// Body of a response: an answer, or a stream of events with the answer as the last one.
    pub struct StreamableBody<F, B> {
        #[pin]
        kind: Kind<F, B>,
    }
}

pin_project! {
    #[project = KindProj]
    enum Kind<F, B> {
        Plain { #[pin] body: B },
        // Boxed: a stream is rare, and it would make every answer larger to move.
        Events { events: Pin<Box<Events<F, B>>> },
    }
}

pin_project! {
    struct Events<F, B> {
        // The bytes to send first.
        first: Bytes,
        notifier: Notifier,
        stage: Stage<F>,
        // The answer, once it has begun.
        #[pin]
        body: Option<B>,
        #[pin]
        silence: Option<Sleep>,
    }
}

enum Stage<F> {
    Waiting(F),
    /// The answer has begun, and messages before it are still to be sent.
    Answered,
    Answering,
    Done,
}

/// Formats a message as an event.
pub(super) fn event(message: &Bytes) -> Bytes {
    [OPENING, message, CLOSING].concat().into()
}

// === impl StreamableBody ===

impl<F, B> StreamableBody<F, B> {
    pub(super) fn plain(body: B) -> Self {
        let kind = Kind::Plain { body };
        Self { kind }
    }

    pub(super) fn waiting(call: F, notifier: Notifier, first: Bytes) -> Self {
        Self::events(Stage::Waiting(call), None, notifier, first)
    }

    pub(super) fn answered(response: Response<B>, notifier: Notifier, first: &Bytes) -> Self {
        let body = Some(response.into_body());
        Self::events(Stage::Answered, body, notifier, event(first))
    }

    fn events(stage: Stage<F>, body: Option<B>, notifier: Notifier, first: Bytes) -> Self {
        let events = Box::pin(Events {
            first,
            notifier,
            stage,
            body,
            silence: None,
        });
        let kind = Kind::Events { events };
        Self { kind }
    }
}

impl<F, B: From<Bytes>> From<Bytes> for StreamableBody<F, B> {
    fn from(bytes: Bytes) -> Self {
        Self::plain(bytes.into())
    }
}

impl<F, B, E> Body for StreamableBody<F, B>
where
    F: Future<Output = Result<Response<B>, E>> + Unpin,
    B: Body<Data = Bytes>,
    B::Error: From<E>,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            KindProj::Plain { body } => body.poll_frame(cx),
            KindProj::Events { events } => {
                let data = ready!(events.as_mut().poll_data(cx)).transpose();
                Poll::Ready(data.map(|data| data.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Plain { body } => body.is_end_stream(),
            Kind::Events { events } => matches!(events.stage, Stage::Done),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Plain { body } => body.size_hint(),
            Kind::Events { .. } => SizeHint::default(),
        }
    }
}

impl<F, B> fmt::Debug for StreamableBody<F, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamableBody").finish_non_exhaustive()
    }
}

// === impl Events ===

impl<F, B, E> Events<F, B>
where
    F: Future<Output = Result<Response<B>, E>> + Unpin,
    B: Body<Data = Bytes>,
    B::Error: From<E>,
{
    fn poll_data(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, B::Error>> {
        let mut this = self.project();
        if !this.first.is_empty() {
            return Poll::Ready(Ok(Some(mem::take(this.first))));
        }
        if let Stage::Waiting(call) = this.stage
            && let Poll::Ready(response) = Pin::new(call).poll(cx)
        {
            this.body.set(Some(response?.into_body()));
            *this.stage = Stage::Answered;
        }
        match this.stage {
            // Messages are sent before the answer.
            Stage::Waiting(_) | Stage::Answered => {
                if let Poll::Ready(message) = this.notifier.poll_next(cx) {
                    this.silence.set(None);
                    return Poll::Ready(Ok(Some(event(&message))));
                }
            }
            Stage::Answering => {
                while let Some(body) = this.body.as_mut().as_pin_mut() {
                    match ready!(body.poll_frame(cx)?).map(Frame::into_data) {
                        Some(Ok(data)) => return Poll::Ready(Ok(Some(data))),
                        // Trailers are dropped: a stream of events cannot contain them.
                        Some(Err(_)) => {}
                        // Dropping the body releases its resources.
                        None => this.body.set(None),
                    }
                }
                *this.stage = Stage::Done;
                return Poll::Ready(Ok(Some(Bytes::from_static(CLOSING))));
            }
            Stage::Done => return Poll::Ready(Ok(None)),
        }
        if matches!(this.stage, Stage::Answered) {
            *this.stage = Stage::Answering;
            this.silence.set(None);
            return Poll::Ready(Ok(Some(Bytes::from_static(OPENING))));
        }
        if this.silence.is_none() {
            this.silence.set(Some(sleep(KEEP_ALIVE_INTERVAL)));
        }
        if let Some(silence) = this.silence.as_mut().as_pin_mut() {
            ready!(silence.poll(cx));
        }
        this.silence.set(None);
        Poll::Ready(Ok(Some(sse::KEEP_ALIVE)))
    }
}
