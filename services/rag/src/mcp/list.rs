//! `list_pipelines`: the names of the pipelines, for a caller that sees more than one.

use std::sync::Arc;

use serde::Serialize;
use ziggurat_calls::Caller;
use ziggurat_mcp::{
    Annotations, Error, Property, Schema, Structure, ToolDescriptor, ToolHandler, ToolRequest,
    ToolResult,
};
use ziggurat_search::budget;

use crate::{citations::bounded, mcp::tool::Shared};

/// Name of the tool.
const NAME: &str = "list_pipelines";

/// Limit on a description, in characters.
const MAX_DESCRIPTION: usize = 500;

/// Lists the pipelines of the caller.
pub(super) struct ListPipelines {
    shared: Arc<Shared>,
}

#[derive(Serialize)]
struct Listed {
    pipelines: Vec<ListedPipeline>,
}

#[derive(Serialize)]
struct ListedPipeline {
    name: String,
    description: String,
}

// === impl ListPipelines ===

impl ListPipelines {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
        }
    }
}

impl ToolHandler for ListPipelines {
    fn describe(&self) -> ToolDescriptor {
        let pipeline = Schema::new()
            .with_required("name", Property::string("Name."))
            .with_required("description", Property::string("Description."));
        let result =
            Schema::new().with_required("pipelines", Property::objects("Pipelines.", pipeline));
        let description = "Lists the collections of documents with their descriptions.";
        ToolDescriptor::new(NAME, description, Schema::new())
            .with_title("List pipelines")
            .with_annotations(Annotations::reading())
            .with_output(result)
            .without_statements()
    }

    async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
        let seen = self
            .shared
            .pipelines
            .seen_by(&Caller::new(request.identity()));
        let lines: Vec<_> = seen
            .iter()
            .map(|pipeline| ListedPipeline {
                name: pipeline.name().to_owned(),
                description: bounded(pipeline.description(), MAX_DESCRIPTION),
            })
            .collect();
        let texts: Vec<_> = lines
            .iter()
            .map(|line| format!("{}: {}\n", line.name, line.description))
            .collect();
        let costs = texts.iter().map(|line| budget::of_bytes(line) + 1);
        let shown = budget::fitting(costs, self.shared.settings.max_result_tokens);
        let left = lines.len() - shown;
        let mut text = texts[..shown].concat();
        if left > 0 {
            let more = format!("{left} more do not fit here.\n");
            text.push_str(&more);
        }
        let pipelines = lines.into_iter().take(shown).collect();
        let structure = Structure::new(&Listed { pipelines }).map_err(Error::internal)?;
        Ok(ToolResult::text(text).with_structure(Some(structure)))
    }
}
