//! The response of the wrapped service, without the causes of faults.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use http::{Response, StatusCode};
use pin_project_lite::pin_project;

use crate::{
    reject::{ErrorString, Render},
    sanitize::{ErrorDetail, RequestInfo, SanitizeRules},
};

pin_project! {
    /// Response future of [`Sanitize`](super::Sanitize).
    ///
    /// ```
    /// use std::future::{Ready, ready};
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use tower::{Layer as _, Service as _, service_fn};
    /// use ziggurat_layers::sanitize::{ResponseFuture, SanitizeLayer};
    ///
    /// type Served = Ready<Result<Response<Bytes>, std::io::Error>>;
    /// let serve = |_: Request<()>| -> Served { ready(Ok(Response::default())) };
    /// let mut service = SanitizeLayer::new().layer(service_fn(serve));
    /// let future: ResponseFuture<Served> = service.call(Request::new(()));
    /// # let _ = future;
    /// ```
    pub struct ResponseFuture<F, R = ErrorString> {
        #[pin]
        pub(super) state: State<F>,
        pub(super) origin: RequestInfo,
        pub(super) rules: SanitizeRules<R>,
    }
}

pin_project! {
    #[project = StateProj]
    pub(super) enum State<F> {
        Serving { #[pin] response: F },
        Panicked { detail: ErrorDetail },
        Done,
    }
}

// === impl ResponseFuture ===

impl<F, R, B, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<B>, E>>,
    R: Render<B>,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.as_mut().project();
        let StateProj::Serving { response } = this.state.as_mut().project() else {
            return self.poll_panicked();
        };
        // Unwind safe, because the future is dropped below. The response is changed in place and
        // moved once.
        let served = catch_unwind(AssertUnwindSafe(|| {
            let mut polled = response.poll(cx);
            if let Poll::Ready(Ok(response)) = &mut polled
                && is_fault(response.status())
            {
                this.rules.answer(this.origin, response);
            }
            polled
        }));
        match served {
            Ok(polled) => polled,
            Err(payload) => {
                this.state.set(State::panicked(&*payload));
                self.poll_panicked()
            }
        }
    }
}

impl<F, R> ResponseFuture<F, R> {
    #[cold]
    fn poll_panicked<B, E>(self: Pin<&mut Self>) -> Poll<Result<Response<B>, E>>
    where
        R: Render<B>,
    {
        let mut this = self.project();
        let StateProj::Panicked { detail } = this.state.as_mut().project() else {
            panic!("`ResponseFuture` polled after completion");
        };
        let response = this.rules.answer_to_panic(this.origin, detail);
        this.state.set(State::Done);
        Poll::Ready(Ok(response))
    }
}

impl<F, R> fmt::Debug for ResponseFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

impl<F> State<F> {
    #[cold]
    pub(super) fn panicked(payload: &(dyn Any + Send)) -> Self {
        Self::Panicked {
            detail: ErrorDetail::of_panic(payload),
        }
    }
}

/// RFC 9110, section 15: codes above 599 count as server errors.
#[inline]
fn is_fault(status: StatusCode) -> bool {
    status >= StatusCode::INTERNAL_SERVER_ERROR
}
