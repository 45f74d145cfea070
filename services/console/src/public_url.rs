//! The URL of a server for browsers.

use std::str::FromStr;

use http::{Uri, uri::Scheme};
use thiserror::Error;

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

// === impl PublicUrl ===

impl PublicUrl {
    pub(crate) fn new(is_secure: bool, host: &str, port: Option<u16>) -> Self {
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

    /// Returns whether the connection is encrypted.
    pub(crate) fn is_secure(&self) -> bool {
        self.is_secure
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(if self.is_secure { 443 } else { 80 })
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

#[cfg(test)]
mod tests {
    use super::*;

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
