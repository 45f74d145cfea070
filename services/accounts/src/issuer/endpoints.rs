//! Endpoints of an issuer.

use serde::Deserialize;

use super::{
    Settings,
    fetch::{FetchError, Fetcher},
};

/// Endpoints of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoints {
    pub(super) jwks: String,
    pub(super) revocations: Option<String>,
}

/// Metadata of an issuer (RFC 8414, and `OpenID` Connect before it).
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: Option<String>,
    revoked_clients_uri: Option<String>,
}

// === impl Endpoints ===

impl Endpoints {
    /// Returns the endpoints of the settings, or else those of the issuer's metadata.
    pub(super) async fn of(settings: &Settings, fetcher: &Fetcher) -> Result<Self, FetchError> {
        if let Some(jwks) = &settings.jwks {
            return Ok(Self {
                jwks: jwks.clone(),
                revocations: settings.revocations.clone(),
            });
        }
        let mut failure = FetchError::NotUnderstood("it has no description of itself");
        for place in metadata_urls(&settings.issuer) {
            match fetcher.whole(&place).await {
                Ok(body) => {
                    let mut found = Self::read(&body, &settings.issuer)?;
                    if settings.revocations.is_some() {
                        found.revocations.clone_from(&settings.revocations);
                    }
                    return Ok(found);
                }
                Err(error @ FetchError::Status(_)) => failure = error,
                Err(error) => return Err(error),
            }
        }
        Err(failure)
    }

    fn read(body: &[u8], issuer: &str) -> Result<Self, FetchError> {
        let metadata: Metadata = serde_json::from_slice(body)
            .map_err(|_| FetchError::NotUnderstood("not a description of an issuer"))?;
        // RFC 8414, section 3.3: otherwise another server could publish the metadata.
        if metadata.issuer != issuer {
            return Err(FetchError::NotUnderstood(
                "the description of another issuer",
            ));
        }
        let jwks = metadata.jwks_uri;
        let jwks = jwks.ok_or(FetchError::NotUnderstood("an issuer without keys"))?;
        // An issuer with `https` must not name endpoints without encryption.
        let is_safe = |url: &String| url.starts_with("https://") || issuer.starts_with("http://");
        let are_safe = [Some(&jwks), metadata.revoked_clients_uri.as_ref()]
            .into_iter()
            .flatten()
            .all(is_safe);
        if !are_safe {
            return Err(FetchError::NotUnderstood("a URL without TLS"));
        }
        Ok(Self {
            jwks,
            revocations: metadata.revoked_clients_uri,
        })
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
        let plain = metadata_urls("https://a.example/");
        assert_eq!(
            plain[0],
            "https://a.example/.well-known/oauth-authorization-server"
        );
        assert_eq!(
            plain[1],
            "https://a.example/.well-known/openid-configuration"
        );
        let deep = metadata_urls("https://a.example/realms/x");
        let expected = "https://a.example/.well-known/oauth-authorization-server/realms/x";
        assert_eq!(deep[0], expected);
        assert_eq!(
            deep[1],
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
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
