//! A server over HTTP, in one call.

mod endpoint;
#[cfg(test)]
mod tests;

use std::{env, fmt, io, net::SocketAddr, sync::Arc};

use http::{Request, Response};
use tokio::net::{TcpListener, ToSocketAddrs, lookup_host};
use tower_layer::Layer;
use tower_service::Service;
use ziggurat_layers::{
    bearer::{Bearer, BearerLayer, Hashed, TokenHash, Verify},
    body_limit::{BodyLimit, BodyLimitLayer},
    host::{Host, HostLayer, Hosts},
    json_rpc::{JsonRpc, JsonRpcLayer},
    origin::{Origin, OriginLayer, Origins},
    shutdown::{CutOff, Shutdown, ShutdownLayer},
};
use ziggurat_serve::{HttpService, Limits, RequestBody};

use crate::{
    Result, ServeError, Server, SetupError,
    protocol::{self, Protocol, ProtocolLayer},
    server::{
        stop::stop,
        streamable::{Streamable, StreamableLayer},
    },
};

pub use self::endpoint::Endpoint;

/// Limit on the body of a request, unless another is set.
const MAX_BODY: u64 = 4 << 20;

/// A service that answers calls over HTTP: one JSON-RPC message, or a batch, in each request.
///
/// It checks neither hosts, origins nor tokens.
pub type Calls<S> = Streamable<BodyLimit<JsonRpc<Protocol<S>>>>;

/// A service behind the checks of path, host and origin.
pub type Guarded<S> = Shutdown<Host<Origin<Endpoint<S>>>>;

/// Serves a [`Server`] over Streamable HTTP.
///
/// By default it serves `/mcp` and refuses requests that were meant for another host (DNS
/// rebinding) or come from foreign web pages. It limits bodies to 4 MiB and connections by the
/// [`Limits`] of the accept loop. It does not start on an address that other machines reach unless
/// callers need a token.
///
/// ```no_run
/// use ziggurat_mcp::{Http, Server};
///
/// #[tokio::main]
/// async fn main() -> ziggurat_mcp::Result {
///     let server = Server::new("example", "1.0.0").build();
///     Http::new(server).bearer("EXAMPLE_TOKEN").serve("127.0.0.1:8080").await
/// }
/// ```
#[must_use]
pub struct Http<S> {
    service: S,
    settings: Settings,
}

struct Settings {
    path: Arc<str>,
    hosts: Vec<String>,
    origins: Vec<String>,
    limits: Limits,
    /// Set if callers need a token, or if the program said that they need none.
    may_be_public: bool,
    /// The first error of the setup, reported when the server starts.
    problem: Option<ServeError>,
}

// === impl Server ===

impl<S> Server<S> {
    /// Returns a service for hyper, tonic or any other server of tower services.
    ///
    /// It answers calls and checks nothing else. Put the layers `host`, `origin` and `bearer` of
    /// `ziggurat-layers` around it, or take [`Http::into_service`].
    ///
    /// # Errors
    ///
    /// Returns an error if the lists of the server have one.
    pub fn into_service(self) -> std::result::Result<Calls<S>, SetupError> {
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(calls(self.calls, self.revisions, MAX_BODY)),
        }
    }
}

fn calls<S>(calls: S, revisions: protocol::Revisions, max_body: u64) -> Calls<S> {
    let protocol = ProtocolLayer::http().with_revisions(revisions);
    let framing = JsonRpcLayer::new().with_dialect_of(protocol::dialect_of);
    let framed = framing.layer(protocol.layer(calls));
    StreamableLayer::new().layer(BodyLimitLayer::new(max_body).layer(framed))
}

// === impl Http ===

impl<S> Http<Calls<S>> {
    /// Takes the server.
    pub fn new(server: Server<S>) -> Self {
        Self::with_max_body(server, MAX_BODY)
    }

    /// Takes the server, and the limit on the body of a request in bytes.
    pub fn with_max_body(server: Server<S>, bytes: u64) -> Self {
        Self {
            service: calls(server.calls, server.revisions, bytes),
            settings: Settings {
                path: "/mcp".into(),
                hosts: Vec::new(),
                origins: Vec::new(),
                limits: Limits::default(),
                may_be_public: false,
                problem: server.problem.map(ServeError::from),
            },
        }
    }
}

impl<S> Http<S> {
    /// Refuses callers without the token in this environment variable.
    ///
    /// Tools find the name of the variable as the [identity](crate::ToolRequest::identity) of the
    /// caller, an `Arc<str>`. The program keeps only the digest of the token.
    pub fn bearer(mut self, variable: &str) -> Http<Bearer<S, Hashed<Arc<str>>>> {
        let token = env::var(variable).unwrap_or_default();
        let token = token.trim();
        if token.is_empty() {
            let problem = ServeError::NoToken(variable.to_owned());
            self.settings.problem.get_or_insert(problem);
        }
        let known = (!token.is_empty()).then(|| (TokenHash::of(token), Arc::from(variable)));
        self.verified_by(Hashed::from_iter(known))
    }

    /// Refuses callers if `verify` does not accept their token. Tools find the value that it
    /// returns as the [identity](crate::ToolRequest::identity) of the caller.
    ///
    /// ```
    /// use ziggurat_layers::bearer::{Hashed, TokenHash};
    /// use ziggurat_mcp::{Http, Server};
    ///
    /// let tokens = [("token-of-ali", "ali"), ("token-of-kim", "kim")];
    /// let known = tokens.map(|(token, name)| (TokenHash::of(token), name));
    /// let server = Server::new("example", "1.0.0").build();
    /// let http = Http::new(server).verified_by(Hashed::from_iter(known));
    /// # let _ = http;
    /// ```
    pub fn verified_by<V: Verify + Clone>(mut self, verify: V) -> Http<Bearer<S, V>> {
        self.settings.may_be_public = true;
        self.layer(BearerLayer::new(verify))
    }

    /// Lets other machines connect although callers need no token.
    pub fn without_authentication(mut self) -> Self {
        self.settings.may_be_public = true;
        self
    }

    /// Puts a layer around the requests. A layer that is added later sees a request first; the
    /// checks of path, host and origin come before all of them.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{InvalidQuota, RateLimitLayer, Steady};
    /// use ziggurat_mcp::{Http, Server};
    ///
    /// let server = Server::new("example", "1.0.0").build();
    /// let limit = RateLimitLayer::new(Steady::new("600 per minute".parse()?));
    /// let http = Http::new(server).layer(limit);
    /// # let _ = http;
    /// # Ok::<_, InvalidQuota>(())
    /// ```
    pub fn layer<L: Layer<S>>(self, layer: L) -> Http<L::Service> {
        Http {
            service: layer.layer(self.service),
            settings: self.settings,
        }
    }

    /// Serves another path than `/mcp`.
    pub fn with_path(mut self, path: &str) -> Self {
        self.settings.path = path.into();
        self
    }

    /// Adds a host under which clients reach the server, such as `mcp.example.com`. On a loopback
    /// address the names of this machine are always served; on another address all hosts are,
    /// unless one is added.
    pub fn with_host(mut self, host: impl Into<String>) -> Self {
        self.settings.hosts.push(host.into());
        self
    }

    /// Lets web pages of an origin send requests, such as `https://app.example.com`. Pages of the
    /// hosts of this server always may; on a loopback address, pages of this machine may unless an
    /// origin is added.
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.settings.origins.push(origin.into());
        self
    }

    /// Sets the limits on connections and their time.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Serves until the process is told to stop by SIGINT or SIGTERM, and lets the running calls
    /// finish.
    ///
    /// # Errors
    ///
    /// Returns an error if the setup has one, if other machines would reach the server and callers
    /// need no token, or if the address cannot be listened on.
    pub async fn serve<B>(mut self, address: impl ToSocketAddrs) -> Result
    where
        S: Service<Request<RequestBody>, Response = Response<B>>,
        Guarded<S>: HttpService,
    {
        let stop = stop()?;
        let address = lookup_host(address).await?.next();
        let address = address.ok_or_else(|| io::Error::other("the name has no address"))?;
        // Checked before the socket exists, so that no client gets in between.
        self.check(address)?;
        self.serve_on(TcpListener::bind(address).await?, stop).await
    }

    /// Serves connections of a listener until `stop` resolves, and lets the running calls finish.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`serve`](Self::serve).
    pub async fn serve_on<B>(
        mut self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> Result
    where
        S: Service<Request<RequestBody>, Response = Response<B>>,
        Guarded<S>: HttpService,
    {
        let address = listener.local_addr()?;
        self.check(address)?;
        let cut_off = CutOff::default();
        let server = ziggurat_serve::Server::new(self.settings.limits.clone());
        let service = self.guarded(address, cut_off.clone())?;
        tracing::info!("listening on http://{address}");
        let serving = server.with_cut_off(cut_off);
        Ok(serving.serve(listener, service, stop).await?)
    }

    /// Returns a service with all checks, for a server of your own that listens on this address.
    ///
    /// # Errors
    ///
    /// Returns an error if the setup has one, or if other machines reach the address and callers
    /// need no token.
    pub fn into_service(mut self, address: SocketAddr) -> Result<Guarded<S>> {
        self.check(address)?;
        self.guarded(address, CutOff::default())
    }

    /// Returns an axum router with the path of the server and all checks, for a server of your own
    /// that listens on this address.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`into_service`](Self::into_service).
    #[cfg(feature = "axum")]
    pub fn into_router(self, address: SocketAddr) -> Result<axum::Router>
    where
        Guarded<S>: Service<Request<axum::body::Body>, Error = std::convert::Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        <Guarded<S> as Service<Request<axum::body::Body>>>::Response: axum::response::IntoResponse,
        <Guarded<S> as Service<Request<axum::body::Body>>>::Future: Send + 'static,
    {
        let path = Arc::clone(&self.settings.path);
        let service = self.into_service(address)?;
        Ok(axum::Router::new().route_service(&path, service))
    }

    fn check(&mut self, address: SocketAddr) -> Result {
        if let Some(problem) = self.settings.problem.take() {
            return Err(problem);
        }
        if !self.settings.may_be_public && !address.ip().is_loopback() {
            return Err(ServeError::Open(address));
        }
        Ok(())
    }

    fn guarded(self, address: SocketAddr, cut_off: CutOff) -> Result<Guarded<S>> {
        let hosts = Hosts::of(address.ip(), &self.settings.hosts)?;
        let origins = if self.settings.origins.is_empty() && address.ip().is_loopback() {
            Origins::loopback()
        } else {
            Origins::listed(&self.settings.origins)?
        };
        let origins = origins.with_own(&hosts);
        let endpoint = Endpoint::new(self.settings.path, self.service);
        let guarded = HostLayer::new(hosts).layer(OriginLayer::new(origins).layer(endpoint));
        Ok(ShutdownLayer::new(cut_off).layer(guarded))
    }
}

impl<S> fmt::Debug for Http<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("path", &self.settings.path)
            .field("limits", &self.settings.limits)
            .finish_non_exhaustive()
    }
}
