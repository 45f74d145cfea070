//! The configuration of a trusted issuer.

use std::{fs, path::PathBuf, time::Duration};

use http::Uri;
use serde_json::json;
use ziggurat_layers::bearer::{Challenge, InvalidChallenge};
use ziggurat_runtime::config::Section;

use crate::issuer::{InvalidIssuer, Settings, StalePolicy};

/// Path of the metadata of a protected resource (RFC 9728, section 3.1).
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// A trusted external issuer, as it is configured in the section `issuer`.
///
/// ```
/// use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};
/// use ziggurat_tokens::issuer::TrustedIssuer;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("server.yaml");
/// std::fs::write(
///     &path,
///     "issuer: {url: 'https://accounts.example', public_url: 'https://tools.example/'}",
/// )?;
/// let (sources, flags) = (ConfigSources::default(), Flags::default());
/// let loaded = Input::new(&sources, &flags).load(Some(&path), |file| {
///     TrustedIssuer::read(&file.section("issuer"), "/mcp")
/// })?;
/// let issuer = loaded.value.expect("one");
/// assert_eq!(issuer.resource(), "https://tools.example/mcp");
/// assert_eq!(issuer.metadata_paths()[1], "/.well-known/oauth-protected-resource/mcp");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedIssuer {
    /// Issuer identifier, the `iss` of its tokens.
    pub url: String,
    /// URL of this server for clients, without a slash at its end.
    public_url: String,
    /// Path of the resource that tokens are for, such as `/mcp`.
    path: &'static str,
    /// Scopes that a token needs.
    pub scopes: Vec<String>,
    /// Scope that a token needs to change data; empty if each may.
    write_scope: String,
    /// True if a call without that scope sends the client back to the person.
    steps_up: bool,
    audience: Vec<String>,
    jwks_url: Option<String>,
    revocations_url: Option<String>,
    poll_interval: Duration,
    accepts_when_unreachable: bool,
    unreachable_after: Duration,
    /// The place of the key, and its file.
    ca_file: Option<(String, PathBuf)>,
}

// === impl TrustedIssuer ===

impl TrustedIssuer {
    /// Reads the section; returns `None` if no issuer is named. Tokens are for the resource at
    /// `path`.
    #[must_use]
    pub fn read(file: &Section<'_>, path: &'static str) -> Option<Self> {
        let safe = |key: &str| file.key(key).parsed(safe_url);
        let (url, public_url) = (file.key("url"), file.key("public_url"));
        let (scopes, poll) = (file.key("scopes"), file.key("poll_interval"));
        let write_scope = file.key("write_scope");
        let public = public_url.text().unwrap_or_default();
        let poll_interval = poll.time().unwrap_or(Duration::from_secs(30));
        let ca_file = file.key("ca_file");
        let issuer = Self {
            url: url.parsed(safe_url).unwrap_or_default(),
            public_url: public.trim_end_matches('/').to_owned(),
            audience: file.key("audience").texts().unwrap_or_default(),
            scopes: scopes.texts().unwrap_or_default(),
            write_scope: write_scope.text().unwrap_or_default(),
            steps_up: file.key("step_up").boolean().unwrap_or(false),
            path,
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
            ca_file: ca_file.path().map(|path| (ca_file.to_string(), path)),
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
        write_scope.check(
            issuer.write_scope.is_empty() || is_word(&issuer.write_scope),
            "must be a word without spaces and quotes",
        );
        // Tokens of a deleted client must be refused within a minute.
        poll.check(
            (Duration::from_secs(1)..=Duration::from_mins(1)).contains(&poll_interval),
            "must be between 1s and 1m",
        );
        Some(issuer)
    }

    /// Returns the URL of this server for clients, without a slash at its end.
    #[must_use]
    pub fn public_url(&self) -> &str {
        &self.public_url
    }

    /// Returns the identifier of this server as a resource (RFC 8707).
    #[must_use]
    pub fn resource(&self) -> String {
        format!("{}{}", self.public_url, self.path)
    }

    /// Returns the paths at which clients look for the metadata of this server (RFC 9728, section
    /// 3.1).
    #[must_use]
    pub fn metadata_paths(&self) -> [String; 2] {
        [METADATA.to_owned(), format!("{METADATA}{}", self.path)]
    }

    /// Returns the address of the metadata of this server.
    fn document(&self) -> String {
        let [_, metadata] = self.metadata_paths();
        format!("{}{metadata}", self.public_url)
    }

    /// Returns the protected resource metadata of an address of this server (RFC 9728), below the
    /// address that tokens are for.
    #[must_use]
    pub fn metadata(&self, below: &str) -> String {
        let metadata = json!({
            "resource": format!("{}{below}", self.resource()),
            "authorization_servers": [self.url],
            "scopes_supported": self.scopes,
            "bearer_methods_supported": ["header"],
        });
        metadata.to_string()
    }

    /// Returns the challenge of a refusal, which names the issuer of tokens if there is one.
    ///
    /// # Errors
    /// Fails if the URL of this server or a scope cannot stand in a header.
    pub fn challenge(issuer: Option<&Self>) -> Result<Challenge, InvalidChallenge> {
        let challenge = Challenge::new();
        let Some(issuer) = issuer else {
            return Ok(challenge);
        };
        let challenge = challenge.with_resource_metadata(issuer.document())?;
        if issuer.scopes.is_empty() {
            return Ok(challenge);
        }
        challenge.with_scope(issuer.scopes.join(" "))
    }

    /// Converts to the settings of the token verifier. Reads the certificate file, if one is named.
    ///
    /// # Errors
    /// Fails if that file cannot be read.
    pub fn settings(&self) -> Result<Settings, InvalidIssuer> {
        let root_certificates = match &self.ca_file {
            Some((key, path)) => fs::read(path).map_err(|source| InvalidIssuer::CaFile {
                key: key.clone(),
                path: path.clone(),
                source,
            })?,
            None => Vec::new(),
        };
        let own = [self.resource()].into_iter();
        Ok(Settings {
            issuer: self.url.clone(),
            audience: own.chain(self.audience.iter().cloned()).collect(),
            scope: self.scopes.clone(),
            write_scope: self.write_scope.clone(),
            step_up: self.steps_up.then(|| self.document()),
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
