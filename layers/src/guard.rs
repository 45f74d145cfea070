//! Response future of the layers that decide by the head of a request alone.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use http::Response;
use pin_project_lite::pin_project;

use crate::reject::{Rejection, Render};

pin_project! {
    /// Response future of a layer that refuses requests by their head.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use tower::{Layer as _, Service as _, service_fn};
    /// use ziggurat_layers::host::{HostLayer, ResponseFuture};
    ///
    /// # tokio_test::block_on(async {
    /// let mut service = HostLayer::default().layer(service_fn(|_: Request<()>| async {
    ///     Ok::<_, std::convert::Infallible>(Response::new(Bytes::new()))
    /// }));
    /// let request = Request::get("http://evil.example/").body(())?;
    /// let future: ResponseFuture<_, _> = service.call(request);
    /// assert_eq!(future.await?.status(), 403);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub struct ResponseFuture<F, R> {
        #[pin]
        state: State<F, R>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, R> {
        Refused { rejection: Option<Rejection>, render: R },
        Serving { #[pin] response: F },
    }
}

// === impl ResponseFuture ===

impl<F, R> ResponseFuture<F, R> {
    pub(crate) fn refused(rejection: Rejection, render: R) -> Self {
        let rejection = Some(rejection);
        Self {
            state: State::Refused { rejection, render },
        }
    }

    #[inline]
    pub(crate) fn serving(response: F) -> Self {
        Self {
            state: State::Serving { response },
        }
    }
}

impl<F, R, B, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<B>, E>>,
    R: Render<B>,
{
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Serving { response } => response.poll(cx),
            StateProj::Refused { rejection, render } => {
                let rejection = rejection.take();
                let rejection = rejection.expect("`ResponseFuture` polled after completion");
                Poll::Ready(Ok(rejection.into_response(&*render)))
            }
        }
    }
}

impl<F, R> fmt::Debug for ResponseFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
