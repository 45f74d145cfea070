//! External issuer whose tokens are accepted.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::Context as _;
use http::Uri;
use serde_json::json;
use ziggurat_accounts::issuer::{Settings, StalePolicy};
use ziggurat_runtime::config::Section;

/// External issuer whose tokens are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrustedIssuer {
    /// Issuer identifier, the `iss` of its tokens.
    pub(crate) url: String,
    /// URL of this server for clients, without a slash at its end.
    pub(crate) public_url: String,
    /// Scopes that a token needs.
    pub(crate) scopes: Vec<String>,
    audience: Vec<String>,
    /// Databases that its tokens give access to; empty for all.
    pub(crate) databases: Vec<String>,
    jwks_url: Option<String>,
    revocations_url: Option<String>,
    poll_interval: Duration,
    accepts_when_unreachable: bool,
    unreachable_after: Duration,
    ca_file: Option<PathBuf>,
}

/// Reads the section; returns none if no issuer is named.
pub(super) fn read(file: &Section<'_>) -> Option<TrustedIssuer> {
    let safe = |key: &str| file.key(key).parsed(safe_url);
    let (url, public_url) = (file.key("url"), file.key("public_url"));
    let (scopes, poll) = (file.key("scopes"), file.key("poll_interval"));
    let public = public_url.text().unwrap_or_default();
    let poll_interval = poll.time().unwrap_or(Duration::from_secs(30));
    let issuer = TrustedIssuer {
        url: url.parsed(safe_url).unwrap_or_default(),
        public_url: public.trim_end_matches('/').to_owned(),
        audience: file.key("audience").texts().unwrap_or_default(),
        scopes: scopes.texts().unwrap_or_default(),
        databases: file.key("databases").texts().unwrap_or_default(),
        jwks_url: safe("jwks_url"),
        revocations_url: safe("revocations_url"),
        accepts_when_unreachable: file
            .key("when_unreachable")
            .parsed(|text| match text {
                "refuse" => Ok(false),
                "accept" => Ok(true),
                other => Err(format!("'{other}' is neither 'refuse' nor 'accept'")),
            })
            .unwrap_or(false),
        poll_interval,
        unreachable_after: file
            .key("unreachable_after")
            .time()
            .unwrap_or(Duration::from_mins(5)),
        ca_file: file.key("ca_file").path(),
    };
    url.text()?;
    public_url.check(
        is_web(&public),
        "must be the URL that clients use for this server",
    );
    scopes.check(
        issuer.scopes.iter().all(|scope| is_word(scope)),
        "must be a list of words without spaces and quotes",
    );
    // Tokens of a deleted client must be refused within a minute.
    poll.check(
        (Duration::from_secs(1)..=Duration::from_mins(1)).contains(&poll_interval),
        "must be between 1s and 1m",
    );
    Some(issuer)
}

// === impl TrustedIssuer ===

impl TrustedIssuer {
    /// Returns the identifier of this server as a resource (RFC 8707).
    pub(crate) fn resource(&self) -> String {
        format!("{}/mcp", self.public_url)
    }

    /// Returns the protected resource metadata of this server (RFC 9728).
    pub(crate) fn metadata(&self) -> String {
        let metadata = json!({
            "resource": self.resource(),
            "authorization_servers": [self.url],
            "scopes_supported": self.scopes,
            "bearer_methods_supported": ["header"],
        });
        metadata.to_string()
    }

    /// Converts to the settings of the token verifier. Reads the certificate file, if one is named.
    ///
    /// # Errors
    /// Fails if that file cannot be read.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let root_certificates = match &self.ca_file {
            Some(path) => fs::read(path).with_context(|| {
                let path = path.display();
                format!("http.auth.issuer.ca_file: {path}")
            })?,
            None => Vec::new(),
        };
        let own = [self.resource()].into_iter();
        Ok(Settings {
            issuer: self.url.clone(),
            audience: own.chain(self.audience.iter().cloned()).collect(),
            scope: self.scopes.clone(),
            databases: self.databases.clone(),
            jwks: self.jwks_url.clone(),
            revocations: self.revocations_url.clone(),
            poll: self.poll_interval,
            stale_policy: if self.accepts_when_unreachable {
                StalePolicy::Accept
            } else {
                StalePolicy::Refuse
            },
            stale_after: self.unreachable_after,
            root_certificates,
            ..Settings::default()
        })
    }
}

fn is_web(url: &str) -> bool {
    let uri = url.parse::<Uri>().ok();
    uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.query().is_none()
    }) && !url.contains(['#', '"', '\\'])
}

/// Refuses unencrypted URLs of other machines, because keys could be replaced on the network.
fn safe_url(url: &str) -> Result<String, &'static str> {
    let uri = url.parse::<Uri>().ok().filter(|_| is_web(url));
    let is_here = |uri: &Uri| {
        let host = uri.host().unwrap_or_default();
        host == "localhost" || host.starts_with("127.") || host == "[::1]"
    };
    match uri {
        Some(uri) if uri.scheme_str() == Some("https") || is_here(&uri) => Ok(url.to_owned()),
        Some(_) => Err("must be https, unless it is on this machine"),
        None => Err("must be a URL such as https://accounts.example"),
    }
}

fn is_word(text: &str) -> bool {
    let is_usual = |byte: u8| matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~');
    !text.is_empty() && text.bytes().all(is_usual)
}

#[cfg(test)]
mod tests {
    use crate::configuration::fixture::Case;

    fn case(more: &str) -> Case {
        Case::new().file(&format!(
            "http: {{auth: {{issuer: {{url: 'https://accounts.example', public_url: \
             'https://tools.example/'{more}}}}}}}"
        ))
    }

    #[test]
    fn an_issuer_makes_this_server_a_protected_resource() {
        let issuer = case(", scopes: [mcp, read]").configuration().auth.issuer;
        let issuer = issuer.expect("one");
        assert_eq!(issuer.resource(), "https://tools.example/mcp");
        let metadata: serde_json::Value = serde_json::from_str(&issuer.metadata()).expect("JSON");
        assert_eq!(
            metadata["authorization_servers"][0],
            "https://accounts.example"
        );
        assert_eq!(metadata["scopes_supported"][1], "read");
        let settings = issuer.settings().expect("good");
        assert_eq!(settings.audience, ["https://tools.example/mcp"]);
        assert_eq!(Case::new().configuration().auth.issuer, None);
    }

    #[test]
    fn invalid_issuer_settings_are_refused() {
        let wrong = |more: &str, key: &str, reason: &str| {
            let error = case(more).error();
            let expected = format!("invalid configuration: http.auth.issuer.{key}: {reason}");
            assert_eq!(error, expected);
        };
        let safe = "must be https, unless it is on this machine";
        wrong(", jwks_url: 'http://a.example/k'", "jwks_url", safe);
        wrong(
            ", revocations_url: 'http://a.example'",
            "revocations_url",
            safe,
        );
        let two = "'maybe' is neither 'refuse' nor 'accept'";
        let minute = "must be between 1s and 1m";
        wrong(", poll_interval: 2m", "poll_interval", minute);
        wrong(", when_unreachable: maybe", "when_unreachable", two);
        let words = "must be a list of words without spaces and quotes";
        wrong(", scopes: ['a b']", "scopes", words);
        let error = Case::new().file("http: {auth: {issuer: {url: 'https://a.example'}}}");
        assert!(error.error().contains("http.auth.issuer.public_url: "));
    }
}
