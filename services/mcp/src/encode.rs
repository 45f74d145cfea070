//! Results and errors of negotiated revisions: all of `/mcp`, and modern requests over stdio.
//!
//! An [`Encoder`] knows how one revision writes results, and caches the bytes that are the same for
//! every caller.

mod lists;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use ziggurat_layers::{
    json_rpc::{Error, Reply},
    sanitize::Sanitizer,
};

use crate::{
    Block, Prompts, Resources, ServerInfo, Structure, ToolError, ToolResult, Tools,
    body::{Ending, ResultBody},
    protocol::{Revision, error::CAPABILITY_MISSING},
    tool::Content,
    wire::{self, Fault},
};

pub(super) use self::lists::Pages;

const SERVER: &str = "io.modelcontextprotocol/serverInfo";

const RESOURCE_NOT_FOUND: i64 = -32002;

/// Time in milliseconds that a client may cache a list.
const LIST_TTL: u32 = 60_000;

/// Text for the model while a database is not ready.
const NOT_READY: &str = "The database is still being prepared. Try again in a few seconds.";

/// Encodes results and errors for one revision.
#[derive(Debug)]
pub(super) struct Encoder {
    revision: Revision,
    /// The result of `initialize`, or in the modern revision of `server/discover`.
    pub(super) opening: Bytes,
    /// For callers with read-only access, and for callers with write access.
    tools: [Pages; 2],
    pub(super) resources: Pages,
    pub(super) resource_templates: Pages,
    pub(super) prompts: Pages,
    /// The `_meta` of every result in the modern revision.
    meta: Value,
    /// The bytes after the text of a tool.
    pub(super) ending: Ending,
    /// The bytes after any other result.
    pub(super) tail: Bytes,
    pub(super) read_tail: Bytes,
}

/// One encoder for each revision.
#[derive(Debug)]
pub(super) struct Encoders([Encoder; Revision::ALL.len()]);

// === impl Encoders ===

impl Encoders {
    pub(super) fn new(
        server: &ServerInfo,
        tools: &Tools,
        resources: &Resources,
        prompts: &Prompts,
    ) -> Self {
        Self(
            Revision::ALL.map(|revision| Encoder::new(revision, server, tools, resources, prompts)),
        )
    }

    pub(super) fn of(&self, revision: Revision) -> &Encoder {
        &self.0[revision as usize]
    }
}

// === impl Encoder ===

impl Encoder {
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
            meta: json!({SERVER: {"name": server.name, "version": server.version}}),
            ending: Ending::with(revision, &tail),
            tail: tail.into(),
            read_tail: read_tail.into(),
        }
    }

    pub(super) fn tools(&self, may_write: bool) -> &Pages {
        &self.tools[usize::from(may_write)]
    }

    /// Returns whether the revision supports structured results.
    pub(super) fn has_structure(&self) -> bool {
        self.revision.has_structure()
    }

    /// Encodes the result of a tool.
    pub(super) fn tool_result(
        &self,
        result: Result<ToolResult, ToolError>,
    ) -> Result<Reply<ResultBody>, Fault> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Shown {
            content: Vec<Block>,
            #[serde(skip_serializing_if = "Option::is_none")]
            structured_content: Option<Box<RawValue>>,
        }

        match result {
            Ok(ToolResult {
                content: Content::Blocks(blocks),
                structure,
            }) => {
                let blocks = blocks.into_iter();
                let structure = structure.and_then(|it| it.in_revision(self.revision));
                let shown = Shown {
                    content: blocks
                        .map(|block| block.in_revision(self.revision))
                        .collect(),
                    structured_content: structure.map(Structure::into_raw),
                };
                Ok(self.whole(&shown))
            }
            Ok(ToolResult {
                content: Content::Asked(asked),
                ..
            }) => Ok(self.asked(asked)),
            Err(ToolError::Unable(unable)) => Err(Fault::Unable(unable)),
            result => wire::tool_result(result, &self.ending),
        }
    }

    /// Encodes a complete result.
    pub(super) fn whole(&self, result: &impl Serialize) -> Reply<ResultBody> {
        Reply::stream(ResultBody::from(wire::ended(result, &self.tail)))
    }

    /// Encodes questions to the client.
    pub(super) fn asked(&self, mut asked: Value) -> Reply<ResultBody> {
        asked["_meta"] = self.meta.clone();
        Reply::stream(ResultBody::from(wire::to_bytes(&asked)))
    }

    /// Encodes the error of a call without a result.
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
            Fault::Unable(unable) => {
                let message = "Missing required client capability";
                Error::new(CAPABILITY_MISSING, message).with_data(unable.data())
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

/// Returns the end of every result of a revision, with the closing brace.
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
    format!(r#"{kept},"resultType":"complete","_meta":{{"{SERVER}":{server}}}}}"#)
}

/// A capability without optional features.
#[derive(Serialize)]
struct Capability {}

/// The capabilities of the server, without those that need a second connection.
#[derive(Serialize)]
struct Capabilities {
    tools: Capability,
    resources: Capability,
    prompts: Capability,
    #[serde(skip_serializing_if = "Option::is_none")]
    completions: Option<Capability>,
}

impl Capabilities {
    fn of(revision: Revision) -> Self {
        Self {
            tools: Capability {},
            resources: Capability {},
            prompts: Capability {},
            completions: (revision >= Revision::V2025_03_26).then_some(Capability {}),
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
