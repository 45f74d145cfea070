//! Addresses: the base URL of the API as the user wrote it, and the target of one request.

use std::fmt;

use http::Uri;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::http::message::TransportError;

/// The base URL of the API: `http` or `https`, a host, optionally a path, nothing else.
///
/// Kept as written, except for a slash at the end, because cached tokens are bound to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address(String);

/// A text that is not a base URL, masked, and the reason.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InvalidAddress {
    shown: String,
    reason: &'static str,
}

/// The target of one request.
#[derive(Clone, Debug)]
pub struct Target {
    uri: Uri,
}

/// Scheme, host and port of a target.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Origin {
    pub(crate) is_tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
}

// === impl Address ===

impl Address {
    /// Checks an address.
    ///
    /// # Errors
    ///
    /// Fails if it is not an absolute `http` or `https` URL, or has more than a path.
    pub fn parse(text: &str) -> Result<Self, InvalidAddress> {
        let refused = |reason| {
            let shown = super::mask::Mask::default().url(text);
            Err(InvalidAddress { shown, reason })
        };
        if text.contains(['#', '?']) {
            return refused("the base URL of the API must not have a query or a fragment");
        }
        if text.bytes().any(|byte| byte <= b' ' || byte >= 0x7f) {
            return refused("only printable ASCII characters are allowed");
        }
        let Ok(uri) = text.parse::<Uri>() else {
            return refused("not a URL");
        };
        let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return refused("want an absolute http or https URL");
        };
        if authority.as_str().contains('@') {
            return refused("it must not contain credentials; use --client-id and --client-secret");
        }
        if uri.host().is_none_or(str::is_empty) {
            return refused("it has no host");
        }
        if authority.as_str().ends_with(':')
            || authority.port_u16().is_none() && has_port(authority.as_str())
        {
            return refused("its port is not a number from 0 to 65535");
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }

    /// Returns the address, without a slash at the end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the URL of a path below this base.
    #[must_use]
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// Returns whether requests leave this machine unencrypted.
    pub(crate) fn is_unencrypted(&self) -> bool {
        Target::parse(&self.0)
            .is_ok_and(|target| !target.origin().is_tls && !is_loopback(&target.origin().host))
    }
}

// === impl InvalidAddress ===

impl fmt::Display for InvalidAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.shown, self.reason)
    }
}

impl std::error::Error for InvalidAddress {}

// === impl Target ===

impl Target {
    /// Parses the URL of a request.
    ///
    /// # Errors
    ///
    /// Fails if it is not an `http` or `https` URL with a host.
    pub fn parse(url: &str) -> Result<Self, TransportError> {
        let (url, _) = url.split_once('#').unwrap_or((url, ""));
        let uri = Uri::try_from(utf8_percent_encode(url, NEVER_SENT).to_string());
        let uri = uri.map_err(|error| TransportError::Answer(error.to_string()))?;
        let reason = match (uri.scheme_str(), uri.host()) {
            (Some("http" | "https"), Some(host)) if !host.is_empty() => return Ok(Self { uri }),
            (Some(scheme), Some(_)) => format!("unsupported protocol scheme {scheme:?}"),
            _ => "no host in the address".to_owned(),
        };
        Err(TransportError::Answer(reason))
    }

    /// Resolves the URL of a redirect from here.
    ///
    /// The crate `url` would rewrite dots and backslashes in it, and add 245 kB to the program.
    pub(crate) fn redirected(&self, location: &str) -> Result<Self, TransportError> {
        let scheme = self.uri.scheme_str().unwrap_or("http");
        let authority = self.host_header();
        if location.starts_with("//") {
            return Self::parse(&format!("{scheme}:{location}"));
        }
        if location.contains("://") {
            return Self::parse(location);
        }
        let path = self.uri.path();
        let path = match location.chars().next() {
            Some('/') => location.to_owned(),
            Some('?') => format!("{path}{location}"),
            _ => {
                let folder = path.rfind('/').map_or("/", |slash| &path[..=slash]);
                format!("{folder}{location}")
            }
        };
        Self::parse(&format!("{scheme}://{authority}{path}"))
    }

    /// Returns the complete URL.
    pub(crate) fn url(&self) -> String {
        self.uri.to_string()
    }

    /// Returns the scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> Origin {
        Origin::of(&self.uri)
    }

    /// Returns the value of the `Host` header.
    pub(crate) fn host_header(&self) -> &str {
        let authority = self.uri.authority().map_or("", |a| a.as_str());
        authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host)
    }

    /// Returns path and query, for the request line to the server itself.
    #[must_use]
    pub fn path(&self) -> &str {
        self.uri.path_and_query().map_or("/", |path| path.as_str())
    }
}

// === impl Origin ===

impl Origin {
    /// Returns the origin of a URL, with an explicit port and a lower-case host without brackets.
    pub(super) fn of(uri: &Uri) -> Self {
        let is_tls = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default();
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        Self {
            is_tls,
            host: bare.unwrap_or(host).to_ascii_lowercase(),
            port: uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
        }
    }

    /// Returns host and port, for requests to a proxy.
    #[must_use]
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// Returns whether a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    host.parse::<std::net::IpAddr>()
        .is_ok_and(|address| address.is_loopback())
}

fn has_port(authority: &str) -> bool {
    let after_host = authority.rsplit_once(']').map_or(authority, |(_, end)| end);
    after_host.contains(':')
}

/// The bytes that no request line may contain; all others stay unchanged.
const NEVER_SENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_kept_as_written_without_its_last_slash() {
        for (text, kept) in [
            ("http://127.0.0.1:8090", "http://127.0.0.1:8090"),
            (
                "https://API.example.com/base/",
                "https://API.example.com/base",
            ),
            ("http://[::1]:80/", "http://[::1]:80"),
        ] {
            let address = Address::parse(text).expect(text);
            assert_eq!(address.as_str(), kept);
        }
    }

    #[test]
    fn a_base_that_is_more_or_less_than_a_base_is_refused() {
        for text in [
            "",
            "api.example.com",
            "/path",
            "ftp://h",
            "http://",
            "http://user:hush@h",
            "http://user@h",
            "http://h?x=1",
            "http://h#x",
            "http://h:port",
            "http://h:70000",
            "http://h:",
            "http://h /x",
            "http://hé",
        ] {
            let error = Address::parse(text).expect_err(text);
            assert!(!error.to_string().contains("hush"), "{error}");
        }
    }

    #[test]
    fn only_plain_http_to_another_machine_is_open_to_listeners() {
        for (text, is_open) in [
            ("http://127.0.0.1:1", false),
            ("http://localhost", false),
            ("http://[::1]", false),
            ("http://10.0.0.1", true),
            ("http://api.example.com/x", true),
            ("https://api.example.com", false),
        ] {
            let address = Address::parse(text).expect(text);
            assert_eq!(address.is_unencrypted(), is_open, "{text}");
        }
    }

    #[test]
    fn a_target_keeps_its_bytes_and_escapes_what_no_request_line_carries() {
        for (url, path) in [
            ("http://h/a%2Fb?x=%20&y=+", "/a%2Fb?x=%20&y=+"),
            ("http://h/a b/é?q=<é>", "/a%20b/%C3%A9?q=%3C%C3%A9%3E"),
            ("http://h", "/"),
            ("http://h/a#frag", "/a"),
        ] {
            assert_eq!(Target::parse(url).expect(url).path(), path);
        }
    }

    #[test]
    fn a_redirect_is_read_against_where_it_came_from() {
        let from = Target::parse("https://h:1/a/b?x=1").expect("a target");
        for (location, to) in [
            ("/c", "https://h:1/c"),
            ("c", "https://h:1/a/c"),
            ("?y=2", "https://h:1/a/b?y=2"),
            ("//other/d", "https://other/d"),
            ("http://other/e", "http://other/e"),
        ] {
            assert_eq!(from.redirected(location).expect(location).url(), to);
        }
        assert!(from.redirected("ftp://x/y").is_err());
    }

    proptest::proptest! {
        #[test]
        fn a_target_of_any_text_stays_where_it_was_sent(path in "\\PC{0,30}") {
            if let Ok(target) = Target::parse(&format!("http://host:1/{path}")) {
                proptest::prop_assert_eq!(target.origin().authority(), "host:1");
                proptest::prop_assert!(target.path().bytes().all(|byte| byte.is_ascii_graphic()));
                let _ = target.redirected(&path);
            }
            let _ = Address::parse(&path);
        }
    }

    #[test]
    fn the_same_host_on_another_port_or_scheme_is_another_origin() {
        let origin = |url| Target::parse(url).expect("a target").origin();
        assert_eq!(origin("http://h"), origin("http://H:80/x"));
        assert_ne!(origin("http://h"), origin("https://h"));
        assert_ne!(origin("https://h"), origin("https://h:444"));
        assert_eq!(origin("https://[::1]").authority(), "[::1]:443");
    }
}
