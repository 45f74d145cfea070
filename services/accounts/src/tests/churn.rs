//! Sessions while the files change at random.

use std::{collections::BTreeMap, time::SystemTime};

use tokio::task::JoinSet;

use super::*;

/// Number of user names.
const NAMES: usize = 50;

/// Changes of a run; a long test sets `CHURN_CHANGES` to more.
const CHANGES: usize = 600;

/// Changes between two looks at all sessions.
const LOOK: usize = 20;

const PASSWORD: &str = "right";

/// A generator of numbers that are the same in each run.
struct Numbers(u64);

/// A session, and the account that it is of.
struct Opened {
    token: SecretString,
    name: String,
    ends: Timestamp,
    is_valid: bool,
}

/// A server, and the expected state of its users and sessions.
struct Churn {
    setup: TestAccounts,
    numbers: Numbers,
    /// The users in the file: true for those who may log in.
    users: BTreeMap<String, bool>,
    sessions: Vec<Opened>,
}

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

impl Churn {
    fn new() -> Self {
        let setup = TestAccounts::new();
        setup.users.delete("alice").expect("deleted");
        let mut churn = Self {
            setup,
            numbers: Numbers(48),
            users: BTreeMap::new(),
            sessions: Vec::new(),
        };
        for number in 0..NAMES {
            churn.add(&format!("user-{number}"));
        }
        churn.applied();
        churn
    }

    /// Marks the file as written long ago, so that the server does not wait for more.
    fn rest(&self) {
        let file = fs::File::options()
            .write(true)
            .open(self.setup.users.path());
        let long_ago = SystemTime::now() - Duration::from_hours(1);
        file.and_then(|file| file.set_modified(long_ago))
            .expect("a file");
    }

    /// Lets the server read the files, as it does after each change.
    fn applied(&self) {
        self.rest();
        self.setup.reload();
        self.rest();
    }

    fn any(&mut self) -> String {
        format!("user-{}", self.numbers.below(NAMES))
    }

    fn add(&mut self, name: &str) {
        let now = self.setup.clock.now();
        let password = PASSWORD.into();
        let added = self.setup.users.add(NewUser::new(name, &password), now);
        assert_eq!(added.is_ok(), !self.users.contains_key(name), "{added:?}");
        self.users.entry(name.to_owned()).or_insert(true);
        self.rest();
    }

    fn delete(&mut self, name: &str) {
        let deleted = self.setup.users.delete(name);
        assert_eq!(deleted.is_ok(), self.users.remove(name).is_some());
        self.rest();
        self.end_of(name);
    }

    fn enable(&mut self, name: &str, is_enabled: bool) {
        let Some(known) = self.users.get_mut(name) else {
            return;
        };
        *known = is_enabled;
        let users = &self.setup.users;
        let changed = if is_enabled {
            users.enable(name)
        } else {
            users.disable(name)
        };
        changed.expect("changed");
        self.rest();
        if !is_enabled {
            self.end_of(name);
        }
    }

    /// Removes a user with an editor, which writes the file in place.
    fn edit(&mut self, name: &str) {
        let path = self.setup.users.path();
        let text = fs::read_to_string(path).expect("a file");
        let entry = format!("  {name}:\n");
        let mut kept = String::new();
        let mut is_other = true;
        for line in text.split_inclusive('\n') {
            if !line.starts_with("    ") {
                is_other = line != entry;
            }
            if is_other {
                kept.push_str(line);
            }
        }
        fs::write(path, kept).expect("written");
        self.users.remove(name);
        self.end_of(name);
    }

    fn end_of(&mut self, name: &str) {
        let own = self.sessions.iter_mut().filter(|it| it.name == name);
        own.for_each(|session| session.is_valid = false);
    }

    async fn log_in(&mut self, name: &str) {
        let accounts = &self.setup.accounts;
        let session = accounts.login(name, PASSWORD.into(), None).await;
        let may = self.users.get(name).copied().unwrap_or_default();
        assert_eq!(session.is_ok(), may, "{name}: {session:?}");
        let Ok(session) = session else { return };
        let own = || |it: &&mut Opened| it.is_valid && it.name == name;
        if self.sessions.iter_mut().filter(own()).count() >= 16
            && let Some(oldest) = self.sessions.iter_mut().find(own())
        {
            oldest.is_valid = false;
        }
        self.sessions.push(Opened {
            token: session.token,
            name: name.to_owned(),
            ends: session.expires_at,
            is_valid: true,
        });
    }

    async fn log_out(&mut self) {
        if self.sessions.is_empty() {
            return;
        }
        let any = self.numbers.below(self.sessions.len());
        let session = &mut self.sessions[any];
        let token = TokenHash::of(session.token.expose_secret());
        let ended = self.setup.accounts.log_out(token).await;
        ended.expect("ended");
        session.is_valid = false;
    }

    async fn change(&mut self) {
        let name = self.any();
        match self.numbers.below(100) {
            0..20 => self.enable(&name, false),
            20..45 => self.enable(&name, true),
            45..52 => self.delete(&name),
            52..62 => self.add(&name),
            // Both before the server looks, and in the same second.
            62..66 => {
                self.delete(&name);
                self.add(&name);
            }
            66..68 => self.edit(&name),
            68..90 => self.log_in(&name).await,
            90..94 => self.log_out().await,
            94..97 => self.setup.accounts.sweep(),
            _ => {
                let minutes = self.numbers.below(200);
                let minutes = u64::try_from(minutes).expect("small");
                self.setup.clock.advance(Duration::from_mins(minutes));
            }
        }
        self.applied();
    }

    fn check(&mut self, change: usize) {
        let now = self.setup.clock.now();
        for session in &mut self.sessions {
            session.is_valid &= session.ends > now;
            let is_good = self.setup.is_good(&session.token);
            let name = &session.name;
            assert_eq!(is_good, session.is_valid, "{name} after change {change}");
        }
        // Those that have ended never come back, so each needs to be looked at once more only.
        self.sessions.retain(|session| session.is_valid);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_session_is_valid_exactly_as_long_as_its_account_whatever_happens_to_others() {
    let changes = std::env::var("CHURN_CHANGES").ok();
    let changes = changes.map_or(CHANGES, |text| text.parse().expect("a number"));
    let mut churn = Churn::new();
    for change in 0..changes {
        churn.change().await;
        if change % LOOK == 0 {
            churn.check(change);
        }
    }
    churn.check(changes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_an_editor_has_emptied_and_not_written_yet_ends_no_session() {
    let setup = TestAccounts::new();
    let now = setup.clock.now();
    let bob = setup.users.add(NewUser::new("bob", &"right".into()), now);
    bob.expect("added");
    let session = setup.session().await;
    let path = setup.users.path();
    let text = fs::read_to_string(path).expect("a file");
    let pause = Duration::from_millis(5);

    fs::write(path, "").expect("emptied");
    let accounts = setup.accounts.clone();
    let mut logins = JoinSet::new();
    logins.spawn(async move { accounts.login("bob", "right".into(), None).await });
    tokio::time::sleep(pause).await;
    fs::write(path, &text).expect("written");
    let login = logins.join_next().await.expect("one");
    login.expect("answered").expect("logged in");
    assert!(setup.is_good(&session), "at a login of another user");

    fs::write(path, "").expect("emptied");
    let accounts = setup.accounts.clone();
    let reload = tokio::task::spawn_blocking(move || accounts.reload());
    tokio::time::sleep(pause).await;
    fs::write(path, &text).expect("written");
    reload.await.expect("read");
    assert!(setup.is_good(&session), "at a reload");
    assert_eq!(setup.users.list().expect("read").len(), 2);
}

#[tokio::test]
async fn a_session_is_not_valid_for_a_new_account_of_the_same_name_and_second() {
    let setup = TestAccounts::new();
    let session = setup.session().await;
    let before = setup.alice();
    setup.users.delete("alice").expect("deleted");
    add_alice(&setup.users, setup.clock.now());
    let after = setup.alice();
    assert_eq!(before.created_at, after.created_at);
    assert_ne!(before.id, after.id);
    setup.reload();
    assert!(!setup.is_good(&session));
    let session = setup.session().await;
    let identity = setup.whose(&session).expect("valid");
    assert_eq!(
        (identity.name(), identity.account_id()),
        ("alice", &*after.id)
    );
}
