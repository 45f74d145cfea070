//! Tests of `search_schema`, and of what the glossary adds to it.

use std::fs;

use serde_json::{Value, json};

use crate::{
    revisions::{legacy, modern_params, result},
    support::{Client, Home, Postgres},
};

const SHOP: &str = "CREATE TABLE customer (id bigint PRIMARY KEY, full_name text NOT NULL);
    CREATE TABLE orders (
        id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customer,
        status text NOT NULL CHECK (status <> ''));
    COMMENT ON TABLE orders IS 'One row per order';
    INSERT INTO customer SELECT n, 'name ' || n FROM generate_series(1, 9) n;
    INSERT INTO orders SELECT n, 1, CASE WHEN n % 4 = 0 THEN 'paid' ELSE 'open' END
        FROM generate_series(1, 4000) n;
    ANALYZE;";

const GLOSSARY: &str = "glossary:
- {term: MRR, note: Monthly recurring revenue.}
- {database: main, object: public.orders.status, note: void ones count nowhere}
";

/// Creates a server with a glossary and more settings.
fn home(postgres: &Postgres, more: &str) -> Home {
    let home = Home::new();
    fs::write(home.file("own.yaml"), GLOSSARY).expect("written");
    home.configure(&format!(
        "databases:\n{}custom_definitions_path: {}\n{more}",
        postgres.entry("main"),
        home.file("own.yaml").display(),
    ));
    home
}

/// Calls the tool. Returns its text, and whether it is an error.
fn search(client: &Client, arguments: &Value) -> (String, bool) {
    let params = json!({"name": "search_schema", "arguments": arguments});
    let result = result(client, "tools/call", &params);
    let text = result["content"][0]["text"].as_str().expect("a text");
    (text.to_owned(), result["isError"] == true)
}

#[test]
fn a_question_finds_tables_with_their_columns_keys_and_values() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, "");
    let (_program, client) = home.serve(&["-no-auth"]);
    let line = "public.orders (table, ~4K rows, 3 columns) pk id; \
        fk customer_id -> public.customer.id; -- One row per order\n";
    let (text, _) = search(&client, &json!({"query": "How many orders are there?"}));
    assert!(text.starts_with(line), "{text}");
    let (text, _) = search(&client, &json!({"table": "orders", "level": "full"}));
    let columns = "  id bigint not null pk\n  \
        customer_id bigint not null -> public.customer.id [values: 1 100%]\n  \
        status text not null [check status <> ''] [values: open 75%, paid 25%] \
        | void ones count nowhere\n";
    assert_eq!(text, [line, columns].concat());
    let (text, _) = search(&client, &json!({"query": "revenue"}));
    assert_eq!(text, "term MRR: Monthly recurring revenue.\n");
    let (text, _) = search(&client, &json!({"from": "orders", "to": "customer"}));
    assert_eq!(text, "public.orders.customer_id -> public.customer.id\n");
    let (text, is_error) = search(&client, &json!({"table": "order"}));
    assert!(is_error);
    assert_eq!(
        text,
        "Nothing matches. The nearest names are: public.orders, public.customer."
    );
    let (text, is_error) = search(&client, &json!({"max_tokens": 100, "cursor": "x"}));
    assert!(is_error);
    assert_eq!(
        text,
        "'max_tokens' must be an integer from 200 to 20000, not 100."
    );
}

#[test]
fn the_operator_limits_answers_and_pages_follow_each_other() {
    let tables = (0..40).map(|n| format!("CREATE TABLE table_with_number_{n:02} (id int);"));
    let postgres = Postgres::with(&tables.collect::<String>());
    let home = home(&postgres, "schema: {max_tokens: 300, values: false}\n");
    let (_program, client) = home.serve(&["-no-auth"]);
    let mut arguments = json!({"query": "table", "level": "names"});
    let mut names = Vec::new();
    loop {
        let (text, _) = search(&client, &arguments);
        assert!(text.len() * 3 <= 2900, "{text}");
        let cursor = text
            .rsplit_once("; cursor=")
            .map(|(_, cursor)| cursor.to_owned());
        let lines = text.lines().filter(|line| !line.contains("cursor="));
        names.extend(lines.map(str::to_owned));
        match cursor {
            Some(cursor) => arguments["cursor"] = cursor.into(),
            None => break,
        }
    }
    assert_eq!(names.len(), 40);
    assert!(
        names.is_sorted() && names[39] == "public.table_with_number_39",
        "{names:?}"
    );
    let other = json!({"query": "number", "cursor": arguments["cursor"]});
    assert_eq!(search(&client, &other), ("Invalid cursor".to_owned(), true));

    let params = json!({"name": "get_schema_info", "arguments": {"schema_name": "public"}});
    let text = result(&client, "tools/call", &params)["content"][0]["text"].clone();
    let text = text.as_str().expect("a text");
    assert!(
        text.len() * 3 <= 2900 && text.contains("search_schema(schema=\"public\""),
        "{text}"
    );
    let whole = client
        .tool("get_schema_info", &json!({"schema_name": "public"}))
        .0;
    assert!(
        whole.len() > 2900 && !whole.contains("search_schema"),
        "{whole}"
    );
}

#[test]
fn clients_that_negotiate_no_revision_do_not_know_the_tool() {
    let postgres = Postgres::with(SHOP);
    let first = home(&postgres, "");
    let (_program, client) = first.serve(&["-no-auth"]);
    let listed = |tools: &Value| {
        let tools = tools["tools"].as_array().expect("a list");
        let found = tools.iter().find(|tool| tool["name"] == "search_schema");
        found.map(|tool| tool.to_string().len())
    };
    assert_eq!(
        listed(&client.call("tools/list", &json!({}))["result"]),
        None
    );
    let unknown = client.call("tools/call", &json!({"name": "nope", "arguments": {}}));
    let called = client.call(
        "tools/call",
        &json!({"name": "search_schema", "arguments": {}}),
    );
    let expected = unknown.to_string().replace("nope", "search_schema");
    assert_eq!(called.to_string(), expected);
    for revision in ["2024-11-05", "2025-11-25"] {
        let tools = legacy(&client, revision, "tools/list", &json!({}));
        let bytes = listed(&tools["result"]).expect(revision);
        assert!(bytes < 1000, "{bytes}");
    }
    let (_program, mut stdio) = first.stdio(&[]);
    let params = json!({"name": "search_schema", "arguments": {"level": "names"}});
    let exact = stdio.call(&json!(1), "tools/call", &params);
    assert!(exact.to_string().contains("search_schema"), "{exact}");
    let modern = stdio.call(&json!(2), "tools/call", &modern_params(&params));
    assert_eq!(
        modern["result"]["content"][0]["text"],
        "public.customer\npublic.orders\nterm MRR\n"
    );

    let off = home(&postgres, "builtins: {tools: {search_schema: false}}\n");
    let (_program, client) = off.serve(&["-no-auth"]);
    let tools = result(&client, "tools/list", &json!({}));
    assert_eq!(listed(&tools), None);
}

#[test]
fn the_glossary_of_a_database_is_a_resource() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, "");
    let (_program, client) = home.serve(&["-no-auth"]);
    let params = json!({"uri": "pg://main/glossary"});
    let contents = &result(&client, "resources/read", &params)["contents"][0];
    assert_eq!(contents["mimeType"], "text/markdown");
    let text = contents["text"].as_str().expect("a text");
    assert!(
        text.contains("- **public.orders.status**: void ones count nowhere\n"),
        "{text}"
    );
    let templates = result(&client, "resources/templates/list", &json!({}));
    assert!(
        templates.to_string().contains("pg://{database}/glossary"),
        "{templates}"
    );
}
