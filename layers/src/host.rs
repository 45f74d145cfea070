//! Refuses requests that were meant for another host (DNS rebinding).
//!
//! A web page can make its own host name resolve to the address of a server that listens only on
//! the user's machine or in a private network. The browser then sends the page's requests there, as
//! requests of the same origin. Only the `Host` header, or the authority of HTTP/2, reveals that
//! they were meant for another host.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response, StatusCode};
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::host::{HostLayer, Hosts};
//!
//! # tokio_test::block_on(async {
//! let service = ServiceBuilder::new()
//!     .layer(HostLayer::new(Hosts::loopback()))
//!     .service(service_fn(|_: Request<Full<Bytes>>| async {
//!         Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("hello")))
//!     }));
//!
//! let request = Request::get("/").header("host", "localhost:8080").body(Full::default())?;
//! assert_eq!(service.clone().oneshot(request).await?.status(), StatusCode::OK);
//!
//! let request = Request::get("/").header("host", "evil.example").body(Full::default())?;
//! assert_eq!(service.oneshot(request).await?.status(), StatusCode::FORBIDDEN);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Which requests are refused
//!
//! | The request | Admitted |
//! | --- | --- |
//! | names a listed host, in any case, with or without a final dot | yes |
//! | names it with a port | if the listed host has no port, or this one |
//! | names an IPv6 address | if it is in brackets and equals a listed one, however it is written |
//! | has an authority and a `Host` header | if both name the same host |
//! | has several `Host` headers, or neither header nor authority | no |
//!
//! A refusal has the status 403 and the [`code`](crate::reject::Rejection::code)
//! `host_not_allowed`; with [`with_misdirected`](HostLayer::with_misdirected) it is 421.
//!
//! # Deployment
//!
//! Behind a proxy, list the names that clients use, or the name that the proxy sends. The first
//! refusal is logged as a warning with the host, because a server refuses everything if its own
//! name is not listed. Later refusals are logged at `debug`. Probes often use an IP address: exempt
//! their paths with [`with_exempt`](HostLayer::with_exempt).
//!
//! This layer does not replace authentication: programs can send any `Host`.

#[cfg(test)]
mod tests;

use std::{
    error::Error,
    fmt,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use http::{Request, Response, StatusCode, header, uri::Authority};
use tower_layer::Layer;
use tower_service::Service;
use tracing::{debug, warn};

pub use crate::guard::ResponseFuture;
use crate::{
    paths::Paths,
    reject::{ErrorString, Rejection, Render},
};

/// Names of this machine in the URLs of local programs.
pub(crate) const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts that a server serves. The default is [`loopback`](Self::loopback).
///
/// ```
/// use ziggurat_layers::host::Hosts;
///
/// let hosts = Hosts::listed(["mcp.example", "localhost:8080", "[2001:db8::1]"])?;
/// assert!(Hosts::listed(["https://mcp.example"]).is_err());
/// # let _ = hosts;
/// # Ok::<_, ziggurat_layers::host::InvalidHost>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Hosts(Option<Arc<[NamedHost]>>);

/// Error for a text that is not a host name.
///
/// ```
/// use ziggurat_layers::host::Hosts;
///
/// let error = Hosts::listed(["https://mcp.example"]).unwrap_err();
/// assert_eq!(error.to_string(), "`https://mcp.example` is not a host, with or without a port");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidHost(String);

/// Refuses requests that were meant for another host.
///
/// ```
/// use ziggurat_layers::host::{HostLayer, Hosts};
///
/// let layer = HostLayer::new(Hosts::listed(["mcp.example", "localhost"])?)
///     .with_exempt(["/health"]);
/// # let _ = layer;
/// # Ok::<_, ziggurat_layers::host::InvalidHost>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct HostLayer<R = ErrorString> {
    rules: Arc<HostRules>,
    render: R,
}

/// Service made by [`HostLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::host::{Host, HostLayer};
///
/// let service: Host<_> = HostLayer::default().layer("the service behind the check");
/// # let _ = service;
/// ```
#[derive(Clone, Debug)]
pub struct Host<S, R = ErrorString> {
    inner: S,
    layer: HostLayer<R>,
}

/// Settings that are fixed when the layer is built.
#[derive(Clone, Debug)]
struct HostRules {
    hosts: Hosts,
    exempt: Paths,
    status: StatusCode,
    /// Set after the first refusal of any service of the layer.
    was_reported: Arc<AtomicBool>,
}

/// A host that the server serves, at one port or at any port.
#[derive(Clone, Debug)]
struct NamedHost {
    name: String,
    port: Option<u16>,
}

// === impl Hosts ===

impl Hosts {
    /// Serves the names of this machine, at every port: `localhost`, `127.0.0.1` and `[::1]`.
    ///
    /// ```
    /// use ziggurat_layers::host::{HostLayer, Hosts};
    ///
    /// // A server for the programs on this machine.
    /// let layer = HostLayer::new(Hosts::loopback());
    /// # let _ = layer;
    /// ```
    pub fn loopback() -> Self {
        Self(Some(
            LOOPBACK.into_iter().flat_map(NamedHost::new).collect(),
        ))
    }

    /// Serves these hosts. A host without a port is served at every port.
    ///
    /// ```
    /// use ziggurat_layers::host::Hosts;
    ///
    /// assert!(Hosts::listed(["mcp.example", "192.0.2.1:8080", "[2001:db8::1]"]).is_ok());
    /// assert!(Hosts::listed(["2001:db8::1"]).is_err());
    /// ```
    ///
    /// # Errors
    /// Fails if one is not a name, an IPv4 address or an IPv6 address in brackets.
    pub fn listed(hosts: impl IntoIterator<Item: AsRef<str>>) -> Result<Self, InvalidHost> {
        let hosts = hosts.into_iter().map(|host| NamedHost::new(host.as_ref()));
        Ok(Self(Some(hosts.collect::<Result<_, _>>()?)))
    }

    /// Serves every host: nothing is refused.
    ///
    /// ```
    /// use ziggurat_layers::host::{HostLayer, Hosts};
    ///
    /// // A public server without cookies and with names that change.
    /// let is_public = true;
    /// let hosts = if is_public { Hosts::any() } else { Hosts::loopback() };
    /// let layer = HostLayer::new(hosts);
    /// # let _ = layer;
    /// ```
    pub fn any() -> Self {
        Self(None)
    }

    /// Returns the hosts of a server that listens at `address`: `allowed`, and for a loopback
    /// address the names of this machine. If both are empty, all hosts.
    ///
    /// ```
    /// use std::net::IpAddr;
    /// use ziggurat_layers::host::Hosts;
    ///
    /// let local = Hosts::of(IpAddr::from([127, 0, 0, 1]), ["mcp.example"])?;
    /// # let _ = local;
    /// # Ok::<_, ziggurat_layers::host::InvalidHost>(())
    /// ```
    ///
    /// # Errors
    /// Fails if an allowed host is not a host name.
    pub fn of(
        address: IpAddr,
        allowed: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<Self, InvalidHost> {
        let allowed = allowed
            .into_iter()
            .map(|host| NamedHost::new(host.as_ref()));
        let mut hosts: Vec<_> = allowed.collect::<Result<_, _>>()?;
        if address.to_canonical().is_loopback() {
            hosts.extend(LOOPBACK.into_iter().flat_map(NamedHost::new));
        }
        Ok(Self((!hosts.is_empty()).then(|| hosts.into())))
    }

    /// Adds a host; without effect if all are served.
    ///
    /// ```
    /// use ziggurat_layers::host::Hosts;
    ///
    /// let hosts = Hosts::loopback().and("mcp.example")?;
    /// # let _ = hosts;
    /// # Ok::<_, ziggurat_layers::host::InvalidHost>(())
    /// ```
    ///
    /// # Errors
    /// Fails if it is not a host name.
    pub fn and(self, host: &str) -> Result<Self, InvalidHost> {
        let host = NamedHost::new(host)?;
        let hosts = self
            .0
            .map(|hosts| hosts.iter().cloned().chain([host]).collect());
        Ok(Self(hosts))
    }

    /// Returns whether only some hosts are served, so that the `Host` of an admitted request is a
    /// name of this server.
    #[cfg(feature = "origin")]
    pub(crate) fn are_limited(&self) -> bool {
        self.0.is_some()
    }

    /// Returns whether the request names a host that is served.
    fn contain<B>(&self, request: &Request<B>) -> bool {
        let Some(hosts) = &self.0 else { return true };
        named(request).is_some_and(|host| hosts.iter().any(|served| served.covers(host)))
    }
}

impl Default for Hosts {
    fn default() -> Self {
        Self::loopback()
    }
}

// === impl InvalidHost ===

impl fmt::Display for InvalidHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a host, with or without a port", self.0)
    }
}

impl Error for InvalidHost {}

// === impl NamedHost ===

impl NamedHost {
    fn new(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        let authority: Authority = text.parse().map_err(|_| invalid())?;
        let (name, port) = split(text).ok_or_else(invalid)?;
        // An authority may have other parts, such as a user name; those are not a host.
        let host = authority.host();
        if host.strip_suffix('.').unwrap_or(host) != name {
            return Err(invalid());
        }
        let name = name.to_owned();
        Ok(Self { name, port })
    }

    fn covers(&self, (name, port): (&str, Option<u16>)) -> bool {
        is_same_name(&self.name, name) && (self.port.is_none() || self.port == port)
    }
}

// === impl HostLayer ===

impl HostLayer {
    /// Serves only these hosts.
    ///
    /// ```
    /// use ziggurat_layers::host::{HostLayer, Hosts};
    ///
    /// let layer = HostLayer::new(Hosts::listed(["mcp.example"])?);
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::host::InvalidHost>(())
    /// ```
    pub fn new(hosts: Hosts) -> Self {
        Self {
            rules: Arc::new(HostRules {
                hosts,
                exempt: Paths::default(),
                status: StatusCode::FORBIDDEN,
                was_reported: Arc::default(),
            }),
            render: ErrorString,
        }
    }
}

impl Default for HostLayer {
    fn default() -> Self {
        Self::new(Hosts::default())
    }
}

impl<R> HostLayer<R> {
    /// Replaces the body of the refusals.
    ///
    /// ```
    /// use ziggurat_layers::{host::HostLayer, reject::ErrorObject};
    ///
    /// let layer = HostLayer::default().with_render(ErrorObject);
    /// # let _ = layer;
    /// ```
    pub fn with_render<T>(self, render: T) -> HostLayer<T> {
        HostLayer {
            rules: self.rules,
            render,
        }
    }

    /// Lets requests to these paths through with any host.
    ///
    /// A path matches exactly, or, when it ends in `/*`, all paths below it match.
    ///
    /// ```
    /// use ziggurat_layers::host::{HostLayer, Hosts};
    ///
    /// let layer = HostLayer::new(Hosts::loopback()).with_exempt(["/health", "/ready"]);
    /// # let _ = layer;
    /// ```
    pub fn with_exempt<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        Arc::make_mut(&mut self.rules).exempt.extend(paths);
        self
    }

    /// Refuses with 421 (misdirected request, RFC 9110, section 15.5.20), after which a client may
    /// try another connection.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response, StatusCode};
    /// use tower::{Layer as _, ServiceExt as _, service_fn};
    /// use ziggurat_layers::host::HostLayer;
    ///
    /// # tokio_test::block_on(async {
    /// let layer = HostLayer::default().with_misdirected();
    /// let service = layer.layer(service_fn(|_: Request<()>| async {
    ///     Ok::<_, std::convert::Infallible>(Response::new(Bytes::new()))
    /// }));
    /// let request = Request::get("/").header("host", "other.example").body(())?;
    /// assert_eq!(service.oneshot(request).await?.status(), StatusCode::MISDIRECTED_REQUEST);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn with_misdirected(mut self) -> Self {
        Arc::make_mut(&mut self.rules).status = StatusCode::MISDIRECTED_REQUEST;
        self
    }
}

impl<S, R: Clone> Layer<S> for HostLayer<R> {
    type Service = Host<S, R>;

    fn layer(&self, inner: S) -> Host<S, R> {
        let layer = self.clone();
        Host { inner, layer }
    }
}

// === impl HostRules ===

impl HostRules {
    fn admit<B>(&self, request: &Request<B>) -> bool {
        self.exempt.contain_path_of(request.uri()) || self.hosts.contain(request)
    }

    fn report<B>(&self, request: &Request<B>) {
        let host = request.headers().get(header::HOST);
        if self.was_reported.swap(true, Ordering::Relaxed) {
            debug!(?host, "rejected a request for another host");
        } else {
            warn!(
                ?host,
                "rejected a request for another host; if clients use this name for the server, add \
                 it to the allowed hosts"
            );
        }
    }
}

// === impl Host ===

impl<S, R, ReqBody, ResBody> Service<Request<ReqBody>> for Host<S, R>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    R: Render<ResBody> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let rules = &*self.layer.rules;
        if rules.admit(&request) {
            return ResponseFuture::serving(self.inner.call(request));
        }
        rules.report(&request);
        let rejection = Rejection::new(
            rules.status,
            "host_not_allowed",
            "This server does not serve that host",
        );
        ResponseFuture::refused(rejection, self.layer.render.clone())
    }
}

/// Returns the host that a request names, with its port; `None` if it names none, or two.
fn named<B>(request: &Request<B>) -> Option<(&str, Option<u16>)> {
    // HTTP/2 may omit the header, HTTP/1.1 the authority.
    let authority = request.uri().authority();
    let authority = authority.map(|authority| split(authority.as_str()));
    let mut headers = request.headers().get_all(header::HOST).iter();
    let header = headers
        .next()
        .map(|host| host.to_str().ok().and_then(split));
    if headers.next().is_some() {
        return None;
    }
    match (authority, header) {
        (Some(authority), Some(header)) => {
            header.filter(|&host| authority.is_some_and(|authority| are_equal(authority, host)))
        }
        (Some(host), None) | (None, Some(host)) => host,
        (None, None) => None,
    }
}

/// Splits into host and port. An invalid host may pass here, but it equals no served one.
fn split(text: &str) -> Option<(&str, Option<u16>)> {
    // Colons inside brackets belong to an IPv6 address.
    let (name, port) = if text.ends_with(']') || !text.contains(':') {
        (text, None)
    } else {
        let (name, port) = text.rsplit_once(':')?;
        let is_decimal = port.bytes().all(|byte| byte.is_ascii_digit());
        (name, Some(port.parse().ok().filter(|_| is_decimal)?))
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    (!name.is_empty()).then_some((name, port))
}

/// Returns whether an authority and a header name the same host; one may omit the default port.
fn are_equal(one: (&str, Option<u16>), other: (&str, Option<u16>)) -> bool {
    is_same_name(one.0, other.0) && (one.1 == other.1 || one.1.is_none() || other.1.is_none())
}

fn is_same_name(one: &str, other: &str) -> bool {
    let is_same = one.eq_ignore_ascii_case(other);
    is_same || matches!((ipv6(one), ipv6(other)), (Some(one), Some(other)) if one == other)
}

fn ipv6(name: &str) -> Option<Ipv6Addr> {
    name.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}
