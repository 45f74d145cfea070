use std::time::Duration;

use tokio::task::JoinSet;
use ziggurat_layers::rate_limit::{Key, Quota};
use ziggurat_postgres::fixture::Fixture;

use super::*;
use crate::tests::state;

/// One replica and its tasks.
struct Replica {
    shared: Shared,
    _tasks: JoinSet<()>,
}

impl Replica {
    fn of(fixture: &Fixture) -> Self {
        let (state, mut tasks) = state(fixture);
        let (shared, batcher) = Shared::new(state);
        tasks.spawn(batcher.run());
        Self {
            shared,
            _tasks: tasks,
        }
    }
}

/// Maximum number of sessions of a user.
const MAX: usize = 5;

fn now() -> Timestamp {
    "2026-11-21T10:00:00Z".parse().expect("a date")
}

fn session(user: &str) -> NewSession<'_> {
    NewSession {
        user,
        account: Some(user),
        account_made: Some(now()),
        api_token: None,
        grant: None,
        signed_in_at: None,
        seconds: 3600,
        max_per_user: MAX,
    }
}

impl Replica {
    /// Opens a session for an hour and returns whether that succeeded.
    async fn opens(&self, token: TokenHash, user: &str) -> bool {
        let opened = self.shared.open_session(token, &session(user)).await;
        opened.expect("asked").is_some()
    }

    /// Returns the user of a session and its selected database.
    async fn user_of(&self, token: TokenHash) -> Option<(String, Option<String>)> {
        let session = match self.shared.look_up(token).await {
            Answer::Session(session) => session,
            Answer::Missing => return None,
            Answer::Unknown => panic!("the database answers"),
        };
        assert_eq!(session.account_made, Some(now()));
        let minutes = session.left.as_secs() / 60;
        assert!((57..=60).contains(&minutes), "{minutes}");
        let selection = session.selection.as_deref().map(str::to_owned);
        Some((session.user.to_string(), selection))
    }
}

fn key() -> Key {
    Key::from(std::net::IpAddr::from([192, 0, 2, 1]))
}

fn three() -> Quota {
    "3 per 15 minutes".parse().expect("a quota")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_at_one_replica_is_seen_by_the_next_look_up_at_another() {
    let fixture = Fixture::new().await;
    let (one, two) = (Replica::of(&fixture), Replica::of(&fixture));
    let token = TokenHash::of("a token");
    assert_eq!(two.shared.look_up(token).await, Answer::Missing);
    assert!(one.opens(token, "alice").await);
    assert_eq!(two.user_of(token).await, Some(("alice".to_owned(), None)));
    for name in ["docs", "shop"] {
        assert!(two.shared.select(token, name).await.expect("selected"));
        let known = one.user_of(token).await.expect("it is there");
        assert_eq!(known.1.as_deref(), Some(name));
    }
    let other = TokenHash::of("another");
    assert!(!one.shared.select(other, "docs").await.expect("asked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_concurrent_look_ups_each_get_the_right_answer() {
    let fixture = Fixture::new().await;
    let replica = Replica::of(&fixture);
    let mut asking = JoinSet::new();
    for user in 0..20 {
        let token = TokenHash::of(&format!("token {user}"));
        assert!(replica.opens(token, &format!("user {user}")).await);
    }
    for turn in 0..500 {
        let shared = replica.shared.clone();
        asking.spawn(async move {
            let user = turn % 25;
            let token = TokenHash::of(&format!("token {user}"));
            let found = match shared.look_up(token).await {
                Answer::Session(session) => Some(session.user.to_string()),
                Answer::Missing => None,
                Answer::Unknown => panic!("the database answers"),
            };
            assert_eq!(found, (user < 20).then(|| format!("user {user}")));
        });
    }
    asking.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_limited_sessions_and_the_oldest_ends() {
    let mut fixture = Fixture::new().await;
    let replica = Replica::of(&fixture);
    let open = async |name: String| {
        assert!(replica.opens(TokenHash::of(&name), "alice").await);
    };
    for turn in 0..=MAX {
        open(format!("token {turn}")).await;
    }
    let first = TokenHash::of("token 0");
    assert_eq!(replica.shared.look_up(first).await, Answer::Missing);
    let second = TokenHash::of("token 1");
    assert_ne!(replica.shared.look_up(second).await, Answer::Missing);
    // A login deletes expired sessions.
    fixture
        .given("UPDATE ziggurat.sessions SET ends_at = 0")
        .await;
    open("the last".into()).await;
    let left = fixture
        .count("SELECT count(*) FROM ziggurat.sessions")
        .await;
    assert_eq!(left, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_at_the_same_time_leave_no_more_sessions_than_a_user_may_have() {
    let mut fixture = Fixture::new().await;
    let replicas = [Replica::of(&fixture), Replica::of(&fixture)];
    let mut opening = JoinSet::new();
    for turn in 0..20 {
        let shared = replicas[turn % 2].shared.clone();
        opening.spawn(async move {
            let token = TokenHash::of(&turn.to_string());
            shared
                .open_session(token, &session("alice"))
                .await
                .expect("opened");
        });
    }
    opening.join_all().await;
    let sql = "SELECT count(*) FROM ziggurat.sessions";
    assert_eq!(fixture.count(sql).await, i64::try_from(MAX).expect("small"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sessions_of_a_user_end_at_all_replicas() {
    let mut fixture = Fixture::new().await;
    let (one, two) = (Replica::of(&fixture), Replica::of(&fixture));
    for user in ["alice", "bob"] {
        assert!(one.opens(TokenHash::of(user), user).await);
    }
    one.shared.end_sessions_of("alice");
    let sql = "SELECT count(*) FROM ziggurat.sessions WHERE username = 'alice'";
    tokio::time::timeout(Duration::from_secs(20), async {
        while fixture.count(sql).await > 0 {}
    })
    .await
    .expect("ended");
    assert_eq!(
        two.shared.look_up(TokenHash::of("alice")).await,
        Answer::Missing
    );
    assert_ne!(
        two.shared.look_up(TokenHash::of("bob")).await,
        Answer::Missing
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_at_all_replicas_share_one_count() {
    let mut fixture = Fixture::new().await;
    let (one, two) = (Replica::of(&fixture), Replica::of(&fixture));
    for replica in [&one, &two, &one] {
        assert_eq!(
            replica.shared.wait_of(key(), three()).await.expect("asked"),
            None
        );
        let admitted = replica.shared.admit(key(), three()).await.expect("asked");
        let attempt = admitted.expect("admitted");
        replica
            .shared
            .attempt_failed(attempt)
            .await
            .expect("counted");
    }
    for replica in [&one, &two] {
        let wait = replica.shared.wait_of(key(), three()).await.expect("asked");
        let wait = wait.expect("too many");
        assert!(
            wait > Duration::from_secs(890) && wait <= Duration::from_mins(15),
            "{wait:?}"
        );
        let admitted = replica.shared.admit(key(), three()).await.expect("asked");
        assert!(admitted.expect_err("too many") > Duration::from_secs(890));
    }
    let other = Key::from(std::net::IpAddr::from([192, 0, 2, 2]));
    let admitted = two.shared.admit(other, three()).await.expect("asked");
    let _ = admitted.expect("somebody else");
    // Refused attempts have not moved the end of the window.
    fixture
        .given("UPDATE ziggurat.failed_logins SET ends_at = clock_timestamp()")
        .await;
    let admitted = two.shared.admit(key(), three()).await.expect("asked");
    let attempt = admitted.expect("another window");
    one.shared.attempt_failed(attempt).await.expect("counted");
    let left = fixture
        .count("SELECT count(*) FROM ziggurat.failed_logins")
        .await;
    assert_eq!(left, 1, "the window of the other one has gone");
    let failures = fixture
        .count("SELECT failures FROM ziggurat.failed_logins")
        .await;
    assert_eq!(failures, 1, "and this one began anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_are_admitted_at_once_than_may_fail() {
    let fixture = Fixture::new().await;
    let replicas = [Replica::of(&fixture), Replica::of(&fixture)];
    let mut trying = JoinSet::new();
    for turn in 0..40 {
        let shared = replicas[turn % 2].shared.clone();
        trying.spawn(async move { shared.admit(key(), three()).await.expect("asked") });
    }
    let outcomes = trying.join_all().await;
    let mut admitted: Vec<_> = outcomes.into_iter().filter_map(Result::ok).collect();
    assert_eq!(admitted.len(), 3);
    let shared = &replicas[0].shared;
    shared
        .attempt_withdrawn(admitted.remove(0))
        .await
        .expect("taken back");
    let again = shared.admit(key(), three()).await.expect("asked");
    let _ = again.expect("there is room for one");
    shared
        .attempt_succeeded(admitted.remove(0))
        .await
        .expect("forgiven");
    for _ in 0..3 {
        let again = shared.admit(key(), three()).await.expect("asked");
        let _ = again.expect("all is forgiven");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_locked_and_unlocked_at_all_replicas() {
    let fixture = Fixture::new().await;
    let (one, two) = (Replica::of(&fixture), Replica::of(&fixture));
    let fail = async |replica: &Replica| {
        let failed = replica.shared.account_failed("alice", Some(now()), 3);
        failed.await.expect("counted")
    };
    assert!(!fail(&one).await);
    assert!(!fail(&two).await);
    two.shared
        .account_succeeded("alice")
        .await
        .expect("forgotten");
    assert!(!fail(&one).await);
    assert!(!fail(&two).await);
    assert!(fail(&one).await, "the third in a row");
    assert!(!fail(&two).await, "only once");
    two.shared.account_succeeded("alice").await.expect("asked");
    assert!(
        two.shared
            .is_locked("alice", Some(now()))
            .await
            .expect("asked")
    );
    let token = TokenHash::of("a token");
    assert!(!two.opens(token, "alice").await);
    let locked = two.shared.locked().await.expect("asked");
    assert_eq!(locked, [("alice".to_owned(), Some(now()))]);
    // An account of the same name with another creation time is another account.
    assert!(!two.shared.is_locked("alice", None).await.expect("asked"));

    two.shared.unlock("alice").await.expect("unlocked");
    assert!(
        !one.shared
            .is_locked("alice", Some(now()))
            .await
            .expect("asked")
    );
    assert!(one.opens(token, "alice").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_database_gives_unknown_and_keeps_no_caller_waiting() {
    let fixture = Fixture::new().await;
    let silence = ziggurat_postgres::fixture::Silence::new().await;
    let mut settings = fixture.settings.clone();
    silence.stand_in(&mut settings);
    settings.connect_timeout = Duration::from_secs(30);
    let (pools, reaper) = ziggurat_postgres::pool::Pools::new();
    let database = settings.try_into().expect("a valid description");
    let (shared, batcher) = Shared::new(StateDatabase::new(&pools, database));
    let _tasks = JoinSet::from_iter([reaper.run()]);
    let mut batchers = JoinSet::from_iter([batcher.run()]);
    let token = TokenHash::of("a token");
    let began = std::time::Instant::now();
    assert_eq!(shared.look_up(token).await, Answer::Unknown);
    // The batcher now pauses.
    for _ in 0..100 {
        assert_eq!(shared.look_up(token).await, Answer::Unknown);
    }
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    batchers.shutdown().await;
    assert_eq!(
        shared.look_up(token).await,
        Answer::Unknown,
        "the batcher has stopped"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_used_up_once_at_all_replicas() {
    let mut fixture = Fixture::new().await;
    let replicas = [Replica::of(&fixture), Replica::of(&fixture)];
    let time = Duration::from_hours(1);
    let mut trying = JoinSet::new();
    for turn in 0..40 {
        let shared = replicas[turn % 2].shared.clone();
        trying.spawn(async move { shared.use_up([7; 16], time).await.expect("asked") });
    }
    let outcomes = trying.join_all().await;
    assert_eq!(outcomes.iter().filter(|&&is_good| is_good).count(), 1);
    // Each new ticket deletes some expired ones.
    for ticket in 0..6 {
        let first = replicas[0].shared.use_up([ticket; 16], time).await;
        assert!(first.expect("asked"));
    }
    fixture
        .given("UPDATE ziggurat.spent SET ends_at = clock_timestamp()")
        .await;
    for (ticket, left) in [(8, 4), (9, 2)] {
        let first = replicas[1].shared.use_up([ticket; 16], time).await;
        assert!(first.expect("asked"));
        let count = fixture.count("SELECT count(*) FROM ziggurat.spent").await;
        assert_eq!(count, left);
    }
}

#[tokio::test]
async fn only_the_look_up_that_notices_it_waits_for_a_database_that_is_silent() {
    let silence = ziggurat_postgres::fixture::Silence::new().await;
    let database = StateDatabase::describe("postgres://app:secret@db.example/state", |settings| {
        settings.hosts.clear();
        silence.stand_in(settings);
        Ok(())
    });
    let (pools, reaper) = ziggurat_postgres::pool::Pools::new();
    let (shared, batcher) = Shared::new(StateDatabase::new(&pools, database.expect("valid")));
    let mut tasks = JoinSet::from_iter([reaper.run()]);
    tasks.spawn(batcher.run());
    let token = TokenHash::of("a token");
    // Time goes on when all tasks wait.
    tokio::time::pause();
    let mut waits = Vec::new();
    for _ in 0..100 {
        let began = tokio::time::Instant::now();
        assert_eq!(shared.look_up(token).await, Answer::Unknown);
        waits.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let long = waits.iter().filter(|wait| wait.as_millis() > 100);
    assert_eq!(long.count(), 1, "{waits:?}");
}
