//! Addresses that a browser is sent back to.
//!
//! They are compared as texts. A loopback address may have another port than the registered one,
//! because a program on a desktop takes a free port (RFC 8252, section 7.3).

use crate::settings::Registration;

/// Longest address, in bytes.
const LONGEST: usize = 2000;

/// Addresses of hosted clients that are known to register themselves.
const KNOWN: [&str; 13] = [
    "https://claude.ai/api/mcp/auth_callback",
    "https://claude.com/api/mcp/auth_callback",
    "https://chatgpt.com/connector_platform_oauth_redirect",
    "https://vscode.dev/redirect",
    "https://insiders.vscode.dev/redirect",
    "https://www.cursor.com/agents/mcp/oauth/callback",
    "https://grok.com/connectors-oauth-exchange-code/",
    "https://console.x.ai/connectors-oauth-exchange-code/",
    "https://www.perplexity.ai/rest/connections/oauth_callback",
    "https://enterprise.perplexity.ai/rest/connections/oauth_callback",
    "https://callback.mistral.ai/v1/integrations_auth/oauth2_callback",
    "https://antigravity.google/oauth-callback",
    "https://oauth.n8n.cloud/oauth2/callback",
];

/// Addresses of a client that needs a secret, whatever it asks for.
const WITH_SECRET: [&str; 2] = [
    "https://www.perplexity.ai/rest/connections/oauth_callback",
    "https://enterprise.perplexity.ai/rest/connections/oauth_callback",
];

/// Returns whether the client at an address needs a secret, whatever it asks for.
pub(crate) fn needs_secret(address: &str) -> bool {
    WITH_SECRET.contains(&address)
}

/// Returns whether an address can be a redirect address at all.
pub(crate) fn is_well_formed(address: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'*' | b'#');
    if address.len() > LONGEST || !address.bytes().all(is_plain) {
        return false;
    }
    let Some((scheme, rest)) = address.split_once(':') else {
        return false;
    };
    if !is_scheme(scheme) {
        return false;
    }
    match scheme {
        "https" => host(rest).is_some(),
        "http" => loopback_host(address).is_some(),
        // Schemes that a browser would run or open itself.
        "javascript" | "data" | "vbscript" | "file" | "blob" | "about" | "ftp" | "ws" | "wss" => {
            false
        }
        _ => !rest.is_empty() && !has_user(rest),
    }
}

/// Returns whether a client that registers itself may be sent back to an address.
pub(crate) fn is_allowed(address: &str, registration: &Registration) -> bool {
    let is_host = |rest: &str| {
        let mut hosts = registration.redirect_hosts.iter();
        let host = host(rest);
        KNOWN.contains(&address)
            || hosts.any(|allowed| allowed == "*" || Some(allowed.as_str()) == host)
    };
    is_good(address, registration) && address.strip_prefix("https:").is_none_or(is_host)
}

/// Returns whether a client may be sent back to an address if a host vouches for the client.
pub(crate) fn is_good(address: &str, registration: &Registration) -> bool {
    is_well_formed(address)
        && address.split_once(':').is_some_and(|(scheme, _)| {
            let mut schemes = registration.schemes.iter();
            matches!(scheme, "http" | "https")
                || scheme.contains('.')
                || schemes.any(|allowed| allowed == scheme)
        })
}

/// Returns whether an address fits one that was registered.
pub(crate) fn fits(address: &str, registered: &str) -> bool {
    if address == registered {
        return true;
    }
    is_well_formed(address)
        && match (without_port(address), without_port(registered)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        }
}

/// Returns the host of an address of http on this machine.
pub(crate) fn loopback_host(address: &str) -> Option<&str> {
    let rest = address.strip_prefix("http:")?;
    let host = host(rest)?;
    matches!(host, "localhost" | "127.0.0.1" | "[::1]").then_some(host)
}

/// Returns the host that a browser goes to, for a page.
pub(crate) fn shown_host(address: &str) -> Option<&str> {
    host(address.strip_prefix("https:")?)
}

/// Returns the host of what follows a scheme. Only letters, digits and `.-` can be in it, besides
/// the loopback address of IPv6, so that two readers of the address see the same host.
fn host(rest: &str) -> Option<&str> {
    let (host, port) = parts(rest)?.0;
    let is_host =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let is_name = !host.is_empty() && host.bytes().all(is_host) && !host.starts_with('.');
    let is_port = port.is_none_or(|port| {
        port.parse::<u16>().is_ok() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    ((is_name || host == "[::1]") && is_port).then_some(host)
}

/// Splits what follows a scheme into host and port, and the path with its query.
fn parts(rest: &str) -> Option<((&str, Option<&str>), &str)> {
    let rest = rest.strip_prefix("//")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let after_host = authority.rfind(']').map_or(0, |at| at + 1);
    let port = authority[after_host..].find(':').map(|at| at + after_host);
    let split = match port {
        Some(at) => (&authority[..at], Some(&authority[at + 1..])),
        None => (authority, None),
    };
    Some((split, path))
}

/// Returns the host, and the path with the query, of a loopback address.
fn without_port(address: &str) -> Option<(&str, &str)> {
    loopback_host(address)?;
    let ((host, _), path) = parts(address.strip_prefix("http:")?)?;
    Some((host, if path.is_empty() { "/" } else { path }))
}

fn has_user(rest: &str) -> bool {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    rest[..end].contains('@')
}

fn is_scheme(scheme: &str) -> bool {
    let is_part =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_lowercase()) && scheme.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_and_listed_hosts_are_allowed() {
        let mut registration = Registration::default();
        let allowed =
            |address: &str, registration: &Registration| is_allowed(address, registration);
        assert!(allowed(
            "https://claude.ai/api/mcp/auth_callback",
            &registration
        ));
        assert!(!allowed(
            "https://claude.ai/api/mcp/auth_callback/",
            &registration
        ));
        assert!(!allowed("https://evil.example/callback", &registration));
        registration.redirect_hosts = vec!["n8n.corp.example".to_owned()];
        assert!(allowed(
            "https://n8n.corp.example/rest/callback?a=b",
            &registration
        ));
        assert!(allowed("https://n8n.corp.example:8443/", &registration));
        assert!(!allowed("https://x.n8n.corp.example/", &registration));
        registration.redirect_hosts = vec!["*".to_owned()];
        assert!(allowed("https://evil.example/callback", &registration));
    }

    #[test]
    fn addresses_that_could_lead_elsewhere_are_refused() {
        let registration = Registration {
            redirect_hosts: vec!["*".to_owned()],
            ..Registration::default()
        };
        for address in [
            "",
            "https",
            "https:",
            "https:/a.example",
            "https://",
            "https:///a",
            "https://user@a.example/",
            "https://a.example@evil.example/",
            "https://a.example\\@evil.example/",
            "https://a.example/#fragment",
            "https://a.example/*",
            "https://A.example/",
            "HTTPS://a.example/",
            "https://a.example:/",
            "https://a.example:99999/",
            "https://a.example:+1/",
            "https://ä.example/",
            "https://a.example/ b",
            "https://a%2eexample/",
            "https://[::2]/",
            "http://a.example/",
            "http://localhost.evil.example/",
            "http://127.0.0.1.evil.example/",
            "http://127.0.0.2/",
            "http://0x7f.1/",
            "http://localhost@evil.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "unknown:/callback",
            "cursor:",
            "cursor://user@host/",
            "1a.b:/x",
        ] {
            assert!(!is_allowed(address, &registration), "{address}");
        }
        let long = format!("https://a.example/{}", "x".repeat(LONGEST));
        assert!(!is_allowed(&long, &registration));
    }

    #[test]
    fn schemes_of_programs_are_allowed_if_listed_or_with_a_dot() {
        let registration = Registration::default();
        for address in [
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "com.example.app:/oauth",
        ] {
            assert!(is_allowed(address, &registration), "{address}");
        }
        assert!(!is_allowed("zoom://callback", &registration));
    }

    #[test]
    fn only_the_port_of_a_loopback_address_may_differ() {
        let registered = "http://127.0.0.1/callback";
        for address in [
            "http://127.0.0.1/callback",
            "http://127.0.0.1:49152/callback",
        ] {
            assert!(fits(address, registered), "{address}");
        }
        for address in [
            "http://localhost/callback",
            "http://127.0.0.1:1/callback/",
            "http://127.0.0.1:1/callback?x=y",
            "https://127.0.0.1/callback",
            "http://127.0.0.1:1@evil.example/callback",
        ] {
            assert!(!fits(address, registered), "{address}");
        }
        assert!(fits("http://[::1]:7", "http://[::1]:9/"));
        assert!(!fits("https://a.example:8/", "https://a.example/"));
    }
}
