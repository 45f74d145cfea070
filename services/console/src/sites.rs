//! The addresses under which browsers reach the console.

use std::{net::SocketAddr, sync::Arc};

use http::{
    HeaderMap, Request,
    header::{self, HOST},
    uri::Authority,
};

use crate::{PublicUrl, browser::FETCH_SITE};

/// Names of this machine, as browsers write them.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Name of the cookie where it travels over TLS only. Browsers take a name with this prefix only
/// from the host itself, and only encrypted.
const SECURE_COOKIE: &str = "__Host-ziggurat-console";

/// The addresses under which browsers reach the console, none of them taken from a request.
#[derive(Clone, Debug)]
pub struct Sites {
    sites: Arc<[Site]>,
    /// Reason why a browser cannot sign in, if there are no addresses.
    problem: Problem,
}

/// An address under which browsers reach the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    origin: String,
    /// Is true for a name of this machine at our own port.
    is_local: bool,
    pub(crate) cookie: Cookie,
}

/// The cookie of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) name: String,
    /// Is true if browsers send it over TLS only.
    pub(crate) is_secure: bool,
}

/// Reason why a browser cannot sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The cookie would travel unencrypted.
    HttpsRequired,
    /// The server does not know what browsers call it.
    PublicUrlMissing,
}

// === impl Cookie ===

impl Cookie {
    fn secure() -> Self {
        Self {
            name: SECURE_COOKIE.to_owned(),
            is_secure: true,
        }
    }

    /// Returns the cookie without TLS. Cookies ignore ports, so its name has the port of the
    /// server.
    fn of_port(port: u16) -> Self {
        Self {
            name: format!("ziggurat-{port}-console"),
            is_secure: false,
        }
    }
}

// === impl Sites ===

impl Sites {
    /// Finds the addresses of a server that listens at `address`: its public one, and on a loopback
    /// address the names of this machine at its own port.
    #[must_use]
    pub fn new(address: SocketAddr, has_tls: bool, public: Option<&PublicUrl>) -> Self {
        let is_loopback = address.ip().to_canonical().is_loopback();
        let local = LOOPBACK.iter().filter(|_| is_loopback);
        let local = local.map(|host| PublicUrl::new(has_tls, host, Some(address.port())));
        let local = local.filter_map(|url| Site::new(&url, true));
        let public = public.and_then(|url| Site::new(url, false));
        let sites: Arc<[Site]> = public.into_iter().chain(local).collect();
        let problem = if has_tls {
            Problem::PublicUrlMissing
        } else {
            Problem::HttpsRequired
        };
        Self { sites, problem }
    }

    /// Returns the origins of these addresses, where browsers find the pages of the server.
    pub fn origins(&self) -> impl Iterator<Item = &str> {
        self.sites.iter().map(|site| &*site.origin)
    }

    /// Returns the reason why a browser can sign in at none of the addresses.
    #[must_use]
    pub fn problem(&self) -> Option<Problem> {
        self.sites.is_empty().then_some(self.problem)
    }

    /// Returns the address that the page of a request has.
    ///
    /// A request without an origin is of a page only if its host is one; otherwise a proxy wrote the
    /// host, and the page has the public address.
    pub(crate) fn of<B>(&self, request: &Request<B>) -> Result<&Site, Problem> {
        if let Some(problem) = self.problem() {
            return Err(problem);
        }
        let local = || self.sites.iter().find(|site| site.is_at(host(request)));
        let public = || self.sites.iter().find(|site| !site.is_local);
        let site = match request.headers().get(header::ORIGIN) {
            Some(origin) => self.sites.iter().find(|site| *origin == *site.origin),
            None => local().or_else(public),
        };
        site.ok_or(Problem::PublicUrlMissing)
    }

    /// Returns whether a request is of no page, or of a page of the server itself.
    pub(crate) fn admit<B>(&self, request: &Request<B>) -> bool {
        let mut origins = request.headers().get_all(header::ORIGIN).iter();
        let is_same_site = |value| value == "same-origin";
        let mut fetched = request.headers().get_all(FETCH_SITE).iter();
        fetched.all(is_same_site)
            && match (origins.next(), origins.next()) {
                (None, _) => true,
                (Some(origin), None) => self.sites.iter().any(|site| {
                    // A page under another name of this machine is another page.
                    *origin == *site.origin && (!site.is_local || site.is_at(host(request)))
                }),
                (Some(_), Some(_)) => false,
            }
    }

    /// Returns the value of the cookie of a request.
    pub(crate) fn cookie<'a, B>(&self, request: &'a Request<B>) -> Option<&'a str> {
        // The address that the request seems to have goes first: where two servers of this machine
        // have different ports, the cookies of both arrive.
        let likely = self.of(request).ok().into_iter();
        let mut names = likely.chain(&*self.sites).map(|site| &*site.cookie.name);
        names.find_map(|name| cookie(request.headers(), name))
    }
}

// === impl Site ===

impl Site {
    /// Makes the site of an address, unless its cookie would travel unencrypted to another machine.
    fn new(url: &PublicUrl, is_local: bool) -> Option<Self> {
        let cookie = if url.is_secure() {
            Cookie::secure()
        } else if LOOPBACK.contains(&url.host()) {
            // Also for a port that a container publishes here.
            Cookie::of_port(url.port())
        } else {
            return None;
        };
        let origin = url.origin();
        Some(Self {
            origin,
            is_local,
            cookie,
        })
    }

    /// Returns whether its pages have this origin.
    pub(crate) fn has_origin(&self, origin: &str) -> bool {
        self.origin == origin
    }

    /// Returns whether it is a local one with this host and port.
    fn is_at(&self, host: Option<&str>) -> bool {
        let own = self.origin.split_once("://").map(|(_, host)| host);
        self.is_local
            && own
                .zip(host)
                .is_some_and(|(own, host)| own.eq_ignore_ascii_case(host))
    }
}

// === impl Problem ===

impl Problem {
    /// Returns its name for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HttpsRequired => "https_required",
            Self::PublicUrlMissing => "public_url_missing",
        }
    }
}

/// Returns the host and port that a request names.
fn host<B>(request: &Request<B>) -> Option<&str> {
    let header = request.headers().get(HOST);
    let header = header.and_then(|host| host.to_str().ok());
    header.or_else(|| request.uri().authority().map(Authority::as_str))
}

/// Returns the value of a cookie.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins(address: &str, has_tls: bool, public: Option<&str>) -> Vec<String> {
        let public = public.map(|url| url.parse().expect("a URL"));
        let address = address.parse().expect("an address");
        let sites = Sites::new(address, has_tls, public.as_ref());
        sites.origins().map(str::to_owned).collect()
    }

    #[test]
    fn a_server_has_its_public_address_and_those_of_this_machine() {
        let local = [
            "http://localhost:8080",
            "http://127.0.0.1:8080",
            "http://[::1]:8080",
        ];
        assert_eq!(origins("127.0.0.1:8080", false, None), local);
        assert_eq!(origins("[::ffff:127.0.0.1]:8080", false, None), local);
        assert_eq!(origins("0.0.0.0:8080", false, None), [""; 0]);
        let public = Some("https://Tools.example/");
        assert_eq!(
            origins("0.0.0.0:8080", false, public),
            ["https://tools.example"]
        );
        let both = origins("127.0.0.1:443", true, public);
        assert_eq!(both.len(), 4);
        assert_eq!(both[1], "https://localhost");
    }
}
