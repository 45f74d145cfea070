mod hosts;
mod limits;
mod password;
mod private;
mod recovery;
mod tls;
mod tunnel;

use std::{future::Future, pin::pin, time::Duration};

use futures_util::FutureExt as _;
use tokio::{net::TcpListener, task, time};

use super::{inner::TRUSTED_IDLE, *};
use crate::{
    database::{Pooler, TargetSessionAttrs},
    error::QueryError,
    fixture::{Fixture, ask},
    statement::Statement,
};

const CONNECTED: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'ziggurat'";

async fn value(pool: &Pool, sql: &str) -> String {
    let (answer, _) = ask(pool, sql).await.expect(sql);
    answer.lines().nth(1).unwrap_or_default().to_owned()
}

async fn until_connected(fixture: &mut Fixture, count: i64) {
    time::timeout(Duration::from_secs(10), async {
        while fixture.count(CONNECTED).await != count {
            task::yield_now().await;
        }
    })
    .await
    .expect("the connections open and close in time");
}

/// Returns whether a future is still pending after other tasks have run.
async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    for _ in 0..10 {
        task::yield_now().await;
    }
    future.now_or_never().is_none()
}

#[test]
fn pools_and_leases_are_send_and_sync() {
    fn is_shared<T: Send + Sync + 'static>() {}
    fn is_sent<T: Send + 'static>(_: T) {}

    is_shared::<Pools>();
    is_shared::<Pool>();
    is_shared::<Lease>();
    is_shared::<Reaper>();
    is_sent(Pools::new().1.run());
}

#[tokio::test]
async fn callers_do_not_see_each_others_sessions() {
    let fixture = Fixture::new().await;
    let database = fixture.describe(|settings| settings.allow_writes = true);
    let one = fixture.pools.pool("one", &database);
    let other = fixture.pools.pool("other", &database);
    assert_ne!(
        value(&one, "SELECT pg_backend_pid()").await,
        value(&other, "SELECT pg_backend_pid()").await
    );
}

#[tokio::test]
async fn nothing_a_statement_does_to_its_session_outlives_its_call() {
    let fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| {
        settings.allow_writes = true;
        settings.max_connections = 1;
    });
    let process = value(&pool, "SELECT pg_backend_pid()").await;
    let path = value(&pool, "SHOW search_path").await;
    for text in [
        "SET search_path = pg_temp",
        "SET TimeZone = 'Europe/Berlin'",
        "CREATE TEMP TABLE mine (a int)",
        "PREPARE mine AS SELECT 1",
        "SELECT 1; SET statement_timeout = 1",
        "SELECT pg_advisory_lock(7)",
    ] {
        ask(&pool, text).await.expect(text);
    }
    assert_eq!(value(&pool, "SHOW search_path").await, path);
    assert_eq!(value(&pool, "SHOW TimeZone").await, "UTC");
    assert_eq!(
        value(&pool, "SELECT count(*) FROM pg_prepared_statements").await,
        "0"
    );
    assert_eq!(value(&pool, "SELECT pg_sleep(0.01) IS NULL").await, "false");
    assert!(ask(&pool, "SELECT count(*) FROM mine").await.is_err());
    assert_eq!(value(&pool, "SELECT pg_backend_pid()").await, process);
}

#[tokio::test]
async fn behind_a_pooler_nothing_stays_in_the_session() {
    let fixture = Fixture::new().await;
    let describe = |writes| {
        fixture.describe(|settings| {
            settings.pooler = Pooler::Transaction;
            settings.allow_writes = writes;
            settings.max_connections = 1;
        })
    };
    let reader = fixture.pools.pool("reader", &describe(false));
    let path = value(&reader, "SHOW search_path").await;
    ask(&reader, "SET search_path = pg_temp")
        .await
        .expect("undone");
    assert_eq!(value(&reader, "SHOW search_path").await, path);
    assert_eq!(value(&reader, "SELECT 1 LIMIT 1").await, "1");
    assert!(ask(&reader, "SELECT 1/0").await.is_err());
    assert!(ask(&reader, "SELECT nothing").await.is_err());
    assert!(ask(&reader, "CREATE TABLE no (a int)").await.is_err());

    let writer = fixture.pools.pool("writer", &describe(true));
    for text in [
        "SET search_path = pg_temp",
        "SELECT 1; SET search_path = pg_temp",
        "CREATE TEMP TABLE mine (a int)",
        "PREPARE mine AS SELECT 1",
        "LISTEN mine",
        "SELECT set_config('search_path', 'pg_temp', false)",
        "SELECT 1 FROM pg_advisory_lock(1)",
    ] {
        let error = ask(&writer, text).await.expect_err(text);
        assert!(matches!(error, QueryError::Refused(_)), "{text}: {error:?}");
    }
    ask(&writer, "SET LOCAL search_path = pg_temp")
        .await
        .expect("local");
    ask(&writer, "CREATE TABLE kept (a int)")
        .await
        .expect("a table");
    assert_eq!(value(&writer, "SELECT count(*) FROM kept").await, "0");
}

#[tokio::test]
async fn a_caller_has_one_pool_for_a_database() {
    let fixture = Fixture::new().await;
    let database = fixture.describe(|_| {});
    let pool = fixture.pools.pool("one", &database);
    let process = value(&pool, "SELECT pg_backend_pid()").await;
    let again = fixture.pools.pool("one", &database);
    assert_eq!(value(&again, "SELECT pg_backend_pid()").await, process);

    // Other settings under the same name make another database.
    let changed = fixture.pools.pool("one", &fixture.describe(|_| {}));
    assert_ne!(value(&changed, "SELECT pg_backend_pid()").await, process);
    // A task that holds the old pool goes on, with another connection.
    assert_ne!(value(&pool, "SELECT pg_backend_pid()").await, process);
}

#[tokio::test]
async fn no_caller_has_more_connections_than_its_share() {
    let mut fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| settings.max_connections = 2);
    let first = pool.lease().await.expect("a lease");
    let second = pool.lease().await.expect("a lease");
    let mut third = pin!(pool.lease());
    let mut fourth = pin!(pool.lease());
    assert!(is_pending(&mut third).await);
    assert!(is_pending(&mut fourth).await);
    assert_eq!(fixture.count(CONNECTED).await, 2);

    drop(first);
    assert!(
        is_pending(&mut fourth).await,
        "who comes later waits longer"
    );
    let third = third.await.expect("the room of the first");
    drop(second);
    let fourth = fourth.await.expect("the room of the second");
    assert_eq!(fixture.count(CONNECTED).await, 2);
    drop((third, fourth));
}

#[tokio::test]
async fn a_connection_is_closed_when_it_is_too_old() {
    let mut fixture = Fixture::new().await;
    for is_idle in [true, false] {
        let pool = fixture.pool(|settings| {
            if is_idle {
                settings.max_idle = Duration::ZERO;
            } else {
                settings.max_lifetime = Duration::ZERO;
            }
        });
        let process = value(&pool, "SELECT pg_backend_pid()").await;
        assert_ne!(value(&pool, "SELECT pg_backend_pid()").await, process);
        until_connected(&mut fixture, 0).await;
    }
}

#[tokio::test]
async fn a_sweep_closes_stale_connections_and_drops_empty_pools() {
    let mut fixture = Fixture::new().await;
    let database = fixture.describe(|_| {});
    let pool = fixture.pools.pool("one", &database);
    drop(pool.lease().await.expect("a lease"));
    until_connected(&mut fixture, 1).await;
    drop(fixture.pools.pool("other", &database));

    fixture.pools.shared.sweep();
    let callers = |fixture: &Fixture| lock(&fixture.pools.shared.pools).len();
    assert_eq!(callers(&fixture), 1, "an idle connection keeps its pool");
    for idle in pool.inner.idle().iter_mut() {
        idle.since -= Duration::from_hours(2);
    }
    fixture.pools.shared.sweep();
    until_connected(&mut fixture, 0).await;
    assert_eq!(callers(&fixture), 1, "somebody holds the pool");
    drop(pool);
    fixture.pools.shared.sweep();
    assert_eq!(callers(&fixture), 0);
}

#[tokio::test]
async fn closing_a_pool_ends_waiting_and_future_leases() {
    let mut fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| settings.max_connections = 2);
    let lease = pool.lease().await.expect("a lease");
    let busy = pool.lease().await.expect("a lease");
    let mut waiting = pin!(pool.lease());
    assert!(is_pending(&mut waiting).await);

    fixture.pools.close("caller");
    assert!(matches!(waiting.await, Err(LeaseError::Closed)));
    assert!(matches!(pool.lease().await, Err(LeaseError::Closed)));
    assert_eq!(fixture.count(CONNECTED).await, 2, "what is lent stays");

    // A running statement still finishes.
    let statement = Statement::new(busy.database(), "SELECT 1").expect("a query");
    drop(statement.run(busy).await.expect("rows"));
    drop(lease);
    until_connected(&mut fixture, 0).await;
    assert!(
        fixture.readable().lease().await.is_ok(),
        "a new pool is open"
    );
}

#[tokio::test]
async fn closing_a_pool_closes_what_is_idle() {
    let mut fixture = Fixture::new().await;
    let kept = fixture.describe(|_| {});
    let left = fixture.describe(|settings| settings.name = "other".into());
    for database in [&kept, &left] {
        drop(
            fixture
                .pools
                .pool("one", database)
                .lease()
                .await
                .expect("a lease"),
        );
    }
    assert_eq!(fixture.count(CONNECTED).await, 2);
    fixture.pools.close_others("one", "main");
    until_connected(&mut fixture, 1).await;
    fixture.pools.close_all();
    until_connected(&mut fixture, 0).await;
}

#[tokio::test]
async fn a_retired_pool_can_be_used_and_keeps_no_connections() {
    let mut fixture = Fixture::new().await;
    let database = fixture.describe(|_| {});
    let pool = fixture.pools.pool("one", &database);
    let busy = pool.lease().await.expect("a lease");
    drop(pool.lease().await.expect("a lease"));
    assert_eq!(fixture.count(CONNECTED).await, 2);
    fixture.pools.retire("one");
    until_connected(&mut fixture, 1).await;
    drop(busy);
    until_connected(&mut fixture, 0).await;
    assert_eq!(value(&pool, "SELECT 'still there'").await, "still there");
    until_connected(&mut fixture, 0).await;
    let another = fixture.pools.pool("one", &database);
    drop(another.lease().await.expect("a lease"));
    assert_eq!(fixture.count(CONNECTED).await, 1, "a new one keeps its own");
}

#[tokio::test]
async fn the_connection_of_a_busy_lease_is_not_leased_again() {
    let fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| settings.max_connections = 1);
    let mut lease = pool.lease().await.expect("a lease");
    let process = lease.process();
    lease.begin();
    drop(lease);
    let mut lease = pool.lease().await.expect("the room is free again");
    assert_ne!(lease.process(), process);

    let process = lease.process();
    lease.begin();
    lease.settle();
    drop(lease);
    let lease = pool.lease().await.expect("a lease");
    assert_eq!(lease.process(), process);
}

#[tokio::test]
async fn a_connection_that_died_while_idle_is_replaced() {
    let mut fixture = Fixture::new().await;
    let pool = fixture.readable();
    let process = value(&pool, "SELECT pg_backend_pid()").await;
    fixture
        .given(&format!("SELECT pg_terminate_backend({process}, 5000)"))
        .await;
    for idle in pool.inner.idle().iter_mut() {
        idle.since -= TRUSTED_IDLE;
    }
    assert_ne!(value(&pool, "SELECT pg_backend_pid()").await, process);
}

#[tokio::test]
async fn a_statement_that_used_up_its_time_leaves_a_usable_connection() {
    let fixture = Fixture::new().await;
    let pool = fixture.readable();
    let mut lease = pool.lease().await.expect("a lease");
    let process = lease.process().to_string();
    lease.begin().set_patience(Some(Duration::ZERO));
    lease.settle();
    drop(lease);
    for idle in pool.inner.idle().iter_mut() {
        idle.since -= TRUSTED_IDLE;
    }
    assert_eq!(value(&pool, "SELECT pg_backend_pid()").await, process);
}

/// The policy refuses `pg_terminate_backend` in a caller's text, so a function hides it.
const ENDS: &str = "CREATE FUNCTION ends() RETURNS boolean LANGUAGE sql
    AS 'SELECT pg_terminate_backend(pg_backend_pid())'";

#[tokio::test]
async fn a_connection_that_dies_during_a_statement_is_not_kept() {
    let mut fixture = Fixture::new().await;
    fixture.given(ENDS).await;
    let pool = fixture.pool(|settings| settings.max_connections = 1);
    let error = ask(&pool, "SELECT ends()").await.expect_err("an end");
    assert!(!matches!(error, QueryError::Refused(_)), "{error:?}");
    assert_eq!(value(&pool, "SELECT 1").await, "1");
}

#[tokio::test]
async fn a_database_that_does_not_answer_does_not_block_the_others() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let fixture = Fixture::new().await;
    let dead = fixture.describe(|settings| {
        settings.name = "dead".into();
        settings.port = silent.local_addr().expect("an address").port();
        settings.connect_timeout = Duration::from_millis(200);
    });
    let dead = fixture.pools.pool("caller", &dead);
    let mut connecting = pin!(dead.lease());
    assert!(is_pending(&mut connecting).await);
    assert_eq!(value(&fixture.readable(), "SELECT 1").await, "1");
    let error = connecting.await.expect_err("nobody there");
    assert_eq!(
        error.to_string(),
        "failed to connect to database 'dead': timed out"
    );
}

#[tokio::test]
async fn a_wrong_password_does_not_show_in_the_error() {
    let fixture = Fixture::new().await;
    let pool = fixture.pool(|settings| {
        settings.host = "127.0.0.1".into();
        settings.user = "nobody_at_all".into();
        settings.password = "swordfish".to_owned().into();
    });
    let error = pool.lease().await.expect_err("not let in");
    assert!(matches!(error, LeaseError::Connect { .. }), "{error:?}");
    assert!(!format!("{error:?}").contains("swordfish"));
}

#[tokio::test]
async fn the_reaper_ends_with_the_last_of_the_pools() {
    let fixture = Fixture::new().await;
    let (pools, reaper) = Pools::new();
    let pool = pools.pool("caller", &fixture.describe(|_| {}));
    let lease = pool.lease().await.expect("a lease");
    let mut reaper = pin!(reaper.run());
    pools.close_all();
    drop((pools, pool));
    assert!(is_pending(&mut reaper).await, "a lease is still out");
    drop(lease);
    time::timeout(Duration::from_secs(10), reaper)
        .await
        .expect("nothing left to do");
}

#[test]
fn a_timeout_is_rounded_up() {
    let cases = [
        (None, 0),
        (Some(Duration::from_nanos(1)), 1),
        (Some(Duration::from_micros(1)), 1),
        (Some(Duration::from_millis(50)), 50),
        (Some(Duration::from_micros(50_001)), 51),
    ];
    for (timeout, expected) in cases {
        assert_eq!(milliseconds(timeout), expected, "{timeout:?}");
    }
}

#[test]
fn a_probe_passes_if_the_transaction_has_the_role_in_each_message_and_nothing_has_it_after() {
    let (held, lost) = (true, false);
    for (answers, expected) in [
        (vec![held, held, held, held, held, lost], true),
        (vec![held, held, held, held, held, held], false),
        (vec![held, held, lost, held, held, lost], false),
        (vec![held, held, held, held, lost], false),
        (vec![held, held, held, held, held, held, lost], false),
        (Vec::new(), false),
    ] {
        assert_eq!(connection::is_kept(&answers), expected, "{answers:?}");
    }
}
