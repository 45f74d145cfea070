//! Tokens that somebody else issues: signed, and checked here without asking.
//!
//! An [`Issuer`] knows the keys of an OAuth authorization server and, where it publishes them,
//! the clients that are gone before their tokens. Both are fetched in the background while it
//! [runs](Issuer::run); a request asks nobody, but for one whose token is signed with a key that
//! is not known: that one waits for a look, of which there are only so many.
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
//! # What a token has to be
//!
//! Signed with RS256, ES256 or `EdDSA` by a key of the issuer; of this issuer and for this
//! audience; not over; not of a client that is gone; and with every scope that is wanted. All
//! tokens of one subject are one caller: they share connections and a selection.

mod claims;
mod endpoints;
mod fetch;
mod keys;
mod known;
mod revoked;
#[cfg(test)]
mod tests;
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
    rate_limit::Clock,
};

use self::{
    claims::Checks,
    endpoints::Endpoints,
    fetch::{FetchError, Fetcher},
    keys::KeySet,
    known::Known,
    revoked::Revoked,
};
use super::{Identity, WallClock};

pub use self::token_verifier::{TokenVerifier, TokenVerifyFuture};

/// How often keys are fetched that nobody misses.
const KEYS: Duration = Duration::from_mins(10);

/// How often they are fetched at most, whoever misses one.
const GAP: Duration = Duration::from_secs(10);

/// How long a request waits for that.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is known of an issuer, and what is asked of its tokens.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What it calls itself, to the letter.
    pub issuer: String,
    /// What this server is called in tokens: one of these has to be there.
    pub audience: Vec<String>,
    /// The scopes a token has to have, all of them.
    pub scope: Vec<String>,
    /// The databases its tokens are good for; empty for all.
    pub databases: Vec<String>,
    /// Where its keys are, if it does not say so itself.
    pub jwks: Option<String>,
    /// Where it says which clients are gone, if it does not say so itself.
    pub revocations: Option<String>,
    /// How often it is asked who is gone.
    pub poll: Duration,
    /// What happens to its tokens when it cannot be asked for long who is gone.
    pub when_stale: WhenStale,
    /// How long that is.
    pub stale_after: Duration,
    /// Authorities to trust besides the usual ones, PEM.
    pub root_certificates: Vec<u8>,
    /// Where the time comes from.
    pub clock: WallClock,
}

/// What happens to tokens when it is not known who is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenStale {
    /// They are not believed until it is known again.
    #[default]
    Refuse,
    /// They are believed until they end.
    Accept,
}

/// Why an issuer cannot be trusted. The words are for the operator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidIssuer {
    /// The TLS library fails, or does not take a certificate.
    #[error("no connection to the issuer can be made")]
    Client(#[from] reqwest::Error),
}

/// Somebody whose tokens are believed. Clones share what is known.
#[derive(Clone)]
pub struct Issuer {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    checks: Checks,
    fetcher: Fetcher,
    /// What the issuer has said.
    said: ArcSwap<Said>,
    /// The tokens that were found to be good.
    known: ArcSwap<Known>,
    /// Somebody misses a key.
    missed: Notify,
    /// Told after each look for keys.
    looked: watch::Sender<()>,
    gone: Gone,
}

/// Told the session keys of callers who have no good token any more.
type Gone = Box<dyn Fn(&str) + Send + Sync>;

/// What the issuer has said so far.
#[derive(Clone, Default)]
struct Said {
    endpoints: Option<Endpoints>,
    keys: Option<Arc<KeySet>>,
    revoked: Arc<Revoked>,
    /// Whether it is being asked for keys.
    is_asked: bool,
    /// When it was last asked for keys.
    asked: Option<Duration>,
    /// When it last gave some.
    answered: Option<Duration>,
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
            when_stale: WhenStale::default(),
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
    /// Gets ready to trust an issuer. Nothing is asked before it [runs](Self::run).
    ///
    /// `gone` is told the session key of every caller who has no good token any more. It must
    /// not block.
    ///
    /// # Errors
    /// When no connection to it could be made.
    pub fn new(
        settings: Settings,
        gone: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, InvalidIssuer> {
        let shared = Shared {
            checks: Checks::new(&settings),
            fetcher: Fetcher::new(&settings.root_certificates)?,
            settings,
            said: ArcSwap::default(),
            known: ArcSwap::default(),
            missed: Notify::new(),
            looked: watch::Sender::default(),
            gone: Box::new(gone),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Asks the issuer again and again what is new. Never ends; drop it to stop.
    pub async fn run(self) {
        let shared = &self.shared;
        loop {
            self.poll().await;
            let missed = time::timeout(shared.settings.poll, shared.missed.notified()).await;
            if missed.is_ok() && shared.may_look() {
                self.look_for_keys().await;
            }
        }
    }

    /// Asks the issuer once what is new.
    pub async fn poll(&self) {
        let shared = &self.shared;
        let is_due = match shared.said.load().answered {
            Some(at) => shared.elapsed(at) >= KEYS,
            None => true,
        };
        if is_due {
            self.look_for_keys().await;
        }
        if let Err(failure) = shared.ask_who_is_gone().await {
            let error: &dyn Error = &failure;
            error!(error, "the issuer did not say which clients are gone");
        }
        shared.sweep();
    }

    async fn look_for_keys(&self) {
        let shared = &self.shared;
        match shared.ask_for_keys().await {
            Ok(true) => {
                let issuer = shared.settings.issuer.as_str();
                info!(issuer, "the keys of the issuer are others now");
            }
            Ok(false) => {}
            Err(failure) => {
                let error: &dyn Error = &failure;
                error!(error, "the issuer did not say what its keys are");
            }
        }
        shared.say(|said| said.is_asked = false);
        shared.looked.send_replace(());
    }
}

impl Verify for Issuer {
    type Identity = Identity;
    // Boxed: only for a token that is signed with a key nobody knows.
    type Future = Pin<Box<dyn Future<Output = Result<Identity, Denied>> + Send>>;

    fn verify(&self, token: &str) -> Self::Future {
        let (issuer, token) = (self.clone(), token.to_owned());
        Box::pin(async move {
            let shared = &issuer.shared;
            let mut looked = shared.looked.subscribe();
            // It may have come in between.
            if let Some(verdict) = shared.verdict(&token) {
                return verdict;
            }
            shared.missed.notify_one();
            // Nobody looks while it does not run.
            let _ = time::timeout(PATIENCE, looked.changed()).await;
            shared.verdict(&token).unwrap_or_else(|| shared.unknown())
        })
    }

    fn verify_now(&self, token: &str) -> Option<Result<Identity, Denied>> {
        let shared = &self.shared;
        let verdict = shared.verdict(token);
        if verdict.is_none() && !shared.may_wait() {
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

    /// Whether keys may be asked for now.
    fn may_look(&self) -> bool {
        let asked = self.said.load().asked;
        asked.is_none_or(|at| self.elapsed(at) >= GAP)
    }

    /// Whether it is worth to wait for keys.
    fn may_wait(&self) -> bool {
        self.said.load().is_asked || self.may_look()
    }

    /// What becomes of a token whose key is not known: it may be good if there are no keys yet.
    fn unknown(&self) -> Result<Identity, Denied> {
        Err(match self.said.load().keys {
            Some(_) => Denied::Invalid,
            None => Denied::Unavailable,
        })
    }

    /// Whether a token is good; nothing if it is signed with a key that is not known.
    fn verdict(&self, token: &str) -> Option<Result<Identity, Denied>> {
        let said = self.said.load();
        let hash = TokenHash::of(token);
        let now = self.settings.clock.now().as_second();
        let epoch = said.keys.as_ref().map(|keys| keys.epoch());
        let known = self.known.load();
        let known = known.find(hash).filter(|good| Some(good.epoch) == epoch);
        let good = if let Some(good) = known {
            Arc::clone(good)
        } else {
            let kid = match keys::key_id(token) {
                Ok(kid) => kid,
                Err(denied) => return Some(Err(denied)),
            };
            let keys = said.keys.as_ref()?;
            let key = keys.find(&kid)?;
            let good = match self.checks.read(token, key, keys.epoch(), now) {
                Ok(good) => Arc::new(good),
                Err(denied) => return Some(Err(denied)),
            };
            self.remember(hash, &good, now);
            good
        };
        Some(self.conclude(&good, &said, now))
    }

    fn conclude(&self, good: &known::Good, said: &Said, now: i64) -> Result<Identity, Denied> {
        if good.ends <= now || said.revoked.has(&good.subject) {
            return Err(Denied::Invalid);
        }
        if self.is_stale(said) {
            return Err(Denied::Unavailable);
        }
        Ok(good.identity.clone())
    }

    /// Whether it has not been known for long who is gone.
    fn is_stale(&self, said: &Said) -> bool {
        let settings = &self.settings;
        if settings.when_stale == WhenStale::Accept {
            return false;
        }
        let is_told = said
            .endpoints
            .as_ref()
            .is_some_and(|e| e.revocations.is_some());
        is_told
            && said
                .revoked
                .asked()
                .is_none_or(|at| self.elapsed(at) > settings.stale_after)
    }

    fn remember(&self, token: TokenHash, good: &Arc<known::Good>, now: i64) {
        let mut gone = Vec::new();
        self.known.rcu(|known| {
            let (known, ended) = known.with(token, Arc::clone(good), now);
            gone = ended;
            known
        });
        self.tell(&gone);
    }

    /// Lets go of what has ended.
    fn sweep(&self) {
        let said = self.said.load_full();
        let now = self.settings.clock.now().as_second();
        let mut gone = Vec::new();
        self.known.rcu(|known| {
            let (known, ended) =
                known.swept(|good| good.ends > now && !said.revoked.has(&good.subject));
            gone = ended;
            known
        });
        self.tell(&gone);
    }

    fn tell(&self, gone: &[TokenHash]) {
        for session in gone {
            (self.gone)(&session.to_string());
        }
    }

    async fn endpoints(&self) -> Result<Endpoints, FetchError> {
        if let Some(known) = &self.said.load().endpoints {
            return Ok(known.clone());
        }
        let found = Endpoints::of(&self.settings, &self.fetcher).await?;
        self.say(|said| said.endpoints = Some(found.clone()));
        Ok(found)
    }

    /// Says whether they are others than before.
    async fn ask_for_keys(&self) -> Result<bool, FetchError> {
        let now = self.settings.moment();
        self.say(|said| {
            said.is_asked = true;
            said.asked = Some(now);
        });
        let endpoints = self.endpoints().await?;
        let body = self.fetcher.whole(&endpoints.jwks).await?;
        let before = self.said.load().keys.clone();
        let keys = KeySet::parse(&body, before.as_deref())?;
        let is_new = before.is_none_or(|before| before.epoch() != keys.epoch());
        if self.said.load().answered.is_none() {
            // With keys alone the first tokens would be refused for want of the rest.
            let told = self.ask_who_is_gone().await;
            if self.settings.when_stale == WhenStale::Refuse {
                told?;
            }
        }
        let keys = Arc::new(keys);
        self.say(|said| {
            said.keys = Some(Arc::clone(&keys));
            said.answered = Some(now);
        });
        Ok(is_new)
    }

    async fn ask_who_is_gone(&self) -> Result<(), FetchError> {
        let Some(url) = self.endpoints().await?.revocations else {
            return Ok(());
        };
        let now = self.settings.moment();
        let before = Arc::clone(&self.said.load().revoked);
        let fetched = self.fetcher.get(&url, before.tag()).await?;
        let revoked = Arc::new(before.after(fetched, &self.settings.issuer, now)?);
        self.say(|said| said.revoked = Arc::clone(&revoked));
        Ok(())
    }

    fn say(&self, change: impl Fn(&mut Said)) {
        self.said.rcu(|said| {
            let mut said = Said::clone(said);
            change(&mut said);
            said
        });
    }
}
