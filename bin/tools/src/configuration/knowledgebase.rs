//! Settings of the knowledge base.

use std::path::PathBuf;

use ziggurat_runtime::config::Section;

use crate::configuration::Vectors;

/// Settings of the knowledge base and its embeddings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Knowledgebase {
    /// True if the knowledge base is searched.
    pub(crate) is_enabled: bool,
    /// File of the knowledge base.
    pub(crate) database_path: Option<PathBuf>,
    /// Provider of embeddings; it must be the one that created those in the file.
    pub(crate) vectors: Vectors,
    /// Maximum size of the embeddings in memory, in bytes.
    pub(crate) max_memory_bytes: u64,
}

// === impl Knowledgebase ===

impl Knowledgebase {
    pub(super) fn read(file: &Section<'_>) -> Self {
        let enabled = file.key("enabled").var("ZIGGURAT_KB_ENABLED");
        let is_enabled = enabled.boolean().unwrap_or(false);
        let path = file.key("database_path").var("ZIGGURAT_KB_DATABASE_PATH");
        let prefixes = ("embedding_", "ZIGGURAT_KB_");
        Self {
            is_enabled,
            database_path: path.path(),
            vectors: Vectors::read(file, is_enabled, prefixes, "OPENAI_BASE_URL"),
            max_memory_bytes: file
                .key("max_memory_bytes")
                .whole(0..=u64::MAX)
                .unwrap_or(256 << 20),
        }
    }
}
