//! What a tool is.

mod annotations;
mod arguments;
pub(super) mod headers;
mod list;
mod result;
mod schema;

use std::{borrow::Cow, fmt, ops::Range, panic::AssertUnwindSafe, pin::Pin, sync::Arc};

use futures_util::FutureExt as _;
use serde::Deserialize;
use ziggurat_layers::json_rpc::Call;
use ziggurat_state::StoreError;

use crate::{
    Caller, Elicitation, Failure, Inputs, StateSigner, elicit::Unable, negotiated::sealed,
    protocol::Context,
};

pub use self::{
    annotations::Annotations,
    arguments::Lenient,
    list::Tools,
    result::{Piece, ToolResult},
    schema::{Property, Schema},
};
pub(super) use self::{list::Found, result::Content};

/// Something a client can call by name.
///
/// A tool is a value: one file that implements this, and one line that adds it to [`Tools`].
/// A call that is cancelled, or whose client is gone, is dropped at its next await; what the
/// tool holds has to let go in its destructor.
///
/// ```
/// use serde::Deserialize;
/// use ziggurat_mcp::{
///     Lenient, Property, Schema, Tool, ToolDescriptor, ToolError, ToolRequest, ToolResult, Tools,
/// };
///
/// struct Shout;
///
/// #[derive(Deserialize)]
/// struct Arguments {
///     #[serde(default)]
///     words: Lenient<String>,
/// }
///
/// impl Tool for Shout {
///     fn describe(&self) -> ToolDescriptor {
///         let words = Property::string("What to say, loudly.");
///         let schema = Schema::new().with_required("words", words);
///         ToolDescriptor::new("shout", "Says the words in capitals.", schema)
///     }
///
///     async fn call(&self, request: ToolRequest) -> Result<ToolResult, ToolError> {
///         let arguments: Arguments = request.arguments()?;
///         let words = arguments.words.or_report("Missing or invalid 'words' parameter")?;
///         Ok(ToolResult::text(words.to_uppercase()))
///     }
/// }
///
/// let tools = Tools::new().with(Shout);
/// # let _ = tools;
/// ```
pub trait Tool: Send + Sync + 'static {
    /// Says what the tool is called and what it takes; asked once.
    fn describe(&self) -> ToolDescriptor;

    /// Runs the tool.
    ///
    /// # Errors
    ///
    /// [`ToolError::Reported`] for all that a model can read and act upon; the others are for
    /// the program around it.
    fn call(
        &self,
        request: ToolRequest,
    ) -> impl Future<Output = Result<ToolResult, ToolError>> + Send;
}

/// What clients are told about a tool.
#[derive(Clone, Debug)]
#[must_use]
pub struct ToolDescriptor {
    /// The name, by which a client calls it.
    pub name: Cow<'static, str>,
    pub(super) title: Option<Cow<'static, str>>,
    pub(super) description: Cow<'static, str>,
    pub(super) schema: Schema,
    pub(super) output: Option<Output>,
    annotations: Annotations,
    /// What is said instead to those who may only read, and to those who may write.
    by_access: Option<[Annotations; 2]>,
    /// It stands in the list of revision 2024-11-05.
    pub is_advertised: bool,
    /// Listed at least where a revision is negotiated: the list of 2024-11-05 to the letter is
    /// fixed.
    pub(super) is_negotiated: bool,
    pub(super) is_always_enabled: bool,
}

/// What the results of a tool look like to a program.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) schema: Schema,
    /// Only where the operator asks for it.
    pub(super) on_demand: bool,
}

/// One call of a tool.
pub struct ToolRequest {
    caller: Caller,
    call: Call,
    /// Where the arguments are in the params of the call.
    arguments: Option<Range<usize>>,
    inputs: Inputs,
    seal: Option<StateSigner>,
    wants_structure: bool,
}

/// A failure in words for the model: the text of a result that is an error.
///
/// A database says what is wrong with a statement, and the model that wrote the statement can
/// write a better one. It is not an error of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported(Cow<'static, str>);

/// Why a tool gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The client gets a result that is an error.
    // The text is not for the log: it may quote the statement.
    #[error("the tool reported an error to its caller")]
    Reported(Reported),
    /// The client would have to be asked what it cannot be asked.
    #[error("the client lacks a capability")]
    Unable(Unable),
    /// The database is still being prepared.
    #[error("the database is not ready")]
    NotReady,
    /// The client gets an error of the protocol.
    #[error("the tool failed")]
    Failed(#[source] Failure),
}

/// The future of a tool whose type is forgotten.
// Boxed: tools differ in their futures, and one allocation per call is lost beside the query
// it makes. In return the list stays open to tools this crate does not know.
pub(super) type ToolFuture = Pin<Box<dyn Future<Output = Result<ToolResult, ToolError>> + Send>>;

/// A tool whose type is forgotten.
pub(super) trait AnyTool: Send + Sync {
    fn start(self: Arc<Self>, request: ToolRequest) -> ToolFuture;
}

// === impl AnyTool ===

impl<T: Tool> AnyTool for T {
    fn start(self: Arc<Self>, request: ToolRequest) -> ToolFuture {
        Box::pin(async move {
            // On standard input and output all calls share a task, and one that panics must not
            // take the others with it.
            let call = AssertUnwindSafe(self.call(request)).catch_unwind();
            call.await
                .unwrap_or_else(|_| Err(Failure::panicked().into()))
        })
    }
}

// === impl ToolDescriptor ===

impl ToolDescriptor {
    /// Describes a tool that is listed.
    ///
    /// For all clients to accept it, the name has up to 64 letters, digits, `_` and `-`, and
    /// the description is not empty.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        schema: Schema,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            schema,
            output: None,
            annotations: Annotations::default(),
            by_access: None,
            is_advertised: true,
            is_negotiated: true,
            is_always_enabled: false,
        }
    }

    /// Keeps the tool enabled whatever [`Tools::with_disabled`] names.
    pub fn with_always_enabled(mut self) -> Self {
        self.is_always_enabled = true;
        self
    }

    /// Adds what a host may tell its user about the tool. Revision 2024-11-05 has no place for
    /// it, so that face does not show it.
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// Says what the [structure](crate::Structure) of results looks like, for a tool whose
    /// answer is a few facts. Every result that is no error then has one if the
    /// [request wants it](ToolRequest::wants_structure).
    pub fn with_output(mut self, schema: Schema) -> Self {
        let on_demand = false;
        self.output = Some(Output { schema, on_demand });
        self
    }

    /// The same for a tool whose text is written for a model, and says in few words what the
    /// structure says in many: some clients show their model the structure alone. So there is
    /// one only [where the operator asks for it](Tools::with_structured_output).
    pub fn with_output_on_demand(mut self, schema: Schema) -> Self {
        let on_demand = true;
        self.output = Some(Output { schema, on_demand });
        self
    }

    /// Adds a name for people.
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets what a host may tell a user to whom no database is open for writing, and one to whom
    /// one is; it takes precedence where the caller is known.
    pub fn with_annotations_by_access(
        mut self,
        reading: Annotations,
        writing: Annotations,
    ) -> Self {
        self.by_access = Some([reading, writing]);
        self
    }

    /// What a host may tell its user about the tool, knowing whether that user may write.
    pub(super) fn annotations_for(&self, may_write: bool) -> Annotations {
        self.by_access
            .map_or(self.annotations, |both| both[usize::from(may_write)])
    }

    /// What a host may tell its user about the tool.
    pub fn annotations(&self) -> Annotations {
        self.annotations
    }

    /// Leaves the tool out of the list: it can be called by those who know its name.
    pub fn unlisted(mut self) -> Self {
        self.is_advertised = false;
        self.is_negotiated = false;
        self
    }

    /// Lists the tool where a revision is negotiated, and only there.
    pub fn listed_where_negotiated(mut self) -> Self {
        self.is_advertised = false;
        self.is_negotiated = true;
        self
    }
}

// === impl ToolRequest ===

impl ToolRequest {
    pub(super) fn new(caller: Caller, call: Call, arguments: Option<Range<usize>>) -> Self {
        Self {
            caller,
            call,
            arguments,
            inputs: Inputs::default(),
            seal: None,
            wants_structure: false,
        }
    }

    /// Says whether the result is to have a structure.
    pub(super) fn with_structure(mut self, is_wanted: bool) -> Self {
        self.wants_structure = is_wanted;
        self
    }

    /// Lets the tool ask the client something, and hands it the answers it has.
    pub(super) fn with_inputs(mut self, inputs: Inputs, seal: StateSigner) -> Self {
        self.inputs = inputs;
        self.seal = Some(seal);
        self
    }

    /// Whether the result is to have a [`Structure`](crate::Structure): the tool declares
    /// one, and there is a place for it in the answer. Where it is not wanted none needs to be
    /// made.
    #[must_use]
    pub fn wants_structure(&self) -> bool {
        self.wants_structure
    }

    /// The answers of the client to what was asked before.
    #[must_use]
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Ends the call with questions to the client, which then repeats it with the answers.
    ///
    /// # Errors
    ///
    /// [`ToolError::Unable`], if the client does not say that it can be asked all of it; one
    /// that speaks an older revision cannot be asked anything.
    pub fn ask(&self, ask: Elicitation) -> Result<ToolResult, ToolError> {
        let able = self.caller.context().map(Context::capabilities);
        ask.check(able.unwrap_or_default())
            .map_err(ToolError::Unable)?;
        let Some(seal) = &self.seal else {
            let problem = "questions cannot be asked in this revision of the protocol";
            return Err(Reported::new(problem).into());
        };
        let principal = seal.principal(self.caller.extensions());
        let sealed = sealed(&principal, &self.call);
        let asked = ask.result(|state| seal.close(state, &sealed));
        Ok(ToolResult::of(Content::Asked(asked)))
    }

    /// Uses up the state that came with the answers: the first call that does is told `true`, and
    /// every other that brings the same state `false`, however close it follows.
    ///
    /// A state that was not asked for, or may have been used up before this server began to
    /// remember, is used up. Whoever is told `false` should ask anew.
    ///
    /// # Errors
    ///
    /// If replicas know together what was used up, and cannot be asked.
    pub async fn spend(&self) -> Result<bool, StoreError> {
        match (&self.seal, self.inputs.opened()) {
            (Some(seal), Some(opened)) => {
                let principal = seal.principal(self.caller.extensions());
                seal.spend(opened, principal.as_bytes()).await
            }
            _ => Ok(false),
        }
    }

    /// On whose behalf the tool is called.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Hands the caller on, once the arguments have been read.
    #[must_use]
    pub fn into_caller(self) -> Caller {
        self.caller
    }

    /// The arguments as they were written: a JSON object.
    #[must_use]
    pub fn raw_arguments(&self) -> &str {
        let range = self.arguments.clone();
        range
            .and_then(|range| self.call.raw_params()?.get(range))
            .unwrap_or("{}")
    }

    /// Reads the arguments.
    ///
    /// A struct whose members are all [`Lenient`], with `#[serde(default)]`, can always be read:
    /// what it makes of the missing ones is up to the tool.
    ///
    /// # Errors
    ///
    /// [`ToolError::Reported`], if `A` asks for more than was given.
    pub fn arguments<'a, A: Deserialize<'a>>(&'a self) -> Result<A, ToolError> {
        serde_json::from_str(self.raw_arguments())
            .map_err(|error| Reported::new(format!("Invalid arguments: {error}")).into())
    }
}

impl fmt::Debug for ToolRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The arguments are left out: they may hold passwords.
        f.debug_struct("ToolRequest")
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

// === impl Reported ===

impl Reported {
    /// Takes the words; they are for the client.
    #[must_use]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    /// The words.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

// === impl ToolError ===

impl From<Reported> for ToolError {
    fn from(reported: Reported) -> Self {
        Self::Reported(reported)
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
