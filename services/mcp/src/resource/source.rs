//! Resources that differ from caller to caller.

use std::{borrow::Cow, pin::Pin, sync::Arc};

use crate::{
    Caller, Failure, ReadError, ResourceDescriptor,
    resource::{Contents, ReadFuture},
};

/// Resources that are found when a client asks for them, such as one for each table.
///
/// They are listed behind those that the server always has.
pub trait ResourceSource: Send + Sync + 'static {
    /// Returns the pattern of their URIs, such as `a://{folder}/{name}`, for views of callers.
    fn pattern(&self) -> &'static str;

    /// Returns a page of the resources of a caller, in their order: the first one, or the page with
    /// the name that the page before it gave. Clients that negotiate no revision get the first one.
    fn list(
        &self,
        caller: Caller,
        page: Option<String>,
    ) -> impl Future<Output = Result<ResourcePage, Failure>> + Send;

    /// Reads the JSON of a resource, or returns `None` if it does not exist.
    fn read(
        &self,
        uri: &str,
        caller: Caller,
    ) -> impl Future<Output = Result<Option<String>, ReadError>> + Send;
}

/// A page of a list of resources.
#[derive(Clone, Debug, Default)]
pub struct ResourcePage {
    /// The resources.
    pub resources: Vec<ResourceDescriptor>,
    /// Name of the next page, if there is one.
    pub next: Option<String>,
}

impl From<Vec<ResourceDescriptor>> for ResourcePage {
    fn from(resources: Vec<ResourceDescriptor>) -> Self {
        let next = None;
        Self { resources, next }
    }
}

/// The future of a list of resources.
// Boxed: each source has another future type, and lists are rare.
pub(crate) type ListFuture = Pin<Box<dyn Future<Output = Result<ResourcePage, Failure>> + Send>>;

/// A type-erased source.
pub(super) trait AnySource: Send + Sync {
    fn pattern(&self) -> &'static str;

    fn list(self: Arc<Self>, caller: Caller, page: Option<String>) -> ListFuture;

    fn start(self: Arc<Self>, uri: String, caller: Caller) -> ReadFuture;
}

// === impl AnySource ===

impl<T: ResourceSource> AnySource for T {
    fn pattern(&self) -> &'static str {
        ResourceSource::pattern(self)
    }

    fn list(self: Arc<Self>, caller: Caller, page: Option<String>) -> ListFuture {
        Box::pin(async move { ResourceSource::list(&*self, caller, page).await })
    }

    fn start(self: Arc<Self>, uri: String, caller: Caller) -> ReadFuture {
        Box::pin(async move {
            let text = self.read(&uri, caller);
            Contents::read(text, uri.clone().into(), Cow::Borrowed("application/json")).await
        })
    }
}
