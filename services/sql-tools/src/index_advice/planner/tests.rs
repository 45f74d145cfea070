use ziggurat_postgres::{
    database::Pooler,
    error::Report,
    fixture::{Fixture, ask},
};

use super::*;

const ORDERS: &str = "CREATE TABLE orders (id int PRIMARY KEY, customer int, day date);
    INSERT INTO orders SELECT n, n % 100, date '2026-01-01' + n % 300 FROM generate_series(1, 20000) n;
    ANALYZE orders";

/// Statements that are planned, and a part of the plan of each.
const PLANNED: [(&str, &str); 5] = [
    ("SELECT * FROM orders WHERE customer = $1", "customer = $1"),
    (
        " SELECT * FROM orders WHERE customer = 7 ; ",
        "customer = 7",
    ),
    (
        "SELECT * FROM orders WHERE customer = $2 AND day > $1 -- end",
        "day > $1",
    ),
    (
        "UPDATE orders SET day = $1 WHERE customer = 7",
        "customer = 7",
    ),
    ("DELETE FROM orders WHERE id = 5", "orders_pkey"),
];

async fn planner(pool: &Pool, text: &str) -> Result<Planner, QueryError> {
    let text = PlannedText::new(pool.database(), text, CallContext::default())?;
    Planner::begin(pool, text).await
}

/// Returns the plan in both ways, which must not differ.
async fn plan(pool: &Pool, text: &str) -> Result<Json, QueryError> {
    let mut planner = planner(pool, text).await?;
    assert!(planner.has_generic_plan, "the tests have a new PostgreSQL");
    let plan = planner.plan().await;
    for _ in 0..2 {
        planner.has_generic_plan = false;
        let prepared = planner.plan().await;
        match (&plan, prepared) {
            (Ok(plan), Ok(prepared)) => assert_eq!(*plan, prepared, "{text}"),
            (Err(error), Err(prepared)) => {
                assert_eq!(report(error), report(&prepared), "{text}");
            }
            (plan, prepared) => panic!("{text}: {plan:?} {prepared:?}"),
        }
    }
    planner.end().await.expect("the end of the transaction");
    plan
}

/// Returns the error for a text that is not sent.
fn refused(database: &Database, text: &str) -> QueryError {
    match PlannedText::new(database, text, CallContext::default()) {
        Ok(_) => panic!("{text}"),
        Err(error) => error,
    }
}

fn report(error: &QueryError) -> &Report {
    match error {
        QueryError::Failed { report, .. } => report,
        error => panic!("{error:?}"),
    }
}

async fn one(pool: &Pool, sql: &str) -> String {
    let (answer, _) = ask(pool, sql).await.expect(sql);
    answer.lines().nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_statement_is_planned_for_any_value_and_does_not_run() {
    let mut fixture = Fixture::new().await;
    fixture.given(ORDERS).await;
    let pool = fixture.readable();
    for (text, part) in PLANNED {
        let plan = plan(&pool, text).await.expect(text);
        assert!(plan.to_string().contains(part), "{text}: {plan}");
        assert!(plan[0]["Plan"]["Total Cost"].as_f64() > Some(0.0), "{plan}");
    }
    let rows = "SELECT count(*) FROM orders WHERE day < '2027-01-01'";
    assert_eq!(fixture.count(rows).await, 20_000);
}

#[tokio::test]
async fn nothing_is_left_on_the_connection() {
    let mut fixture = Fixture::new().await;
    fixture.given(ORDERS).await;
    let pool = fixture.pool(|settings| settings.max_connections = 1);
    let process = one(&pool, "SELECT pg_backend_pid()").await;
    plan(&pool, PLANNED[0].0).await.expect("a plan");
    let failed = plan(&pool, "SELECT 1 / 0 FROM orders WHERE id = $1").await;
    assert_eq!(report(&failed.expect_err("a division")).sqlstate, "22012");
    let failed = planner(&pool, "SELECT nothing FROM orders").await;
    let failed = failed.expect_err("an unknown column");
    assert_eq!(report(&failed).position, Some(8));
    for (sql, expected) in [
        ("SELECT pg_backend_pid()", &*process),
        ("SELECT count(*) FROM pg_prepared_statements", "0"),
        ("SHOW plan_cache_mode", "auto"),
    ] {
        assert_eq!(one(&pool, sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn the_transaction_goes_on_after_an_error() {
    let mut fixture = Fixture::new().await;
    fixture.given(ORDERS).await;
    let pool = fixture.readable();
    let mut planner = planner(&pool, PLANNED[0].0).await.expect("a planner");
    for sql in ["SELECT 1 / 0", "DELETE FROM orders"] {
        planner.ask(sql, Vec::new()).await.expect_err(sql);
    }
    let rows = planner
        .ask("SELECT $1::int8 + 1", vec![Value::from(1)])
        .await;
    assert_eq!(rows.expect("a row")[0].text(0).expect("a number"), "2");
    planner.plan().await.expect("a plan");
    planner.end().await.expect("the end of the transaction");
}

#[tokio::test]
async fn a_connection_with_hypothetical_indexes_is_closed_afterwards() {
    let mut fixture = Fixture::new().await;
    fixture.given(ORDERS).await;
    let pool = fixture.pool(|settings| settings.max_connections = 1);
    let process = one(&pool, "SELECT pg_backend_pid()").await;
    let mut planner = planner(&pool, PLANNED[0].0).await.expect("a planner");
    assert_eq!(*planner.hypothetical(), Hypothetical::Absent);
    let index = vec!["CREATE INDEX ON orders (customer)".to_owned()];
    planner.plan_with(index).await.expect_err("no extension");
    planner.is_changed = true;
    planner.end().await.expect("the end of the transaction");
    assert_ne!(one(&pool, "SELECT pg_backend_pid()").await, process);
    assert_eq!(
        fixture
            .count("SELECT count(*) FROM pg_indexes WHERE tablename = 'orders'")
            .await,
        1
    );
}

#[tokio::test]
async fn behind_a_pooler_no_hypothetical_index_is_used() {
    let mut fixture = Fixture::new().await;
    // Only the name in the catalogue is looked at.
    fixture
        .given("UPDATE pg_extension SET extname = 'hypopg' WHERE extname = 'plpgsql'")
        .await;
    let pool = fixture.pool(|settings| settings.pooler = Pooler::Transaction);
    let planner = planner(&pool, "SELECT 1").await.expect("a planner");
    assert_eq!(*planner.hypothetical(), Hypothetical::Shared);
    planner.end().await.expect("the end of the transaction");
    let planner = self::planner(&fixture.readable(), "SELECT 1").await;
    let planner = planner.expect("a planner");
    assert_eq!(*planner.hypothetical(), Hypothetical::Denied);
    planner.end().await.expect("the end of the transaction");
}

#[tokio::test]
async fn texts_are_refused_as_those_of_other_statements() {
    let fixture = Fixture::new().await;
    let database = fixture.describe(|settings| settings.allow_writes = true);
    for text in [
        "SELECT 1; SELECT 2",
        "SELECT pg_read_file('/etc/passwd')",
        "CREATE TABLE t AS SELECT 1",
        "SELECT 1 INTO t",
        "COMMIT",
        "SELECT 'a\0'",
    ] {
        let error = refused(&database, text);
        assert!(matches!(error, QueryError::Refused(_)), "{text}: {error:?}");
    }
    for text in ["", " ; "] {
        let error = refused(&database, text);
        assert!(matches!(error, QueryError::Empty), "{text}: {error:?}");
    }
    let failed = planner(&fixture.readable(), "ANALYZE SELECT 1").await;
    failed.expect_err("a second EXPLAIN");
}
