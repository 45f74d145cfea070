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
//! refusal is logged as a warning with the host, because a server whose name is not listed refuses
//! everything; later ones are logged at `debug`. Probes often use an IP address: exempt their
//! paths with [`with_exempt`](HostLayer::with_exempt).
//!
//! This layer does not replace authentication: programs can send any `Host`.

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidHost(String);

/// Refuses requests that were meant for another host.
#[derive(Clone, Debug)]
#[must_use]
pub struct HostLayer<R = ErrorString> {
    rules: Arc<Rules>,
    render: R,
}

/// Service made by [`HostLayer`].
#[derive(Clone, Debug)]
pub struct Host<S, R = ErrorString> {
    inner: S,
    layer: HostLayer<R>,
}

/// Settings that are fixed when the layer is built, and the state that its services share.
#[derive(Debug)]
struct Rules {
    hosts: Hosts,
    exempt: Paths,
    status: StatusCode,
    was_reported: AtomicBool,
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
    pub fn loopback() -> Self {
        Self(Some(
            LOOPBACK.into_iter().filter_map(NamedHost::new).collect(),
        ))
    }

    /// Serves these hosts. A host without a port is served at every port.
    ///
    /// # Errors
    /// Fails if one is not a name, an IPv4 address or an IPv6 address in brackets.
    pub fn listed(hosts: impl IntoIterator<Item: AsRef<str>>) -> Result<Self, InvalidHost> {
        let hosts = hosts.into_iter().map(|host| named(host.as_ref()));
        Ok(Self(Some(hosts.collect::<Result<_, _>>()?)))
    }

    /// Serves every host: nothing is refused.
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
        let mut hosts = Vec::new();
        for host in allowed {
            hosts.push(named(host.as_ref())?);
        }
        if address.to_canonical().is_loopback() {
            hosts.extend(LOOPBACK.into_iter().filter_map(NamedHost::new));
        }
        Ok(Self((!hosts.is_empty()).then(|| hosts.into())))
    }

    /// Adds a host; without effect if all are served.
    ///
    /// # Errors
    /// Fails if it is not a host name.
    pub fn and(self, host: &str) -> Result<Self, InvalidHost> {
        let host = named(host)?;
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
        let mut headers = request.headers().get_all(header::HOST).iter();
        let header = match (headers.next(), headers.next()) {
            (None, _) => None,
            (Some(host), None) => match host.to_str() {
                Ok(host) => Some(host),
                Err(_) => return false,
            },
            (Some(_), Some(_)) => return false,
        };
        // HTTP/2 may omit the header, HTTP/1.1 the authority.
        let authority = request.uri().authority().map(Authority::as_str);
        let named = match (authority.map(split), header.map(split)) {
            (Some(Some(authority)), Some(Some(header))) if !are_equal(authority, header) => None,
            (Some(host), Some(Some(_)) | None) | (None, Some(host)) => host,
            (_, Some(None)) | (None, None) => None,
        };
        named.is_some_and(|host| hosts.iter().any(|served| served.covers(host)))
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
    fn new(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        let (name, port) = split(text)?;
        // An authority may have other parts, such as a user name; those are not a host.
        let host = authority.host();
        let is_host = host.strip_suffix('.').unwrap_or(host) == name;
        let name = name.to_owned();
        is_host.then_some(Self { name, port })
    }

    fn covers(&self, (name, port): (&str, Option<u16>)) -> bool {
        is_same_name(&self.name, name) && (self.port.is_none() || self.port == port)
    }
}

// === impl HostLayer ===

impl HostLayer {
    /// Serves only these hosts.
    pub fn new(hosts: Hosts) -> Self {
        Self {
            rules: Arc::new(Rules {
                hosts,
                exempt: Paths::default(),
                status: StatusCode::FORBIDDEN,
                was_reported: AtomicBool::new(false),
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
    pub fn with_exempt<P: Into<String>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        self.changed(|rules| rules.exempt.extend(paths))
    }

    /// Refuses with 421 (misdirected request, RFC 9110, section 15.5.20), after which a client may
    /// try another connection.
    pub fn with_misdirected(self) -> Self {
        self.changed(|rules| rules.status = StatusCode::MISDIRECTED_REQUEST)
    }

    fn changed(self, change: impl FnOnce(&mut Rules)) -> Self {
        let mut rules = Rules {
            hosts: self.rules.hosts.clone(),
            exempt: self.rules.exempt.clone(),
            status: self.rules.status,
            was_reported: AtomicBool::new(false),
        };
        change(&mut rules);
        Self {
            rules: Arc::new(rules),
            render: self.render,
        }
    }
}

impl<S, R: Clone> Layer<S> for HostLayer<R> {
    type Service = Host<S, R>;

    fn layer(&self, inner: S) -> Host<S, R> {
        let layer = self.clone();
        Host { inner, layer }
    }
}

// === impl Rules ===

impl Rules {
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

fn named(text: &str) -> Result<NamedHost, InvalidHost> {
    NamedHost::new(text).ok_or_else(|| InvalidHost(text.to_owned()))
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

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        future::{Ready, ready},
    };

    use bytes::Bytes;
    use http::HeaderValue;
    use proptest::prelude::*;
    use tokio_test::{assert_pending, assert_ready_ok};
    use tower::{ServiceExt as _, service_fn};
    use tower_test::mock;

    use super::*;

    fn served(_: Request<()>) -> Ready<Result<Response<Bytes>, Infallible>> {
        ready(Ok(Response::new(Bytes::from_static(b"served"))))
    }

    fn request(uri: &str, hosts: &[&str]) -> Request<()> {
        let mut request = Request::get(uri).body(()).expect("a URI");
        for host in hosts {
            let host = HeaderValue::from_bytes(host.as_bytes()).expect("a header");
            request.headers_mut().append(header::HOST, host);
        }
        request
    }

    async fn response(layer: &HostLayer, request: Request<()>) -> Response<Bytes> {
        let service = layer.layer(service_fn(served));
        service.oneshot(request).await.expect("infallible")
    }

    async fn status(hosts: &Hosts, uri: &str, sent: &[&str]) -> u16 {
        let layer = HostLayer::new(hosts.clone());
        response(&layer, request(uri, sent)).await.status().as_u16()
    }

    fn of(address: &str, allowed: &[&str]) -> Hosts {
        let address = address.parse().expect("an address");
        Hosts::of(address, allowed).expect("hosts")
    }

    #[tokio::test]
    async fn a_server_on_a_loopback_address_serves_only_this_machine() {
        let hosts = of(
            "127.0.0.1",
            &["mcp.example", "other.example:8443", "dot.example."],
        );
        for (sent, expected) in [
            (&["localhost"][..], 200),
            (&["LocalHost:8080"], 200),
            (&["localhost."], 200),
            (&["localhost.:8080"], 200),
            (&["127.0.0.1:1"], 200),
            (&["[::1]"], 200),
            (&["[::1]:9"], 200),
            (&["[0:0:0:0:0:0:0:1]:9"], 200),
            (&["mcp.example:1234"], 200),
            (&["other.example:8443"], 200),
            (&["dot.example"], 200),
            (&["other.example"], 403),
            (&["evil.example"], 403),
            (&["localhost.evil.example"], 403),
            (&["localhost@evil.example"], 403),
            (&["evil@localhost"], 403),
            (&["localhost:99999"], 403),
            (&["localhost:+80"], 403),
            (&["localhost:"], 403),
            (&["localhost.."], 403),
            (&["."], 403),
            (&["::1"], 403),
            (&["[::2]"], 403),
            (&["[::1%eth0]"], 403),
            (&["localhöst"], 403),
            (&[""], 403),
            (&["localhost", "evil.example"], 403),
            (&["localhost", "localhost"], 403),
            (&[], 403),
        ] {
            assert_eq!(status(&hosts, "/", sent).await, expected, "{sent:?}");
        }
    }

    #[tokio::test]
    async fn an_authority_and_a_header_must_name_the_same_served_host() {
        let hosts = of("127.0.0.1", &["mcp.example"]);
        for (uri, sent, expected) in [
            ("http://localhost:80/", &[][..], 200),
            ("http://localhost/", &["localhost"], 200),
            ("http://localhost:80/", &["LOCALHOST."], 200),
            ("http://localhost:80/", &["localhost:80"], 200),
            ("http://localhost:80/", &["localhost:81"], 403),
            ("http://localhost/", &["mcp.example"], 403),
            ("http://evil.example/", &["localhost"], 403),
            ("http://localhost/", &["evil.example"], 403),
            ("http://localhost/", &[""], 403),
            ("http://evil.example/", &[], 403),
            ("http://evil@localhost/", &[], 403),
        ] {
            let found = status(&hosts, uri, sent).await;
            assert_eq!(found, expected, "{uri} {sent:?}");
        }
    }

    #[tokio::test]
    async fn on_other_addresses_hosts_are_checked_only_if_some_are_allowed() {
        let open = of("0.0.0.0", &[]);
        assert_eq!(status(&open, "/", &["anything"]).await, 200);
        assert_eq!(status(&open, "/", &[]).await, 200);
        let listed = of("::", &["mcp.example"]);
        assert_eq!(status(&listed, "/", &["mcp.example"]).await, 200);
        assert_eq!(status(&listed, "/", &["localhost"]).await, 403);
    }

    #[tokio::test]
    async fn the_default_serves_this_machine_and_an_empty_list_serves_no_host() {
        assert_eq!(status(&Hosts::default(), "/", &["localhost"]).await, 200);
        assert_eq!(status(&Hosts::default(), "/", &["mcp.example"]).await, 403);
        assert_eq!(status(&Hosts::any(), "/", &["mcp.example"]).await, 200);
        let none = Hosts::listed([""; 0]).expect("hosts");
        assert_eq!(status(&none, "/", &["localhost"]).await, 403);
    }

    #[tokio::test]
    async fn an_added_host_counts_only_if_hosts_are_checked() {
        let host = "accounts.example";
        let local = of("127.0.0.1", &[]).and(host).expect("a host");
        assert_eq!(status(&local, "/", &["accounts.example:443"]).await, 200);
        assert_eq!(status(&local, "/", &["evil.example"]).await, 403);
        let open = of("0.0.0.0", &[]).and(host).expect("a host");
        assert_eq!(status(&open, "/", &["anything"]).await, 200);
        assert!(of("::1", &[]).and("a b").is_err());
    }

    #[tokio::test]
    async fn exempt_paths_admit_any_host() {
        let layer = HostLayer::default().with_exempt(["/health", "/docs/*"]);
        for (path, expected) in [
            ("/health", 200),
            ("/health/", 403),
            ("/docs/a", 200),
            ("/docs/../secret", 403),
            ("/", 403),
        ] {
            let response = response(&layer, request(path, &["10.0.0.7:8080"])).await;
            assert_eq!(response.status(), expected, "{path}");
        }
    }

    #[tokio::test]
    async fn a_refusal_is_rendered_and_may_be_421() {
        let refused = response(&HostLayer::default(), request("/", &["evil.example"])).await;
        assert_eq!(refused.status(), 403);
        let body = r#"{"error":"This server does not serve that host"}"#;
        assert_eq!(refused.body(), body);
        let rejection = refused
            .extensions()
            .get::<Rejection>()
            .expect("a rejection");
        assert_eq!(rejection.code(), "host_not_allowed");

        let layer = HostLayer::default()
            .with_exempt(["/health"])
            .with_misdirected();
        let layer =
            layer.with_render(|rejection: &Rejection| Response::new(Bytes::from(rejection.code())));
        let service = layer.layer(service_fn(served));
        let refused = service.oneshot(request("/", &["evil.example"])).await;
        let refused = refused.expect("infallible");
        assert_eq!(refused.status(), 421);
        assert_eq!(refused.body(), "host_not_allowed");
    }

    #[test]
    fn a_text_that_is_no_host_is_refused_at_once() {
        for text in [
            "", ".", "a b", "http://a", "a/b", "a:b", "user@a", "::1", "a:+1",
        ] {
            let refused = Hosts::listed([text]).expect_err(text);
            assert_eq!(refused, InvalidHost(text.to_owned()));
            assert!(refused.to_string().contains(text), "{refused}");
        }
    }

    #[tokio::test]
    async fn readiness_is_that_of_the_service() {
        let layer = HostLayer::default();
        let (mut service, mut handle) = mock::spawn_layer::<Request<()>, Response<Bytes>, _>(layer);
        handle.allow(0);
        assert_pending!(service.poll_ready());
        handle.allow(1);
        assert_ready_ok!(service.poll_ready());
    }

    proptest! {
        #[test]
        fn a_host_that_is_admitted_has_a_served_name(host in "[a-c.:\\[\\]@1%L]{0,12}|localhost[.:@1a-z]{0,6}") {
            let sent = request("/", &[&host]);
            if Hosts::loopback().contain(&sent) {
                let url = format!("http://{host}/");
                let uri: http::Uri = url.parse().expect("an admitted host is one in a URL, too");
                let name = uri.host().expect("a host").trim_end_matches('.').to_ascii_lowercase();
                let is_local = LOOPBACK.contains(&&*name) || ipv6(&name) == Some(Ipv6Addr::LOCALHOST);
                prop_assert!(is_local, "{host}");
                prop_assert!(uri.authority().is_some_and(|authority| !authority.as_str().contains('@')));
            }
        }
    }
}
