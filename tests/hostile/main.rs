//! What the read-only promise is worth: statements that mean harm leave everything as it was,
//! sent by a superuser and by an ordinary role, as a statement and through the tool.

mod corpus;
mod snapshot;
mod stage;

use std::collections::BTreeMap;

use corpus::{CORPUS, Expected};
use stage::{Outcome, Stage, Way};

#[tokio::test]
async fn a_superuser_cannot_be_talked_into_harm() {
    let stage = Stage::set().await;
    let name = stage.superuser();
    play(stage, &name, |expected, outcome| match expected {
        Expected::Ours => matches!(outcome, Outcome::Rejected(_)),
        Expected::Theirs => matches!(outcome, Outcome::Failed(_)),
        Expected::Harmless => matches!(outcome, Outcome::Answered),
        Expected::OutOfTime => matches!(outcome, Outcome::Failed(said) if said.contains("57014")),
    })
    .await;
}

#[tokio::test]
async fn an_ordinary_role_cannot_be_talked_into_harm() {
    let stage = Stage::set().await;
    play(stage, "reader", |expected, outcome| match expected {
        Expected::Ours => matches!(outcome, Outcome::Rejected(_)),
        Expected::Theirs => matches!(outcome, Outcome::Failed(_)),
        // It may not even look.
        Expected::Harmless => match outcome {
            Outcome::Answered => true,
            Outcome::Failed(said) => said.contains("42501"),
            Outcome::Rejected(_) => false,
        },
        Expected::OutOfTime => matches!(outcome, Outcome::Failed(said) if said.contains("57014")),
    })
    .await;
}

/// Sends the corpus, each statement both ways, and compares what was with what is.
async fn play(mut stage: Stage, role: &str, fits: fn(Expected, &Outcome) -> bool) {
    let database = stage.describe(role);
    // The first statements fill the caches, of files too.
    for way in [Way::Statement, Way::Tool] {
        let outcome = stage.send(&database, way, CLEAN).await;
        assert_eq!(outcome, Outcome::Answered, "{way:?}");
    }
    let before = stage.snapshot().await;
    let mut surprises = Vec::new();
    for &(expected, text) in CORPUS {
        let text = stage.written_out(text);
        for way in [Way::Statement, Way::Tool] {
            let outcome = stage.send(&database, way, &text).await;
            if !fits(expected, &outcome) {
                surprises.push(format!("{expected:?} {way:?} {text}\n  {outcome:?}"));
            }
            let next = stage.send(&database, way, CLEAN).await;
            assert_eq!(next, Outcome::Answered, "{way:?} after {text}");
        }
    }
    let after = stage.snapshot().await;
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    assert_eq!(differences(&before, &after), Vec::<String>::new());
}

/// Fails with a division by zero on a connection that something was left on.
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

fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let mut keys: Vec<_> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter()
        .filter(|key| before.get(*key) != after.get(*key))
        .map(|key| format!("{key}: {:?} -> {:?}", before.get(key), after.get(key)))
        .collect()
}

/// The snapshot is only worth something if it notices.
#[tokio::test]
async fn a_change_does_not_go_unnoticed() {
    let mut stage = Stage::set().await;
    let before = stage.snapshot().await;
    assert_eq!(differences(&before, &stage.snapshot().await), [""; 0]);
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
        let before = stage.snapshot().await;
        stage.do_harm(harm).await;
        let after = stage.snapshot().await;
        assert!(!differences(&before, &after).is_empty(), "{harm}");
    }
}

/// To the policy this is one string; read the old way it ends in the middle, and what follows
/// was never looked at.
const TWO_FACED: &str = r"SELECT 'a\'', 1 / 0 --'";

#[tokio::test]
async fn strings_end_where_the_policy_saw_them_end_whatever_the_database_is_set_to() {
    let mut stage = Stage::set().await;
    stage
        .do_harm("ALTER DATABASE victim SET standard_conforming_strings = off")
        .await;
    let database = stage.describe("reader");
    for way in [Way::Statement, Way::Tool] {
        let outcome = stage.send(&database, way, TWO_FACED).await;
        assert_eq!(outcome, Outcome::Answered, "{way:?}");
    }
}
