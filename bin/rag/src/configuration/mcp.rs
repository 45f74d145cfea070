//! Settings of the tools for clients of the Model Context Protocol.

use ziggurat_rag_service::mcp::Settings;
use ziggurat_runtime::config::Section;

/// Reads the section.
pub(super) fn read(file: &Section<'_>) -> Settings {
    let default = Settings::default();
    Settings {
        max_result_tokens: file
            .key("max_result_tokens")
            .whole(500..=100_000)
            .unwrap_or(default.max_result_tokens),
        list_documents: file
            .key("list_documents")
            .boolean()
            .unwrap_or(default.list_documents),
    }
}
