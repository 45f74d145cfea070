//! What results and errors look like where a revision is negotiated: on `/mcp`, and for modern
//! requests everywhere.
//!
//! The rest of the room makes results once. A [`Face`] knows how one revision writes them, and
//! holds what is the same for every caller, written.

mod lists;

use bytes::Bytes;
use serde::Serialize;
use ziggurat_layers::{
    json_rpc::{Error, Reply},
    sanitize::Sanitizer,
};

use crate::mcp::{
    Prompts, Resources, ServerInfo, Tools,
    body::{Ending, ResultBody},
    era::Revision,
    wire::{self, Fault},
};

pub(super) use self::lists::Pages;

const RESOURCE_NOT_FOUND: i64 = -32002;

/// How long a client may keep a list, in milliseconds.
const LIST_TTL: u32 = 60_000;

/// What a model is told when a database is not there yet.
const NOT_READY: &str = "The database is still being prepared. Try again in a few seconds.";

/// How one revision writes what is said.
#[derive(Debug)]
pub(super) struct Face {
    revision: Revision,
    /// What an `initialize`, or in the modern era a `server/discover`, is answered with.
    pub(super) opening: Bytes,
    /// For callers who may only read, and for those who may write.
    tools: [Pages; 2],
    pub(super) resources: Pages,
    pub(super) resource_templates: Pages,
    pub(super) prompts: Pages,
    /// Behind the text of a tool.
    pub(super) ending: Ending,
    /// Behind any other result, and behind one that may be kept.
    pub(super) tail: Bytes,
    pub(super) read_tail: Bytes,
}

/// One for each revision.
#[derive(Debug)]
pub(super) struct Faces([Face; Revision::ALL.len()]);

// === impl Faces ===

impl Faces {
    pub(super) fn new(
        server: &ServerInfo,
        tools: &Tools,
        resources: &Resources,
        prompts: &Prompts,
    ) -> Self {
        Self(Revision::ALL.map(|revision| Face::new(revision, server, tools, resources, prompts)))
    }

    pub(super) fn of(&self, revision: Revision) -> &Face {
        &self.0[revision as usize]
    }
}

// === impl Face ===

impl Face {
    fn new(
        revision: Revision,
        server: &ServerInfo,
        tools: &Tools,
        resources: &Resources,
        prompts: &Prompts,
    ) -> Self {
        let tail = tail(revision, server, None);
        let list_tail = self::tail(revision, server, Some(LIST_TTL));
        let read_tail = self::tail(revision, server, Some(0));
        let of = |may_write| lists::tools(tools, revision, may_write, &list_tail);
        Self {
            revision,
            opening: if revision.is_modern() {
                discovery(server, &list_tail)
            } else {
                initialization(revision, server)
            },
            tools: [false, true].map(of),
            resources: lists::resources(resources, revision, &list_tail),
            resource_templates: lists::resource_templates(resources, revision, &list_tail),
            prompts: lists::prompts(prompts, revision, &list_tail),
            ending: Ending::with(&tail),
            tail: tail.into(),
            read_tail: read_tail.into(),
        }
    }

    pub(super) fn tools(&self, may_write: bool) -> &Pages {
        &self.tools[usize::from(may_write)]
    }

    /// The answer to a call that has no result.
    pub(super) fn fault(&self, fault: Fault, sanitizer: Sanitizer) -> Reply<ResultBody> {
        let error = match fault {
            Fault::Params(error) => error,
            Fault::UnknownMethod => Error::method_not_found(),
            Fault::UnknownTool(name) => unknown("tool", &name),
            Fault::UnknownPrompt(problem) => Error::invalid_params().with_data(problem),
            Fault::UnknownResource(uri) if self.revision.is_modern() => {
                Error::new(Error::INVALID_PARAMS, "Resource not found").with_data(About { uri })
            }
            Fault::UnknownResource(uri) => {
                Error::new(RESOURCE_NOT_FOUND, "Resource not found").with_data(About { uri })
            }
            Fault::NotReady => return wire::said(NOT_READY, &self.ending),
            Fault::Tool(failure) => {
                return wire::failed("Tool execution error", failure, sanitizer);
            }
            Fault::Resource(failure) => {
                return wire::failed("Resource read error", failure, sanitizer);
            }
        };
        Reply::from(error)
    }
}

#[derive(Serialize)]
struct About {
    uri: String,
}

fn unknown(kind: &str, name: &str) -> Error {
    Error::invalid_params().with_data(format!("there is no {kind} named \"{name}\""))
}

/// What every result of a revision ends with, the brace included.
fn tail(revision: Revision, server: &ServerInfo, ttl: Option<u32>) -> String {
    #[derive(Serialize)]
    struct Server<'a> {
        name: &'a str,
        version: &'a str,
    }

    if !revision.is_modern() {
        return "}".to_owned();
    }
    let server = Server {
        name: &server.name,
        version: &server.version,
    };
    let server = serde_json::to_string(&server).expect("text is JSON");
    let kept = ttl.map_or_else(String::new, |ttl| {
        format!(r#","ttlMs":{ttl},"cacheScope":"private""#)
    });
    format!(
        r#"{kept},"resultType":"complete","_meta":{{"io.modelcontextprotocol/serverInfo":{server}}}}}"#
    )
}

#[derive(Serialize)]
struct Nothing {}

/// What there is; whatever would need a second connection is not.
#[derive(Serialize)]
struct Capabilities {
    tools: Nothing,
    resources: Nothing,
    prompts: Nothing,
    #[serde(skip_serializing_if = "Option::is_none")]
    completions: Option<Nothing>,
}

impl Capabilities {
    fn of(revision: Revision) -> Self {
        Self {
            tools: Nothing {},
            resources: Nothing {},
            prompts: Nothing {},
            completions: (revision >= Revision::V2025_03_26).then_some(Nothing {}),
        }
    }
}

fn initialization(revision: Revision, server: &ServerInfo) -> Bytes {
    #[derive(Serialize)]
    struct Server<'a> {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        version: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized<'a> {
        protocol_version: &'static str,
        capabilities: Capabilities,
        server_info: Server<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<&'a str>,
    }

    let title = server.title.as_deref();
    let description = server.description.as_deref();
    wire::to_bytes(&Initialized {
        protocol_version: revision.as_str(),
        capabilities: Capabilities::of(revision),
        server_info: Server {
            name: &server.name,
            title: title.filter(|_| revision >= Revision::V2025_06_18),
            version: &server.version,
            description: description.filter(|_| revision >= Revision::V2025_11_25),
        },
        instructions: server.instructions.as_deref(),
    })
}

fn discovery(server: &ServerInfo, tail: &str) -> Bytes {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered<'a> {
        supported_versions: [&'static str; 1],
        capabilities: Capabilities,
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<&'a str>,
    }

    let discovered = Discovered {
        supported_versions: [Revision::V2026_07_28.as_str()],
        capabilities: Capabilities::of(Revision::V2026_07_28),
        instructions: server.instructions.as_deref(),
    };
    wire::ended(&discovered, tail.as_bytes())
}
