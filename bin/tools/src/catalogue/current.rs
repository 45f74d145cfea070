//! The catalogue in use, which a reload exchanges as a whole.

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use arc_swap::{ArcSwap, Guard};
use http::Extensions;
use tower::Service;
use ziggurat_calls::{Calls, limits::Limits};
use ziggurat_databases::Databases;
use ziggurat_layers::json_rpc::Call;
use ziggurat_mcp::Mcp;
use ziggurat_sql_tools::SqlTools;

use crate::calls::access::ToolAccess;

/// Everything that a call sees, made from one configuration and its definitions.
pub(crate) struct Catalogue {
    pub(crate) mcp: Mcp,
    /// The toolsets, and the names that the service offers.
    pub(crate) access: ToolAccess,
    /// The databases of this configuration, also when another one is in use.
    pub(crate) databases: Databases,
    pub(crate) sql_tools: SqlTools,
    /// The limits of callers.
    pub(crate) limits: Limits,
    /// The parts that note calls.
    pub(crate) calls: Calls,
}

/// The catalogue in use. Clones share it.
///
/// A call takes it once, and uses it until its end. Requests that are admitted by it
/// [store it](Self::get) for their call.
#[derive(Clone)]
pub(crate) struct CurrentCatalogue(Arc<ArcSwap<Catalogue>>);

// === impl CurrentCatalogue ===

impl CurrentCatalogue {
    pub(crate) fn new(catalogue: Catalogue) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(catalogue)))
    }

    /// Returns the catalogue in use. A call with one in its extensions uses that.
    pub(crate) fn get(&self) -> Guard<Arc<Catalogue>> {
        self.0.load()
    }

    /// Returns the catalogue that a request has stored for its call, or else the one in use.
    pub(crate) fn of(&self, extensions: &Extensions) -> Guard<Arc<Catalogue>> {
        match extensions.get() {
            Some(stored) => Guard::from_inner(Arc::clone(stored)),
            None => self.get(),
        }
    }

    /// Exchanges the catalogue.
    pub(crate) fn replace(&self, catalogue: Arc<Catalogue>) {
        self.0.store(catalogue);
    }
}

impl Service<Call> for CurrentCatalogue {
    type Response = <Mcp as Service<Call>>::Response;
    type Error = Infallible;
    type Future = <Mcp as Service<Call>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let mut mcp = self.of(&call.head().extensions).mcp.clone();
        mcp.call(call)
    }
}
