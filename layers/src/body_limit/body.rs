//! The body of an admitted request.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker, ready},
};

use bytes::Buf as _;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::body_limit::{BodyFault, BytePermit, Exhausted};

type BoxError = Box<dyn Error + Send + Sync>;

pin_project! {
    /// A request body that fails with [`BodyError`] when it grows too large.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use http_body_util::{BodyExt as _, Full};
    /// use ziggurat_layers::body_limit::{BodyError, LimitedBody};
    ///
    /// /// A handler behind the layer.
    /// async fn echo(request: Request<LimitedBody<Full<Bytes>>>) -> Result<Response<Bytes>, BodyError> {
    ///     Ok(Response::new(request.into_body().collect().await?.to_bytes()))
    /// }
    /// # let _ = echo;
    /// ```
    #[derive(Debug)]
    pub struct LimitedBody<B> {
        #[pin]
        pub(super) inner: B,
        pub(super) remaining: u64,
        pub(super) overrun: Option<Arc<Overrun>>,
        // Set if its bytes are taken as they arrive.
        pub(super) permit: Option<BodyPermit>,
        pub(super) is_over: bool,
    }
}

/// Bytes that the body of a request has taken of a [`ByteBudget`](super::ByteBudget). It is an
/// extension of the request; clones share the bytes.
///
/// ```
/// use http::request::Parts;
/// use ziggurat_layers::body_limit::BodyPermit;
///
/// /// Work that goes on with the body after the response has begun.
/// struct Import(Option<BodyPermit>);
///
/// fn import(head: &Parts) -> Import {
///     Import(head.extensions.get().cloned())
/// }
/// # let _ = import;
/// ```
#[derive(Clone, Debug)]
pub struct BodyPermit(Arc<Mutex<BytePermit>>);

/// The reason why a body could not be read.
///
/// ```
/// use http::StatusCode;
/// use ziggurat_layers::body_limit::BodyError;
///
/// /// The status of an import that had begun before the body ended.
/// fn status(error: &BodyError) -> StatusCode {
///     if error.is_too_large() {
///         StatusCode::PAYLOAD_TOO_LARGE
///     } else {
///         StatusCode::BAD_REQUEST
///     }
/// }
/// # let _ = status;
/// ```
#[derive(Debug)]
pub struct BodyError {
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    Refused(BodyFault),
    Inner(BoxError),
}

/// Tells the response future, which may run on another task, that the body exceeded the limit.
#[derive(Debug, Default)]
pub(super) struct Overrun {
    state: Mutex<OverrunState>,
}

#[derive(Debug, Default)]
struct OverrunState {
    happened: Option<BodyFault>,
    waiting: Option<Waker>,
}

// === impl LimitedBody ===

impl<B> Body for LimitedBody<B>
where
    B: Body<Error: Into<BoxError>>,
{
    type Data = B::Data;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BodyError>>> {
        let this = self.project();
        if *this.is_over {
            return Poll::Ready(None);
        }
        let frame = match ready!(this.inner.poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(BodyError::from_inner(error)))),
            None => return Poll::Ready(None),
        };
        let size = frame.data_ref().map_or(0, |data| data.remaining() as u64);
        let grown = this.permit.as_ref().map(|permit| permit.grow(size));
        let fault = match (this.remaining.checked_sub(size), grown) {
            (None, _) => BodyFault::TooLarge,
            (_, Some(Err(exhausted))) => BodyFault::Exhausted(exhausted),
            (Some(remaining), _) => {
                *this.remaining = remaining;
                return Poll::Ready(Some(Ok(frame)));
            }
        };
        *this.is_over = true;
        if let Some(overrun) = this.overrun {
            overrun.report(fault);
        }
        let kind = ErrorKind::Refused(fault);
        Poll::Ready(Some(Err(BodyError { kind })))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_over {
            return SizeHint::with_exact(0);
        }
        let inner = self.inner.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().min(self.remaining));
        hint.set_upper(inner.upper().unwrap_or(u64::MAX).min(self.remaining));
        hint
    }
}

// === impl BodyPermit ===

impl BodyPermit {
    pub(super) fn new(permit: BytePermit) -> Self {
        Self(Arc::new(Mutex::new(permit)))
    }

    fn grow(&self, bytes: u64) -> Result<(), Exhausted> {
        let mut permit = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        permit.grow(bytes)
    }
}

// === impl Overrun ===

impl Overrun {
    fn report(&self, fault: BodyFault) {
        let waiting = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.happened = Some(fault);
            state.waiting.take()
        };
        // The waker is called outside the lock, because it may run any code.
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    pub(super) fn happened(&self) -> Option<BodyFault> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.happened
    }

    pub(super) fn happened_or_wake(&self, waker: &Waker) -> Option<BodyFault> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut state.waiting {
            Some(waiting) => waiting.clone_from(waker),
            empty => *empty = Some(waker.clone()),
        }
        state.happened
    }
}

// === impl BodyError ===

impl BodyError {
    fn from_inner(error: impl Into<BoxError>) -> Self {
        Self {
            kind: ErrorKind::Inner(error.into()),
        }
    }

    /// Returns whether the body was larger than its limit; otherwise the inner body failed, or the
    /// budget was used up.
    ///
    /// ```
    /// use std::error::Error as _;
    /// use ziggurat_layers::body_limit::BodyError;
    ///
    /// fn log_line(error: &BodyError) -> String {
    ///     match error.source() {
    ///         Some(cause) if !error.is_too_large() => format!("{error}: {cause}"),
    ///         _ => error.to_string(),
    ///     }
    /// }
    /// # let _ = log_line;
    /// ```
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        matches!(self.kind, ErrorKind::Refused(BodyFault::TooLarge))
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            ErrorKind::Refused(BodyFault::TooLarge) => "the request body is larger than the limit",
            ErrorKind::Refused(_) => "there is no memory for the request body now",
            ErrorKind::Inner(_) => "the request body could not be read",
        })
    }
}

impl Error for BodyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            ErrorKind::Refused(_) => None,
            ErrorKind::Inner(error) => Some(&**error),
        }
    }
}
