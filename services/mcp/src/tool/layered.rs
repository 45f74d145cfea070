//! A tool inside layers of its own.

use std::{
    convert::Infallible,
    fmt,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use tower_service::Service;

use crate::{
    Error, ToolRequest, ToolResult,
    tool::{AnyTool, ToolFuture, ToolService, guarded},
};

/// A tool with the layers around it.
pub(super) struct Layered<S>(pub(super) S);

// === impl Layered ===

impl<S> AnyTool for Layered<S>
where
    S: Service<ToolRequest, Response = ToolResult, Error: Into<Error>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    fn start(self: Arc<Self>, request: ToolRequest) -> ToolFuture {
        let mut service = self.0.clone();
        guarded(async move {
            let ready = poll_fn(|cx| service.poll_ready(cx)).await;
            ready.map_err(Into::into)?;
            service.call(request).await.map_err(Into::into)
        })
    }
}

// === impl ToolService ===

impl Service<ToolRequest> for ToolService {
    type Response = ToolResult;
    type Error = Error;
    type Future = ToolFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: ToolRequest) -> ToolFuture {
        Arc::clone(&self.0).start(request)
    }
}

impl fmt::Debug for ToolService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolService").finish_non_exhaustive()
    }
}

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
