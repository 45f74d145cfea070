//! The request bodies: of a first request, and of a duplicate.

use std::{
    error::Error,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::idempotency::{
    digest::{BodyDigest, BytesRead},
    store::{EntryRef, RequestBody},
};

type BoxError = Box<dyn Error + Send + Sync>;

pin_project! {
    /// A request body that is digested while the handler reads it.
    ///
    /// It passes on every frame unchanged. The layer compares the bodies of duplicates with the
    /// digest.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use http_body_util::{BodyExt as _, Full};
    /// use ziggurat_layers::idempotency::DigestedBody;
    ///
    /// async fn echo(
    ///     request: Request<DigestedBody<Full<Bytes>>>,
    /// ) -> Result<Response<Full<Bytes>>, std::convert::Infallible> {
    ///     let body = request.into_body().collect().await?.to_bytes();
    ///     Ok(Response::new(Full::new(body)))
    /// }
    /// # let _ = echo;
    /// ```
    pub struct DigestedBody<B> {
        #[pin]
        inner: B,
        // Boxed: it is only there for requests with a key, and would make the others larger.
        recorder: Option<Box<Recorder>>,
    }
}

/// Records which bytes of a body were read, when it ends or is dropped.
struct Recorder {
    entry: EntryRef,
    read: BytesRead,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    NotReached,
    Reached,
    Failed,
}

pin_project! {
    /// Future of the comparison of a body with one that was digested before.
    pub(super) struct Comparison<B> {
        #[pin]
        body: B,
        read: BytesRead,
        expected: BodyDigest,
    }
}

// === impl DigestedBody ===

impl<B> DigestedBody<B> {
    #[inline]
    pub(super) fn unobserved(inner: B) -> Self {
        let recorder = None;
        Self { inner, recorder }
    }

    pub(super) fn observed(inner: B, entry: &EntryRef) -> Self
    where
        B: Body,
    {
        let recorder = Recorder {
            entry: entry.clone(),
            read: BytesRead::default(),
            // A handler need not read an empty body.
            end: if inner.is_end_stream() {
                End::Reached
            } else {
                End::NotReached
            },
        };
        // Dropping the recorder of an empty body records it.
        let recorder = (recorder.end == End::NotReached).then(|| Box::new(recorder));
        Self { inner, recorder }
    }
}

impl<B> Body for DigestedBody<B>
where
    B: Body<Data: Clone>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        if let Some(recorder) = this.recorder {
            recorder.observe(frame.as_ref());
            // A handler that knows the length may not ask for a frame after the last.
            if recorder.end == End::NotReached && this.inner.is_end_stream() {
                recorder.end = End::Reached;
            }
            if recorder.end != End::NotReached {
                *this.recorder = None;
            }
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

impl<B> fmt::Debug for DigestedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DigestedBody").finish_non_exhaustive()
    }
}

// === impl Recorder ===

impl Recorder {
    fn observe<D: Buf + Clone, E>(&mut self, frame: Option<&Result<Frame<D>, E>>) {
        match frame {
            Some(Ok(frame)) => {
                let Some(data) = frame.data_ref() else { return };
                let chunk = data.chunk();
                // Nearly all data is in one piece, which can be read without a copy.
                if chunk.len() == data.remaining() {
                    self.read.add_chunk(chunk);
                } else {
                    self.read.add(data.clone());
                }
            }
            Some(Err(_)) => self.end = End::Failed,
            None => self.end = End::Reached,
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let read = mem::take(&mut self.read);
        self.entry.record(match self.end {
            End::Failed => RequestBody::Failed,
            end => RequestBody::Read(read.finish(end == End::Reached)),
        });
    }
}

// === impl Comparison ===

impl<B> Comparison<B> {
    pub(super) fn new(body: B, expected: BodyDigest) -> Self {
        Self {
            body,
            read: BytesRead::default(),
            expected,
        }
    }
}

impl<B> Future for Comparison<B>
where
    B: Body<Error: Into<BoxError>>,
{
    type Output = Result<bool, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let rest = this.expected.length - this.read.length();
            // The response cannot depend on bytes that the handler did not read.
            if rest == 0 && !this.expected.is_whole {
                break;
            }
            match ready!(this.body.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else {
                        continue;
                    };
                    let length = data.remaining() as u64;
                    if length > rest && this.expected.is_whole {
                        return Poll::Ready(Ok(false));
                    }
                    let rest = usize::try_from(rest).unwrap_or(usize::MAX);
                    this.read.add(data.take(rest));
                }
                Some(Err(error)) => return Poll::Ready(Err(error.into())),
                None => break,
            }
        }
        let read = mem::take(this.read).finish(this.expected.is_whole);
        Poll::Ready(Ok(read == *this.expected))
    }
}
