//! Settings of embeddings.

use std::{path::PathBuf, time::Duration};

use ziggurat_runtime::config::{Section, Value};

use crate::configuration::{
    Secret,
    provider::{self, OLLAMA, api_key, url},
};

/// Settings of embeddings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Embedding {
    /// True if the server creates embeddings.
    pub(crate) is_enabled: bool,
    /// Provider of embeddings.
    pub(crate) vectors: Vectors,
    /// Timeout of one attempt.
    pub(crate) per_attempt_timeout: Duration,
}

/// Provider of embeddings, and how it is reached.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vectors {
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
        let enabled = file.key("enabled").var("ZIGGURAT_EMBEDDING_ENABLED");
        let is_enabled = enabled.boolean().unwrap_or(false);
        let (prefixes, openai_url) = (("", "ZIGGURAT_"), "OPENAI_EMBEDDING_BASE_URL");
        Self {
            is_enabled,
            vectors: Vectors::read(file, is_enabled, prefixes, openai_url),
            per_attempt_timeout: provider::attempt_timeout(file),
        }
    }
}

// === impl Vectors ===

impl Vectors {
    /// Reads the keys and the variables that begin with the prefixes. `openai_url` is the rest of the
    /// variable with the base URL of `OpenAI`, which is not the same everywhere.
    pub(super) fn read(
        file: &Section<'_>,
        is_enabled: bool,
        prefixes: (&str, &str),
        openai_url: &str,
    ) -> Self {
        let (keys, variables) = prefixes;
        let value = |key: &str, variable: &str| {
            let key = file.key(&format!("{keys}{key}"));
            key.var(&format!("{variables}{variable}"))
        };
        let url = |key: &str, variable: &str| url(&value(key, variable));
        let provider = EmbeddingProvider::read(&value("provider", "EMBEDDING_PROVIDER"));
        let model_path = value("model_path", "EMBEDDING_MODEL_PATH");
        Self {
            provider,
            model: value("model", "EMBEDDING_MODEL").text(),
            model_path: provider.model_path(&model_path, is_enabled),
            voyage_api_key: api_key(file, prefixes, "voyage"),
            openai_api_key: api_key(file, prefixes, "openai"),
            gemini_api_key: api_key(file, prefixes, "gemini"),
            ollama_url: url("ollama_url", "OLLAMA_URL").unwrap_or_else(|| OLLAMA.to_owned()),
            voyage_base_url: url("voyage_base_url", "VOYAGE_BASE_URL"),
            openai_base_url: url("openai_base_url", openai_url),
            gemini_base_url: url("gemini_base_url", "GEMINI_BASE_URL"),
        }
    }
}

// === impl EmbeddingProvider ===

impl EmbeddingProvider {
    const ALL: [Self; 6] = [
        Self::Voyage,
        Self::OpenAi,
        Self::Gemini,
        Self::Ollama,
        Self::Static,
        Self::Local,
    ];

    fn read(value: &Value<'_>) -> Self {
        let known = Self::ALL.map(|provider| (provider.name(), provider));
        provider::choice(value, &known).unwrap_or(Self::Ollama)
    }

    /// Returns its name in the file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Voyage => "voyage",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Static => "static",
            Self::Local => "local",
        }
    }

    /// Reads the folder of a static model, which is required only where it is used.
    fn model_path(self, value: &Value<'_>, is_enabled: bool) -> Option<PathBuf> {
        let path = value.resolved_path();
        let is_missing = is_enabled && self == Self::Static && path.is_none();
        let problem = "required when the provider is static: the folder of the model";
        value.check(!is_missing, problem);
        path
    }
}
