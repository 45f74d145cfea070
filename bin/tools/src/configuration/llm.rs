//! Settings of language models.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;

use super::{
    ConfigSources, Invalid, Secret, api_key,
    environment::{Reader, set},
    limits::time,
    provider::{self, OLLAMA},
};

/// Section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawLlm {
    enabled: Option<bool>,
    provider: Option<String>,
    model: Option<String>,
    anthropic_api_key: Option<Secret>,
    anthropic_api_key_file: Option<PathBuf>,
    openai_api_key: Option<Secret>,
    openai_api_key_file: Option<PathBuf>,
    gemini_api_key: Option<Secret>,
    gemini_api_key_file: Option<PathBuf>,
    ollama_url: Option<String>,
    anthropic_base_url: Option<String>,
    openai_base_url: Option<String>,
    gemini_base_url: Option<String>,
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    per_attempt_timeout: Option<String>,
}

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

// === impl RawLlm ===

impl RawLlm {
    pub(super) fn overlay(&mut self, reader: &mut Reader<'_>) {
        set(&mut self.enabled, reader.boolean("ZIGGURAT_LLM_ENABLED"));
        set(&mut self.provider, reader.text("ZIGGURAT_LLM_PROVIDER"));
        set(&mut self.model, reader.text("ZIGGURAT_LLM_MODEL"));
        set(&mut self.ollama_url, reader.text("ZIGGURAT_OLLAMA_URL"));
        for (name, url) in [
            ("ZIGGURAT_ANTHROPIC_BASE_URL", &mut self.anthropic_base_url),
            ("ZIGGURAT_OPENAI_BASE_URL", &mut self.openai_base_url),
            ("ZIGGURAT_GEMINI_BASE_URL", &mut self.gemini_base_url),
        ] {
            set(url, reader.text(name));
        }
        set(
            &mut self.max_tokens,
            reader.integer("ZIGGURAT_LLM_MAX_TOKENS"),
        );
        set(
            &mut self.temperature,
            reader.integer("ZIGGURAT_LLM_TEMPERATURE"),
        );
    }

    pub(super) fn check(
        mut self,
        reader: &mut Reader<'_>,
        around: &ConfigSources,
    ) -> Result<Llm, Invalid> {
        let default = Llm::default();
        let provider = provider::find(
            self.provider.take(),
            "llm.provider",
            &[
                ("anthropic", LlmProvider::Anthropic),
                ("openai", LlmProvider::OpenAi),
                ("gemini", LlmProvider::Gemini),
                ("ollama", LlmProvider::Ollama),
                ("local", LlmProvider::Local),
            ],
        )?;
        let llm = Llm {
            is_enabled: self.enabled.unwrap_or(default.is_enabled),
            provider: provider.unwrap_or(default.provider),
            model: provider::said(self.model.take()).unwrap_or(default.model),
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            per_attempt_timeout: time(
                self.per_attempt_timeout.take(),
                default.per_attempt_timeout,
                "llm.per_attempt_timeout",
            )?,
            access: self.access(reader, around)?,
        };
        if llm.max_tokens == Some(0) {
            return Err(Invalid::key("llm.max_tokens", "must be at least 1"));
        }
        let temperature = llm.temperature.unwrap_or_default();
        if !(0.0..=2.0).contains(&temperature) {
            return Err(Invalid::key("llm.temperature", "must be between 0 and 2"));
        }
        Ok(llm)
    }

    fn access(self, reader: &mut Reader<'_>, around: &ConfigSources) -> Result<Access, Invalid> {
        let mut key = |names: &[&str], file, direct, key| {
            api_key::find(names, file, direct, key, (&mut *reader, around))
        };
        Ok(Access {
            anthropic_api_key: key(
                &["ZIGGURAT_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"],
                self.anthropic_api_key_file,
                self.anthropic_api_key,
                "llm.anthropic_api_key",
            ),
            openai_api_key: key(
                &["ZIGGURAT_OPENAI_API_KEY", "OPENAI_API_KEY"],
                self.openai_api_key_file,
                self.openai_api_key,
                "llm.openai_api_key",
            ),
            gemini_api_key: key(
                &["ZIGGURAT_GEMINI_API_KEY", "GEMINI_API_KEY"],
                self.gemini_api_key_file,
                self.gemini_api_key,
                "llm.gemini_api_key",
            ),
            ollama_url: provider::url(self.ollama_url, "llm.ollama_url")?
                .unwrap_or_else(|| OLLAMA.to_owned()),
            anthropic_base_url: provider::url(self.anthropic_base_url, "llm.anthropic_base_url")?,
            openai_base_url: provider::url(self.openai_base_url, "llm.openai_base_url")?,
            gemini_base_url: provider::url(self.gemini_base_url, "llm.gemini_base_url")?,
        })
    }
}

// === impl Llm ===

impl Default for Llm {
    fn default() -> Self {
        Self {
            is_enabled: false,
            provider: LlmProvider::Anthropic,
            model: "claude-sonnet-4-5".to_owned(),
            access: Access {
                anthropic_api_key: None,
                openai_api_key: None,
                gemini_api_key: None,
                ollama_url: OLLAMA.to_owned(),
                anthropic_base_url: None,
                openai_base_url: None,
                gemini_base_url: None,
            },
            max_tokens: None,
            temperature: None,
            per_attempt_timeout: Duration::from_mins(1),
        }
    }
}
