use std::{net::IpAddr, os::unix::fs::MetadataExt as _};

use ziggurat_layers::rate_limit::Outcome;
use ziggurat_runtime::logs::captured::Captured;

use super::*;

fn said(result: Result<Session, LoginError>) -> String {
    result.expect_err("refused").to_string()
}

type Step = fn(&UserFile) -> Result<(), UserError>;

fn with_password(password: &SecretString) -> UserChanges<'_> {
    UserChanges {
        password: Some(password),
        ..UserChanges::default()
    }
}

fn with_note(note: &str) -> UserChanges<'_> {
    UserChanges {
        note: Some(note),
        ..UserChanges::default()
    }
}

const INVALID: &str = "authentication failed: invalid username or password";
const DISABLED: &str = "authentication failed: user account is disabled";

#[tokio::test]
async fn a_session_lasts_a_day_and_the_login_is_recorded_in_the_file() {
    let setup = TestAccounts::new();
    let session = setup.log_in("right").await.expect("logged in");
    assert_eq!(session.expires_at.to_string(), "2026-11-22T10:00:00Z");
    let token = session.token;
    let identity = setup.whose(&token).expect("good");
    assert_eq!(identity.user(), Some("alice"));
    assert_eq!(setup.alice().last_login, Some(setup.clock.now()));
    assert!(!format!("{identity:?}").contains(token.expose_secret()));

    setup.clock.advance(DAY);
    assert!(!setup.is_good(&token));
    setup.accounts.sweep();
    assert_eq!(setup.gone(), [key(&token)]);
}

#[tokio::test]
async fn a_failed_login_reveals_no_more_than_necessary() {
    let setup = TestAccounts::new();
    let login = |name, password: &str| setup.accounts.login(name, password.into(), None);
    assert_eq!(said(login("alice", "wrong").await), INVALID);
    assert_eq!(said(login("bob", "right").await), INVALID);
    assert_eq!(said(login("Alice", "right").await), INVALID);
    setup.users.disable("alice").expect("disabled");
    setup.reload();
    assert_eq!(said(login("alice", "right").await), DISABLED);
    assert_eq!(said(login("alice", "wrong").await), INVALID);
    // One check each, so the time does not reveal which users exist.
    assert_eq!(setup.accounts.shared.passwords.checks(), [4; 5]);
}

#[tokio::test]
async fn an_account_disabled_a_moment_ago_cannot_log_in() {
    let setup = TestAccounts::new();
    setup.users.disable("alice").expect("disabled");
    // The server has not reloaded the file yet, but reads it before it writes.
    assert_eq!(said(setup.log_in("right").await), DISABLED);
    setup.users.enable("alice").expect("enabled");
    let new = "changed".into();
    setup
        .users
        .update("alice", &with_password(&new))
        .expect("set");
    setup.reload();
    setup
        .users
        .update("alice", &with_password(&"again".into()))
        .expect("set");
    assert_eq!(said(setup.log_in("changed").await), INVALID);
}

#[tokio::test]
async fn sessions_end_with_their_user_and_never_come_back() {
    let setup = TestAccounts::new();
    let steps: [(&str, Step, bool); 4] = [
        (
            "another password",
            |users| users.update("alice", &with_password(&"right".into())),
            true,
        ),
        (
            "a note",
            |users| users.update("alice", &with_note("x")),
            true,
        ),
        ("disabled", |users| users.disable("alice"), false),
        ("deleted", |users| users.delete("alice").map(drop), false),
    ];
    for (step, change, stays) in steps {
        let session = setup.session().await;
        let other = setup.session().await;
        setup.gone();
        change(&setup.users).expect(step);
        setup.reload();
        assert_eq!(setup.is_good(&session), stays, "{step}");
        let gone = setup.gone();
        assert_eq!(gone.contains(&key(&session)), !stays, "{step}");
        assert_eq!(gone.contains(&key(&other)), !stays, "{step}");

        let _ = setup.users.enable("alice");
        setup.reload();
        assert_eq!(setup.is_good(&session), stays, "{step}, and enabled");
    }
    add_alice(&setup.users, setup.clock.now());
    setup.reload();
    let session = setup.session().await;
    setup.users.delete("alice").expect("deleted");
    setup.clock.advance(Duration::from_secs(1));
    add_alice(&setup.users, setup.clock.now());
    setup.reload();
    assert!(!setup.is_good(&session));
}

#[tokio::test]
async fn a_session_follows_the_user_record_in_the_file() {
    let setup = TestAccounts::new();
    let session = setup.session().await;
    let text = fs::read_to_string(setup.users.path()).expect("a file");
    let line = "    available_databases: [shop]\n";
    fs::write(setup.users.path(), text + line).expect("written");
    setup.reload();
    let identity = setup.whose(&session).expect("good");
    let Holder::User { databases, .. } = identity.holder() else {
        panic!("a user");
    };
    assert_eq!(**databases, ["shop"]);
    assert_eq!(setup.gone(), [""; 0], "a selection is kept");
}

#[tokio::test]
async fn sessions_of_a_user_are_limited_and_the_oldest_ends_first() {
    for (set, expected) in [(None, 16), (Some(3), 3), (Some(0), 1)] {
        let setup = TestAccounts::with(|settings| {
            settings.max_sessions = set.unwrap_or(settings.max_sessions);
        });
        let mut open = Vec::new();
        for _ in 0..=expected {
            open.push(setup.session().await);
        }
        assert!(!setup.is_good(&open[0]), "{set:?}");
        assert_eq!(setup.gone(), [key(&open[0])], "{set:?}");
        assert!(open[1..].iter().all(|session| setup.is_good(session)));
    }
}

#[tokio::test]
async fn too_many_failures_in_a_row_disable_the_account_until_it_is_enabled() {
    let setup = TestAccounts::with(|settings| settings.max_failed_attempts = 3);
    for failed in [1, 2] {
        assert_eq!(said(setup.log_in("wrong").await), INVALID);
        assert_eq!(setup.alice().failed_attempts, failed);
    }
    let session = setup.session().await;
    assert_eq!(setup.alice().failed_attempts, 0, "they were not in a row");

    for _ in 0..3 {
        assert_eq!(said(setup.log_in("wrong").await), INVALID);
    }
    assert!(!setup.alice().is_enabled);
    assert!(!setup.is_good(&session));
    assert_eq!(said(setup.log_in("right").await), DISABLED);
    assert_eq!(setup.alice().failed_attempts, 3, "no more is counted");

    setup.users.enable("alice").expect("enabled");
    setup.reload();
    assert_eq!(said(setup.log_in("wrong").await), INVALID);
    setup.session().await;
}

#[tokio::test]
async fn without_a_limit_nothing_is_counted_or_written() {
    let setup = TestAccounts::new();
    let before = fs::read_to_string(setup.users.path()).expect("a file");
    for _ in 0..20 {
        assert_eq!(said(setup.log_in("wrong").await), INVALID);
    }
    assert_eq!(
        fs::read_to_string(setup.users.path()).expect("a file"),
        before
    );
}

#[tokio::test]
async fn two_servers_on_the_same_file_share_one_count() {
    let setup = TestAccounts::with(|settings| settings.max_failed_attempts = 10);
    let settings = Settings {
        token_file: setup.path("tokens.yaml"),
        user_file: setup.path("users.yaml"),
        max_failed_attempts: 10,
        password_cost: 4,
        ..Settings::default()
    };
    let other = open(settings, &Arc::default()).expect("good files");
    for _ in 0..4 {
        let (one, two) = tokio::join!(
            setup.log_in("wrong"),
            other.login("alice", "wrong".into(), None)
        );
        assert_eq!((said(one), said(two)), (INVALID.into(), INVALID.into()));
        setup
            .users
            .update("alice", &with_note("noted"))
            .expect("set");
    }
    let alice = setup.alice();
    assert_eq!(alice.failed_attempts, 8);
    assert_eq!(alice.note, "noted");
}

#[tokio::test]
async fn a_login_succeeds_although_the_file_cannot_be_written() {
    let setup = TestAccounts::with(|settings| settings.max_failed_attempts = 2);
    fs::write(setup.users.path(), "users: [").expect("written");
    setup.session().await;
    // The limit holds even with a broken file.
    for _ in 0..2 {
        assert_eq!(said(setup.log_in("wrong").await), INVALID);
    }
    assert_eq!(said(setup.log_in("right").await), DISABLED);
    let text = fs::read_to_string(setup.users.path());
    assert_eq!(
        text.expect("a file"),
        "users: [",
        "nobody's work is overwritten"
    );
}

#[tokio::test]
async fn an_address_with_too_many_failures_waits_for_the_end_of_the_window() {
    let setup = TestAccounts::new();
    let guess = |name: &'static str, password: &str, from: &str| {
        let from = from.parse().expect("an address");
        setup.accounts.login(name, password.into(), Some(from))
    };
    let guesser = "2001:db8:1:2::1";
    for attempt in 0..10 {
        let name = if attempt % 2 == 0 { "alice" } else { "nobody" };
        assert_eq!(said(guess(name, "wrong", guesser).await), INVALID);
    }
    assert_eq!(setup.accounts.shared.passwords.checks(), [4; 10]);
    setup.clock.advance(Duration::from_mins(5));
    for from in [guesser, "2001:db8:1:2:ffff::9"] {
        let limited = guess("alice", "right", from).await.expect_err("refused");
        let text = "too many failed authentication attempts from this IP address, please try \
                    again later";
        assert_eq!(limited.to_string(), text);
        let ten = Duration::from_mins(10);
        assert!(matches!(limited, LoginError::RateLimited { retry_after } if retry_after == ten));
    }
    assert_eq!(
        setup.accounts.shared.passwords.checks(),
        [0; 0],
        "not even looked at"
    );
    assert!(guess("alice", "right", "192.0.2.1").await.is_ok());

    setup.clock.advance(Duration::from_mins(10));
    assert!(guess("alice", "right", guesser).await.is_ok());
}

#[tokio::test]
async fn a_success_clears_the_address() {
    let setup = TestAccounts::new();
    let from = Some("192.0.2.1".parse().expect("an address"));
    for _ in 0..3 {
        for _ in 0..9 {
            let guess = setup.accounts.login("alice", "wrong".into(), from).await;
            assert_eq!(said(guess), INVALID);
        }
        let right = setup.accounts.login("alice", "right".into(), from).await;
        assert!(right.is_ok());
    }
}

#[tokio::test]
async fn concurrent_guesses_do_not_exceed_the_limit_of_failures() {
    let setup = TestAccounts::with(|settings| settings.concurrent_logins = 8);
    let from = Some("192.0.2.1".parse().expect("an address"));
    let guesses = (0..40).map(|_| setup.accounts.login("alice", "wrong".into(), from));
    let answers = futures_util::future::join_all(guesses).await;
    let looked_at = answers
        .iter()
        .filter(|answer| matches!(answer, Err(LoginError::Invalid)));
    assert_eq!(looked_at.count(), 10);
    assert_eq!(setup.accounts.shared.passwords.checks(), [4; 10]);
}

#[tokio::test]
async fn users_behind_one_address_may_log_in_at_once() {
    let setup = TestAccounts::new();
    let from = Some("192.0.2.1".parse().expect("an address"));
    let logins = (0..30).map(|_| setup.accounts.login("alice", "right".into(), from));
    for login in futures_util::future::join_all(logins).await {
        assert!(login.is_ok(), "{login:?}");
    }
}

#[tokio::test]
async fn a_flood_is_refused_instead_of_queued() {
    let setup = TestAccounts::with(|settings| {
        settings.concurrent_logins = 1;
        settings.waiting_logins = 2;
    });
    let logins = (0..10).map(|_| setup.log_in("right"));
    let answers = futures_util::future::join_all(logins).await;
    let busy = answers
        .iter()
        .filter(|answer| matches!(answer, Err(LoginError::Busy { .. })));
    assert_eq!(busy.count(), 7);
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 3);
}

#[tokio::test]
async fn an_address_with_too_many_failures_does_not_wait_in_the_queue() {
    let setup = TestAccounts::with(|settings| {
        settings.concurrent_logins = 1;
        settings.waiting_logins = 0;
    });
    let guesser = Some("192.0.2.1".parse().expect("an address"));
    let guess = || setup.accounts.login("alice", "wrong".into(), guesser);
    for _ in 0..10 {
        assert_eq!(said(guess().await), INVALID);
    }
    let _slot = setup
        .accounts
        .shared
        .limiter
        .enter(None)
        .await
        .expect("empty");
    assert!(matches!(guess().await, Err(LoginError::RateLimited { .. })));
    let other = setup.log_in("right").await;
    assert!(matches!(other, Err(LoginError::Busy { .. })));
}

#[tokio::test]
async fn a_flood_of_wrong_logins_does_not_lock_out_an_account_in_use() {
    let setup = TestAccounts::with(|settings| {
        settings.concurrent_logins = 1;
        settings.waiting_logins = 8;
    });
    let flood = |number: u8| {
        let address = [192, 0, 2, number].into();
        let (accounts, name) = (setup.accounts.clone(), format!("user {number}"));
        async move { accounts.login(&name, "wrong".into(), Some(address)).await }
    };
    // Marks the account as one that has logged in before.
    setup.session().await;
    let wrong = futures_util::future::join_all((1..=100).map(flood));
    let address = Some([192, 0, 2, 200].into());
    let right = setup.accounts.login("alice", "right".into(), address);
    let (wrong, right) = tokio::join!(wrong, right);
    assert!(right.is_ok(), "{right:?}");
    let busy = "authentication failed: too many logins at the same time, please try again";
    for refused in wrong {
        let refused = said(refused);
        assert!([INVALID, busy].contains(&&*refused), "{refused}");
    }
}

#[tokio::test]
async fn the_file_is_written_only_when_a_login_changes_something() {
    let setup = TestAccounts::with(|settings| settings.max_failed_attempts = 10);
    let text = || fs::read_to_string(setup.users.path()).expect("a file");
    let written = || fs::metadata(setup.users.path()).expect("a file").ino();
    setup.session().await;
    let (first, before) = (text(), written());
    setup.clock.advance(Duration::from_mins(59));
    for _ in 0..3 {
        setup.session().await;
    }
    assert_eq!(
        (text(), written()),
        (first, before),
        "to the hour is enough"
    );

    assert_eq!(said(setup.log_in("wrong").await), INVALID);
    assert_eq!(setup.alice().failed_attempts, 1);
    setup.session().await;
    assert_eq!(setup.alice().failed_attempts, 0);
    assert_eq!(setup.alice().last_login, Some(setup.clock.now()));
    setup.clock.advance(Duration::from_hours(1));
    setup.session().await;
    assert_eq!(setup.alice().last_login, Some(setup.clock.now()));
}

#[test]
fn a_file_that_cannot_be_written_is_logged_once() {
    let setup = TestAccounts::new();
    let alice = setup.alice();
    let (log, _guard) = Captured::start();
    let lock = setup.path(".users.yaml.lock");
    let log_in = || {
        setup.clock.advance(Duration::from_hours(2));
        setup
            .accounts
            .shared
            .record_login(&alice, |_, _| {})
            .expect("good");
    };
    for _ in 0..2 {
        fs::remove_file(&lock).expect("it was there");
        fs::create_dir(&lock).expect("in the way");
        for _ in 0..5 {
            log_in();
        }
        let lines = log.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].contains("cannot write an account file"),
            "{lines:?}"
        );
        fs::remove_dir(&lock).expect("out of the way");
        log_in();
        assert_eq!(setup.alice().last_login, Some(setup.clock.now()));
    }
}

#[tokio::test]
async fn wrong_passwords_of_databases_and_of_users_share_one_limit() {
    let setup = TestAccounts::with(|_| {});
    let guesser: IpAddr = "192.0.2.1".parse().expect("an address");
    let attempts = setup.accounts.password_attempts();
    for _ in 0..5 {
        // A right or unchecked password does not count.
        let attempt = attempts.admit(guesser).await.expect("admitted");
        attempt.settle(Outcome::Neither).await;
        let guess = setup.accounts.login("alice", "wrong".into(), Some(guesser));
        assert_eq!(said(guess.await), INVALID);
        let attempt = attempts.admit(guesser).await.expect("admitted");
        attempt.settle(Outcome::Failed).await;
    }
    let refused = attempts.admit(guesser).await.expect_err("refused");
    assert!(matches!(refused, LoginError::RateLimited { .. }));
    let login = setup.accounts.login("alice", "right".into(), Some(guesser));
    assert!(matches!(login.await, Err(LoginError::RateLimited { .. })));
}

#[tokio::test]
async fn a_session_of_an_api_token_has_its_identity_and_ends_with_it() {
    let setup = TestAccounts::new();
    let token = setup.token(Some(DAY / 2));
    let error = setup.accounts.exchange(&token).await;
    assert_eq!(
        said(error),
        "Invalid or unknown token",
        "the server has not looked yet"
    );
    setup.reload();
    let session = setup.accounts.exchange(&token).await.expect("opened");
    let (own, theirs) = (setup.whose(&session.token), setup.whose(&token));
    let (own, theirs) = (own.expect("valid"), theirs.expect("valid"));
    assert_eq!(own.holder(), theirs.holder());
    assert_eq!(own.account(), theirs.account());
    assert_eq!(own.signed_in_at(), Some(setup.clock.now()));
    assert_eq!(own.expires_at(), Some(session.expires_at));
    assert_eq!(own.expires_at(), theirs.expires_at());
    assert_eq!(theirs.signed_in_at(), None);
    // A session is no API token.
    let error = setup.accounts.exchange(&session.token).await;
    assert_eq!(said(error), "Invalid or unknown token");

    let forever = setup.token(None);
    setup.reload();
    let long = setup.accounts.exchange(&forever).await.expect("opened");
    assert_eq!(long.expires_at, setup.clock.now() + DAY);
    fs::write(setup.path("tokens.yaml"), "tokens: []\n").expect("written");
    setup.reload();
    assert!(!setup.is_good(&session.token) && !setup.is_good(&long.token));
}

#[tokio::test]
async fn a_token_has_as_many_sessions_as_a_user_and_the_oldest_ends() {
    let setup = TestAccounts::with(|settings| settings.max_sessions = 2);
    let (one, other) = (setup.token(None), setup.token(None));
    setup.reload();
    let mut sessions = Vec::new();
    for token in [&other, &one, &one, &one] {
        sessions.push(setup.accounts.exchange(token).await.expect("opened").token);
    }
    let good: Vec<_> = sessions.iter().map(|token| setup.is_good(token)).collect();
    assert_eq!(good, [true, false, true, true]);
}

#[tokio::test]
async fn a_session_that_is_logged_out_is_over_and_no_other() {
    let setup = TestAccounts::new();
    let (one, other) = (setup.session().await, setup.session().await);
    let token = setup.token(None);
    setup.reload();
    for ended in [&one, &token] {
        let ended = TokenHash::of(ended.expose_secret());
        setup.accounts.log_out(ended).await.expect("ended");
    }
    assert!(!setup.is_good(&one));
    assert!(setup.is_good(&other) && setup.is_good(&token));
    assert_eq!(setup.gone(), [key(&one)]);
}

#[tokio::test]
async fn a_session_knows_when_it_began_and_if_its_user_is_an_administrator() {
    let setup = TestAccounts::new();
    let session = setup.log_in("right").await.expect("logged in");
    let began = setup.clock.now();
    setup.clock.advance(DAY / 2);
    let identity = setup.whose(&session.token).expect("valid");
    assert_eq!(identity.signed_in_at(), Some(began));
    assert_eq!(identity.expires_at(), Some(session.expires_at));
    assert!(!identity.is_admin());
    for is_admin in [true, false] {
        let changes = UserChanges {
            is_admin: Some(is_admin),
            ..UserChanges::default()
        };
        setup.users.update("alice", &changes).expect("written");
        setup.reload();
        let identity = setup.whose(&session.token).expect("valid");
        assert_eq!(identity.is_admin(), is_admin);
    }
    assert_eq!(setup.gone(), [""; 0], "the session stays");
}

#[tokio::test]
async fn the_sessions_of_a_user_are_counted_and_end_together() {
    let setup = TestAccounts::new();
    let sessions = [setup.session().await, setup.session().await];
    let program = setup.token(None);
    setup.reload();
    let exchanged = setup.accounts.exchange(&program).await.expect("opened");
    let counts = async || setup.accounts.session_counts().await.expect("counted");
    assert_eq!(counts().await.get("alice"), Some(&2));
    assert_eq!(counts().await.len(), 1);
    setup.accounts.log_out_user("bob").await.expect("ended");
    assert_eq!(counts().await.get("alice"), Some(&2));
    setup.accounts.log_out_user("alice").await.expect("ended");
    assert!(counts().await.is_empty());
    assert!(!sessions.iter().any(|session| setup.is_good(session)));
    let mut ended = sessions.each_ref().map(key);
    let mut gone = setup.gone();
    ended.sort();
    gone.sort();
    assert_eq!(gone, ended);
    assert!(setup.is_good(&exchanged.token), "another owner");
}

#[tokio::test]
async fn a_check_without_a_session_counts_and_clears_as_a_login_does() {
    let setup = TestAccounts::with(|settings| settings.max_failed_attempts = 3);
    let check = |password: &str| setup.accounts.authenticate("alice", password.into(), None);
    assert!(matches!(check("wrong").await, Err(LoginError::Invalid)));
    assert_eq!(said(setup.log_in("wrong").await), INVALID);
    assert_eq!(setup.alice().failed_attempts, 2);
    let alice = check("right").await.expect("the right password");
    assert_eq!(setup.alice().failed_attempts, 0);
    assert_eq!(setup.alice().last_login, Some(setup.clock.now()));
    let sessions = setup.accounts.session_counts().await.expect("counted");
    assert!(sessions.is_empty());
    let person = setup.accounts.person(&alice).expect("alice");
    assert_eq!(&*person.name, "alice");
    assert_eq!(PersonId::read(&alice.to_string()), Some(alice.clone()));

    setup.users.delete("alice").expect("deleted");
    add_alice(&setup.users, setup.clock.now());
    setup.reload();
    assert!(
        setup.accounts.person(&alice).is_none(),
        "it is another person"
    );
}

/// A sign-in for browsers that one user needs.
#[derive(Clone, Default)]
pub(super) struct Rules {
    needs: &'static str,
    gone: Arc<Mutex<Vec<PersonId>>>,
    pub(super) ended: Arc<Mutex<Vec<GrantId>>>,
    pub(super) left: Arc<Mutex<Vec<GrantId>>>,
}

impl BrowserSignIn for Rules {
    fn needs_browser(&self, person: PersonId) -> NeedsBrowser {
        let needs = self.needs;
        Box::pin(async move { Ok(person.name() == needs) })
    }

    fn has_ended(&self, grant: GrantId) -> bool {
        lock(&self.ended).contains(&grant)
    }

    fn signed_out(&self, grant: GrantId) {
        lock(&self.left).push(grant);
    }

    fn people_gone(&self, people: Vec<PersonId>) {
        lock(&self.gone).extend(people);
    }
}

#[tokio::test]
async fn with_browsers_an_account_has_twenty_failures_at_all_entrances() {
    let setup = TestAccounts::new();
    setup.accounts.add_browser_sign_in(Rules::default());
    let login = async |password: &str, from: u8| {
        let address = Some(IpAddr::from([192, 0, 2, from]));
        setup
            .accounts
            .login("alice", password.into(), address)
            .await
    };
    for attempt in 0..20 {
        assert_eq!(said(login("wrong", attempt).await), INVALID, "{attempt}");
    }
    let limited = login("right", 30).await;
    assert!(
        matches!(limited, Err(LoginError::RateLimited { .. })),
        "{limited:?}"
    );
    let address = Some(IpAddr::from([192, 0, 2, 31]));
    let checked = setup
        .accounts
        .authenticate("alice", "right".into(), address)
        .await;
    assert!(
        matches!(checked, Err(LoginError::RateLimited { .. })),
        "{checked:?}"
    );
    assert_eq!(
        said(setup.accounts.login("bob", "x".into(), address).await),
        INVALID
    );
    setup.clock.advance(Duration::from_mins(15));
    login("right", 30).await.expect("the window has ended");
}

#[tokio::test]
async fn a_password_alone_opens_nothing_for_a_person_who_needs_a_browser() {
    let setup = TestAccounts::new();
    let rules = Rules {
        needs: "alice",
        ..Rules::default()
    };
    setup.accounts.add_browser_sign_in(rules);
    assert_eq!(said(setup.log_in("wrong").await), INVALID);
    let browser = "authentication failed: sign in with a browser";
    assert_eq!(said(setup.log_in("right").await), browser);
    let sessions = setup.accounts.session_counts().await.expect("counted");
    assert!(sessions.is_empty());
    let checked = setup
        .accounts
        .authenticate("alice", "right".into(), None)
        .await;
    assert_eq!(checked.expect("it begins a sign-in").name(), "alice");
}

#[tokio::test]
async fn a_sign_in_for_browsers_learns_of_users_who_are_gone() {
    let setup = TestAccounts::new();
    let rules = Rules::default();
    setup.accounts.add_browser_sign_in(rules.clone());
    let checked = setup.accounts.authenticate("alice", "right".into(), None);
    let alice = checked.await.expect("right");
    assert!(lock(&rules.gone).is_empty());
    setup.users.disable("alice").expect("disabled");
    setup.reload();
    assert_eq!(lock(&rules.gone).len(), 1);
    setup.users.enable("alice").expect("enabled");
    setup.reload();
    setup.users.delete("alice").expect("deleted");
    add_alice(&setup.users, setup.clock.now());
    setup.reload();
    assert_eq!(*lock(&rules.gone), [alice.clone(), alice]);
}
