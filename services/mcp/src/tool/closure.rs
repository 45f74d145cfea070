//! Tools made from closures, and from types that implement [`ToolHandler`].

use std::{borrow::Cow, fmt, marker::PhantomData, panic::AssertUnwindSafe, pin::Pin, sync::Arc};

use futures_util::FutureExt as _;
use http::Extensions;
use serde::de::DeserializeOwned;
use tower_layer::Layer;
use tower_service::Service;

#[cfg(feature = "schemars")]
use crate::DescribedResult;
use crate::{
    Annotations, Error, Failure, Icon, Schema, SetupError, State, ToolDescriptor, ToolHandler,
    ToolRequest, ToolResult,
    tool::{IntoResult, layered::Layered},
};

/// A tool of a server.
///
/// It is made from a closure, or from a type that implements [`ToolHandler`].
///
/// ```
/// use serde::Deserialize;
/// use ziggurat_mcp::{Error, Property, Schema, Tool, ToolRequest};
///
/// #[derive(Deserialize)]
/// struct Divide {
///     dividend: i64,
///     divisor: i64,
/// }
///
/// let schema = Schema::new()
///     .with_required("dividend", Property::integer("The number to divide."))
///     .with_required("divisor", Property::integer("The number to divide by."));
/// let tool = Tool::with_schema("divide", "Divides integers.", schema, |it: Divide| async move {
///     let quotient = it.dividend.checked_div(it.divisor);
///     let quotient = quotient.ok_or_else(|| Error::said("Nothing can be divided by 0."))?;
///     Ok(quotient.to_string())
/// });
/// # let _ = tool.read_only();
/// ```
#[derive(Clone)]
#[must_use]
pub struct Tool {
    pub(crate) descriptor: ToolDescriptor,
    pub(crate) service: Arc<dyn AnyTool>,
    /// Fails if the state that it takes is missing, so that this is found when the server starts.
    pub(super) check: fn(&Extensions) -> Result<(), SetupError>,
}

/// The future of a type-erased tool.
// Boxed: each tool has another future type, and one allocation per call is small compared with its
// query. In return the list accepts tools from other crates.
pub type ToolFuture = Pin<Box<dyn Future<Output = Result<ToolResult, Error>> + Send>>;

/// A type-erased tool.
pub(crate) trait AnyTool: Send + Sync {
    fn start(self: Arc<Self>, request: ToolRequest) -> ToolFuture;
}

/// A closure that can be a tool: it takes the arguments, or the arguments and the
/// [request](ToolRequest) or a [state](State), and returns a future of a result.
///
/// `M` only tells these apart.
pub trait ToolClosure<M>: Send + Sync + 'static {
    /// The arguments, which are read from JSON.
    type Arguments: DeserializeOwned + Send;

    /// The result, before it is converted.
    type Output: IntoResult;

    /// Fails if the [state](State) that the closure takes is missing.
    #[doc(hidden)]
    fn check(_: &Extensions) -> Result<(), SetupError> {
        Ok(())
    }

    /// Calls the closure.
    fn call(
        &self,
        arguments: Self::Arguments,
        request: ToolRequest,
    ) -> impl Future<Output = Result<ToolResult, Error>> + Send;
}

/// A closure as a type-erased tool.
struct Closure<C, M> {
    closure: C,
    kind: PhantomData<fn() -> M>,
}

/// A handler as a type-erased tool.
struct Handler<T>(T);

// === impl ToolClosure ===

impl<C, A, F, R> ToolClosure<(A,)> for C
where
    C: Fn(A) -> F + Send + Sync + 'static,
    A: DeserializeOwned + Send,
    F: Future<Output = Result<R, Error>> + Send,
    R: IntoResult,
{
    type Arguments = A;
    type Output = R;

    async fn call(&self, arguments: A, _: ToolRequest) -> Result<ToolResult, Error> {
        self(arguments).await?.into_result()
    }
}

impl<C, A, F, R> ToolClosure<(A, ToolRequest)> for C
where
    C: Fn(A, ToolRequest) -> F + Send + Sync + 'static,
    A: DeserializeOwned + Send,
    F: Future<Output = Result<R, Error>> + Send,
    R: IntoResult,
{
    type Arguments = A;
    type Output = R;

    async fn call(&self, arguments: A, request: ToolRequest) -> Result<ToolResult, Error> {
        self(arguments, request).await?.into_result()
    }
}

impl<C, A, T, F, R> ToolClosure<(A, State<T>)> for C
where
    C: Fn(A, State<T>) -> F + Send + Sync + 'static,
    A: DeserializeOwned + Send,
    T: Send + Sync + 'static,
    F: Future<Output = Result<R, Error>> + Send,
    R: IntoResult,
{
    type Arguments = A;
    type Output = R;

    fn check(states: &Extensions) -> Result<(), SetupError> {
        State::<T>::of(states).map(drop)
    }

    async fn call(&self, arguments: A, request: ToolRequest) -> Result<ToolResult, Error> {
        let state = State::of(request.tools.states()).map_err(Error::internal)?;
        self(arguments, state).await?.into_result()
    }
}

// === impl AnyTool ===

impl<C: ToolClosure<M>, M: 'static> AnyTool for Closure<C, M> {
    fn start(self: Arc<Self>, request: ToolRequest) -> ToolFuture {
        guarded(async move {
            let arguments = request.arguments()?;
            self.closure.call(arguments, request).await
        })
    }
}

impl<T: ToolHandler> AnyTool for Handler<T> {
    fn start(self: Arc<Self>, request: ToolRequest) -> ToolFuture {
        guarded(async move { self.0.call(request).await })
    }
}

/// Turns a panic into a failure: over standard input and output all calls share a task, and a panic
/// in one must not end the others.
pub(crate) fn guarded(
    call: impl Future<Output = Result<ToolResult, Error>> + Send + 'static,
) -> ToolFuture {
    let call = AssertUnwindSafe(call).catch_unwind();
    Box::pin(call.map(|done| done.unwrap_or_else(|_| Err(Failure::panicked().into()))))
}

// === impl Tool ===

impl Tool {
    /// Makes a tool from a closure. The schema of the arguments is made from their type, and the
    /// schema of the results from `T` if the closure returns [`Json<T>`](crate::Json).
    ///
    /// ```
    /// use ziggurat_mcp::{Tool, schemars};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Echo {
    ///     /// The words to say.
    ///     text: String,
    /// }
    ///
    /// let tool = Tool::new("echo", "Says it again", |echo: Echo| async move { Ok(echo.text) });
    /// # let _ = tool;
    /// ```
    #[cfg(feature = "schemars")]
    pub fn new<M: 'static, C: ToolClosure<M>>(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        closure: C,
    ) -> Self
    where
        C::Arguments: schemars::JsonSchema,
        C::Output: DescribedResult,
    {
        let arguments = Schema::of::<C::Arguments>();
        let tool = Self::with_schema(name, description, arguments, closure);
        match C::Output::schema() {
            Some(schema) => tool.with_output(schema),
            None => tool,
        }
    }

    /// Makes a tool from a closure and the schema of its arguments.
    pub fn with_schema<M: 'static, C: ToolClosure<M>>(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        schema: Schema,
        closure: C,
    ) -> Self {
        let kind = PhantomData;
        Self {
            descriptor: ToolDescriptor::new(name, description, schema),
            service: Arc::new(Closure { closure, kind }),
            check: C::check,
        }
    }

    /// Declares that the tool changes nothing and uses no service but this server.
    pub fn read_only(self) -> Self {
        self.with_annotations(Annotations::reading())
    }

    /// Adds hints about the tool for the client's user.
    pub fn with_annotations(self, annotations: Annotations) -> Self {
        self.describe(|descriptor| descriptor.with_annotations(annotations))
    }

    /// Adds a title for display.
    pub fn with_title(self, title: impl Into<Cow<'static, str>>) -> Self {
        self.describe(|descriptor| descriptor.with_title(title))
    }

    /// Adds an icon, from revision 2025-11-25 on.
    pub fn with_icon(self, icon: Icon) -> Self {
        self.describe(|descriptor| descriptor.with_icon(icon))
    }

    /// Sets the schema of the [structure](crate::Structure) of results.
    pub fn with_output(self, schema: Schema) -> Self {
        self.describe(|descriptor| descriptor.with_output(schema))
    }

    /// Puts a layer around the calls of this tool alone. A layer that is added later sees a call
    /// first.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tower::timeout::TimeoutLayer;
    /// use ziggurat_mcp::{Error, Schema, Tool};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Nothing {}
    ///
    /// let slow = Tool::with_schema("slow", "Takes long.", Schema::new(), |_: Nothing| async {
    ///     std::future::pending::<Result<String, Error>>().await
    /// });
    /// let slow = slow.layer(TimeoutLayer::new(Duration::from_secs(5)));
    /// # let _ = slow;
    /// ```
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<ToolService>,
        L::Service: Service<ToolRequest, Response = ToolResult, Error: Into<Error>, Future: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        let service = layer.layer(ToolService(self.service));
        Self {
            descriptor: self.descriptor,
            service: Arc::new(Layered(service)),
            check: self.check,
        }
    }

    fn describe(mut self, change: impl FnOnce(ToolDescriptor) -> ToolDescriptor) -> Self {
        self.descriptor = change(self.descriptor);
        self
    }
}

impl<T: ToolHandler> From<T> for Tool {
    fn from(handler: T) -> Self {
        Self {
            descriptor: handler.describe(),
            service: Arc::new(Handler(handler)),
            check: |_| Ok(()),
        }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.descriptor.name).finish()
    }
}

/// The calls of one tool, for the layers of [`Tool::layer`].
#[derive(Clone)]
pub struct ToolService(pub(super) Arc<dyn AnyTool>);
