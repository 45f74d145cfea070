//! Tests of the place where a login stores its secret, with a keychain in memory.

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex},
};

use super::{Fake, Fixture, fake};
use crate::keychain::{Keychain, KeychainError};

const SECRET: &str = "a-secret-of-its-own";

/// A keychain that counts its reads, and can be out of order.
#[derive(Debug, Default)]
struct Memory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<String, String>,
    reads: usize,
    refuses: bool,
}

impl Memory {
    fn entries(&self) -> Vec<(String, String)> {
        let state = self.0.lock().expect("a state");
        state.entries.clone().into_iter().collect()
    }

    fn reads(&self) -> usize {
        self.0.lock().expect("a state").reads
    }

    fn refuse(&self, refuses: bool) {
        self.0.lock().expect("a state").refuses = refuses;
    }

    fn on<T>(&self, act: impl FnOnce(&mut State) -> Option<T>) -> Result<T, KeychainError> {
        let mut state = self.0.lock().expect("a state");
        if state.refuses {
            return Err(KeychainError::Unavailable("it is locked".to_owned()));
        }
        act(&mut state).ok_or(KeychainError::NotFound)
    }
}

impl Keychain for Memory {
    fn read(&self, account: &str) -> Result<String, KeychainError> {
        self.on(|state| {
            state.reads += 1;
            state.entries.get(account).cloned()
        })
    }

    fn store(&self, account: &str, secret: &str) -> Result<(), KeychainError> {
        self.on(|state| {
            state.entries.insert(account.to_owned(), secret.to_owned());
            Some(())
        })
    }

    fn delete(&self, account: &str) -> Result<(), KeychainError> {
        self.on(|state| state.entries.remove(account).map(drop))
    }
}

fn platform() -> Fake {
    fake(|_| (200, "[]"))
}

fn fixture() -> (Fixture, Arc<Memory>) {
    let memory = Arc::new(Memory::default());
    let keychain = Arc::clone(&memory) as Arc<dyn Keychain>;
    (Fixture::new().with_keychain(keychain), memory)
}

fn login(fixture: &Fixture, fake: &Fake, more: &str) -> super::super::fixture::Done {
    let url = fake.url();
    fixture.run(&format!(
        "platform auth login --api-url {url} --client-id me --client-secret {SECRET} {more}"
    ))
}

fn file(fixture: &Fixture) -> String {
    fs::read_to_string(fixture.config()).unwrap_or_default()
}

#[test]
fn a_secret_goes_to_the_keychain_and_nowhere_else() {
    let (fake, (fixture, memory)) = (platform(), fixture());
    let done = login(&fixture, &fake, "");
    assert_eq!(done.exit, 0, "{done:?}");
    let path = fixture.config().display().to_string();
    assert_eq!(
        done.stderr.lines().last(),
        Some(&*format!(
            "Client secret saved to the OS keychain; client ID and API URL saved to {path}"
        ))
    );
    let account = format!("default@{path}");
    assert_eq!(memory.entries(), [(account, SECRET.to_owned())]);
    assert!(!file(&fixture).contains(SECRET));
    assert!(file(&fixture).contains("login_id: "));
}

#[test]
fn a_warm_cache_asks_no_keychain() {
    let (fake, (fixture, memory)) = (platform(), fixture());
    login(&fixture, &fake, "");
    for _ in 0..2 {
        assert_eq!(fixture.run("platform tenant list").exit, 0);
    }
    assert_eq!(memory.reads(), 0);
    // Holds even if the keychain is out of order.
    memory.refuse(true);
    assert_eq!(fixture.run("platform tenant list").exit, 0);
    memory.refuse(false);
    fs::remove_dir_all(fixture.home().join(".ziggurat/cache")).expect("a cold cache");
    assert_eq!(fixture.run("platform tenant list").exit, 0);
    assert_eq!(memory.reads(), 1);
    let done = fixture.run("platform auth status -o json");
    assert!(done.stdout.contains(r#""source":"keychain""#), "{done:?}");
    assert!(done.stdout.contains(r#""storage":"keychain""#), "{done:?}");
}

#[test]
fn a_secret_moves_between_file_and_keychain_and_leaves_nothing_behind() {
    let (fake, (fixture, memory)) = (platform(), fixture());
    login(&fixture, &fake, "--insecure-storage");
    assert!(file(&fixture).contains(SECRET) && memory.entries().is_empty());
    login(&fixture, &fake, "");
    assert!(!file(&fixture).contains(SECRET), "{}", file(&fixture));
    assert_eq!(memory.entries().len(), 1);
    let done = login(&fixture, &fake, "--insecure-storage");
    assert!(!done.stderr.contains("Warning"), "{done:?}");
    assert!(file(&fixture).contains(SECRET) && memory.entries().is_empty());
    login(&fixture, &fake, "");
    assert_eq!(fixture.run("platform auth logout").exit, 0);
    assert!(!file(&fixture).contains(SECRET) && memory.entries().is_empty());
}

#[test]
fn a_keychain_that_refuses_leaves_the_secret_in_the_file_with_a_warning() {
    let (fake, (fixture, memory)) = (platform(), fixture());
    memory.refuse(true);
    let done = login(&fixture, &fake, "");
    assert_eq!(done.exit, 0);
    assert!(
        done.stderr.contains(
            "Warning: the OS keychain could not be used (it is locked), so the client secret is \
             stored in plain text.\nCredentials saved to "
        ),
        "{}",
        done.stderr
    );
    assert!(file(&fixture).contains(SECRET));
    // A secret in the file was never in the keychain, which is not called then.
    let done = fixture.run("platform auth logout");
    assert_eq!(
        (done.exit, done.stderr.as_str()),
        (0, "Logged out. Token and stored credentials removed.\n")
    );
}

#[test]
fn a_keychain_that_broke_after_the_login_is_reported_and_stops_nothing() {
    let (fake, (fixture, memory)) = (platform(), fixture());
    login(&fixture, &fake, "");
    memory.refuse(true);
    let done = fixture.run("platform auth logout");
    assert_eq!(done.exit, 0);
    assert!(
        done.stderr.starts_with(
            "Warning: could not remove the client secret from the OS keychain: it is locked\n"
        ),
        "{done:?}"
    );
    // A second attempt finds it, although the profile has no credential any more.
    memory.refuse(false);
    fixture.run("platform auth logout");
    assert!(memory.entries().is_empty());
}

#[test]
fn an_entry_that_is_gone_is_no_credential() {
    let (fake, (fixture, memory)) = (platform(), fixture());
    login(&fixture, &fake, "");
    memory.0.lock().expect("a state").entries.clear();
    fs::remove_dir_all(fixture.home().join(".ziggurat/cache")).expect("a cold cache");
    let done = fixture.run("platform tenant list");
    assert_eq!(done.exit, 5);
    assert!(
        done.stderr.starts_with("Error: no credentials found"),
        "{done:?}"
    );
}

#[test]
fn a_configuration_that_cannot_be_saved_removes_the_secret() {
    let (fake, (fixture, memory)) = (platform(), fixture());
    fs::write(fixture.home().join("blocked"), "").expect("a file where a folder should be");
    let path = fixture.home().join("blocked/config.yaml");
    let done = login(&fixture, &fake, &format!("--config {}", path.display()));
    assert_eq!(done.exit, 1, "{done:?}");
    assert!(memory.entries().is_empty());
}

#[test]
fn the_command_line_switches_the_keychain_off_in_the_file() {
    let fake = platform();
    let fixture = Fixture::new().with_config("keychain: false\n");
    let done = login(&fixture, &fake, "");
    assert!(done.stderr.contains("(keychain: switched off)"), "{done:?}");
    assert!(file(&fixture).starts_with("keychain: false\n"));
}
