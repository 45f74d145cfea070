//! Blocks that name a provider and a model, and their inheritance.

use std::{path::PathBuf, time::Duration};

use ziggurat_llm::ModelSource;
use ziggurat_runtime::config::Section;

/// A parsed block, in which every key is optional.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    provider: Option<String>,
    pub(super) model: Option<String>,
    /// The folder of a static model.
    pub(super) model_path: Option<PathBuf>,
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
    pub(super) fn read(file: &Section<'_>, key: &str) -> Self {
        Self(file.texts(key))
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

// === impl Block ===

impl Block {
    pub(super) fn read(file: &Section<'_>) -> Self {
        let input_type = file.key("input_type");
        let block = Self {
            provider: file.key("provider").text(),
            model: file.key("model").text(),
            model_path: file.key("model_path").resolved_path(),
            base_url: file.key("base_url").parsed(base_url),
            headers: Headers::read(file, "headers"),
            request_timeout: file.key("request_timeout").time(),
            per_attempt_timeout: file.key("per_attempt_timeout").time(),
            max_tokens: file.key("max_tokens").whole(1..=u32::MAX),
            temperature: file.key("temperature").decimal(0.0..=2.0),
            max_retries: file.key("max_retries").whole(0..=u32::MAX),
            // An empty value means that none is sent; a missing key has a default.
            input_type: input_type.written(),
        };
        check_times(file, block.request_timeout, block.per_attempt_timeout);
        block
    }

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
            model_path: self.model_path.or(default.model_path),
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
    pub(super) fn maker(&self, file: &Section<'_>, role: Role) -> Option<ModelSource> {
        let maker = ModelSource::find(self.provider.as_deref()?.trim());
        let maker = maker.filter(|maker| match role {
            Role::Embedding => maker.embeds(),
            Role::Completion => maker.completes(),
        });
        file.key("provider").check(maker.is_some(), role.choice());
        maker
    }
}

/// Returns whether a name of a model has to be configured.
pub(super) fn needs_model(maker: ModelSource) -> bool {
    matches!(maker, ModelSource::Provider(_))
}

/// Adds a problem if an attempt may take longer than the request that it is part of.
pub(super) fn check_times(
    file: &Section<'_>,
    request: Option<Duration>,
    attempt: Option<Duration>,
) {
    let request = request.filter(|time| !time.is_zero());
    let is_good = attempt.zip(request).is_none_or(|(one, all)| one <= all);
    file.key("per_attempt_timeout")
        .check(is_good, "must not exceed request_timeout");
}

// === impl Role ===

impl Role {
    /// Returns the message with the possible providers.
    fn choice(self) -> &'static str {
        match self {
            Self::Embedding => {
                "must be one of: openai, voyage, ollama, gemini, static (or local, for trials)"
            }
            Self::Completion => {
                "must be one of: anthropic, openai, ollama, gemini (or local, for trials)"
            }
        }
    }
}

/// Parses the base URL of a provider, without a trailing slash.
pub(super) fn base_url(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let text = text.strip_suffix('/').unwrap_or(text);
    let url = reqwest::Url::parse(text);
    let is_usable = url.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    // The message leaves the URL out, because it may contain a password.
    let message = "must be an http or https URL with a host";
    is_usable.then(|| text.to_owned()).ok_or(message)
}
