//! Rejects requests that were meant for another host.
//!
//! A web page can make its own host name resolve to the address of this machine, so that a browser
//! sends requests to a server that listens only there (DNS rebinding). The `Host` header reveals
//! it.

use std::{
    future::{Ready, ready},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use futures_util::future::Either;
use http::{Request, Response, StatusCode, header, uri::Authority};
use tower_layer::Layer;
use tower_service::Service;
use tracing::{debug, warn};
use ziggurat_layers::reject::{ErrorString, Rejection, Render};

/// Names of this machine in the URLs of local programs.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The hosts that a server answers for.
#[derive(Clone, Debug)]
#[must_use]
pub struct Hosts(Option<Arc<[NamedHost]>>);

/// Error for a text that is not a host name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host, with or without a port")]
pub struct InvalidHost(String);

/// Rejects requests that were meant for another host.
///
/// The first rejection is logged as a warning, because a server behind a proxy that forwards an
/// unlisted host rejects every request; later ones are logged at `debug`.
#[derive(Clone, Debug)]
#[must_use]
pub struct HostLayer<R = ErrorString> {
    hosts: Hosts,
    exempt: &'static [&'static str],
    was_reported: Arc<AtomicBool>,
    render: R,
}

/// Service made by [`HostLayer`].
#[derive(Clone, Debug)]
pub struct Host<S, R = ErrorString> {
    inner: S,
    layer: HostLayer<R>,
}

/// A host that the server answers for, at one port or at any port.
#[derive(Clone, Debug)]
struct NamedHost {
    name: String,
    port: Option<u16>,
}

// === impl Hosts ===

impl Hosts {
    /// Returns the hosts of a server that listens at `address`: `allowed`, and for a loopback
    /// address the names of this machine. If both are empty, all hosts.
    ///
    /// A host without a port is allowed at every port.
    ///
    /// # Errors
    ///
    /// Fails if an allowed host is not a host name.
    pub fn of(
        address: IpAddr,
        allowed: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<Self, InvalidHost> {
        let named = allowed.into_iter().map(|text| {
            let text = text.as_ref();
            NamedHost::new(text).ok_or_else(|| InvalidHost(text.to_owned()))
        });
        let mut hosts: Vec<_> = named.collect::<Result<_, _>>()?;
        if address.to_canonical().is_loopback() {
            hosts.extend(LOOPBACK.into_iter().filter_map(NamedHost::new));
        }
        Ok(Self((!hosts.is_empty()).then(|| hosts.into())))
    }

    /// Adds a host to the allowed ones; without effect if all are allowed.
    ///
    /// # Errors
    ///
    /// Fails if it is not a host name.
    pub fn and(self, host: &str) -> Result<Self, InvalidHost> {
        let Some(hosts) = self.0 else { return Ok(self) };
        let host = NamedHost::new(host).ok_or_else(|| InvalidHost(host.to_owned()))?;
        Ok(Self(Some(hosts.iter().cloned().chain([host]).collect())))
    }

    /// Returns whether only some hosts are allowed, so that the `Host` of an admitted request is a
    /// name of this server.
    pub(super) fn are_limited(&self) -> bool {
        self.0.is_some()
    }

    /// Returns whether all host names of the request are allowed.
    fn contain<B>(&self, request: &Request<B>) -> bool {
        let Some(hosts) = &self.0 else { return true };
        let is_known = |host: &str| {
            split(host).is_some_and(|host| hosts.iter().any(|known| known.covers(host)))
        };
        let authority = request.uri().authority();
        let mut headers = request.headers().get_all(header::HOST).iter().peekable();
        // HTTP/2 may omit the header, HTTP/1.1 the authority.
        (authority.is_some() || headers.peek().is_some())
            && authority.is_none_or(|authority| is_known(authority.as_str()))
            && headers.all(|host| host.to_str().is_ok_and(is_known))
    }
}

// === impl NamedHost ===

impl NamedHost {
    fn new(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        let (name, port) = split(text)?;
        let name = name.to_owned();
        // An authority may have other parts, such as a user name; those are not a host.
        (authority.host() == name).then_some(Self { name, port })
    }

    fn covers(&self, (name, port): (&str, Option<u16>)) -> bool {
        self.name.eq_ignore_ascii_case(name) && (self.port.is_none() || self.port == port)
    }
}

// === impl HostLayer ===

impl HostLayer {
    /// Answers only for these hosts.
    pub fn new(hosts: Hosts) -> Self {
        Self {
            hosts,
            exempt: &[],
            was_reported: Arc::default(),
            render: ErrorString,
        }
    }
}

impl<R> HostLayer<R> {
    /// Replaces the body of the rejection.
    pub fn with_render<T>(self, render: T) -> HostLayer<T> {
        HostLayer {
            hosts: self.hosts,
            exempt: self.exempt,
            was_reported: self.was_reported,
            render,
        }
    }

    /// Admits requests for these paths with any host, because probes call a server by its address.
    pub fn with_exempt(self, exempt: &'static [&'static str]) -> Self {
        Self { exempt, ..self }
    }

    fn admits<B>(&self, request: &Request<B>) -> bool {
        let is_admitted =
            self.exempt.contains(&request.uri().path()) || self.hosts.contain(request);
        if !is_admitted {
            self.report(request);
        }
        is_admitted
    }

    fn report<B>(&self, request: &Request<B>) {
        let host = request.headers().get(header::HOST);
        if self.was_reported.swap(true, Ordering::Relaxed) {
            debug!(?host, "rejected a request for another host");
        } else {
            warn!(
                ?host,
                "rejected a request for another host; if clients use this name for the server, add \
                 it to allowed_hosts"
            );
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

// === impl Host ===

impl<S, R, ReqBody, ResBody> Service<Request<ReqBody>> for Host<S, R>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    R: Render<ResBody>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<S::Response, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        if self.layer.admits(&request) {
            return Either::Left(self.inner.call(request));
        }
        let refusal = Rejection::new(
            StatusCode::FORBIDDEN,
            "host_not_allowed",
            "This server does not serve that host",
        );
        Either::Right(ready(Ok(refusal.into_response(&self.layer.render))))
    }
}

/// Splits into host and port. An invalid host may pass here, but it equals no allowed one.
fn split(text: &str) -> Option<(&str, Option<u16>)> {
    // Colons inside brackets belong to an IPv6 address.
    if text.ends_with(']') || !text.contains(':') {
        return (!text.is_empty()).then_some((text, None));
    }
    let (name, port) = text.rsplit_once(':')?;
    let port = port.parse().ok()?;
    (!name.is_empty()).then_some((name, Some(port)))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use tower::{ServiceExt as _, service_fn};

    use super::*;

    async fn status(hosts: &Hosts, uri: &str, sent: &[&str]) -> u16 {
        let service = HostLayer::new(hosts.clone()).layer(service_fn(|_: Request<()>| async {
            Ok::<_, Infallible>(Response::new(Bytes::new()))
        }));
        let mut request = Request::get(uri);
        for host in sent {
            request = request.header("host", *host);
        }
        let request = request.body(()).expect("valid parts");
        let response = service.oneshot(request).await.expect("infallible");
        response.status().as_u16()
    }

    fn of(address: &str, allowed: &[&str]) -> Hosts {
        let address = address.parse().expect("an address");
        Hosts::of(address, allowed).expect("hosts")
    }

    #[tokio::test]
    async fn a_server_on_a_loopback_address_answers_only_for_this_machine() {
        let hosts = of("127.0.0.1", &["mcp.example", "other.example:8443"]);
        for (sent, expected) in [
            (&["localhost"][..], 200),
            (&["LocalHost:8080"], 200),
            (&["127.0.0.1:1"], 200),
            (&["[::1]"], 200),
            (&["[::1]:9"], 200),
            (&["mcp.example:1234"], 200),
            (&["other.example:8443"], 200),
            (&["other.example"], 403),
            (&["evil.example"], 403),
            (&["localhost.evil.example"], 403),
            (&["localhost@evil.example"], 403),
            (&["evil@localhost"], 403),
            (&["localhost:99999"], 403),
            (&["localhost:"], 403),
            (&["::1"], 403),
            (&[""], 403),
            (&["localhost", "evil.example"], 403),
            (&[], 403),
        ] {
            assert_eq!(status(&hosts, "/", sent).await, expected, "{sent:?}");
        }
        let status = async |uri, sent: &[&str]| status(&hosts, uri, sent).await;
        assert_eq!(status("http://localhost:80/", &[]).await, 200);
        assert_eq!(status("http://evil.example/", &["localhost"]).await, 403);
        assert_eq!(status("http://localhost/", &["evil.example"]).await, 403);
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
    async fn probes_may_use_any_host() {
        let layer = HostLayer::new(of("127.0.0.1", &[])).with_exempt(&["/health"]);
        let service = layer.layer(service_fn(|_: Request<()>| async {
            Ok::<_, Infallible>(Response::new(Bytes::new()))
        }));
        for (path, expected) in [("/health", 200), ("/health/", 403), ("/", 403)] {
            let request = Request::get(path).header("host", "10.0.0.7:8080");
            let request = request.body(()).expect("valid parts");
            let response = service.clone().oneshot(request).await.expect("infallible");
            assert_eq!(response.status(), expected, "{path}");
        }
    }

    #[test]
    fn a_text_that_is_no_host_is_refused_at_once() {
        let address = IpAddr::from([127, 0, 0, 1]);
        for text in ["", "a b", "http://a", "a/b", "a:b", "user@a"] {
            let refused = Hosts::of(address, [text]).expect_err(text);
            assert_eq!(refused, InvalidHost(text.to_owned()));
        }
    }
}
