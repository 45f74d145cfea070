//! `rag://{pipeline}/{id}`: documents as resources.

use std::sync::Arc;

use ziggurat_calls::Call;
use ziggurat_mcp::{Caller, Placeholders, ReadError, ResourceTemplateDescriptor, TemplateHandler};

use crate::{
    mcp::{
        read::MAX_CHARACTERS,
        tool::{Names, Shared, readable},
    },
    pipelines::Served,
};

/// Limit on the completions of an id.
const MAX_COMPLETIONS: u32 = 100;

/// Documents of pipelines.
pub(super) struct Documents {
    shared: Arc<Shared>,
    names: Names,
}

// === impl Documents ===

impl Documents {
    /// Offers the documents of the pipelines that let clients see passages, if there are any.
    pub(super) fn new(shared: &Arc<Shared>, seen: &Served) -> Option<Self> {
        Some(Self {
            shared: Arc::clone(shared),
            names: Names::of(readable(seen))?,
        })
    }
}

impl TemplateHandler for Documents {
    fn describe(&self) -> ResourceTemplateDescriptor {
        let about = "The text of a document, by the id of one of its passages.";
        ResourceTemplateDescriptor::new("rag://{pipeline}/{id}", "document", about)
            .with_title("Document")
            .with_mime_type("text/plain")
    }

    async fn read(
        &self,
        placeholders: Placeholders,
        caller: Caller,
    ) -> Result<Option<String>, ReadError> {
        let shared = &self.shared;
        let value = |name| placeholders.get(name).unwrap_or_default();
        let Ok(pipeline) = shared.find(&self.names, Some(value("pipeline")), &caller) else {
            return Ok(None);
        };
        let call = Call::by(&caller);
        let read = shared.read(&pipeline, value("id"), 0, MAX_CHARACTERS, call);
        Ok(read.await?.map(|shown| shown.text))
    }

    async fn complete(
        &self,
        name: String,
        placeholders: Placeholders,
        caller: Caller,
    ) -> Vec<String> {
        let value = |name| placeholders.get(name).unwrap_or_default();
        if name == "pipeline" {
            return self.names.from(value("pipeline"));
        }
        let found = self
            .shared
            .find(&self.names, placeholders.get("pipeline"), &caller);
        let pipeline = found.ok().filter(|pipeline| pipeline.allows_sources());
        let Some(pipeline) = pipeline else {
            return Vec::new();
        };
        let call = Call::by(&caller);
        if self.shared.admit_statement(call, &pipeline).await.is_err() {
            return Vec::new();
        }
        let retriever = pipeline.retriever().with_call(call.context());
        let names = retriever.names_from(value("id"), MAX_COMPLETIONS);
        let names = self.shared.deadline().cut(names).await;
        match names
            .map_err(Into::into)
            .and_then(|names| names.map_err(Into::into))
        {
            Ok(names) => names,
            Err(failure) => {
                self.shared.failed(failure, &pipeline, call);
                Vec::new()
            }
        }
    }
}
