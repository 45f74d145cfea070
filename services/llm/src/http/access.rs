//! Address and credentials of a provider.

use std::{fmt::Display, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use percent_encoding::percent_decode_str;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use ziggurat_runtime::redact::Redactor;
use ziggurat_telemetry::Metrics;

use crate::{Provider, Retry, headers};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// Minimum length of a configured header value that is redacted as a secret.
const SECRET_HEADER: usize = 8;

/// Configuration of a provider. Empty by default.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Base URL in place of the default: with the version if the [default](Provider::base_url) has
    /// one.
    pub base_url: Option<String>,
    /// The API key.
    pub key: Option<SecretString>,
    /// Headers for every request; they replace none of the client's own.
    pub headers: HeaderMap,
    /// Its timeouts.
    pub timeouts: Timeouts,
    /// Its retries.
    pub retry: Retry,
    /// Metrics of the calls to it.
    pub metrics: Metrics,
}

/// Timeouts of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For one call, with all its attempts.
    pub call: Duration,
    /// For one attempt.
    pub attempt: Option<Duration>,
}

/// Reason why a provider cannot be used as configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAccess {
    /// The address is invalid.
    #[error("the base URL must be an http or https URL with a host")]
    BaseUrl,
    /// There is no key.
    #[error("{} API key is required when provider is '{}'", full_title(*.0), .0.name())]
    NoKey(Provider),
    /// The key contains characters that a header cannot hold.
    #[error("the {} API key cannot be sent: it is not printable ASCII", .0.title())]
    Key(Provider),
}

// === impl Access ===

impl Access {
    pub(super) fn base(&self, provider: Provider) -> Result<Url, InvalidAccess> {
        let text = self.base_url.as_deref().map(str::trim);
        let text = text
            .filter(|text| !text.is_empty())
            .unwrap_or(provider.base_url());
        let url = Url::parse(text).map_err(|_| InvalidAccess::BaseUrl)?;
        let is_usable = matches!(url.scheme(), "http" | "https") && url.has_host();
        is_usable.then_some(url).ok_or(InvalidAccess::BaseUrl)
    }

    /// Returns the headers of every request.
    pub(super) fn headers(
        &self,
        provider: Provider,
        base: &Url,
    ) -> Result<HeaderMap, InvalidAccess> {
        let mut own = HeaderMap::new();
        if let Some(key) = self.key(provider) {
            let key = key.expose_secret();
            let (name, value) = match provider {
                Provider::Anthropic => (X_API_KEY, key.to_owned()),
                Provider::Gemini => (X_GOOG_API_KEY, key.to_owned()),
                _ => (AUTHORIZATION, format!("Bearer {key}")),
            };
            let value = secret(&value).ok_or(InvalidAccess::Key(provider))?;
            own.insert(name, value);
        } else if self.needs_key(provider) {
            return Err(InvalidAccess::NoKey(provider));
        }
        if provider == Provider::Anthropic {
            own.insert(ANTHROPIC_VERSION, HeaderValue::from_static("2023-06-01"));
        }
        let headers = headers::under(own, &self.headers);
        Ok(with_credentials(headers, base))
    }

    /// Registers the secrets that must not be shown.
    pub(super) fn hide(&self, redactor: &mut Redactor, base: &Url) {
        if let Some(key) = &self.key {
            redactor.add(key.expose_secret().as_bytes());
        }
        for value in self.headers.values() {
            if value.len() >= SECRET_HEADER {
                redactor.add(value.as_bytes());
            }
        }
        let password = base.password().unwrap_or_default();
        redactor.add(password.as_bytes());
        redactor.add(&decoded(password));
    }

    /// Returns the key, if the provider needs it.
    fn key(&self, provider: Provider) -> Option<&SecretString> {
        let key = self.key.as_ref()?;
        let is_of_use = provider != Provider::Ollama && !key.expose_secret().is_empty();
        is_of_use.then_some(key)
    }

    fn needs_key(&self, provider: Provider) -> bool {
        match provider {
            Provider::Ollama | Provider::Tei => false,
            // Compatible servers may need none.
            Provider::OpenAi => self.base_url.is_none(),
            _ => true,
        }
    }
}

// === impl Timeouts ===

/// Two minutes for a call.
impl Default for Timeouts {
    fn default() -> Self {
        Self {
            call: Duration::from_mins(2),
            attempt: None,
        }
    }
}

/// Removes the credentials from the address: they are sent in a header.
pub(super) fn bare(mut base: Url) -> Url {
    // Fails only for addresses without a host.
    let _ = base.set_username("");
    let _ = base.set_password(None);
    base
}

fn with_credentials(mut headers: HeaderMap, base: &Url) -> HeaderMap {
    let has_credentials = !base.username().is_empty() || base.password().is_some();
    if has_credentials && !headers.contains_key(AUTHORIZATION) {
        let mut credentials = decoded(base.username());
        credentials.push(b':');
        credentials.extend(decoded(base.password().unwrap_or_default()));
        let value = format!("Basic {}", STANDARD.encode(credentials));
        headers.extend(secret(&value).map(|value| (AUTHORIZATION, value)));
    }
    headers
}

/// Percent-decodes a part of an address; invalid sequences stay.
fn decoded(text: &str) -> Vec<u8> {
    percent_decode_str(text).collect()
}

fn secret(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Returns the title of a provider in the message about a missing key; Voyage has a longer one
/// there.
fn full_title(provider: Provider) -> impl Display {
    match provider {
        Provider::Voyage => "Voyage AI",
        provider => provider.title(),
    }
}
