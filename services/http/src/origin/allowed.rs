//! Which origins are allowed.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use http::{HeaderValue, Request, header};

use crate::Hosts;

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The origins whose pages may use a server.
#[derive(Clone, Debug)]
#[must_use]
pub struct Origins {
    allowed: Allowed,
    own: Option<Own>,
}

/// An origin in a list is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an origin such as `https://example.com` or `http://localhost:3000`")]
pub struct InvalidOrigin(String);

#[derive(Clone, Debug)]
enum Allowed {
    Loopback,
    Listed(Arc<[Listed]>),
    Exactly(Arc<[HeaderValue]>),
}

/// Pages of the server itself.
#[derive(Clone, Copy, Debug)]
enum Own {
    /// By any name: names were checked before.
    Named,
    /// By its address only: a page that had its own name resolve to this server would seem to
    /// be one of the server's.
    Addressed,
}

/// An origin that is kept (RFC 6454, section 4).
#[derive(Debug)]
struct Listed {
    scheme: String,
    host: String,
    port: Option<u16>,
}

/// An origin as it was written.
#[derive(Clone, Copy, Debug)]
struct Parts<'a> {
    scheme: &'a str,
    host: &'a str,
    port: Option<u16>,
}

// === impl Origins ===

impl Origins {
    /// Pages of this machine: `localhost`, `127.0.0.1` and `[::1]`, with every scheme and at
    /// every port.
    pub fn loopback() -> Self {
        Self::new(Allowed::Loopback)
    }

    /// Exactly these origins; pages of this machine are no exception.
    ///
    /// # Errors
    ///
    /// If one is not made of a scheme, a host and perhaps a port.
    pub fn listed(origins: impl IntoIterator<Item: AsRef<str>>) -> Result<Self, InvalidOrigin> {
        let listed = origins.into_iter().map(|text| {
            let text = text.as_ref();
            let parts = Parts::of(text).ok_or_else(|| InvalidOrigin(text.to_owned()))?;
            Ok(Listed {
                scheme: parts.scheme.to_ascii_lowercase(),
                host: parts.host.to_ascii_lowercase(),
                port: parts.port,
            })
        });
        let listed: Result<_, _> = listed.collect();
        Ok(Self::new(Allowed::Listed(listed?)))
    }

    /// Exactly these origins, each in the spelling of browsers; what no header can hold is none.
    pub fn exactly(origins: impl IntoIterator<Item: AsRef<str>>) -> Self {
        let origins = origins.into_iter();
        let values = origins.filter_map(|origin| HeaderValue::from_str(origin.as_ref()).ok());
        Self::new(Allowed::Exactly(values.collect()))
    }

    /// Allows pages of the server itself too. `hosts` are those it answers for; where it answers
    /// for all of them, its own pages are known by an IP address only, since a name can be
    /// rebound.
    pub fn with_own(self, hosts: &Hosts) -> Self {
        let own = Some(if hosts.are_limited() {
            Own::Named
        } else {
            Own::Addressed
        });
        Self { own, ..self }
    }

    fn new(allowed: Allowed) -> Self {
        Self { allowed, own: None }
    }

    /// True if pages of `origin`, where the request comes from, may use the server.
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
            Some(Own::Named) => true,
            Some(Own::Addressed) => is_address(origin.host),
        };
        let host = request.headers().get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok());
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        is_safe && host.or(authority).is_some_and(|host| origin.is_at(host))
    }

    fn contain(&self, origin: Parts<'_>) -> bool {
        let is_host = |host: &&str| origin.host.eq_ignore_ascii_case(host);
        match &self.allowed {
            Allowed::Exactly(_) => false,
            Allowed::Loopback => LOOPBACK.iter().any(is_host),
            Allowed::Listed(listed) => listed.iter().any(|listed| {
                is_host(&&*listed.host)
                    && origin.scheme.eq_ignore_ascii_case(&listed.scheme)
                    && origin.port == listed.port
            }),
        }
    }
}

// === impl Parts ===

impl<'a> Parts<'a> {
    /// Reads an origin: nothing before the scheme, nothing behind the port.
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

    /// True if a request to this host, with or without a port, goes to where the page is from.
    fn is_at(self, host: &str) -> bool {
        // The scheme matters for the port only: behind a proxy the server cannot know it.
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

/// RFC 3986, section 3.1.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// An IPv4 address, or an IPv6 address in brackets.
fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok()
}

/// A name, an IPv4 address or an IPv6 address in brackets.
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
