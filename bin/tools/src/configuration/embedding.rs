//! Settings of embeddings.

use std::{path::PathBuf, time::Duration};

use ziggurat_runtime::config::{Section, Value};

use super::{
    Secret,
    provider::{self, OLLAMA, secret, url},
};

/// Settings of embeddings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Embedding {
    /// True if the server creates embeddings.
    pub(crate) is_enabled: bool,
    /// Provider of embeddings.
    pub(crate) provider: EmbeddingProvider,
    /// Embedding model; if none, the provider's default.
    pub(crate) model: Option<String>,
    /// Folder of a static model.
    pub(crate) model_path: Option<PathBuf>,
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
    /// `static`: a model in memory, from a folder.
    Static,
    /// `local`: computed in the server without a model, for trials.
    Local,
}

// === impl Embedding ===

impl Embedding {
    pub(super) fn read(file: &Section<'_>) -> Self {
        let value = |key: &str, variable: &str| file.key(key).var(variable);
        let enabled = value("enabled", "ZIGGURAT_EMBEDDING_ENABLED").boolean();
        let provider = value("provider", "ZIGGURAT_EMBEDDING_PROVIDER");
        let provider = EmbeddingProvider::read(&provider);
        let model_path = value("model_path", "ZIGGURAT_EMBEDDING_MODEL_PATH");
        Self {
            is_enabled: enabled.unwrap_or(false),
            provider,
            model: value("model", "ZIGGURAT_EMBEDDING_MODEL").text(),
            model_path: provider.model_path(&model_path, enabled.unwrap_or(false)),
            voyage_api_key: secret(
                file,
                "voyage_api_key",
                &["ZIGGURAT_VOYAGE_API_KEY", "VOYAGE_API_KEY"],
            ),
            openai_api_key: secret(
                file,
                "openai_api_key",
                &["ZIGGURAT_OPENAI_API_KEY", "OPENAI_API_KEY"],
            ),
            gemini_api_key: secret(
                file,
                "gemini_api_key",
                &["ZIGGURAT_GEMINI_API_KEY", "GEMINI_API_KEY"],
            ),
            ollama_url: url(&value("ollama_url", "ZIGGURAT_OLLAMA_URL"))
                .unwrap_or_else(|| OLLAMA.to_owned()),
            voyage_base_url: url(&value("voyage_base_url", "ZIGGURAT_VOYAGE_BASE_URL")),
            openai_base_url: url(&value(
                "openai_base_url",
                "ZIGGURAT_OPENAI_EMBEDDING_BASE_URL",
            )),
            gemini_base_url: url(&value("gemini_base_url", "ZIGGURAT_GEMINI_BASE_URL")),
            per_attempt_timeout: provider::attempt_timeout(file),
        }
    }
}

// === impl EmbeddingProvider ===

impl EmbeddingProvider {
    pub(super) fn read(value: &Value<'_>) -> Self {
        let provider = provider::choice(
            value,
            &[
                ("voyage", Self::Voyage),
                ("openai", Self::OpenAi),
                ("gemini", Self::Gemini),
                ("ollama", Self::Ollama),
                ("static", Self::Static),
                ("local", Self::Local),
            ],
        );
        provider.unwrap_or(Self::Ollama)
    }

    /// Reads the folder of a static model, which is required only where it is used.
    pub(super) fn model_path(self, value: &Value<'_>, is_enabled: bool) -> Option<PathBuf> {
        let path = value.resolved_path();
        let is_missing = is_enabled && self == Self::Static && path.is_none();
        let problem = "required when the provider is static: the folder of the model";
        value.check(!is_missing, problem);
        path
    }
}
