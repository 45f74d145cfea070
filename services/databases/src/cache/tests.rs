//! Waiting for loads, and caching of their results.

use std::{future::Future, pin::pin};

use futures_util::future;
use sqlx::PgConnection;
use tokio::task;
use ziggurat_postgres::{
    database::Settings,
    fixture::{Fixture, Silence},
};
use ziggurat_runtime::logs::captured::CapturedLog;

use super::*;
use crate::{Configured, Current, Databases};

const CONNECTED: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'ziggurat'";

const WAITING: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'ziggurat'
        AND wait_event_type = 'Lock'";

fn databases(fixture: &Fixture, change: impl FnOnce(&mut Settings)) -> Databases {
    let configured = Configured::new(fixture.describe(change));
    Databases::new(fixture.pools.clone(), [configured])
}

fn current(databases: &Databases) -> Current {
    databases.current(None).expect("one")
}

/// Blocks loads until the connection is released.
async fn hold(fixture: &Fixture) -> PgConnection {
    let mut holder = fixture.connect().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE pg_catalog.pg_description IN ACCESS EXCLUSIVE MODE")
        .execute(&mut holder)
        .await
        .expect("a lock");
    holder
}

async fn let_go(mut holder: PgConnection) {
    sqlx::raw_sql("ROLLBACK")
        .execute(&mut holder)
        .await
        .expect("an end");
}

/// Polls a future until the query returns the count, which must happen before the future ends.
async fn until<F>(fixture: &mut Fixture, sql: &str, count: i64, during: &mut F)
where
    F: Future + Unpin,
{
    let counted = pin!(async {
        while fixture.count(sql).await != count {
            task::yield_now().await;
        }
    });
    let first = time::timeout(Duration::from_secs(10), future::select(counted, during)).await;
    let is_counted = matches!(first.expect(sql), future::Either::Left(_));
    assert!(is_counted, "it ended before the server counted {count}");
}

#[tokio::test]
async fn concurrent_calls_share_one_load() {
    let fixture = Fixture::new().await;
    let databases = databases(&fixture, |settings| settings.metadata_ttl = Duration::ZERO);
    let callers: Vec<_> = (0..20).map(|_| current(&databases)).collect();
    let read = future::try_join_all(callers.iter().map(Current::metadata));
    let read = read.await.expect("metadata");
    assert!(read.iter().all(|other| Arc::ptr_eq(other, &read[0])));

    let again = current(&databases).metadata().await.expect("metadata");
    assert!(!Arc::ptr_eq(&again, &read[0]), "every call reads anew");
}

#[tokio::test]
async fn metadata_is_cached_until_it_is_too_old() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&fixture, |_| {});
    let first = current(&databases).metadata().await.expect("metadata");
    fixture.given("CREATE TABLE later (id int)").await;
    for age in [0, 299] {
        time::pause();
        time::advance(Duration::from_secs(age)).await;
        time::resume();
        let kept = current(&databases).metadata().await.expect("metadata");
        assert!(Arc::ptr_eq(&kept, &first), "after {age} s");
    }
    let asking = current(&databases);
    let recent = asking.metadata_within(Duration::from_mins(1)).await;
    let recent = recent.expect("metadata");
    assert!(recent.table("public", "later").is_some());

    time::pause();
    time::advance(Duration::from_mins(5)).await;
    time::resume();
    let late = current(&databases).metadata().await.expect("metadata");
    assert!(!Arc::ptr_eq(&late, &recent), "five minutes are over");
}

#[tokio::test]
async fn a_load_leaves_no_connection_open() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&fixture, |_| {});
    current(&databases).metadata().await.expect("metadata");
    until(&mut fixture, CONNECTED, 0, &mut future::pending::<()>()).await;
}

#[tokio::test]
async fn an_error_is_returned_and_not_cached() {
    let fixture = Fixture::new().await;
    let databases = databases(&fixture, |settings| {
        settings.query_timeout = Duration::from_millis(50);
    });
    let holder = hold(&fixture).await;
    let (one, other) = (current(&databases), current(&databases));
    let (one, other) = tokio::join!(one.metadata(), other.metadata());
    for outcome in [one, other] {
        assert!(
            matches!(outcome, Err(MetadataError::Load(_))),
            "{outcome:?}"
        );
    }
    let_go(holder).await;
    current(&databases).metadata().await.expect("metadata");
}

#[tokio::test]
async fn a_cancelled_call_leaves_the_load_to_the_others() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&fixture, |_| {});
    let holder = hold(&fixture).await;
    let (one, other) = (current(&databases), current(&databases));
    let mut first = Box::pin(one.metadata());
    until(&mut fixture, WAITING, 1, &mut first).await;
    fixture.given("CREATE TABLE late (id int)").await;
    let mut second = Box::pin(other.metadata());
    assert!((&mut second).now_or_never().is_none());
    drop(first);
    until(&mut fixture, WAITING, 1, &mut second).await;
    let_go(holder).await;
    let read = second.await.expect("metadata");
    let late = read.table("public", "late");
    assert!(late.is_none(), "it began before there was such a table");
}

#[tokio::test]
async fn a_load_ends_when_all_calls_are_cancelled() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&fixture, |_| {});
    let holder = hold(&fixture).await;
    let asking = current(&databases);
    let mut only = Box::pin(asking.metadata());
    until(&mut fixture, WAITING, 1, &mut only).await;
    drop(only);
    until(&mut fixture, CONNECTED, 0, &mut future::pending::<()>()).await;
    let_go(holder).await;
    asking.metadata().await.expect("metadata");
}

#[tokio::test]
async fn a_load_begun_before_a_change_is_not_cached_after_it() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&fixture, |_| {});
    let holder = hold(&fixture).await;
    let asking = current(&databases);
    let mut before = Box::pin(asking.metadata());
    until(&mut fixture, WAITING, 1, &mut before).await;
    databases.changed(&asking);
    fixture.given("CREATE TABLE late (id int)").await;
    let_go(holder).await;
    let before = before.await.expect("metadata");
    assert!(before.table("public", "late").is_none());
    let after = asking.metadata().await.expect("metadata");
    assert!(after.table("public", "late").is_some());
}

#[tokio::test]
async fn a_change_is_seen_under_every_name_of_the_database() {
    let mut fixture = Fixture::new().await;
    let named = |name: &str, writes| {
        Configured::new(fixture.describe(|settings| {
            settings.name = name.into();
            settings.allow_writes = writes;
        }))
    };
    let list = [named("reading", false), named("writing", true)];
    let databases = Databases::new(fixture.pools.clone(), list);
    let reading = current(&databases);
    reading.metadata().await.expect("metadata");
    databases.select(None, "writing").await.expect("there");
    fixture.given("CREATE TABLE late (id int)").await;
    databases.changed(&current(&databases));
    let after = reading.metadata().await.expect("metadata");
    assert!(after.table("public", "late").is_some());
}

#[tokio::test]
async fn a_database_with_changed_settings_is_loaded_again() {
    let fixture = Fixture::new().await;
    let databases = databases(&fixture, |_| {});
    let first = current(&databases).metadata().await.expect("metadata");
    databases.replace([Configured::new(fixture.describe(|_| {}))]);
    let same = current(&databases).metadata().await.expect("metadata");
    assert!(Arc::ptr_eq(&first, &same), "described as before");
    let other = fixture.describe(|settings| settings.row_limit = 7);
    databases.replace([Configured::new(other)]);
    let other = current(&databases).metadata().await.expect("metadata");
    assert!(!Arc::ptr_eq(&first, &other));
}

#[tokio::test]
async fn an_unresponsive_database_does_not_delay_others() {
    let fixture = Fixture::new().await;
    let silence = Silence::new().await;
    let silent = fixture.describe(|settings| {
        silence.stand_in(settings);
        settings.name = "silent".into();
    });
    let list = [
        Configured::new(silent),
        Configured::new(fixture.describe(|_| {})),
    ];
    let databases = Databases::new(fixture.pools.clone(), list);
    databases.select(None, "main").await.expect("there");
    let main = current(&databases);
    let warm = pin!(databases.warm());
    let asked = pin!(async {
        main.ready().await?;
        main.metadata().await
    });
    match future::select(warm, asked).await {
        future::Either::Right((metadata, _)) => drop(metadata.expect("metadata")),
        future::Either::Left(_) => panic!("it waited for the silent one"),
    }
}

#[tokio::test]
async fn a_call_does_not_wait_long_for_an_unresponsive_database() {
    let fixture = Fixture::new().await;
    let silence = Silence::new().await;
    let databases = databases(&fixture, |settings| silence.stand_in(settings));
    time::pause();
    let start = Instant::now();
    let asking = current(&databases);
    assert!(asking.ready().await.is_ok(), "nothing has begun");

    let calls = async {
        let (ready, metadata) = tokio::join!(asking.ready(), asking.metadata());
        assert!(matches!(ready, Err(MetadataError::NotReady)), "{ready:?}");
        assert!(
            matches!(metadata, Err(MetadataError::NotReady)),
            "{metadata:?}"
        );
        start.elapsed()
    };
    let ((), waited) = tokio::join!(databases.warm(), calls);
    // Timers have a resolution of a millisecond.
    let limit = MAX_WAIT + Duration::from_millis(10);
    assert!((MAX_WAIT..limit).contains(&waited), "{waited:?}");

    // The load has failed, so a statement may try to connect: no other task does.
    assert!(asking.ready().await.is_ok());
    let error = asking.metadata().await.expect_err("it is silent");
    assert!(matches!(error, MetadataError::Load(_)), "{error:?}");
}

#[tokio::test]
async fn a_call_waits_as_long_as_a_first_load_takes() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&fixture, |_| {});
    let holder = hold(&fixture).await;
    let mut warm = Box::pin(databases.warm());
    until(&mut fixture, WAITING, 1, &mut warm).await;
    let asking = current(&databases);
    let mut calls = Box::pin(async {
        let (ready, metadata) = tokio::join!(asking.ready(), asking.metadata());
        ready?;
        metadata
    });
    time::pause();
    let waited = time::timeout(2 * MAX_WAIT, &mut calls).await;
    assert!(waited.is_err(), "it is still being read: {waited:?}");
    time::resume();
    let_go(holder).await;
    calls.await.expect("metadata");
}

#[tokio::test]
async fn a_call_waits_for_a_first_load_that_no_task_has_polled() {
    let fixture = Fixture::new().await;
    let silence = Silence::new().await;
    let databases = databases(&fixture, |settings| silence.stand_in(settings));
    time::pause();
    let _warming = databases.warm();
    let ready = current(&databases).ready().await;
    assert!(matches!(ready, Err(MetadataError::NotReady)), "{ready:?}");
}

#[tokio::test]
async fn warmed_metadata_is_returned_from_the_cache() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&fixture, |_| {});
    databases.warm().await;
    fixture.given("CREATE TABLE later (id int)").await;
    let metadata = current(&databases).metadata().await.expect("metadata");
    assert!(
        metadata.table("public", "later").is_none(),
        "it was read before"
    );
}

#[test]
fn the_futures_of_loads_are_send() {
    fn check<T: Send>(_: T) {}
    let (pools, _reaper) = Pools::new();
    let databases = Databases::new(pools, []);
    check(databases.warm());
    check::<fn(&Current)>(|current| {
        check(current.metadata());
        check(current.ready());
    });
}

#[tokio::test]
async fn the_rights_of_a_role_beyond_its_database_are_logged_once() {
    let mut fixture = Fixture::new().await;
    let role = format!("reader_{}", fixture.settings.database.replace('-', "_"));
    let create = format!("CREATE ROLE \"{role}\" LOGIN PASSWORD 'readers'");
    fixture.given(&create).await;
    let log = CapturedLog::default();
    let _guard = log.capture();
    let of_role = |fixture: &Fixture| {
        databases(fixture, |settings| {
            settings.user.clone_from(&role);
            settings.password = "readers".to_owned().into();
            settings.metadata_ttl = Duration::ZERO;
        })
    };
    let read = async |databases: &Databases| {
        current(databases).metadata().await.expect("metadata");
        let lines = log.take();
        let lines = lines
            .lines()
            .filter(|line| line.starts_with("WARN the role has privileges "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(read(&of_role(&fixture)).await, [""; 0]);

    let grant = format!(
        "GRANT pg_read_server_files, pg_execute_server_program TO \"{role}\";
         ALTER ROLE \"{role}\" REPLICATION"
    );
    fixture.given(&grant).await;
    let powerful = of_role(&fixture);
    let lines = read(&powerful).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    for word in [
        "database=main",
        &format!("role={role}"),
        "replication, pg_execute_server_program, pg_read_server_files",
    ] {
        assert!(lines[0].contains(word), "{lines:?}");
    }
    assert_eq!(read(&powerful).await, [""; 0], "once");

    let lines = read(&databases(&fixture, |_| {})).await;
    assert!(
        lines.len() == 1 && lines[0].contains("powers=superuser"),
        "{lines:?}"
    );
    fixture.given(&format!("DROP ROLE \"{role}\"")).await;
}
