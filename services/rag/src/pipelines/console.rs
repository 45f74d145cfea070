//! `/v1/console`: what a page in a browser shows of the pipelines.
//!
//! Of the configuration it has nothing else: no models, tables, addresses or keys.

use axum::{extract::State, response::Response};
use http::Extensions;
use serde::Serialize;
use utoipa::ToSchema;
use ziggurat_calls::Caller;

use crate::{
    pipeline::Pipeline,
    pipelines::Pipelines,
    reply::{ErrorResponse, json},
};

/// Path of the endpoint.
pub(crate) const PATH: &str = "/v1/console";

/// The pipelines, for a page.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConsoleResponse)]
struct Console {
    /// Version of the server.
    version: &'static str,
    /// True if clients of the Model Context Protocol may connect at `/mcp`.
    mcp: bool,
    /// The pipelines of the caller, in the order of the configuration.
    #[schema(inline = false)]
    pipelines: Vec<ConsolePipeline>,
}

/// A pipeline, for a page.
#[derive(Debug, Serialize, ToSchema)]
struct ConsolePipeline {
    /// The name of the pipeline, as used in paths.
    name: String,
    /// A description for users; empty if there is none.
    description: String,
    /// True if answers may have sources and citations.
    sources: bool,
    /// True if words are searched besides meanings.
    hybrid: bool,
    /// Number of results that are used unless a question asks for another.
    top_n: usize,
    /// True if no model answers: answers quote what was found.
    keyless: bool,
}

/// Describes the pipelines for a page in a browser
#[utoipa::path(get, path = "/console", tag = "Pipelines", operation_id = "getConsole",
    responses(
        (status = 200, description = "The pipelines of the caller, in the order of the \
            configuration", body = Console),
        (status = 401, description = "The server wants a bearer token", body = ErrorResponse),
        (status = 404, description = "The console is switched off", body = ErrorResponse),
    ),
)]
pub(crate) async fn console(
    State((pipelines, mcp)): State<(Pipelines, bool)>,
    extensions: Extensions,
) -> Response {
    let seen = pipelines.seen_by(&Caller::of(&extensions));
    json(&Console {
        version: env!("CARGO_PKG_VERSION"),
        mcp,
        pipelines: seen.iter().map(|pipeline| described(pipeline)).collect(),
    })
}

fn described(pipeline: &Pipeline) -> ConsolePipeline {
    ConsolePipeline {
        name: pipeline.name().to_owned(),
        description: pipeline.description().to_owned(),
        sources: pipeline.allows_sources(),
        hybrid: pipeline.retriever().is_hybrid(),
        top_n: pipeline.top_n(),
        keyless: pipeline.completer().is_local(),
    }
}
