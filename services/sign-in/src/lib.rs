//! An OAuth 2.1 authorization server for MCP servers, as a tower service.
//!
//! A person gives a client the bare address of a server. The client finds the documents here,
//! registers itself, and sends the browser of the person to the pages: sign-in and consent. It comes
//! back with a code, which it exchanges for an access token (RFC 9068) and a refresh token.
//!
//! [`SignIn`] is a `Service<Request<B>>` over three traits: [`People`] knows the accounts, [`Store`]
//! keeps what must be kept, and [`Keys`] signs. [`MemoryStore`] and [`OwnKeys`] do for one process
//! that may forget.
//!
//! ```
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::Full;
//! use std::net::IpAddr;
//! use tower::ServiceExt as _;
//! use ziggurat_mcp_auth::{
//!     LoginError, MemoryStore, OwnKeys, People, Person, Resource, Settings, SignIn, Unavailable,
//! };
//!
//! struct Ann;
//!
//! impl People for Ann {
//!     async fn authenticate(
//!         &self,
//!         name: &str,
//!         password: &str,
//!         _: Option<IpAddr>,
//!     ) -> Result<String, LoginError> {
//!         // Compare a slow digest in earnest.
//!         let is_ann = name == "ann" && password == "correct horse battery staple";
//!         if is_ann { Ok("1".to_owned()) } else { Err(LoginError::Wrong) }
//!     }
//!
//!     async fn find(&self, id: &str) -> Result<Option<Person>, Unavailable> {
//!         let is_ann = id == "1";
//!         Ok(is_ann.then(|| Person::new(id, "ann")))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let settings = Settings {
//!     issuer: "https://notes.example".to_owned(),
//!     resources: vec![Resource::new("https://notes.example/mcp", "Notes")],
//!     ..Settings::default()
//! };
//! let sign_in = SignIn::new(settings, Ann, MemoryStore::default(), OwnKeys::new()?)?;
//! let path = "/.well-known/oauth-authorization-server";
//! let answer = sign_in.oneshot(Request::get(path).body(Full::<Bytes>::default())?).await?;
//! assert!(answer.status().is_success());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Deployment
//!
//! - Serve its paths ([`SignIn::serves`]) at the public address in [`Settings::issuer`], behind a
//!   limit on requests of an address. Nothing but the paths of programs needs another origin.
//! - Add the address of the client ([`ClientIp`](ziggurat_layers::client_ip::ClientIp)) to each
//!   request. The limits count by it, in each process for itself; all requests without an address
//!   share one limit.
//! - The server behind checks tokens with the layer `access_token` of `ziggurat-layers`. In the same
//!   process its `Fetch` is the [`SignIn`] itself. It answers
//!   each call without a good token with 401 and `resource_metadata`.

mod answer;
mod authorize;
mod browser;
mod clients;
mod documents;
mod events;
mod flow;
mod form;
mod keys;
mod own_documents;
mod pages;
mod people;
mod providers;
mod service;
mod settings;
mod store;
#[cfg(test)]
mod tests;
mod token;

pub use self::{
    clients::{Method, StoredClient},
    events::{Event, EventKind},
    keys::{KeyError, Keys, OwnKeys, Seal},
    people::{
        ClientToken, Database, Given, LoginError, Newcomer, PasswordChange, PasswordChangeError,
        People, Person, Tenant, Ticket, TicketError, TicketHolder, Unavailable,
    },
    providers::{
        AskProvider,
        configured::{
            ClaimRules, ClaimValue, ClientSecret, IdentityAssertion, Mapped, MappingRule,
            Provision, Upstream,
        },
    },
    service::{FetchDocument, SignIn},
    settings::{
        CONSOLE, ManualClient, NamedScope, Page, Registration, Resource, SecondFactor, Settings,
        SettingsError,
    },
    store::{
        Attempt, Code, Consent, Device, Digest, Factor, GivenConsent, Grant, GrantId, KeptDocument,
        Link, Origin, Polled, Rotated, Rotation, Seconds, Session, Store, UsedCode, Why,
        memory::MemoryStore,
    },
    token::{ConsoleCode, ConsoleLogin},
};
