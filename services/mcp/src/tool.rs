//! Tools.

mod annotations;
mod arguments;
mod closure;
#[cfg(feature = "schemars")]
mod described_result;
pub(super) mod headers;
mod icon;
mod into_result;
mod layered;
mod list;
mod place;
mod result;
mod schema;
mod state;
mod visibility;

use std::{borrow::Cow, fmt, iter, ops::Range, sync::Arc};

use http::HeaderMap;
use serde::Deserialize;
use tower::timeout::error::Elapsed;
use ziggurat_layers::json_rpc::Call;

use crate::{
    BoxError, Caller, Elicitation, Failure, Inputs, Progress, RecordUnreachable, Sealer,
    StateSigner, elicit::MissingCapabilities, params::Member,
};

#[cfg(feature = "schemars")]
pub use self::described_result::DescribedResult;
use self::visibility::{Audience, Wording};
pub use self::{
    annotations::Annotations,
    arguments::Lenient,
    closure::{Tool, ToolClosure, ToolFuture, ToolService},
    icon::Icon,
    into_result::{IntoResult, Json},
    list::{ListedTools, Tools},
    result::{Piece, ToolResult},
    schema::{Property, Schema},
    state::State,
    visibility::Visibility,
};
pub(super) use self::{
    closure::{AnyTool, guarded},
    result::Content,
};

/// Text for the model after a timeout of [`Tool::layer`].
const TIMED_OUT: &str = "The tool did not finish in time and was stopped. Ask for less, or try \
                         again later.";

/// A tool as a type, for one that has a state or streams its result; see [`Tool`] for closures.
///
/// Implement this trait in a file and add the type to [`Tools`]. A call is dropped at its next
/// await if it is cancelled or its client disconnects. The tool has to release its resources in
/// destructors.
///
/// ```
/// use serde::Deserialize;
/// use ziggurat_mcp::{
///     Lenient, Property, Schema, ToolHandler, ToolDescriptor, Error, ToolRequest, ToolResult, Tools,
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
/// impl ToolHandler for Shout {
///     fn describe(&self) -> ToolDescriptor {
///         let words = Property::string("What to say, loudly.");
///         let schema = Schema::new().with_required("words", words);
///         ToolDescriptor::new("shout", "Says the words in capitals.", schema)
///     }
///
///     async fn call(&self, request: ToolRequest) -> Result<ToolResult, Error> {
///         let arguments: Arguments = request.arguments()?;
///         let words = arguments.words.or_report("Missing or invalid 'words' parameter")?;
///         Ok(ToolResult::text(words.to_uppercase()))
///     }
/// }
///
/// let tools = Tools::new().with(Shout);
/// # let _ = tools;
/// ```
pub trait ToolHandler: Send + Sync + 'static {
    /// Returns the name and the arguments of the tool; called once.
    fn describe(&self) -> ToolDescriptor;

    /// Runs the tool.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Reported`] for every error that a model can read and act upon; the
    /// others are for the program.
    fn call(&self, request: ToolRequest) -> impl Future<Output = Result<ToolResult, Error>> + Send;
}

/// Description of a tool for clients.
#[derive(Clone, Debug)]
#[must_use]
pub struct ToolDescriptor {
    /// The name, by which a client calls it.
    pub name: Cow<'static, str>,
    pub(super) title: Option<Cow<'static, str>>,
    description: Cow<'static, str>,
    schema: Schema,
    pub(super) output: Option<Output>,
    pub(super) icons: Vec<Icon>,
    annotations: Annotations,
    /// The annotations for callers with read-only access, and for callers with write access.
    by_access: Option<[Annotations; 2]>,
    visibility: Visibility,
    /// The wording for clients that negotiate a revision, if it is another.
    negotiated: Option<Wording>,
    pub(super) is_always_enabled: bool,
    audience: Option<Audience>,
    recorded: Recorded,
    runs_statements: bool,
}

/// The part of the arguments of a tool that an [`Observer`](crate::Observer) may keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recorded {
    /// Nothing.
    #[default]
    Nothing,
    /// The statement in the argument with this name.
    Statement(&'static str),
    /// The part of a statement in the argument with this name, which may be missing.
    Condition(&'static str),
    /// The question in plain words in the argument with this name.
    Question(&'static str),
}

/// The schema of a tool's structured results.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) schema: Schema,
    /// Set if the operator has to enable it.
    pub(super) on_demand: bool,
}

/// A call of a tool.
pub struct ToolRequest {
    pub(super) caller: Caller,
    pub(super) call: Call,
    /// The range of the arguments in the params of the call.
    pub(super) arguments: Option<Range<usize>>,
    pub(super) inputs: Inputs,
    pub(super) signer: Arc<StateSigner>,
    /// Set if the client's revision has questions.
    pub(super) has_questions: bool,
    pub(super) wants_structure: bool,
    pub(super) asks_for_structure: bool,
    pub(super) tools: Arc<Tools>,
}

/// A failure with a message for the model: the text of a result that is an error.
///
/// A database describes the error in a statement, and the model that wrote the statement can
/// correct it. It is not a protocol error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported(Cow<'static, str>);

/// The failure of a tool, or of a resource that is a closure.
///
/// ```
/// use std::{fs, io};
/// use ziggurat_mcp::Error;
///
/// fn read(path: &str) -> Result<String, Error> {
///     if path.contains("..") {
///         return Err(Error::said("`path` must not contain `..`.")); // for the model
///     }
///     fs::read_to_string(path).map_err(Error::internal) // for the log
/// }
/// # let _ = read;
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The client gets a result that is an error.
    Reported(Reported),
    /// The client lacks a capability that the questions need.
    MissingCapabilities(MissingCapabilities),
    /// The database is still being prepared.
    NotReady,
    /// The client gets a protocol error.
    Failed(Failure),
}

// === impl ToolDescriptor ===

impl ToolDescriptor {
    /// Describes a tool that is listed.
    ///
    /// All clients accept a name of up to 64 letters, digits, `_` and `-` with a description that
    /// is not empty.
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
            icons: Vec::new(),
            annotations: Annotations::default(),
            by_access: None,
            visibility: Visibility::default(),
            negotiated: None,
            is_always_enabled: false,
            audience: None,
            recorded: Recorded::Nothing,
            runs_statements: true,
        }
    }

    /// Sets the part of the arguments that an [`Observer`](crate::Observer) may keep.
    pub fn with_recorded(mut self, recorded: Recorded) -> Self {
        self.recorded = recorded;
        self
    }

    /// Says that the tool runs no statement of its caller.
    pub fn without_statements(mut self) -> Self {
        self.runs_statements = false;
        self
    }

    /// Returns the part of the arguments that an [`Observer`](crate::Observer) may keep.
    #[must_use]
    pub fn recorded(&self) -> Recorded {
        self.recorded
    }

    /// Returns whether the tool may run statements of its caller.
    #[must_use]
    pub fn runs_statements(&self) -> bool {
        self.runs_statements
    }

    /// Keeps the tool enabled even if [`Tools::with_disabled`] names it.
    pub(crate) fn with_always_enabled(mut self) -> Self {
        self.is_always_enabled = true;
        self
    }

    /// Adds hints about the tool for the client's user. Revision 2024-11-05 does not support them
    /// and leaves them out.
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = annotations;
        self
    }

    /// Sets the schema of the [structure](crate::Structure) of results, for a tool that answers
    /// with a few facts. Every result that is not an error then has one if the [request wants
    /// it](ToolRequest::wants_structure).
    pub fn with_output(mut self, schema: Schema) -> Self {
        let on_demand = false;
        self.output = Some(Output { schema, on_demand });
        self
    }

    /// Sets the schema of a structure that repeats a text written for a model, in more words: some
    /// clients show their model only the structure. So results have one only [if the operator
    /// enables it](Tools::with_structured_output).
    pub fn with_output_on_demand(mut self, schema: Schema) -> Self {
        let on_demand = true;
        self.output = Some(Output { schema, on_demand });
        self
    }

    /// Adds a title for display.
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Adds an icon, from revision 2025-11-25 on.
    pub fn with_icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// Sets the annotations for users without write access to any database, and for users with it;
    /// these take precedence if the caller is known.
    pub fn with_annotations_by_access(
        mut self,
        reading: Annotations,
        writing: Annotations,
    ) -> Self {
        self.by_access = Some([reading, writing]);
        self
    }

    /// Returns the annotations for a user, by its access.
    pub(super) fn annotations_for(&self, may_write: bool) -> Annotations {
        self.by_access
            .map_or(self.annotations, |both| both[usize::from(may_write)])
    }

    /// Returns the annotations of the tool.
    pub fn annotations(&self) -> Annotations {
        self.annotations
    }
}

// === impl ToolRequest ===

impl ToolRequest {
    /// Returns whether the result should have a [`Structure`](crate::Structure): the tool declares
    /// one, and the revision supports it. Otherwise the tool need not make one.
    #[must_use]
    pub fn wants_structure(&self) -> bool {
        self.wants_structure
    }

    /// Returns whether this call [asks for the structure](Tools::with_structure_key) of its result,
    /// which may then have more members than the tool declares.
    #[must_use]
    pub fn asks_for_structure(&self) -> bool {
        self.asks_for_structure
    }

    /// Returns the answers of the client to earlier questions.
    #[must_use]
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Ends the call with questions to the client, which then repeats it with the answers.
    ///
    /// # Errors
    ///
    /// Returns [`Error::MissingCapabilities`] if the client lacks a capability for the
    /// questions; a client of an older revision cannot be asked.
    pub fn ask(&self, ask: Elicitation) -> Result<ToolResult, Error> {
        let capabilities = self.caller.context().capabilities();
        ask.check(capabilities)
            .map_err(Error::MissingCapabilities)?;
        if !self.has_questions {
            let problem = "this revision of the protocol has no questions to users";
            return Err(Reported::new(problem).into());
        }
        let questions = ask.result(|state| self.signer.sign(state, &self.caller, &self.call));
        Ok(ToolResult::of(Content::Questions(questions)))
    }

    /// Uses up the state that came with the answers. Returns `true` to the first call with the
    /// state, and `false` to every other, even if they are concurrent.
    ///
    /// A call without a state, or with one that may have been used up before this server started,
    /// gets `false`. A tool that gets `false` should ask again.
    ///
    /// # Errors
    ///
    /// Returns an error if replicas share the record of used states and it is unreachable.
    pub async fn use_up(&self) -> Result<bool, RecordUnreachable> {
        match &self.inputs.state {
            Some(state) if self.has_questions => self.signer.use_up(state, &self.caller).await,
            _ => Ok(false),
        }
    }

    /// Returns the sealer of the caller, for consent that is not an answer to a question.
    #[must_use]
    pub fn sealer(&self) -> Sealer<'_> {
        self.signer.sealer(self.signer.principal_of(&self.caller))
    }

    /// Returns whether the member `_meta` of the call has this key with the value `true`.
    #[must_use]
    pub fn asks_for(&self, key: &str) -> bool {
        let params = self.caller.params(&self.call);
        list::has_flag(params.get(Member::Meta), key)
    }

    /// Returns whether the client negotiates the revision: one that does not may depend on the exact
    /// text of results.
    #[must_use]
    pub fn is_negotiated(&self) -> bool {
        self.caller.context().is_negotiated()
    }

    /// Returns the tools in the list of the client: an answer may refer to them.
    #[must_use]
    pub fn listed_tools(&self) -> ListedTools {
        ListedTools::new(&self.tools, &self.caller)
    }

    /// Returns the caller of the tool.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns a value that a layer stored about the caller, such as the identity of its token.
    #[must_use]
    pub fn identity<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.caller.extension()
    }

    /// Returns the state of this type that [`Tools::with_state`] shares. A closure takes it as an
    /// argument instead, so that a missing state is found when the server starts.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        State::of(self.tools.states()).ok()
    }

    /// Returns the headers of the HTTP request; empty over standard input and output.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.call.head().headers
    }

    /// Returns the progress reporter of the call, if the client asked for progress.
    #[must_use]
    pub fn progress(&self) -> Option<&Progress> {
        self.caller.context().progress()
    }

    /// Returns the caller, once the arguments have been read.
    #[must_use]
    pub(crate) fn into_caller(self) -> Caller {
        self.caller
    }

    /// Returns the arguments as they were written: a JSON object.
    #[must_use]
    pub(crate) fn raw_arguments(&self) -> &str {
        let range = self.arguments.clone();
        range
            .and_then(|range| self.call.raw_params()?.get(range))
            .unwrap_or("{}")
    }

    /// Reads the arguments.
    ///
    /// A struct with `#[serde(default)]` and only [`Lenient`] members can always be read: the tool
    /// decides about missing members.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Reported`] if `A` requires more than was given.
    pub fn arguments<'a, A: Deserialize<'a>>(&'a self) -> Result<A, Error> {
        let arguments = self.raw_arguments();
        serde_json::from_str(arguments).map_err(|error| {
            let complaint = place::complaint(arguments, &error);
            Error::said(format!("Invalid arguments: {complaint}"))
        })
    }
}

impl fmt::Debug for ToolRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The arguments are left out: they may contain passwords.
        f.debug_struct("ToolRequest")
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}

// === impl Reported ===

impl Reported {
    /// Makes a failure with a message for the client.
    #[must_use]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    /// Returns the message.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn into_text(self) -> Cow<'static, str> {
        self.0
    }
}

// === impl Error ===

impl Error {
    /// Makes an error with a message for the model, which can correct its call.
    pub fn said(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Reported(Reported::new(message))
    }

    /// Makes an error about a fault of the server: its cause is logged with the id of the request,
    /// and the client reads one sentence with that id.
    pub fn internal(cause: impl Into<BoxError>) -> Self {
        Self::Failed(Failure::internal(cause))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            // The text is left out: it may quote the statement.
            Self::Reported(_) => "the tool reported an error to its caller",
            Self::MissingCapabilities(_) => "the client lacks a capability",
            Self::NotReady => "the database is not ready",
            Self::Failed(_) => "the tool failed",
        })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }
}

/// Reads the error of a layer around a tool: it is often a box with the error of the tool in it.
impl From<BoxError> for Error {
    fn from(cause: BoxError) -> Self {
        let cause = match cause.downcast::<Self>() {
            Ok(own) => return *own,
            Err(cause) => cause,
        };
        let first: &(dyn std::error::Error + 'static) = &*cause;
        for cause in iter::successors(Some(first), |&cause| cause.source()) {
            if let Some(Self::Reported(reported)) = cause.downcast_ref() {
                return reported.clone().into();
            }
            if cause.is::<Elapsed>() {
                return Self::said(TIMED_OUT);
            }
        }
        Self::internal(cause)
    }
}

impl From<Reported> for Error {
    fn from(reported: Reported) -> Self {
        Self::Reported(reported)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
