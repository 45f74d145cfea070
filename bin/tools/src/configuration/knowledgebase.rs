//! Settings of the knowledge base.

use std::path::PathBuf;

use ziggurat_runtime::config::Section;

use super::{
    Secret,
    embedding::EmbeddingProvider,
    provider::{OLLAMA, secret, url},
};

/// Settings of the knowledge base and its embeddings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Knowledgebase {
    /// True if the knowledge base is searched.
    pub(crate) is_enabled: bool,
    /// File of the knowledge base.
    pub(crate) database_path: Option<PathBuf>,
    /// Provider of embeddings; it must be the one that created those in the file.
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
    /// Base URL of Voyage, if not the usual one.
    pub(crate) voyage_base_url: Option<String>,
    /// Base URL of `OpenAI`, or of a compatible server.
    pub(crate) openai_base_url: Option<String>,
    /// Base URL of Gemini, if not the usual one.
    pub(crate) gemini_base_url: Option<String>,
    /// Maximum size of the embeddings in memory, in bytes.
    pub(crate) max_memory_bytes: u64,
}

// === impl Knowledgebase ===

impl Knowledgebase {
    pub(super) fn read(file: &Section<'_>) -> Self {
        let value = |key: &str, variable: &str| file.key(key).var(variable);
        let enabled = value("enabled", "ZIGGURAT_KB_ENABLED").boolean();
        let provider = value("embedding_provider", "ZIGGURAT_KB_EMBEDDING_PROVIDER");
        let provider = EmbeddingProvider::read(&provider);
        let model_path = value("embedding_model_path", "ZIGGURAT_KB_EMBEDDING_MODEL_PATH");
        Self {
            is_enabled: enabled.unwrap_or(false),
            database_path: value("database_path", "ZIGGURAT_KB_DATABASE_PATH").path(),
            provider,
            model: value("embedding_model", "ZIGGURAT_KB_EMBEDDING_MODEL").text(),
            model_path: provider.model_path(&model_path, enabled.unwrap_or(false)),
            voyage_api_key: secret(
                file,
                "embedding_voyage_api_key",
                &["ZIGGURAT_KB_VOYAGE_API_KEY", "VOYAGE_API_KEY"],
            ),
            openai_api_key: secret(
                file,
                "embedding_openai_api_key",
                &["ZIGGURAT_KB_OPENAI_API_KEY", "OPENAI_API_KEY"],
            ),
            gemini_api_key: secret(
                file,
                "embedding_gemini_api_key",
                &["ZIGGURAT_KB_GEMINI_API_KEY", "GEMINI_API_KEY"],
            ),
            ollama_url: url(&value("embedding_ollama_url", "ZIGGURAT_KB_OLLAMA_URL"))
                .unwrap_or_else(|| OLLAMA.to_owned()),
            voyage_base_url: url(&value(
                "embedding_voyage_base_url",
                "ZIGGURAT_KB_VOYAGE_BASE_URL",
            )),
            openai_base_url: url(&value(
                "embedding_openai_base_url",
                "ZIGGURAT_KB_OPENAI_BASE_URL",
            )),
            gemini_base_url: url(&value(
                "embedding_gemini_base_url",
                "ZIGGURAT_KB_GEMINI_BASE_URL",
            )),
            max_memory_bytes: file
                .key("max_memory_bytes")
                .whole(0..=u64::MAX)
                .unwrap_or(256 << 20),
        }
    }
}
