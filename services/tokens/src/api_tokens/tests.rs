use std::{fs, time::Duration};

use jiff::SignedDuration;
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;

use super::*;
use crate::{NewToken, TokenFile};

/// The tokens of a server, with the file of its administrator.
struct TestTokens {
    folder: TempDir,
    file: TokenFile,
    clock: WallClock,
    tokens: ApiTokens,
    gone: Arc<Mutex<Vec<String>>>,
}

impl TestTokens {
    fn new() -> Self {
        Self::with_grace(SignedDuration::ZERO)
    }

    fn with_grace(grace: SignedDuration) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens.yaml");
        let clock = WallClock::manual("2026-11-21T10:00:00Z".parse().expect("a date"));
        let gone = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&gone);
        let note = move |key: &str| lock(&noted).push(key.to_owned());
        Self {
            tokens: ApiTokens::open(path.clone(), false, grace, clock.clone(), note)
                .expect("opened"),
            file: TokenFile::new(path),
            folder,
            clock,
            gone,
        }
    }

    /// Creates a token with this lifetime, and returns it and its id.
    fn add(&self, hours: Option<i64>) -> (SecretString, String) {
        let now = self.clock.now();
        let new = NewToken {
            expires_at: hours.map(|hours| now + SignedDuration::from_hours(hours)),
            ..NewToken::default()
        };
        let made = self.file.add(new, now).expect("made");
        (made.token, made.record.id)
    }

    fn is_good(&self, token: &SecretString) -> bool {
        let verdict = self.tokens.verify_now(token.expose_secret());
        verdict.expect("at once").is_ok()
    }

    fn gone(&self) -> usize {
        lock(&self.gone).drain(..).count()
    }
}

#[test]
fn a_token_is_good_until_it_is_removed_from_the_file() {
    let setup = TestTokens::new();
    let (first, id) = setup.add(None);
    assert!(!setup.is_good(&first), "the file was not read again");
    assert!(setup.tokens.reload() && setup.is_good(&first));
    assert!(!setup.tokens.reload(), "nothing is new");

    setup.file.remove(&id).expect("removed");
    assert!(setup.is_good(&first));
    assert!(setup.tokens.reload() && !setup.is_good(&first));
    assert_eq!(setup.gone(), 1);
}

#[test]
fn a_token_leaves_the_file_when_it_expires() {
    let setup = TestTokens::new();
    setup.add(Some(1));
    setup.tokens.reload();
    setup.clock.advance(Duration::from_hours(1));
    setup.tokens.sweep();
    assert_eq!((setup.gone(), setup.tokens.count()), (1, 0));
    assert!(setup.file.list().expect("read").is_empty());
}

#[test]
fn a_token_of_a_shared_file_ends_with_its_time_and_leaves_the_file_later() {
    let setup = TestTokens::with_grace(SignedDuration::from_mins(5));
    let (token, _) = setup.add(Some(1));
    setup.tokens.reload();
    assert_eq!(
        setup.tokens.next_end(),
        Some(setup.clock.now() + SignedDuration::from_hours(1))
    );
    setup.clock.advance(Duration::from_hours(1));
    assert!(!setup.is_good(&token), "without a sweep");
    setup.tokens.sweep();
    assert_eq!((setup.gone(), setup.tokens.count()), (1, 1));
    setup.clock.advance(Duration::from_mins(5));
    setup.tokens.sweep();
    assert_eq!((setup.gone(), setup.tokens.count()), (0, 0));
    assert!(setup.file.list().expect("read").is_empty());
}

#[test]
fn a_file_that_is_broken_or_gone_changes_nothing() {
    let setup = TestTokens::new();
    let (token, _) = setup.add(None);
    setup.tokens.reload();
    fs::write(setup.file.path(), "tokens: [").expect("written");
    assert!(!setup.tokens.reload() && setup.is_good(&token));
    fs::remove_file(setup.file.path()).expect("removed");
    assert!(!setup.tokens.reload() && setup.is_good(&token));
}

#[test]
fn a_required_file_has_to_exist() {
    let setup = TestTokens::new();
    let path = setup.folder.path().join("absent.yaml");
    let error = ApiTokens::open(
        path.clone(),
        true,
        SignedDuration::ZERO,
        setup.clock.clone(),
        |_| {},
    );
    let expected = format!("token file not found: {}", path.display());
    assert_eq!(error.expect_err("absent").to_string(), expected);
}
