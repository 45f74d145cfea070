//! Results and errors in revision 2024-11-05.
//!
//! The other modules use tools, texts and faults; this one encodes them. Later revisions use other
//! members and other codes, in `encode.rs`.

use bytes::Bytes;
use serde::Serialize;
use ziggurat_layers::{
    json_rpc::{Error, Json, Reply},
    sanitize::Sanitizer,
};

use crate::{
    Failure, Prompts, Resources, ServerInfo, ToolError, ToolResult, Tools,
    body::{self, Ending, ResultBody},
    elicit::Unable,
    prompt::{MessageContent, PromptArgument, Rendered},
    resource::Contents,
    tool::{Content, Schema},
};

/// The revision of the protocol, whichever one a client requests.
pub(super) const REVISION: &str = "2024-11-05";

/// The end of a result without further members.
pub(super) const PLAIN: &[u8] = b"}";

/// Text of a tool whose result is more than text, for clients of this revision.
const UNSPEAKABLE: &str = "This tool needs a newer revision of the protocol.";

const DATABASE_NOT_READY: i64 = -32001;
const TOOL_NOT_FOUND: i64 = -32002;
const RESOURCE_NOT_FOUND: i64 = -32003;

/// The failure of a call.
#[derive(Debug)]
pub(super) enum Fault {
    Params(Error),
    UnknownMethod,
    UnknownTool(String),
    UnknownResource(String),
    UnknownPrompt(String),
    NotReady,
    /// The client lacks a capability that the questions need.
    Unable(Unable),
    Tool(Failure),
    Resource(Failure),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum PromptContent<'a> {
    Text {
        text: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: &'a str,
        mime_type: &'a str,
    },
    Resource {
        resource: Embedded<'a>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Embedded<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    text: &'a str,
}

// === results ===

/// Returns `{}`.
pub(super) fn nothing() -> Bytes {
    Bytes::from_static(b"{}")
}

pub(super) fn initialized(server: &ServerInfo) -> Bytes {
    #[derive(Serialize)]
    struct Nothing {}

    #[derive(Serialize)]
    struct Capabilities {
        tools: Nothing,
        resources: Nothing,
        prompts: Nothing,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized<'a> {
        protocol_version: &'static str,
        capabilities: Capabilities,
        server_info: &'a ServerInfo,
    }

    to_bytes(&Initialized {
        protocol_version: REVISION,
        capabilities: Capabilities {
            tools: Nothing {},
            resources: Nothing {},
            prompts: Nothing {},
        },
        server_info: server,
    })
}

pub(super) fn tools(tools: &Tools) -> Bytes {
    #[derive(Serialize)]
    struct List<'a> {
        tools: Vec<Tool<'a>>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Tool<'a> {
        name: &'a str,
        description: &'a str,
        input_schema: &'a Schema,
    }

    let tools = tools.advertised().map(|tool| Tool {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.schema,
    });
    to_bytes(&List {
        tools: tools.collect(),
    })
}

pub(super) fn resources(resources: &Resources) -> Bytes {
    #[derive(Serialize)]
    struct List<'a> {
        resources: Vec<Resource<'a>>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Resource<'a> {
        uri: &'a str,
        name: &'a str,
        description: &'a str,
        mime_type: &'a str,
    }

    let resources = resources.descriptors().map(|resource| Resource {
        uri: &resource.uri,
        name: &resource.name,
        description: &resource.description,
        mime_type: &resource.mime_type,
    });
    to_bytes(&List {
        resources: resources.collect(),
    })
}

/// Returns an empty list: every resource is listed.
pub(super) fn resource_templates() -> Bytes {
    Bytes::from_static(br#"{"resourceTemplates":[]}"#)
}

pub(super) fn prompts(prompts: &Prompts) -> Bytes {
    #[derive(Serialize)]
    struct List<'a> {
        prompts: Vec<Prompt<'a>>,
    }

    #[derive(Serialize)]
    struct Prompt<'a> {
        name: &'a str,
        description: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        arguments: Vec<Argument<'a>>,
    }

    #[derive(Serialize)]
    struct Argument<'a> {
        name: &'a str,
        description: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        required: Option<bool>,
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        kind: Option<&'static str>,
    }

    fn argument(argument: &PromptArgument) -> Argument<'_> {
        Argument {
            name: &argument.name,
            description: &argument.description,
            required: argument.is_required.then_some(true),
            kind: argument.is_boolean.then_some("boolean"),
        }
    }

    let prompts = prompts.descriptors().map(|prompt| Prompt {
        name: &prompt.name,
        description: &prompt.description,
        arguments: prompt.arguments.iter().map(argument).collect(),
    });
    to_bytes(&List {
        prompts: prompts.collect(),
    })
}

pub(super) fn tool_result(
    result: Result<ToolResult, ToolError>,
    ending: &Ending,
) -> Result<Reply<ResultBody>, Fault> {
    match result {
        Ok(ToolResult { content, structure }) => Ok(match content {
            Content::Whole(text) => Reply::stream(body::structured(&text, structure, ending)),
            Content::Blocks(_) | Content::Asked(_) => said(UNSPEAKABLE, ending),
            Content::Streamed(pieces) => Reply::stream(ResultBody::ended(pieces, ending.clone())),
        }),
        Err(ToolError::Unable(_)) => Ok(said(UNSPEAKABLE, ending)),
        Err(ToolError::Reported(reported)) => Ok(said(reported.as_str(), ending)),
        Err(ToolError::NotReady) => Err(Fault::NotReady),
        Err(ToolError::Failed(failure)) => Err(Fault::Tool(failure)),
    }
}

pub(super) fn disabled_tool(name: &str, ending: &Ending) -> Reply<ResultBody> {
    said(&format!("Tool '{name}' is not available"), ending)
}

/// Makes a result that is an error.
pub(super) fn said(text: &str, ending: &Ending) -> Reply<ResultBody> {
    Reply::stream(body::whole(&text.into(), true, ending))
}

pub(super) fn contents(contents: &Contents, tail: &[u8]) -> Reply<ResultBody> {
    #[derive(Serialize)]
    struct Read<'a> {
        contents: [Item<'a>; 1],
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Item<'a> {
        uri: &'a str,
        mime_type: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        blob: Option<&'a str>,
    }

    let data = Some(&*contents.text);
    let item = Item {
        uri: &contents.uri,
        mime_type: &contents.mime_type,
        text: data.filter(|_| !contents.is_blob),
        blob: data.filter(|_| contents.is_blob),
    };
    ready(&Read { contents: [item] }, tail)
}

pub(super) fn prompt(rendered: &Rendered, tail: &[u8]) -> Reply<ResultBody> {
    #[derive(Serialize)]
    struct Prompt<'a> {
        description: &'a str,
        messages: Vec<Message<'a>>,
    }

    #[derive(Serialize)]
    struct Message<'a> {
        role: &'static str,
        content: PromptContent<'a>,
    }

    let messages = rendered.messages.iter().map(|message| Message {
        role: message.role.as_str(),
        content: PromptContent::of(&message.content),
    });
    ready(
        &Prompt {
            description: &rendered.description,
            messages: messages.collect(),
        },
        tail,
    )
}

// === impl PromptContent ===

impl<'a> PromptContent<'a> {
    fn of(content: &'a MessageContent) -> Self {
        match content {
            MessageContent::Text(text) => Self::Text { text },
            MessageContent::Image { data, mime_type } => Self::Image { data, mime_type },
            MessageContent::Resource {
                uri,
                mime_type,
                text,
            } => Self::Resource {
                resource: Embedded {
                    uri,
                    mime_type: mime_type.as_deref(),
                    text,
                },
            },
        }
    }
}

// === impl Fault ===

impl From<Error> for Fault {
    /// Makes a fault: every JSON-RPC error so far is about the params.
    fn from(error: Error) -> Self {
        Self::Params(error)
    }
}

impl Fault {
    pub(super) fn into_reply(self, sanitizer: Sanitizer) -> Reply<ResultBody> {
        let error = match self {
            Self::Params(error) => error,
            Self::UnknownMethod => Error::method_not_found(),
            Self::UnknownTool(name) => Error::new(TOOL_NOT_FOUND, "Tool not found").with_data(name),
            Self::UnknownResource(uri) => {
                Error::new(RESOURCE_NOT_FOUND, "Resource not found").with_data(uri)
            }
            Self::UnknownPrompt(problem) => {
                Error::new(Error::INTERNAL_ERROR, "Prompt execution error").with_data(problem)
            }
            // This revision has no questions to clients.
            Self::Unable(_) => Error::internal_error(),
            Self::NotReady => Error::new(DATABASE_NOT_READY, "Database not ready"),
            Self::Tool(failure) => return failed("Tool execution error", failure, sanitizer),
            Self::Resource(failure) => return failed("Resource read error", failure, sanitizer),
        };
        Reply::from(error)
    }
}

pub(super) fn failed(
    message: &'static str,
    failure: Failure,
    sanitizer: Sanitizer,
) -> Reply<ResultBody> {
    let error = Error::new(Error::INTERNAL_ERROR, message).with_data(failure.public(sanitizer));
    failure.complete(Reply::from(error))
}

/// Encodes a result, its last brace replaced by `tail` if that adds members.
fn ready(result: &impl Serialize, tail: &[u8]) -> Reply<ResultBody> {
    if tail == PLAIN {
        return Json::new(result).expect("text is JSON").into();
    }
    Reply::stream(ResultBody::from(ended(result, tail)))
}

/// Encodes an object, its last brace replaced by `tail`.
pub(super) fn ended(result: &impl Serialize, tail: &[u8]) -> Bytes {
    let mut json = serde_json::to_vec(result).expect("text is JSON");
    json.pop();
    json.extend_from_slice(tail);
    json.into()
}

pub(super) fn to_bytes(result: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(result).expect("text is JSON"))
}
