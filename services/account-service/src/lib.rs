//! Accounts: tenants, their members, and API clients that act for them.
//!
//! A client exchanges its id and secret for a signed token, which other servers can verify without
//! a request to this one. The contents of a [`Store`] are managed over HTTP ([`service`]), or
//! directly by administrators with access to the store.
//!
//! ```
//! use http::Request;
//! use tower::ServiceExt as _;
//! use ziggurat_sign_in_state::KeyFile;
//! use ziggurat_account_service::{
//!     self as platform, Options, Store, TokenSettings, Tokens,
//! };
//! use ziggurat_tokens::WallClock;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let store = Store::open(folder.path()).await?;
//! let settings = TokenSettings::new("https://accounts.example");
//! let tokens = Tokens::new(KeyFile::open(folder.path())?, settings, WallClock::default());
//! let service = platform::service(store, tokens, &Options::default());
//!
//! let request = Request::get("/account/v1/clients").body(axum::body::Body::empty())?;
//! let response = service.oneshot(request).await?;
//! assert_eq!(response.status(), 401);
//! # Ok(())
//! # }
//! ```
//!
//! # Required layers
//!
//! The program limits the size of bodies, determines the client address, numbers requests, and
//! turns panics into responses. Layers that render errors use [`ErrorFormat`].

mod authentication;
mod error;
#[cfg(test)]
mod fixture;
mod grants;
#[cfg(feature = "test-support")]
mod hooks;
mod id;
mod idempotency;
mod input;
mod oauth;
mod people;
mod record;
mod reply;
mod resources;
mod role;
mod rules;
mod store;
#[cfg(test)]
mod tests;
mod token;
mod traces;
mod unix_time;
mod well_known;

use axum::{Router, routing::get};
use utoipa::{OpenApi as _, openapi::OpenApi};
use ziggurat_http::Document;
use ziggurat_sign_in_state::SignInStore;
use ziggurat_telemetry::traces::Tracer;
use ziggurat_tokens::WallClock;

#[cfg(feature = "test-support")]
pub use self::hooks::Hooks;
pub use self::{
    error::AccountError,
    grants::{Grants, PersonGrant},
    id::{Id, InvalidId},
    oauth::{Attempts, EXCHANGE},
    people::Members,
    record::{ApiClient, Invite, Membership, Tenant, User},
    reply::ErrorFormat,
    role::Role,
    store::{
        AccountCounts, ClientDraft, CreatedClient, CreatedInvite, Credential, InviteDraft, Limits,
        Owner, Revocation, Store, TenantDraft,
    },
    token::{Principal, TokenSettings, Tokens},
    unix_time::UnixTime,
    well_known::{METADATA, REVOCATIONS},
};

/// Path of the public OpenAPI document.
pub const DESCRIPTION: &str = "/account/v1/openapi.json";

/// Options of the service.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Limits on failed exchanges of secrets.
    pub attempts: Attempts,
    /// Clock that measures the time of failed exchanges.
    pub clock: WallClock,
    /// The OpenAPI document as JSON.
    pub document: &'static str,
    /// Grants of people, if they sign in here.
    pub sign_in: Option<SignInStore>,
    /// Tracer that begins a span for each request.
    pub tracer: Tracer,
}

/// Builds the OpenAPI document, without the endpoints for servers that trust this service.
#[must_use]
pub fn description() -> OpenApi {
    let mut all = oauth::Description::openapi();
    for area in resources::descriptions() {
        all.merge(area);
    }
    all
}

/// Builds the service for accounts.
pub fn service(store: Store, tokens: Tokens, options: &Options) -> Router {
    let (attempts, clock) = (options.attempts, &options.clock);
    let exchange = oauth::routes(store.clone(), tokens.clone(), attempts, clock);
    let document = Document::new("application/json", options.document);
    let known = resources::routes(&store, options, tokens.issuer())
        .merge(described("/account/v1/open-api", document.clone()));
    let public = described(DESCRIPTION, document)
        .merge(exchange)
        .merge(well_known::routes(store.clone(), tokens.clone()));
    let tracer = &options.tracer;
    // Within the authentication, because only callers with a token decide about traces.
    traces::traced(known, tracer, true)
        // Added before the fallback, so that unknown paths get 404 without authentication.
        .route_layer(authentication::layer(store, tokens))
        .merge(traces::traced(public, tracer, false))
        .fallback(async || reply::no_route())
}

fn described(path: &str, document: Document) -> Router {
    let here = get(document).fallback(async || reply::no_method());
    Router::new().route(path, here)
}
