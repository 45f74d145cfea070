//! A server put together from tools, resources and prompts.

use std::{borrow::Cow, fmt};

use tower_layer::{Identity, Layer, Stack};

use crate::{
    Mcp, Prompt, Prompts, Resource, ResourceTemplate, Resources, ServerInfo, SetupError, Tool,
    Tools,
    protocol::{Revision, Revisions},
};

/// A server of the protocol, ready to be served by [`Http`](crate::Http) or
/// [`Stdio`](crate::stdio::Stdio).
///
/// ```
/// use ziggurat_mcp::{Error, Schema, Server, Tool};
///
/// #[derive(serde::Deserialize)]
/// struct Nothing {}
///
/// let server = Server::new("clock", "1.0.0")
///     .tool(Tool::with_schema("year", "The year.", Schema::new(), |_: Nothing| async {
///         Ok("2026")
///     }))
///     .build();
/// # let _ = server;
/// ```
///
/// A server announces only the capabilities that it has: without prompts it announces none. One
/// server answers clients of all revisions.
#[derive(Clone, Debug)]
#[must_use]
pub struct Server<S = Mcp> {
    pub(crate) calls: S,
    pub(crate) revisions: Revisions,
    /// An error in the lists, reported when the server starts.
    pub(crate) problem: Option<SetupError>,
}

/// Puts a [`Server`] together.
#[must_use]
pub struct ServerBuilder<L = Identity> {
    about: ServerInfo,
    tools: Tools,
    resources: Resources,
    prompts: Prompts,
    revisions: Revisions,
    layer: L,
}

// === impl Server ===

impl Server {
    /// Starts with the name and the version of the server.
    #[expect(clippy::new_ret_no_self, reason = "a server is put together in steps")]
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        version: impl Into<Cow<'static, str>>,
    ) -> ServerBuilder {
        ServerBuilder {
            about: ServerInfo::new(name, version),
            tools: Tools::new(),
            resources: Resources::new(),
            prompts: Prompts::new(),
            revisions: Revisions::all(),
            layer: Identity::new(),
        }
    }
}

impl<S> Server<S> {
    /// Takes a service of calls: an [`Mcp`] made from its lists, or one inside layers.
    ///
    /// ```
    /// use ziggurat_mcp::{Mcp, Prompts, Resources, Server, ServerInfo, Tools};
    ///
    /// let about = ServerInfo::new("example", "1.0.0");
    /// let mcp = Mcp::new(&about, Tools::new(), Resources::new(), Prompts::new())?;
    /// let server = Server::of(mcp);
    /// # let _ = server;
    /// # Ok::<_, ziggurat_mcp::SetupError>(())
    /// ```
    pub fn of(calls: S) -> Self {
        Self {
            calls,
            revisions: Revisions::all(),
            problem: None,
        }
    }
}

// === impl ServerBuilder ===

impl<L> ServerBuilder<L> {
    /// Adds a tool.
    pub fn tool(mut self, tool: impl Into<Tool>) -> Self {
        self.tools = self.tools.with(tool);
        self
    }

    /// Shares a state with all tools; see [`Tools::with_state`].
    pub fn with_state<T: Send + Sync + 'static>(mut self, state: T) -> Self {
        self.tools = self.tools.with_state(state);
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: impl Into<Resource>) -> Self {
        self.resources = self.resources.with(resource);
        self
    }

    /// Adds a resource template.
    pub fn template(mut self, template: impl Into<ResourceTemplate>) -> Self {
        self.resources = self.resources.with_template(template);
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: impl Into<Prompt>) -> Self {
        self.prompts = self.prompts.with(prompt);
        self
    }

    /// Adds a title for display, and a sentence about the server.
    pub fn with_description(
        mut self,
        title: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.about = self.about.with_description(title, description);
        self
    }

    /// Adds instructions for the model that uses the server.
    pub fn with_instructions(mut self, instructions: impl Into<Cow<'static, str>>) -> Self {
        self.about = self.about.with_instructions(instructions);
        self
    }

    /// Sets the revisions that are answered; without it all are. Clients of other revisions get an
    /// error that names these.
    pub fn with_revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.revisions = Revisions::from_iter(revisions);
        self
    }

    /// Puts a layer around every call, of every method. A layer that is added later sees a call
    /// first.
    ///
    /// The layer is around a `Service<Call>`. The [`Call`](ziggurat_layers::json_rpc::Call) has the
    /// method, the params and the head of its HTTP request.
    ///
    /// ```
    /// use tower::util::MapRequestLayer;
    /// use ziggurat_layers::json_rpc::Call;
    /// use ziggurat_mcp::Server;
    ///
    /// let logged = MapRequestLayer::new(|call: Call| {
    ///     tracing::info!(method = call.method(), "a call");
    ///     call
    /// });
    /// let server = Server::new("example", "1.0.0").layer(logged).build();
    /// # let _ = server;
    /// ```
    pub fn layer<T>(self, layer: T) -> ServerBuilder<Stack<L, T>> {
        ServerBuilder {
            about: self.about,
            tools: self.tools,
            resources: self.resources,
            prompts: self.prompts,
            revisions: self.revisions,
            layer: Stack::new(self.layer, layer),
        }
    }

    /// Makes the server. An error, such as two tools of one name, is reported when it starts.
    pub fn build(self) -> Server<L::Service>
    where
        L: Layer<Mcp>,
    {
        let mcp = Mcp::of_lists(&self.about, self.tools, self.resources, self.prompts);
        let (mcp, problem) = match mcp {
            Ok(mcp) => (mcp, None),
            Err((mcp, problem)) => (mcp, Some(problem)),
        };
        Server {
            calls: self.layer.layer(mcp),
            revisions: self.revisions,
            problem,
        }
    }
}

impl<L> fmt::Debug for ServerBuilder<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerBuilder")
            .field("about", &self.about)
            .field("tools", &self.tools)
            .field("resources", &self.resources)
            .field("prompts", &self.prompts)
            .finish_non_exhaustive()
    }
}
