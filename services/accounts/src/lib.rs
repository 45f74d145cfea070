//! Authentication of users and of programs.
//!
//! Programs use API tokens, which are [`ApiTokens`]. Users [log in](Accounts::login) with a name
//! and a password from a [`UserFile`], and get a session: a token that is valid for 24 hours and
//! kept in memory only. [`Accounts`] implements [`Verify`] of the bearer layer for both kinds; a
//! check is a digest and a lookup in an immutable map.
//!
//! ```
//! use ziggurat_layers::bearer::Verify as _;
//! use ziggurat_accounts::{Accounts, NewUser, Settings, UserFile};
//! use ziggurat_tokens::{NewToken, TokenFile};
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
//! users.add(NewUser::new("alice", &"correct horse".into()), now)?;
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
//! Administrators and other programs may change the files at any time. A [`Watch`] applies their
//! changes; the server records logins and failed logins by applying them to the current content of
//! the file. Unknown members are kept, comments are not.

mod administration;
mod attempts;
mod browser_sign_in;
mod halves;
mod login;
mod login_error;
mod password_change;
mod person;
mod session_index;
mod sessions;
#[cfg(test)]
mod tests;
mod users;
mod verify_future;

use std::{
    fmt,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    thread,
    time::Duration,
};

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;
use tracing::info;
use ziggurat_layers::{
    bearer::{Denied, TokenHash, Verify},
    rate_limit::Quota,
};
use ziggurat_passwords::{LoginLimiter, Passwords};
use ziggurat_runtime::lock;
use ziggurat_state as store;
use ziggurat_tokens::{
    self as tokens, ApiTokens, Identity, WallClock, Watch, Watched, WatchedFile, file::FileError,
};

use self::{
    browser_sign_in::BrowserRules,
    session_index::SessionIndex,
    sessions::{LocalSessions, Sessions},
    users::{MIN_LENGTH, Users},
};

pub use ziggurat_passwords::PasswordError;

pub use self::{
    administration::LockedAccounts,
    attempts::{PasswordAttempt, PasswordAttempts},
    browser_sign_in::{BrowserLogin, BrowserSignIn, GrantId, NeedsBrowser},
    halves::{CookieHalf, TokenHalves},
    login::Session,
    login_error::{LoginError, LoginFault},
    password_change::PasswordChangeError,
    person::{AccountPerson, PersonId},
    users::{NewUser, UserChanges, UserError, UserFile, UserRecord},
    verify_future::VerifyFuture,
};

/// Settings of the accounts. Every member has a default, but the files need names.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Path of the file of API tokens.
    pub token_file: PathBuf,
    /// Is true if the token file must exist; with a trusted issuer, API tokens are optional.
    pub requires_tokens: bool,
    /// Path of the file of users; it need not exist.
    pub user_file: PathBuf,
    /// Limit on failed logins of a user in a row; then the account is disabled. 0 for no limit.
    pub max_failed_attempts: u32,
    /// Limit on failed logins per client address and time (10 per 15 minutes by default).
    pub failed_logins: Quota,
    /// Limit on concurrent password checks (2 by default, but fewer than cores if there are
    /// several); each uses a core for some tenths of a second.
    pub concurrent_logins: usize,
    /// Limit on logins that wait a few seconds for a check (128 by default); others are refused.
    /// The limit holds separately for accounts that have logged in before, which go first.
    pub waiting_logins: usize,
    /// Limit on sessions of a user (16 by default, at least 1): a new session ends the oldest one.
    pub max_sessions: usize,
    /// Least number of characters of a new password (12 by default).
    pub min_password_length: usize,
    /// bcrypt cost of checks without a user (12 by default), so that the time does not reveal which
    /// users exist.
    pub password_cost: u32,
    /// Clock.
    pub clock: WallClock,
    /// State shared by the replicas of the server, if there are several: it then holds sessions,
    /// failed logins and locked accounts, instead of this process and its files.
    pub shared: Option<store::Shared>,
}

/// The accounts of a running server. Clones share them.
#[derive(Clone)]
pub struct Accounts {
    shared: Arc<Shared>,
}

/// Reason why accounts cannot be opened. The message is for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Without a token file, no client could authenticate.
    #[error(
        "token file not found: {}; create a token with -add-token, or switch authentication off with -no-auth",
        .0.display()
    )]
    NoTokenFile(PathBuf),
    /// The API tokens cannot be used.
    #[error(transparent)]
    Tokens(tokens::OpenError),
    /// The file of users cannot be used.
    #[error(transparent)]
    Users(#[from] FileError),
}

struct Shared {
    tokens: ApiTokens,
    known: ArcSwap<SessionIndex>,
    /// Locked while the file is read and written, so only by blocking threads.
    state: Mutex<State>,
    paths: [PathBuf; 2],
    gone: SessionEndCallback,
    passwords: Passwords,
    /// The file of users, for a new password.
    user_file: UserFile,
    max_failed_attempts: u32,
    max_sessions: usize,
    attempts: PasswordAttempts,
    browser_sign_in: OnceLock<BrowserRules>,
    sessions: Sessions,
    limiter: LoginLimiter,
    clock: WallClock,
    /// Notified of every change of the token index.
    changes: tokio::sync::watch::Sender<()>,
}

/// Time for which a file of replicas keeps expired tokens, because their clocks may differ by it.
const GRACE: SignedDuration = SignedDuration::from_mins(5);

/// Receives the session keys of tokens that are no longer valid.
type SessionEndCallback = Arc<dyn Fn(&str) + Send + Sync>;

struct State {
    users: WatchedFile<Users>,
    sessions: LocalSessions,
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
            min_password_length: MIN_LENGTH,
            password_cost: 12,
            clock: WallClock::default(),
            shared: None,
        }
    }
}

// === impl Accounts ===

impl Accounts {
    /// Reads the files, and drops expired tokens; five minutes later where replicas share the file.
    ///
    /// From then on `gone` receives the session key of every token that is no longer valid:
    /// expired, removed, bound to another database, or of a disabled or deleted user. It is called
    /// on the thread that detects this and must not block.
    ///
    /// # Errors
    /// Fails if the token file is missing, or one of the files cannot be used.
    pub fn open(
        settings: Settings,
        gone: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let paths = [settings.token_file.clone(), settings.user_file.clone()];
        let attempts = PasswordAttempts::new(&settings);
        let gone: SessionEndCallback = Arc::new(gone);
        let clock = settings.clock.clone();
        let (path, ended) = (settings.token_file, Arc::clone(&gone));
        let is_alone = settings.shared.is_none();
        let grace = if is_alone {
            SignedDuration::ZERO
        } else {
            GRACE
        };
        let is_required = settings.requires_tokens;
        let tokens = ApiTokens::open(path, is_required, grace, clock, move |key| ended(key))?;
        let user_file = UserFile::new(&settings.user_file)
            .with_min_length(settings.min_password_length)
            .with_cost(settings.password_cost);
        let state = State {
            users: WatchedFile::open(settings.user_file)?,
            sessions: LocalSessions::default(),
        };
        let sessions = Sessions::new(settings.shared);
        let users = state.users.table().records();
        let disabled = users.filter(|user| !user.is_enabled);
        sessions.end_of(disabled.map(|user| &user.name));
        let shared = Shared {
            tokens,
            known: ArcSwap::default(),
            state: Mutex::new(state),
            paths,
            gone,
            passwords: Passwords::with_cost(settings.password_cost),
            user_file,
            max_failed_attempts: settings.max_failed_attempts,
            max_sessions: settings.max_sessions.max(1),
            attempts,
            browser_sign_in: OnceLock::new(),
            sessions,
            limiter: LoginLimiter::new(
                settings.concurrent_logins,
                settings.waiting_logins,
                login::MAX_WAIT,
            ),
            clock: settings.clock,
            changes: tokio::sync::watch::Sender::default(),
        };
        shared.publish(lock(&shared.state));
        shared.announce();
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Returns the number of API tokens and of users, including those that cannot be used now.
    ///
    /// Waits while a file is read or written, so call it only at the start of a server.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let state = lock(&self.shared.state);
        let users = state.users.table().records().count();
        (self.shared.tokens.count(), users)
    }

    /// Verifies a token of which only the digest is known, such as the token of an identity that
    /// was kept for later.
    #[must_use]
    pub fn verify_digest(&self, token: TokenHash) -> VerifyFuture {
        let verdict = self.find(token);
        if verdict.is_err()
            && let Some(look_up) = self.shared.sessions.look_up(token)
        {
            return VerifyFuture::asking(look_up, token, Arc::clone(&self.shared));
        }
        VerifyFuture::known(verdict)
    }

    /// Returns the last time at which a valid API token was used in this process, to the second.
    #[must_use]
    pub fn last_use(&self, api_token: TokenHash) -> Option<Timestamp> {
        self.shared.tokens.last_use(api_token)
    }

    /// Starts to watch the files: the [`Watch`] applies all later changes once it runs. The files
    /// may be missing.
    pub fn watch(&self) -> Watch<Self> {
        Watch::new(self.clone())
    }

    fn find(&self, token: TokenHash) -> Result<Identity, Denied> {
        let shared = &self.shared;
        let now = || shared.clock.now();
        let session = || shared.known.load().identity(token, &shared.tokens, now);
        let identity = shared.tokens.find(token).or_else(session);
        identity.ok_or(Denied::Invalid)
    }
}

impl Watched for Accounts {
    fn paths(&self) -> Vec<PathBuf> {
        self.shared.paths.to_vec()
    }

    fn reload(&self) -> bool {
        let has_tokens = self.shared.tokens.reload();
        let mut state = lock(&self.shared.state);
        let has_users = state.users.reload();
        if has_users {
            self.shared.publish(state);
            let [_, users] = &self.shared.paths;
            tokens::log_reload(users);
        } else if has_tokens {
            self.shared.changes.send_replace(());
        }
        has_tokens || has_users
    }

    fn sweep(&self) {
        self.shared.tokens.sweep();
        self.shared.publish(lock(&self.shared.state));
    }

    fn next_end(&self) -> Option<Timestamp> {
        let session = self.shared.known.load().next_end();
        session
            .into_iter()
            .chain(self.shared.tokens.next_end())
            .min()
    }

    fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }
}

impl Verify for Accounts {
    type Identity = Identity;
    type Future = VerifyFuture;

    fn verify(&self, token: &str) -> VerifyFuture {
        self.verify_digest(TokenHash::of(token))
    }

    fn verify_now(&self, token: &str) -> Option<Result<Identity, Denied>> {
        match self.find(TokenHash::of(token)) {
            // Another replica may have opened or ended the session.
            Err(_) if self.shared.sessions.is_replicated() => None,
            verdict => Some(verdict),
        }
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounts")
            .field("tokens", &self.shared.tokens)
            .finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    /// Logs the number of users.
    fn announce(&self) {
        let state = lock(&self.state);
        let [_, path] = self.paths.each_ref().map(|path| path.display());
        let users = state.users.table().records().count();
        info!("{users} user(s) loaded from {path}");
    }

    /// Replaces the index of sessions, and reports those that are no longer valid.
    fn publish(&self, mut state: MutexGuard<'_, State>) {
        let State { users, sessions } = &mut *state;
        sessions.end_granted(|grant| self.has_ended(Some(grant)));
        let now = self.clock.now();
        let known = Arc::new(SessionIndex::new(now, users.table(), sessions));
        let before = self.known.swap(Arc::clone(&known));
        // Unlocked first, because the callback may be slow or take a lock.
        drop(state);
        self.sessions.end_of(known.people_gone_since(&before));
        if let Some(rules) = self.browser_sign_in.get() {
            rules.people_gone(known.person_ids_gone_since(&before));
        }
        let outdated = self.sessions.drop_outdated(self, &known);
        self.notify_ended(outdated.into_iter().chain(known.gone_since(&before)));
        self.changes.send_replace(());
    }

    fn notify_ended(&self, tokens: impl IntoIterator<Item = TokenHash>) {
        for token in tokens {
            (self.gone)(&token.to_string());
        }
    }
}

impl From<tokens::OpenError> for OpenError {
    fn from(error: tokens::OpenError) -> Self {
        match error {
            tokens::OpenError::NotFound(path) => Self::NoTokenFile(path),
            error => Self::Tokens(error),
        }
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Keeps one core free: if all cores check passwords, queries of other clients take several times
/// as long.
fn logins_for(cores: usize) -> usize {
    cores.saturating_sub(1).clamp(1, 2)
}
