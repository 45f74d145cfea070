//! `read_document`: the text of a document, in its order.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ziggurat_calls::Call;
use ziggurat_mcp::{
    Annotations, Error, Property, Schema, Structure, ToolDescriptor, ToolHandler, ToolRequest,
    ToolResult,
};
use ziggurat_vector_search::retrieval_queries::DocumentPart;

use crate::{
    mcp::{
        passages::{SourceLabel, shown_text},
        tool::{Names, Shared, readable},
    },
    pipeline::{Pipeline, prompt::Nonce},
    pipelines::Served,
    retrieval::documents::Document,
};

/// Name of the tool.
const NAME: &str = "read_document";

/// Characters of a document in a result, if the call does not say.
const CHARACTERS: usize = 8000;

/// Most characters of a document in a result.
pub(super) const MAX_CHARACTERS: usize = 32_000;

/// Bytes that are left for the lines around the text.
const FRAME: usize = 800;

/// Reads a document.
pub(super) struct ReadDocument {
    shared: Arc<Shared>,
    names: Names,
}

#[derive(Deserialize)]
struct Arguments {
    id: Option<String>,
    pipeline: Option<String>,
    from: Option<usize>,
    max_characters: Option<usize>,
}

/// A document for a program.
#[derive(Serialize)]
struct ReadPart {
    #[serde(flatten)]
    source: SourceLabel,
    /// The text between the lines of a fence.
    text: String,
    from: usize,
    total: usize,
    /// Position of the next part, if the document goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
}

/// A part of a document, as a result shows it.
pub(super) struct ShownDocument {
    pub(super) text: String,
    part: ReadPart,
}

// === impl ReadDocument ===

impl ReadDocument {
    /// Reads the documents of the pipelines that let clients see passages, and have ids.
    pub(super) fn new(shared: &Arc<Shared>, seen: &Served) -> Option<Self> {
        Some(Self {
            shared: Arc::clone(shared),
            names: Names::of(readable(seen))?,
        })
    }
}

impl ToolHandler for ReadDocument {
    fn describe(&self) -> ToolDescriptor {
        let most = i64::try_from(MAX_CHARACTERS).unwrap_or(i64::MAX);
        let arguments = Schema::new()
            .with_required("id", Property::string("As results name it."))
            .with_optional(
                "from",
                Property::integer("First character.")
                    .with_minimum(0)
                    .with_maximum(i64::from(i32::MAX)),
            )
            .with_optional(
                "max_characters",
                Property::integer("Default 8000.")
                    .with_minimum(1)
                    .with_maximum(most),
            );
        let result = Schema::new()
            .with_required("text", Property::string("Fenced text."))
            .with_required("total", Property::integer("All characters."))
            .with_optional("next", Property::integer("`from` to read on."));
        let description = "Reads the document of a passage, in its order.";
        ToolDescriptor::new(NAME, description, self.names.add_to(arguments))
            .with_title("Read document")
            .with_annotations(Annotations::reading())
            .with_output(result)
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let arguments: Arguments = request.arguments()?;
        let id = arguments.id.filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| Error::said("Missing 'id': take it from a passage"))?;
        let named = arguments.pipeline.as_deref();
        let shared = &self.shared;
        let pipeline = shared.find(&self.names, named, request.caller())?;
        let from = arguments.from.unwrap_or(0);
        let most = arguments.max_characters.unwrap_or(CHARACTERS);
        let call = Call::of(&request);
        let shown = shared.read(&pipeline, &id, from, most, call).await?;
        let Some(shown) = shown else {
            return Err(Error::said(format!("No document has the id {id:?}")));
        };
        let structure = Structure::new(&shown.part).map_err(Error::internal)?;
        Ok(ToolResult::text(shown.text).with_structure(Some(structure)))
    }
}

// === impl Shared ===

impl Shared {
    /// Reads a part of a document that the pipeline may show, if there is one.
    pub(super) async fn read(
        &self,
        pipeline: &Pipeline,
        id: &str,
        from: usize,
        most: usize,
        call: &Call,
    ) -> Result<Option<ShownDocument>, Error> {
        if !pipeline.allows_sources() {
            return Ok(None);
        }
        self.admit_statement(call, pipeline).await?;
        let retriever = pipeline.retriever().with_call(call.context());
        let parts = retriever.document(id, from, most);
        let parts = self.deadline().cut(parts).await;
        let parts = parts.map_err(Into::into);
        let parts = parts.and_then(|parts| parts.map_err(Into::into));
        let parts = parts.map_err(|failure| self.failed(failure, pipeline, call))?;
        if parts.is_empty() {
            return Ok(None);
        }
        let max_bytes = self.settings.max_result_tokens.saturating_mul(4);
        let shown = ShownDocument::new(id, &parts, from, max_bytes.saturating_sub(FRAME));
        shown.map(Some).map_err(Error::internal)
    }
}

// === impl ShownDocument ===

impl ShownDocument {
    fn new(
        id: &str,
        parts: &[DocumentPart],
        from: usize,
        max_bytes: usize,
    ) -> Result<Self, rand::rngs::SysError> {
        let mut room = max_bytes;
        let (document, content) = loop {
            let document = Document::of(parts, from, room);
            let content = shown_text(&document.content);
            if content.len() <= max_bytes || room == 0 {
                break (document, content);
            }
            // Characters that are shown as their numbers take more room.
            room = (room * max_bytes / content.len()).min(room - 1);
        };
        let nonce = Nonce::new()?;
        let (title, url) = (document.title.as_deref(), document.url.as_deref());
        let source = SourceLabel::new(Some(id.to_owned()), title, url);
        let (end, total) = (document.end, document.total);
        let next = (end < total).then_some(end);
        let mut text = nonce.begin() + "\n";
        nonce.write_document(&mut text, 1, &format!(" ({})", source.line()), &content);
        text.push_str(&nonce.end());
        let last = match next {
            _ if from >= total => format!("\nThe document has {total} characters."),
            Some(next) => {
                format!("\nCharacters {from} to {next} of {total}. Read on with `from` {next}.")
            }
            None => format!("\nCharacters {from} to {total}, the end."),
        };
        text.push_str(&last);
        let part = ReadPart {
            source,
            text: nonce.fenced(&content),
            from,
            total,
            next,
        };
        Ok(Self { text, part })
    }
}
