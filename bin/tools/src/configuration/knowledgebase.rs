//! Settings of the knowledge base.

use std::path::PathBuf;

use serde::Deserialize;

use super::{
    ConfigSources, Invalid, Secret, api_key,
    embedding::EmbeddingProvider,
    environment::{Reader, set},
    provider::{self, OLLAMA},
};

/// Section as written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RawKnowledgebase {
    enabled: Option<bool>,
    database_path: Option<PathBuf>,
    embedding_provider: Option<String>,
    embedding_model: Option<String>,
    embedding_voyage_api_key: Option<Secret>,
    embedding_voyage_api_key_file: Option<PathBuf>,
    embedding_openai_api_key: Option<Secret>,
    embedding_openai_api_key_file: Option<PathBuf>,
    embedding_gemini_api_key: Option<Secret>,
    embedding_gemini_api_key_file: Option<PathBuf>,
    embedding_ollama_url: Option<String>,
    max_memory_bytes: Option<u64>,
}

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
    /// API key for Voyage.
    pub(crate) voyage_api_key: Option<Secret>,
    /// API key for `OpenAI`.
    pub(crate) openai_api_key: Option<Secret>,
    /// API key for Gemini.
    pub(crate) gemini_api_key: Option<Secret>,
    /// Base URL of Ollama.
    pub(crate) ollama_url: String,
    /// Maximum size of the embeddings in memory, in bytes.
    pub(crate) max_memory_bytes: u64,
}

// === impl RawKnowledgebase ===

impl RawKnowledgebase {
    pub(super) fn overlay(&mut self, reader: &mut Reader<'_>) {
        set(&mut self.enabled, reader.boolean("ZIGGURAT_KB_ENABLED"));
        set(
            &mut self.database_path,
            reader.path("ZIGGURAT_KB_DATABASE_PATH"),
        );
        set(
            &mut self.embedding_provider,
            reader.text("ZIGGURAT_KB_EMBEDDING_PROVIDER"),
        );
        set(
            &mut self.embedding_model,
            reader.text("ZIGGURAT_KB_EMBEDDING_MODEL"),
        );
        set(
            &mut self.embedding_ollama_url,
            reader.text("ZIGGURAT_KB_OLLAMA_URL"),
        );
    }

    pub(super) fn check(
        self,
        reader: &mut Reader<'_>,
        around: &ConfigSources,
    ) -> Result<Knowledgebase, Invalid> {
        const PROVIDER: &str = "knowledgebase.embedding_provider";
        const OLLAMA_URL: &str = "knowledgebase.embedding_ollama_url";
        let default = Knowledgebase::default();
        let provider = EmbeddingProvider::find(self.embedding_provider, PROVIDER)?;
        Ok(Knowledgebase {
            is_enabled: self.enabled.unwrap_or(default.is_enabled),
            database_path: around.path(self.database_path),
            provider: provider.unwrap_or(default.provider),
            model: provider::said(self.embedding_model),
            voyage_api_key: api_key::find(
                &["ZIGGURAT_KB_VOYAGE_API_KEY", "VOYAGE_API_KEY"],
                self.embedding_voyage_api_key_file,
                self.embedding_voyage_api_key,
                "knowledgebase.embedding_voyage_api_key",
                (reader, around),
            ),
            openai_api_key: api_key::find(
                &["ZIGGURAT_KB_OPENAI_API_KEY", "OPENAI_API_KEY"],
                self.embedding_openai_api_key_file,
                self.embedding_openai_api_key,
                "knowledgebase.embedding_openai_api_key",
                (reader, around),
            ),
            gemini_api_key: api_key::find(
                &["ZIGGURAT_KB_GEMINI_API_KEY", "GEMINI_API_KEY"],
                self.embedding_gemini_api_key_file,
                self.embedding_gemini_api_key,
                "knowledgebase.embedding_gemini_api_key",
                (reader, around),
            ),
            max_memory_bytes: self.max_memory_bytes.unwrap_or(default.max_memory_bytes),
            ollama_url: provider::url(self.embedding_ollama_url, OLLAMA_URL)?
                .unwrap_or(default.ollama_url),
        })
    }
}

// === impl Knowledgebase ===

impl Default for Knowledgebase {
    fn default() -> Self {
        Self {
            is_enabled: false,
            database_path: None,
            provider: EmbeddingProvider::Ollama,
            model: None,
            voyage_api_key: None,
            openai_api_key: None,
            gemini_api_key: None,
            max_memory_bytes: 256 << 20,
            ollama_url: OLLAMA.to_owned(),
        }
    }
}
