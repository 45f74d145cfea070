//! The metadata of a provider (`OpenID` Connect Discovery, RFC 8414).

use serde::Deserialize;

use crate::providers::configured;

/// The metadata of a provider.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    issuer: String,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

// === impl Metadata ===

impl Metadata {
    pub(crate) fn read(document: &[u8], issuer: &str) -> Result<Self, &'static str> {
        let metadata: Self = serde_json::from_slice(document)
            .map_err(|_| "the document is not the metadata of a provider")?;
        // Otherwise another server could publish the metadata.
        if metadata.issuer != issuer {
            return Err("the document is the metadata of another issuer");
        }
        let is_safe = |url: &Option<String>| url.as_deref().is_none_or(configured::is_safe);
        let has_safe_endpoints =
            is_safe(&metadata.authorization_endpoint) && is_safe(&metadata.token_endpoint);
        if !configured::is_safe(&metadata.jwks_uri) || !has_safe_endpoints {
            return Err("the metadata has an address without TLS");
        }
        Ok(metadata)
    }

    /// Returns whether a client may prove itself by a header. It is the usual way.
    pub(crate) fn takes_basic(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_deref();
        let has = |name: &str| methods.is_some_and(|known| known.iter().any(|it| it == name));
        has("client_secret_basic") || !has("client_secret_post")
    }
}

/// Returns the addresses of the metadata of an issuer.
pub(crate) fn urls(issuer: &str) -> [String; 2] {
    let base = issuer.strip_suffix('/').unwrap_or(issuer);
    let host_starts = base.find("://").map_or(0, |at| at + 3);
    let host_ends = base[host_starts..].find('/');
    let (host, path) = base.split_at(host_ends.map_or(base.len(), |at| host_starts + at));
    [
        format!("{base}/.well-known/openid-configuration"),
        format!("{host}/.well-known/oauth-authorization-server{path}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_of_the_issuer_and_names_only_safe_addresses() {
        let read = |document: &str| Metadata::read(document.as_bytes(), "https://a.example").err();
        let good = r#"{"issuer":"https://a.example","jwks_uri":"https://b.example/k"}"#;
        assert_eq!(read(good), None);
        for bad in [
            "[]",
            r#"{"issuer":"https://a.example"}"#,
            r#"{"issuer":"https://a.example/","jwks_uri":"https://b.example/k"}"#,
            r#"{"issuer":"https://a.example","jwks_uri":"http://b.example/k"}"#,
            r#"{"issuer":"https://a.example","jwks_uri":"https://b.example/k",
                "token_endpoint":"http://b.example/t"}"#,
            r#"{"issuer":"https://a.example","jwks_uri":"https://b.example/k",
                "authorization_endpoint":"javascript:alert(1)"}"#,
        ] {
            assert!(read(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn an_issuer_with_a_path_has_two_addresses_of_metadata() {
        let [openid, oauth] = urls("https://a.example/realms/x");
        assert_eq!(
            openid,
            "https://a.example/realms/x/.well-known/openid-configuration"
        );
        assert_eq!(
            oauth,
            "https://a.example/.well-known/oauth-authorization-server/realms/x"
        );
        let [openid, _] = urls("https://a.example/");
        assert_eq!(openid, "https://a.example/.well-known/openid-configuration");
    }
}
