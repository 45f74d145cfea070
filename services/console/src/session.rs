//! `/api/console/session`: signing in to the console with a browser, and out of it.

mod browser;

use std::{ops::Not, pin::Pin, sync::Arc};

use axum::{
    Extension, Json, Router,
    extract::{FromRequest as _, Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::{
    OpenApi, ToSchema,
    openapi::{Object, ObjectBuilder, schema::Type},
};
use ziggurat_accounts::{Accounts, CookieHalf, Session, TokenHalves};
use ziggurat_http::{ErrorAndCode, Payload};
use ziggurat_layers::{
    bearer::{Denied, TokenHash, Verify},
    body_limit::BodyLimitLayer,
    client_ip::ClientIp,
};
use ziggurat_tokens::Identity;

pub use self::browser::{BrowserCode, BrowserSignIn, OpenedSession};
use crate::{
    halves::KEY,
    refusals::{self, Refusal},
    sites::{Cookie, Problem, Site, Sites},
};

/// Limit on the body of a sign-in; a name and a password need much less.
const MAX_BYTES: u64 = 64 << 10;

/// OpenAPI description of this area.
#[derive(Debug, OpenApi)]
#[openapi(paths(show, sign_in, sign_out))]
pub struct Description;

/// Signs browsers in and out. Clones share everything.
#[derive(Clone)]
pub struct SignIn(Arc<Parts>);

struct Parts {
    sites: Sites,
    accounts: Option<Accounts>,
    verifier: Option<Box<VerifyToken>>,
    browser: Option<BrowserSignIn>,
    server: Server,
    facts: Box<FactsOf>,
}

/// Verifies a token of any kind that the server knows.
type VerifyToken = dyn Fn(&str) -> VerifyTokenFuture + Send + Sync;

type VerifyTokenFuture = Pin<Box<dyn Future<Output = Result<Identity, Denied>> + Send>>;

type FactsOf = dyn Fn(Option<&Identity>) -> Facts + Send + Sync;

/// Parts and limits of a server for a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Parts of the server that are switched on, and that the caller may use.
    pub features: Features,
    /// Limits on the rows of a query.
    pub limits: RowLimits,
}

/// Parts of the server that are switched on, and that the caller may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ConsoleFeatures)]
#[expect(clippy::struct_excessive_bools, reason = "each is a part of its own")]
pub struct Features {
    /// Chats with models.
    pub llm: bool,
    /// Embeddings.
    pub embedding: bool,
    /// Search in documents.
    pub knowledgebase: bool,
    /// Stored conversations.
    pub conversations: bool,
    /// Stored queries and prompts.
    pub library: bool,
    /// An audit trail that can be read.
    pub audit: bool,
    /// Receipts of answers; left out if the server has no key for them.
    #[serde(skip_serializing_if = "Not::not")]
    pub receipts: bool,
}

/// Limits on the rows of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ConsoleRowLimits)]
pub struct RowLimits {
    /// Rows that a tool returns if its call names no limit.
    pub row_limit: u32,
    /// Maximum number of rows of a query.
    pub max_rows: u32,
    /// Maximum number of rows of an export; 0 if there are none.
    pub max_export_rows: u32,
}

/// Name and version of the server.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = ConsoleServer)]
struct Server {
    name: &'static str,
    /// Left out as long as the caller is not signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
}

/// State of a caller.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ConsoleState)]
enum CallerState {
    SignedIn(Box<CallerSession>),
    SignedOut(SignedOut),
}

/// A caller who is signed in, or needs no sign-in.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConsoleSession)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct CallerSession {
    /// Always true.
    #[schema(schema_with = only::<true>)]
    signed_in: bool,
    /// Is true if the server asks for a sign-in.
    auth: bool,
    /// `user`, `token`, `client`, or `open` without authentication.
    kind: &'static str,
    /// Name of the user.
    user: Option<String>,
    /// Is true if the user administers the server.
    admin: bool,
    /// Time of the sign-in; null for what is no session.
    #[schema(value_type = Option<String>, format = DateTime)]
    signed_in_at: Option<Timestamp>,
    /// Time at which the session or the token ends; null if it does not, or if its issuer decides.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Is true if the page can go on to the browser sign-in of this server; else left out.
    #[serde(skip_serializing_if = "Not::not")]
    browser_sign_in: bool,
    server: Server,
    features: Features,
    limits: RowLimits,
    /// Half of the session token, for the header `Ziggurat-Console`. Only in the answer to a
    /// sign-in.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

/// A caller who is not signed in.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConsoleSignedOut)]
struct SignedOut {
    /// Always false.
    #[schema(schema_with = only::<false>)]
    signed_in: bool,
    /// Is true if the server asks for a sign-in.
    auth: bool,
    /// Is true if the page can go on to the browser sign-in of this server; else left out.
    #[serde(skip_serializing_if = "Not::not")]
    browser_sign_in: bool,
    server: Server,
    /// Reason why no browser can sign in here: `https_required`, `public_url_missing`, or null.
    problem: Option<&'static str>,
}

/// A name and a password, an API token, or the code that a browser came back with.
#[derive(Deserialize, ToSchema)]
#[schema(as = ConsoleCredentials)]
struct Credentials {
    /// Name of the user, with `password`.
    username: Option<String>,
    /// Password of the user.
    #[schema(value_type = Option<String>, format = Password)]
    password: Option<SecretText>,
    /// API token, in place of both.
    #[schema(value_type = Option<String>, format = Password)]
    token: Option<SecretText>,
    /// Code of the browser sign-in, with `verifier` and `redirect_uri`.
    #[schema(value_type = Option<String>, format = Password)]
    code: Option<SecretText>,
    /// Verifier of the request for the code.
    #[schema(value_type = Option<String>, format = Password)]
    verifier: Option<SecretText>,
    /// Address of the page that the browser came back to.
    redirect_uri: Option<String>,
}

/// One of the ways to sign in.
enum Way {
    Password(String, SecretString),
    Token(SecretString),
    Browser(BrowserCode),
}

/// A text that is never shown.
#[derive(Deserialize)]
#[serde(from = "String")]
struct SecretText(SecretString);

/// Digest of the token of a request.
#[derive(Clone, Copy)]
struct Presented(TokenHash);

// === impl SignIn ===

impl SignIn {
    /// Signs in the users and tokens of these accounts, or needs no sign-in without any. `facts`
    /// returns what the server offers to a caller. Browsers also come from a sign-in of this server,
    /// if it has one.
    #[must_use]
    pub fn new(
        (name, version): (&'static str, &'static str),
        sites: Sites,
        accounts: Option<(
            Accounts,
            impl Verify<Identity = Identity, Future: Send + 'static> + Send + Sync + 'static,
        )>,
        browser: Option<BrowserSignIn>,
        facts: impl Fn(Option<&Identity>) -> Facts + Send + Sync + 'static,
    ) -> Self {
        let (accounts, verifier) = accounts.unzip();
        let verifier = verifier.map(|verifier| -> Box<VerifyToken> {
            Box::new(move |token| Box::pin(verifier.verify(token)))
        });
        let version = Some(version);
        Self(Arc::new(Parts {
            sites,
            accounts,
            verifier,
            browser,
            server: Server { name, version },
            facts: Box::new(facts),
        }))
    }

    /// Returns the routes of this area. They refuse no caller for a missing token: `around` gets
    /// them with the [`Identity`] of a valid one in the extensions of the request.
    pub fn routes(self, around: impl FnOnce(Router) -> Router) -> Router {
        let methods = get(show).post(sign_in).delete(sign_out);
        let routes = Router::new()
            .route("/api/console/session", methods)
            .with_state(self.clone());
        around(routes)
            .layer(BodyLimitLayer::new(MAX_BYTES))
            .layer(from_fn_with_state(self, identify))
    }

    fn signed_in(
        &self,
        identity: Option<&Identity>,
        site: Option<&Site>,
        key: Option<String>,
    ) -> CallerSession {
        let Facts { features, limits } = (self.0.facts)(identity);
        CallerSession {
            signed_in: true,
            auth: self.0.accounts.is_some(),
            kind: identity.map_or("open", Identity::kind),
            user: identity.and_then(Identity::user).map(str::to_owned),
            admin: identity.is_some_and(Identity::is_admin),
            signed_in_at: identity.and_then(Identity::signed_in_at),
            expires_at: identity.and_then(Identity::expires_at),
            browser_sign_in: self.has_browser_sign_in(site),
            server: self.0.server,
            features,
            limits,
            key,
        }
    }

    /// Returns whether the page of a site can go on to the browser sign-in, which sends it back to one
    /// address.
    fn has_browser_sign_in(&self, site: Option<&Site>) -> bool {
        let browser = self.0.browser.as_ref();
        browser
            .zip(site)
            .is_some_and(|(browser, site)| site.has_origin(browser.origin()))
    }

    /// Returns the site of a request that may sign in.
    fn admit(&self, request: &Request) -> Result<&Site, Refusal> {
        let sites = &self.0.sites;
        if sites.problem() == Some(Problem::HttpsRequired) {
            return Err(refusals::https_required());
        }
        let has_header = request.headers().contains_key(KEY);
        let site = sites.of(request).ok();
        site.filter(|_| has_header && sites.admit(request))
            .ok_or_else(refusals::foreign_origin)
    }
}

impl std::fmt::Debug for SignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignIn")
            .field("sites", &self.0.sites)
            .finish_non_exhaustive()
    }
}

// === impl Credentials ===

impl Credentials {
    /// Returns the way to sign in, if it is exactly one.
    fn way(self) -> Option<Way> {
        let browser = (self.code, self.verifier, self.redirect_uri);
        Some(match (self.username, self.password, self.token, browser) {
            (None, None, Some(SecretText(token)), (None, None, None)) => Way::Token(token),
            (Some(username), Some(SecretText(password)), None, (None, None, None))
                if !username.is_empty() && !password.expose_secret().is_empty() =>
            {
                Way::Password(username, password)
            }
            (None, None, None, (Some(code), Some(verifier), Some(redirect_uri))) => {
                Way::Browser(BrowserCode {
                    code: code.0,
                    verifier: verifier.0,
                    redirect_uri,
                })
            }
            _ => return None,
        })
    }
}

// === impl SecretText ===

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// Finds the identity of a request. An invalid token is refused; the cookie of a session that has
/// ended is like none, because a page asks for the state of its session with it.
async fn identify(State(sign_in): State<SignIn>, mut request: Request, next: Next) -> Response {
    let verification = match (&sign_in.0.verifier, bearer(request.headers())) {
        (Some(verifier), Some(token)) => Some((TokenHash::of(token), verifier(token))),
        _ => None,
    };
    let mut refusal = None;
    if let Some((token, verification)) = verification {
        match verification.await {
            Ok(identity) => {
                request.extensions_mut().insert(identity);
                request.extensions_mut().insert(Presented(token));
            }
            Err(Denied::Unavailable) => refusal = Some(refusals::unavailable()),
            Err(_) if request.extensions().get::<CookieHalf>().is_some() => {}
            Err(_) => refusal = Some(refusals::denied()),
        }
    }
    let mut response = match refusal {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    let no_store = HeaderValue::from_static("no-store");
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, no_store);
    response
}

/// Describes a member with one value, which tells the two states apart.
fn only<const VALUE: bool>() -> Object {
    let schema = ObjectBuilder::new().schema_type(Type::Boolean);
    schema.enum_values(Some([VALUE])).build()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the state of the caller
///
/// No caller is refused for a missing token.
#[utoipa::path(get, path = "/api/console/session", tag = "Console",
    operation_id = "console_session", security(()),
    responses((status = 200, description = "The state of the caller", body = CallerState)),
)]
async fn show(
    State(sign_in): State<SignIn>,
    identity: Option<Extension<Identity>>,
    request: Request,
) -> Json<CallerState> {
    let identity = identity.map(|Extension(identity)| identity);
    let parts = &*sign_in.0;
    let site = parts.sites.of(&request);
    let problem = site.as_ref().err().copied().map(Problem::as_str);
    let site = site.ok();
    Json(if identity.is_some() || parts.accounts.is_none() {
        CallerState::SignedIn(Box::new(sign_in.signed_in(identity.as_ref(), site, None)))
    } else {
        CallerState::SignedOut(SignedOut {
            signed_in: false,
            auth: true,
            browser_sign_in: sign_in.has_browser_sign_in(site),
            server: Server {
                version: None,
                ..parts.server
            },
            problem,
        })
    })
}

/// Signs a browser in
///
/// The session token is sent in two halves: a cookie, and `key` for the header `Ziggurat-Console`.
/// The request needs that header too, empty.
#[utoipa::path(post, path = "/api/console/session", tag = "Console",
    operation_id = "console_sign_in", security(()), request_body = Credentials,
    responses(
        (status = 200, description = "The browser is signed in", body = CallerSession),
        (status = 400, description = "The body has no name and password, no token and no code"),
        (status = 401, description = "The password, the token or the code is wrong, or the account \
            is disabled"),
        (status = 403, description = "The cookie would travel unencrypted, the request is not of \
            the console of this server, or the account needs the browser sign-in"),
        (status = 404, description = "The server needs no sign-in"),
        (status = 429, description = "Too many logins from this address have failed"),
        (status = 503, description = "No session can be opened at the moment"),
    ),
)]
async fn sign_in(State(sign_in): State<SignIn>, request: Request) -> Result<Response, Refusal> {
    let parts = &*sign_in.0;
    let (Some(accounts), Some(verifier)) = (&parts.accounts, &parts.verifier) else {
        return Err(Refusal::not_found());
    };
    let site = sign_in.admit(&request)?;
    let client = request.extensions().get().map(ClientIp::client);
    let extensions = request.extensions().clone();
    let payload = Payload::<ErrorAndCode>::from_request(request, &()).await?;
    let credentials: Credentials = payload.object().map_err(|_| refusals::bad_request())?;
    let session = match credentials.way().ok_or_else(refusals::bad_request)? {
        Way::Token(token) => accounts.exchange(&token).await,
        Way::Password(username, password) => accounts.login(&username, password, client).await,
        Way::Browser(code) => {
            let browser = parts.browser.as_ref().ok_or_else(refusals::bad_request)?;
            let opened = browser.open(code, extensions).await;
            opened.transpose().ok_or_else(refusals::bad_code)?
        }
    };
    let Session { token, .. } = session.map_err(refusals::login)?;
    let identity = verifier(token.expose_secret()).await;
    let identity = identity.map_err(|_| refusals::unavailable())?;
    let halves = TokenHalves::of(&token).ok_or_else(refusals::unavailable)?;
    let key = halves.key.expose_secret().to_owned();
    let answer = sign_in.signed_in(Some(&identity), Some(site), Some(key));
    let mut response = Json(answer).into_response();
    let half = halves.cookie.expose_secret();
    if let Some(value) = set_cookie(&site.cookie, half, "") {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    Ok(response)
}

/// Signs a browser out
///
/// Its session ends. Without a session nothing happens.
#[utoipa::path(delete, path = "/api/console/session", tag = "Console",
    operation_id = "console_sign_out", security(()),
    responses(
        (status = 204, description = "The browser is signed out"),
        (status = 503, description = "The session cannot be ended at the moment"),
    ),
)]
async fn sign_out(
    State(sign_in): State<SignIn>,
    presented: Option<Extension<Presented>>,
    request: Request,
) -> Result<Response, Refusal> {
    let parts = &*sign_in.0;
    if let (Some(accounts), Some(Extension(Presented(token)))) = (&parts.accounts, presented) {
        accounts.log_out(token).await.map_err(refusals::login)?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    // A page of another site must not sign the browser out.
    if let Ok(site) = sign_in.admit(&request)
        && let Some(value) = set_cookie(&site.cookie, "", "; Max-Age=0")
    {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    Ok(response)
}

fn set_cookie(cookie: &Cookie, value: &str, more: &str) -> Option<HeaderValue> {
    let Cookie { name, is_secure } = cookie;
    let secure = if *is_secure { "; Secure" } else { "" };
    let text = format!("{name}={value}{secure}; HttpOnly; SameSite=Strict; Path=/{more}");
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
