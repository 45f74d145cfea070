//! Results and errors as each revision writes them.
//!
//! There is an [`Encoder`] for each revision, and one for calls that negotiate none, which are
//! answered exactly as in revision 2024-11-05. It caches the bytes that are the same for every
//! caller. The other modules know tools, texts and faults, and nothing about how they are encoded.

mod fault;
mod lists;
mod results;

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use ziggurat_layers::json_rpc::{Error, Reply};

use crate::{
    Caller, Failure, Prompts, ResourcePage, Resources, ResultBody, ServerInfo, Tools,
    body::Ending,
    params::Params,
    protocol::{Context, Revision},
};

pub(crate) use self::{fault::Fault, lists::Pages};

const SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// Time in milliseconds that a client may cache a list.
const LIST_TTL: u32 = 60_000;

/// Encodes results and errors for one revision.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub(crate) revision: Revision,
    /// Unset for calls that are answered exactly as in revision 2024-11-05.
    pub(crate) is_negotiated: bool,
    /// The result of `initialize`, or in the modern revision of `server/discover`.
    pub(crate) opening: Bytes,
    /// For callers with read-only access, and for callers with write access.
    tools: [Pages; 2],
    /// The end of every list.
    list_tail: String,
    pub(crate) resources: Pages,
    pub(crate) resource_templates: Pages,
    pub(crate) prompts: Pages,
    /// The `_meta` of every result in the modern revision.
    meta: Value,
    /// The bytes after the text of a tool.
    ending: Ending,
    /// The bytes after any other result.
    tail: String,
    read_tail: String,
}

/// The encoders of all revisions.
#[derive(Clone, Debug)]
pub(crate) struct Encoders {
    exact: Arc<Encoder>,
    negotiated: [Arc<Encoder>; Revision::ALL.len()],
}

// === impl Encoders ===

impl Encoders {
    pub(crate) fn new(
        server: &ServerInfo,
        tools: &Tools,
        resources: &Resources,
        prompts: &Prompts,
    ) -> Self {
        let of = |revision, is_negotiated| {
            let encoder = Encoder::new(revision, is_negotiated, server, tools, resources, prompts);
            Arc::new(encoder)
        };
        Self {
            exact: of(Revision::V2024_11_05, false),
            negotiated: Revision::ALL.map(|revision| of(revision, true)),
        }
    }

    pub(crate) fn of(&self, context: &Context) -> &Arc<Encoder> {
        if context.is_negotiated() {
            &self.negotiated[context.revision() as usize]
        } else {
            &self.exact
        }
    }
}

// === impl Encoder ===

impl Encoder {
    fn new(
        revision: Revision,
        is_negotiated: bool,
        server: &ServerInfo,
        tools: &Tools,
        resources: &Resources,
        prompts: &Prompts,
    ) -> Self {
        let tail = tail(revision, server, None);
        let list_tail = self::tail(revision, server, Some(LIST_TTL));
        let lists = lists::Format {
            revision,
            is_negotiated,
            tail: &list_tail,
        };
        let capabilities = if is_negotiated {
            ServerCapabilities::of(revision, tools, resources, prompts)
        } else {
            ServerCapabilities::exact()
        };
        Self {
            revision,
            is_negotiated,
            opening: if revision.is_modern() {
                discovery(server, capabilities, &list_tail)
            } else {
                initialization(revision, is_negotiated, server, capabilities)
            },
            tools: [false, true].map(|may_write| lists.tools(tools, may_write)),
            resources: lists.resources(&mut resources.descriptors()),
            resource_templates: lists.resource_templates(resources),
            prompts: lists.prompts(prompts),
            list_tail: list_tail.clone(),
            meta: json!({SERVER: {"name": server.name, "version": server.version}}),
            ending: Ending::new(revision, &tail),
            tail,
            read_tail: self::tail(revision, server, Some(0)),
        }
    }

    pub(crate) fn tools(&self, may_write: bool) -> &Pages {
        &self.tools[usize::from(may_write)]
    }

    /// Encodes a page of the resources that one caller sees.
    pub(crate) fn listing(
        &self,
        page: Result<ResourcePage, Failure>,
    ) -> Result<Reply<ResultBody>, Fault> {
        let ResourcePage { resources, next } = page.map_err(Fault::Resource)?;
        let next = next.filter(|_| self.is_negotiated);
        let next = next.map_or_else(String::new, |next| {
            let next = serde_json::to_string(&next).expect("text is JSON");
            format!(r#","nextCursor":{next}"#)
        });
        let lists = lists::Format {
            // The source has made its pages.
            is_negotiated: false,
            tail: &(next + &self.list_tail),
            ..self.lists()
        };
        let page = lists.resources(&mut resources.iter()).page(None)?;
        Ok(Reply::stream(ResultBody::from(page)))
    }

    /// Encodes a list of tools for one caller.
    pub(crate) fn tools_of(&self, tools: &Tools, may_write: bool) -> Pages {
        self.lists().tools(tools, may_write)
    }

    fn lists(&self) -> lists::Format<'_> {
        lists::Format {
            revision: self.revision,
            is_negotiated: self.is_negotiated,
            tail: &self.list_tail,
        }
    }

    /// Returns the cursor of a request for a list. Without negotiation there is none.
    pub(crate) fn cursor(&self, params: &Params<'_>) -> Result<Option<String>, Error> {
        if self.is_negotiated {
            params.cursor()
        } else {
            Ok(None)
        }
    }

    /// Returns the page of a list that a client requests. Without negotiation lists have one page,
    /// and cursors are ignored.
    pub(crate) fn page(
        &self,
        pages: &Pages,
        caller: &Caller,
        params: &Params<'_>,
    ) -> Result<Bytes, Error> {
        let cursor = self.cursor(params)?;
        match caller.view() {
            None => pages.page(cursor.as_deref()),
            Some(view) => pages.page_of(&**view, cursor.as_deref()),
        }
    }
}

/// Returns the end of every result of a revision, with the closing brace.
fn tail(revision: Revision, server: &ServerInfo, ttl: Option<u32>) -> String {
    if !revision.is_modern() {
        return "}".to_owned();
    }
    // Serializes the name and the version.
    let server = serde_json::to_string(server).expect("text is JSON");
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
struct ServerCapabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Capability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<Capability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<Capability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completions: Option<Capability>,
}

impl ServerCapabilities {
    /// Returns the capabilities that clients without negotiation have always read.
    fn exact() -> Self {
        Self {
            tools: Some(Capability {}),
            resources: Some(Capability {}),
            prompts: Some(Capability {}),
            completions: None,
        }
    }

    /// Returns the capabilities that a server with these lists has.
    fn of(revision: Revision, tools: &Tools, resources: &Resources, prompts: &Prompts) -> Self {
        let has_prompts = !prompts.is_empty();
        let has_arguments = has_prompts || !resources.templates().is_empty();
        let has_completions = has_arguments && revision >= Revision::V2025_03_26;
        Self {
            tools: (!tools.is_empty()).then_some(Capability {}),
            resources: (!resources.is_empty()).then_some(Capability {}),
            prompts: has_prompts.then_some(Capability {}),
            completions: has_completions.then_some(Capability {}),
        }
    }
}

fn initialization(
    revision: Revision,
    is_negotiated: bool,
    server: &ServerInfo,
    capabilities: ServerCapabilities,
) -> Bytes {
    #[derive(Serialize)]
    struct WrittenServer<'a> {
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
        capabilities: ServerCapabilities,
        server_info: WrittenServer<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<&'a str>,
    }

    let title = server.title.as_deref();
    let description = server.description.as_deref();
    let instructions = server.instructions.as_deref();
    to_bytes(&Initialized {
        protocol_version: revision.as_str(),
        capabilities,
        server_info: WrittenServer {
            name: &server.name,
            title: title.filter(|_| revision >= Revision::V2025_06_18),
            version: &server.version,
            description: description.filter(|_| revision >= Revision::V2025_11_25),
        },
        instructions: instructions.filter(|_| is_negotiated),
    })
}

fn discovery(server: &ServerInfo, capabilities: ServerCapabilities, tail: &str) -> Bytes {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct DiscoverResult<'a> {
        supported_versions: [&'static str; 1],
        capabilities: ServerCapabilities,
        #[serde(skip_serializing_if = "Option::is_none")]
        instructions: Option<&'a str>,
    }

    let discovered = DiscoverResult {
        supported_versions: [Revision::V2026_07_28.as_str()],
        capabilities,
        instructions: server.instructions.as_deref(),
    };
    with_tail(&discovered, tail)
}

/// Encodes an object, its last brace replaced by `tail`.
fn with_tail(object: &impl Serialize, tail: &str) -> Bytes {
    let mut json = serde_json::to_vec(object).expect("text is JSON");
    json.pop();
    json.extend_from_slice(tail.as_bytes());
    json.into()
}

fn to_bytes(result: &impl Serialize) -> Bytes {
    Bytes::from(serde_json::to_vec(result).expect("text is JSON"))
}
