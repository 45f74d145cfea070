//! A small client of the Model Context Protocol, over HTTP and over pipes, in all its revisions.
//!
//! It serves tests and small programs: it lists, calls, reads and completes, reports progress and
//! lets the program answer forms. It keeps no registry of servers, opens no stream for changes, and
//! knows no models.
//!
//! ```
//! use std::collections::BTreeMap;
//! use tower::ServiceBuilder;
//! use ziggurat_layers::json_rpc::JsonRpcLayer;
//! use ziggurat_mcp::{
//!     Mcp, Prompts, ReadResource, Resources, ServerInfo, Tools,
//!     protocol::{self, ProtocolLayer},
//! };
//! use ziggurat_mcp_client::Client;
//!
//! # tokio_test::block_on(async {
//! let resources = Resources::new();
//! let tools = Tools::new().with(ReadResource::new(resources.clone()));
//! let about = ServerInfo::new("example", "1.0.0");
//! let server = ServiceBuilder::new()
//!     .layer(JsonRpcLayer::new().with_dialect_of(protocol::dialect_of))
//!     .layer(ProtocolLayer::http())
//!     .service(Mcp::new(&about, tools, resources, Prompts::new())?);
//!
//! // Without a socket. `Client::http("http://127.0.0.1:8080/mcp")` connects to another process.
//! let client = Client::service("http://localhost/mcp", server).connect().await?;
//! assert_eq!(client.server().name, "example");
//! assert_eq!(client.server().revision.as_str(), "2026-07-28");
//!
//! let arguments = BTreeMap::from([("uri", "pg://nothing")]);
//! let result = client.call("read_resource", &arguments).await?;
//! assert!(result.is_error);
//! assert_eq!(result.text(), "Error reading resource: Resource not found: pg://nothing");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! A server in a child process is reached through its pipes:
//!
//! ```no_run
//! use std::process::Stdio;
//! use tokio::process::Command;
//! use ziggurat_mcp_client::Client;
//!
//! # async fn start() -> Result<(), Box<dyn std::error::Error>> {
//! let mut child = Command::new("my-server")
//!     .stdin(Stdio::piped())
//!     .stdout(Stdio::piped())
//!     .spawn()?;
//! let (output, input) = (child.stdout.take(), child.stdin.take());
//! if let (Some(output), Some(input)) = (output, input) {
//!     let client = Client::stdio(output, input).connect().await?;
//!     println!("{:?}", client.tools().await?);
//!     client.close().await?;
//! }
//! child.wait().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Revisions
//!
//! Unless the program [chooses one](ClientBuilder::with_revision), the client asks for the newest
//! revision (`server/discover`). A server that does not know it is asked with `initialize`, and the
//! client then speaks the revision of the answer.
//!
//! # Cancelling
//!
//! Dropping the future of a call cancels it. In revision 2026-07-28 over HTTP that closes the
//! response, which is the cancellation. Otherwise `notifications/cancelled` is sent. The client has
//! no task in the background, so a notification that cannot leave at once is sent along with the
//! next call; a program that makes none awaits [`flush`](Client::flush).
//!
//! # Time
//!
//! Only the first request of a connection has a time limit, of ten seconds in which a server may
//! say that it does not know the newest revision. Wrap a call into [`tokio::time::timeout`] to limit
//! it: the call is dropped, and so it is cancelled.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod builder;
mod callbacks;
mod error;
mod headers;
mod lock;
mod message;
mod methods;
mod negotiate;
mod outgoing;
mod pipe;
mod results;
mod service;
mod session;
mod streamable;
mod tcp;
#[cfg(test)]
mod tests;
mod transport;

use std::{error::Error, fmt, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

pub use self::{
    builder::ClientBuilder,
    callbacks::{Form, FormAnswer, LogLevel, LogMessage, ProgressReport},
    error::ClientError,
    results::{
        CallResult, Completion, Content, ListedArgument, ListedPrompt, ListedResource,
        ListedTemplate, ListedTool, PromptMessage, PromptResult, ResourceContent,
        ServerDescription,
    },
    service::RequestBody,
};
use self::{callbacks::OnProgress, session::Session};

/// A connection to a server. Clones share it.
#[derive(Clone)]
pub struct Client {
    session: Arc<Session>,
    server: Arc<ServerDescription>,
    on_progress: Option<OnProgress>,
}

// === impl Client ===

impl Client {
    /// Connects to the address of a server, such as `http://127.0.0.1:8080/mcp`, without TLS.
    ///
    /// ```no_run
    /// use ziggurat_mcp_client::Client;
    ///
    /// # async fn list() -> Result<(), ziggurat_mcp_client::ClientError> {
    /// let client = Client::http("http://127.0.0.1:8080/mcp").connect().await?;
    /// for tool in client.tools().await? {
    ///     println!("{}", tool.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn http(uri: &str) -> ClientBuilder {
        ClientBuilder::http(uri)
    }

    /// Connects through an HTTP service: a client of the program, with its layers and TLS, or a
    /// server in the same process. The service is cloned for each request.
    pub fn service<S, B>(uri: &str, service: S) -> ClientBuilder
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        ClientBuilder::service(uri, service)
    }

    /// Connects through pipes: the output and the input of a server, such as a child process.
    ///
    /// ```
    /// use std::future::pending;
    /// use ziggurat_mcp::{
    ///     Mcp, Prompts, Resources, ServerInfo, Tools, protocol::ProtocolLayer, stdio::Stdio,
    /// };
    /// use ziggurat_mcp_client::Client;
    /// use tower::Layer as _;
    ///
    /// # tokio_test::block_on(async {
    /// let about = ServerInfo::new("example", "1.0.0");
    /// let mcp = Mcp::new(&about, Tools::new(), Resources::new(), Prompts::new())?;
    /// let (client_end, server_end) = tokio::io::duplex(1024);
    /// let (input, output) = tokio::io::split(server_end);
    /// let serving = Stdio::new().serve(ProtocolLayer::stdio().layer(mcp), input, output, pending());
    ///
    /// let asking = async {
    ///     let (output, input) = tokio::io::split(client_end);
    ///     let client = Client::stdio(output, input).connect().await?;
    ///     client.ping().await?;
    ///     client.close().await
    /// };
    /// let (served, asked) = tokio::join!(serving, asking);
    /// served?;
    /// asked?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn stdio(
        output_of_server: impl AsyncRead + Send + Unpin + 'static,
        input_of_server: impl AsyncWrite + Send + Unpin + 'static,
    ) -> ClientBuilder {
        ClientBuilder::stdio(output_of_server, input_of_server)
    }

    /// Returns the server, as it described itself.
    #[must_use]
    pub fn server(&self) -> &ServerDescription {
        &self.server
    }

    /// Returns a client of the same connection with calls that report their progress to a closure.
    ///
    /// ```no_run
    /// # async fn call(client: ziggurat_mcp_client::Client)
    /// # -> Result<(), ziggurat_mcp_client::ClientError> {
    /// let result = client
    ///     .with_progress(|report| println!("{}", report.progress))
    ///     .call("count", &())
    ///     .await?;
    /// # let _ = result;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_progress(&self, receive: impl Fn(ProgressReport) + Send + Sync + 'static) -> Self {
        Self {
            on_progress: Some(Arc::new(receive)),
            ..self.clone()
        }
    }

    /// Sends the cancellations of dropped calls that have not left yet.
    ///
    /// # Errors
    ///
    /// Returns an error if a pipe fails.
    pub async fn flush(&self) -> Result<(), ClientError> {
        self.session.transport.flush().await
    }

    /// Ends the session of an HTTP server that has opened one, or the input of a server behind
    /// pipes, for all clones of the client.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached.
    pub async fn close(self) -> Result<(), ClientError> {
        let transport = &self.session.transport;
        transport.close(self.server.revision).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
