//! Settings of embeddings.

use std::{path::PathBuf, time::Duration};

use ziggurat_llm::{ModelSource, Provider};
use ziggurat_runtime::config::Section;

use crate::configuration::provider::{self, Access, prefixed};

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
    pub(crate) provider: ModelSource,
    /// Embedding model; if none, the provider's default.
    pub(crate) model: Option<String>,
    /// Folder of a static model.
    pub(crate) model_path: Option<PathBuf>,
    /// API keys and base URLs.
    pub(crate) access: Access,
}

/// The providers besides Ollama.
const HOSTED: [Provider; 3] = [Provider::Voyage, Provider::OpenAi, Provider::Gemini];

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
        let value = |key, variable| prefixed(file, prefixes, key, variable);
        let own = [ModelSource::Static, ModelSource::Local];
        let provider = provider::choice(&value("provider", "EMBEDDING_PROVIDER"), HOSTED, &own);
        let provider = provider.unwrap_or(ModelSource::Provider(Provider::Ollama));
        let model_path = value("model_path", "EMBEDDING_MODEL_PATH");
        let path = model_path.resolved_path();
        let is_missing = is_enabled && provider == ModelSource::Static && path.is_none();
        let problem = "required when the provider is static: the folder of the model";
        model_path.check(!is_missing, problem);
        Self {
            provider,
            model: value("model", "EMBEDDING_MODEL").text(),
            model_path: path,
            access: Access::read(file, HOSTED, prefixes, openai_url),
        }
    }
}
