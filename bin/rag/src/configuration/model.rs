//! Blocks that name a provider and a model, and their inheritance.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use ziggurat_llm::Provider;

use super::{
    findings::Place,
    written::{Reader, Written},
};

/// The raw block.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawModel {
    provider: Option<Written>,
    model: Option<Written>,
    base_url: Option<Written>,
    headers: Option<BTreeMap<String, Written>>,
    request_timeout: Option<Written>,
    per_attempt_timeout: Option<Written>,
    max_tokens: Option<Written>,
    temperature: Option<Written>,
    max_retries: Option<Written>,
    input_type: Option<Written>,
}

/// A parsed block, in which every key is optional.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) base_url: Option<String>,
    pub(super) headers: Headers,
    pub(super) request_timeout: Option<Duration>,
    pub(super) per_attempt_timeout: Option<Duration>,
    pub(super) max_tokens: Option<u32>,
    pub(super) temperature: Option<f64>,
    pub(super) max_retries: Option<u32>,
    /// Empty if no input type is to be sent.
    pub(super) input_type: Option<String>,
}

/// The origin of embeddings, answers or rankings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    /// An external provider.
    Provider(Provider),
    /// The server itself, for trials without a provider.
    Local,
}

/// The purpose of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Embedding,
    Completion,
}

/// Headers by name; of several with the same name, the last counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers(Vec<(String, String)>);

// === impl Headers ===

impl Headers {
    pub(super) fn read(
        reader: &mut Reader<'_>,
        place: &Place,
        written: Option<BTreeMap<String, Written>>,
    ) -> Self {
        let headers = written.unwrap_or_default().into_iter();
        let headers = headers.filter_map(|(name, value)| {
            let value = reader.text(&place.key(&name), Some(value))?;
            Some((name, value))
        });
        Self(headers.collect())
    }

    /// Appends other headers, which take precedence.
    pub(super) fn then(&self, others: &Self) -> Self {
        Self([self.0.as_slice(), &others.0].concat())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

// === impl RawModel ===

impl RawModel {
    pub(super) fn read(self, reader: &mut Reader<'_>, place: &Place) -> Block {
        let at = |key: &str| place.key(key);
        // An empty value means that none is sent; a missing key has a default.
        let is_silent = self.input_type.is_some();
        let input_type = reader.text(&at("input_type"), self.input_type);
        let block = Block {
            provider: reader.text(&at("provider"), self.provider),
            model: reader.text(&at("model"), self.model),
            base_url: base_url(reader, &at("base_url"), self.base_url),
            headers: Headers::read(reader, &at("headers"), self.headers),
            request_timeout: reader.time(&at("request_timeout"), self.request_timeout),
            per_attempt_timeout: reader.time(&at("per_attempt_timeout"), self.per_attempt_timeout),
            max_tokens: small(reader, &at("max_tokens"), self.max_tokens),
            temperature: temperature(reader, &at("temperature"), self.temperature),
            max_retries: small(reader, &at("max_retries"), self.max_retries),
            input_type: input_type.or_else(|| is_silent.then(String::new)),
        };
        reader.findings.check(
            block.max_tokens != Some(0),
            &at("max_tokens"),
            "must be at least 1",
        );
        block.check_times(reader, place);
        block
    }
}

// === impl Block ===

impl Block {
    /// Returns whether the block names a provider.
    pub(super) fn has_provider(&self) -> bool {
        self.provider.is_some()
    }

    /// Fills missing keys from `default`, if both have the same provider or the block names none.
    pub(super) fn inherit(self, default: &Self) -> Self {
        let is_same = match (&self.provider, &default.provider) {
            (None, _) => true,
            (Some(one), Some(other)) => one.trim().eq_ignore_ascii_case(other.trim()),
            (Some(_), None) => false,
        };
        if !is_same {
            return self;
        }
        let default = default.clone();
        Self {
            provider: self.provider.or(default.provider),
            model: self.model.or(default.model),
            base_url: self.base_url.or(default.base_url),
            headers: default.headers.then(&self.headers),
            request_timeout: self.request_timeout.or(default.request_timeout),
            per_attempt_timeout: self.per_attempt_timeout.or(default.per_attempt_timeout),
            max_tokens: self.max_tokens.or(default.max_tokens),
            temperature: self.temperature.or(default.temperature),
            max_retries: self.max_retries.or(default.max_retries),
            input_type: self.input_type.or(default.input_type),
        }
    }

    /// Returns the provider, if it fits the role; otherwise adds a problem.
    pub(super) fn maker(
        &self,
        reader: &mut Reader<'_>,
        place: &Place,
        role: Role,
    ) -> Option<Maker> {
        let maker = Maker::find(self.provider.as_deref()?, role);
        let place = place.key("provider");
        reader
            .findings
            .check(maker.is_some(), &place, role.choice());
        maker
    }

    pub(super) fn check_times(&self, reader: &mut Reader<'_>, place: &Place) {
        let request = self.request_timeout.filter(|time| !time.is_zero());
        let is_good = self
            .per_attempt_timeout
            .zip(request)
            .is_none_or(|(attempt, request)| attempt <= request);
        reader.findings.check(
            is_good,
            &place.key("per_attempt_timeout"),
            "must not exceed request_timeout",
        );
    }
}

// === impl Maker ===

impl Maker {
    /// Returns whether the server answers itself, without a provider.
    pub(crate) fn is_local(self) -> bool {
        self == Self::Local
    }

    /// Returns the name in the configuration file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Provider(provider) => provider.name(),
            Self::Local => "local",
        }
    }

    /// Finds a provider by its name.
    fn find(name: &str, role: Role) -> Option<Self> {
        let name = name.trim();
        if name.eq_ignore_ascii_case("local") {
            return Some(Self::Local);
        }
        let provider = Provider::find(name)?;
        let is_fit = match role {
            Role::Embedding => provider.embeds(),
            Role::Completion => provider.completes(),
        };
        is_fit.then_some(Self::Provider(provider))
    }
}

// === impl Role ===

impl Role {
    /// Returns the message with the possible providers.
    fn choice(self) -> &'static str {
        match self {
            Self::Embedding => {
                "must be one of: openai, voyage, ollama, gemini (or local, to try things out)"
            }
            Self::Completion => {
                "must be one of: anthropic, openai, ollama, gemini (or local, to try things out)"
            }
        }
    }
}

/// Returns the base URL of a provider, without a trailing slash.
pub(super) fn base_url(
    reader: &mut Reader<'_>,
    place: &Place,
    written: Option<Written>,
) -> Option<String> {
    let text = reader.text(place, written)?;
    let text = text.trim();
    let text = text.strip_suffix('/').unwrap_or(text);
    if text.is_empty() {
        return None;
    }
    let is_usable = reqwest::Url::parse(text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    // The message leaves the URL out, because it may contain a password.
    let message = "must be an http or https URL with a host";
    reader.findings.check(is_usable, place, message);
    Some(text.to_owned())
}

fn small(reader: &mut Reader<'_>, place: &Place, written: Option<Written>) -> Option<u32> {
    let count = reader.count(place, written)?;
    let small = u32::try_from(count).ok();
    reader
        .findings
        .check(small.is_some(), place, "is too large");
    small
}

fn temperature(reader: &mut Reader<'_>, place: &Place, written: Option<Written>) -> Option<f64> {
    let temperature = reader.decimal(place, written)?;
    let is_good = (0.0..=2.0).contains(&temperature);
    reader
        .findings
        .check(is_good, place, "must be between 0.0 and 2.0");
    Some(temperature)
}
