//! Tests of the limits on connections, and on the wait for one.

use futures_util::future::join_all;

use super::*;

async fn until_idle(pool: &Pool, count: usize) {
    time::timeout(Duration::from_secs(10), async {
        while pool.inner.idle().len() != count {
            task::yield_now().await;
        }
    })
    .await
    .expect("connections open and close in time");
}

#[tokio::test]
async fn all_callers_have_no_more_connections_than_the_settings_allow() {
    let mut fixture = Fixture::new().await;
    let database = fixture.describe(|settings| {
        settings.max_total_connections = 3;
        settings.max_connections = 2;
    });
    let pools: Vec<_> = (0..40)
        .map(|caller| fixture.pools.pool(&format!("caller {caller}"), &database))
        .collect();
    let answers = join_all(pools.iter().map(|pool| value(pool, "SELECT 1"))).await;
    assert_eq!(answers, vec!["1"; 40]);
    let connected = fixture.count(CONNECTED).await;
    assert!((1..=3).contains(&connected), "{connected}");
}

#[tokio::test]
async fn an_idle_connection_is_closed_for_another_caller() {
    let mut fixture = Fixture::new().await;
    let database = fixture.describe(|settings| settings.max_total_connections = 1);
    let one = fixture.pools.pool("one", &database);
    let other = fixture.pools.pool("other", &database);
    assert_eq!(value(&one, "SELECT 1").await, "1");
    assert_eq!(value(&other, "SELECT 1").await, "1");
    assert_eq!(value(&one, "SELECT 1").await, "1");
    assert_eq!(fixture.count(CONNECTED).await, 1);
}

#[tokio::test]
async fn a_released_connection_is_closed_while_another_caller_waits() {
    let fixture = Fixture::new().await;
    let database = fixture.describe(|settings| settings.max_total_connections = 1);
    let one = fixture.pools.pool("one", &database);
    let other = fixture.pools.pool("other", &database);
    let lease = one.lease().await.expect("a lease");
    let mut waiting = pin!(other.lease());
    assert!(is_pending(&mut waiting).await);
    drop(lease);
    drop(waiting.await.expect("the seat of the first"));
    assert_eq!(one.inner.idle().len(), 0);
    assert_eq!(other.inner.idle().len(), 1, "nobody waits for this one");
}

#[tokio::test]
async fn waiting_for_other_callers_ends() {
    let fixture = Fixture::new().await;
    let database = fixture.describe(|settings| settings.max_total_connections = 1);
    let lease = fixture.pools.pool("one", &database).lease().await;
    let lease = lease.expect("a lease");
    time::pause();
    let other = fixture.pools.pool("other", &database);
    let error = other.lease().await.expect_err("all seats are taken");
    assert!(matches!(error, LeaseError::Full { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "too many connections to database 'main': none was free within 10s"
    );
    time::resume();
    drop(lease);
    assert!(
        other.lease().await.is_ok(),
        "its place in the queue is free"
    );
}

#[tokio::test]
async fn waiting_for_ones_own_connections_ends() {
    let fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| settings.max_connections = 1);
    let lease = pool.lease().await.expect("a lease");
    time::pause();
    let error = pool.lease().await.expect_err("the room is taken");
    assert!(matches!(error, LeaseError::Busy { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "all 1 connections of this caller to database 'main' were busy for 5s: run fewer \
         statements at once, or raise pool_max_conns"
    );
    time::resume();
    drop(lease);
    assert!(pool.lease().await.is_ok());
}

#[tokio::test]
async fn a_fifth_of_all_connections_is_kept_for_callers_who_hold_none() {
    let fixture = Fixture::new().await;
    let database = fixture.describe(|settings| {
        settings.max_connections = 4;
        settings.max_total_connections = 5;
    });
    let greedy = fixture.pools.pool("greedy", &database);
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(greedy.lease().await.expect("its share"));
    }
    let second = fixture.pools.pool("second", &database);
    let kept = second.lease().await.expect("one is kept for it");
    time::pause();
    let error = second.lease().await.expect_err("it holds one");
    assert!(matches!(error, LeaseError::Full { .. }), "{error:?}");
    time::resume();
    drop((held, kept));
}

#[tokio::test]
async fn the_sessions_of_an_account_share_four_times_the_connections_of_one() {
    let fixture = Fixture::new().await;
    let database = fixture.describe(|settings| settings.max_connections = 1);
    let pool = |session: &str| fixture.pools.pool_of(session, "user:alice", &database);
    let mut held = Vec::new();
    for session in ["one", "two", "three", "four"] {
        held.push(pool(session).lease().await.expect(session));
    }
    time::pause();
    let error = pool("five").lease().await.expect_err("alice has hers");
    assert!(
        matches!(error, LeaseError::Account { connections: 4, .. }),
        "{error:?}"
    );
    time::resume();
    let other = fixture.pools.pool_of("six", "user:bob", &database);
    assert!(other.lease().await.is_ok(), "bob is another");
    held.pop();
    assert!(pool("five").lease().await.is_ok(), "an idle one makes way");
}

#[tokio::test]
async fn an_idle_connection_is_closed_if_postgresql_has_no_connection_left() {
    let mut fixture = Fixture::new().await;
    let role = format!("few_{}", std::process::id());
    fixture
        .given(&format!(
            "DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN PASSWORD 'few' CONNECTION LIMIT 1"
        ))
        .await;
    let database = fixture.describe(|settings| {
        settings.user.clone_from(&role);
        settings.password = "few".to_owned().into();
    });
    let one = fixture.pools.pool("one", &database);
    let other = fixture.pools.pool("other", &database);
    assert_eq!(value(&one, "SELECT 1").await, "1");
    assert_eq!(value(&other, "SELECT 2").await, "2");
    let held = other.lease().await.expect("its own");
    let error = one.lease().await.expect_err("it is not idle");
    assert!(error.is_full(), "{error:?}");
    drop(held);
    fixture.pools.close_all();
    until_connected(&mut fixture, 0).await;
    fixture.given(&format!("DROP ROLE {role}")).await;
}

#[tokio::test]
async fn a_connection_whose_server_has_lost_the_required_role_is_not_leased() {
    let fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| {
        settings.target_session_attrs = TargetSessionAttrs::ReadWrite;
    });
    let mut lease = pool.lease().await.expect("a primary");
    let process = lease.process();
    let demoted = lease.begin().ask("SET default_transaction_read_only = on");
    demoted.await.expect("set");
    lease.settle();
    drop(lease);
    assert_eq!(pool.lease().await.expect("trusted").process(), process);
    pool.inner.idle()[0].connection.judged -= Duration::from_secs(31);
    assert_ne!(pool.lease().await.expect("another").process(), process);
}

#[tokio::test]
async fn a_statement_of_a_silent_database_is_given_up_and_keeps_its_permit_until_it_has_ended() {
    let fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| settings.max_connections = 1);
    let statement = Statement::new(pool.database(), "SELECT pg_sleep(60)").expect("a statement");
    let lease = pool.lease().await.expect("a connection");
    time::pause();
    let error = statement.run(lease).await.expect_err("no answer");
    assert!(matches!(error, QueryError::Silent), "{error:?}");
    time::resume();
    assert_eq!(value(&pool, "SELECT 1").await, "1", "it was cancelled");
}

#[tokio::test]
async fn the_minimum_of_connections_is_opened_after_the_first_use_and_kept() {
    let mut fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| {
        settings.min_connections = 2;
        settings.max_connections = 3;
        settings.max_idle = Duration::ZERO;
    });
    fixture.pools.shared.sweep();
    assert_eq!(fixture.count(CONNECTED).await, 0, "nobody has used it");

    let leases = [pool.lease().await, pool.lease().await, pool.lease().await];
    drop(leases);
    assert_eq!(pool.inner.idle().len(), 2, "one more than is to be kept");
    fixture.pools.shared.sweep();
    assert_eq!(pool.inner.idle().len(), 2, "however long they are unused");
    let process = value(&pool, "SELECT pg_backend_pid()").await;
    assert_eq!(value(&pool, "SELECT pg_backend_pid()").await, process);

    // Closed connections are replaced one at a time.
    pool.inner.idle().clear();
    for count in [1, 2] {
        fixture.pools.shared.sweep();
        until_idle(&pool, count).await;
    }
    fixture.pools.shared.sweep();
    until_connected(&mut fixture, 2).await;
    fixture.pools.close_all();
    until_connected(&mut fixture, 0).await;
}

#[tokio::test]
async fn the_minimum_of_connections_takes_none_from_waiting_callers() {
    let mut fixture = Fixture::new().await;
    let database = fixture.describe(|settings| {
        settings.min_connections = 1;
        settings.max_total_connections = 1;
    });
    let one = fixture.pools.pool("one", &database);
    let other = fixture.pools.pool("other", &database);
    assert_eq!(value(&one, "SELECT 1").await, "1");
    assert_eq!(value(&other, "SELECT 1").await, "1", "it makes way");
    for _ in 0..3 {
        fixture.pools.shared.sweep();
        task::yield_now().await;
    }
    assert_eq!(one.inner.idle().len(), 0);
    assert_eq!(fixture.count(CONNECTED).await, 1);
}

#[tokio::test]
async fn two_callers_of_pairs_do_not_wait_for_each_other() {
    let fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| settings.max_connections = 2);
    let first = pool.lease_pair().await.expect("a pair");
    let mut waiting = pin!(pool.lease_pair());
    assert!(is_pending(&mut waiting).await);
    drop(first.reader);
    assert!(
        is_pending(&mut waiting).await,
        "one connection is not taken"
    );
    drop(first.writer);
    let second = waiting.await.expect("both are free");
    assert_ne!(second.writer.process(), second.reader.process());
}

#[tokio::test]
async fn there_are_four_pairs_at_once() {
    let fixture = Fixture::new().await;
    let database = fixture.describe(|_| {});
    let pools: Vec<_> = (0..5)
        .map(|caller| fixture.pools.pool(&format!("caller {caller}"), &database))
        .collect();
    let mut pairs = join_all(pools[..4].iter().map(Pool::lease_pair)).await;
    assert!(pairs.iter().all(Result::is_ok), "{pairs:?}");
    let refused = pools[4].lease_pair().await.expect_err("too many");
    let message = "Too many previews at once. Try again.";
    assert_eq!(refused.public_message(), message);
    drop(pairs.pop());
    pools[4].lease_pair().await.expect("a pair");
}
