//! `rag://{pipeline}/{id}`: documents as resources.

use std::sync::Arc;

use ziggurat_calls::Call;
use ziggurat_mcp::{
    Caller, Failure, Placeholders, ReadError, ResourceDescriptor, ResourcePage, ResourceSource,
    ResourceTemplateDescriptor, TemplateHandler,
};
use ziggurat_text::percent;

use crate::{
    mcp::{
        door::in_address,
        passages::SourceLabel,
        read::MAX_CHARACTERS,
        tool::{Names, Shared, readable},
    },
    pipelines::Served,
};

/// Addresses of documents.
const PATTERN: &str = "rag://{pipeline}/{id}";

/// Limit on the completions of an id.
const MAX_COMPLETIONS: u32 = 100;

/// Number of documents on a page of a list.
const PAGE: u32 = 100;

/// Documents of pipelines.
#[derive(Clone)]
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
        ResourceTemplateDescriptor::new(PATTERN, "document", about)
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

impl ResourceSource for Documents {
    fn pattern(&self) -> &'static str {
        PATTERN
    }

    async fn list(&self, caller: Caller, page: Option<String>) -> Result<ResourcePage, Failure> {
        // The name of a page is the address of the last document before it.
        let page = page.as_deref().and_then(in_address);
        let (first, mut behind) = page.unwrap_or_default();
        let mut found = Vec::new();
        let names = self.names.from("");
        let start = names.iter().position(|name| *name == first).unwrap_or(0);
        for name in &names[start..] {
            if *name != first {
                behind.clear();
            }
            let Ok(pipeline) = self.shared.find(&self.names, Some(name), &caller) else {
                continue;
            };
            let call = Call::by(&caller);
            let admitted = self.shared.admit_statement(call, &pipeline).await;
            admitted.map_err(|error| Failure::new(error.to_string()))?;
            let retriever = pipeline.retriever().with_call(call.context());
            let left = PAGE - u32::try_from(found.len()).unwrap_or(PAGE);
            let documents = self
                .shared
                .deadline()
                .cut(retriever.documents(&behind, left))
                .await;
            let documents = documents.map_err(Into::into);
            let documents = documents.and_then(|documents| documents.map_err(Into::into));
            let documents = documents.map_err(|failure| {
                Failure::new(self.shared.failed(failure, &pipeline, call).to_string())
            })?;
            found.extend(documents.into_iter().map(|(id, title)| {
                let [name, encoded] =
                    [name, &id].map(|text| percent::encode(text).collect::<String>());
                let uri = format!("rag://{name}/{encoded}");
                let title = SourceLabel::new(None, title.as_deref(), None).line();
                ResourceDescriptor::new(uri, id, title).with_mime_type("text/plain")
            }));
            if found.len() >= PAGE as usize {
                break;
            }
        }
        let is_full = found.len() >= PAGE as usize;
        let last = found
            .last()
            .filter(|_| is_full)
            .map(|last| last.uri().to_owned());
        Ok(ResourcePage {
            resources: found,
            next: last,
        })
    }

    async fn read(&self, _: &str, _: Caller) -> Result<Option<String>, ReadError> {
        // The template reads all that is listed.
        Ok(None)
    }
}
