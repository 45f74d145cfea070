//! Who waits for whom, and what is kept.

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

/// Keeps the catalogue from being read until it is dropped.
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

/// Drives a future until the server counts so many, which it has to before the future ends.
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
async fn many_who_ask_at_once_get_what_is_read_once() {
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
async fn what_was_read_is_kept_until_it_is_too_old() {
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
async fn reading_leaves_no_connection_behind() {
    let mut fixture = Fixture::new().await;
    let databases = databases(&fixture, |_| {});
    current(&databases).metadata().await.expect("metadata");
    until(&mut fixture, CONNECTED, 0, &mut future::pending::<()>()).await;
}

#[tokio::test]
async fn an_error_is_told_and_not_kept() {
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
async fn who_goes_away_leaves_the_reading_to_the_others() {
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
async fn when_all_go_away_the_reading_ends() {
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
async fn what_was_begun_before_a_change_is_not_kept_after_it() {
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
async fn a_database_described_anew_is_read_anew() {
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
async fn a_database_that_is_silent_delays_no_other() {
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
async fn a_call_does_not_wait_long_for_a_database_that_is_silent() {
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
    // The clock of a timer ticks in milliseconds.
    let limit = PATIENCE + Duration::from_millis(10);
    assert!((PATIENCE..limit).contains(&waited), "{waited:?}");

    // It could not be reached, so a statement may try: nobody else does.
    assert!(asking.ready().await.is_ok());
    let error = asking.metadata().await.expect_err("it is silent");
    assert!(matches!(error, MetadataError::Load(_)), "{error:?}");
}

#[tokio::test]
async fn a_call_waits_as_long_as_a_first_reading_takes() {
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
    let waited = time::timeout(2 * PATIENCE, &mut calls).await;
    assert!(waited.is_err(), "it is still being read: {waited:?}");
    time::resume();
    let_go(holder).await;
    calls.await.expect("metadata");
}

#[tokio::test]
async fn a_call_waits_for_a_first_reading_that_nobody_has_polled() {
    let fixture = Fixture::new().await;
    let silence = Silence::new().await;
    let databases = databases(&fixture, |settings| silence.stand_in(settings));
    time::pause();
    let _warming = databases.warm();
    let ready = current(&databases).ready().await;
    assert!(matches!(ready, Err(MetadataError::NotReady)), "{ready:?}");
}

#[tokio::test]
async fn what_is_warm_is_there_at_once() {
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
fn what_waits_can_be_sent() {
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
async fn what_a_role_can_do_beyond_its_database_is_logged_once() {
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
            .filter(|line| line.starts_with("WARN the role can "));
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
