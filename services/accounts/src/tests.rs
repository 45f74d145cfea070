mod browser;
mod churn;
mod login;
mod password_change;
mod reload;
mod replicated;
mod unknown_names;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;
use tokio_test::{assert_ready, task};
use ziggurat_tokens::{Claims, Holder, NewClaims, NewToken, TokenFile};

use super::*;

const DAY: Duration = Duration::from_hours(24);

/// The accounts of a server, with the files of its administrator.
struct TestAccounts {
    folder: TempDir,
    tokens: TokenFile,
    users: UserFile,
    clock: WallClock,
    accounts: Accounts,
    gone: Arc<Mutex<Vec<String>>>,
}

impl TestAccounts {
    /// Creates accounts with the user alice and one token that is not returned.
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = Settings {
            token_file: folder.path().join("tokens.yaml"),
            user_file: folder.path().join("users.yaml"),
            password_cost: 4,
            clock: WallClock::manual("2026-11-21T10:00:00Z".parse().expect("a date")),
            ..Settings::default()
        };
        change(&mut settings);
        let clock = settings.clock.clone();
        let tokens = TokenFile::new(&settings.token_file);
        let users = UserFile::new(&settings.user_file)
            .with_cost(4)
            .with_min_length(1);
        tokens
            .add(NewToken::default(), clock.now())
            .expect("a token");
        add_alice(&users, clock.now());
        let gone = Arc::<Mutex<Vec<String>>>::default();
        let accounts = open(settings, &gone).expect("good files");
        Self {
            folder,
            tokens,
            users,
            clock,
            accounts,
            gone,
        }
    }

    /// Creates a token with this lifetime. The server does not know it before a reload.
    fn token(&self, lives: Option<Duration>) -> SecretString {
        let expires_at = lives.map(|lives| self.clock.now() + lives);
        let new = NewToken {
            expires_at,
            ..NewToken::default()
        };
        let made = self.tokens.add(new, self.clock.now()).expect("made");
        made.token
    }

    fn whose(&self, token: &SecretString) -> Option<Identity> {
        let verdict = self.accounts.verify(token.expose_secret());
        assert_ready!(task::spawn(verdict).poll()).ok()
    }

    fn is_good(&self, token: &SecretString) -> bool {
        self.whose(token).is_some()
    }

    async fn log_in(&self, password: &str) -> Result<Session, LoginError> {
        self.accounts.login("alice", password.into(), None).await
    }

    async fn session(&self) -> SecretString {
        self.log_in("right").await.expect("logged in").token
    }

    fn alice(&self) -> UserRecord {
        self.users.list().expect("read").remove(0)
    }

    fn gone(&self) -> Vec<String> {
        std::mem::take(&mut self.gone.lock().expect("nobody panicked"))
    }

    fn reload(&self) {
        self.accounts.reload();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Adds the user alice.
fn add_alice(users: &UserFile, now: Timestamp) {
    let added = users.add(NewUser::new("alice", &"right".into()), now);
    added.expect("added");
}

fn open(settings: Settings, gone: &Arc<Mutex<Vec<String>>>) -> Result<Accounts, OpenError> {
    let gone = Arc::clone(gone);
    Accounts::open(settings, move |key| {
        gone.lock().expect("nobody panicked").push(key.to_owned());
    })
}

fn key(token: &SecretString) -> String {
    TokenHash::of(token.expose_secret()).to_string()
}

#[test]
fn one_core_stays_free_for_other_clients_if_there_are_several() {
    for (cores, logins) in [(1, 1), (2, 1), (3, 2), (4, 2), (64, 2)] {
        assert_eq!(logins_for(cores), logins, "{cores}");
    }
}

#[test]
fn a_server_without_a_token_file_does_not_start() {
    let settings = || Settings {
        token_file: "/nowhere/tokens.yaml".into(),
        user_file: "/nowhere/users.yaml".into(),
        ..Settings::default()
    };
    let error = open(settings(), &Arc::default()).expect_err("nobody could come in");
    assert_eq!(
        error.to_string(),
        "token file not found: /nowhere/tokens.yaml; create a token with -add-token, or switch \
         authentication off with -no-auth"
    );
}

#[test]
fn a_server_without_a_user_file_has_no_users() {
    let setup = TestAccounts::new();
    let settings = Settings {
        token_file: setup.path("tokens.yaml"),
        user_file: setup.path("none.yaml"),
        ..Settings::default()
    };
    assert!(open(settings, &Arc::default()).is_ok());
    assert!(!setup.path("none.yaml").exists(), "nor does it make one");
}

#[test]
fn a_token_identifies_its_holder_until_it_expires() {
    let setup = TestAccounts::new();
    let made = setup.tokens.add(
        NewToken {
            database: Some("staging".into()),
            expires_at: Some(setup.clock.now() + DAY),
            ..NewToken::default()
        },
        setup.clock.now(),
    );
    let made = made.expect("made");
    let token = made.token;
    assert!(!setup.is_good(&token), "the server has not looked yet");
    setup.reload();
    let identity = setup.whose(&token).expect("good");
    let (id, database) = (made.record.id.into(), Some("staging".into()));
    assert_eq!(*identity.holder(), Holder::Program { id, database });
    assert_eq!(identity.token(), TokenHash::of(token.expose_secret()));
    assert!(!setup.is_good(&"another".into()));

    let second = Duration::from_secs(1);
    setup.clock.advance(DAY.saturating_sub(second));
    assert!(setup.is_good(&token));
    setup.clock.advance(second);
    assert!(!setup.is_good(&token), "on the second");
}

#[test]
fn expired_tokens_leave_memory_and_file_and_their_connections_close() {
    let setup = TestAccounts::new();
    let short = setup.token(Some(DAY));
    let long = setup.token(Some(2 * DAY));
    setup.reload();
    setup.clock.advance(DAY);
    setup.accounts.sweep();
    assert_eq!(setup.gone(), [key(&short)]);
    assert!(!setup.is_good(&short));
    assert_eq!(setup.tokens.list().expect("read").len(), 2);
    assert!(setup.is_good(&long));
    setup.clock.advance(DAY);
    setup.accounts.sweep();
    assert_eq!(setup.gone(), [key(&long)]);
    assert_eq!(setup.tokens.list().expect("read").len(), 1);
    setup.accounts.sweep();
    assert_eq!(setup.gone(), [""; 0], "told once");
}

#[test]
fn tokens_that_expired_while_the_server_was_down_are_dropped_at_its_start() {
    let setup = TestAccounts::new();
    setup.token(Some(DAY));
    setup.clock.advance(2 * DAY);
    let settings = Settings {
        token_file: setup.path("tokens.yaml"),
        user_file: setup.path("users.yaml"),
        clock: setup.clock.clone(),
        ..Settings::default()
    };
    open(settings, &Arc::default()).expect("good files");
    assert_eq!(setup.tokens.list().expect("read").len(), 1);
}

#[test]
fn tokens_removed_from_the_file_are_invalid_and_the_others_stay_valid() {
    let setup = TestAccounts::new();
    let (removed, kept, moved) = (setup.token(None), setup.token(None), setup.token(None));
    setup.reload();
    setup.tokens.remove(&key(&removed)).expect("removed");
    let text = fs::read_to_string(setup.tokens.path()).expect("a file");
    let hash = key(&moved);
    let moved_text = text.replace(&hash, &format!("{hash}\n  database: other"));
    fs::write(setup.tokens.path(), moved_text).expect("written");
    setup.reload();
    let mut gone = setup.gone();
    gone.sort();
    let mut expected = [key(&removed), key(&moved)];
    expected.sort();
    assert_eq!(gone, expected);
    assert!(!setup.is_good(&removed));
    assert!(setup.is_good(&kept) && setup.is_good(&moved));
}

#[test]
fn debug_output_has_no_secrets() {
    let setup = TestAccounts::new();
    let token = setup.token(None);
    setup.reload();
    let shown = format!("{:?} {:?} {:?}", setup.accounts, setup.users, setup.tokens);
    assert!(
        !shown.contains("$2b$") && !shown.contains(&key(&token)),
        "{shown}"
    );
}
