//! The body of a result.

use std::{
    convert::Infallible,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::Stream;
use http_body::{Body, Frame, SizeHint};

use crate::mcp::{Reported, Text};

const OPENING: &str = r#"{"content":[{"type":"text","text":""#;
const CLOSING: &str = r#""}]}"#;
const CLOSING_IN_ERROR: &str = r#""}],"isError":true}"#;

/// What a tool sends as it comes.
// Boxed: streams differ from tool to tool, and there is one per streamed result.
pub(super) type Pieces = Pin<Box<dyn Stream<Item = Result<Text, Reported>> + Send>>;

/// The body of a result: ready, or the text of a tool as it comes.
///
/// It cannot fail, and what it sends is one whole JSON object in every case. A tool that gives
/// up half-way has the rest of its text replaced by what it reports, and `isError` is the last
/// member of a result, where that can still be said.
pub struct ResultBody {
    kind: Kind,
}

enum Kind {
    Ready(Bytes),
    Opening(Pieces),
    Streaming { pieces: Pieces, has_text: bool },
    Done,
}

// === impl ResultBody ===

impl ResultBody {
    pub(super) fn text(pieces: Pieces) -> Self {
        Self {
            kind: Kind::Opening(pieces),
        }
    }
}

/// The result whose text is whole.
pub(super) fn whole(text: &Text, is_error: bool) -> ResultBody {
    let closing = if is_error { CLOSING_IN_ERROR } else { CLOSING };
    let mut result = Text::with_capacity(OPENING.len() + text.len() + closing.len());
    result.push_json(OPENING);
    result.append(text);
    result.push_json(closing);
    ResultBody::from(result.into_bytes())
}

impl From<Bytes> for ResultBody {
    fn from(result: Bytes) -> Self {
        Self {
            kind: Kind::Ready(result),
        }
    }
}

impl Body for ResultBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let kind = &mut self.get_mut().kind;
        let data = match mem::replace(kind, Kind::Done) {
            Kind::Ready(result) => result,
            Kind::Opening(pieces) => {
                let has_text = false;
                *kind = Kind::Streaming { pieces, has_text };
                Bytes::from_static(OPENING.as_bytes())
            }
            Kind::Streaming {
                mut pieces,
                has_text,
            } => match next(&mut pieces, cx) {
                Poll::Ready(Some(Ok(text))) => {
                    let has_text = true;
                    *kind = Kind::Streaming { pieces, has_text };
                    text.into_bytes()
                }
                // The stream is dropped before its end is sent, and with it what it held.
                Poll::Ready(Some(Err(reported))) => closing_in_error(&reported, has_text),
                Poll::Ready(None) => Bytes::from_static(CLOSING.as_bytes()),
                Poll::Pending => {
                    *kind = Kind::Streaming { pieces, has_text };
                    return Poll::Pending;
                }
            },
            Kind::Done => return Poll::Ready(None),
        };
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.kind, Kind::Done)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Ready(result) => SizeHint::with_exact(length(result.len())),
            Kind::Opening(_) => at_least(OPENING.len() + CLOSING.len()),
            Kind::Streaming { .. } => at_least(CLOSING.len()),
            Kind::Done => SizeHint::with_exact(0),
        }
    }
}

impl fmt::Debug for ResultBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultBody").finish_non_exhaustive()
    }
}

/// The next piece that is not empty: an empty frame would end an HTTP/1.1 body.
fn next(pieces: &mut Pieces, cx: &mut Context<'_>) -> Poll<Option<Result<Text, Reported>>> {
    loop {
        match ready!(pieces.as_mut().poll_next(cx)) {
            Some(Ok(text)) if text.is_empty() => {}
            piece => return Poll::Ready(piece),
        }
    }
}

fn closing_in_error(reported: &Reported, has_text: bool) -> Bytes {
    let mut closing = Text::new();
    if has_text {
        closing.push_str("\n\n");
    }
    closing.push_str(reported.as_str());
    closing.push_json(CLOSING_IN_ERROR);
    closing.into_bytes()
}

fn at_least(bytes: usize) -> SizeHint {
    let mut hint = SizeHint::new();
    hint.set_lower(length(bytes));
    hint
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
