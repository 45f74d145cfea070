//! Tests with all kinds of details that PostgreSQL allows.

mod values;

use ziggurat_postgres::{fixture::Fixture, pool::Pool};

use super::*;

const OPTIONS: DetailOptions = DetailOptions { values_max: 20 };

async fn load(pool: &Pool, tables: &[(&str, &str)]) -> Vec<TableDetails> {
    let lease = pool.lease().await.expect("a connection");
    let details = TableDetails::load(lease, tables, OPTIONS).await;
    details.expect("details")
}

async fn loaded(sql: &str, name: &str) -> TableDetails {
    let mut fixture = Fixture::new().await;
    fixture.given(sql).await;
    let mut details = load(&fixture.readable(), &[("public", name)]).await;
    details.pop().expect("the table")
}

/// Returns each check as a line of text.
fn checks(details: &TableDetails) -> Vec<String> {
    let checks = details.checks.iter();
    checks
        .map(|check| {
            let column = check.column.as_deref().unwrap_or("-");
            format!("{}: {} on {column}", check.name, check.definition)
        })
        .collect()
}

#[tokio::test]
async fn tables_are_in_the_order_asked_and_missing_ones_are_left_out() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE TABLE a (id int); CREATE VIEW b AS SELECT 1 AS one;
             CREATE SCHEMA \"it's\"; CREATE TABLE \"it's\".\"a\\\"\"b\" (id int);
             CREATE TEMP TABLE passing (id int); CREATE SEQUENCE numbers;",
        )
        .await;
    let pool = fixture.readable();
    let long = "a".repeat(70);
    let tables = [
        ("public", "b"),
        ("nowhere", "a"),
        ("it's", "a\\\"b"),
        ("public", "A"),
        ("public", "numbers"),
        ("pg_catalog", "pg_class"),
        ("public", "nul\0"),
        ("public", "x'); DROP TABLE a; --"),
        ("public", &long),
        ("public", "a"),
    ];
    let names: Vec<_> = load(&pool, &tables)
        .await
        .into_iter()
        .map(|details| (details.schema, details.name))
        .collect();
    let expected = [("public", "b"), ("it's", "a\\\"b"), ("public", "a")];
    assert_eq!(
        names,
        expected.map(|(schema, name)| (schema.into(), name.into()))
    );
    assert_eq!(load(&pool, &[]).await, []);
    assert_eq!(load(&pool, &[("\0", "a")]).await, []);
    let many = vec![("public", "a"); 30];
    assert_eq!(load(&pool, &many).await.len(), MAX_TABLES);
}

#[tokio::test]
async fn a_table_without_anything_has_no_details_but_privileges() {
    let details = loaded("CREATE TABLE plain (id int)", "plain").await;
    let expected = TableDetails {
        schema: "public".into(),
        name: "plain".into(),
        privileges: vec!["SELECT", "INSERT", "UPDATE", "DELETE"],
        ..TableDetails::default()
    };
    assert_eq!(details, expected);
}

#[tokio::test]
async fn checks_of_tables_and_domains_name_their_column_if_it_is_one() {
    let details = loaded(
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0);
         CREATE DOMAIN small AS positive CONSTRAINT small CHECK (VALUE < 10);
         CREATE TABLE orders (a int, gone int, status varchar(9) CHECK (status <> ''), b positive,
             c small, CONSTRAINT two CHECK (a < b OR status IN ('open', 'paid')),
             CONSTRAINT none CHECK (true));
         ALTER TABLE orders DROP COLUMN gone;
         ALTER TABLE orders ADD CONSTRAINT late CHECK (a > 1) NOT VALID;",
        "orders",
    )
    .await;
    assert_eq!(
        checks(&details),
        [
            "late: a > 1 not valid on a",
            "none: true on -",
            "orders_status_check: status::text <> '' on status",
            "two: a < b::integer or (status::text = any (array['open', 'paid']::text[])) on -",
            "positive_check: value > 0 on b",
            "positive_check: value > 0 on c",
            "small: value::integer < 10 on c",
        ]
    );
}

#[tokio::test]
async fn unique_columns_and_indexes_are_listed_without_the_primary_key() {
    let details = loaded(
        "CREATE TABLE orders (id int PRIMARY KEY, customer_id int, day date, deleted_at date,
             code text, during int4range, UNIQUE (day, customer_id),
             EXCLUDE USING gist (during WITH &&));
         CREATE UNIQUE INDEX code_key ON orders (code) INCLUDE (day);
         CREATE UNIQUE INDEX same_key ON orders (code);
         CREATE UNIQUE INDEX few ON orders (id) WHERE deleted_at IS NULL;
         CREATE UNIQUE INDEX lowered ON orders (lower(code), id);
         CREATE INDEX \"Late Orders\" ON orders USING btree (customer_id, day DESC NULLS LAST)
             WHERE deleted_at IS NULL;",
        "orders",
    )
    .await;
    assert_eq!(details.uniques, [vec!["code"], vec!["day", "customer_id"]]);
    assert_eq!(
        details.indexes,
        [
            "Late Orders btree (customer_id, day desc nulls last) where deleted_at is null",
            "code_key unique btree (code) include (day)",
            "few unique btree (id) where deleted_at is null",
            "lowered unique btree (lower(code), id)",
            "orders_day_customer_id_key unique btree (day, customer_id)",
            "orders_during_excl gist (during)",
            "same_key unique btree (code)",
        ]
    );
}

#[tokio::test]
async fn policies_triggers_and_the_state_of_row_security_are_listed() {
    let sql = "CREATE TABLE orders (id int, tenant text);
         CREATE POLICY tenant_rows ON orders FOR SELECT USING (tenant = current_user);
         CREATE POLICY writers ON orders AS RESTRICTIVE FOR INSERT
             TO pg_monitor, pg_read_all_stats WITH CHECK (id > 0);
         CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER after_insert AFTER INSERT ON orders EXECUTE FUNCTION nothing();
         CREATE TABLE line (id int PRIMARY KEY, line int REFERENCES line);";
    let mut details = loaded(sql, "orders").await;
    assert_eq!(details.row_security, RowSecurity::Off);
    assert_eq!(details.triggers, ["after_insert"]);
    let policy = details.policies.pop().expect("two");
    assert_eq!((&*policy.name, &*policy.command), ("writers", "INSERT"));
    assert_eq!(policy.roles, ["pg_monitor", "pg_read_all_stats"]);
    assert!(!policy.is_permissive && policy.using.is_none());
    assert_eq!(policy.with_check.as_deref(), Some("id > 0"));
    let policy = details.policies.pop().expect("one more");
    assert_eq!((&*policy.name, &*policy.command), ("tenant_rows", "SELECT"));
    assert_eq!(policy.roles, ["PUBLIC"]);
    assert_eq!(policy.using.as_deref(), Some("tenant = current_user"));
    assert!(policy.is_permissive && policy.with_check.is_none());

    let line = loaded(sql, "line").await;
    assert_eq!(line.triggers, [""; 0], "those of the system are not listed");
    let on = format!("{sql} ALTER TABLE orders ENABLE ROW LEVEL SECURITY");
    assert_eq!(loaded(&on, "orders").await.row_security, RowSecurity::On);
    let forced = format!("{on}; ALTER TABLE orders FORCE ROW LEVEL SECURITY");
    assert_eq!(
        loaded(&forced, "orders").await.row_security,
        RowSecurity::Forced
    );
}

#[tokio::test]
async fn partitions_have_their_key_their_parent_and_their_bounds() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE TABLE sales (day date, kind text) PARTITION BY RANGE (day);
             CREATE TABLE sales_24 PARTITION OF sales
                 FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') PARTITION BY LIST (lower(kind));
             CREATE TABLE sales_24_a PARTITION OF sales_24 FOR VALUES IN ('a', 'B');
             CREATE TABLE sales_rest PARTITION OF sales DEFAULT;
             CREATE TABLE parent (id int); CREATE TABLE child () INHERITS (parent);",
        )
        .await;
    let names = ["sales", "sales_24", "sales_24_a", "sales_rest", "child"];
    let details = load(&fixture.readable(), &names.map(|name| ("public", name))).await;
    let found: Vec<_> = details
        .iter()
        .map(|details| {
            let partitions = details.partitions.as_ref();
            let of = details.partition_of.as_ref();
            (
                partitions.map(|found| (found.count, &*found.key)),
                of.map(|(parent, bounds)| (&**parent, &**bounds)),
            )
        })
        .collect();
    let bounds = "from ('2024-01-01') to ('2025-01-01')";
    assert_eq!(
        found,
        [
            (Some((2, "range (day)")), None),
            (
                Some((1, "list (lower(kind))")),
                Some(("public.sales", bounds))
            ),
            (None, Some(("public.sales_24", "in ('a', 'B')"))),
            (None, Some(("public.sales", "default"))),
            (None, None),
        ]
    );
}

#[tokio::test]
async fn long_texts_and_many_details_are_cut_and_that_is_said() {
    let columns: Vec<_> = (0..600).map(|n| format!("'{n:06}'")).collect();
    let view = format!("CREATE VIEW long AS SELECT {} AS one", columns.join(" || "));
    let view = loaded(&view, "long")
        .await
        .view_definition
        .expect("a query");
    // The blank before it is counted and then left out.
    assert_eq!(view.chars().count(), query::LONGEST);
    assert!(view.ends_with('…'));

    let long = "é".repeat(3000);
    let checks: Vec<_> = (0..60)
        .map(|n| format!("CONSTRAINT c{n:02} CHECK (a <> '{long}')"))
        .collect();
    let table = |count| {
        let checks = checks.get(..count).unwrap_or_default().join(", ");
        format!("CREATE TABLE many (a text, b int UNIQUE, {checks}); CREATE INDEX ON many (b)")
    };
    let details = loaded(&table(60), "many").await;
    assert!(details.is_cut);
    assert_eq!(details.uniques, [vec!["b"]], "it is before the checks");
    assert_eq!(details.indexes, [""; 0], "they are after the checks");
    let bytes: usize = details
        .checks
        .iter()
        .map(|check| check.definition.len())
        .sum();
    assert_eq!((details.checks.len(), bytes / 1000), (43, 258));
    let details = loaded(&table(40), "many").await;
    assert!(!details.is_cut);
    assert_eq!((details.checks.len(), details.indexes.len()), (40, 2));
}

#[tokio::test]
async fn reading_them_is_bounded_by_the_timeout_and_leaves_no_transaction() {
    let mut fixture = Fixture::new().await;
    fixture
        .given("CREATE TABLE a (id int); CREATE VIEW b AS SELECT * FROM a")
        .await;
    let pool = fixture.pool(|settings| {
        settings.max_connections = 1;
        settings.query_timeout = std::time::Duration::from_secs(1);
    });
    let tables = [("public", "b")];
    assert_eq!(load(&pool, &tables).await.len(), 1);
    let open = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in%'";
    assert_eq!(fixture.count(open).await, 0);

    // Another session locks a table that the view reads.
    let mut holder = fixture.connect().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE a IN ACCESS EXCLUSIVE MODE")
        .execute(&mut holder)
        .await
        .expect("a lock");
    let lease = pool.lease().await.expect("a connection");
    let error = TableDetails::load(lease, &tables, OPTIONS).await;
    let QueryError::Failed { report, .. } = error.expect_err("a timeout") else {
        panic!("no report");
    };
    assert_eq!(report.sqlstate, "57014");
    drop(holder);
    // The only connection can be used again.
    assert_eq!(load(&pool, &[("public", "a")]).await.len(), 1);
}
