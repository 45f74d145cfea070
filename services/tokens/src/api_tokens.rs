//! The API tokens of a running server.

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    fmt,
    future::{Ready, ready},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicI64, Ordering},
    },
};

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;
use tracing::info;
use ziggurat_layers::bearer::{Denied, TokenHash, Verify};
use ziggurat_runtime::lock;

use crate::{
    Holder, Identity, WallClock,
    file::{Change, FileError},
    tokens::Tokens,
    watch::{Watch, Watched},
    watched_file::{WatchedFile, log_reload},
};

/// The API tokens of a running server. Clones share them.
///
/// A check is a digest and a lookup in an immutable map. Administrators and other programs may
/// change the file at any time; a [`Watch`] applies their changes.
///
/// ```
/// use jiff::SignedDuration;
/// use secrecy::ExposeSecret as _;
/// use ziggurat_layers::bearer::Verify as _;
/// use ziggurat_tokens::{ApiTokens, NewToken, TokenFile, WallClock};
///
/// # tokio_test::block_on(async {
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("tokens.yaml");
/// let clock = WallClock::default();
/// let made = TokenFile::new(&path).add(NewToken::default(), clock.now())?;
///
/// let at_once = SignedDuration::ZERO;
/// let tokens = ApiTokens::open(path, true, at_once, clock, |token| println!("{token} is over"))?;
/// let identity = tokens.verify(made.token.expose_secret()).await.expect("good");
/// assert_eq!((identity.kind(), identity.name()), ("token", &*made.record.id));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct ApiTokens {
    shared: Arc<Shared>,
}

/// Reason why API tokens cannot be used. The message is for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file does not exist, without which no client could authenticate.
    #[error("token file not found: {}", .0.display())]
    NotFound(PathBuf),
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

struct Shared {
    known: ArcSwap<TokenIndex>,
    /// Locked while the file is read and written, so only by blocking threads.
    file: Mutex<WatchedFile<Tokens>>,
    path: PathBuf,
    /// Time for which the file keeps expired tokens.
    grace: SignedDuration,
    gone: GoneCallback,
    clock: WallClock,
}

/// Receives the session keys of tokens that are no longer valid.
type GoneCallback = Box<dyn Fn(&str) + Send + Sync>;

/// The currently valid tokens. Replaced on every change and never modified, so that checks never
/// wait.
type TokenIndex = HashMap<TokenHash, ValidToken>;

struct ValidToken {
    identity: Identity,
    ends: Option<Timestamp>,
    last_use: LastUse,
}

/// Second of the last use in this process; 0 before the first. The indexes of a token share it.
type LastUse = Arc<AtomicI64>;

// === impl ApiTokens ===

impl ApiTokens {
    /// Reads the file, and drops tokens that expired at least `grace` ago. Where machines share the
    /// file, the clock of this one may be ahead of another one by that time.
    ///
    /// From then on `gone` receives the session key of every token that is no longer valid:
    /// expired, removed, or bound to another database. It is called on the thread that detects this
    /// and must not block.
    ///
    /// # Errors
    /// Fails if the file cannot be used, or does not exist although it is required.
    pub fn open(
        path: PathBuf,
        is_required: bool,
        grace: SignedDuration,
        clock: WallClock,
        gone: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let file = WatchedFile::open(path.clone())?;
        if is_required && !file.is_there() {
            return Err(OpenError::NotFound(path));
        }
        let shared = Shared {
            known: ArcSwap::default(),
            file: Mutex::new(file),
            path,
            grace,
            gone: Box::new(gone),
            clock,
        };
        let tokens = Self {
            shared: Arc::new(shared),
        };
        Watched::sweep(&tokens);
        let (count, path) = (tokens.count(), tokens.shared.path.display());
        info!("{count} token(s) loaded from {path}");
        Ok(tokens)
    }

    /// Returns the number of tokens, including those that cannot be used now.
    ///
    /// Waits while the file is read or written, so call it only at the start of a server.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.shared.file).table().records().count()
    }

    /// Returns the holder of a token, if it is valid.
    #[must_use]
    pub fn find(&self, token: TokenHash) -> Option<Identity> {
        let known = self.shared.known.load();
        let token = known.get(&token)?;
        let now = self.shared.clock.now();
        if token.ends.is_some_and(|ends| ends <= now) {
            return None;
        }
        // Written once in a second, so that cores do not wait for each other.
        if token.last_use.load(Ordering::Relaxed) != now.as_second() {
            token.last_use.store(now.as_second(), Ordering::Relaxed);
        }
        Some(token.identity.clone())
    }

    /// Returns the last time at which a valid token was used in this process, to the second.
    #[must_use]
    pub fn last_use(&self, token: TokenHash) -> Option<Timestamp> {
        let known = self.shared.known.load();
        let second = known.get(&token)?.last_use.load(Ordering::Relaxed);
        Timestamp::from_second(second).ok().filter(|_| second != 0)
    }

    /// Starts to watch the file: the [`Watch`] applies all later changes once it runs.
    pub fn watch(&self) -> Watch<Self> {
        Watch::new(self.clone())
    }
}

impl Watched for ApiTokens {
    fn paths(&self) -> Vec<PathBuf> {
        vec![self.shared.path.clone()]
    }

    fn reload(&self) -> bool {
        let mut file = lock(&self.shared.file);
        let is_new = file.reload();
        if is_new {
            self.shared.publish(file);
            log_reload(&self.shared.path);
        }
        is_new
    }

    fn sweep(&self) {
        let now = self.shared.clock.now();
        let since = now.checked_sub(self.shared.grace).unwrap_or(now);
        let mut file = lock(&self.shared.file);
        if file.table().records().any(|it| it.is_expired(since)) {
            let removed = file.change(|tokens| match tokens.drop_expired(since) {
                0 => Change::Leave(0),
                removed => Change::Write(removed),
            });
            if removed > 0 {
                info!("Removed {removed} expired token(s)");
            }
        }
        self.shared.publish(file);
    }

    fn next_end(&self) -> Option<Timestamp> {
        let known = self.shared.known.load();
        known.values().filter_map(|token| token.ends).min()
    }

    fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }
}

impl Verify for ApiTokens {
    type Identity = Identity;
    type Future = Ready<Result<Identity, Denied>>;

    fn verify(&self, token: &str) -> Self::Future {
        ready(self.find(TokenHash::of(token)).ok_or(Denied::Invalid))
    }

    fn verify_now(&self, token: &str) -> Option<Result<Identity, Denied>> {
        Some(self.find(TokenHash::of(token)).ok_or(Denied::Invalid))
    }
}

impl fmt::Debug for ApiTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiTokens")
            .field("valid", &self.shared.known.load().len())
            .finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    /// Replaces the index, and reports the tokens that are no longer valid.
    fn publish(&self, file: MutexGuard<'_, WatchedFile<Tokens>>) {
        let known = index(self.clock.now(), file.table(), &self.known.load());
        let known = Arc::new(known);
        let before = self.known.swap(Arc::clone(&known));
        // Unlocked first, because the callback may be slow or take a lock.
        drop(file);
        for (token, old) in before.iter() {
            let new = known.get(token);
            if !new.is_some_and(|new| new.identity.holder() == old.identity.holder()) {
                (self.gone)(&token.to_string());
            }
        }
    }
}

/// Returns the valid tokens, with the last uses of those that were valid before.
fn index(now: Timestamp, tokens: &Tokens, before: &TokenIndex) -> TokenIndex {
    let valid = tokens.records().filter(|token| !token.is_expired(now));
    let valid = valid.map(|token| {
        let holder = Holder::Program {
            id: Arc::from(&*token.id),
            database: token.database.as_deref().map(Arc::from),
        };
        let ends = token.expires_at;
        let identity = Identity::new(token.hash, holder)
            .with_claims(token.claims.clone())
            .with_toolsets(&*token.toolsets)
            .with_expiry(ends);
        let last_use = before.get(&token.hash).map(|old| Arc::clone(&old.last_use));
        let valid = ValidToken {
            identity,
            ends,
            last_use: last_use.unwrap_or_default(),
        };
        (token.hash, valid)
    });
    valid.collect()
}
