//! Settings of language models.

use std::time::Duration;

use ziggurat_llm::{ModelSource, Provider};
use ziggurat_runtime::config::Section;

use crate::configuration::provider::{self, Access};

/// Settings of language models.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Llm {
    /// True if the proxy for language models is on.
    pub(crate) is_enabled: bool,
    /// Default provider of a request.
    pub(crate) provider: ModelSource,
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

/// The providers besides Ollama.
pub(crate) const HOSTED: [Provider; 3] = [Provider::Anthropic, Provider::OpenAi, Provider::Gemini];

// === impl Llm ===

impl Llm {
    pub(super) fn read(file: &Section<'_>) -> Self {
        let value = |key: &str, variable: &str| file.key(key).var(variable);
        let enabled = value("enabled", "ZIGGURAT_LLM_ENABLED").boolean();
        let provider = value("provider", "ZIGGURAT_LLM_PROVIDER");
        let provider = provider::choice(&provider, HOSTED, &[ModelSource::Local]);
        Self {
            is_enabled: enabled.unwrap_or(false),
            provider: provider.unwrap_or(ModelSource::Provider(Provider::Anthropic)),
            model: value("model", "ZIGGURAT_LLM_MODEL")
                .text()
                .unwrap_or_else(|| "claude-sonnet-4-5".to_owned()),
            access: Access::read(file, HOSTED, ("", "ZIGGURAT_"), "OPENAI_BASE_URL"),
            max_tokens: value("max_tokens", "ZIGGURAT_LLM_MAX_TOKENS").whole(1..=u32::MAX),
            temperature: value("temperature", "ZIGGURAT_LLM_TEMPERATURE").decimal(0.0..=2.0),
            per_attempt_timeout: provider::attempt_timeout(file),
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
