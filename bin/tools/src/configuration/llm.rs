//! Settings of language models.

use std::time::Duration;

use ziggurat_runtime::config::Section;

use crate::configuration::{
    Secret,
    provider::{self, OLLAMA, api_key, url},
};

/// Settings of language models.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Llm {
    /// True if the proxy for language models is on.
    pub(crate) is_enabled: bool,
    /// Default provider of a request.
    pub(crate) provider: LlmProvider,
    /// Default model of a request.
    pub(crate) model: String,
    /// API keys and base URLs of the providers.
    pub(crate) access: Access,
    /// Maximum number of tokens of an answer, if set.
    pub(crate) max_tokens: Option<u32>,
    /// Sampling temperature, if set; some models refuse the parameter.
    pub(crate) temperature: Option<f64>,
    /// Timeout of one attempt.
    pub(crate) per_attempt_timeout: Duration,
}

/// API keys and base URLs of the providers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Access {
    /// API key for Anthropic.
    pub(crate) anthropic_api_key: Option<Secret>,
    /// API key for `OpenAI` or a compatible server.
    pub(crate) openai_api_key: Option<Secret>,
    /// API key for Gemini.
    pub(crate) gemini_api_key: Option<Secret>,
    /// Base URL of Ollama.
    pub(crate) ollama_url: String,
    /// Base URL of Anthropic, if not the default.
    pub(crate) anthropic_base_url: Option<String>,
    /// Base URL of `OpenAI` or a compatible server, if not the default.
    pub(crate) openai_base_url: Option<String>,
    /// Base URL of Gemini, if not the default.
    pub(crate) gemini_base_url: Option<String>,
}

/// Provider of language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LlmProvider {
    /// `anthropic`.
    Anthropic,
    /// `openai`, or a compatible server.
    OpenAi,
    /// `gemini`.
    Gemini,
    /// `ollama`.
    Ollama,
    /// `local`: built in, without a model, as its answers say.
    Local,
}

// === impl Llm ===

impl Llm {
    pub(super) fn read(file: &Section<'_>) -> Self {
        let value = |key: &str, variable: &str| file.key(key).var(variable);
        let enabled = value("enabled", "ZIGGURAT_LLM_ENABLED").boolean();
        let known = LlmProvider::ALL.map(|provider| (provider.name(), provider));
        let provider = provider::choice(&value("provider", "ZIGGURAT_LLM_PROVIDER"), &known);
        Self {
            is_enabled: enabled.unwrap_or(false),
            provider: provider.unwrap_or(LlmProvider::Anthropic),
            model: value("model", "ZIGGURAT_LLM_MODEL")
                .text()
                .unwrap_or_else(|| "claude-sonnet-4-5".to_owned()),
            access: Access::read(file),
            max_tokens: value("max_tokens", "ZIGGURAT_LLM_MAX_TOKENS").whole(1..=u32::MAX),
            temperature: value("temperature", "ZIGGURAT_LLM_TEMPERATURE").decimal(0.0..=2.0),
            per_attempt_timeout: provider::attempt_timeout(file),
        }
    }
}

// === impl LlmProvider ===

impl LlmProvider {
    const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::Gemini,
        Self::Ollama,
        Self::Local,
    ];

    /// Returns its name in the file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Local => "local",
        }
    }
}

// === impl Access ===

impl Access {
    fn read(file: &Section<'_>) -> Self {
        let base = |key: &str, variable: &str| url(&file.key(key).var(variable));
        let api_key = |provider: &str| api_key(file, ("", "ZIGGURAT_"), provider);
        Self {
            anthropic_api_key: api_key("anthropic"),
            openai_api_key: api_key("openai"),
            gemini_api_key: api_key("gemini"),
            ollama_url: base("ollama_url", "ZIGGURAT_OLLAMA_URL")
                .unwrap_or_else(|| OLLAMA.to_owned()),
            anthropic_base_url: base("anthropic_base_url", "ZIGGURAT_ANTHROPIC_BASE_URL"),
            openai_base_url: base("openai_base_url", "ZIGGURAT_OPENAI_BASE_URL"),
            gemini_base_url: base("gemini_base_url", "ZIGGURAT_GEMINI_BASE_URL"),
        }
    }
}

#[cfg(test)]
impl Default for Llm {
    fn default() -> Self {
        use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};

        let (sources, flags) = (ConfigSources::default(), Flags::default());
        let loaded = Input::new(&sources, &flags).load(None, Self::read);
        loaded.expect("the defaults are valid").value
    }
}
