//! Settings of embeddings.

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
pub(super) struct RawEmbedding {
    enabled: Option<bool>,
    provider: Option<String>,
    model: Option<String>,
    voyage_api_key: Option<Secret>,
    voyage_api_key_file: Option<PathBuf>,
    openai_api_key: Option<Secret>,
    openai_api_key_file: Option<PathBuf>,
    gemini_api_key: Option<Secret>,
    gemini_api_key_file: Option<PathBuf>,
    ollama_url: Option<String>,
    voyage_base_url: Option<String>,
    openai_base_url: Option<String>,
    gemini_base_url: Option<String>,
    per_attempt_timeout: Option<String>,
}

/// Settings of embeddings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Embedding {
    /// True if the server creates embeddings.
    pub(crate) is_enabled: bool,
    /// Provider of embeddings.
    pub(crate) provider: EmbeddingProvider,
    /// Embedding model; if none, the provider's default.
    pub(crate) model: Option<String>,
    /// API key for Voyage.
    pub(crate) voyage_api_key: Option<Secret>,
    /// API key for `OpenAI`.
    pub(crate) openai_api_key: Option<Secret>,
    /// API key for Gemini.
    pub(crate) gemini_api_key: Option<Secret>,
    /// Base URL of Ollama.
    pub(crate) ollama_url: String,
    /// Base URL of Voyage, if not the default.
    pub(crate) voyage_base_url: Option<String>,
    /// Base URL of `OpenAI`, if not the default.
    pub(crate) openai_base_url: Option<String>,
    /// Base URL of Gemini, if not the default.
    pub(crate) gemini_base_url: Option<String>,
    /// Timeout of one attempt.
    pub(crate) per_attempt_timeout: Duration,
}

/// Provider of embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmbeddingProvider {
    /// `voyage`.
    Voyage,
    /// `openai`.
    OpenAi,
    /// `gemini`.
    Gemini,
    /// `ollama`.
    Ollama,
    /// `local`: computed in the server without a model, for trials.
    Local,
}

// === impl RawEmbedding ===

impl RawEmbedding {
    pub(super) fn overlay(&mut self, reader: &mut Reader<'_>) {
        set(
            &mut self.enabled,
            reader.boolean("ZIGGURAT_EMBEDDING_ENABLED"),
        );
        set(
            &mut self.provider,
            reader.text("ZIGGURAT_EMBEDDING_PROVIDER"),
        );
        set(&mut self.model, reader.text("ZIGGURAT_EMBEDDING_MODEL"));
        set(&mut self.ollama_url, reader.text("ZIGGURAT_OLLAMA_URL"));
        set(
            &mut self.voyage_base_url,
            reader.text("ZIGGURAT_VOYAGE_BASE_URL"),
        );
        set(
            &mut self.openai_base_url,
            reader.text("ZIGGURAT_OPENAI_EMBEDDING_BASE_URL"),
        );
        set(
            &mut self.gemini_base_url,
            reader.text("ZIGGURAT_GEMINI_BASE_URL"),
        );
    }

    pub(super) fn check(
        self,
        reader: &mut Reader<'_>,
        around: &ConfigSources,
    ) -> Result<Embedding, Invalid> {
        let default = Embedding::default();
        let provider = EmbeddingProvider::find(self.provider, "embedding.provider")?;
        Ok(Embedding {
            is_enabled: self.enabled.unwrap_or(default.is_enabled),
            provider: provider.unwrap_or(default.provider),
            model: provider::said(self.model),
            voyage_api_key: api_key::find(
                &["ZIGGURAT_VOYAGE_API_KEY", "VOYAGE_API_KEY"],
                self.voyage_api_key_file,
                self.voyage_api_key,
                "embedding.voyage_api_key",
                (reader, around),
            ),
            openai_api_key: api_key::find(
                &["ZIGGURAT_OPENAI_API_KEY", "OPENAI_API_KEY"],
                self.openai_api_key_file,
                self.openai_api_key,
                "embedding.openai_api_key",
                (reader, around),
            ),
            gemini_api_key: api_key::find(
                &["ZIGGURAT_GEMINI_API_KEY", "GEMINI_API_KEY"],
                self.gemini_api_key_file,
                self.gemini_api_key,
                "embedding.gemini_api_key",
                (reader, around),
            ),
            ollama_url: provider::url(self.ollama_url, "embedding.ollama_url")?
                .unwrap_or(default.ollama_url),
            voyage_base_url: provider::url(self.voyage_base_url, "embedding.voyage_base_url")?,
            openai_base_url: provider::url(self.openai_base_url, "embedding.openai_base_url")?,
            gemini_base_url: provider::url(self.gemini_base_url, "embedding.gemini_base_url")?,
            per_attempt_timeout: time(
                self.per_attempt_timeout,
                default.per_attempt_timeout,
                "embedding.per_attempt_timeout",
            )?,
        })
    }
}

// === impl Embedding ===

impl Default for Embedding {
    fn default() -> Self {
        Self {
            is_enabled: false,
            provider: EmbeddingProvider::Ollama,
            model: None,
            voyage_api_key: None,
            openai_api_key: None,
            gemini_api_key: None,
            ollama_url: OLLAMA.to_owned(),
            voyage_base_url: None,
            openai_base_url: None,
            gemini_base_url: None,
            per_attempt_timeout: Duration::from_mins(1),
        }
    }
}

// === impl EmbeddingProvider ===

impl EmbeddingProvider {
    /// Finds a provider by its name; returns none if no name is given.
    pub(super) fn find(name: Option<String>, key: &'static str) -> Result<Option<Self>, Invalid> {
        provider::find(
            name,
            key,
            &[
                ("voyage", Self::Voyage),
                ("openai", Self::OpenAi),
                ("gemini", Self::Gemini),
                ("ollama", Self::Ollama),
                ("local", Self::Local),
            ],
        )
    }
}
