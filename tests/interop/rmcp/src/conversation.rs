//! The conversation that all clients have.

use rmcp::model::JsonObject;
use serde::Deserialize;

/// The conversation that all clients have.
#[derive(Debug, Deserialize)]
pub(crate) struct Conversation {
    /// The name of the server.
    pub(crate) server: String,
    /// A call that takes seconds, if the server has such a tool.
    pub(crate) slow: Option<Slow>,
    /// The tools that must be listed.
    pub(crate) tools: Vec<String>,
    pub(crate) calls: Vec<Call>,
    /// Calls of tools that are not listed in all revisions.
    pub(crate) unlisted_calls: Vec<Call>,
    pub(crate) reads: Vec<Read>,
    pub(crate) prompts: Vec<Get>,
    pub(crate) refusals: Vec<Refusal>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Slow {
    pub(crate) tool: String,
    pub(crate) arguments: JsonObject,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: JsonObject,
    #[serde(default)]
    pub(crate) is_error: bool,
    /// Texts in the answer.
    pub(crate) text: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Read {
    pub(crate) uri: String,
    /// The members of the resource's JSON.
    pub(crate) members: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Get {
    pub(crate) name: String,
    pub(crate) arguments: JsonObject,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) method: String,
    pub(crate) params: JsonObject,
    /// The code on `/mcp/v1`.
    pub(crate) code: i32,
    /// The code with a negotiated revision, if different.
    pub(crate) legacy: Option<i32>,
    /// True if a client can send the request with its own types.
    #[serde(rename = "typed", default)]
    pub(crate) is_typed: bool,
}
