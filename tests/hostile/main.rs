//! Tests the read-only promise: harmful statements change nothing, sent by a superuser and by an
//! ordinary role, directly and through the tool.

mod advisories;
mod corpus;
mod server;
mod snapshot;
mod victim;

use corpus::{CORPUS, Expected};
use server::{Outcome, Route, TestServer};
use snapshot::differences;

#[tokio::test]
async fn a_superuser_cannot_do_harm() {
    let server = TestServer::start().await;
    let name = server.superuser();
    run_corpus(server, &name, |expected, outcome| match expected {
        Expected::ByPolicy => matches!(outcome, Outcome::Rejected(_)),
        Expected::ByPostgres => matches!(outcome, Outcome::Failed(_)),
        Expected::Harmless => matches!(outcome, Outcome::Answered),
        Expected::ByTimeout => matches!(outcome, Outcome::Failed(said) if said.contains("57014")),
    })
    .await;
}

#[tokio::test]
async fn an_ordinary_role_cannot_do_harm() {
    let server = TestServer::start().await;
    run_corpus(server, "reader", |expected, outcome| match expected {
        Expected::ByPolicy => matches!(outcome, Outcome::Rejected(_)),
        Expected::ByPostgres => matches!(outcome, Outcome::Failed(_)),
        // The role may not read either.
        Expected::Harmless => match outcome {
            Outcome::Answered => true,
            Outcome::Failed(said) => said.contains("42501"),
            Outcome::Rejected(_) => false,
        },
        Expected::ByTimeout => matches!(outcome, Outcome::Failed(said) if said.contains("57014")),
    })
    .await;
}

/// Sends the corpus, each statement in both ways, and compares the snapshots before and after.
async fn run_corpus(mut server: TestServer, role: &str, fits: fn(Expected, &Outcome) -> bool) {
    let database = server.describe(role);
    // The first statements fill caches, also files.
    for route in [Route::Statement, Route::Tool] {
        let outcome = server.send(&database, route, CLEAN).await;
        assert_eq!(outcome, Outcome::Answered, "{route:?}");
    }
    let before = server.victim.snapshot().await;
    let mut surprises = Vec::new();
    for &(expected, text) in CORPUS {
        let text = server.victim.expanded(text);
        for route in [Route::Statement, Route::Tool] {
            let outcome = server.send(&database, route, &text).await;
            if !fits(expected, &outcome) {
                surprises.push(format!("{expected:?} {route:?} {text}\n  {outcome:?}"));
            }
            let next = server.send(&database, route, CLEAN).await;
            assert_eq!(next, Outcome::Answered, "{route:?} after {text}");
        }
    }
    let after = server.victim.snapshot().await;
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    assert_eq!(differences(&before, &after), Vec::<String>::new());
}

/// Fails with a division by zero if the session was changed.
const CLEAN: &str = "
    SELECT 1 / CASE
        WHEN EXISTS (SELECT FROM pg_prepared_statements WHERE from_sql) THEN 0
        WHEN EXISTS (SELECT FROM pg_cursors WHERE is_holdable) THEN 0
        WHEN EXISTS (SELECT FROM pg_listening_channels()) THEN 0
        WHEN EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory') THEN 0
        WHEN pg_my_temp_schema() <> 0 THEN 0
        WHEN current_user <> session_user THEN 0
        WHEN EXISTS (SELECT FROM pg_settings WHERE source = 'session' AND name NOT IN (
            'bytea_output', 'default_transaction_read_only', 'extra_float_digits',
            'standard_conforming_strings', 'statement_timeout', 'transaction_read_only', 'transaction_isolation', 'transaction_deferrable')) THEN 0
        WHEN current_setting('transaction_read_only') <> 'on' THEN 0
        ELSE 1
    END";

/// Checks that the snapshot notices a change.
#[tokio::test]
async fn the_snapshot_notices_a_change() {
    let mut server = TestServer::start().await;
    let before = server.victim.snapshot().await;
    assert_eq!(
        differences(&before, &server.victim.snapshot().await),
        [""; 0]
    );
    for harm in [
        "UPDATE account SET balance = 0 WHERE id = 1",
        "SELECT nextval('counter')",
        "ANALYZE account",
        "CREATE ROLE intruder",
        "SELECT lo_creat(-1)",
        "ALTER SYSTEM SET work_mem = '5MB'",
        "COPY account TO '{canary}/stolen'",
        "SELECT pg_create_physical_replication_slot('hole')",
    ] {
        let before = server.victim.snapshot().await;
        server.victim.do_harm(harm).await;
        let after = server.victim.snapshot().await;
        assert!(!differences(&before, &after).is_empty(), "{harm}");
    }
}

/// One string to the policy. With `standard_conforming_strings = off` it ends in the middle, and
/// the rest would not have been checked.
const AMBIGUOUS: &str = r"SELECT 'a\'', 1 / 0 --'";

#[tokio::test]
async fn strings_end_where_the_policy_expects_with_any_setting_of_the_database() {
    let mut server = TestServer::start().await;
    server
        .victim
        .do_harm("ALTER DATABASE victim SET standard_conforming_strings = off")
        .await;
    let database = server.describe("reader");
    for route in [Route::Statement, Route::Tool] {
        let outcome = server.send(&database, route, AMBIGUOUS).await;
        assert_eq!(outcome, Outcome::Answered, "{route:?}");
    }
}
