//! `search_documents`: passages, without an answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ziggurat_calls::Call;
use ziggurat_mcp::{
    Annotations, Error, Property, Recorded, Schema, Structure, ToolDescriptor, ToolHandler,
    ToolRequest, ToolResult,
};

use crate::{
    debug::Recorder,
    filter::Filter,
    mcp::{
        passages::{ShownPassage, ShownPassages, SourceLabel},
        tool::{Names, Shared, about, sharing},
    },
    pipelines::Served,
    request::QueryRequest,
};

/// Name of the tool.
const NAME: &str = "search_documents";

/// Finds passages.
pub(super) struct SearchDocuments {
    shared: Arc<Shared>,
    names: Names,
    about: String,
}

#[derive(Deserialize)]
struct Arguments {
    query: Option<String>,
    pipeline: Option<String>,
    top_n: Option<i64>,
    filter: Option<Filter>,
    min_score: Option<f64>,
}

/// The passages for a program.
#[derive(Serialize)]
struct Found {
    passages: Vec<ShownPassage>,
    /// Number of passages that did not fit.
    left_out: usize,
}

// === impl SearchDocuments ===

impl SearchDocuments {
    /// Searches the pipelines that let clients see passages, if there are any.
    pub(super) fn new(shared: &Arc<Shared>, seen: &Served) -> Option<Self> {
        Some(Self {
            shared: Arc::clone(shared),
            names: Names::of(sharing(seen))?,
            about: about(sharing(seen)),
        })
    }
}

impl ToolHandler for SearchDocuments {
    fn describe(&self) -> ToolDescriptor {
        let arguments = Schema::new()
            .with_required(
                "query",
                Property::string("What to look for, in plain words."),
            )
            .with_optional("top_n", top_n())
            .with_optional("filter", filter())
            .with_optional(
                "min_score",
                Property::number("Leave out less similar passages: 0 to 1."),
            );
        let passage = SourceLabel::schema()
            .with_required("score", Property::number("Higher is better."))
            .with_required("text", Property::string("Fenced text."));
        let result = Schema::new()
            .with_required("passages", Property::objects("Best first.", passage))
            .with_required("left_out", Property::integer("More found."));
        let description = format!(
            "Finds passages of documents by meaning and by words, best first. No model answers.{}",
            self.about
        );
        ToolDescriptor::new(NAME, description, self.names.add_to(arguments))
            .with_title("Search documents")
            .with_annotations(Annotations::reading())
            .with_output(result)
            .with_recorded(Recorded::Question("query"))
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let arguments: Arguments = request.arguments()?;
        let shared = &self.shared;
        let pipeline = shared.find(&self.names, arguments.pipeline.as_deref(), request.caller())?;
        if !pipeline.allows_sources() {
            let name = pipeline.name();
            return Err(Error::said(format!(
                "The pipeline {name} does not share its passages. Use ask_documents."
            )));
        }
        let call = Call::of(&request);
        let question = QueryRequest {
            query: arguments.query,
            top_n: arguments.top_n,
            filter: arguments.filter,
            ..QueryRequest::default()
        };
        let query = shared.admit(call, &pipeline, question).await?;
        let (deadline, context) = (shared.deadline(), call.context());
        let recorder = Recorder::default();
        let found = pipeline.find(&query, deadline, &context, &recorder);
        // The state of a search is too large to be a part of this future.
        let found = deadline.cut(Box::pin(found)).await;
        let found = found.map_err(Into::into).and_then(|found| found);
        let mut passages = found.map_err(|failure| shared.failed(failure, &pipeline, call))?;
        if let Some(least) = arguments.min_score {
            passages.retain(|passage| passage.relevance.is_none_or(|it| it >= least));
        }
        call.found(passages.len());
        if passages.is_empty() {
            let structure = Structure::new(&Found {
                passages: Vec::new(),
                left_out: 0,
            });
            let structure = structure.map_err(Error::internal)?;
            return Ok(ToolResult::text("No passages were found.").with_structure(Some(structure)));
        }
        let max_tokens = shared.settings.max_result_tokens;
        let shown = ShownPassages::new(&passages, pipeline.retriever(), max_tokens);
        let shown = shown.map_err(|error| shared.failed(error.into(), &pipeline, call))?;
        let mut text = shown.text;
        if shown.left > 0 {
            let last = format!(
                "\n{} more passages were found and do not fit here. Ask more precisely, or set \
                 `top_n` or `filter`.",
                shown.left
            );
            text.push_str(&last);
        }
        let structure = Structure::new(&Found {
            passages: shown.passages,
            left_out: shown.left,
        });
        let structure = structure.map_err(Error::internal)?;
        Ok(ToolResult::text(text).with_structure(Some(structure)))
    }
}

/// Describes the number of passages.
pub(super) fn top_n() -> Property {
    Property::integer("Number of passages.")
        .with_minimum(1)
        .with_maximum(50)
}

/// Describes a filter.
pub(super) fn filter() -> Property {
    Property::object(
        "{\"conditions\":[{\"column\":\"lang\",\"operator\":\"=\",\"value\":\"en\"}],\"logic\":\"AND\"}",
    )
}
