//! Tests on a real PostgreSQL: what a preview shows equals a full comparison of the tables.

mod commits;
mod digests;
mod random;
mod shown;
mod sought;
mod undo;

use std::{collections::BTreeMap, env};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use ziggurat_postgres::{error::QueryError, fixture::Fixture, pool::Pool, statement::Statement};

use crate::{Outcome, Reason, Rules, Seen};

/// Tables with everything that changes rows behind the back of a statement.
const SCHEMA: &str = include_str!("tests/schema.sql");

/// Rows of tables as texts, with their number.
type Rows = BTreeMap<(String, String), i64>;

/// Returns the surplus of added rows of each table; a removed row counts as -1.
fn surplus(seen: &Seen) -> Rows {
    let mut surplus = Rows::new();
    for table in &seen.tables {
        for change in &table.changes {
            for (row, count) in [(change.before(), -1), (change.after(), 1)] {
                if let Some(row) = row {
                    let key = (table.table.name.clone(), format!("{row:?}"));
                    *surplus.entry(key).or_default() += count;
                }
            }
        }
    }
    surplus.retain(|_, count| *count != 0);
    surplus
}

/// Reads all rows of all tables.
async fn all_rows(connection: &mut PgConnection, sign: i64, rows: &mut Rows) {
    for (table, columns) in TABLES {
        let list = columns.map(|column| format!("{column}::text"));
        let texts = format!("SELECT ARRAY[{}] FROM {table}", list.join(", "));
        let found = sqlx::query(AssertSqlSafe(texts)).fetch_all(&mut *connection);
        for row in found.await.expect("readable") {
            let texts: Vec<Option<Box<str>>> = row
                .get::<Vec<Option<String>>, _>(0)
                .into_iter()
                .map(|text| text.map(Box::from))
                .collect();
            let key = (format!("public.{table}"), format!("{texts:?}"));
            *rows.entry(key).or_default() += sign;
        }
    }
}

/// The tables of the schema and their columns.
const TABLES: [(&str, [&str; 3]); 6] = [
    ("parent", ["id", "name", "doubled"]),
    ("child", ["id", "parent_id", "note"]),
    ("leaf", ["id", "child_id", "note"]),
    ("part", ["region", "id", "note"]),
    ("loose", ["a", "b", "c"]),
    ("audit", ["tab", "op", "what"]),
];

/// Compares the tables before and after a statement, and rolls it back. Returns the error of one that
/// fails.
async fn compared(connection: &mut PgConnection, text: &str) -> Result<Rows, String> {
    let mut transaction = connection.begin().await.expect("begun");
    let level = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
    sqlx::raw_sql(level)
        .execute(&mut *transaction)
        .await
        .expect("set");
    let mut rows = Rows::new();
    all_rows(&mut transaction, -1, &mut rows).await;
    for text in [text, "SET CONSTRAINTS ALL IMMEDIATE"] {
        let ran = sqlx::raw_sql(AssertSqlSafe(text))
            .execute(&mut *transaction)
            .await;
        if let Err(error) = ran {
            let code = error
                .as_database_error()
                .and_then(sqlx::error::DatabaseError::code);
            return Err(code.unwrap_or_default().into_owned());
        }
    }
    all_rows(&mut transaction, 1, &mut rows).await;
    transaction.rollback().await.expect("rolled back");
    rows.retain(|_, count| *count != 0);
    Ok(rows)
}

async fn preview(pool: &Pool, text: &str, rules: &Rules) -> Result<Outcome, QueryError> {
    let statement = Statement::new(pool.database(), text)?;
    crate::preview(pool, &statement, rules).await
}

async fn seen(pool: &Pool, text: &str) -> Result<Outcome, String> {
    let outcome = preview(pool, text, &Rules::default()).await;
    outcome.map_err(|error| match error {
        QueryError::Failed { report, .. } => report.sqlstate,
        error => panic!("{text}: {error:?}"),
    })
}

async fn given() -> Fixture {
    let mut fixture = Fixture::new().await;
    fixture.given(SCHEMA).await;
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_equals_a_full_comparison_beside_sessions_that_change_the_same_rows() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    let _disturbing = random::disturb_all(&fixture).await;
    let has_merge = version(&mut fixture).await >= 150_000;
    let mut random = random::Random::new(7).with_merge(has_merge);
    let cases = number("CHANGED_STATEMENTS", 300);
    let mut rows = 0;
    for turn in 0..cases {
        let text = random.statement();
        let expected = compared(&mut fixture.outside, &text).await;
        let found = seen(&pool, &text).await;
        match (expected, found) {
            (Ok(expected), Ok(Outcome::Seen(seen))) => {
                let found = surplus(&seen);
                rows += found.len();
                assert_eq!(found, expected, "{turn}: {text}");
            }
            // A row that another session holds for too long.
            (_, Err(code)) if code == "55P03" || code == "40001" || code == "40P01" => {}
            (Err(code), Err(found)) => assert_eq!(found, code, "{turn}: {text}"),
            (Err(code), Ok(_)) if code == "40001" || code == "40P01" => {}
            (expected, found) => panic!("{turn}: {text}: {expected:?} {found:?}"),
        }
    }
    assert!(rows > 3 * cases, "{rows} rows were compared");
}

/// Returns the number of cases, which a variable may set.
fn number(variable: &str, usual: usize) -> usize {
    env::var(variable).map_or(usual, |cases| cases.parse().expect("a number"))
}

async fn version(fixture: &mut Fixture) -> i64 {
    let version = "SELECT current_setting('server_version_num')::bigint";
    fixture.count(version).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_row_shows_has_no_preview_and_changes_nothing() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    let definition = |name: &str| Reason::Definitions(name.to_owned());
    let whole = |name: &str| Reason::Whole(name.to_owned());
    for (text, reason) in [
        ("CREATE TABLE new (a int)", definition("pg_class")),
        ("CREATE TEMPORARY TABLE new (a int)", definition("pg_class")),
        ("SELECT 1 AS a INTO new", definition("pg_class")),
        ("ALTER TABLE loose ADD d int", definition("pg_attribute")),
        ("GRANT SELECT ON loose TO PUBLIC", definition("pg_class")),
        (
            "COMMENT ON TABLE loose IS 'x'",
            definition("pg_description"),
        ),
        ("SELECT defines()", definition("pg_class")),
        (
            "CREATE TEMPORARY TABLE pg_class AS SELECT oid, relname, relkind, relnamespace \
             FROM pg_catalog.pg_class WHERE false; DELETE FROM loose",
            definition("pg_class"),
        ),
        ("TRUNCATE loose", whole("public.loose")),
        ("LOCK loose", whole("public.loose")),
        ("SELECT empties()", whole("public.loose")),
        ("SELECT lo_from_bytea(0, 'x')", Reason::LargeObjects),
        ("COMMIT", Reason::Transaction),
        ("VACUUM loose", Reason::Command("VACUUM".to_owned())),
    ] {
        match seen(&pool, text).await {
            Ok(Outcome::Unseen(found)) => assert_eq!(found, reason, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    let mut rows = Rows::new();
    all_rows(&mut fixture.outside, 1, &mut rows).await;
    let loose = rows.keys().filter(|(table, _)| table == "public.loose");
    assert!(loose.count() > 0, "it is not empty");
}
