use tokio::task::JoinSet;
use ziggurat_calls::limits::{Allowance, Settings};
use ziggurat_layers::clock::ManualClock;
use ziggurat_postgres::{fixture::Fixture, pool::Pools};
use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags, logs::captured::CapturedLog};
use ziggurat_state::StateDatabase;
use ziggurat_tokens::CallerId;

use super::*;

const ALICE: CallerId<'_> = CallerId::User("alice");
const BOB: CallerId<'_> = CallerId::User("bob");

/// One replica and its tasks.
struct Replica {
    exchanger: Exchanger<ManualClock>,
    shared: Shared,
    _tasks: JoinSet<()>,
}

impl Replica {
    fn of(fixture: &Fixture, clock: &ManualClock) -> Self {
        let mut settings = fixture.settings.clone();
        settings.allow_writes = true;
        let (pools, reaper) = Pools::new();
        let database = settings.try_into().expect("a valid description");
        let (shared, _batcher) = Shared::new(StateDatabase::new(&pools, database));
        let limits = Limits::with_clock(settings_of_limits(), clock.clone());
        Self {
            exchanger: Exchanger::new(limits, &shared, clock.clone()),
            shared,
            _tasks: JoinSet::from_iter([reaper.run()]),
        }
    }

    fn allowance(&self, caller: CallerId<'_>) -> Allowance<ManualClock> {
        let limits = &self.exchanger.limits;
        limits.of(&caller).expect("the caller has limits")
    }

    fn sends(&self, caller: CallerId<'_>, rows: u64, bytes: u64) {
        let allowance = self.allowance(caller);
        allowance.rows(rows);
        allowance.bytes(bytes);
    }

    async fn exchanges(&mut self) {
        let exchanged = self.exchanger.exchange().await;
        exchanged.expect("the database answers");
    }

    /// Returns the rows and bytes that were sent to a caller as this replica knows it.
    fn sent(&self, caller: CallerId<'_>) -> (u64, u64) {
        let allowance = self.allowance(caller);
        let left = {
            let left = allowance.left();
            left.rows.zip(left.bytes)
        };
        let (rows, bytes) = left.expect("both are limited");
        (1000 - rows, 1000 - bytes)
    }
}

fn settings_of_limits() -> Settings {
    settings_of("rows_per_day: 1000, bytes_per_day: 1000")
}

/// Returns settings with these limits for all callers.
fn settings_of(limits: &str) -> Settings {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.yaml");
    let text = format!("limits: {{callers: [{{for: {{everyone: true}}, {limits}}}]}}");
    std::fs::write(&path, text).expect("written");
    let (sources, flags) = (ConfigSources::default(), Flags::default());
    let input = Input::new(&sources, &flags);
    let loaded = input.load(Some(&path), |file| Settings::read(&file.section("limits")));
    loaded.expect("valid").value
}

/// Returns a clock a second after the midnight that began this day.
fn clock() -> ManualClock {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(System.date().as_secs() / DAY * DAY + 1));
    clock
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_add_up_what_they_have_sent_and_count_it_once() {
    let (fixture, clock) = (Fixture::new().await, clock());
    let (mut one, mut two) = (Replica::of(&fixture, &clock), Replica::of(&fixture, &clock));
    one.sends(ALICE, 300, 30);
    two.sends(ALICE, 400, 40);
    two.sends(BOB, 1, 0);
    one.exchanges().await;
    two.exchanges().await;
    assert_eq!(two.sent(ALICE), (700, 70));
    assert_eq!(one.sent(ALICE), (300, 30), "until it asks");
    for _ in 0..3 {
        one.exchanges().await;
        two.exchanges().await;
        for replica in [&one, &two] {
            assert_eq!(replica.sent(ALICE), (700, 70));
            assert_eq!(replica.sent(BOB), (1, 0));
        }
    }
    one.sends(ALICE, 300, 0);
    one.exchanges().await;
    two.exchanges().await;
    assert!(two.allowance(ALICE).day().is_err(), "used up at both");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_while_the_database_fails_and_each_change_is_logged_once() {
    let (mut fixture, clock) = (Fixture::new().await, clock());
    let (mut one, mut two) = (Replica::of(&fixture, &clock), Replica::of(&fixture, &clock));
    let log = CapturedLog::default();
    two.sends(ALICE, 7, 7);
    two.exchanges().await;
    fixture
        .given("ALTER TABLE ziggurat.usage RENAME TO away")
        .await;
    for _ in 0..3 {
        one.sends(ALICE, 10, 1);
        let outcome = one.exchanger.exchange().await;
        assert!(outcome.is_err());
        let _guard = log.capture();
        one.exchanger.log(outcome);
    }
    let logged = log.take();
    assert_eq!(logged.lines().count(), 1, "{logged}");
    assert!(logged.starts_with("WARN rows and bytes"), "{logged}");
    fixture
        .given("ALTER TABLE ziggurat.away RENAME TO usage")
        .await;
    for _ in 0..3 {
        let outcome = one.exchanger.exchange().await;
        let _guard = log.capture();
        one.exchanger.log(outcome);
    }
    let logged = log.take();
    assert_eq!(logged.lines().count(), 1, "{logged}");
    assert!(logged.starts_with("INFO rows and bytes"), "{logged}");
    two.exchanges().await;
    for replica in [&one, &two] {
        assert_eq!(replica.sent(ALICE), (37, 10));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_replica_learns_what_was_sent_today() {
    let (fixture, clock) = (Fixture::new().await, clock());
    let (mut one, mut two) = (Replica::of(&fixture, &clock), Replica::of(&fixture, &clock));
    one.sends(ALICE, 300, 30);
    one.exchanges().await;
    two.sends(ALICE, 400, 40);
    two.exchanges().await;
    drop(one);
    let mut one = Replica::of(&fixture, &clock);
    one.sends(ALICE, 5, 5);
    for _ in 0..2 {
        one.exchanges().await;
        two.exchanges().await;
        for replica in [&one, &two] {
            assert_eq!(replica.sent(ALICE), (705, 75));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_day_begins_at_midnight_at_all_replicas() {
    let (fixture, clock) = (Fixture::new().await, clock());
    let (mut one, mut two) = (Replica::of(&fixture, &clock), Replica::of(&fixture, &clock));
    one.sends(ALICE, 300, 30);
    one.exchanges().await;
    two.exchanges().await;
    // Not exchanged before the day ends.
    one.sends(ALICE, 100, 0);
    clock.advance(Duration::from_nanos(86_398_999_999_999));
    two.exchanges().await;
    assert_eq!(two.sent(ALICE), (300, 30));
    clock.advance(Duration::from_nanos(1));
    for _ in 0..2 {
        one.exchanges().await;
        two.exchanges().await;
        for replica in [&one, &two] {
            assert_eq!(replica.sent(ALICE), (0, 0));
        }
    }
    one.sends(ALICE, 1, 2);
    two.sends(ALICE, 3, 4);
    for _ in 0..2 {
        one.exchanges().await;
        two.exchanges().await;
    }
    for replica in [&one, &two] {
        assert_eq!(replica.sent(ALICE), (4, 6));
    }
}

/// Makes a call of Alice at a replica, which leases afterwards. Returns whether it was admitted.
async fn calls(limits: &Limits<ManualClock>, shared: &Shared) -> bool {
    let is_admitted = limits.of(&ALICE).expect("limits").call().is_ok();
    let wanted = limits.wanted_leases().await;
    let leased = leases::lease(limits, shared, &wanted).await;
    leased.expect("the database answers");
    is_admitted
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_admit_the_calls_of_one_window_and_at_most_a_block_each() {
    let (fixture, clock) = (Fixture::new().await, clock());
    let replicas = [Replica::of(&fixture, &clock), Replica::of(&fixture, &clock)];
    let mut admitted = 0;
    let each = || {
        let limits = Limits::with_clock(settings_of("calls: 40 per day"), clock.clone());
        limits.share_calls(true);
        limits
    };
    let limits = [each(), each()];
    for _ in 0..60 {
        for (limits, replica) in limits.iter().zip(&replicas) {
            admitted += u32::from(calls(limits, &replica.shared).await);
        }
    }
    assert!((40..=60).contains(&admitted), "{admitted}");
    for (limits, replica) in limits.iter().zip(&replicas) {
        assert!(!calls(limits, &replica.shared).await, "used up at both");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_lease_in_one_statement_at_two_replicas_at_once() {
    let (fixture, clock) = (Fixture::new().await, clock());
    let (one, two) = (Replica::of(&fixture, &clock), Replica::of(&fixture, &clock));
    let wanted = |of: u32| {
        (0..1500_u32).map(move |caller| {
            let mut digest = [0; 32];
            digest[..4].copy_from_slice(&(caller * of % 1500).to_be_bytes());
            ziggurat_state::CallLease {
                caller: digest,
                interval: Duration::from_hours(1),
                burst: 8,
                calls: 3,
            }
        })
    };
    let (forward, other): (Vec<_>, Vec<_>) = (wanted(1).collect(), wanted(7).collect());
    let (mut leased, mut last) = (0, 0);
    for _ in 0..3 {
        let both = tokio::join!(
            one.shared.lease_calls(&forward),
            two.shared.lease_calls(&other)
        );
        let sum = |leased: Result<Vec<([u8; 32], u32)>, StoreError>| {
            let leased = leased.expect("no deadlock");
            assert_eq!(leased.len(), 1500);
            leased.iter().map(|(_, calls)| calls).sum::<u32>()
        };
        last = sum(both.0) + sum(both.1);
        leased += last;
    }
    assert_eq!((leased, last), (8 * 1500, 0), "a burst each, and no more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_counts_calls_alone_while_the_database_fails() {
    let (mut fixture, clock) = (Fixture::new().await, clock());
    let replica = Replica::of(&fixture, &clock);
    let made = replica.shared.lease_calls(&[]).await;
    made.expect("the tables are made");
    fixture
        .given("ALTER TABLE ziggurat.calls RENAME TO away")
        .await;
    let limits = Limits::with_clock(settings_of("calls: 40 per day"), clock.clone());
    let mut tasks = JoinSet::new();
    tasks.spawn(lease_calls(limits.clone(), replica.shared.clone()));
    let all = async {
        let mut admitted = 0;
        while admitted < 40 {
            admitted += u32::from(limits.of(&ALICE).expect("limits").call().is_ok());
            tokio::task::yield_now().await;
        }
    };
    let whole_window = time::timeout(Duration::from_secs(30), all).await;
    whole_window.expect("a window, as without replicas");
    assert!(limits.of(&ALICE).expect("limits").call().is_err());
}
