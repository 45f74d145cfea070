//! `generate_embedding`: the vector of a text.

use serde::Deserialize;

use crate::mcp::{
    Given, Property, Reported, Schema, Tool, ToolDescriptor, ToolError, ToolRequest, ToolResult,
    tools::{Embedder, embedder::EmbedError},
};

const DISABLED: &str = "Embedding generation is not enabled. Whoever runs the server can enable \
    it: set ZIGGURAT_EMBEDDING_ENABLED to true and ZIGGURAT_EMBEDDING_PROVIDER to voyage, openai \
    or ollama, or the same in the section `embedding` of the configuration, and start the server \
    again.";

/// Makes the vector of a text for its caller. It needs no database.
#[derive(Clone, Debug)]
pub struct GenerateEmbedding {
    embedder: Embedder,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    text: Given<String>,
}

// === impl GenerateEmbedding ===

impl GenerateEmbedding {
    /// Has vectors made by this embedder.
    #[must_use]
    pub fn new(embedder: Embedder) -> Self {
        Self { embedder }
    }
}

impl Tool for GenerateEmbedding {
    fn describe(&self) -> ToolDescriptor {
        let text = Property::string("The text to make a vector of; not only white space.");
        ToolDescriptor::new(
            "generate_embedding",
            "Makes the embedding vector of a text, with the provider and the model the server is \
             configured with: for a vector search of your own in SQL, or to compare texts.",
            Schema::new().with_required("text", text),
        )
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, ToolError> {
        let arguments: Arguments = request.arguments()?;
        let text = arguments
            .text
            .or_report("Missing or invalid 'text' parameter")?;
        if text.trim().is_empty() {
            return Err(
                Reported::new("'text' parameter cannot be empty or whitespace-only").into(),
            );
        }
        Err(match self.embedder.ready() {
            Err(EmbedError::Disabled) => Reported::new(DISABLED),
            Err(error) => {
                Reported::new(format!("Failed to initialize embedding provider: {error}"))
            }
            Ok(_) => Reported::new(
                "Failed to initialize embedding provider: this build of the server does not serve \
                 it yet",
            ),
        }
        .into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::mcp::tools::bench;

    async fn embed(embedder: Embedder, arguments: Value) -> String {
        let (text, failed) = bench::call(GenerateEmbedding::new(embedder), arguments).await;
        assert!(failed, "{text}");
        text
    }

    #[tokio::test]
    async fn a_text_that_is_none_is_told_apart_from_an_empty_one() {
        let cases = [
            (json!({}), "Missing or invalid 'text' parameter"),
            (json!({"text": null}), "Missing or invalid 'text' parameter"),
            (
                json!({"text": ["a"]}),
                "Missing or invalid 'text' parameter",
            ),
            (
                json!({"text": ""}),
                "'text' parameter cannot be empty or whitespace-only",
            ),
            (
                json!({"text": " \n\u{2003}"}),
                "'text' parameter cannot be empty or whitespace-only",
            ),
        ];
        for (arguments, expected) in cases {
            let text = embed(Embedder::Disabled, arguments.clone()).await;
            assert_eq!(text, expected, "{arguments}");
        }
    }

    #[tokio::test]
    async fn what_is_not_enabled_is_told_apart_from_what_is_not_there_yet() {
        let text = embed(Embedder::Disabled, json!({"text": "fern"})).await;
        assert!(
            text.starts_with("Embedding generation is not enabled. "),
            "{text}"
        );
        assert!(text.contains("ZIGGURAT_EMBEDDING_ENABLED"), "{text}");

        let text = embed(Embedder::Unserved, json!({"text": "fern"})).await;
        assert!(text.contains("does not serve it yet"), "{text}");
        assert!(!text.contains("not enabled"), "{text}");
    }
}
