//! Lets clients use only the tools, prompts and resources of an MCP server that they may use.
//!
//! [`McpPolicyLayer`] stands in front of any server of the Model Context Protocol over Streamable
//! HTTP, in the same program or behind a proxy. It reads every message before the server does. A
//! call of a tool that the client may not use is answered by the layer, as if there were no such
//! tool; lists contain only what the client may use. Both use the same [`Access`], so a tool that is
//! not listed cannot be called either.
//!
//! ```
//! use bytes::Bytes;
//! use http::{Request, Response};
//! use http_body_util::{BodyExt as _, Full};
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::mcp::{Access, CheckedBody, McpPolicyLayer};
//!
//! # tokio_test::block_on(async {
//! let server = service_fn(|_: Request<CheckedBody>| async {
//!     let list = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"search"},{"name":"drop"}]}}"#;
//!     let response = Response::builder().header("content-type", "application/json");
//!     response.body(Full::<Bytes>::from(list))
//! });
//! let service = ServiceBuilder::new()
//!     // Usually the bearer layer puts the access of a token there.
//!     .layer(McpPolicyLayer::new(|extensions| extensions.get::<Access>().cloned()))
//!     .service(server);
//!
//! let request = Request::post("/mcp")
//!     .header("content-type", "application/json")
//!     .extension(Access::nothing().with_tools(["search"]))
//!     .body(Full::<Bytes>::from(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#))?;
//! let body = service.oneshot(request).await?.into_body().collect().await?.to_bytes();
//! assert_eq!(body, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"search"}]}}"#);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # What happens to a request
//!
//! The first row that applies decides:
//!
//! | The request | Answer |
//! | --- | --- |
//! | is of a client without an [`Access`] | 401 with a challenge (RFC 9728), by the [`Render`] |
//! | is a `GET` with `Last-Event-ID` | 405, unless [`with_resumption`](McpPolicyLayer::with_resumption) |
//! | is a `GET`, `HEAD`, `DELETE` or `OPTIONS` without a body | of the server |
//! | is any other request but a `POST`, or has an unexpected body | 405 or 400, by the [`Render`] |
//! | has a `Content-Type` that is not JSON in UTF-8 | 415, by the [`Render`] |
//! | is larger than [`with_max_bytes`](McpPolicyLayer::with_max_bytes) | 413, by the [`Render`] |
//! | is not JSON, is too deep, or has a key twice in an object | -32700 |
//! | is not a message of JSON-RPC 2.0, or is a batch in revision 2026-07-28 | -32600 |
//! | has headers that do not match the message | -32020 with status 400 |
//! | calls a method that is not allowed | -32601 |
//! | names a tool or a prompt that is not allowed | -32602, `Unknown tool: …` |
//! | names a resource that is not allowed | -32002, or -32602 in revision 2026-07-28 |
//! | lists tools, prompts, resources or templates | of the server, without those not allowed |
//! | is anything else | of the server |
//!
//! Errors have status 200 in older revisions unless the message is malformed, since their clients
//! lose the connection otherwise; in revision 2026-07-28 the status is 400, or 404 for a method. A
//! notification that is not allowed is dropped and answered with 202. If a message of a batch is
//! refused, nothing of the batch reaches the server, and each call in it gets an error.
//!
//! The server is not asked about a name that is not allowed, so neither the answer nor its time
//! depends on the existence of the name.
//!
//! **Headers.** In revision 2026-07-28 `MCP-Protocol-Version` and `Mcp-Method` must be there and
//! equal the message, and so must `Mcp-Name` for `tools/call`, `prompts/get` and `resources/read`.
//! In older revisions they may be missing. See [`routing`].
//!
//! **Ambiguous messages.** A key that differs only in case from one that is checked, such as `Name`
//! beside `name`, is refused: some readers ignore the case of keys.
//!
//! **Lists.** Elements are cut out of the response; all other bytes stay, also `nextCursor`, so a
//! page may be empty. A `cacheScope` becomes `private`. A list in an event stream is filtered too,
//! once the stream has ended. A response that is compressed, larger than
//! [`with_max_list_bytes`](McpPolicyLayer::with_max_list_bytes), malformed, or neither JSON nor
//! events becomes a 502 with the code `list_unreadable`; if its status is an error, only its
//! body is dropped.
//!
//! # Deployment
//!
//! - Put the layer `bearer` further out, and everything that compresses responses or answers CORS
//!   preflights. Put the layer only on the path of the server; the RFC 9728 document must be
//!   readable without it.
//! - The layer reads calls, not results: the text of a tool's result, the instructions of the
//!   server and suggestions of `completion/complete` may mention other names.
//! - A server that also serves the HTTP+SSE transport of 2024-11-05 sends lists on its `GET`
//!   stream, which is not filtered. Use [`with_posts_only`](McpPolicyLayer::with_posts_only) there.
//! - A session id is not tied to an identity; the server has to do that.
//! - The header `Upgrade` is removed, since messages on another protocol would not be checked.
//!
//! # Memory
//!
//! A request is held as one buffer: the frame itself if there is only one, which is passed on
//! without a copy. Checking an ordinary call allocates nothing; see [`json_rpc`](crate::json_rpc)
//! for long objects and batches. A list is held whole, once more if something is removed from it.

mod access;
mod body;
mod calls;
mod events;
mod future;
mod lists;
mod options;
mod response;
pub mod routing;
#[cfg(test)]
mod tests;

use std::{
    error::Error,
    fmt, mem,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Extensions, Method, Request, Response, header};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    collect::Collect,
    mcp::{
        future::{Pending, State},
        options::Options,
    },
    reject::{ErrorString, Render},
};

pub use self::{access::Access, body::CheckedBody, future::ResponseFuture};

type BoxError = Box<dyn Error + Send + Sync>;

/// Lets clients use only what they may use.
///
/// ```
/// use ziggurat_layers::mcp::{Access, McpPolicyLayer};
///
/// let layer = McpPolicyLayer::new(|extensions| extensions.get::<Access>().cloned());
/// # let _ = layer;
/// ```
#[derive(Clone)]
#[must_use]
pub struct McpPolicyLayer<A, R = ErrorString> {
    access: A,
    options: Options,
    render: R,
}

/// Service made by [`McpPolicyLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::mcp::{Access, McpPolicy, McpPolicyLayer};
///
/// fn guard<S>(server: S) -> McpPolicy<S, impl Fn(&http::Extensions) -> Option<Access> + Clone> {
///     McpPolicyLayer::new(|extensions| extensions.get().cloned()).layer(server)
/// }
/// # let _ = guard(());
/// ```
#[derive(Clone)]
pub struct McpPolicy<S, A, R = ErrorString> {
    inner: S,
    layer: McpPolicyLayer<A, R>,
}

// === impl McpPolicyLayer ===

impl<A> McpPolicyLayer<A>
where
    A: Fn(&Extensions) -> Option<Access>,
{
    /// Asks `access` what the client of a request may use; `None` asks it to authenticate.
    ///
    /// The extensions contain the identity, for example from the bearer layer. The function is
    /// called for each request and should be fast; keep an [`Access`] per role and clone it.
    ///
    /// ```
    /// use ziggurat_layers::mcp::{Access, McpPolicyLayer};
    ///
    /// #[derive(Clone)]
    /// struct Agent {
    ///     may_search: bool,
    /// }
    ///
    /// let search = Access::nothing().with_tools(["search"]);
    /// let layer = McpPolicyLayer::new(move |extensions: &http::Extensions| {
    ///     let agent = extensions.get::<Agent>()?;
    ///     Some(if agent.may_search { search.clone() } else { Access::nothing() })
    /// });
    /// # let _ = layer;
    /// ```
    pub fn new(access: A) -> Self {
        Self {
            access,
            options: Options::default(),
            render: ErrorString,
        }
    }
}

impl<A, R> McpPolicyLayer<A, R> {
    /// Sets how large the body of a request may be (4 MiB by default).
    ///
    /// ```
    /// use ziggurat_layers::mcp::{Access, McpPolicyLayer};
    ///
    /// let layer = McpPolicyLayer::new(|_| Some(Access::nothing())).with_max_bytes(64 << 10);
    /// # let _ = layer;
    /// ```
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.options.max_bytes = bytes;
        self
    }

    /// Sets how large a response with a list may be (4 MiB by default).
    ///
    /// ```
    /// use ziggurat_layers::mcp::{Access, McpPolicyLayer};
    ///
    /// let layer = McpPolicyLayer::new(|_| Some(Access::nothing())).with_max_list_bytes(1 << 20);
    /// # let _ = layer;
    /// ```
    pub fn with_max_list_bytes(mut self, bytes: usize) -> Self {
        self.options.max_list_bytes = bytes;
        self
    }

    /// Sets how many arrays and objects may be open at once in a message (64 by default).
    ///
    /// ```
    /// use ziggurat_layers::mcp::{Access, McpPolicyLayer};
    ///
    /// let layer = McpPolicyLayer::new(|_| Some(Access::nothing())).with_max_depth(16);
    /// # let _ = layer;
    /// ```
    pub fn with_max_depth(mut self, levels: u8) -> Self {
        self.options.limits.max_depth = levels;
        self
    }

    /// Sets how many messages a batch may have (32 by default).
    ///
    /// ```
    /// use ziggurat_layers::mcp::{Access, McpPolicyLayer};
    ///
    /// let layer = McpPolicyLayer::new(|_| Some(Access::nothing())).with_max_batch(4);
    /// # let _ = layer;
    /// ```
    pub fn with_max_batch(mut self, messages: usize) -> Self {
        self.options.limits.max_messages = messages;
        self
    }

    /// Extends the `WWW-Authenticate` header of the 401 beyond plain `Bearer`.
    ///
    /// ```
    /// use ziggurat_layers::{bearer::Challenge, mcp::{Access, McpPolicyLayer}};
    ///
    /// let url = "https://a.example/.well-known/oauth-protected-resource";
    /// let challenge = Challenge::new().with_resource_metadata(url)?;
    /// let layer = McpPolicyLayer::new(|extensions| extensions.get::<Access>().cloned())
    ///     .with_challenge(&challenge);
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::bearer::InvalidChallenge>(())
    /// ```
    #[cfg(feature = "bearer")]
    pub fn with_challenge(mut self, challenge: &crate::bearer::Challenge) -> Self {
        self.options.challenge = challenge.to_header();
        self
    }

    /// Passes on `GET` requests with `Last-Event-ID`, which resume a broken stream.
    ///
    /// The server may send the rest of any response on such a stream, also a list, and the stream
    /// is not filtered. Without this option, a client sends its request again if its stream
    /// breaks off.
    ///
    /// ```
    /// use ziggurat_layers::mcp::{Access, McpPolicyLayer};
    ///
    /// let layer = McpPolicyLayer::new(|_| Some(Access::nothing())).with_resumption();
    /// # let _ = layer;
    /// ```
    pub fn with_resumption(mut self) -> Self {
        self.options.resumption = true;
        self
    }

    /// Refuses all methods but `POST` with 405, as in revision 2026-07-28.
    ///
    /// ```
    /// use ziggurat_layers::mcp::{Access, McpPolicyLayer};
    ///
    /// let layer = McpPolicyLayer::new(|_| Some(Access::nothing())).with_posts_only();
    /// # let _ = layer;
    /// ```
    pub fn with_posts_only(mut self) -> Self {
        self.options.posts_only = true;
        self
    }

    /// Replaces the body of the refusals that are not JSON-RPC.
    ///
    /// ```
    /// use ziggurat_layers::{mcp::{Access, McpPolicyLayer}, reject::Problem};
    ///
    /// let layer = McpPolicyLayer::new(|_| Some(Access::nothing())).with_render(Problem);
    /// # let _ = layer;
    /// ```
    pub fn with_render<T>(self, render: T) -> McpPolicyLayer<A, T> {
        McpPolicyLayer {
            access: self.access,
            options: self.options,
            render,
        }
    }
}

impl<A, R> fmt::Debug for McpPolicyLayer<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpPolicyLayer")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<S, A: Clone, R: Clone> Layer<S> for McpPolicyLayer<A, R> {
    type Service = McpPolicy<S, A, R>;

    fn layer(&self, inner: S) -> Self::Service {
        let layer = self.clone();
        McpPolicy { inner, layer }
    }
}

// === impl McpPolicy ===

impl<S: fmt::Debug, A, R> fmt::Debug for McpPolicy<S, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpPolicy")
            .field("inner", &self.inner)
            .field("layer", &self.layer)
            .finish()
    }
}

impl<S, A, R, B, T> Service<Request<B>> for McpPolicy<S, A, R>
where
    S: Service<Request<CheckedBody>, Response = Response<T>> + Clone,
    A: Fn(&Extensions) -> Option<Access>,
    R: Render<T> + Clone,
    B: Body<Error: Into<BoxError>>,
    T: Body<Error: Into<BoxError>> + From<Bytes>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S, S::Future, B, T, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let options = &self.layer.options;
        let (limits, max_list_bytes) = (options.limits, options.max_list_bytes);
        let access = (self.layer.access)(request.extensions());
        let checked = access
            .ok_or_else(|| options.unauthorized())
            .and_then(|access| options.check(&request).map(|()| access));
        let state = match checked {
            Ok(access) => self.admit(request, access),
            Err(rejection) => State::Refused { rejection },
        };
        ResponseFuture {
            state,
            limits,
            max_list_bytes,
            render: self.layer.render.clone(),
        }
    }
}

impl<S, A, R> McpPolicy<S, A, R> {
    fn admit<B, T>(&mut self, mut request: Request<B>, access: Access) -> State<S, S::Future, B, T>
    where
        S: Service<Request<CheckedBody>> + Clone,
    {
        request.headers_mut().remove(header::UPGRADE);
        if request.method() != Method::POST {
            return State::Serving {
                response: self.inner.call(request.map(|_| CheckedBody::default())),
                filter: None,
            };
        }
        // The clone was never polled ready, so it stays here and the ready service is used.
        let clone = self.inner.clone();
        let inner = mem::replace(&mut self.inner, clone);
        let (head, body) = request.into_parts();
        State::Collecting {
            body: Collect::new(body, self.layer.options.max_bytes),
            pending: Some(Pending {
                head,
                inner,
                access,
            }),
        }
    }
}
