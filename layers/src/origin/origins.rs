//! The allowed origins.

use std::{
    error::Error,
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use http::{HeaderValue, Request, header};

use crate::host::{Hosts, LOOPBACK};

/// The origins of the pages that may use a server. The default is [`loopback`](Self::loopback).
///
/// ```
/// use ziggurat_layers::origin::Origins;
///
/// let origins = Origins::listed(["https://app.example", "http://localhost:3000"])?;
/// assert!(Origins::listed(["app.example"]).is_err());
/// # let _ = origins;
/// # Ok::<_, ziggurat_layers::origin::InvalidOrigin>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Origins {
    allowed: Allowed,
    /// Origins that are allowed besides.
    more: Arc<[ListedOrigin]>,
    own: Option<OwnPages>,
}

/// Error for a text in a list that is not an origin.
///
/// ```
/// use ziggurat_layers::origin::Origins;
///
/// let error = Origins::listed(["app.example"]).unwrap_err();
/// assert!(error.to_string().contains("app.example"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOrigin(String);

#[derive(Clone, Debug)]
enum Allowed {
    Loopback,
    Listed(Arc<[ListedOrigin]>),
    Exactly(Arc<[HeaderValue]>),
}

/// Rule for the pages of the server itself.
#[derive(Clone, Copy, Debug)]
enum OwnPages {
    /// Recognised by any name, because the host was checked before.
    Named,
    /// Recognised by an IP address only: another name could be made to resolve to this server, and
    /// its pages would look like pages of the server.
    Addressed,
}

/// A listed origin (RFC 6454, section 4).
#[derive(Clone, Debug)]
struct ListedOrigin {
    scheme: String,
    host: String,
    port: Option<u16>,
}

/// The parts of an origin, as written.
#[derive(Clone, Copy, Debug)]
struct Parts<'a> {
    scheme: &'a str,
    host: &'a str,
    port: Option<u16>,
}

// === impl Origins ===

impl Origins {
    /// Allows pages of this machine: `localhost`, `127.0.0.1` and `[::1]`, with every scheme and at
    /// every port.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Request, Response};
    /// use tower::{Layer as _, ServiceExt as _, service_fn};
    /// use ziggurat_layers::origin::{OriginLayer, Origins};
    ///
    /// # tokio_test::block_on(async {
    /// let service = OriginLayer::new(Origins::loopback()).layer(service_fn(|_: Request<()>| async {
    ///     Ok::<_, std::convert::Infallible>(Response::new(Bytes::new()))
    /// }));
    /// let request = Request::get("/").header("origin", "http://localhost:5173").body(())?;
    /// assert_eq!(service.oneshot(request).await?.status(), 200);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn loopback() -> Self {
        Self::new(Allowed::Loopback)
    }

    /// Allows exactly these origins; pages of this machine are no exception.
    ///
    /// ```
    /// use ziggurat_layers::origin::Origins;
    ///
    /// assert!(Origins::listed(["https://app.example", "http://localhost:3000"]).is_ok());
    /// assert!(Origins::listed(["https://app.example/page"]).is_err());
    /// ```
    ///
    /// # Errors
    /// Fails if one does not consist of a scheme, a host and an optional port.
    pub fn listed(origins: impl IntoIterator<Item: AsRef<str>>) -> Result<Self, InvalidOrigin> {
        let origins = origins.into_iter();
        let listed: Result<_, _> = origins
            .map(|text| ListedOrigin::new(text.as_ref()))
            .collect();
        Ok(Self::new(Allowed::Listed(listed?)))
    }

    /// Allows exactly these origins, each as browsers spell it; a text that no header can hold is
    /// ignored.
    ///
    /// ```
    /// use ziggurat_layers::origin::{OriginLayer, Origins};
    ///
    /// // Origins of programs that are not web pages, such as editors.
    /// let origins = Origins::exactly(["vscode-webview://panel", "null"]);
    /// let layer = OriginLayer::new(origins);
    /// # let _ = layer;
    /// ```
    pub fn exactly(origins: impl IntoIterator<Item: AsRef<str>>) -> Self {
        let origins = origins.into_iter();
        let values = origins.filter_map(|origin| HeaderValue::from_str(origin.as_ref()).ok());
        Self::new(Allowed::Exactly(values.collect()))
    }

    /// Allows another origin, too.
    ///
    /// ```
    /// use ziggurat_layers::origin::Origins;
    ///
    /// // Pages of this machine, and pages of the server behind its proxy.
    /// let origins = Origins::loopback().and("https://tools.example")?;
    /// # let _ = origins;
    /// # Ok::<_, ziggurat_layers::origin::InvalidOrigin>(())
    /// ```
    ///
    /// # Errors
    /// Fails if it does not consist of a scheme, a host and an optional port.
    pub fn and(self, origin: &str) -> Result<Self, InvalidOrigin> {
        let origin = ListedOrigin::new(origin)?;
        let more = self.more.iter().cloned().chain([origin]).collect();
        Ok(Self { more, ..self })
    }

    /// Allows pages of the server itself, too. `hosts` are those that it answers for; if it answers
    /// for all, its own pages are recognised by an IP address only, since a name can be rebound.
    ///
    /// ```
    /// use ziggurat_layers::{host::Hosts, origin::Origins};
    ///
    /// let hosts = Hosts::listed(["tools.example"])?;
    /// let origins = Origins::loopback().with_own(&hosts);
    /// # let _ = origins;
    /// # Ok::<_, ziggurat_layers::host::InvalidHost>(())
    /// ```
    pub fn with_own(self, hosts: &Hosts) -> Self {
        let own = Some(if hosts.are_limited() {
            OwnPages::Named
        } else {
            OwnPages::Addressed
        });
        Self { own, ..self }
    }

    fn new(allowed: Allowed) -> Self {
        Self {
            allowed,
            more: Arc::default(),
            own: None,
        }
    }

    /// Returns whether pages of `origin` may use the server; the request comes from there.
    pub(super) fn admit<B>(&self, origin: &HeaderValue, request: &Request<B>) -> bool {
        if let Allowed::Exactly(listed) = &self.allowed
            && listed.contains(origin)
        {
            return true;
        }
        let origin = origin.to_str().ok().and_then(Parts::of);
        origin.is_some_and(|origin| self.contain(origin) || self.is_own(origin, request))
    }

    fn is_own<B>(&self, origin: Parts<'_>, request: &Request<B>) -> bool {
        let is_safe = match self.own {
            None => false,
            Some(OwnPages::Named) => true,
            Some(OwnPages::Addressed) => is_address(origin.host),
        };
        let host = request.headers().get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok());
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        is_safe && host.or(authority).is_some_and(|host| origin.is_at(host))
    }

    fn contain(&self, origin: Parts<'_>) -> bool {
        let is_host = |host: &&str| origin.host.eq_ignore_ascii_case(host);
        let is_listed = |list: &[ListedOrigin]| {
            list.iter().any(|listed| {
                is_host(&&*listed.host)
                    && origin.scheme.eq_ignore_ascii_case(&listed.scheme)
                    && origin.port == listed.port
            })
        };
        let is_allowed = match &self.allowed {
            Allowed::Exactly(_) => false,
            Allowed::Loopback => LOOPBACK.iter().any(is_host),
            Allowed::Listed(listed) => is_listed(listed),
        };
        is_allowed || is_listed(&self.more)
    }
}

impl Default for Origins {
    fn default() -> Self {
        Self::loopback()
    }
}

// === impl ListedOrigin ===

impl ListedOrigin {
    fn new(text: &str) -> Result<Self, InvalidOrigin> {
        let parts = Parts::of(text).ok_or_else(|| InvalidOrigin(text.to_owned()))?;
        Ok(Self {
            scheme: parts.scheme.to_ascii_lowercase(),
            host: parts.host.to_ascii_lowercase(),
            port: parts.port,
        })
    }
}

// === impl InvalidOrigin ===

impl fmt::Display for InvalidOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "`{text}` is not an origin such as `https://example.com` or `http://localhost:3000`"
        )
    }
}

impl Error for InvalidOrigin {}

// === impl Parts ===

impl<'a> Parts<'a> {
    /// Parses an origin: nothing before the scheme, nothing after the port.
    fn of(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let end = match rest.strip_prefix('[') {
            Some(_) => rest.find(']')? + 1,
            None => rest.find(':').unwrap_or(rest.len()),
        };
        let (host, port) = rest.split_at(end);
        let port = match port.strip_prefix(':') {
            Some(port) => Some(decimal(port)?),
            None if port.is_empty() => default_port(scheme),
            None => return None,
        };
        (is_scheme(scheme) && is_host(host)).then_some(Self { scheme, host, port })
    }

    /// Returns whether a request to this host, with or without a port, goes to the origin itself.
    fn is_at(self, host: &str) -> bool {
        // The scheme only determines the default port: behind a proxy the server cannot know it.
        let there = format!("{}://{host}", self.scheme);
        Parts::of(&there)
            .is_some_and(|own| own.host.eq_ignore_ascii_case(self.host) && own.port == self.port)
    }
}

fn decimal(port: &str) -> Option<u16> {
    let is_digits = port.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| port.parse().ok()).flatten()
}

fn default_port(scheme: &str) -> Option<u16> {
    if scheme.eq_ignore_ascii_case("https") {
        Some(443)
    } else if scheme.eq_ignore_ascii_case("http") {
        Some(80)
    } else {
        None
    }
}

/// Checks for a scheme (RFC 3986, section 3.1).
fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Checks for an IPv4 address, or an IPv6 address in brackets.
fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok()
}

/// Checks for a name, an IPv4 address or an IPv6 address in brackets.
fn is_host(text: &str) -> bool {
    match text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            !text.is_empty()
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        }
    }
}
