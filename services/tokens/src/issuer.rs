//! Validates signed tokens of an external issuer without a request to it.
//!
//! An [`Issuer`] is an OAuth authorization server. Its tokens are checked by the rules of
//! [`access_token`](ziggurat_layers::access_token). Here are the settings of this product, and the
//! [`Identity`] that a token proves.
//!
//! ```
//! use ziggurat_layers::bearer::{Denied, Verify as _};
//! use ziggurat_tokens::issuer::{Issuer, Settings};
//!
//! # tokio_test::block_on(async {
//! let settings = Settings {
//!     issuer: "https://accounts.example".into(),
//!     audience: vec!["https://tools.example/mcp".into()],
//!     ..Settings::default()
//! };
//! let issuer = Issuer::new(settings, |session| println!("{session} is over"))?;
//! assert_eq!(issuer.verify("no.such.token").await, Err(Denied::Invalid));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Valid tokens
//!
//! A token must be signed with RS256, ES256 or `EdDSA` by a key of the issuer. It must name this
//! issuer and this audience, have every required scope, not be expired, and not belong to a revoked
//! client or grant. All tokens of one grant are one caller, or of one subject without a grant: they
//! share connections and a selected database.

mod session;
#[cfg(test)]
mod tests;
mod token_verifier;
mod trusted;

use std::{
    fmt, io,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use thiserror::Error;
use ziggurat_layers::{
    access_token::{
        AccessToken, AccessTokens, Algorithm, FetchError, InvalidRules, Outage, ReqwestFetch, Rules,
    },
    bearer::{Denied, TokenHash, Verify},
};

use crate::{Claims, Grant, Holder, Identity, KeptClaims, WallClock};

pub use self::{
    session::{OpenSessions, SessionGuard},
    token_verifier::{TokenVerifier, TokenVerifyFuture},
    trusted::TrustedIssuer,
};

/// Time for which an expired token is still valid, since clocks differ.
const LEEWAY: Duration = Duration::from_secs(30);

/// Maximum length of a text kept from a token.
const MAX_NAME: usize = 512;

/// Settings of an issuer and of the validation of its tokens.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Exact name of the issuer.
    pub issuer: String,
    /// Accepted audiences; a token must name one of them.
    pub audience: Vec<String>,
    /// Required scopes; a token must have all of them.
    pub scope: Vec<String>,
    /// Databases that its tokens give access to; empty for all.
    pub databases: Vec<String>,
    /// Scope that a token needs to change data; empty if each may.
    pub write_scope: String,
    /// The document that a challenge names which asks for that scope; `None` to ask nothing.
    pub step_up: Option<String>,
    /// Claims that are kept of its tokens.
    pub claims: KeptClaims,
    /// URL of its keys, if its metadata does not name it.
    pub jwks: Option<String>,
    /// URL of its list of revoked clients, if its metadata does not name it.
    pub revocations: Option<String>,
    /// Interval between fetches of the list of revoked clients.
    pub poll: Duration,
    /// Policy for its tokens while the list of revoked clients is out of date.
    pub stale_policy: StalePolicy,
    /// Age at which the list of revoked clients is out of date.
    pub stale_after: Duration,
    /// Root certificates to trust in addition to the usual ones, PEM.
    pub root_certificates: Vec<u8>,
    /// Clock.
    pub clock: WallClock,
}

/// Policy for tokens while the list of revoked clients is out of date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StalePolicy {
    /// Refuses tokens until the list is fetched again.
    #[default]
    Refuse,
    /// Accepts tokens until they expire.
    Accept,
}

/// Reason why an issuer cannot be used. The message is for the operator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidIssuer {
    /// The TLS library fails, or does not accept a certificate.
    #[error("no connection to the issuer can be made")]
    Client(#[from] FetchError),
    /// A file with certificates cannot be read.
    #[error("{key}: {}", path.display())]
    CaFile {
        /// The key of the configuration that names it.
        key: String,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A URL is not safe, or there is no audience.
    #[error(transparent)]
    Rules(#[from] InvalidRules),
}

/// A trusted issuer. Clones share keys and cached tokens.
#[derive(Clone, Debug)]
pub struct Issuer {
    tokens: Tokens,
    claims: KeptClaims,
}

type Tokens = AccessTokens<ReqwestFetch, KnownToken, WallClock>;

/// Caller of a valid token. The session of the caller is open as long as one of its tokens is kept.
#[derive(Clone, Debug)]
struct KnownToken {
    identity: Identity,
    /// The names of its claims.
    kept: Arc<Vec<String>>,
    _session: Arc<SessionGuard>,
}

/// Future of the check of a token with an unknown key.
pub struct IssuerVerifyFuture(<Tokens as Verify>::Future);

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            issuer: String::new(),
            audience: Vec::new(),
            scope: Vec::new(),
            databases: Vec::new(),
            write_scope: String::new(),
            step_up: None,
            claims: KeptClaims::default(),
            jwks: None,
            revocations: None,
            poll: Duration::from_secs(30),
            stale_policy: StalePolicy::default(),
            stale_after: Duration::from_mins(5),
            root_certificates: Vec::new(),
            clock: WallClock::default(),
        }
    }
}

impl Settings {
    fn rules(&self) -> Result<Rules, InvalidRules> {
        let mut rules = Rules::new(&self.issuer, &self.audience)?
            .with_plain_jwt()
            .with_scope_lists()
            .with_scopes(&self.scope)
            .with_algorithms([Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa])
            .with_expiry_leeway(LEEWAY)
            .with_poll_interval(self.poll)
            .with_stale_after(self.stale_after)
            .with_outage(match self.stale_policy {
                StalePolicy::Refuse => Outage::Refuse,
                StalePolicy::Accept => Outage::AcceptUntilExpiry,
            });
        if let Some(url) = &self.jwks {
            rules = rules.with_jwks(url)?;
        }
        if let Some(url) = &self.revocations {
            rules = rules.with_revocations(url)?;
        }
        Ok(rules)
    }
}

// === impl Issuer ===

impl Issuer {
    /// Creates an issuer. Sends no request before it [runs](Self::run).
    ///
    /// `gone` receives the session key of every caller that no longer has a valid token. It must
    /// not block.
    ///
    /// # Errors
    /// Fails if the HTTP client cannot be created, or a setting is invalid.
    pub fn new(
        settings: Settings,
        gone: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, InvalidIssuer> {
        let fetch = ReqwestFetch::with_root_certificates(&settings.root_certificates)?;
        let sessions = OpenSessions::new(gone);
        let (issuer, databases) = (
            settings.issuer.clone(),
            settings.databases.as_slice().into(),
        );
        let (claims, write_scope) = (settings.claims.clone(), settings.write_scope.clone());
        let step_up = settings.step_up.clone();
        let tokens = AccessTokens::new(settings.rules()?, fetch)
            .with_identity(move |token| {
                let identity = identity(token, &issuer, &databases)?;
                let grant = Grant::of(token, &write_scope).map(|grant| match &step_up {
                    Some(document) => grant.with_step_up(token, &write_scope, document),
                    None => grant,
                });
                let identity = match grant {
                    Some(grant) => identity.with_grant(Arc::new(grant)),
                    None => identity,
                };
                let kept = Arc::clone(&claims.names());
                let claims = Claims::of_token(&kept, |name| token.claim(name));
                Ok(KnownToken {
                    _session: sessions.open(identity.token()),
                    identity: identity.with_claims(claims),
                    kept,
                })
            })
            .with_clock(settings.clock);
        Ok(Self {
            tokens,
            claims: settings.claims,
        })
    }

    /// Fetches keys and revoked clients repeatedly. Never ends; drop the future to stop.
    pub async fn run(self) {
        self.tokens.run().await;
    }

    /// Fetches the keys and the revoked clients once.
    ///
    /// # Errors
    /// Fails if the issuer cannot be reached, or sends something else.
    pub async fn check(&self) -> Result<(), FetchError> {
        self.tokens.fetch_once().await
    }

    /// Fetches the revoked clients once, and the keys if they are due.
    pub async fn poll(&self) {
        self.tokens.poll().await;
    }
}

/// Returns the caller of a valid token.
fn identity(
    token: &AccessToken,
    issuer: &str,
    databases: &Arc<[String]>,
) -> Result<Identity, Denied> {
    let subject = token.subject();
    if subject.len() > MAX_NAME {
        return Err(Denied::Invalid);
    }
    // All tokens of a grant, or of a subject without one, share one session key, which differs from
    // all keys of own tokens.
    let session = match token.grant_id() {
        Some(grant) => format!("grant\0{issuer}\0{grant}"),
        None => format!("client\0{issuer}\0{subject}"),
    };
    let session = TokenHash::of(&session);
    let name = |name: &str| (name.len() <= MAX_NAME).then(|| Arc::from(name));
    let tenant: Option<String> = token
        .claim("tenant")
        .and_then(|tenant| serde_json::from_str(tenant).ok());
    let holder = Holder::Client {
        subject: Arc::from(subject),
        client: token.client_id().and_then(name),
        tenant: tenant.as_deref().and_then(name),
        scopes: token.scopes().map(str::to_owned).collect(),
        databases: Arc::clone(databases),
    };
    Ok(Identity::new(session, holder))
}

impl Verify for Issuer {
    type Identity = Identity;
    type Future = IssuerVerifyFuture;

    fn verify(&self, token: &str) -> IssuerVerifyFuture {
        IssuerVerifyFuture(self.tokens.verify(token))
    }

    fn verify_now(&self, token: &str) -> Option<Result<Identity, Denied>> {
        let verdict = self.tokens.verify_now(token)?;
        Some(verdict.map(|known| {
            let kept = self.claims.names();
            if Arc::ptr_eq(&kept, &known.kept) {
                return known.identity;
            }
            // The names were exchanged after the token was verified.
            let claims = Claims::of_verified(&kept, token);
            known.identity.with_claims(claims)
        }))
    }
}

// === impl IssuerVerifyFuture ===

impl Future for IssuerVerifyFuture {
    type Output = Result<Identity, Denied>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let verdict = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(verdict.map(|known| known.identity))
    }
}

impl fmt::Debug for IssuerVerifyFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuerVerifyFuture").finish_non_exhaustive()
    }
}
