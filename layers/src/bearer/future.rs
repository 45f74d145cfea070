//! The response of the wrapped service, or a refusal.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{
    bearer::{BearerRules, Denied, challenge::BearerFault},
    reject::Render,
};

pin_project! {
    /// Response future of [`Bearer`](super::Bearer).
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response, StatusCode};
    /// use tower::{Layer as _, Service as _, service_fn};
    /// use ziggurat_layers::bearer::{BearerLayer, Hashed, ResponseFuture};
    ///
    /// # tokio_test::block_on(async {
    /// let layer = BearerLayer::new(Hashed::<u64>::default());
    /// let mut service = layer.layer(service_fn(|_: Request<()>| async {
    ///     Ok::<_, std::convert::Infallible>(Response::new(Bytes::new()))
    /// }));
    /// let future: ResponseFuture<_, _, _, _, _> = service.call(Request::new(()));
    /// assert_eq!(future.await?.status(), StatusCode::UNAUTHORIZED);
    /// # Ok::<_, std::convert::Infallible>(())
    /// # }).unwrap();
    /// ```
    pub struct ResponseFuture<S, R, Req, V, F> {
        #[pin]
        pub(super) state: State<S, R, Req, V, F>,
    }
}

pin_project! {
    #[project = StateProj]
    pub(super) enum State<S, R, Req, V, F> {
        Refused { fault: BearerFault, refusal_parts: RefusalParts<R> },
        Verifying {
            #[pin]
            verification: V,
            pending: Option<PendingRequest<S, R, Req>>,
        },
        Serving { #[pin] response: F },
    }
}

/// The request and its service, held until the token is verified.
pub(super) struct PendingRequest<S, R, Req> {
    pub(super) inner: S,
    pub(super) request: Req,
    pub(super) refusal_parts: RefusalParts<R>,
}

/// The parts that are needed to refuse a request.
pub(super) struct RefusalParts<R> {
    pub(super) render: R,
    pub(super) rules: Arc<BearerRules>,
}

// === impl ResponseFuture ===

impl<S, R, ReqBody, ResBody, V, I> Future for ResponseFuture<S, R, Request<ReqBody>, V, S::Future>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    R: Render<ResBody>,
    V: Future<Output = Result<I, Denied>>,
    I: Clone + Send + Sync + 'static,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProj::Serving { response } => return response.poll(cx),
                StateProj::Refused {
                    fault,
                    refusal_parts,
                } => {
                    return Poll::Ready(Ok(refusal_parts
                        .rules
                        .refuse(*fault, &refusal_parts.render)));
                }
                StateProj::Verifying {
                    verification,
                    pending,
                } => {
                    let verification = ready!(verification.poll(cx));
                    let mut pending = pending.take().expect("there is one verification");
                    let next = match verification {
                        Ok(identity) => {
                            pending.request.extensions_mut().insert(identity);
                            State::Serving {
                                response: pending.inner.call(pending.request),
                            }
                        }
                        // Dropping the request first: its body must not wait for the answer.
                        Err(denied) => State::Refused {
                            fault: denied.into(),
                            refusal_parts: pending.refusal_parts,
                        },
                    };
                    state.set(next);
                }
            }
        }
    }
}

impl<S, R, Req, V, F> fmt::Debug for ResponseFuture<S, R, Req, V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The request is left out: its headers hold the token.
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
