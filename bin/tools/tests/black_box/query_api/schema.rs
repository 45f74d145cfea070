//! Tests of the tables that pages show: `/api/schema`.

use std::fs;

use serde_json::{Value, json};

use super::refused;
use crate::support::{Client, Home, Postgres, records, records::PASSWORD};

const SCHEMA: &str = "/api/schema";

const TABLES: &str = "CREATE EXTENSION IF NOT EXISTS vector; CREATE SCHEMA hidden;
    CREATE TABLE customers (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, mail text UNIQUE,
        price numeric(10,2) DEFAULT 1.5);
    CREATE TABLE orders (id bigint PRIMARY KEY, customer int NOT NULL REFERENCES customers,
        at timestamptz, body vector(3));
    CREATE INDEX orders_day ON orders (at DESC, (id + 1)) WHERE id > 7;
    COMMENT ON TABLE orders IS 'What was \"bought\"';
    COMMENT ON COLUMN orders.at IS 'when';
    INSERT INTO customers (mail) SELECT 'm' || n FROM generate_series(1, 1000) n;
    CREATE TABLE parts (id int) PARTITION BY RANGE (id);
    CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (1000000);
    INSERT INTO parts SELECT generate_series(1, 5000);
    CREATE SCHEMA shop; CREATE VIEW shop.latest AS SELECT id FROM orders;
    ANALYZE customers; ANALYZE parts;";

fn schema(client: &Client, query: &str) -> Value {
    let answer = client.get(&format!("{SCHEMA}{query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    answer.json()
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter()
        .map(|it| it["name"].as_str().expect("a name"))
        .collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of columns")]
fn the_tables_have_columns_keys_indexes_and_estimates() {
    let mut postgres = Postgres::with(TABLES);
    let role = postgres.role();
    postgres.run(&format!(
        "GRANT USAGE ON SCHEMA public, shop TO \"{role}\"; REVOKE ALL ON SCHEMA hidden FROM PUBLIC;
         GRANT SELECT ON ALL TABLES IN SCHEMA public, shop TO \"{role}\""
    ));
    let home = Home::new();
    home.configure(&format!("databases:\n{}", postgres.entry_as("main", &role)));
    let (_program, client) = home.serve(&["-no-auth"]);
    let found = schema(&client, "");
    assert_eq!(
        (&found["database"], &found["cut"]),
        (&json!("main"), &json!(false))
    );
    assert_eq!(found["denied"], json!(["hidden"]));
    assert!(found["loaded_at"].as_str().expect("a time").ends_with('Z'));
    assert_eq!(names(&found["schemas"]), ["public", "shop"]);
    let tables = &found["schemas"][0]["tables"];
    assert_eq!(
        names(tables),
        ["customers", "orders", "parts"],
        "partitions are left out"
    );
    let [customers, orders, parts] = [&tables[0], &tables[1], &tables[2]];
    assert_eq!(
        (&customers["kind"], &customers["rows"]),
        (&json!("table"), &json!(1000))
    );
    assert!(customers["bytes"].as_u64() > Some(32_768), "{customers}");
    assert_eq!(parts["kind"], "partitioned table");
    assert!(parts["bytes"].as_u64() > Some(100_000), "{parts}");
    let plain = json!({"name": "", "type": "", "nullable": true, "default": null, "comment": null,
        "key": null, "indexed": false, "identity": null, "dimensions": null, "references": null});
    let column = |more: Value| {
        let mut column = plain.clone();
        for (name, value) in more.as_object().expect("members") {
            column[name] = value.clone();
        }
        column
    };
    assert_eq!(
        customers["columns"],
        json!([
            column(
                json!({"name": "id", "type": "int4", "nullable": false, "key": "primary",
                "indexed": true, "identity": "always"})
            ),
            column(json!({"name": "mail", "type": "text", "key": "unique", "indexed": true})),
            column(json!({"name": "price", "type": "numeric(10,2)", "default": "1.5"})),
        ])
    );
    let reference = json!({"schema": "public", "table": "customers", "column": "id"});
    assert_eq!(
        orders["columns"],
        json!([
            column(
                json!({"name": "id", "type": "int8", "nullable": false, "key": "primary",
                "indexed": true})
            ),
            column(
                json!({"name": "customer", "type": "int4", "nullable": false,
                "references": reference})
            ),
            column(
                json!({"name": "at", "type": "timestamptz", "comment": "when", "indexed": true})
            ),
            column(json!({"name": "body", "type": "vector(3)", "dimensions": 3})),
        ])
    );
    assert_eq!(orders["comment"], "What was \"bought\"");
    assert_eq!(
        (&orders["rows"], &orders["bytes"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        orders["indexes"],
        json!([
            {"name": "orders_day", "columns": ["at", "(id + 1)"], "unique": false,
                "method": "btree", "definition": "CREATE INDEX orders_day ON public.orders USING \
                 btree (at DESC, ((id + 1))) WHERE (id > 7)"},
            {"name": "orders_pkey", "columns": ["id"], "unique": true, "method": "btree",
                "definition": "CREATE UNIQUE INDEX orders_pkey ON public.orders USING btree (id)"},
        ])
    );
    let view = &found["schemas"][1]["tables"][0];
    assert_eq!(
        (&view["name"], &view["kind"]),
        (&json!("latest"), &json!("view"))
    );
}

#[test]
fn a_client_that_has_the_tables_gets_none_until_they_change() {
    let postgres = Postgres::with("CREATE TABLE one (id int)");
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let etag = || {
        let answer = client.get(SCHEMA);
        answer.header("etag").expect("a tag").to_owned()
    };
    let first = etag();
    assert_eq!(first, etag());
    let ask = |path: &str, known: &str| {
        let headers = format!("if-none-match: {known}\r\n");
        client.send("GET", path, &headers, "")
    };
    for known in [first.clone(), format!("\"other\", {first}"), "*".to_owned()] {
        let answer = ask(SCHEMA, &known);
        assert_eq!((answer.status, &*answer.body), (304, ""), "{known}");
        assert_eq!(answer.header("etag"), Some(&*first));
    }
    assert_eq!(ask(SCHEMA, "\"other\"").status, 200);
    postgres.run("CREATE TABLE two (id int)");
    assert_eq!(
        ask(SCHEMA, &first).status,
        304,
        "the tables are those of the last minutes"
    );
    // Read again at most once in five seconds, and the first load is younger.
    let refreshed = format!("{SCHEMA}?refresh=true");
    crate::support::until("the tables are read again", || {
        let answer = ask(&refreshed, &first);
        answer.status == 200 && names(&answer.json()["schemas"][0]["tables"]).contains(&"two")
    });
    let second = etag();
    assert_ne!(second, first);
    postgres.run("CREATE TABLE three (id int)");
    assert_eq!(ask(&refreshed, &second).status, 304);
}

#[test]
fn thousands_of_tables_are_sent_in_pieces_and_are_quick() {
    let postgres = Postgres::with(
        "DO $$ BEGIN FOR s IN 1..3 LOOP
             EXECUTE format('CREATE SCHEMA s%s', s);
             FOR n IN 1..400 LOOP
                 EXECUTE format('CREATE TABLE s%s.t%s (id int PRIMARY KEY, a text, b text UNIQUE)',
                     s, n);
             END LOOP; COMMIT;
         END LOOP; END $$",
    );
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let found = schema(&client, "");
    assert_eq!(names(&found["schemas"]), ["s1", "s2", "s3"]);
    for schema in found["schemas"].as_array().expect("schemas") {
        let tables = schema["tables"].as_array().expect("tables");
        assert_eq!(tables.len(), 400);
        for table in tables {
            assert_eq!(
                table["columns"].as_array().map(Vec::len),
                Some(3),
                "{table}"
            );
            assert_eq!(
                table["indexes"].as_array().map(Vec::len),
                Some(2),
                "{table}"
            );
        }
    }
    assert_eq!(schema(&client, ""), found);
}

#[test]
fn a_caller_sees_the_tables_of_its_own_databases() {
    let postgres = Postgres::with("CREATE TABLE one (id int)");
    let home = Home::new();
    let entries = ["main", "two"].map(|name| postgres.entry(name)).concat();
    let sets = "toolsets:\n\
        - {name: a, rest: [schema], for: {users: [alice], tokens: [token-1]}}\n\
        - {name: b, tools: ['*'], rest: [query], for: {users: [bob]}}\n";
    home.configure(&format!(
        "databases:\n{entries}    available_to_users: [bob]\n{sets}"
    ));
    home.replace(
        &home.tokens(),
        &records::tokens(&[records::token(1, "one", &["database: main"])]),
    );
    let users = ["alice", "bob"].map(|name| records::user(name, &[]));
    home.replace(&home.users(), &records::users(&users));
    let (_program, stranger) = home.serve(&[]);
    assert_eq!(stranger.get(SCHEMA).status, 401);
    let alice = stranger.logged_in("alice", PASSWORD);
    assert_eq!(schema(&alice, "?database=main")["database"], "main");
    for (client, query) in [
        (&alice, "?database=two"),
        (&alice, "?database=three"),
        (&stranger.bearing("one"), "?database=two"),
    ] {
        let answer = client.get(&format!("{SCHEMA}{query}"));
        assert_eq!(refused(&answer), (404, "not_found".to_owned()), "{query}");
    }
    let hidden = stranger.logged_in("bob", PASSWORD).get(SCHEMA);
    assert_eq!(
        (hidden.status, hidden.json()),
        (404, json!({"error": "Not found"}))
    );
}

#[test]
fn without_the_tool_for_tables_none_are_shown() {
    let home = Home::new();
    home.configure(
        "databases:\n- {name: one, host: 127.0.0.1, port: 1, user: nobody}\n\
         builtins: {tools: {get_schema_info: false}}\n",
    );
    let (_program, client) = home.serve(&["-no-auth"]);
    assert_eq!(
        refused(&client.get(SCHEMA)),
        (403, "not_available".to_owned())
    );
    home.configure("databases:\n- {name: one, host: 127.0.0.1, port: 1, user: nobody}\n");
    let (_program, client) = home.serve(&["-no-auth"]);
    assert_eq!(
        refused(&client.get(SCHEMA)),
        (503, "unreachable".to_owned())
    );
}

#[test]
fn callers_who_ask_for_the_tables_at_the_same_time_share_one_load() {
    let folder = tempfile::tempdir().expect("a folder");
    let postgres = Postgres::logging(folder.path());
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    std::thread::scope(|scope| {
        for _ in 0..30 {
            scope.spawn(|| schema(&client, "?refresh=true"));
        }
    });
    let log = fs::read_to_string(folder.path().join("postgresql/log")).expect("a log");
    let loads = log.matches("left(pg_catalog.pg_get_indexdef").count();
    // Two if the tables became five seconds old meanwhile.
    assert!((1..=2).contains(&loads), "{loads}");
}
