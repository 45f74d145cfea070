//! Tests of values, and of what a role may see.

use super::*;

/// Loads a table as a role that has only the privileges that `grants` gives to `$role`.
async fn loaded_as_role(sql: &str, grants: &str, name: &str) -> TableDetails {
    let mut fixture = Fixture::new().await;
    let role = format!("reader_{}", fixture.settings.database.replace('-', "_"));
    fixture.given(sql).await;
    let create = format!("CREATE ROLE {role} LOGIN PASSWORD 'readers' CONNECTION LIMIT 5;");
    fixture.given(&create).await;
    fixture.given(&grants.replace("$role", &role)).await;
    let pool = fixture.pool(|settings| {
        settings.user.clone_from(&role);
        settings.password = "readers".to_owned().into();
    });
    let mut details = load(&pool, &[("public", name)]).await;
    fixture.pools.close_all();
    let drop = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    fixture.given(&drop).await;
    details.pop().expect("the table")
}

/// Returns the values of each column as a line of text.
fn values(details: &TableDetails) -> Vec<String> {
    let columns = details.values.iter();
    columns
        .map(|column| {
            let values = column.values.iter();
            let values = values.map(|(value, part)| format!("{value} {:.0}%", part * 100.0));
            format!(
                "{}: {}",
                column.column,
                values.collect::<Vec<_>>().join(", ")
            )
        })
        .collect()
}

const ORDERS: &str = "CREATE TABLE orders (id int, status text, tenant text);
    INSERT INTO orders SELECT n, CASE n % 4 WHEN 0 THEN 'paid' ELSE 'open' END, 'acme'
    FROM generate_series(1, 400) n;
    ANALYZE orders;";

#[tokio::test]
async fn common_values_are_those_of_columns_with_few_distinct_ones() {
    let details = loaded(
        "CREATE TYPE mood AS ENUM ('fine', 'so, \"so\"'); CREATE DOMAIN feeling AS mood;
         CREATE TABLE t (id int, a text, b varchar(9), c char(3), d mood, e feeling, f bool, g int2,
             h text, i date, j numeric, k text[], l text, m text, n int);
         INSERT INTO t SELECT n, CASE WHEN n % 4 = 0 THEN 'paid' ELSE 'open' END, 'x', 'abc', 'fine',
             'so, \"so\"', n % 2 = 0, 5, repeat('a', 41), '2024-01-01', 1.5, '{a}', repeat('é', 40),
             NULL, n % 21
         FROM generate_series(1, 420) n;
         ANALYZE t;",
        "t",
    )
    .await;
    let long = format!("l: {} 100%", "é".repeat(40));
    assert_eq!(
        values(&details),
        [
            "a: open 75%, paid 25%",
            "b: x 100%",
            "c: abc 100%",
            "d: fine 100%",
            "e: so, \"so\" 100%",
            "f: false 50%, true 50%",
            "g: 5 100%",
            &long,
        ]
    );
}

#[tokio::test]
async fn values_need_a_known_number_of_distinct_ones_and_can_be_off() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE TABLE few (a text); INSERT INTO few VALUES ('x'), ('x'), ('y');
             CREATE TABLE fresh (a text); INSERT INTO fresh VALUES ('x'), ('x');
             CREATE TABLE whole (a text) PARTITION BY LIST (a);
             CREATE TABLE part PARTITION OF whole DEFAULT;
             INSERT INTO whole SELECT 'z' FROM generate_series(1, 50);
             ANALYZE few; ANALYZE whole;",
        )
        .await;
    let pool = fixture.readable();
    let tables = ["few", "fresh", "whole", "part"].map(|name| ("public", name));
    for (values_max, expected) in [
        (20, ["a: x 67%", "", "a: z 100%", "a: z 100%"]),
        (1, ["", "", "a: z 100%", "a: z 100%"]),
        (0, ["", "", "", ""]),
    ] {
        let lease = pool.lease().await.expect("a connection");
        let options = DetailOptions { values_max };
        let details = TableDetails::load(lease, &tables, options).await;
        let details = details.expect("details");
        let found: Vec<_> = details
            .iter()
            .map(|table| values(table).join("; "))
            .collect();
        assert_eq!(found, expected, "{values_max}");
    }
}

#[tokio::test]
async fn values_under_row_security_are_hidden_from_those_it_holds_for() {
    let grant = "GRANT SELECT ON orders TO $role";
    let open = loaded_as_role(ORDERS, grant, "orders").await;
    assert_eq!(
        values(&open),
        ["status: open 75%, paid 25%", "tenant: acme 100%"]
    );
    let closed = format!("{ORDERS} ALTER TABLE orders ENABLE ROW LEVEL SECURITY");
    let closed = loaded_as_role(&closed, grant, "orders").await;
    assert_eq!(values(&closed), [""; 0]);
    assert_eq!(closed.row_security, RowSecurity::On);
}

#[tokio::test]
async fn privileges_are_those_of_the_role_and_columns_that_it_cannot_read_are_named() {
    let none: &[&str] = &[];
    let cases = [
        ("", none, none, none),
        (
            "GRANT SELECT, INSERT, DELETE ON orders TO $role",
            &["SELECT", "INSERT", "DELETE"],
            none,
            &["status: open 75%, paid 25%", "tenant: acme 100%"],
        ),
        (
            "GRANT SELECT (id, status), UPDATE (id) ON orders TO $role",
            &["SELECT", "UPDATE"],
            &["tenant"],
            &["status: open 75%, paid 25%"],
        ),
        ("GRANT UPDATE ON orders TO $role", &["UPDATE"], none, none),
    ];
    for (grant, privileges, unreadable, expected) in cases {
        let details = loaded_as_role(ORDERS, grant, "orders").await;
        assert_eq!(details.privileges, privileges, "{grant}");
        assert_eq!(details.unreadable_columns, unreadable, "{grant}");
        assert_eq!(values(&details), expected, "{grant}");
    }
}

#[tokio::test]
async fn the_query_of_a_view_is_shown_to_roles_that_may_read_it() {
    let sql =
        "CREATE TABLE t (id int, name text); CREATE VIEW seen AS SELECT id FROM t WHERE id > 1;
        CREATE MATERIALIZED VIEW kept AS SELECT id FROM t";
    let definition = "SELECT id\n   FROM t\n  WHERE id > 1;";
    for (grant, name, expected) in [
        ("GRANT SELECT ON seen TO $role", "seen", Some(definition)),
        (
            "GRANT SELECT (id) ON seen TO $role",
            "seen",
            Some(definition),
        ),
        ("GRANT SELECT ON t TO $role", "seen", None),
        ("GRANT SELECT ON t TO $role", "t", None),
        (
            "GRANT SELECT ON kept TO $role",
            "kept",
            Some("SELECT id\n   FROM t;"),
        ),
    ] {
        let details = loaded_as_role(sql, grant, name).await;
        // From PostgreSQL 16 on, columns of a single table are written without its name.
        let found = details.view_definition.map(|text| text.replace("t.", ""));
        assert_eq!(found.as_deref(), expected, "{grant}");
    }
}

#[tokio::test]
async fn a_table_in_a_schema_that_the_role_may_not_use_does_not_exist() {
    let sql = "CREATE TABLE t (id int); CREATE SCHEMA closed; CREATE TABLE closed.t (id int)";
    let mut fixture = Fixture::new().await;
    fixture.given(sql).await;
    let role = format!("reader_{}", fixture.settings.database.replace('-', "_"));
    let create =
        format!("CREATE ROLE {role} LOGIN PASSWORD 'readers'; GRANT SELECT ON closed.t TO {role}");
    fixture.given(&create).await;
    let pool = fixture.pool(|settings| {
        settings.user.clone_from(&role);
        settings.password = "readers".to_owned().into();
    });
    let details = load(&pool, &[("closed", "t"), ("public", "t")]).await;
    fixture.pools.close_all();
    fixture
        .given(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await;
    assert_eq!(details.len(), 1);
    assert_eq!(details[0].schema, "public");
}
