//! Who may come in, and as whom.
//!
//! Programs come with API tokens, which an administrator makes and a [`TokenFile`] keeps as
//! digests. People [log in](Accounts::login) with a name and a password from a [`UserFile`],
//! and get a session: a token that lives 24 hours, in memory only. Both are tokens to the bearer
//! layer, whose [`Verify`] an [`Accounts`] is; checking one is a digest and a look-up in a map
//! that is replaced and never changed.
//!
//! ```
//! use ziggurat_layers::bearer::Verify as _;
//! use ziggurat_accounts::{Accounts, NewToken, Settings, TokenFile, UserFile};
//! use secrecy::ExposeSecret as _;
//!
//! # tokio_test::block_on(async {
//! let folder = tempfile::tempdir()?;
//! let settings = Settings {
//!     token_file: folder.path().join("tokens.yaml"),
//!     user_file: folder.path().join("users.yaml"),
//! #   password_cost: 4,
//!     ..Settings::default()
//! };
//! let now = settings.clock.now();
//! let made = TokenFile::new(&settings.token_file).add(NewToken::default(), now)?;
//! let users = UserFile::new(&settings.user_file);
//! # let users = users.with_cost(4);
//! users.add("alice", &"correct horse".into(), "", now)?;
//!
//! let accounts = Accounts::open(settings, |session| println!("{session} is over"))?;
//! let program = accounts.verify(made.token.expose_secret()).await.expect("good");
//! assert_eq!(program.user(), None);
//!
//! let session = accounts.login("alice", "correct horse".into(), None).await?;
//! let alice = accounts.verify(session.token.expose_secret()).await.expect("good");
//! assert_eq!(alice.user(), Some("alice"));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Files
//!
//! Administrators and other programs may change the files at any time. A [`Watch`] applies what
//! they change; the server writes down logins and failed logins by applying them to what it
//! finds in the file. Members it does not know are kept, comments are not.

mod attempts;
mod clock;
mod expiry;
mod file;
mod identity;
pub mod issuer;
mod login;
mod login_limiter;
mod password;
mod replicated;
pub mod secret;
mod sessions;
#[cfg(test)]
mod tests;
mod token_index;
mod tokens;
mod users;
mod verify_future;
mod watch;
mod watched_file;
mod yaml;

use std::{
    fmt,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use arc_swap::ArcSwap;
use thiserror::Error;
use tracing::info;
use ziggurat_layers::{
    bearer::{Denied, TokenHash, Verify},
    rate_limit::{FailureWindow, Quota},
};
use ziggurat_state as store;

use self::{
    file::Change, login_limiter::LoginLimiter, password::Passwords, replicated::Replicated,
    sessions::Sessions, token_index::TokenIndex, tokens::Tokens, users::Users,
    watched_file::WatchedFile,
};

pub use self::identity::Selection;
pub use self::{
    attempts::{PasswordAttempt, PasswordAttempts},
    clock::WallClock,
    expiry::{Expiry, InvalidExpiry},
    file::FileError,
    identity::{Account, Holder, Identity},
    login::{LoginError, LoginFault, Session},
    password::PasswordError,
    tokens::{CreatedToken, NewToken, TokenError, TokenFile, TokenRecord},
    users::{UserError, UserFile, UserRecord},
    verify_future::VerifyFuture,
    watch::Watch,
};

/// How accounts are kept. Every member has a default, but the files need names.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the API tokens are.
    pub token_file: PathBuf,
    /// Whether there has to be a file of API tokens: where an issuer is trusted, nobody may need
    /// one.
    pub requires_tokens: bool,
    /// Where the users are; it need not exist.
    pub user_file: PathBuf,
    /// How many logins of a user may fail in a row before the account is disabled; 0 for any
    /// number.
    pub max_failed_attempts: u32,
    /// How many logins from one address may fail, and for how long that counts (10 per 15
    /// minutes by default).
    pub failed_logins: Quota,
    /// How many passwords are checked at the same time (by default 2, and fewer than there are
    /// cores if there is more than one); each takes a core for some tenths of a second.
    pub concurrent_logins: usize,
    /// Logins that may wait for their turn (128 by default), for a few seconds; others
    /// are refused. As many may wait of accounts that have logged in before, which go first.
    pub waiting_logins: usize,
    /// Sessions that a user may have (16 by default, at least 1): the oldest ends when
    /// another begins.
    pub max_sessions: usize,
    /// What hashing a password costs (12 by default): the expense that is made when there is
    /// no user whose password could be checked.
    pub password_cost: u32,
    /// Where the time comes from.
    pub clock: WallClock,
    /// What replicas of the server know together, if there are several: then sessions, failed
    /// logins and locked accounts are kept there, and not in this process and its files.
    pub shared: Option<store::Shared>,
}

/// The accounts of a running server. Clones share them.
#[derive(Clone)]
pub struct Accounts {
    shared: Arc<Shared>,
}

/// Why a server has no accounts. The words are for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Nobody could come in.
    #[error(
        "token file not found: {}; create a token with -add-token, or switch authentication off with -no-auth",
        .0.display()
    )]
    NoTokenFile(PathBuf),
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
}

struct Shared {
    known: ArcSwap<TokenIndex>,
    /// Held while files are read and written, so by blocking threads only.
    state: Mutex<State>,
    paths: [PathBuf; 2],
    gone: Gone,
    passwords: Passwords,
    max_failed_attempts: u32,
    max_sessions: usize,
    failures: FailureWindow<WallClock>,
    quota: Quota,
    together: Option<Replicated>,
    gate: LoginLimiter,
    clock: WallClock,
    /// Told of every change of what is known.
    changes: tokio::sync::watch::Sender<()>,
}

/// Told the session keys of tokens that are good no more.
type Gone = Box<dyn Fn(&str) + Send + Sync>;

struct State {
    tokens: WatchedFile<Tokens>,
    users: WatchedFile<Users>,
    sessions: Sessions,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        let ten = NonZeroU32::new(10).expect("not zero");
        let quarter = Duration::from_mins(15);
        Self {
            token_file: PathBuf::new(),
            requires_tokens: true,
            user_file: PathBuf::new(),
            max_failed_attempts: 0,
            failed_logins: Quota::new(ten, quarter).expect("whole minutes"),
            concurrent_logins: logins_for(cores()),
            waiting_logins: 128,
            max_sessions: 16,
            password_cost: 12,
            clock: WallClock::default(),
            shared: None,
        }
    }
}

// === impl Accounts ===

impl Accounts {
    /// Reads the files, and drops the tokens that have expired a day ago or earlier.
    ///
    /// From then on `gone` is told the session key of every token that is good no more:
    /// expired, removed, bound to another database, or of a user who is disabled or gone. It is
    /// called on the thread that found out and must not block.
    ///
    /// # Errors
    /// When there is no token file, or one of the files cannot be used.
    pub fn open(
        settings: Settings,
        gone: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let paths = [settings.token_file.clone(), settings.user_file.clone()];
        let tokens = WatchedFile::open(settings.token_file.clone())?;
        if settings.requires_tokens && !tokens.is_there() {
            return Err(OpenError::NoTokenFile(settings.token_file));
        }
        let state = State {
            tokens,
            users: WatchedFile::open(settings.user_file)?,
            sessions: Sessions::default(),
        };
        let failures = FailureWindow::new(settings.failed_logins).with_forgiveness();
        let shared = Shared {
            known: ArcSwap::default(),
            state: Mutex::new(state),
            paths,
            gone: Box::new(gone),
            passwords: Passwords::with_cost(settings.password_cost),
            max_failed_attempts: settings.max_failed_attempts,
            max_sessions: settings.max_sessions.max(1),
            failures: failures.with_clock(settings.clock.clone()),
            quota: settings.failed_logins,
            together: settings.shared.map(Replicated::new),
            gate: LoginLimiter::new(
                settings.concurrent_logins,
                settings.waiting_logins,
                login::PATIENCE,
            ),
            clock: settings.clock,
            changes: tokio::sync::watch::Sender::default(),
        };
        shared.end_sessions_of_the_disabled();
        shared.sweep();
        shared.announce();
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// How many API tokens and users there are; those that cannot be used now are counted too.
    ///
    /// Waits while a file is read or written, so it is for the start of a server.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let state = self.shared.state();
        let tokens = state.tokens.table().records().count();
        (tokens, state.users.table().records().count())
    }
}

impl Accounts {
    fn find(&self, token: &str) -> Result<Identity, Denied> {
        let known = self.shared.known.load();
        let identity = known.identity(TokenHash::of(token), || self.shared.clock.now());
        identity.ok_or(Denied::Invalid)
    }
}

impl Verify for Accounts {
    type Identity = Identity;
    type Future = VerifyFuture;

    fn verify(&self, token: &str) -> VerifyFuture {
        match (self.find(token), &self.shared.together) {
            (Err(Denied::Invalid), Some(together)) => {
                let token = TokenHash::of(token);
                VerifyFuture::asking(together.look_up(token), token, Arc::clone(&self.shared))
            }
            (verdict, _) => VerifyFuture::known(verdict),
        }
    }

    fn verify_now(&self, token: &str) -> Option<Result<Identity, Denied>> {
        match self.find(token) {
            // It may be a session of another replica, or have been ended there.
            Err(Denied::Invalid) if self.shared.together.is_some() => None,
            verdict => Some(verdict),
        }
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounts")
            .field("tokens", &self.shared.known.load().len())
            .finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while holding it that leaves a table half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what the files hold.
    fn announce(&self) {
        let state = self.state();
        let [token_file, user_file] = self.paths.each_ref().map(|path| path.display());
        let (tokens, users) = (state.tokens.table(), state.users.table());
        info!(
            "{} token(s) loaded from {token_file}",
            tokens.records().count()
        );
        info!(
            "{} user(s) loaded from {user_file}",
            users.records().count()
        );
    }

    /// Takes over what the files hold.
    fn reload(&self) {
        let mut state = self.state();
        let has_tokens = state.tokens.reload();
        let has_users = state.users.reload();
        if has_tokens || has_users {
            self.publish(state);
        }
    }

    /// Lets go of what has ended.
    fn sweep(&self) {
        let now = self.clock.now();
        let mut state = self.state();
        let has_expired =
            |tokens: &Tokens| tokens.records().any(|token| token.is_long_expired(now));
        if has_expired(state.tokens.table()) {
            let removed = state
                .tokens
                .change(|tokens| match tokens.drop_expired(now) {
                    0 => Change::Leave(0),
                    removed => Change::Write(removed),
                });
            if removed > 0 {
                info!("Removed {removed} expired token(s)");
            }
        }
        self.publish(state);
    }

    /// Puts what is known into force, and tells what is so no more.
    fn publish(&self, mut state: MutexGuard<'_, State>) {
        let State {
            tokens,
            users,
            sessions,
        } = &mut *state;
        let now = self.clock.now();
        let known = Arc::new(TokenIndex::new(
            now,
            tokens.table(),
            users.table(),
            sessions,
        ));
        let before = self.known.swap(Arc::clone(&known));
        // Whoever is told may take its time, and a lock.
        drop(state);
        self.end_sessions_of_the_gone(&before, &known);
        for token in known.gone_since(&before) {
            (self.gone)(&token.to_string());
        }
        self.changes.send_replace(());
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// One core stays free: where all of them check passwords, whoever only asks for rows waits
/// several times as long.
fn logins_for(cores: usize) -> usize {
    cores.saturating_sub(1).clamp(1, 2)
}
