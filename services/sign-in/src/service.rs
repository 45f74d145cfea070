//! The service: finds the endpoint of a request, and reads its body.

mod copies;
mod directory;
mod fetch;
mod known;
mod limits;

use std::{
    convert::Infallible,
    fmt,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{
    Extensions, HeaderValue, Method, Request, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL,
    },
    request::Parts,
};
use http_body::Body;
use http_body_util::{BodyExt as _, Limited};
use tower_service::Service;
use ziggurat_layers::{
    client_ip::ClientIp,
    clock::{Calendar as _, Clock as _, System},
};

use crate::{
    answer::{Answer, document, empty, with_header},
    documents,
    events::{Event, Events},
    keys::Keys,
    people::{People, Unavailable},
    providers::{AskProvider, Providers, Signer},
    settings::{SecondFactor, Settings, SettingsError},
    store::{Factor, Seconds, Store},
};

pub use self::fetch::FetchDocument;
pub(crate) use self::{
    copies::Wanted,
    directory::{Confirmed, Entitled, NoAccess, Profile},
    known::NoClient,
};
use self::{
    fetch::Fetches,
    limits::{Limits, Time},
};

/// Longest body.
const LONGEST_BODY: usize = 64 << 10;

/// Beginning of the paths of sign-ins at other providers.
pub(crate) const UPSTREAM: &str = "/oauth/upstream/";

/// End of the path that a provider sends a browser back to.
pub(crate) const CALLBACK: &str = "/callback";

/// Beginning of the paths of invitations.
pub(crate) const INVITES: &str = "/oauth/invite/";

/// An authorization server. Clones share everything.
pub struct SignIn<P, S, K> {
    pub(crate) shared: Arc<Shared<P, S, K>>,
}

/// Everything that requests share.
pub(crate) struct Shared<P, S, K> {
    pub(crate) settings: Settings,
    pub(crate) people: P,
    pub(crate) store: S,
    pub(crate) keys: K,
    pub(crate) limits: Limits,
    events: Events,
    fetches: Fetches,
    pub(crate) providers: Providers,
    time: Time,
}

/// A request whose body was read.
pub(crate) struct Read {
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    pub(crate) address: Option<IpAddr>,
    pub(crate) now: Seconds,
}

/// The second factor that a sign-in needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    /// A code of this factor.
    Code(Box<Factor>),
    /// The person has none and must set it up.
    SetUp,
}

/// Endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endpoint {
    ServerDocument,
    OpenIdDocument,
    ResourceDocument,
    Keys,
    Register,
    Token,
    Revoke,
    Authorize,
    Login,
    SecondFactor,
    Consent,
    Logout,
    Account,
    DeviceAuthorization,
    Device,
    Upstream,
    UpstreamCallback,
    /// An invitation, or a new password.
    Ticket,
}

// === impl Endpoint ===

impl Endpoint {
    /// Returns the endpoint of a path.
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            documents::SERVER => Self::ServerDocument,
            documents::OPENID => Self::OpenIdDocument,
            documents::KEYS => Self::Keys,
            "/oauth/register" | "/register" => Self::Register,
            "/oauth/token" | "/token" => Self::Token,
            "/oauth/revoke" => Self::Revoke,
            "/oauth/authorize" | "/authorize" => Self::Authorize,
            "/oauth/login" => Self::Login,
            "/oauth/second-factor" => Self::SecondFactor,
            "/oauth/consent" => Self::Consent,
            "/oauth/logout" => Self::Logout,
            "/oauth/account" => Self::Account,
            "/oauth/device_authorization" => Self::DeviceAuthorization,
            "/oauth/device" => Self::Device,
            "/oauth/reset" => Self::Ticket,
            path if path.starts_with(INVITES) => Self::Ticket,
            path if path.starts_with(UPSTREAM) => {
                let rest = &path[UPSTREAM.len()..];
                let is_callback = rest.ends_with(CALLBACK);
                let name = rest.strip_suffix(CALLBACK).unwrap_or(rest);
                let endpoint = if is_callback {
                    Self::UpstreamCallback
                } else {
                    Self::Upstream
                };
                return (!name.is_empty() && !name.contains('/')).then_some(endpoint);
            }
            path => {
                let rest = path.strip_prefix(documents::RESOURCE)?;
                let is_path = rest.is_empty() || rest.starts_with('/');
                return is_path.then_some(Self::ResourceDocument);
            }
        })
    }

    /// Returns whether programs call it, from any page.
    fn is_machine(self) -> bool {
        !matches!(
            self,
            Self::Authorize
                | Self::Login
                | Self::SecondFactor
                | Self::Consent
                | Self::Logout
                | Self::Account
                | Self::Device
                | Self::Upstream
                | Self::UpstreamCallback
                | Self::Ticket
        )
    }

    fn methods(self) -> &'static [Method] {
        match self {
            Self::ServerDocument
            | Self::OpenIdDocument
            | Self::ResourceDocument
            | Self::Keys
            | Self::Authorize => &[Method::GET, Method::HEAD],
            // Each request to them counts, so that a program that looks first would use the answer up.
            Self::Upstream | Self::UpstreamCallback => &[Method::GET],
            Self::Account | Self::Device | Self::Ticket => {
                &[Method::GET, Method::HEAD, Method::POST]
            }
            _ => &[Method::POST],
        }
    }
}

// === impl SignIn ===

impl<P: People, S: Store, K: Keys> SignIn<P, S, K> {
    /// Creates an authorization server.
    ///
    /// # Errors
    /// Fails if a setting cannot be used.
    pub fn new(settings: Settings, people: P, store: S, keys: K) -> Result<Self, SettingsError> {
        Self::with_time(settings, people, store, keys, || System.date().as_secs())
    }

    /// Creates an authorization server with another clock, for tests.
    ///
    /// # Errors
    /// Fails as [`new`](Self::new).
    pub fn with_time(
        settings: Settings,
        people: P,
        store: S,
        keys: K,
        now: impl Fn() -> Seconds + Send + Sync + 'static,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let time = Time(Arc::new(now));
        let shared = Shared {
            settings,
            people,
            store,
            keys,
            limits: Limits::new(&time),
            events: Events::default(),
            fetches: Fetches::default(),
            providers: Providers::default(),
            time,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Gives events to a function instead of the log, with the extensions of the request that they
    /// happened in. It is called within requests, so it must not wait.
    ///
    /// The first function of a server and its clones stays.
    #[must_use]
    pub fn with_events(
        self,
        take: impl Fn(&Event<'_>, &Extensions) + Send + Sync + 'static,
    ) -> Self {
        self.shared.events.set(take);
        self
    }

    /// Returns whether a password of a person opens nothing alone. A program asks it at its other
    /// entrances, and refuses a right password there.
    ///
    /// # Errors
    /// Fails if the store cannot be asked.
    pub async fn needs_second_factor(&self, person: &str) -> Result<bool, Unavailable> {
        Ok(self.shared.due_factor(person).await? != Due::Nothing)
    }

    /// Fetches the documents of clients, if [`Registration::fetch`](crate::Registration::fetch) is
    /// on. Without a fetcher, clients with a document are those that are built in.
    ///
    /// The first fetcher of a server and its clones stays.
    #[must_use]
    pub fn with_fetch(self, fetch: impl FetchDocument) -> Self {
        self.shared.fetches.set(fetch);
        self
    }

    /// Asks the providers in the settings with this. Without it no person can sign in there.
    ///
    /// The first way of a server and its clones stays.
    #[must_use]
    pub fn with_providers(self, ask: impl AskProvider) -> Self {
        self.shared.providers.set(ask);
        self
    }

    /// Fetches the documents of all providers. A program does it at its start, so that the log names a
    /// provider that cannot be reached.
    pub async fn fetch_providers(&self) {
        let (shared, now) = (&self.shared, self.shared.time.now().as_secs());
        let logins = shared.settings.upstreams.iter().map(Signer::Login);
        let assertions = shared.settings.identity_assertion.iter();
        for signer in logins.chain(assertions.map(Signer::Assertion)) {
            shared.providers.documents(signer, false, now).await;
        }
    }

    /// Returns whether a path is served here.
    #[must_use]
    pub fn serves(path: &str) -> bool {
        Endpoint::of(path).is_some()
    }
}

impl<P, S, K> Clone for SignIn<P, S, K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<P, S, K> fmt::Debug for SignIn<P, S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignIn")
            .field("issuer", &self.shared.settings.issuer)
            .finish_non_exhaustive()
    }
}

impl<P, S, K, B> Service<Request<B>> for SignIn<P, S, K>
where
    P: People,
    S: Store,
    K: Keys,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move { Ok(shared.answer(request).await) })
    }
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    async fn answer<B>(&self, request: Request<B>) -> Answer
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let Some(endpoint) = Endpoint::of(parts.uri.path()) else {
            return empty(StatusCode::NOT_FOUND);
        };
        let is_for_devices = matches!(endpoint, Endpoint::DeviceAuthorization | Endpoint::Device);
        if is_for_devices && self.settings.device_clients.is_empty() {
            return empty(StatusCode::NOT_FOUND);
        }
        let methods = endpoint.methods();
        if endpoint.is_machine() && parts.method == Method::OPTIONS {
            return preflight(methods);
        }
        if !methods.contains(&parts.method) {
            let allow = joined(methods);
            return with_header(empty(StatusCode::METHOD_NOT_ALLOWED), ALLOW, &allow);
        }
        let Ok(body) = Limited::new(body, LONGEST_BODY).collect().await else {
            return empty(StatusCode::PAYLOAD_TOO_LARGE);
        };
        let read = self.read(parts, body.to_bytes());
        if endpoint.is_machine() {
            self.answer_program(endpoint, &read).await
        } else {
            self.answer_browser(endpoint, &read).await
        }
    }

    async fn answer_program(&self, endpoint: Endpoint, read: &Read) -> Answer {
        let is_fetching = self.is_fetching();
        match endpoint {
            Endpoint::ServerDocument => {
                kept(document(&documents::server(&self.settings, is_fetching)))
            }
            Endpoint::OpenIdDocument => {
                kept(document(&documents::openid(&self.settings, is_fetching)))
            }
            Endpoint::ResourceDocument => self.resource(read),
            Endpoint::Keys => self.published(),
            Endpoint::Register => self.register(read).await,
            Endpoint::Token => self.token(read).await,
            Endpoint::Revoke => self.revoke(read).await,
            Endpoint::DeviceAuthorization => self.device_authorization(read).await,
            _ => empty(StatusCode::NOT_FOUND),
        }
    }

    async fn answer_browser(&self, endpoint: Endpoint, read: &Read) -> Answer {
        let is_post = read.parts.method == Method::POST;
        match endpoint {
            Endpoint::Authorize => self.authorize(read).await,
            Endpoint::Login => self.login(read).await,
            Endpoint::SecondFactor => self.second_factor(read).await,
            Endpoint::Consent => self.consent(read).await,
            Endpoint::Logout => self.logout(read).await,
            Endpoint::Account if is_post => self.change_account(read).await,
            Endpoint::Account => self.account(read).await,
            Endpoint::Device if is_post => self.choose_device(read).await,
            Endpoint::Device => self.device(read),
            Endpoint::Upstream | Endpoint::UpstreamCallback => self.upstream(read).await,
            Endpoint::Ticket if is_post => self.redeem_ticket(read).await,
            Endpoint::Ticket => self.ticket(read).await,
            _ => empty(StatusCode::NOT_FOUND),
        }
    }

    fn resource(&self, read: &Read) -> Answer {
        let path = read.parts.uri.path();
        let path = path.strip_prefix(documents::RESOURCE).unwrap_or_default();
        match documents::resource(&self.settings, path) {
            Some(found) => kept(document(&found)),
            None => empty(StatusCode::NOT_FOUND),
        }
    }

    fn published(&self) -> Answer {
        match serde_json::from_str(&self.keys.published()) {
            Ok(keys) => kept(document(&keys)),
            Err(_) => empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    /// Returns the second factor that a person has to give or set up.
    pub(crate) async fn due_factor(&self, person: &str) -> Result<Due, Unavailable> {
        let setting = self.settings.second_factor;
        if setting == SecondFactor::Off {
            return Ok(Due::Nothing);
        }
        Ok(match self.store.factor(person).await? {
            Some(factor) => Due::Code(Box::new(factor)),
            None if setting == SecondFactor::Required => Due::SetUp,
            None => Due::Nothing,
        })
    }

    /// Returns a request of this moment.
    pub(crate) fn read(&self, parts: Parts, body: Bytes) -> Read {
        Read {
            body,
            address: parts.extensions.get::<ClientIp>().map(ClientIp::client),
            now: self.time.now().as_secs(),
            parts,
        }
    }

    /// Records an event of a request.
    pub(crate) fn record(&self, read: &Read, event: Event<'_>) {
        let event = Event {
            address: read.address,
            ..event
        };
        self.events.take(&event, &read.parts.extensions);
    }
}

/// Lets caches keep a document for some minutes.
fn kept(answer: Answer) -> Answer {
    with_header(answer, CACHE_CONTROL, "public, max-age=300")
}

/// Answers the question of a browser whether a page may call an endpoint.
fn preflight(methods: &[Method]) -> Answer {
    let mut answer = empty(StatusCode::NO_CONTENT);
    let headers = answer.headers_mut();
    for (name, value) in [
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type, MCP-Protocol-Version",
        ),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    with_header(answer, ACCESS_CONTROL_ALLOW_METHODS, &joined(methods))
}

fn joined(methods: &[Method]) -> String {
    let names: Vec<_> = methods.iter().map(Method::as_str).collect();
    names.join(", ")
}
