//! Tokens of callers: API tokens, access tokens of an issuer, and the identity that a token proves.
//!
//! Programs use API tokens, which an administrator creates and a [`TokenFile`] keeps as digests;
//! [`ApiTokens`] verifies them. Tokens of an [`issuer`] are verified by its public keys. Each
//! proves an [`Identity`]: who calls, in the words of configurations, records and limits. Passwords
//! and sessions belong to another crate, which gives its users an identity, too.
//!
//! ```
//! use jiff::SignedDuration;
//! use secrecy::ExposeSecret as _;
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::bearer::BearerLayer;
//! use ziggurat_tokens::{ApiTokens, Identity, NewToken, TokenFile, WallClock, issuer::{Issuer, TokenVerifier}};
//!
//! # tokio_test::block_on(async {
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("tokens.yaml");
//! let clock = WallClock::default();
//! let made = TokenFile::new(&path).add(NewToken::default(), clock.now())?;
//!
//! let tokens = ApiTokens::open(path, true, SignedDuration::ZERO, clock, |_| {})?;
//! let service = ServiceBuilder::new()
//!     .layer(BearerLayer::new(TokenVerifier::new(Some(tokens), None::<Issuer>)))
//!     .service(service_fn(|request: http::Request<()>| async move {
//!         let identity: &Identity = request.extensions().get().expect("behind the layer");
//!         let answer = bytes::Bytes::from(identity.name().to_owned());
//!         Ok::<_, std::convert::Infallible>(http::Response::new(answer))
//!     }));
//! let token = format!("Bearer {}", made.token.expose_secret());
//! let request = http::Request::get("/").header("authorization", token).body(())?;
//! let response = service.oneshot(request).await?;
//! assert_eq!(response.body(), &made.record.id);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Files
//!
//! Administrators and other programs may change the files at any time. A [`Watch`] applies their
//! changes. Unknown members are kept, comments are not.

mod api_tokens;
mod caller_id;
mod caller_names;
mod claims;
mod clock;
mod commands;
mod expiry;
mod fact;
pub mod file;
mod grant;
mod identities;
mod identity;
pub mod issuer;
mod local;
pub mod secret;
mod tokens;
mod watch;
mod watched_file;
pub mod yaml;

pub use self::{
    api_tokens::{ApiTokens, OpenError},
    caller_id::{CallerDigest, CallerId},
    caller_names::CallerNames,
    claims::{Claim, ClaimError, Claims, KeptClaims, MAX_CLAIMS, NewClaims, is_claim_name},
    clock::WallClock,
    commands::{CommandError, TokenCommand, TokenOptions, TokenTargets, push_claims},
    expiry::{Expiry, InvalidExpiry},
    fact::{CallerFacts, Fact},
    grant::Grant,
    identities::Identities,
    identity::{Account, Holder, Identity, Selection},
    local::{Local, LocalCaller},
    tokens::{CreatedToken, NewToken, TokenError, TokenFile, TokenRecord, whole_seconds},
    watch::{Watch, Watched},
    watched_file::{WatchedFile, log_reload},
};
