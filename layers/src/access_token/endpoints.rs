//! The metadata of an issuer (RFC 8414, and `OpenID` Connect before it).

use serde::Deserialize;

use crate::access_token::{
    fetch::{Fetch, FetchError, FetchRequest},
    rules::{Rules, is_safe},
};

/// Maximum size of the metadata, and of the keys.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// URLs of the documents of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoints {
    pub(super) jwks: String,
    pub(super) revocations: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: Option<String>,
    revoked_clients_uri: Option<String>,
}

// === impl Endpoints ===

impl Endpoints {
    /// Returns the URLs in the rules, or else those in the metadata of the issuer.
    pub(super) async fn find(rules: &Rules, fetch: &impl Fetch) -> Result<Self, FetchError> {
        if let Some(jwks) = &rules.jwks {
            return Ok(Self {
                jwks: jwks.clone(),
                revocations: rules.revocations.clone(),
            });
        }
        let mut failure = FetchError::malformed("it publishes no metadata");
        for url in metadata_urls(&rules.issuer) {
            let request = FetchRequest {
                url: &url,
                tag: None,
                max_bytes: MAX_BYTES,
            };
            match fetch.fetch(request).await {
                Ok(metadata) => {
                    let mut found = Self::read(&metadata.body.unwrap_or_default(), &rules.issuer)?;
                    if rules.revocations.is_some() {
                        found.revocations.clone_from(&rules.revocations);
                    }
                    return Ok(found);
                }
                Err(error) if error.is_status() => failure = error,
                Err(error) => return Err(error),
            }
        }
        Err(failure)
    }

    fn read(document: &[u8], issuer: &str) -> Result<Self, FetchError> {
        let metadata: Metadata = serde_json::from_slice(document)
            .map_err(|_| FetchError::malformed("the document is not the metadata of an issuer"))?;
        // RFC 8414, section 3.3: otherwise another server could publish the metadata.
        if metadata.issuer != issuer {
            let reason = "the document is the metadata of another issuer";
            return Err(FetchError::malformed(reason));
        }
        let jwks = metadata.jwks_uri;
        let jwks = jwks.ok_or(FetchError::malformed("the metadata names no keys"))?;
        let revocations = metadata.revoked_clients_uri;
        if !is_safe(&jwks) || !revocations.as_deref().is_none_or(is_safe) {
            return Err(FetchError::malformed("the metadata has a URL without TLS"));
        }
        Ok(Self { jwks, revocations })
    }
}

/// Returns the URLs of an issuer's metadata: the well-known name is between the host and the path
/// (RFC 8414, section 3.1), or after the path (`OpenID` Connect).
fn metadata_urls(issuer: &str) -> [String; 2] {
    let base = issuer.trim_end_matches('/');
    let host_ends = base
        .find("://")
        .and_then(|at| base[at + 3..].find('/').map(|slash| at + 3 + slash))
        .unwrap_or(base.len());
    let (host, path) = base.split_at(host_ends);
    [
        format!("{host}/.well-known/oauth-authorization-server{path}"),
        format!("{base}/.well-known/openid-configuration"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_with_a_path_has_two_metadata_urls() {
        let [oauth, openid] = metadata_urls("https://a.example/");
        assert_eq!(
            oauth,
            "https://a.example/.well-known/oauth-authorization-server"
        );
        assert_eq!(openid, "https://a.example/.well-known/openid-configuration");
        let [oauth, openid] = metadata_urls("https://a.example/realms/x");
        let expected = "https://a.example/.well-known/oauth-authorization-server/realms/x";
        assert_eq!(oauth, expected);
        assert_eq!(
            openid,
            "https://a.example/realms/x/.well-known/openid-configuration"
        );
    }

    #[test]
    fn metadata_must_name_the_issuer_and_only_safe_urls() {
        let read = |text: &str| Endpoints::read(text.as_bytes(), "https://a.example");
        let good = r#"{"issuer":"https://a.example","jwks_uri":"https://b.example/k","x":1}"#;
        assert_eq!(read(good).expect("good").jwks, "https://b.example/k");
        for bad in [
            "[]",
            r#"{"issuer":"https://a.example"}"#,
            r#"{"issuer":"https://a.example/","jwks_uri":"https://b.example/k"}"#,
            r#"{"issuer":"https://a.example","jwks_uri":"http://b.example/k"}"#,
            r#"{"issuer":"https://a.example","jwks_uri":"https://b.example/k",
                "revoked_clients_uri":"http://b.example/r"}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
