//! A commit does what its preview has shown, or nothing.

use std::{
    future,
    sync::atomic::{AtomicU64, Ordering},
    task::Poll,
};

use sqlx::{AssertSqlSafe, PgConnection};

use super::*;
use crate::{Decision, Digest, Pending, Ran, capture::Capture, fate::Checkpoint};

async fn shown(pool: &Pool, text: &str) -> Digest {
    match seen(pool, text).await {
        Ok(Outcome::Seen(seen)) => seen.digest,
        other => panic!("{text}: {other:?}"),
    }
}

async fn pending<'a>(pool: &Pool, text: &str, rules: &'a Rules) -> Pending<'a> {
    let statement = Statement::new(pool.database(), text).expect("a statement");
    match crate::run(pool, &statement, rules).await.expect("it runs") {
        Ran::Pending(pending) => pending,
        Ran::Unseen(reason) => panic!("{text}: {reason}"),
    }
}

/// Commits a statement if it has this digest.
async fn commit(pool: &Pool, text: &str, digest: Digest) -> Option<bool> {
    let rules = Rules::default();
    let pending = pending(pool, text, &rules).await;
    if pending.seen().digest == digest {
        let decision = pending.commit(&|_| ()).await.expect("it is committed");
        return Some(matches!(decision, Decision::Committed(_)));
    }
    pending.roll_back().await.expect("rolled back");
    None
}

async fn run(connection: &mut PgConnection, sql: &str) {
    let ran = sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await;
    ran.expect(sql);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_does_exactly_what_its_preview_has_shown() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    let mut random = random::Random::new(11);
    let [mut committed, mut different] = [0, 0];
    let commits = number("CHECKED_COMMITS", 100);
    for turn in 0..commits {
        let (row, other) = (random.up_to(20), random.up_to(20));
        let text = format!(
            "WITH o AS (INSERT INTO orders (customer) VALUES ('c{turn}') RETURNING id) \
             INSERT INTO line (ord, at) SELECT id, now() FROM o; \
             UPDATE parent SET name = name || '{turn},' WHERE id = {row}"
        );
        let digest = shown(&pool, &text).await;
        let between = match random.up_to(3) {
            1 => format!("UPDATE parent SET name = name || 'x' WHERE id = {other}"),
            2 => "SELECT nextval('orders_id_seq'), nextval('line_id_seq')".to_owned(),
            _ => "INSERT INTO orders (customer) VALUES ('between')".to_owned(),
        };
        fixture.given(&between).await;
        let is_same = !between.starts_with("UPDATE") || row != other;
        let decision = commit(&pool, &text, digest).await;
        let sql = format!("SELECT count(*) FROM orders WHERE customer = 'c{turn}'");
        let orders = fixture.count(&sql).await;
        match decision {
            Some(true) => {
                assert!(is_same && orders == 1, "{turn}: {text}; {between}");
                committed += 1;
            }
            None => {
                assert!(!is_same && orders == 0, "{turn}: {text}; {between}");
                different += 1;
            }
            Some(false) => panic!("{turn}: {text}"),
        }
    }
    assert!(
        committed > commits / 2 && different > 0,
        "{committed} {different}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_others_commit_and_lock_meanwhile_are_not_of_the_statement() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    let mut locking = fixture.connect().await;
    run(&mut fixture.outside, "SELECT pg_advisory_lock(7)").await;
    let text = "SELECT pg_advisory_lock(7); UPDATE parent SET name = 'mine' WHERE id = 1";
    let mut preview = tokio::task::JoinSet::new();
    preview.spawn(async move { seen(&pool, text).await });
    let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    let waiting = async { while fixture.count(waits).await == 0 {} };
    let limit = std::time::Duration::from_mins(1);
    tokio::time::timeout(limit, waiting)
        .await
        .expect("it waits");
    let meanwhile = "INSERT INTO parent (id, name) VALUES (500, 'new'); \
                     DELETE FROM parent WHERE id = 60; \
                     UPDATE parent SET name = 'theirs' WHERE id = 2; \
                     SELECT nextval('orders_id_seq')";
    run(&mut fixture.outside, meanwhile).await;
    let lock = "BEGIN; SELECT FROM parent WHERE id IN (2, 3, 500) FOR KEY SHARE";
    run(&mut locking, lock).await;
    run(&mut fixture.outside, "SELECT pg_advisory_unlock(7)").await;
    let previewed = preview.join_next().await.expect("one");
    let found = match previewed.expect("it ends") {
        Ok(Outcome::Seen(seen)) => {
            assert_eq!((&seen.sequences[..], &seen.notes[..]), (&[][..], &[][..]));
            surplus(&seen)
        }
        other => panic!("{other:?}"),
    };
    let row = |name| format!("{:?}", [Some("1"), Some(name), Some("2")]);
    let expected = [("parent 1", -1), ("mine", 1)];
    let table = || "public.parent".to_owned();
    let expected = expected.map(|(name, count)| ((table(), row(name)), count));
    assert_eq!(found, Rows::from(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_keeps_a_transaction_after_a_preview() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    for text in [
        "UPDATE parent SET name = 'x' WHERE id = 1",
        "UPDATE parent SET name = 1 / 0 WHERE id = 1",
        "no statement",
        "TRUNCATE loose",
    ] {
        let _ = seen(&pool, text).await;
        let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                    AND state LIKE 'idle in transaction%'";
        assert_eq!(fixture.count(open).await, 0, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_another_transaction_gets_in_the_way_of_is_repeated() {
    let mut fixture = given().await;
    let serializable = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET \
                        default_transaction_isolation = serializable', current_database()); END $$";
    fixture.given(serializable).await;
    let pool = fixture.writable();
    let text = "UPDATE parent SET name = 'mine' \
                WHERE id = 1 AND (SELECT count(*) FROM loose WHERE a = 77) = 0";
    for other in ["", "; INSERT INTO loose (a) VALUES (77)"] {
        let rules = Rules::default();
        let pending = pending(&pool, text, &rules).await;
        let between = format!(
            "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM parent; \
             INSERT INTO loose (a) VALUES (1){other}; COMMIT"
        );
        run(&mut fixture.outside, &between).await;
        let decision = pending.commit(&|_| ()).await.expect("it is repeated");
        let is_committed = matches!(decision, Decision::Committed(_));
        assert_eq!(is_committed, other.is_empty(), "{decision:?}");
        run(
            &mut fixture.outside,
            "UPDATE parent SET name = 'x' WHERE id = 1",
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_transaction_is_told_before_its_commit_which_a_caller_may_not_await() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    let rules = Rules::default();
    let text = "INSERT INTO orders (customer) VALUES ('x')";
    let pending = pending(&pool, text, &rules).await;
    let told = AtomicU64::new(0);
    let begins = |transaction| told.store(transaction, Ordering::Relaxed);
    let has_begun = future::poll_fn(|_| match told.load(Ordering::Relaxed) {
        0 => Poll::Pending,
        _ => Poll::Ready(()),
    });
    tokio::select! {
        biased;
        () = has_begun => {}
        decision = pending.commit(&begins) => panic!("it was not told: {decision:?}"),
    }
    let told = told.into_inner();
    let known = format!("SELECT count(pg_xact_status('{told}'))");
    assert_eq!(
        fixture.count(&known).await,
        1,
        "it is the id of a transaction"
    );
}

/// Returns the latest checkpoint.
async fn checkpoint(pool: &Pool) -> Checkpoint {
    let mut lease = pool.lease().await.expect("a connection");
    let asked = Checkpoint::after_rollback(&mut lease).await;
    asked.expect("it is told")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fate_of_a_transaction_is_known_while_the_server_has_not_recovered() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    let id = "SELECT pg_current_xact_id()::text::bigint";
    run(&mut fixture.outside, "BEGIN").await;
    let committed = u64::try_from(fixture.count(id).await).expect("an id");
    run(&mut fixture.outside, "COMMIT; BEGIN").await;
    let aborted = u64::try_from(fixture.count(id).await).expect("an id");
    run(&mut fixture.outside, "ROLLBACK").await;
    // Other tests drop their databases, which makes checkpoints too.
    let (before, fate) = loop {
        let before = checkpoint(&pool).await;
        let fate = before.fate(&pool, committed).await;
        if before == checkpoint(&pool).await {
            break (before, fate);
        }
    };
    assert_eq!(fate, Some(true));
    for lost in [aborted, aborted + 1_000_000] {
        assert_eq!(before.fate(&pool, lost).await, Some(false));
    }
    // A recovery ends with one, and another transaction may have this id then.
    run(&mut fixture.outside, "CHECKPOINT").await;
    assert_eq!(before.fate(&pool, committed).await, None);
    assert_eq!(before.fate(&pool, aborted).await, Some(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_above_its_limit_on_changed_rows_has_no_preview() {
    let fixture = given().await;
    let pool = fixture.pool(|settings| {
        settings.allow_writes = true;
        settings.max_changed_rows = 3;
    });
    for (text, is_above) in [
        (
            "UPDATE loose SET c = 'x' WHERE ctid IN ('(0,1)', '(0,2)', '(0,3)')",
            false,
        ),
        ("UPDATE loose SET c = 'x' WHERE ctid < '(0,5)'", true),
        ("DELETE FROM parent WHERE id = 7", true),
    ] {
        let found = preview(&pool, text, &Rules::default()).await;
        let is_refused = matches!(&found, Err(QueryError::Changes(_)));
        assert_eq!(is_refused, is_above, "{text}: {found:?}");
        assert!(is_above || matches!(found, Ok(Outcome::Seen(_))), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_at_the_commit() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    let cursor = "DECLARE held CURSOR WITH HOLD FOR SELECT there_and_back(30)";
    let inside = format!("DO $$ BEGIN EXECUTE '{cursor}'; END $$");
    for text in [cursor, &*inside] {
        let digest = shown(&pool, text).await;
        assert_eq!(commit(&pool, text, digest).await, Some(true), "{text}");
        let changed = "SELECT count(*) FROM parent WHERE name LIKE '%.'";
        assert_eq!(fixture.count(changed).await, 0, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_another_transaction_has_no_preview() {
    let fixture = given().await;
    let pool = fixture.writable();
    let rules = Rules::default();
    for text in ["COMMIT", "ROLLBACK; BEGIN; DELETE FROM loose WHERE a = 1"] {
        let statement = Statement::new(pool.database(), text).expect(text);
        let mut capture = Capture::begin(&pool, &rules).await.expect("connections");
        let stop = capture.run(&statement).await.expect_err(text);
        let reason = capture.stop(stop).await.expect(text);
        assert_eq!(reason, Reason::Transaction, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_for_a_lock_as_long_as_it_may() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    run(
        &mut fixture.outside,
        "BEGIN; SELECT FROM parent WHERE id = 1 FOR UPDATE",
    )
    .await;
    let rules = Rules {
        lock_timeout: std::time::Duration::from_millis(50),
        ..Rules::default()
    };
    match preview(&pool, "DELETE FROM parent WHERE id < 3", &rules).await {
        Err(QueryError::Failed { report, .. }) => assert_eq!(report.sqlstate, "55P03"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_keeps_nothing_of_a_committed_statement() {
    let fixture = given().await;
    let pool = fixture.writable();
    let text = "SELECT set_config('shop.left', 'here', false); DELETE FROM loose WHERE a = 1";
    let digest = shown(&pool, text).await;
    assert_eq!(commit(&pool, text, digest).await, Some(true));
    let mut leases = [pool.lease().await, pool.lease().await].map(|it| it.expect("a connection"));
    for lease in &mut leases {
        let asked = lease
            .begin()
            .ask("SELECT current_setting('shop.left', true)");
        let rows = asked.await.expect("answered");
        let left: Option<String> = rows[0].get(0).expect("a text");
        assert_eq!(left.filter(|it| !it.is_empty()), None);
        lease.settle();
    }
}
