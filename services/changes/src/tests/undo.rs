//! A committed change is undone exactly, or not at all.

use std::sync::Arc;

use super::*;
use crate::{Decision, NoUndo, Ran};

/// Tables with values of many types, and keys of all kinds.
const TYPES: &str = include_str!("types.sql");

/// The tables that are compared.
const COMPARED: [&str; 10] = [
    "parent",
    "child",
    "leaf",
    "part",
    "loose",
    "orders",
    "line",
    "tree",
    "valued",
    "\"Odd \"\"table\"",
];

/// Makes tables that all have a key, without triggers that write into others.
async fn keyed() -> Fixture {
    let mut fixture = given().await;
    fixture.given(TYPES).await;
    fixture
}

/// Reads all rows of all tables.
async fn snapshot(fixture: &mut Fixture) -> Vec<String> {
    let tables = COMPARED.map(|table| format!("SELECT '{table} ' || t::text FROM {table} AS t"));
    let sql = format!("{} ORDER BY 1", tables.join(" UNION ALL "));
    let rows = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut fixture.outside);
    rows.await.expect("readable")
}

/// Commits a statement. Returns what it changed, or `None` if it fails.
async fn committed(pool: &Pool, text: &str) -> Option<Seen> {
    let statement = Statement::new(pool.database(), text).expect(text);
    let rules = Rules::default();
    let pending = match crate::run(pool, &statement, &rules).await {
        Ok(Ran::Pending(pending)) => pending,
        Ok(Ran::Unseen(reason)) => panic!("{text}: {reason}"),
        Err(_) => return None,
    };
    match pending.commit(&|_| ()).await.expect(text) {
        Decision::Committed(committed) => Some(committed.seen),
        other => panic!("{text}: {other:?}"),
    }
}

async fn script(pool: &Pool, text: &str) -> Result<String, NoUndo> {
    let seen = committed(pool, text).await.expect(text);
    seen.undo()
}

async fn run(fixture: &mut Fixture, script: &str) -> Result<(), String> {
    let ran = sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut fixture.outside);
    let code = |error: sqlx::Error| {
        let code = error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code);
        code.unwrap_or_default().into_owned()
    };
    ran.await.map(drop).map_err(code)
}

const STATEMENTS: [&str; 16] = [
    "DELETE FROM valued",
    "UPDATE valued SET money = '7.50', short = 'x', label = NULL, list = list || '{NULL}'",
    "INSERT INTO valued (label) VALUES (''), (NULL), ('it''s \\ new')",
    "UPDATE valued SET label = '' WHERE label IS NULL; DELETE FROM valued WHERE label = 'plain'",
    // The keys change, and the rows that refer to them with them.
    "UPDATE parent SET id = id + 1000 WHERE id < 9",
    "DELETE FROM parent WHERE id BETWEEN 10 AND 12",
    "UPDATE part SET region = CASE region WHEN 'a' THEN 'b' ELSE 'a' END WHERE id < 9",
    // A unique value moves to another row.
    "DELETE FROM tree WHERE id = 4; UPDATE tree SET label = 'four' WHERE id = 3; \
     INSERT INTO tree VALUES (9, NULL, 'three')",
    // Rows that refer to each other.
    "DELETE FROM tree",
    "INSERT INTO tree VALUES (20, 21, 'a'), (21, 20, 'b')",
    "WITH o AS (INSERT INTO orders (customer) VALUES ('x') RETURNING id) \
     INSERT INTO line (ord, at) SELECT id, now() FROM o",
    "INSERT INTO orders OVERRIDING SYSTEM VALUE VALUES (500, 'given')",
    "UPDATE \"Odd \"\"table\" SET \"a b\" = 2",
    "SELECT divided(20, 60)",
    "SELECT there_and_back(30)",
    "INSERT INTO leaf SELECT id, 1, 'again' FROM leaf ON CONFLICT (id) DO UPDATE SET note = 'b'",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_script_brings_back_each_row_as_it_was() {
    let mut fixture = keyed().await;
    let pool = fixture.writable();
    let mut random = random::Random::new(3);
    let cases = number("UNDONE_STATEMENTS", 60);
    let random = (0..cases).map(|_| random.statement());
    let texts = STATEMENTS.map(str::to_owned).into_iter().chain(random);
    let mut undone = 0;
    for text in texts.collect::<Vec<_>>() {
        let before = snapshot(&mut fixture).await;
        let Some(seen) = committed(&pool, &text).await else {
            continue;
        };
        match seen.undo() {
            Ok(script) => {
                assert_eq!(run(&mut fixture, &script).await, Ok(()), "{text}: {script}");
                undone += 1;
            }
            Err(error) => assert_eq!(error, NoUndo::Nothing, "{text}"),
        }
        assert_eq!(snapshot(&mut fixture).await, before, "{text}");
    }
    assert!(2 * undone > cases + 16, "{undone} scripts");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_fails_if_a_row_is_another_one_by_now() {
    let mut fixture = keyed().await;
    let pool = fixture.writable();
    for (text, since) in [
        (
            "UPDATE child SET note = 'mine too' WHERE id < 4",
            "UPDATE child SET note = 'yours' WHERE id = 2",
        ),
        (
            "UPDATE child SET note = 'all mine' WHERE id < 4",
            "UPDATE child SET parent_id = 5 WHERE id = 2",
        ),
        (
            "UPDATE child SET note = 'mine' WHERE id < 4",
            "DELETE FROM child WHERE id = 1",
        ),
        (
            "INSERT INTO orders (customer) VALUES ('mine'), ('too')",
            "UPDATE orders SET customer = NULL WHERE customer = 'too'",
        ),
        (
            "DELETE FROM tree WHERE id = 4",
            "INSERT INTO tree VALUES (4, NULL, 'new')",
        ),
        (
            "UPDATE valued SET label = NULL WHERE id = 1",
            "UPDATE valued SET label = '' WHERE id = 1",
        ),
    ] {
        let script = script(&pool, text).await.expect(text);
        fixture.given(since).await;
        let before = snapshot(&mut fixture).await;
        let code = run(&mut fixture, &script).await.expect_err(since);
        assert!(["22012", "23505"].contains(&&*code), "{since}: {code}");
        assert_eq!(snapshot(&mut fixture).await, before, "{since}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_script_there_is_a_reason() {
    let mut fixture = keyed().await;
    let pool = fixture.writable();
    let none =
        "CREATE TABLE without (a int); CREATE TABLE covered (id int PRIMARY KEY, secret text)";
    fixture.given(none).await;
    for (text, reason) in [
        ("DELETE FROM parent WHERE id = -1", "no row was changed"),
        (
            "INSERT INTO without VALUES (1)",
            "public.without has no primary key",
        ),
        (
            "INSERT INTO leaf SELECT g, 1, repeat('x', 400) FROM generate_series(1001, 4000) g",
            "it would have more than 1048576 bytes",
        ),
    ] {
        let error = script(&pool, text).await.expect_err(text);
        let expected = format!("There is no undo script: {reason}.");
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_has_no_masked_values_and_needs_all_rows() {
    let fixture = keyed().await;
    let text = "UPDATE child SET note = 'new' WHERE id = 1";
    let seen = committed(&fixture.writable(), text).await.expect(text);
    let masked = Err(NoUndo::Masked("public.child".to_owned()));
    let [mut column, mut source, mut hidden] = [seen.clone(), seen.clone(), seen];
    Arc::make_mut(&mut column.tables[0].table).columns[1].is_masked = true;
    Arc::make_mut(&mut source.tables[0].table).hides_new = true;
    assert_eq!(column.undo(), masked);
    assert_eq!(source.undo(), masked);
    Arc::make_mut(&mut hidden.tables[0].table).hides_rows = true;
    let expected = Err(NoUndo::Hidden("public.child".to_owned()));
    assert_eq!(hidden.undo(), expected);
}
