//! Validates signed tokens of an external issuer without a request to it.
//!
//! An [`Issuer`] holds the keys of an OAuth authorization server and, if it publishes them, the
//! revoked clients. A background task fetches both while the issuer [runs](Issuer::run). A request
//! waits only if its token is signed with an unknown key, until the keys are fetched again; the
//! number of these fetches is limited.
//!
//! ```
//! use ziggurat_layers::bearer::{Denied, Verify as _};
//! use ziggurat_accounts::issuer::{Issuer, Settings};
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
//! client. All tokens of one subject are one caller: they share connections and a selected
//! database.

mod claims;
mod endpoints;
mod fetch;
mod keys;
mod revoked;
#[cfg(test)]
mod tests;
mod token_cache;
mod token_verifier;

use std::{error::Error, fmt, pin::Pin, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use thiserror::Error;
use tokio::{
    sync::{Notify, watch},
    time,
};
use tracing::{error, info};
use ziggurat_layers::{
    bearer::{Denied, TokenHash, Verify},
    clock::Clock,
};

use self::{
    claims::Checks,
    endpoints::Endpoints,
    fetch::{FetchError, Fetcher},
    keys::KeySet,
    revoked::Revoked,
    token_cache::TokenCache,
};
use super::{Identity, WallClock};

pub use self::token_verifier::{TokenVerifier, TokenVerifyFuture};

/// Interval between regular fetches of the keys.
const KEYS: Duration = Duration::from_mins(10);

/// Minimum time between two fetches, however many unknown keys are seen.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(10);

/// Timeout of a request that waits for a fetch.
const FETCH_WAIT: Duration = Duration::from_secs(3);

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
    Client(#[from] reqwest::Error),
}

/// A trusted issuer. Clones share keys and cached tokens.
#[derive(Clone)]
pub struct Issuer {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    checks: Checks,
    fetcher: Fetcher,
    /// Latest data of the issuer.
    state: ArcSwap<IssuerState>,
    /// Cache of valid tokens.
    known: ArcSwap<TokenCache>,
    /// Notified when a request sees an unknown key.
    missed: Notify,
    /// Notified after each fetch of the keys.
    looked: watch::Sender<()>,
    gone: SessionEndCallback,
}

/// Receives the session keys of callers without a valid token.
type SessionEndCallback = Box<dyn Fn(&str) + Send + Sync>;

/// Data fetched from the issuer.
#[derive(Clone, Default)]
struct IssuerState {
    endpoints: Option<Endpoints>,
    keys: Option<Arc<KeySet>>,
    revoked: Arc<Revoked>,
    /// Is true while keys are being fetched.
    is_fetching: bool,
    /// Time of the last fetch of keys.
    fetched_at: Option<Duration>,
    /// Time of the last successful fetch of keys.
    succeeded_at: Option<Duration>,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            issuer: String::new(),
            audience: Vec::new(),
            scope: Vec::new(),
            databases: Vec::new(),
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
    fn moment(&self) -> Duration {
        Clock::now(&self.clock)
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
    /// Fails if the HTTP client cannot be created.
    pub fn new(
        settings: Settings,
        gone: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, InvalidIssuer> {
        let shared = Shared {
            checks: Checks::new(&settings),
            fetcher: Fetcher::new(&settings.root_certificates)?,
            settings,
            state: ArcSwap::default(),
            known: ArcSwap::default(),
            missed: Notify::new(),
            looked: watch::Sender::default(),
            gone: Box::new(gone),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Fetches keys and revoked clients repeatedly. Never ends; drop the future to stop.
    pub async fn run(self) {
        let shared = &self.shared;
        loop {
            self.poll().await;
            let missed = time::timeout(shared.settings.poll, shared.missed.notified()).await;
            if missed.is_ok() && shared.may_fetch() {
                self.fetch_keys().await;
            }
        }
    }

    /// Fetches the revoked clients once, and the keys if they are due.
    pub async fn poll(&self) {
        let shared = &self.shared;
        let is_due = match shared.state.load().succeeded_at {
            Some(at) => shared.elapsed(at) >= KEYS,
            None => true,
        };
        if is_due {
            self.fetch_keys().await;
        }
        if let Err(failure) = shared.fetch_revocations().await {
            let error: &dyn Error = &failure;
            error!(error, "cannot fetch the revoked clients of the issuer");
        }
        shared.sweep();
    }

    async fn fetch_keys(&self) {
        let shared = &self.shared;
        match shared.fetch_changed_keys().await {
            Ok(true) => {
                let issuer = shared.settings.issuer.as_str();
                info!(issuer, "the keys of the issuer have changed");
            }
            Ok(false) => {}
            Err(failure) => {
                let error: &dyn Error = &failure;
                error!(error, "cannot fetch the keys of the issuer");
            }
        }
        shared.change_state(|state| state.is_fetching = false);
        shared.looked.send_replace(());
    }
}

impl Verify for Issuer {
    type Identity = Identity;
    // Boxed, because only tokens with an unknown key have to wait.
    type Future = Pin<Box<dyn Future<Output = Result<Identity, Denied>> + Send>>;

    fn verify(&self, token: &str) -> Self::Future {
        let (issuer, token) = (self.clone(), token.to_owned());
        Box::pin(async move {
            let shared = &issuer.shared;
            let mut looked = shared.looked.subscribe();
            // The keys may have been fetched in between.
            if let Some(verdict) = shared.verdict(&token) {
                return verdict;
            }
            shared.missed.notify_one();
            // Times out, because no task fetches keys unless the issuer runs.
            let _ = time::timeout(FETCH_WAIT, looked.changed()).await;
            shared.verdict(&token).unwrap_or_else(|| shared.unknown())
        })
    }

    fn verify_now(&self, token: &str) -> Option<Result<Identity, Denied>> {
        let shared = &self.shared;
        let verdict = shared.verdict(token);
        if verdict.is_none() && !shared.may_await_fetch() {
            return Some(shared.unknown());
        }
        verdict
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer")
            .field("issuer", &self.shared.settings.issuer)
            .finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    fn elapsed(&self, since: Duration) -> Duration {
        let now = self.settings.moment();
        now.saturating_sub(since)
    }

    /// Returns whether the keys may be fetched now.
    fn may_fetch(&self) -> bool {
        let fetched_at = self.state.load().fetched_at;
        fetched_at.is_none_or(|at| self.elapsed(at) >= MIN_FETCH_INTERVAL)
    }

    /// Returns whether a fetch of the keys is running or allowed.
    fn may_await_fetch(&self) -> bool {
        self.state.load().is_fetching || self.may_fetch()
    }

    /// Returns the error for an unknown key: `Unavailable` if no keys have been fetched yet.
    fn unknown(&self) -> Result<Identity, Denied> {
        Err(match self.state.load().keys {
            Some(_) => Denied::Invalid,
            None => Denied::Unavailable,
        })
    }

    /// Validates a token; returns `None` if it is signed with an unknown key.
    fn verdict(&self, token: &str) -> Option<Result<Identity, Denied>> {
        let state = self.state.load();
        let hash = TokenHash::of(token);
        let now = self.settings.clock.now().as_second();
        let epoch = state.keys.as_ref().map(|keys| keys.epoch());
        let known = self.known.load();
        let known = known.find(hash).filter(|good| Some(good.epoch) == epoch);
        let good = if let Some(good) = known {
            Arc::clone(good)
        } else {
            let kid = match keys::key_id(token) {
                Ok(kid) => kid,
                Err(denied) => return Some(Err(denied)),
            };
            let keys = state.keys.as_ref()?;
            let key = keys.find(&kid)?;
            let good = match self.checks.read(token, key, keys.epoch(), now) {
                Ok(good) => Arc::new(good),
                Err(denied) => return Some(Err(denied)),
            };
            self.remember(hash, &good, now);
            good
        };
        Some(self.check_cached(&good, &state, now))
    }

    fn check_cached(
        &self,
        good: &token_cache::ValidToken,
        state: &IssuerState,
        now: i64,
    ) -> Result<Identity, Denied> {
        if good.ends <= now || state.revoked.has(&good.subject) {
            return Err(Denied::Invalid);
        }
        if self.is_stale(state) {
            return Err(Denied::Unavailable);
        }
        Ok(good.identity.clone())
    }

    /// Returns whether the list of revoked clients is out of date.
    fn is_stale(&self, state: &IssuerState) -> bool {
        let settings = &self.settings;
        if settings.stale_policy == StalePolicy::Accept {
            return false;
        }
        let is_told = state
            .endpoints
            .as_ref()
            .is_some_and(|e| e.revocations.is_some());
        is_told
            && state
                .revoked
                .fetched_at()
                .is_none_or(|at| self.elapsed(at) > settings.stale_after)
    }

    fn remember(&self, token: TokenHash, good: &Arc<token_cache::ValidToken>, now: i64) {
        let mut gone = Vec::new();
        self.known.rcu(|known| {
            let (known, ended) = known.with(token, Arc::clone(good), now);
            gone = ended;
            known
        });
        self.notify_ended(&gone);
    }

    /// Drops expired tokens and those of revoked clients.
    fn sweep(&self) {
        let state = self.state.load_full();
        let now = self.settings.clock.now().as_second();
        let mut gone = Vec::new();
        self.known.rcu(|known| {
            let (known, ended) =
                known.swept(|good| good.ends > now && !state.revoked.has(&good.subject));
            gone = ended;
            known
        });
        self.notify_ended(&gone);
    }

    fn notify_ended(&self, gone: &[TokenHash]) {
        for session in gone {
            (self.gone)(&session.to_string());
        }
    }

    async fn endpoints(&self) -> Result<Endpoints, FetchError> {
        if let Some(known) = &self.state.load().endpoints {
            return Ok(known.clone());
        }
        let found = Endpoints::of(&self.settings, &self.fetcher).await?;
        self.change_state(|state| state.endpoints = Some(found.clone()));
        Ok(found)
    }

    /// Returns whether the keys have changed.
    async fn fetch_changed_keys(&self) -> Result<bool, FetchError> {
        let now = self.settings.moment();
        self.change_state(|state| {
            state.is_fetching = true;
            state.fetched_at = Some(now);
        });
        let endpoints = self.endpoints().await?;
        let body = self.fetcher.whole(&endpoints.jwks).await?;
        let before = self.state.load().keys.clone();
        let keys = KeySet::parse(&body, before.as_deref())?;
        let is_new = before.is_none_or(|before| before.epoch() != keys.epoch());
        if self.state.load().succeeded_at.is_none() {
            // Also fetches the revoked clients; without them, the first tokens would be refused.
            let told = self.fetch_revocations().await;
            if self.settings.stale_policy == StalePolicy::Refuse {
                told?;
            }
        }
        let keys = Arc::new(keys);
        self.change_state(|state| {
            state.keys = Some(Arc::clone(&keys));
            state.succeeded_at = Some(now);
        });
        Ok(is_new)
    }

    async fn fetch_revocations(&self) -> Result<(), FetchError> {
        let Some(url) = self.endpoints().await?.revocations else {
            return Ok(());
        };
        let now = self.settings.moment();
        let before = Arc::clone(&self.state.load().revoked);
        let fetched = self.fetcher.get(&url, before.tag()).await?;
        let revoked = Arc::new(before.after(fetched, &self.settings.issuer, now)?);
        self.change_state(|state| state.revoked = Arc::clone(&revoked));
        Ok(())
    }

    fn change_state(&self, change: impl Fn(&mut IssuerState)) {
        self.state.rcu(|state| {
            let mut state = IssuerState::clone(state);
            change(&mut state);
            state
        });
    }
}
