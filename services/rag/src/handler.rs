//! Services made of functions.

use std::{
    convert::Infallible,
    fmt,
    task::{Context, Poll},
};

use tower_service::Service;

/// A service that is an async function of its request.
///
/// It is always ready, and does not box its future.
#[derive(Clone, Copy)]
pub(super) struct Handler<F>(pub(super) F);

// === impl Handler ===

impl<F, Fut, Req, Res> Service<Req> for Handler<F>
where
    F: FnMut(Req) -> Fut,
    Fut: Future<Output = Result<Res, Infallible>>,
{
    type Response = Res;
    type Error = Infallible;
    type Future = Fut;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Req) -> Fut {
        (self.0)(request)
    }
}

impl<F> fmt::Debug for Handler<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").finish_non_exhaustive()
    }
}
