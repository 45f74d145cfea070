//! What every client says.

use rmcp::model::JsonObject;
use serde::Deserialize;

/// What every client says.
#[derive(Debug, Deserialize)]
pub(crate) struct Conversation {
    /// The tools that have to be listed.
    pub(crate) tools: Vec<String>,
    pub(crate) calls: Vec<Call>,
    /// Calls of tools that are not always listed.
    pub(crate) unlisted_calls: Vec<Call>,
    pub(crate) reads: Vec<Read>,
    pub(crate) prompts: Vec<Get>,
    pub(crate) refusals: Vec<Refusal>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: JsonObject,
    #[serde(default)]
    pub(crate) is_error: bool,
    /// What is in the answer.
    pub(crate) text: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Read {
    pub(crate) uri: String,
    /// The members of the JSON that is read.
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
    /// Where there is one revision.
    pub(crate) code: i32,
    /// Where it is negotiated, if that makes a difference.
    pub(crate) legacy: Option<i32>,
    /// Whether a client can say it with its own types.
    #[serde(rename = "typed", default)]
    pub(crate) is_typed: bool,
}
