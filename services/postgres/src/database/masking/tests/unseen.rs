//! Uses of values that no plan shows.

use crate::{
    database::{
        Enforcement,
        masking::tests::{TABLES, answer, masked},
    },
    fixture::Fixture,
};

/// Functions that PostgreSQL calls before it makes the plan, or where the plan does not show them, and
/// an index that gives the rows an order.
const MORE: &str = "
    CREATE FUNCTION leak_fixed(n int) RETURNS text LANGUAGE plpgsql IMMUTABLE
        AS 'BEGIN RETURN (SELECT ssn FROM public.person WHERE id = n); END';
    CREATE FUNCTION leak_number(n int) RETURNS bigint LANGUAGE sql STABLE
        AS 'SELECT length(ssn)::bigint FROM public.person WHERE id = n';
    CREATE FUNCTION leak_of(p pair) RETURNS text LANGUAGE plpgsql IMMUTABLE
        AS 'BEGIN RETURN (SELECT ssn FROM public.person WHERE id = p.a); END';
    CREATE VIEW calling_fixed AS SELECT id, leak_fixed(1) AS number FROM note;
    CREATE VIEW calling_for_limit AS SELECT id FROM note LIMIT leak_number(1);
    INSERT INTO person SELECT n, 'name' || n, 'sec-' || n * 7919 % 6007 FROM generate_series(10, 6000) AS n;
    CREATE INDEX person_ssn ON person (ssn);
    CREATE INDEX person_upper ON person (upper(ssn));
    ANALYZE person;";

async fn all_are_refused(texts: &[&str]) {
    let mut fixture = Fixture::new().await;
    fixture.given(TABLES).await;
    fixture.given(MORE).await;
    let pool = masked(&fixture, Enforcement::Plan, |_| true, |_| {});
    for sql in texts {
        let refused = answer(&pool, sql).await.expect_err(sql);
        assert!(refused.starts_with("query rejected: "), "{sql}: {refused}");
    }
}

#[tokio::test]
async fn functions_that_no_plan_shows_are_refused() {
    all_are_refused(&[
        "SELECT leak_fixed(1)",
        "SELECT upper(leak_fixed(1))",
        "SELECT id FROM note WHERE leak_fixed(1) > 'a'",
        "EXPLAIN (VERBOSE) SELECT leak_fixed(1)",
        "SELECT leak_of(ROW(1, 'a')::pair)",
        "SELECT (ROW(1, 'a')::pair).leak_of",
        "SELECT (ARRAY[ROW(1, 'a')::pair])[1].leak_of",
        "SELECT id FROM note LIMIT leak_number(1)",
        "SELECT id FROM note OFFSET public.leak_number(1)",
        "SELECT id FROM note FETCH FIRST (\"leak_number\"(1)) ROWS ONLY",
        "SELECT sum(id) OVER (ORDER BY id ROWS leak_number(1) PRECEDING) FROM note",
        "SELECT upper(number) FROM calling_fixed",
        "SELECT id FROM calling_fixed WHERE number > 'a'",
        "SELECT id FROM calling_for_limit",
    ])
    .await;
}

#[tokio::test]
async fn statements_of_others_are_refused() {
    all_are_refused(&[
        "SELECT query FROM pg_stat_activity",
        "SELECT query FROM pg_catalog.\"pg_stat_activity\"",
        "SELECT pg_stat_get_backend_activity(1)",
        "SELECT (pg_stat_get_activity(NULL)).query",
        "SELECT query FROM pg_stat_statements",
        "TABLE pg_prepared_statements",
    ])
    .await;
}

#[tokio::test]
async fn a_column_may_have_the_name_of_a_table() {
    let mut fixture = Fixture::new().await;
    fixture.given(TABLES).await;
    let pool = masked(&fixture, Enforcement::Plan, |_| true, |_| {});
    let sql = "SELECT lag(n.person) OVER (ORDER BY n.person, n.id) AS before FROM note n";
    assert_eq!(answer(&pool, sql).await.as_deref(), Ok("before\n"));
    let sql = "SELECT x || '' FROM ONLY (public.person) over (i, n, x)";
    assert!(answer(&pool, sql).await.is_err());
}

#[tokio::test]
async fn the_order_of_an_index_is_refused() {
    all_are_refused(&[
        "SELECT id, ssn FROM person ORDER BY ssn LIMIT 3",
        "SELECT id FROM person ORDER BY ssn LIMIT 3",
        "SELECT array_agg(id) FROM (SELECT id FROM person ORDER BY ssn LIMIT 3) AS s",
        "SELECT max(id) FROM (SELECT id FROM person ORDER BY ssn DESC OFFSET 5000) AS s",
        "SELECT array_agg(id) FROM (SELECT id FROM person ORDER BY upper(ssn) LIMIT 3) AS s",
    ])
    .await;
}
