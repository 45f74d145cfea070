//! `generate_embedding`: computes the vector of a text.

mod answer;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use ziggurat_calls::Call;
use ziggurat_llm as llm;
use ziggurat_mcp::{
    Annotations, Error, Lenient, Property, Recorded, Reported, Schema, ToolDescriptor, ToolHandler,
    ToolRequest, ToolResult,
};

use crate::{Embedder, embedder::EmbedError};

const DISABLED: &str = "Embedding generation is not enabled. The operator can enable it: \
    set ZIGGURAT_EMBEDDING_ENABLED to true and ZIGGURAT_EMBEDDING_PROVIDER to voyage, openai, \
    gemini or ollama, or the same in the section `embedding` of the configuration, and start the \
    server again.";

/// Computes the vector of a text for its caller. It needs no database.
#[derive(Clone, Debug)]
pub struct GenerateEmbedding {
    embedder: Embedder,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    text: Lenient<String>,
}

// === impl GenerateEmbedding ===

impl GenerateEmbedding {
    /// Makes a tool that uses this embedder.
    #[must_use]
    pub fn new(embedder: Embedder) -> Self {
        Self { embedder }
    }
}

impl ToolHandler for GenerateEmbedding {
    fn describe(&self) -> ToolDescriptor {
        let text = Property::string("The text to embed; must not be blank.");
        ToolDescriptor::new(
            "generate_embedding",
            "Returns the embedding vector of a text, from the configured provider and model: for a \
             vector search in your own SQL, or to compare texts.",
            Schema::new().with_required("text", text),
        )
        .with_title("Create an embedding")
        .with_recorded(Recorded::Question("text"))
        .without_statements()
        .with_output_on_demand(answer::schema())
        .with_annotations(Annotations::asking())
        .with_visibility(self.embedder.visibility())
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let arguments: Arguments = request.arguments()?;
        let text = &arguments
            .text
            .or_report("Missing or invalid 'text' parameter")?;
        if text.trim().is_empty() {
            return Err(
                Reported::new("'text' parameter cannot be empty or whitespace-only").into(),
            );
        }
        let embedder = self.embedder.ready().map_err(|error| match error {
            EmbedError::Disabled => Reported::new(DISABLED),
            error => Reported::new(format!("Failed to initialize embedding provider: {error}")),
        })?;
        let traced = embedder.with_trace(Call::of(&request).trace());
        let embedding = traced.embed(text).await.map_err(|error| failed(&error))?;
        let vector = &embedding.vector;
        let structure = || answer::structure(embedder, vector);
        let structure = request.wants_structure().then(structure);
        Ok(ToolResult::text(answer::write(embedder, text, vector)).with_structure(structure))
    }
}

fn failed(error: &llm::Error) -> Reported {
    match error {
        llm::Error::Empty => Reported::new("Received empty embedding vector from provider"),
        error => Reported::new(format!("Failed to generate embedding: {error}")),
    }
}
