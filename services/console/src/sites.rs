//! The addresses under which browsers reach the console.

use std::{net::SocketAddr, str::FromStr, sync::Arc};

use http::{Uri, uri::Scheme};
use thiserror::Error;

/// Names of this machine, as browsers write them.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// URL of a server for browsers: a scheme, a host and an optional port.
///
/// ```
/// use ziggurat_console::PublicUrl;
///
/// let url: PublicUrl = "https://Tools.example.com:443/".parse()?;
/// assert_eq!(url.origin(), "https://tools.example.com");
/// assert_eq!(url.host(), "tools.example.com");
/// assert!("tools.example.com".parse::<PublicUrl>().is_err());
/// assert!("https://tools.example.com/ziggurat".parse::<PublicUrl>().is_err());
/// # Ok::<_, ziggurat_console::InvalidPublicUrl>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    is_secure: bool,
    host: String,
    /// None for the port of the scheme.
    port: Option<u16>,
}

/// Error for a text that is not the URL of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be a URL such as https://tools.example.com, without a path")]
pub struct InvalidPublicUrl;

/// The addresses under which browsers reach the console, none of them taken from a request.
#[derive(Clone, Debug)]
pub struct Sites {
    origins: Arc<[String]>,
}

// === impl PublicUrl ===

impl PublicUrl {
    fn new(is_secure: bool, host: &str, port: Option<u16>) -> Self {
        let usual = if is_secure { 443 } else { 80 };
        Self {
            is_secure,
            host: host.to_ascii_lowercase(),
            port: port.filter(|port| *port != usual),
        }
    }

    /// Returns the origin as browsers write it.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        match self.port {
            Some(port) => format!("{scheme}://{}:{port}", self.host),
            None => format!("{scheme}://{}", self.host),
        }
    }

    /// Returns the host without a port.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl FromStr for PublicUrl {
    type Err = InvalidPublicUrl;

    fn from_str(text: &str) -> Result<Self, InvalidPublicUrl> {
        let uri: Uri = text.parse().map_err(|_| InvalidPublicUrl)?;
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(InvalidPublicUrl),
        };
        let authority = uri.authority().ok_or(InvalidPublicUrl)?;
        let host = authority.host();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if host.is_empty() || !(host.starts_with('[') || host.bytes().all(is_name)) {
            return Err(InvalidPublicUrl);
        }
        // No user name, and no port that is not a number.
        let has_port = authority.port_u16().is_some();
        let is_bare = authority.as_str() == host || has_port && !authority.as_str().contains('@');
        if !is_bare || !["", "/"].contains(&uri.path()) || uri.query().is_some() {
            return Err(InvalidPublicUrl);
        }
        Ok(Self::new(is_secure, host, authority.port_u16()))
    }
}

// === impl Sites ===

impl Sites {
    /// Finds the addresses of a server that listens at `address`: its public one, and on a loopback
    /// address the names of this machine at its own port.
    #[must_use]
    pub fn new(address: SocketAddr, has_tls: bool, public: Option<&PublicUrl>) -> Self {
        let port = address.port();
        let is_loopback = address.ip().to_canonical().is_loopback();
        let local = LOOPBACK.iter().filter(|_| is_loopback).map(|host| {
            let url = PublicUrl::new(has_tls, host, Some(port));
            url.origin()
        });
        let public = public.map(PublicUrl::origin);
        Self {
            origins: public.into_iter().chain(local).collect(),
        }
    }

    /// Returns the origins of these addresses, whose pages are those of the server.
    pub fn origins(&self) -> impl Iterator<Item = &str> {
        self.origins.iter().map(|origin| &**origin)
    }
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

    #[test]
    fn only_urls_of_servers_are_public_urls() {
        for (text, origin) in [
            (
                "https://tools.example.com",
                Some("https://tools.example.com"),
            ),
            (
                "HTTPS://TOOLS.example.com:443/",
                Some("https://tools.example.com"),
            ),
            (
                "http://tools.example.com:443",
                Some("http://tools.example.com:443"),
            ),
            ("http://[::1]:8080", Some("http://[::1]:8080")),
            ("tools.example.com", None),
            ("/console", None),
            ("ftp://tools.example.com", None),
            ("https://", None),
            ("https://user@tools.example.com", None),
            ("https://tools.example.com/path", None),
            ("https://tools.example.com/?query", None),
            ("https://tools.example.com:port", None),
            ("https://a*b.example", None),
        ] {
            let url = text.parse().ok();
            let found = url.as_ref().map(PublicUrl::origin);
            assert_eq!(found.as_deref(), origin, "{text}");
        }
    }
}
