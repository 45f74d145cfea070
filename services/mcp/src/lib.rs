//! Servers of the Model Context Protocol, for a list of tools, resources and prompts.
//!
//! [`Mcp`] is a `Service<Call>`: [`JsonRpcLayer`](ziggurat_layers::json_rpc::JsonRpcLayer) serves
//! it over HTTP and [`Stdio`](crate::stdio::Stdio) over standard input and output; it depends on
//! neither. It keeps no state between calls; the identity of the caller is in the extensions of the
//! request, and tools find it in their [`Caller`].
//!
//! ```
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::{BodyExt as _, Full};
//! use tower::{Layer as _, ServiceExt as _};
//! use ziggurat_layers::json_rpc::JsonRpcLayer;
//! use ziggurat_mcp::{Mcp, Prompts, ReadResource, Resources, ServerInfo, Tools, dialect};
//!
//! # tokio_test::block_on(async {
//! let resources = Resources::new();
//! let tools = Tools::new().with(ReadResource::new(resources.clone()));
//! let about = ServerInfo::new("example", "1.0.0");
//! let mcp = Mcp::new(&about, tools, resources, Prompts::new())?;
//!
//! let server = JsonRpcLayer::new().with_dialect(dialect()).layer(mcp);
//! let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call",
//!     "params":{"name":"read_resource","arguments":{"uri":"pg://nothing"}}}"#;
//! let response = server.oneshot(Request::post("/").body(Full::<Bytes>::from(call))?).await?;
//! let body = response.into_body().collect().await?.to_bytes();
//! assert_eq!(
//!     body,
//!     r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Error reading resource: Resource not found: pg://nothing"}],"isError":true}}"#
//! );
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! Programs begin with [`Server`] and `Http` or [`Stdio`](crate::stdio::Stdio), which put this
//! together: see the README and `examples/echo.rs`.
//!
//! # Methods
//!
//! These are the methods of clients that negotiate no revision. A
//! [`ProtocolLayer`](protocol::ProtocolLayer) in front of the service lets them negotiate.
//!
//! | Method | Result | Errors of its own |
//! | --- | --- | --- |
//! | `initialize` | revision 2024-11-05, whichever one was asked for | |
//! | `ping` | `{}` | |
//! | `tools/list` | the tools that are advertised, by name | |
//! | `tools/call` | the text of the tool; `isError` if it reported a failure or is switched off | -32002 unknown tool, -32001 database not ready, -32603 failed |
//! | `resources/list`, `resources/templates/list` | the resources, by URI; no templates | |
//! | `resources/read` | the text of the resource | -32003 unknown resource, -32603 failed |
//! | `prompts/list` | the prompts, by name | |
//! | `prompts/get` | the messages | -32603 unknown prompt |
//! | `notifications/initialized` | `{}`, if it was sent as a request | |
//! | methods of the [program](Mcp::with_method) | as the program defines | -32602 |
//! | any other | | -32601 |
//!
//! Malformed params are -32602, and the data names the member. A notification is never executed,
//! whatever its method: its client does not read the outcome, so a login by notification would be
//! an attack. The transport cancels calls: dropping the future of a call drops the future of its
//! tool.
//!
//! # A result that fails half-way
//!
//! A tool may answer with a [stream](ToolResult::stream), sent while the database is still reading.
//! Bytes that are sent cannot be taken back, so `isError` is the last member of a result: it is
//! decided when the stream ends. The result is valid JSON in every case.
//!
//! # Structure
//!
//! Besides its text a result may have a [`Structure`], for programs. A tool declares its schema;
//! lists and results contain it from revision 2025-06-18 on, and never in calls that are answered
//! exactly as in revision 2024-11-05. Tools that answer with a few facts always have one. For texts
//! that are written for a model, such as rows and plans, the operator decides, since some clients
//! show their model the structure instead ([`Tools::with_structured_output`]).
//!
//! # Cost
//!
//! The lists and the result of `initialize` are rendered once; answering them copies nothing. A
//! tool call allocates one future. The text of a stream is copied once, into [`Text`].

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(all(doctest, feature = "http", feature = "schemars"))]
#[doc = include_str!("../README.md")]
struct Readme;

mod access;
mod body;
mod caller;
mod content;
mod elicit;
mod failure;
mod notify;
mod observe;
mod params;
mod prompt;
pub mod protocol;
mod record;
mod resource;
mod seal;
mod server;
mod sorted_list;
mod structure;
#[cfg(test)]
mod tests;
mod tool;

use std::{
    borrow::Cow,
    convert::Infallible,
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use serde::Serialize;
use tower_service::Service;
use ziggurat_layers::shutdown::CutOff;
use ziggurat_layers::{
    json_rpc::{Call, Dialect, Reply},
    sanitize::Sanitizer,
};

use crate::server::{encode::Encoders, future::CallState, method::Methods};

#[cfg(any(feature = "http", feature = "stdio"))]
pub use self::server::{
    builder::{Server, ServerBuilder},
    serve_error::{Result, ServeError},
};
#[cfg(feature = "http")]
pub use self::server::{
    http::{Calls, Endpoint, Guarded, Http},
    streamable,
};
#[cfg(feature = "schemars")]
pub use self::tool::DescribedResult;
pub use self::{
    access::{Access, EntryKind, View},
    body::ResultBody,
    caller::Caller,
    content::{Block, EmbeddedResource},
    elicit::{
        Elicitation, Inputs, Question, RecordUnreachable, Seal, Sealer, StateSigner, UsedAnswers,
    },
    failure::Failure,
    notify::{Notifier, Progress},
    observe::{Admission, End, LogFields, NotAdmitted, ObservedCall, Observer, Outcome},
    prompt::{
        Message, Prompt, PromptArgument, PromptArguments, PromptDescriptor, PromptHandler, Prompts,
        Rendered, Role, Template,
    },
    record::LOG_TARGET,
    resource::{
        ReadError, Resource, ResourceClosure, ResourceDescriptor, ResourceHandler, ResourcePage,
        ResourceSource, Resources, Unavailable,
        read_resource::ReadResource,
        template::{Placeholders, ResourceTemplate, ResourceTemplateDescriptor, TemplateHandler},
    },
    seal::{ResultSeal, SealedMember},
    server::{
        detached_calls::{DetachedCalls, DetachedCallsRunner},
        future::ResponseFuture,
        method::{Method, MethodFuture},
        stdio,
    },
    structure::Structure,
    tool::{
        Annotations, Error, Icon, IntoResult, Json, Lenient, ListedTools, Piece, Property,
        Recorded, Reported, Schema, State, Tool, ToolClosure, ToolDescriptor, ToolFuture,
        ToolHandler, ToolRequest, ToolResult, ToolService, Tools, Visibility,
    },
};

pub use ziggurat_text::Text;

#[cfg(feature = "schemars")]
#[doc(no_inline)]
pub use schemars;

/// An error of any type.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Name, version and description of a server.
#[derive(Clone, Debug, Serialize)]
#[must_use]
pub struct ServerInfo {
    name: Cow<'static, str>,
    version: Cow<'static, str>,
    #[serde(skip)]
    title: Option<Cow<'static, str>>,
    #[serde(skip)]
    description: Option<Cow<'static, str>>,
    #[serde(skip)]
    instructions: Option<Cow<'static, str>>,
}

/// An error in the lists of a server, found at startup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// Two tools have the same name.
    DuplicateTool(String),
    /// Two resources have the same URI.
    DuplicateResource(String),
    /// Two prompts have the same name.
    DuplicatePrompt(String),
    /// A tool name that makes some clients refuse the whole list.
    ToolName(String),
    /// A tool without a description, which makes some clients refuse the whole list.
    ToolDescription(String),
    /// A tool takes a [state](State) of this type, and [`Tools::with_state`] got none.
    NoState(&'static str),
}

/// Answers the methods of the protocol. Clones share everything.
#[derive(Clone, Debug)]
pub struct Mcp {
    shared: Arc<Shared>,
}

#[derive(Clone)]
struct Shared {
    tools: Arc<Tools>,
    resources: Resources,
    prompts: Prompts,
    encoders: Encoders,
    methods: Methods,
    may_write: Arc<dyn Fn(&Caller) -> bool + Send + Sync>,
    sanitizer: Sanitizer,
    signer: Arc<StateSigner>,
    detached: Option<DetachedCalls>,
    cut_off: CutOff,
    observer: Option<Arc<dyn Observer>>,
    access: Option<Arc<dyn Access>>,
}

/// Returns the JSON-RPC dialect of revision 2024-11-05: no batches, params are objects.
pub fn dialect() -> Dialect {
    Dialect::new().with_object_params()
}

// === impl ServerInfo ===

impl ServerInfo {
    /// Takes the name and the version of the server.
    pub fn new(name: impl Into<Cow<'static, str>>, version: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            description: None,
            instructions: None,
        }
    }

    /// Adds a title for display, and a sentence about the server.
    pub fn with_description(
        mut self,
        title: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.title = Some(title.into());
        self.description = Some(description.into());
        self
    }

    /// Adds instructions for the model that uses the server.
    pub fn with_instructions(mut self, instructions: impl Into<Cow<'static, str>>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }
}

// === impl SetupError ===

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateTool(name) => write!(f, "two tools are named `{name}`"),
            Self::DuplicateResource(uri) => write!(f, "two resources have the URI `{uri}`"),
            Self::DuplicatePrompt(name) => write!(f, "two prompts are named `{name}`"),
            Self::ToolName(name) => write!(
                f,
                "the tool name `{name}` must be 1 to 64 letters, digits, `_` and `-`"
            ),
            Self::ToolDescription(name) => write!(f, "the tool `{name}` has no description"),
            Self::NoState(state) => write!(
                f,
                "a tool takes a state of the type {state}, but `Tools::with_state` got none"
            ),
        }
    }
}

impl std::error::Error for SetupError {}

// === impl Mcp ===

impl Mcp {
    /// Checks the lists and renders them, once.
    ///
    /// # Errors
    ///
    /// Returns an error if two entries share a name, or if an entry would make clients refuse its
    /// list.
    pub fn new(
        server: &ServerInfo,
        tools: Tools,
        resources: Resources,
        prompts: Prompts,
    ) -> Result<Self, SetupError> {
        Self::of_lists(server, tools, resources, prompts).map_err(|(_, problem)| problem)
    }

    /// Makes the service, together with the error if there is one.
    fn of_lists(
        server: &ServerInfo,
        tools: Tools,
        resources: Resources,
        prompts: Prompts,
    ) -> Result<Self, (Self, SetupError)> {
        let checked = tools.check().and(resources.check()).and(prompts.check());
        let mcp = Self {
            shared: Arc::new(Shared {
                encoders: Encoders::new(server, &tools, &resources, &prompts),
                tools: Arc::new(tools),
                resources,
                prompts,
                methods: Methods::default(),
                may_write: Arc::new(|_| false),
                sanitizer: Sanitizer::production(),
                signer: Arc::new(StateSigner::random()),
                detached: None,
                cut_off: CutOff::default(),
                observer: None,
                access: None,
            }),
        };
        match checked {
            Ok(()) => Ok(mcp),
            Err(problem) => Err((mcp, problem)),
        }
    }

    /// Adds a method that the protocol does not have, for clients that negotiate no revision.
    #[must_use]
    pub fn with_method(mut self, name: &'static str, method: impl Method) -> Self {
        self.shared_mut().methods.add(name, method);
        self
    }

    /// Sets which callers may write: the annotations of tools depend on it. By default no caller
    /// may write.
    #[must_use]
    pub fn with_write_access(
        mut self,
        may_write: impl Fn(&Caller) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.shared_mut().may_write = Arc::new(may_write);
        self
    }

    /// Sets the key that signs states; replicas of a server share it.
    #[must_use]
    pub fn with_state_signer(mut self, signer: StateSigner) -> Self {
        self.shared_mut().signer = Arc::new(signer);
        self
    }

    /// Finishes calls although their client has disconnected, in negotiated revisions over HTTP in
    /// which a disconnect does not cancel the call.
    #[must_use]
    pub fn with_detached_calls(mut self, detached: DetachedCalls) -> Self {
        self.shared_mut().detached = Some(detached);
        self
    }

    /// Ends calls with an error that are still running when the cut-off happens.
    #[must_use]
    pub fn with_cut_off(mut self, cut_off: CutOff) -> Self {
        self.shared_mut().cut_off = cut_off;
        self
    }

    /// Sets the observer of all calls but notifications.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Observer + 'static) -> Self {
        self.shared_mut().observer = Some(Arc::new(observer));
        self
    }

    /// Sets which entries of the lists exist for which caller; without it all exist for all.
    #[must_use]
    pub fn with_access(mut self, access: impl Access + 'static) -> Self {
        self.shared_mut().access = Some(Arc::new(access));
        self
    }

    /// Sets how much of the cause of a [`Failure`] clients may read; nothing by default.
    #[must_use]
    pub fn with_sanitizer(mut self, sanitizer: Sanitizer) -> Self {
        self.shared_mut().sanitizer = sanitizer;
        self
    }

    /// Returns the descriptors of all tools, disabled ones included.
    pub fn tools(&self) -> impl Iterator<Item = &ToolDescriptor> {
        self.shared.tools.descriptors()
    }

    /// Returns the names of all tools, disabled ones included.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools().map(|tool| &*tool.name)
    }

    /// Returns the names of all prompts.
    pub fn prompt_names(&self) -> impl Iterator<Item = &str> {
        self.shared.prompts.descriptors().map(|it| &*it.name)
    }

    /// Returns the URIs of all resources.
    pub fn resource_uris(&self) -> impl Iterator<Item = &str> {
        self.shared.resources.descriptors().map(|it| &*it.uri)
    }

    /// Returns the URI templates of all resource templates, and the pattern of a source.
    pub fn resource_templates(&self) -> impl Iterator<Item = &str> {
        let templates = self.shared.resources.templates().iter();
        let templates = templates.map(|it| it.descriptor.uri.as_str());
        templates.chain(self.shared.resources.pattern())
    }

    /// Returns the shared part, cloned if there are other clones.
    fn shared_mut(&mut self) -> &mut Shared {
        Arc::make_mut(&mut self.shared)
    }
}

impl Service<Call> for Mcp {
    type Response = Reply<ResultBody>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut call: Call) -> ResponseFuture {
        record::announce(&call);
        let shared = &*self.shared;
        let mut caller = Caller::take(&mut call);
        let encoder = Arc::clone(shared.encoders.of(caller.context()));
        let mut observed = shared.begin(&call, &mut caller);
        if let Some(access) = &shared.access {
            let view = access.view(&caller);
            caller.set_view(view);
        }
        let admission = observed.as_mut().and_then(|call| call.admission());
        let state = match admission {
            None => shared.dispatch(&encoder, caller, call),
            Some(admission) => CallState::waiting(admission, &self.shared, caller, call),
        };
        ResponseFuture {
            state,
            observed,
            encoder,
            sanitizer: shared.sanitizer,
            cut_off: shared.cut_off.happened(),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("tools", &self.tools)
            .field("resources", &self.resources)
            .field("prompts", &self.prompts)
            .finish_non_exhaustive()
    }
}
