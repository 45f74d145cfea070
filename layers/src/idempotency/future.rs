//! The response future.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, response::Parts};
use http_body::Body;
use pin_project_lite::pin_project;
use tracing::error;

use crate::{
    clock::Clock,
    collect::{Collect, Unreadable},
    idempotency::{
        IdempotencyRules,
        body::Comparison,
        fault::IdempotencyFault,
        store::{Claim, RequestBody, StoredResponse},
    },
    reject::{Rejection, Render},
};

type BoxError = Box<dyn Error + Send + Sync>;

/// Marks a response that duplicates do not get.
static STATUS: HeaderName = HeaderName::from_static("idempotency-status");

const COMPLETED: &str = "not polled after completion";

pin_project! {
    /// Response future of [`Idempotency`](super::Idempotency).
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Extensions, Request, Response};
    /// use http_body_util::Full;
    /// use tower::{Layer as _, Service as _, service_fn};
    /// use ziggurat_layers::idempotency::{IdempotencyLayer, ResponseFuture};
    ///
    /// # tokio_test::block_on(async {
    /// let layer = IdempotencyLayer::new(|_: &Extensions| Some("the only client"));
    /// let mut service = layer.layer(service_fn(|_: Request<_>| async {
    ///     Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("hello")))
    /// }));
    /// let future: ResponseFuture<_, _, _, _, _> = service.call(Request::new(Full::<Bytes>::default()));
    /// assert_eq!(future.await?.status(), 200);
    /// # Ok::<_, std::convert::Infallible>(())
    /// # }).unwrap();
    /// ```
    pub struct ResponseFuture<F, Q, B, C, R> {
        #[pin]
        state: State<F, Q, B, C, R>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, Q, B, C, R> {
        Passing { #[pin] response: F },
        Answered { response: Option<Response<B>> },
        Serving { #[pin] response: F, first: Option<FirstRequest<C, R>> },
        Collecting { #[pin] body: Collect<B>, rest: Option<(Parts, FirstRequest<C, R>)> },
        Comparing { #[pin] comparison: Comparison<Q>, stored: Arc<StoredResponse>, render: R },
        Finished,
    }
}

/// The first request with its key. Its response is to be stored.
pub(super) struct FirstRequest<C, R> {
    pub(super) claim: Claim,
    pub(super) rules: Arc<IdempotencyRules>,
    pub(super) clock: C,
    pub(super) render: R,
}

// === impl ResponseFuture ===

impl<F, Q, B, C, R> ResponseFuture<F, Q, B, C, R> {
    #[inline]
    pub(super) fn passing(response: F) -> Self {
        Self {
            state: State::Passing { response },
        }
    }

    pub(super) fn answered(response: Response<B>) -> Self {
        let response = Some(response);
        Self {
            state: State::Answered { response },
        }
    }

    pub(super) fn serving(response: F, first: FirstRequest<C, R>) -> Self {
        let first = Some(first);
        Self {
            state: State::Serving { response, first },
        }
    }

    pub(super) fn comparing(
        comparison: Comparison<Q>,
        stored: Arc<StoredResponse>,
        render: R,
    ) -> Self {
        Self {
            state: State::Comparing {
                comparison,
                stored,
                render,
            },
        }
    }
}

impl<F, Q, B, C, R, E> Future for ResponseFuture<F, Q, B, C, R>
where
    F: Future<Output = Result<Response<B>, E>>,
    Q: Body<Error: Into<BoxError>>,
    B: Body<Error: Into<BoxError>> + From<Bytes>,
    C: Clock,
    R: Render<B>,
{
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let next = match state.as_mut().project() {
                StateProj::Passing { response } => return response.poll(cx),
                StateProj::Answered { response } => {
                    let response = response.take();
                    return Poll::Ready(Ok(response.expect(COMPLETED)));
                }
                StateProj::Serving { response, first } => {
                    let response = ready!(response.poll(cx));
                    let first = first.take().expect(COMPLETED);
                    // The handler is dropped first: no more of the request will be read then.
                    state.set(State::Finished);
                    first.receive(response?)
                }
                StateProj::Collecting { body, rest } => {
                    let body = ready!(body.poll(cx));
                    let (head, first) = rest.take().expect(COMPLETED);
                    let response = Some(first.store(head, body));
                    State::Answered { response }
                }
                StateProj::Comparing {
                    comparison,
                    stored,
                    render,
                } => {
                    let compared = ready!(comparison.poll(cx));
                    let response = Some(answer_duplicate(compared, stored, render));
                    State::Answered { response }
                }
                StateProj::Finished => panic!("{COMPLETED}"),
            };
            state.set(next);
        }
    }
}

impl<F, Q, B, C, R> fmt::Debug for ResponseFuture<F, Q, B, C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}

// === impl FirstRequest ===

impl<C: Clock, R> FirstRequest<C, R> {
    /// Decides by the head of the response if it is stored.
    fn receive<F, Q, B: Body>(self, response: Response<B>) -> State<F, Q, B, C, R> {
        let body = self.claim.request_body();
        let has_failed = matches!(body, RequestBody::Failed) && !self.rules.is_at_most_once;
        if has_failed || self.rules.permits_retry(response.status()) {
            self.claim.forget();
            let response = Some(response);
            return State::Answered { response };
        }
        match self.rules.size_to_store(&response) {
            // A body that another task still reads has no digest yet.
            Some(size) if matches!(body, RequestBody::Read(_)) => {
                let (head, body) = response.into_parts();
                State::Collecting {
                    body: Collect::new(body, size),
                    rest: Some((head, self)),
                }
            }
            _ => {
                let ends = self.ends();
                self.claim.settle(None, ends);
                let response = Some(marked(response));
                State::Answered { response }
            }
        }
    }

    fn store<B: From<Bytes>>(self, head: Parts, body: Result<Bytes, Unreadable>) -> Response<B>
    where
        R: Render<B>,
    {
        match body {
            Ok(body) => {
                let stored = StoredResponse::copy(&head, &self.rules.headers, &body);
                let ends = self.ends();
                let is_stored = self.claim.settle(Some(stored), ends);
                let response = Response::from_parts(head, body.into());
                if is_stored {
                    response
                } else {
                    marked(response)
                }
            }
            Err(unreadable) => {
                match unreadable {
                    Unreadable::Broken(error) => {
                        error!(error = &*error as &dyn Error, "the response body failed");
                    }
                    Unreadable::TooLarge => error!("the response body is longer than it announced"),
                }
                IdempotencyFault::ResponseUnreadable
                    .rejection()
                    .into_response(&self.render)
            }
        }
    }

    fn ends(&self) -> Duration {
        self.clock.now().saturating_add(self.rules.lifetime)
    }
}

fn marked<B>(mut response: Response<B>) -> Response<B> {
    let not_stored = HeaderValue::from_static("not-stored");
    response.headers_mut().insert(&STATUS, not_stored);
    response
}

fn answer_duplicate<B: From<Bytes>>(
    compared: Result<bool, BoxError>,
    stored: &StoredResponse,
    render: &impl Render<B>,
) -> Response<B> {
    match compared {
        Ok(true) => {
            let mut response = Response::new(stored.body().clone().into());
            *response.status_mut() = stored.status();
            *response.headers_mut() = stored.headers().clone();
            response
        }
        Ok(false) => IdempotencyFault::Reused.rejection().into_response(render),
        Err(error) => Rejection::unreadable_body(&*error).into_response(render),
    }
}
