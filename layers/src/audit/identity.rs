//! The caller of a request, noted where it becomes known.

use std::{
    fmt,
    marker::PhantomData,
    sync::Arc,
    task::{Context, Poll},
};

use http::Request;
use tower_layer::Layer;
use tower_service::Service;

use crate::audit::AuditEntry;

/// Names the caller in the record of a request.
///
/// An identity that keeps its name as an `Arc<str>` is noted without an allocation. The name is
/// written to the log as it is: it must not be a credential.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_layers::audit::AuditName;
///
/// #[derive(Clone)]
/// struct User {
///     name: Arc<str>,
/// }
///
/// impl AuditName for User {
///     fn audit_name(&self) -> Arc<str> {
///         Arc::clone(&self.name)
///     }
/// }
/// ```
pub trait AuditName {
    /// Returns the name of the caller.
    ///
    /// ```
    /// use ziggurat_layers::audit::AuditName as _;
    ///
    /// assert_eq!(&*"ali".audit_name(), "ali");
    /// ```
    fn audit_name(&self) -> Arc<str>;
}

/// Notes the identity `T` of the request extensions in the record of the request.
///
/// It stands behind the layer that inserts the identity, which is behind
/// [`AuditLayer`](super::AuditLayer). Requests without an identity, or without a record, pass
/// unchanged.
///
/// ```
/// use std::{future::ready, sync::Arc};
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use bytes::Bytes;
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
/// use ziggurat_layers::audit::{AuditIdentityLayer, AuditLayer, CountedBody, Record};
///
/// # tokio_test::block_on(async {
/// let service = ServiceBuilder::new()
///     .layer(AuditLayer::new(|record: Record| assert_eq!(record.identity(), Some("ali"))))
///     // In the place of a layer that authenticates, such as `BearerLayer`.
///     .map_request(|mut request: Request<_>| {
///         request.extensions_mut().insert(Arc::<str>::from("ali"));
///         request
///     })
///     .layer(AuditIdentityLayer::<Arc<str>>::new())
///     .service(service_fn(|_: Request<CountedBody<()>>| {
///         ready(Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default())))
///     }));
/// service.oneshot(Request::new(())).await?;
/// # Ok::<_, std::convert::Infallible>(())
/// # }).unwrap();
/// ```
#[must_use]
pub struct AuditIdentityLayer<T> {
    identity: PhantomData<fn(T)>,
}

/// Service made by [`AuditIdentityLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::audit::{AuditIdentity, AuditIdentityLayer};
///
/// let service: AuditIdentity<(), String> = AuditIdentityLayer::new().layer(());
/// # let _ = service;
/// ```
pub struct AuditIdentity<S, T> {
    inner: S,
    identity: PhantomData<fn(T)>,
}

// === impl AuditName ===

impl AuditName for Arc<str> {
    fn audit_name(&self) -> Arc<str> {
        Self::clone(self)
    }
}

impl AuditName for &'static str {
    fn audit_name(&self) -> Arc<str> {
        (*self).into()
    }
}

impl AuditName for String {
    fn audit_name(&self) -> Arc<str> {
        self.as_str().into()
    }
}

// === impl AuditIdentityLayer ===

impl<T> AuditIdentityLayer<T> {
    /// Notes identities of the type `T`.
    ///
    /// ```
    /// use ziggurat_layers::audit::AuditIdentityLayer;
    ///
    /// let layer = AuditIdentityLayer::<String>::new();
    /// # let _ = layer;
    /// ```
    pub fn new() -> Self {
        let identity = PhantomData;
        Self { identity }
    }
}

impl<T> Default for AuditIdentityLayer<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for AuditIdentityLayer<T> {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for AuditIdentityLayer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditIdentityLayer")
    }
}

impl<S, T> Layer<S> for AuditIdentityLayer<T> {
    type Service = AuditIdentity<S, T>;

    fn layer(&self, inner: S) -> Self::Service {
        let identity = PhantomData;
        AuditIdentity { inner, identity }
    }
}

// === impl AuditIdentity ===

impl<S: Clone, T> Clone for AuditIdentity<S, T> {
    fn clone(&self) -> Self {
        let identity = PhantomData;
        let inner = self.inner.clone();
        Self { inner, identity }
    }
}

impl<S: fmt::Debug, T> fmt::Debug for AuditIdentity<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AuditIdentity").field(&self.inner).finish()
    }
}

impl<S, T, B> Service<Request<B>> for AuditIdentity<S, T>
where
    S: Service<Request<B>>,
    T: AuditName + Send + Sync + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let extensions = request.extensions();
        if let Some(entry) = extensions.get::<AuditEntry>()
            && let Some(identity) = extensions.get::<T>()
        {
            entry.set_identity(identity.audit_name());
        }
        self.inner.call(request)
    }
}
