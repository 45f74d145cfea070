//! Addresses that the browser of a person is sent back to.

use crate::{
    clients::address::{host, is_well_formed},
    settings::Registration,
};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::address::LONGEST;

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
}
