//! Tests of the pool when PostgreSQL stops and starts again.

use super::{private::Private, *};
use crate::error::QueryError;

/// Makes the idle connections of a pool look as if they were just used.
fn trust_idle(pool: &Pool) {
    for idle in pool.inner.idle().iter_mut() {
        idle.since = Instant::now();
    }
}

#[tokio::test]
async fn a_caller_that_only_reads_does_not_notice_that_its_connection_died() {
    let mut fixture = Fixture::new().await;
    let pool = fixture.readable();
    for sql in [
        "SELECT pg_backend_pid()",
        "SELECT pg_backend_pid() -- ;",
        "SHOW application_name",
    ] {
        let process = value(&pool, "SELECT pg_backend_pid()").await;
        fixture
            .given(&format!("SELECT pg_terminate_backend({process}, 5000)"))
            .await;
        trust_idle(&pool);
        assert_ne!(value(&pool, sql).await, process, "{sql}");
        assert_eq!(pool.inner.idle().len(), 1);
    }
}

#[tokio::test]
async fn a_caller_that_writes_gets_an_error_if_its_connection_died() {
    let mut fixture = Fixture::new().await;
    fixture.given("CREATE TABLE tally (a int)").await;
    let pool = fixture.writable();
    let process = value(&pool, "SELECT pg_backend_pid()").await;
    fixture
        .given(&format!("SELECT pg_terminate_backend({process}, 5000)"))
        .await;
    trust_idle(&pool);
    let insert = "INSERT INTO tally VALUES (1)";
    assert!(ask(&pool, insert).await.is_err());
    assert_eq!(fixture.count("SELECT count(*) FROM tally").await, 0);
    assert!(
        ask(&pool, insert).await.is_ok(),
        "on a connection that is new"
    );
    assert_eq!(fixture.count("SELECT count(*) FROM tally").await, 1);
}

#[tokio::test]
async fn a_statement_that_ends_its_own_connection_is_not_sent_twice() {
    let mut fixture = Fixture::new().await;
    fixture.given(ENDS).await;
    let pool = fixture.readable();
    assert_eq!(value(&pool, "SELECT 1").await, "1");
    trust_idle(&pool);
    assert!(ask(&pool, "SELECT ends()").await.is_err());
    let killed = "SELECT sessions_killed FROM pg_stat_database WHERE datname = current_database()";
    let killed = time::timeout(Duration::from_secs(10), async {
        loop {
            match fixture.count(killed).await {
                0 => task::yield_now().await,
                killed => break killed,
            }
        }
    });
    assert_eq!(killed.await.expect("counted in time"), 1);
}

#[tokio::test]
async fn a_server_that_crashed_is_found_again() {
    let private = Private::start().await;
    let database = private.describe(|settings| settings.max_connections = 3);
    let pool = private.pools.pool("caller", &database);
    let leases = [pool.lease().await, pool.lease().await, pool.lease().await];
    drop(leases);
    assert_eq!(pool.inner.idle().len(), 3);
    private.crash().await;
    trust_idle(&pool);
    // Each statement finds another dead connection.
    let asked = futures_util::future::join_all((0..3).map(|_| value(&pool, "SELECT 1"))).await;
    assert_eq!(asked, ["1", "1", "1"]);
    assert_eq!(pool.inner.idle().len(), 3);
}

#[tokio::test]
async fn a_server_that_is_gone_is_reported() {
    let private = Private::start().await;
    private.given(&["CREATE ROLE reader LOGIN"]).await;
    let database = private.describe(|settings| settings.user = "reader".into());
    let pool = private.pools.pool("caller", &database);
    assert_eq!(value(&pool, "SELECT 1").await, "1");
    private
        .given(&[
            "ALTER ROLE reader NOLOGIN",
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'reader'",
        ])
        .await;
    trust_idle(&pool);
    let error = ask(&pool, "SELECT 1").await.expect_err("nobody gets in");
    let QueryError::Lease(error) = error else {
        panic!("{error:?}");
    };
    assert_eq!(
        error.to_string(),
        "failed to connect to database 'main': FATAL: role \"reader\" is not permitted to log in \
         (SQLSTATE 28000)"
    );
}
