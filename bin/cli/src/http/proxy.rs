//! Which proxy a request goes through: `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, in upper case or
//! else in lower case.

use std::net::IpAddr;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;

use super::address::{Origin, Target, is_loopback};
use crate::context::Environment;

/// The proxies of the environment.
#[derive(Clone, Default)]
pub(crate) struct Proxies {
    http: Option<String>,
    https: Option<String>,
    exceptions: Vec<Exception>,
}

/// A proxy to go through.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) origin: Origin,
    /// The value of `Proxy-Authorization`.
    pub(crate) authorization: Option<String>,
}

/// A target that is reached directly.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Exception {
    Everything,
    /// A domain and what is below it, perhaps one port of it.
    Domain {
        suffix: String,
        is_host_too: bool,
        port: Option<u16>,
    },
    Network {
        address: IpAddr,
        bits: u8,
    },
}

// === impl Proxies ===

impl Proxies {
    /// Reads the variables.
    pub(crate) fn from_environment(environment: &Environment) -> Self {
        let var = |upper: &str, lower: &str| {
            environment
                .var(upper)
                .or_else(|| environment.var(lower))
                .map(str::trim)
                .filter(|value| !value.is_empty())
        };
        Self {
            http: var("HTTP_PROXY", "http_proxy").map(str::to_owned),
            https: var("HTTPS_PROXY", "https_proxy").map(str::to_owned),
            exceptions: var("NO_PROXY", "no_proxy").map_or_else(Vec::new, exceptions),
        }
    }

    /// The proxy for a target; nothing when it is reached directly.
    ///
    /// # Errors
    ///
    /// The variable does not name a proxy this program can speak to.
    pub(crate) fn proxy_for(&self, origin: &Origin) -> Result<Option<Proxy>, String> {
        let (name, value) = if origin.is_tls {
            ("HTTPS_PROXY", &self.https)
        } else {
            ("HTTP_PROXY", &self.http)
        };
        let Some(value) = value else {
            return Ok(None);
        };
        if is_loopback(&origin.host) || self.exceptions.iter().any(|e| e.fits(origin)) {
            return Ok(None);
        }
        proxy(value)
            .map(Some)
            .map_err(|reason| format!("{name}: {reason}"))
    }
}

// === impl Proxy ===

impl std::fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Proxy")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

// === impl Exception ===

impl Exception {
    fn fits(&self, origin: &Origin) -> bool {
        let host = origin.host.trim_end_matches('.');
        match self {
            Self::Everything => true,
            Self::Domain {
                suffix,
                is_host_too,
                port,
            } => {
                let is_below = host
                    .strip_suffix(suffix.as_str())
                    .is_some_and(|rest| rest.ends_with('.'));
                port.is_none_or(|port| port == origin.port)
                    && (is_below || *is_host_too && host == suffix)
            }
            Self::Network { address, bits } => host
                .parse::<IpAddr>()
                .is_ok_and(|host| is_within(host, *address, *bits)),
        }
    }
}

fn exceptions(list: &str) -> Vec<Exception> {
    let items = list.split([',', ' ']).map(str::trim);
    items
        .filter(|item| !item.is_empty())
        .map(exception)
        .collect()
}

fn exception(item: &str) -> Exception {
    if item == "*" {
        return Exception::Everything;
    }
    let item = item.to_ascii_lowercase();
    if let Some((address, bits)) = item.split_once('/')
        && let (Ok(address), Ok(bits)) = (address.parse(), bits.parse())
    {
        return Exception::Network { address, bits };
    }
    let bare = item.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Exception::Network { address, bits: 128 };
    }
    let (name, port) = match item.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name.to_owned(), port.parse().ok()),
        _ => (item, None),
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let name = name.strip_prefix('*').unwrap_or(name);
    let suffix = name.strip_prefix('.');
    Exception::Domain {
        suffix: suffix.unwrap_or(name).trim_end_matches('.').to_owned(),
        is_host_too: suffix.is_none(),
        port,
    }
}

fn is_within(host: IpAddr, network: IpAddr, bits: u8) -> bool {
    let shared = |host: u128, network: u128, width: u32| {
        let bits = u32::from(bits).min(width);
        bits == 0 || (host ^ network) >> (width - bits) == 0
    };
    match (host, network) {
        (IpAddr::V4(host), IpAddr::V4(network)) => {
            shared(host.to_bits().into(), network.to_bits().into(), 32)
        }
        (IpAddr::V6(host), IpAddr::V6(network)) => shared(host.to_bits(), network.to_bits(), 128),
        _ => false,
    }
}

fn proxy(value: &str) -> Result<Proxy, String> {
    let url = if value.contains("://") {
        value.to_owned()
    } else {
        format!("http://{value}")
    };
    let target = Target::parse(&url)?;
    let after_scheme = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?']).next().unwrap_or_default();
    let authorization = authority.rsplit_once('@').map(|(user, _)| {
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        let pair = percent_decode_str(user).chain([b':']);
        let pair: Vec<u8> = pair.chain(percent_decode_str(password)).collect();
        format!("Basic {}", STANDARD.encode(pair))
    });
    Ok(Proxy {
        origin: target.origin(),
        authorization,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Proxies::from_environment(&Environment::new(variables))
    }

    fn host(proxies: &Proxies, url: &str) -> Option<String> {
        let origin = Target::parse(url).expect("a target").origin();
        let proxy = proxies.proxy_for(&origin).expect("a proxy or none");
        proxy.map(|proxy| proxy.origin.authority())
    }

    #[test]
    fn each_scheme_has_its_variable_and_upper_case_comes_first() {
        let proxies = proxies(&[
            ("HTTP_PROXY", "http://upper:1"),
            ("http_proxy", "http://lower:2"),
            ("https_proxy", "secure:3"),
        ]);
        assert_eq!(host(&proxies, "http://h").as_deref(), Some("upper:1"));
        assert_eq!(host(&proxies, "https://h").as_deref(), Some("secure:3"));
    }

    #[test]
    fn this_machine_is_never_reached_through_a_proxy() {
        let proxies = proxies(&[("HTTP_PROXY", "http://p:1")]);
        for url in ["http://localhost:5", "http://127.9.9.9", "http://[::1]"] {
            assert_eq!(host(&proxies, url), None, "{url}");
        }
    }

    #[test]
    fn exceptions_are_hosts_domains_networks_and_ports() {
        let proxies = proxies(&[
            ("HTTP_PROXY", "http://p:1"),
            (
                "NO_PROXY",
                "example.com, .sub.org,*.star.net 10.0.0.0/8,192.0.2.7,2001:db8::/32,port.io:99,fd00::/8",
            ),
        ]);
        for (url, is_direct) in [
            ("http://example.com", true),
            ("http://a.EXAMPLE.com", true),
            ("http://notexample.com", false),
            ("http://sub.org", false),
            ("http://a.sub.org", true),
            ("http://a.star.net", true),
            ("http://star.net", false),
            ("http://10.1.2.3", true),
            ("http://11.1.2.3", false),
            ("http://192.0.2.7", true),
            ("http://192.0.2.8", false),
            ("http://port.io:99", true),
            ("http://port.io", false),
            ("http://[fd12::1]", true),
            ("http://[2001:db8::5]", true),
            ("http://[2001:db9::5]", false),
        ] {
            assert_eq!(host(&proxies, url).is_none(), is_direct, "{url}");
        }
        let all = self::proxies(&[("HTTP_PROXY", "http://p:1"), ("no_proxy", "*")]);
        assert_eq!(host(&all, "http://h"), None);
    }

    #[test]
    fn a_user_in_the_address_of_a_proxy_becomes_basic_credentials() {
        let proxy = proxy("http://us%40er:p%3Aw@p").expect("a proxy");
        assert_eq!(proxy.authorization.as_deref(), Some("Basic dXNAZXI6cDp3"));
        assert_eq!(proxy.origin.port, 80);
    }

    #[test]
    fn a_proxy_of_another_kind_is_refused_by_name() {
        let proxies = proxies(&[("HTTP_PROXY", "socks5://p:1")]);
        let origin = Target::parse("http://h").expect("a target").origin();
        let reason = proxies.proxy_for(&origin).expect_err("a refusal");
        assert!(reason.starts_with("HTTP_PROXY: "), "{reason}");
    }
}
