mod unseen;

use std::sync::Arc;

use ziggurat_masking::{Mask, Shape};

use crate::{
    database::{CallerMasks, Enforcement, MaskRule, Masking, Settings},
    error::QueryError,
    fixture::{Fixture, ask},
    pool::Pool,
};

/// Tables, and views and functions that lead to them. Every value under a mask has `sec` in it.
const TABLES: &str = "
    CREATE TABLE person (id int PRIMARY KEY, name text, ssn text, email text, pin int, gone text,
        initial text GENERATED ALWAYS AS (left(ssn, 4)) STORED);
    INSERT INTO person SELECT n, 'name' || n, 'sec-0000-' || n, 'sec' || n || '@example.com', n, 'sec'
        FROM generate_series(1, 9) AS n;
    CREATE TABLE note (id int, person int, body text, ssn text);
    INSERT INTO note VALUES (1, 1, 'mail sec1@example.com', 'open');
    CREATE TABLE part (id int, ssn text) PARTITION BY RANGE (id);
    CREATE TABLE part_a PARTITION OF part FOR VALUES FROM (0) TO (10);
    CREATE TABLE part_b PARTITION OF part FOR VALUES FROM (10) TO (20);
    INSERT INTO part SELECT n, 'sec' || n FROM generate_series(1, 19) AS n;
    CREATE TABLE parent (id int, ssn text);
    CREATE TABLE child (extra text) INHERITS (parent);
    INSERT INTO child VALUES (1, 'sec1', 'x');
    CREATE VIEW shown AS SELECT id, ssn AS number, upper(ssn) AS large, name FROM person;
    CREATE VIEW outer_shown AS SELECT number AS again, large AS larger, id FROM shown;
    CREATE VIEW as_row AS SELECT to_json(person) AS entry FROM person;
    CREATE MATERIALIZED VIEW kept AS SELECT id, ssn AS number, lower(ssn) AS small FROM person;
    CREATE FUNCTION leak(n int) RETURNS text LANGUAGE sql VOLATILE
        AS 'SELECT ssn FROM person WHERE id = n';
    CREATE FUNCTION \"Leak\"(n int) RETURNS text LANGUAGE sql AS 'SELECT leak(n)';
    CREATE FUNCTION age(n int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN n; END';
    CREATE VIEW calling AS SELECT id, leak(id) AS number FROM note;
    CREATE VIEW renamed AS SELECT x AS number, i FROM person AS p (i, n, x);
    CREATE VIEW outer_renamed AS SELECT number, i FROM renamed;
    CREATE TYPE pair AS (a int, b text);
    ANALYZE;
";

/// Returns the rules of the tests.
fn rules() -> Vec<MaskRule> {
    let rule = |table: &str, column: &str, shape: Shape| MaskRule {
        schema: "public".into(),
        table: table.into(),
        column: column.into(),
        mask: Mask::new(shape, "***"),
    };
    let patterns = Shape::Patterns(vec![ziggurat_masking::Pattern::Email]);
    vec![
        rule("person", "ssn", Shape::Fixed),
        rule("person", "email", Shape::Email),
        rule("person", "pin", Shape::Null),
        rule("person", "gone", Shape::Drop),
        rule("part_a", "ssn", Shape::Fixed),
        rule("child", "ssn", Shape::Fixed),
        rule("note", "body", patterns),
        rule("nothing", "at_all", Shape::Fixed),
    ]
}

/// Makes a pool of a caller for whom some rules hold.
fn masked(
    fixture: &Fixture,
    enforcement: Enforcement,
    holds: impl Fn(usize) -> bool,
    change: impl FnOnce(&mut Settings),
) -> Pool {
    let base = fixture.describe(change);
    let functions = vec!["public.age".to_owned()];
    let masking = Arc::new(Masking::new(enforcement, rules(), functions));
    let holds = (0..rules().len()).map(holds).collect();
    let database = base.masked(CallerMasks::new(&masking, &base, holds));
    fixture.pools.pool("caller", &Arc::new(database))
}

/// Returns the answer as a caller sees it.
async fn answer(pool: &Pool, sql: &str) -> Result<String, String> {
    match ask(pool, sql).await {
        Ok((lines, _)) => Ok(lines),
        Err(QueryError::Failed { report, .. }) => {
            Err(format!("{report} {:?} {:?}", report.detail, report.hint))
        }
        Err(QueryError::Refused(refusal)) => Err(refusal.to_string()),
        Err(error) => Err(format!("{error:?}")),
    }
}

/// Texts that try to see a value under a mask.
const ATTEMPTS: &[&str] = &[
    "SELECT ssn AS x FROM person",
    "SELECT p.ssn AS name FROM person p",
    "SELECT * FROM person",
    "TABLE person",
    "SELECT ssn || '' AS x FROM person",
    "SELECT ssn::varchar FROM person",
    "SELECT substr(ssn, 1, 8) FROM person",
    "SELECT to_json(p) FROM person p",
    "SELECT p FROM person p",
    "SELECT (p).ssn || '' FROM person p",
    "SELECT p::text FROM person p",
    "SELECT row(p.*) FROM person p",
    "SELECT json_agg(p) FROM person p",
    "SELECT x FROM (SELECT ssn AS x FROM person) AS s",
    "SELECT x || 'y' FROM (SELECT ssn AS x FROM person OFFSET 0) AS s",
    "WITH c AS (SELECT ssn AS x FROM person) SELECT x FROM c",
    "WITH c AS MATERIALIZED (SELECT ssn AS x FROM person) SELECT x || 'y' FROM c",
    "WITH RECURSIVE r AS (SELECT id, ssn FROM person WHERE id = 1 UNION ALL \
     SELECT p.id, p.ssn FROM r JOIN person p ON p.id = r.id + 1) SELECT * FROM r",
    "SELECT ssn FROM person UNION SELECT body FROM note",
    "SELECT body FROM note UNION ALL SELECT ssn FROM person",
    "SELECT ssn FROM person UNION ALL SELECT body FROM note",
    "SELECT ssn FROM person EXCEPT SELECT body FROM note",
    "SELECT ssn FROM person INTERSECT SELECT ssn FROM person",
    "SELECT first_value(ssn) OVER (ORDER BY id) FROM person",
    "SELECT ssn, row_number() OVER (ORDER BY ssn) FROM person",
    "SELECT max(ssn) FROM person",
    "SELECT string_agg(ssn, ',') FROM person",
    "SELECT ssn, count(*) FROM person GROUP BY ssn",
    "SELECT DISTINCT ssn FROM person",
    "SELECT DISTINCT ON (ssn) ssn, id FROM person",
    "SELECT array(SELECT ssn FROM person)",
    "SELECT (SELECT ssn FROM person LIMIT 1)",
    "SELECT (SELECT ssn FROM person WHERE id = n.id) FROM note n",
    "SELECT x FROM note, LATERAL (SELECT ssn || '' AS x FROM person) AS s",
    "SELECT unnest(array[ssn]) FROM person",
    "SELECT CASE WHEN true THEN ssn END FROM person",
    "SELECT coalesce(ssn, '') FROM person",
    "SELECT initial FROM person",
    "SELECT initial || '' FROM person",
    "SELECT email, upper(email) FROM person",
    "SELECT gone FROM person",
    "SELECT gone || '' FROM person",
    "SELECT number FROM shown",
    "SELECT large FROM shown",
    "SELECT number || '' FROM shown",
    "SELECT large || '' FROM shown",
    "SELECT again, larger FROM outer_shown",
    "SELECT larger || '' FROM outer_shown",
    "SELECT entry FROM as_row",
    "SELECT entry ->> 'ssn' FROM as_row",
    "SELECT number, small FROM kept",
    "SELECT small || '' FROM kept",
    "SELECT number FROM calling",
    "SELECT leak(1)",
    "SELECT \"Leak\"(1)",
    "SELECT * FROM leak(1)",
    "SELECT ssn FROM part",
    "SELECT ssn || '' FROM part",
    "SELECT ssn FROM part ORDER BY id",
    "SELECT ssn FROM part_a",
    "SELECT ssn || '' FROM part_b",
    "SELECT ssn FROM parent",
    "SELECT ssn || '' FROM parent",
    "SELECT p FROM parent p",
    "SELECT ssn FROM child",
    "SELECT most_common_vals FROM pg_stats WHERE tablename = 'person'",
    "SELECT * FROM pg_catalog.pg_statistic",
    "SELECT \"pg_stats\".* FROM \"pg_stats\"",
    "SELECT table_to_xml('person', true, false, '')",
    "SELECT query_to_xml('SELECT * FROM person', true, false, '')",
    "SELECT ssn::int FROM person",
    "SELECT 1 / (pin - 1) FROM person",
    "SELECT id FROM person WHERE ssn::int = 1",
    "SELECT U&\"ss\\006e\" || '' FROM U&\"per\\0073on\"",
    "SELECT SSN || '' FROM PERSON",
    "SELECT \"ssn\" || '' FROM \"public\".\"person\"",
    "SELECT x || '' FROM person AS p (i, n, x)",
    "SELECT p.name || '' FROM person AS p (id, ssn, name)",
    "SELECT name || '' FROM ONLY (person) p (id, ssn, name)",
    "SELECT name || '' FROM public.person * as\"p\"(id, ssn, name)",
    "SELECT name || '' FROM part where (id, ssn, name)",
    "SELECT id || '' FROM part AS part (ssn, id)",
    "SELECT number || '' FROM renamed",
    "SELECT number || '' FROM outer_renamed",
    "SELECT most_common_vals FROM person AS p (a, b), pg_stats",
    "SELECT most_common_vals FROM renamed, pg_stats",
    "VALUES (1, (SELECT ssn FROM person LIMIT 1)), (2, NULL)",
    "SELECT * FROM (VALUES ((SELECT ssn FROM person LIMIT 1)), (NULL)) AS v",
    "SELECT ssn FROM person TABLESAMPLE SYSTEM (100)",
    "SELECT p.ssn || '' FROM person p JOIN note n USING (id)",
    "SELECT * FROM person NATURAL JOIN note",
    "SELECT ssn FROM person FOR UPDATE",
    "EXPLAIN (ANALYZE, VERBOSE) SELECT id FROM person WHERE ssn = 'sec-0000-1'",
    "EXPLAIN SELECT ssn || '' FROM person",
    "COPY person TO STDOUT",
    "SELECT xmlforest(ssn) FROM person",
    "SELECT jsonb_build_object('a', ssn) FROM person",
    "SELECT json_populate_record(NULL::person, to_json(p)) FROM person p",
    "SELECT (SELECT x FROM (SELECT ssn) AS s (x)) FROM person",
    "SELECT format('%s', ssn) FROM person",
    "SELECT ssn COLLATE \"C\" FROM person",
    "SELECT ssn FROM person LIMIT 3",
    "SELECT ssn FROM person ORDER BY id OFFSET 1",
    "SELECT body FROM note",
];

/// Texts that tell something about values without showing them.
const QUESTIONS: &[&str] = &[
    "SELECT id FROM person WHERE ssn = 'sec-0000-1'",
    "SELECT id FROM person WHERE ssn LIKE 'sec%'",
    "SELECT count(*) FILTER (WHERE ssn > 'sec-0000-4') FROM person",
    "SELECT id FROM person ORDER BY ssn",
    "SELECT id FROM person ORDER BY ssn DESC LIMIT 1",
    "SELECT ssn FROM person ORDER BY ssn",
    "SELECT id FROM person GROUP BY id HAVING max(ssn) > 'a'",
    "SELECT p.id FROM person p JOIN note n ON n.ssn = p.ssn",
    "SELECT n.id FROM note n WHERE n.ssn IN (SELECT ssn FROM person)",
    "SELECT n.id FROM note n WHERE EXISTS (SELECT FROM person p WHERE p.ssn = n.ssn)",
    "SELECT n.id FROM note n WHERE n.ssn NOT IN (SELECT ssn FROM person)",
    "SELECT ssn IS NULL FROM person",
    "SELECT length(ssn) FROM person",
    "SELECT count(DISTINCT ssn) FROM person",
    "SELECT id FROM person WHERE email ~ '^s'",
    "SELECT id FROM person WHERE pin BETWEEN 1 AND 5",
    "SELECT id FROM person p WHERE p = p",
    "SELECT id FROM shown WHERE number > 'a'",
    "SELECT id FROM shown WHERE large > 'a'",
    "SELECT id FROM outer_shown ORDER BY again",
    "SELECT id FROM part WHERE ssn > 'sec1'",
    "SELECT id FROM part ORDER BY ssn",
    "SELECT id FROM parent ORDER BY ssn",
    "SELECT id FROM kept WHERE number > 'a'",
    "SELECT id, rank() OVER (ORDER BY ssn) FROM person",
    "SELECT EXISTS (SELECT FROM person WHERE ssn = 'sec-0000-1')",
    "SELECT CASE WHEN ssn = 'sec-0000-1' THEN 1 ELSE 0 END FROM person",
    "SELECT id FROM person FETCH FIRST 1 ROW ONLY OFFSET (SELECT count(*) FROM person WHERE ssn > 'z')",
];

#[tokio::test]
async fn no_text_shows_a_value_under_a_mask() {
    let mut fixture = Fixture::new().await;
    fixture.given(TABLES).await;
    for enforcement in [Enforcement::Plan, Enforcement::Origin] {
        for is_large in [false, true] {
            let limit = if is_large { 5000 } else { 100 };
            let pool = masked(&fixture, enforcement, |_| true, |it| it.row_limit = limit);
            for sql in ATTEMPTS {
                let answer = answer(&pool, sql).await;
                let (Ok(shown) | Err(shown)) = &answer;
                let shown = shown.to_lowercase();
                let hidden = shown.replace("s***@example.com", "");
                assert!(!hidden.contains("sec"), "{enforcement:?} {sql}: {shown}");
                assert!(
                    !shown.contains("internal"),
                    "{enforcement:?} {sql}: {shown}"
                );
            }
        }
    }
}

#[tokio::test]
async fn with_plans_no_condition_tells_something_about_a_value() {
    let mut fixture = Fixture::new().await;
    fixture.given(TABLES).await;
    let pool = masked(&fixture, Enforcement::Plan, |_| true, |_| {});
    for sql in QUESTIONS {
        let refused = answer(&pool, sql).await.expect_err(sql);
        assert!(refused.starts_with("query rejected: "), "{sql}: {refused}");
    }
}

/// Queries beside masked columns, and their answers.
const HONEST: &[(&str, &str)] = &[
    ("SELECT count(*) FROM person", "count\n9"),
    ("SELECT id, ssn FROM person WHERE id = 2", "id\tssn\n2\t***"),
    (
        "SELECT email FROM person WHERE id = 2",
        "email\ns***@example.com",
    ),
    ("SELECT pin FROM person WHERE id = 2", "pin\n"),
    ("SELECT id, gone FROM person WHERE id = 2", "id\n2"),
    (
        "SELECT * FROM person WHERE id = 2",
        "id\tname\tssn\temail\tpin\tinitial\n2\tname2\t***\ts***@example.com\t\t***",
    ),
    (
        "SELECT name, ssn FROM person ORDER BY name LIMIT 1",
        "name\tssn\nname1\t***",
    ),
    (
        "SELECT upper(name) FROM person WHERE name LIKE '%2'",
        "upper\nNAME2",
    ),
    ("SELECT age(id) FROM person WHERE id = 2", "age\n2"),
    (
        "SELECT n.body, n.ssn FROM note n JOIN person p ON p.id = n.person",
        "body\tssn\nmail ***\topen",
    ),
    (
        "SELECT body FROM note WHERE body LIKE '%sec1%'",
        "body\nmail ***",
    ),
    (
        "SELECT max(name), min(id) FROM person GROUP BY id % 1",
        "max\tmin\nname9\t1",
    ),
    (
        "SELECT id FROM person UNION ALL SELECT id FROM note ORDER BY 1 LIMIT 1",
        "id\n1",
    ),
    ("SELECT DISTINCT left(name, 4) AS n FROM person", "n\nname"),
    (
        "SELECT sum(id) OVER (ORDER BY id) FROM person LIMIT 1",
        "sum\n1",
    ),
    (
        "SELECT p.id, p.ssn, n.id FROM person p LEFT JOIN note n ON n.person = p.id WHERE p.id < 2",
        "id\tssn\tid\n1\t***\t1",
    ),
    (
        "SELECT id FROM person p WHERE EXISTS (SELECT FROM note n WHERE n.person = p.id)",
        "id\n1",
    ),
    (
        "SELECT id, ssn FROM part ORDER BY id LIMIT 1",
        "id\tssn\n1\t***",
    ),
    ("SELECT count(*) FROM part WHERE id > 5", "count\n14"),
    ("SELECT id, ssn FROM parent", "id\tssn\n1\t***"),
    (
        "SELECT id, number FROM shown WHERE id = 3",
        "id\tnumber\n3\t***",
    ),
    ("SELECT name FROM shown WHERE id = 3", "name\nname3"),
    ("SELECT id FROM outer_shown WHERE id = 3", "id\n3"),
    ("SELECT number FROM kept WHERE id = 3", "number\n***"),
    (
        "WITH c AS (SELECT id, name FROM person) SELECT name FROM c WHERE id = 4",
        "name\nname4",
    ),
    (
        "SELECT s.ssn FROM (SELECT id, ssn FROM person) AS s WHERE s.id = 4",
        "ssn\n***",
    ),
    ("SELECT ssn FROM note", "ssn\nopen"),
    (
        "SELECT ssn || '!' AS s FROM note WHERE ssn > 'a' ORDER BY ssn",
        "s\nopen!",
    ),
    ("SELECT 'person' AS person", "person\nperson"),
    (
        "SELECT body, ssn FROM note, generate_series(1, 1)",
        "body\tssn\nmail ***\topen",
    ),
    (
        "SELECT id FROM person WHERE id = ANY (ARRAY[1, 2]) ORDER BY id",
        "id\n1\n2",
    ),
];

#[tokio::test]
async fn honest_queries_run_beside_masked_columns() {
    let mut fixture = Fixture::new().await;
    fixture.given(TABLES).await;
    for limit in [100, 5000] {
        let pool = masked(
            &fixture,
            Enforcement::Plan,
            |_| true,
            |it| it.row_limit = limit,
        );
        for (sql, expected) in HONEST {
            assert_eq!(answer(&pool, sql).await.as_deref(), Ok(*expected), "{sql}");
        }
        let plan = answer(&pool, "EXPLAIN SELECT id, ssn FROM person").await;
        assert!(
            plan.as_ref().is_ok_and(|plan| plan.contains("Seq Scan")),
            "{plan:?}"
        );
    }
}

/// Texts that are refused or fail, and the answer as a caller sees it.
const REFUSED: &[(Enforcement, &str, &str)] = &[
    (
        Enforcement::Plan,
        "SELECT id FROM person WHERE ssn = 'x'",
        COLUMN,
    ),
    (
        Enforcement::Plan,
        "SELECT to_json(p) FROM person p",
        "query rejected: a whole row of public.person cannot be used, it has masked columns",
    ),
    (
        Enforcement::Plan,
        "SELECT leak(id) FROM person",
        "query rejected: leak may not be used beside masked columns",
    ),
    (
        Enforcement::Plan,
        "UPDATE person SET name = ssn RETURNING name",
        "query rejected: only queries may use public.person, which has masked columns",
    ),
    (
        Enforcement::Plan,
        "WITH RECURSIVE r AS (SELECT 1 AS id UNION ALL SELECT p.id FROM r JOIN person p \
             ON p.id = r.id + 1) SELECT * FROM r",
        "query rejected: this form of query may not use public.person, which has masked columns",
    ),
    (
        Enforcement::Plan,
        "SELECT * FROM pg_stats",
        "query rejected: pg_stats may not be used beside masked columns",
    ),
    (
        Enforcement::Plan,
        "DO 'BEGIN RAISE ''%'', (SELECT ssn FROM person LIMIT 1); END'",
        "query rejected: DO may not be used beside masked columns",
    ),
    (
        Enforcement::Plan,
        "SELECT 1; SELECT 2",
        "query rejected: only one statement is allowed at a time",
    ),
    (
        Enforcement::Plan,
        "SELECT nme FROM person",
        "ERROR: the statement failed (SQLSTATE 42703) None None",
    ),
    (
        Enforcement::Origin,
        "SELECT ssn::int FROM person",
        "ERROR: the statement failed (SQLSTATE 22P02) None None",
    ),
    (
        Enforcement::Origin,
        "INSERT INTO person (id, ssn) VALUES (1, 'sec')",
        "ERROR: the statement failed (SQLSTATE 23505) None None",
    ),
];

const COLUMN: &str =
    "query rejected: public.person.ssn is masked and can only be selected as it is";

#[tokio::test]
async fn refusals_and_errors_have_no_values() {
    let mut fixture = Fixture::new().await;
    fixture.given(TABLES).await;
    let plan = masked(
        &fixture,
        Enforcement::Plan,
        |_| true,
        |it| it.allow_writes = true,
    );
    let origin = masked(
        &fixture,
        Enforcement::Origin,
        |_| true,
        |it| it.allow_writes = true,
    );
    for (enforcement, sql, expected) in REFUSED {
        let pool = match enforcement {
            Enforcement::Plan => &plan,
            _ => &origin,
        };
        assert_eq!(
            answer(pool, sql).await,
            Err((*expected).to_owned()),
            "{sql}"
        );
    }
    let returned = answer(
        &origin,
        "UPDATE person SET name = name WHERE id = 1 RETURNING id, ssn, ssn || ''",
    );
    assert_eq!(
        returned.await.as_deref(),
        Ok("id\tssn\t?column?\n1\t***\t***")
    );
}

#[tokio::test]
async fn a_caller_without_a_mask_of_a_table_uses_it_freely() {
    let mut fixture = Fixture::new().await;
    fixture.given(TABLES).await;
    let pool = masked(&fixture, Enforcement::Plan, |rule| rule == 1, |_| {});
    let sql = "SELECT ssn || '!' AS s, email FROM person WHERE ssn = 'sec-0000-1'";
    let shown = answer(&pool, sql).await;
    assert_eq!(
        shown.as_deref(),
        Ok("s\temail\nsec-0000-1!\ts***@example.com")
    );
    let sql = "SELECT ssn FROM part WHERE ssn > 'sec8'";
    assert_eq!(answer(&pool, sql).await.as_deref(), Ok("ssn\nsec9"));
}

#[tokio::test]
async fn a_view_that_is_made_later_is_masked_before_its_first_row() {
    let mut fixture = Fixture::new().await;
    fixture.given(TABLES).await;
    let pool = masked(&fixture, Enforcement::Plan, |_| true, |_| {});
    assert!(answer(&pool, "SELECT 1").await.is_ok());
    fixture
        .given("CREATE VIEW later AS SELECT ssn AS open FROM person")
        .await;
    let shown = answer(&pool, "SELECT open FROM later LIMIT 1").await;
    assert_eq!(shown.as_deref(), Ok("open\n***"));
    let refused = answer(&pool, "SELECT open || '' FROM later").await;
    assert!(refused.is_err_and(|it| it.starts_with("query rejected: public.person.ssn")));
}
