//! Methods of a [`ServiceBuilder`] for the layers of this crate.

#[cfg(feature = "idempotency")]
use std::hash::Hash;

#[cfg(any(feature = "idempotency", feature = "mcp"))]
use http::Extensions;
use tower::ServiceBuilder;
use tower_layer::Stack;

#[cfg(feature = "audit")]
use crate::audit::{AuditLayer, Sink};
#[cfg(feature = "bearer")]
use crate::bearer::BearerLayer;
#[cfg(feature = "body-limit")]
use crate::body_limit::BodyLimitLayer;
#[cfg(feature = "client-ip")]
use crate::client_ip::{HopHeader, SetClientIpLayer, TrustedProxies};
#[cfg(feature = "host")]
use crate::host::{HostLayer, Hosts};
#[cfg(feature = "idempotency")]
use crate::idempotency::IdempotencyLayer;
#[cfg(feature = "json-rpc")]
use crate::json_rpc::JsonRpcLayer;
#[cfg(feature = "link")]
use crate::link::{LinkLayer, LinkValue};
#[cfg(feature = "mcp")]
use crate::mcp::{Access, McpPolicyLayer};
#[cfg(feature = "origin")]
use crate::origin::{OriginLayer, Origins};
#[cfg(feature = "rate-limit")]
use crate::rate_limit::{Policy, RateLimitLayer};
#[cfg(feature = "sanitize")]
use crate::sanitize::SanitizeLayer;
#[cfg(feature = "shutdown")]
use crate::shutdown::{CutOff, ShutdownLayer};

/// Adds the layers of this crate to a [`ServiceBuilder`], with their default options.
///
/// For a layer with options use [`ServiceBuilder::layer`].
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
/// use ziggurat_layers::{
///     ServiceBuilderExt as _,
///     bearer::{Hashed, TokenHash},
///     body_limit::LimitedBody,
///     host::Hosts,
/// };
///
/// # tokio_test::block_on(async {
/// let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), "ali".to_owned())]);
/// let service = ServiceBuilder::new()
///     .sanitize()
///     .host(Hosts::loopback())
///     .body_limit(1 << 20)
///     .bearer(tokens)
///     .service(service_fn(|_: Request<LimitedBody<Full<Bytes>>>| async {
///         Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("hello")))
///     }));
///
/// let request = Request::get("/")
///     .header("host", "localhost")
///     .header("authorization", "Bearer open-sesame")
///     .body(Full::default())?;
/// assert_eq!(service.oneshot(request).await?.status(), 200);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub trait ServiceBuilderExt<L>: Sized {
    /// Adds any layer; the other methods are short for it.
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::{ServiceBuilderExt as _, sanitize::SanitizeLayer};
    ///
    /// let builder = ServiceBuilder::new().with(SanitizeLayer::new().with_message("Sorry"));
    /// # let _ = builder;
    /// ```
    fn with<T>(self, layer: T) -> ServiceBuilder<Stack<T, L>>;

    /// Makes one record of each request; see [`audit`](crate::audit).
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::{ServiceBuilderExt as _, audit::TracingSink};
    ///
    /// let builder = ServiceBuilder::new().audit(TracingSink);
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "audit")]
    fn audit<K: Sink>(self, sink: K) -> ServiceBuilder<Stack<AuditLayer<K>, L>> {
        self.with(AuditLayer::new(sink))
    }

    /// Refuses requests without a valid bearer token; see [`bearer`](crate::bearer).
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::{ServiceBuilderExt as _, bearer::{Hashed, TokenHash}};
    ///
    /// let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), "ali".to_owned())]);
    /// let builder = ServiceBuilder::new().bearer(tokens);
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "bearer")]
    fn bearer<V>(self, verify: V) -> ServiceBuilder<Stack<BearerLayer<V>, L>> {
        self.with(BearerLayer::new(verify))
    }

    /// Refuses request bodies over `max_bytes`; see [`body_limit`](crate::body_limit).
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::ServiceBuilderExt as _;
    ///
    /// let builder = ServiceBuilder::new().body_limit(1 << 20);
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "body-limit")]
    fn body_limit(self, max_bytes: u64) -> ServiceBuilder<Stack<BodyLimitLayer, L>> {
        self.with(BodyLimitLayer::new(max_bytes))
    }

    /// Finds the client address behind these proxies; see [`client_ip`](crate::client_ip).
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::{ServiceBuilderExt as _, client_ip::HopHeader};
    ///
    /// let proxies = "10.0.0.0/8".parse()?;
    /// let builder = ServiceBuilder::new().client_ip(proxies, HopHeader::XForwardedFor);
    /// # let _ = builder;
    /// # Ok::<_, ziggurat_layers::client_ip::InvalidNetwork>(())
    /// ```
    #[cfg(feature = "client-ip")]
    fn client_ip(
        self,
        trusted: TrustedProxies,
        header: HopHeader,
    ) -> ServiceBuilder<Stack<SetClientIpLayer, L>> {
        self.with(SetClientIpLayer::new(trusted, header))
    }

    /// Refuses requests for other hosts; see [`host`](crate::host).
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::{ServiceBuilderExt as _, host::Hosts};
    ///
    /// let builder = ServiceBuilder::new().host(Hosts::loopback());
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "host")]
    fn host(self, hosts: Hosts) -> ServiceBuilder<Stack<HostLayer, L>> {
        self.with(HostLayer::new(hosts))
    }

    /// Answers a repeated request with the response to the first; see
    /// [`idempotency`](crate::idempotency).
    ///
    /// ```
    /// use http::Extensions;
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::ServiceBuilderExt as _;
    ///
    /// let user = |extensions: &Extensions| extensions.get::<u64>().copied();
    /// let builder = ServiceBuilder::new().idempotency(user);
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "idempotency")]
    fn idempotency<I, T>(self, identity_of: I) -> ServiceBuilder<Stack<IdempotencyLayer<I>, L>>
    where
        I: Fn(&Extensions) -> Option<T>,
        T: Hash,
    {
        self.with(IdempotencyLayer::new(identity_of))
    }

    /// Turns requests into JSON-RPC calls; see [`json_rpc`](crate::json_rpc).
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::ServiceBuilderExt as _;
    ///
    /// let builder = ServiceBuilder::new().json_rpc();
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "json-rpc")]
    fn json_rpc(self) -> ServiceBuilder<Stack<JsonRpcLayer, L>> {
        self.with(JsonRpcLayer::new())
    }

    /// Adds links to JSON responses; see [`link`](crate::link).
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::{ServiceBuilderExt as _, link::LinkValue};
    ///
    /// let builder = ServiceBuilder::new().link([LinkValue::service_desc("/openapi.json")?]);
    /// # let _ = builder;
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    #[cfg(feature = "link")]
    fn link(
        self,
        links: impl IntoIterator<Item = LinkValue>,
    ) -> ServiceBuilder<Stack<LinkLayer, L>> {
        self.with(LinkLayer::new(links))
    }

    /// Lets clients use only what they may use of an MCP server; see [`mcp`](crate::mcp).
    ///
    /// ```
    /// use http::Extensions;
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::{ServiceBuilderExt as _, mcp::Access};
    ///
    /// let access = |extensions: &Extensions| extensions.get::<Access>().cloned();
    /// let builder = ServiceBuilder::new().mcp_policy(access);
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "mcp")]
    fn mcp_policy<A>(self, access: A) -> ServiceBuilder<Stack<McpPolicyLayer<A>, L>>
    where
        A: Fn(&Extensions) -> Option<Access>,
    {
        self.with(McpPolicyLayer::new(access))
    }

    /// Refuses requests of other origins; see [`origin`](crate::origin).
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::{ServiceBuilderExt as _, origin::Origins};
    ///
    /// let builder = ServiceBuilder::new().origin(Origins::listed(["https://app.example"])?);
    /// # let _ = builder;
    /// # Ok::<_, ziggurat_layers::origin::InvalidOrigin>(())
    /// ```
    #[cfg(feature = "origin")]
    fn origin(self, origins: Origins) -> ServiceBuilder<Stack<OriginLayer, L>> {
        self.with(OriginLayer::new(origins))
    }

    /// Limits requests per client address; see [`rate_limit`](crate::rate_limit).
    ///
    /// Tower's own `rate_limit`, behind its feature `limit`, delays the requests of all clients
    /// together.
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::{ServiceBuilderExt as _, rate_limit::Steady};
    ///
    /// let builder = ServiceBuilder::new().client_limit(Steady::new("600 per minute".parse()?));
    /// # let _ = builder;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    #[cfg(feature = "rate-limit")]
    fn client_limit<P: Policy>(self, policy: P) -> ServiceBuilder<Stack<RateLimitLayer<P>, L>> {
        self.with(RateLimitLayer::new(policy))
    }

    /// Keeps the cause of a server fault out of its response; see [`sanitize`](crate::sanitize).
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::ServiceBuilderExt as _;
    ///
    /// let builder = ServiceBuilder::new().sanitize();
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "sanitize")]
    fn sanitize(self) -> ServiceBuilder<Stack<SanitizeLayer, L>> {
        self.with(SanitizeLayer::new())
    }

    /// Answers the requests that are in flight at the cut-off; see [`shutdown`](crate::shutdown).
    ///
    /// ```
    /// use tower::ServiceBuilder;
    /// use ziggurat_layers::{ServiceBuilderExt as _, shutdown::CutOff};
    ///
    /// let cut_off = CutOff::default();
    /// let builder = ServiceBuilder::new().shutdown(cut_off.clone());
    /// # let _ = builder;
    /// ```
    #[cfg(feature = "shutdown")]
    fn shutdown(self, cut_off: CutOff) -> ServiceBuilder<Stack<ShutdownLayer, L>> {
        self.with(ShutdownLayer::new(cut_off))
    }
}

impl<L> ServiceBuilderExt<L> for ServiceBuilder<L> {
    fn with<T>(self, layer: T) -> ServiceBuilder<Stack<T, L>> {
        self.layer(layer)
    }
}
