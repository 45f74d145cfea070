//! Selects the proxy of a request: `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, in upper case,
//! otherwise in lower case.

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use ziggurat_runtime::Environment;

use crate::http::{
    address::{Origin, Target, is_loopback},
    message::TransportError,
};

/// The proxies of the environment.
#[derive(Clone, Default)]
pub(crate) struct Proxies {
    http: Option<String>,
    https: Option<String>,
    exceptions: String,
}

// === impl Proxies ===

impl Proxies {
    /// Reads the variables.
    pub(crate) fn from_environment(environment: &Environment) -> Self {
        let var = |upper: &str, lower: &str| {
            environment
                .get(upper)
                .or_else(|| environment.get(lower))
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        Self {
            http: var("HTTP_PROXY", "http_proxy"),
            https: var("HTTPS_PROXY", "https_proxy"),
            exceptions: var("NO_PROXY", "no_proxy").unwrap_or_default(),
        }
    }

    /// Returns the proxy for a target; `None` for a direct connection.
    ///
    /// # Errors
    ///
    /// Fails if the variable names a kind of proxy that is not supported.
    pub(crate) fn proxy_for(&self, origin: &Origin) -> Result<Option<Intercept>, TransportError> {
        let (name, value) = if origin.is_tls {
            ("HTTPS_PROXY", &self.https)
        } else {
            ("HTTP_PROXY", &self.http)
        };
        let Some(value) = value else {
            return Ok(None);
        };
        let host = origin.host.trim_end_matches('.');
        let items = self.exceptions.split([',', ' ']).map(str::trim);
        if is_loopback(host) || items.clone().any(|item| item == "*") {
            return Ok(None);
        }
        let url = if value.contains("://") {
            Target::parse(value)
        } else {
            Target::parse(&format!("http://{value}"))
        };
        let matcher = Matcher::builder()
            // The placeholder distinguishes an exempt target from one that needs an unusable proxy.
            .all(url.as_ref().map_or("unusable".to_owned(), Target::url))
            .no(items
                .filter_map(|item| exception(item, host, origin.port))
                .collect::<Vec<_>>()
                .join(","))
            .build();
        let target = Origin {
            host: host.to_owned(),
            ..origin.clone()
        };
        let target = Uri::try_from(format!("http://{}", target.authority()))
            .map_err(|error| TransportError::lasting(error.to_string()))?;
        match (matcher.intercept(&target), url) {
            (Some(_), Err(reason)) => Err(TransportError::lasting(format!("{name}: {reason}"))),
            (proxy, _) => Ok(proxy),
        }
    }
}

/// Returns the part of an item of `NO_PROXY` that the matcher understands; `None` if the item does
/// not apply to this host and port.
///
/// In the older implementation an item may have a port, and `.` or `*.` before a domain selects
/// only its subdomains; the matcher supports neither.
fn exception<'a>(item: &'a str, host: &str, port: u16) -> Option<&'a str> {
    let name = match item.rsplit_once(':') {
        // Any other colon belongs to an IPv6 address without a port.
        Some((name, number)) if !name.contains(':') || name.ends_with(']') => {
            (number.parse() == Ok(port)).then_some(name)?
        }
        _ => item,
    };
    let name = name.trim_start_matches('[').trim_end_matches([']', '.']);
    let name = name.strip_prefix('*').unwrap_or(name);
    let domain = name.strip_prefix('.');
    let is_above = domain.is_some_and(|domain| domain.eq_ignore_ascii_case(host));
    (!is_above).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        let variables = variables.iter().map(|(name, value)| (*name, *value));
        Proxies::from_environment(&Environment::new(variables))
    }

    fn host(proxies: &Proxies, url: &str) -> Option<String> {
        let origin = Target::parse(url).expect("a target").origin();
        let proxy = proxies.proxy_for(&origin).expect("a proxy or none");
        proxy.map(|proxy| Origin::of(proxy.uri()).authority())
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
        assert_eq!(host(&all, "http://10.0.0.1"), None);
    }

    #[test]
    fn a_user_in_the_address_of_a_proxy_becomes_basic_credentials() {
        let proxies = proxies(&[("HTTP_PROXY", "http://us%40er:p%3Aw@p")]);
        let origin = Target::parse("http://h").expect("a target").origin();
        let proxy = proxies.proxy_for(&origin).expect("a proxy").expect("one");
        assert_eq!(proxy.basic_auth().expect("a user"), "Basic dXNAZXI6cDp3");
        assert_eq!(Origin::of(proxy.uri()).port, 80);
    }

    #[test]
    fn a_proxy_of_another_kind_is_refused_by_name() {
        let proxies = proxies(&[("HTTP_PROXY", "socks5://p:1")]);
        let origin = Target::parse("http://h").expect("a target").origin();
        let reason = proxies.proxy_for(&origin).expect_err("a refusal");
        let reason = reason.to_string();
        assert!(reason.starts_with("HTTP_PROXY: "), "{reason}");
        for value in ["ftp://p:1", "http://"] {
            let unusable = self::proxies(&[("HTTP_PROXY", value), ("NO_PROXY", "direct")]);
            assert!(unusable.proxy_for(&origin).is_err(), "{value}");
            assert_eq!(host(&unusable, "http://direct"), None, "{value}");
        }
    }
}
