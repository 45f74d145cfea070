//! The options of a client.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, Mutex},
};

use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri, header};
use http_body::Body;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;
use ziggurat_mcp::protocol::Revision;

use crate::{
    Client,
    callbacks::{Form, FormAnswer, LogLevel, LogMessage, OnForm, OnLog},
    error::{BoxError, ClientError},
    message::ClientInfo,
    pipe::Pipe,
    service::{Cloned, HttpService, RequestBody},
    session::Session,
    streamable::Http,
    tcp::Tcp,
    transport::Transport,
};

/// Limit on the length of an answer.
const MAX_BYTES: usize = 10 << 20;

/// Limit on the rounds in which a server asks for input during a call.
const MAX_ROUNDS: usize = 8;

/// The server and the options of a [`Client`]; [`connect`](ClientBuilder::connect) makes the client.
///
/// ```no_run
/// use ziggurat_mcp::protocol::Revision;
/// use ziggurat_mcp_client::{Client, LogLevel};
///
/// # async fn connect() -> Result<(), ziggurat_mcp_client::ClientError> {
/// let client = Client::http("http://127.0.0.1:8080/mcp")
///     .with_bearer("secret")
///     .with_revision(Revision::V2025_11_25)
///     .with_log(LogLevel::Warning, |log| eprintln!("{}: {}", log.level, log.data))
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct ClientBuilder {
    target: Result<Target, ClientError>,
    headers: HeaderMap,
    revision: Option<Revision>,
    max_bytes: usize,
    options: Options,
}

/// The options that calls read.
pub(crate) struct Options {
    pub(crate) info: ClientInfo,
    pub(crate) on_form: Option<OnForm>,
    pub(crate) on_log: Option<(LogLevel, OnLog)>,
    pub(crate) max_rounds: usize,
}

enum Target {
    Http(Uri, Arc<dyn HttpService>),
    Pipe(
        Box<dyn AsyncRead + Send + Unpin>,
        Box<dyn AsyncWrite + Send + Unpin>,
    ),
}

// === impl ClientBuilder ===

impl ClientBuilder {
    pub(crate) fn http(uri: &str) -> Self {
        Self::new(parse(uri).and_then(|uri| {
            let tcp = Tcp::new(&uri)?;
            Ok(Target::Http(uri, Arc::new(Cloned(Mutex::new(tcp)))))
        }))
    }

    pub(crate) fn service<S, B>(uri: &str, service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let service = Arc::new(Cloned(Mutex::new(service)));
        Self::new(parse(uri).map(|uri| Target::Http(uri, service)))
    }

    pub(crate) fn stdio(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self::new(Ok(Target::Pipe(Box::new(input), Box::new(output))))
    }

    fn new(target: Result<Target, ClientError>) -> Self {
        Self {
            target,
            headers: HeaderMap::new(),
            revision: None,
            max_bytes: MAX_BYTES,
            options: Options {
                info: ClientInfo {
                    name: env!("CARGO_PKG_NAME").into(),
                    version: env!("CARGO_PKG_VERSION").into(),
                },
                on_form: None,
                on_log: None,
                max_rounds: MAX_ROUNDS,
            },
        }
    }

    /// Speaks exactly this revision. By default the client tries the newest one, and then the one
    /// that the server offers.
    pub fn with_revision(mut self, revision: Revision) -> Self {
        self.revision = Some(revision);
        self
    }

    /// Sets the name and the version of the client that the server reads.
    pub fn with_info(
        mut self,
        name: impl Into<Cow<'static, str>>,
        version: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.options.info = ClientInfo {
            name: name.into(),
            version: version.into(),
        };
        self
    }

    /// Sends a bearer token with each request over HTTP.
    pub fn with_bearer(mut self, token: &str) -> Self {
        if let Ok(mut value) = HeaderValue::try_from(format!("Bearer {token}")) {
            value.set_sensitive(true);
            return self.with_header(header::AUTHORIZATION, value);
        }
        let problem = "the bearer token has characters that no header may have";
        self.target = Err(ClientError::Setup(problem.to_owned()));
        self
    }

    /// Sends a header with each request over HTTP.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Limits the length of an answer, which is 10 MiB by default.
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Limits how often a server may ask for input during a call, which is 8 times by default.
    pub fn with_max_rounds(mut self, rounds: usize) -> Self {
        self.options.max_rounds = rounds;
        self
    }

    /// Answers the forms of the server. Without it the client does not declare that it can.
    ///
    /// ```
    /// use ziggurat_mcp_client::{Client, FormAnswer};
    ///
    /// let builder = Client::http("http://127.0.0.1:8080/mcp")
    ///     .with_elicitation(|form| async move {
    ///         println!("{}", form.message);
    ///         FormAnswer::decline()
    ///     });
    /// # let _ = builder;
    /// ```
    pub fn with_elicitation<F>(mut self, answer: impl Fn(Form) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = FormAnswer> + Send + 'static,
    {
        self.options.on_form = Some(Arc::new(move |form| Box::pin(answer(form))));
        self
    }

    /// Receives the log messages that the server sends during calls, from this level on. Servers
    /// of older revisions choose the level themselves.
    pub fn with_log(
        mut self,
        level: LogLevel,
        receive: impl Fn(LogMessage) + Send + Sync + 'static,
    ) -> Self {
        self.options.on_log = Some((level, Arc::new(receive)));
        self
    }

    /// Connects to the server and agrees with it on a revision.
    ///
    /// # Errors
    ///
    /// Returns an error if the address or a header is invalid, if the server cannot be reached, or
    /// if it does not speak the revision of the client.
    pub async fn connect(self) -> Result<Client, ClientError> {
        let transport = match self.target? {
            Target::Http(uri, service) => {
                let mut headers = self.headers;
                if let Some(host) = host(&uri) {
                    headers.entry(header::HOST).or_insert(host);
                }
                let http = Http::new(service, uri, headers, self.max_bytes);
                Transport::Http(Arc::new(http))
            }
            Target::Pipe(input, output) => {
                Transport::Pipe(Arc::new(Pipe::new(input, output, self.max_bytes)))
            }
        };
        let session = Session::new(transport, self.options);
        // Boxed: once per connection.
        Box::pin(Client::negotiate(session, self.revision)).await
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

fn parse(uri: &str) -> Result<Uri, ClientError> {
    uri.parse()
        .map_err(|error| ClientError::Setup(format!("the address `{uri}` is invalid: {error}")))
}

/// Returns the value of the header `Host`.
fn host(uri: &Uri) -> Option<HeaderValue> {
    let host = uri.host()?;
    let host = match uri.port_u16() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    host.try_into().ok()
}
