//! The body of an answer.

use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// The body of an answer: the result, wrapped in its envelope.
    ///
    /// Frames of a streamed result are passed on and not copied; its trailers, if any, follow the
    /// end of the envelope. If the size of the result is exact, the size of the body is exact, too,
    /// and a server can send a `Content-Length`.
    ///
    /// ```
    /// use http::Response;
    /// use ziggurat_layers::json_rpc::{NoStream, RpcBody};
    ///
    /// /// The response of a server without streamed results, in a signature.
    /// type RpcResponse = Response<RpcBody<NoStream>>;
    ///
    /// fn is_empty(response: &RpcResponse) -> bool {
    ///     http_body::Body::is_end_stream(response.body())
    /// }
    /// # let _ = is_empty;
    /// ```
    pub struct RpcBody<T> {
        #[pin]
        kind: Kind<T>,
    }
}

pin_project! {
    #[project = KindProj]
    enum Kind<T> {
        Buffered {
            first: Bytes,
            rest: vec::IntoIter<Bytes>,
        },
        Streamed {
            opening: Bytes,
            #[pin]
            result: T,
            progress: StreamProgress,
        },
    }
}

#[derive(Debug)]
enum StreamProgress {
    Opening,
    Result,
    // Boxed: trailers are rare, and inline they would make every body larger.
    Trailers(Box<HeaderMap>),
    Done,
}

/// The beginning of an answer, up to its result or error, in pieces to be joined.
pub(super) struct Opening<'a>([&'a str; 4]);

// === impl RpcBody ===

impl<T> RpcBody<T> {
    /// A body of a first frame and more; none of the latter is empty.
    pub(super) fn buffered(first: Bytes, rest: Vec<Bytes>) -> Self {
        let rest = rest.into_iter();
        let kind = Kind::Buffered { first, rest };
        Self { kind }
    }

    pub(super) fn streamed(opening: Bytes, result: T) -> Self {
        let kind = Kind::Streamed {
            opening,
            result,
            progress: StreamProgress::Opening,
        };
        Self { kind }
    }
}

impl<T> From<Bytes> for RpcBody<T> {
    fn from(whole: Bytes) -> Self {
        Self::buffered(whole, Vec::new())
    }
}

impl<T: Body<Data = Bytes>> Body for RpcBody<T> {
    type Data = Bytes;
    type Error = T::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, T::Error>>> {
        let (opening, mut result, progress) = match self.project().kind.project() {
            KindProj::Buffered { first, rest } => {
                let first = Some(mem::take(first)).filter(|first| !first.is_empty());
                return Poll::Ready(first.or_else(|| rest.next()).map(Frame::data).map(Ok));
            }
            KindProj::Streamed {
                opening,
                result,
                progress,
            } => (opening, result, progress),
        };
        let frame = match progress {
            StreamProgress::Opening => {
                *progress = StreamProgress::Result;
                Some(Frame::data(mem::take(opening)))
            }
            StreamProgress::Result => match ready!(result.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_trailers() {
                    Ok(late) => {
                        *progress = StreamProgress::Trailers(Box::new(late));
                        Some(Frame::data(Bytes::from_static(b"}")))
                    }
                    Err(frame) => Some(frame),
                },
                Some(Err(error)) => {
                    *progress = StreamProgress::Done;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    *progress = StreamProgress::Done;
                    Some(Frame::data(Bytes::from_static(b"}")))
                }
            },
            StreamProgress::Trailers(late) => {
                let late = mem::take(&mut **late);
                *progress = StreamProgress::Done;
                Some(Frame::trailers(late))
            }
            StreamProgress::Done => None,
        };
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Buffered { first, rest } => first.is_empty() && rest.len() == 0,
            Kind::Streamed { progress, .. } => matches!(progress, StreamProgress::Done),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Buffered { first, rest } => {
                let rest: usize = rest.as_slice().iter().map(Bytes::len).sum();
                SizeHint::with_exact(length(first.len() + rest))
            }
            Kind::Streamed {
                opening,
                result,
                progress: StreamProgress::Opening | StreamProgress::Result,
                ..
            } => {
                let around = length(opening.len() + 1);
                let result = result.size_hint();
                let mut hint = SizeHint::new();
                hint.set_lower(result.lower().saturating_add(around));
                if let Some(upper) = result.upper().and_then(|upper| upper.checked_add(around)) {
                    hint.set_upper(upper);
                }
                hint
            }
            Kind::Streamed { .. } => SizeHint::with_exact(0),
        }
    }
}

impl<T> fmt::Debug for RpcBody<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RpcBody").finish_non_exhaustive()
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

// === impl Opening ===

impl<'a> Opening<'a> {
    pub(super) fn new(pieces: [&'a str; 4]) -> Self {
        Self(pieces)
    }

    pub(super) fn len(&self) -> usize {
        self.pieces().map(<[u8]>::len).sum()
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|piece| piece.as_bytes())
    }

    /// Joins the pieces in a buffer with space for `more` bytes behind them.
    pub(super) fn join(&self, more: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len() + more);
        for piece in self.pieces() {
            out.extend_from_slice(piece);
        }
        out
    }
}
