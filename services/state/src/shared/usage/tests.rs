use tokio::task::JoinSet;
use ziggurat_postgres::fixture::Fixture;

use super::*;
use crate::tests::state;

/// A day that is not past.
const DAY: u64 = 40_000;

/// One replica and its tasks.
struct Replica {
    usage: UsageExchange,
    _tasks: JoinSet<()>,
}

impl Replica {
    fn of(fixture: &Fixture) -> Self {
        let (state, tasks) = state(fixture);
        Self {
            usage: UsageExchange::of_day(state, DAY),
            _tasks: tasks,
        }
    }

    fn sends(&mut self, usage: impl IntoIterator<Item = CallerUsage>) {
        self.usage.count(DAY, usage);
    }

    /// Exchanges all pages, and returns what the replica has learned.
    async fn exchanges(&mut self) -> Vec<CallerUsage> {
        let mut learned = Vec::new();
        loop {
            let page = self.usage.exchange().await.expect("exchanged");
            assert!(page.usage.len() <= BATCH);
            learned.extend(page.usage);
            if page.is_last {
                return learned;
            }
        }
    }
}

/// Returns the usage of the caller with this number.
fn usage(caller: u16, rows: u64, bytes: u64) -> CallerUsage {
    let mut digest = [7; 32];
    digest[..2].copy_from_slice(&caller.to_be_bytes());
    CallerUsage {
        caller: digest,
        rows,
        bytes,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_learn_once_what_the_others_have_sent() {
    let fixture = Fixture::new().await;
    let [mut one, mut two, mut three] = [(); 3].map(|()| Replica::of(&fixture));
    assert_eq!(one.exchanges().await, []);
    one.sends([usage(1, 10, 100), usage(2, 0, 5), usage(1, 1, 0)]);
    assert_eq!(one.exchanges().await, [], "its own is not news");
    two.sends([usage(1, 20, 200)]);
    let known = [usage(1, 11, 100), usage(2, 0, 5)];
    assert_eq!(two.exchanges().await, known);
    assert_eq!(two.exchanges().await, []);
    assert_eq!(one.exchanges().await, [usage(1, 20, 200)]);
    let known = [usage(1, 31, 300), usage(2, 0, 5)];
    assert_eq!(three.exchanges().await, known);
    one.sends([usage(1, 4, 0)]);
    one.exchanges().await;
    for other in [&mut two, &mut three] {
        assert_eq!(other.exchanges().await, [usage(1, 4, 0)]);
        assert_eq!(other.exchanges().await, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_neither_counts_twice_nor_loses_usage() {
    let fixture = Fixture::new().await;
    let (mut one, mut two) = (Replica::of(&fixture), Replica::of(&fixture));
    two.sends([usage(1, 7, 70)]);
    two.exchanges().await;
    one.sends([usage(1, 10, 100)]);
    let replica = one.usage.replica().expect("a name");
    let written: Vec<_> = one.usage.unwritten.iter().copied().collect();
    let statement = one.usage.statement(replica, &written);
    // The database has run the statement, and its answer does not come.
    let answer = one.usage.state.rows(statement.clone()).await;
    assert_eq!(answer.expect("run").len(), 1);
    assert_eq!(two.exchanges().await, [usage(1, 10, 100)]);
    one.sends([usage(1, 5, 50)]);
    assert_eq!(one.exchanges().await, [usage(1, 7, 70)]);
    assert_eq!(two.exchanges().await, [usage(1, 5, 50)]);
    // A statement that was given up runs after the next one.
    one.usage.state.rows(statement).await.expect("run");
    assert_eq!(two.exchanges().await, []);
    assert_eq!(Replica::of(&fixture).exchanges().await, [usage(1, 22, 220)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_loses_nothing() {
    let mut fixture = Fixture::new().await;
    let (mut one, mut two) = (Replica::of(&fixture), Replica::of(&fixture));
    two.sends([usage(2, 3, 30)]);
    two.exchanges().await;
    fixture
        .given("ALTER TABLE ziggurat.usage RENAME TO away")
        .await;
    for _ in 0..3 {
        one.sends([usage(1, 10, 100)]);
        let error = one.usage.exchange().await.expect_err("no table");
        assert!(matches!(error, StoreError::Postgres(_)), "{error:?}");
    }
    fixture
        .given("ALTER TABLE ziggurat.away RENAME TO usage")
        .await;
    assert_eq!(one.exchanges().await, [usage(2, 3, 30)]);
    assert_eq!(two.exchanges().await, [usage(1, 30, 300)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_replica_learns_the_totals_of_all_and_of_itself() {
    let fixture = Fixture::new().await;
    let (mut one, mut two) = (Replica::of(&fixture), Replica::of(&fixture));
    one.sends([usage(1, 10, 100), usage(2, 1, 1)]);
    one.exchanges().await;
    two.sends([usage(1, 20, 200)]);
    two.exchanges().await;
    drop(one);
    let mut one = Replica::of(&fixture);
    one.sends([usage(1, 2, 2)]);
    let known = [usage(1, 30, 300), usage(2, 1, 1)];
    assert_eq!(one.exchanges().await, known);
    assert_eq!(two.exchanges().await, [usage(1, 2, 2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callers_go_in_pages() {
    let mut fixture = Fixture::new().await;
    let (mut one, mut two) = (Replica::of(&fixture), Replica::of(&fixture));
    let all: Vec<_> = (0..2500)
        .map(|caller| usage(caller, 1 + u64::from(caller), 1))
        .collect();
    one.sends(all.clone());
    for written in [1000, 2000, 2500] {
        let page = one.usage.exchange().await.expect("exchanged");
        assert_eq!((page.usage, page.is_last), (vec![], written == 2500));
        let sql = "SELECT count(*) FROM ziggurat.usage";
        assert_eq!(fixture.count(sql).await, written);
    }
    let first = two.usage.exchange().await.expect("exchanged");
    assert_eq!((&first.usage[..], first.is_last), (&all[..1000], false));
    // A caller of the page that was read, and one of a page that was not.
    one.sends([usage(1, 50, 0), usage(1500, 60, 0)]);
    one.exchanges().await;
    let mut rest = all[1000..].to_vec();
    rest[500].rows += 60;
    assert_eq!(two.exchanges().await, rest);
    assert_eq!(two.exchanges().await, [usage(1, 50, 0)]);
    // Exactly a page.
    one.sends(all[..BATCH].to_vec());
    one.exchanges().await;
    assert_eq!(two.exchanges().await, all[..BATCH]);
    assert_eq!(two.exchanges().await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_slow_transaction_has_written_is_learned_when_it_ends() {
    let mut fixture = Fixture::new().await;
    let (mut one, mut two) = (Replica::of(&fixture), Replica::of(&fixture));
    one.exchanges().await;
    fixture
        .given(&format!(
            "BEGIN; INSERT INTO ziggurat.usage VALUES \
             ({DAY}, decode(repeat('03', 32), 'hex'), '\\x01', 5, 6)"
        ))
        .await;
    for turn in 1..=3 {
        two.sends([usage(2, turn, 0)]);
        two.exchanges().await;
        assert_eq!(one.exchanges().await, [usage(2, turn, 0)]);
    }
    fixture.given("COMMIT").await;
    let slow = CallerUsage {
        caller: [3; 32],
        rows: 5,
        bytes: 6,
    };
    assert_eq!(one.exchanges().await, [slow]);
    assert_eq!(one.exchanges().await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_exchange_at_the_same_time_learn_all() {
    let fixture = Fixture::new().await;
    let mut running = JoinSet::new();
    for replica in 0..4 {
        let mut one = Replica::of(&fixture);
        running.spawn(async move {
            let mut learned = 0;
            for turn in 0..40 {
                one.sends([usage(turn % 5, 1, 0), usage(100 + replica, 1, 0)]);
                let news = one.exchanges().await;
                learned += news.iter().map(|usage| usage.rows).sum::<u64>();
            }
            (one, learned)
        });
    }
    for (mut one, learned) in running.join_all().await {
        let news = one.exchanges().await;
        let news: u64 = news.iter().map(|usage| usage.rows).sum();
        assert_eq!(learned + news, 3 * 80);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_begins_without_counts_and_past_days_are_deleted() {
    let mut fixture = Fixture::new().await;
    let (mut one, mut two) = (Replica::of(&fixture), Replica::of(&fixture));
    one.sends([usage(1, 10, 10)]);
    one.exchanges().await;
    two.exchanges().await;
    one.usage.count(DAY + 1, [usage(1, 3, 3)]);
    assert_eq!(one.exchanges().await, []);
    assert_eq!(two.exchanges().await, [], "its day has not ended");
    two.usage.count(DAY + 1, []);
    assert_eq!(two.exchanges().await, [usage(1, 3, 3)]);
    // The clock goes back to the day before.
    one.sends([]);
    assert_eq!(one.exchanges().await, [usage(1, 10, 10)]);

    let today = "floor(extract(epoch FROM now()) / 86400)::bigint";
    fixture
        .given(&format!(
            "UPDATE ziggurat.usage SET day = {today} - 1 WHERE day = {DAY}; \
             INSERT INTO ziggurat.usage SELECT {today} - 2 - day, '\\x00', '\\x00', 1, 1 \
             FROM generate_series(1, 1500) AS day"
        ))
        .await;
    for left in [502, 2, 2] {
        one.exchanges().await;
        let sql = "SELECT count(*) FROM ziggurat.usage";
        assert_eq!(fixture.count(sql).await, left);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_numbers_its_transactions_anew_is_read_anew() {
    let fixture = Fixture::new().await;
    let (mut one, mut two) = (Replica::of(&fixture), Replica::of(&fixture));
    one.sends([usage(1, 1, 1)]);
    one.exchanges().await;
    two.usage.read_until = 1 << 40;
    assert_eq!(two.exchanges().await, []);
    assert_eq!(two.exchanges().await, [usage(1, 1, 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_beyond_the_maximum_are_left_out() {
    let fixture = Fixture::new().await;
    let (mut one, mut two) = (Replica::of(&fixture), Replica::of(&fixture));
    (one.usage.max_callers, two.usage.max_callers) = (2, 1);
    one.sends([usage(1, 1, 1), usage(2, 2, 2), usage(3, 3, 3)]);
    one.sends([usage(2, 2, 2)]);
    one.exchanges().await;
    assert_eq!(two.exchanges().await, [usage(1, 1, 1)]);
    two.sends([usage(1, 5, 5), usage(2, 5, 5)]);
    two.exchanges().await;
    assert_eq!(one.exchanges().await, [usage(1, 5, 5)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_do_not_overflow() {
    let fixture = Fixture::new().await;
    for turn in 1..=3 {
        let mut one = Replica::of(&fixture);
        for _ in 0..2 {
            one.sends([usage(1, u64::MAX, u64::MAX)]);
        }
        let known = one.exchanges().await;
        let max = i64::MAX.unsigned_abs();
        assert_eq!(known.len(), usize::from(turn > 1));
        assert!(known.iter().all(|known| *known == usage(1, max, max)));
    }
}
