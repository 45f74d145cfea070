//! Tests of structured results.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use crate::{
    revisions::{legacy, modern_params, result},
    support::{Client, Home, Postgres, Transports, assert_conforms, assert_plain},
    tools_similarity::garden,
};

const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

/// First revision with structured results.
const FIRST: &str = "2025-06-18";

const SHOP: &str = "CREATE TABLE item (id bigint PRIMARY KEY, name text, price numeric, good bool);
    INSERT INTO item VALUES (1, 'nut', 0.50, true), (9007199254740993, NULL, NULL, NULL)";

const ROWS: &str = "SELECT * FROM item ORDER BY id";

/// Creates a server with structured results switched on or off.
fn home(postgres: &Postgres, is_on: bool) -> Home {
    let home = Home::new();
    let entry = postgres.entry("main");
    home.configure(&format!(
        "databases:\n{entry}mcp:\n  structured_output: {is_on}\n"
    ));
    home
}

/// Sends a request of a revision, and returns its result.
fn ask(client: &Client, revision: &str, method: &str, params: &Value) -> Value {
    if revision == "2026-07-28" {
        result(client, method, params)
    } else {
        legacy(client, revision, method, params)["result"].clone()
    }
}

fn call(client: &Client, revision: &str, name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    ask(client, revision, "tools/call", &params)
}

/// Returns the output schema that a tool declares.
fn declared(client: &Client, revision: &str, name: &str) -> Option<Value> {
    let tools = ask(client, revision, "tools/list", &json!({}));
    let tools = tools["tools"].as_array().expect("a list");
    let tool = tools.iter().find(|tool| tool["name"] == name);
    tool.expect(name).get("outputSchema").cloned()
}

#[test]
fn rows_are_structured_if_the_operator_enables_it_and_the_revision_supports_it() {
    let postgres = Postgres::with(SHOP);
    for is_on in [false, true] {
        let home = home(&postgres, is_on);
        let (_program, client) = home.serve(&["-no-auth"]);
        for (name, arguments) in [
            ("query_database", json!({"query": ROWS})),
            ("get_schema_info", json!({})),
        ] {
            let exact = client.tool(name, &arguments).0;
            // A client that negotiates gets the fields of the table once.
            let (table, empty) = ("\npublic\titem\tTABLE\t\t", "\n\t\t\t\t");
            let exact = exact.replace(table, empty).replacen(empty, table, 1);
            for revision in REVISIONS {
                let expected = is_on && revision >= FIRST;
                let schema = declared(&client, revision, name);
                let result = call(&client, revision, name, &arguments);
                // NULL is a mark for clients that negotiate, and an empty field for others.
                let text = result["content"][0]["text"].as_str().expect("a text");
                assert_eq!(text.replace("\\N", ""), exact, "{revision}");
                let table = result.get("structuredContent");
                assert_eq!(table.is_some(), expected, "{is_on} {revision} {result}");
                assert_eq!(schema.is_some(), expected, "{is_on} {revision}");
                if let (Some(table), Some(schema)) = (table, schema) {
                    assert_plain(&schema);
                    assert_conforms(table, &schema);
                }
            }
        }
    }
}

#[test]
fn a_table_has_columns_and_rows_and_an_error_has_no_structure() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, true);
    let (_program, client) = home.serve(&["-no-auth"]);
    let first = json!([1, "nut", "0.50", true]);
    let second = json!(["9007199254740993", null, null, null]);
    for (arguments, rows, is_truncated) in [
        (json!({"query": ROWS}), json!([first, second]), false),
        (json!({"query": ROWS, "limit": 1}), json!([first]), true),
        (json!({"query": ROWS, "offset": 1}), json!([second]), false),
    ] {
        let result = call(&client, "2026-07-28", "query_database", &arguments);
        let table = json!({
            "columns": ["id", "name", "price", "good"],
            "rows": rows,
            "row_count": rows.as_array().map(Vec::len),
            "truncated": is_truncated,
        });
        assert_eq!(result["structuredContent"], table, "{arguments}");
    }
    for revision in REVISIONS {
        for (name, arguments) in [
            ("query_database", json!({"query": "SELECT nope"})),
            ("query_database", json!({"query": "DELETE FROM item"})),
            ("query_database", json!({})),
            ("get_schema_info", json!({"schema_name": "nope"})),
            ("count_rows", json!({"table": "nope"})),
        ] {
            let result = call(&client, revision, name, &arguments);
            assert_eq!(result["isError"], true, "{result}");
            assert_eq!(result.get("structuredContent"), None, "{result}");
        }
    }
}

#[test]
fn the_exact_revision_never_has_structured_results() {
    let postgres = Postgres::with(SHOP);
    let [mut without, mut with] =
        [false, true].map(|is_on| Transports::open(home(&postgres, is_on)));
    let call = |name: &str, arguments: &Value| {
        let params = json!({"name": name, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    };
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        call("query_database", &json!({"query": ROWS})),
        call("query_database", &json!({"query": "SELECT nope"})),
        call("get_schema_info", &json!({})),
        call("count_rows", &json!({"table": "item"})),
    ] {
        let message = message.to_string();
        let exact = without.ask(&message);
        assert_eq!(with.ask(&message), exact, "{message}");
        for word in ["outputSchema", "structuredContent"] {
            assert!(!exact.contains(word), "{exact}");
        }
    }
}

#[test]
fn over_stdio_only_revisions_that_support_it_get_a_table() {
    let postgres = Postgres::with(SHOP);
    let params = json!({"name": "query_database", "arguments": {"query": ROWS}});
    let home = home(&postgres, true);
    let (_program, mut stdio) = home.stdio(&[]);
    let modern = stdio.call(&json!(1), "tools/call", &modern_params(&params));
    assert_eq!(modern["result"]["structuredContent"]["row_count"], 2);
    let exact = stdio.call(&json!(2), "tools/call", &params);
    assert_eq!(exact["result"].get("structuredContent"), None, "{exact}");

    let entry = postgres.entry("main");
    home.configure(&format!(
        "databases:\n{entry}mcp:\n  structured_output: true\n  stdio_negotiate: true\n"
    ));
    let (_program, mut stdio) = home.stdio(&[]);
    for revision in REVISIONS.into_iter().take(4) {
        let opening = json!({"protocolVersion": revision, "capabilities": {}});
        let opened = stdio.call(&json!(1), "initialize", &opening);
        assert_eq!(opened["result"]["protocolVersion"], revision);
        let answer = stdio.call(&json!(2), "tools/call", &params);
        let table = answer["result"].get("structuredContent");
        assert_eq!(table.is_some(), revision >= FIRST, "{revision}");
    }
}

/// Creates a server with data for all search tools.
fn library(postgres: &Postgres, is_on: bool) -> Home {
    let home = Home::new();
    let (entry, base) = (postgres.entry("main"), home.file("base.db"));
    home.configure(&format!(
        "databases:\n{entry}mcp:\n  structured_output: {is_on}\n\
         embedding:\n  enabled: true\n  provider: local\n\
         knowledgebase:\n  enabled: true\n  embedding_provider: local\n  database_path: {}\n",
        base.display()
    ));
    let documents = home.file("docs");
    fs::create_dir_all(&documents).expect("made");
    fs::write(documents.join("pond.md"), "# Pond\n\nCarp want a pump.\n").expect("written");
    let documents = documents.to_str().expect("text");
    let arguments = ["-build-knowledgebase", documents, "-kb-project", "Garden"];
    let ran = home.ran(&arguments, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    home
}

fn schema_searches() -> Vec<Value> {
    vec![
        json!({}),
        json!({"query": "page", "level": "full"}),
        json!({"level": "names", "kinds": ["column"]}),
    ]
}

const VALUES: &str = "SELECT NULL, true, 1::int2, 2, 9007199254740992, 1.5::float4, 'NaN'::float8,
    1.50, '{\"a\": 1}'::jsonb, ARRAY[1, NULL], '\\x01'::bytea, now()";

/// Returns calls that succeed, for each tool.
fn calls() -> BTreeMap<&'static str, Vec<Value>> {
    let explained = "SELECT * FROM page WHERE id = 1";
    let search = |more: Value| {
        let mut arguments = json!({"query_text": "which plants want shade?"});
        for (name, value) in more.as_object().expect("an object") {
            arguments[name] = value.clone();
        }
        arguments
    };
    BTreeMap::from([
        (
            "execute_explain",
            vec![
                json!({"query": explained}),
                json!({"query": explained, "analyze": false}),
                json!({"query": explained, "format": "json"}),
            ],
        ),
        ("generate_embedding", vec![json!({"text": "fern"})]),
        (
            "get_schema_info",
            vec![
                json!({}),
                json!({"compact": true}),
                json!({"schema_name": "public", "table_name": "page"}),
            ],
        ),
        (
            "query_database",
            vec![
                json!({"query": VALUES}),
                json!({"query": "SELECT FROM page"}),
                json!({"query": "SELECT 1 WHERE false"}),
                json!({"query": "SELECT id FROM page", "limit": 1}),
                json!({"query": "SHOW search_path"}),
                json!({"query": "EXPLAIN SELECT 1"}),
            ],
        ),
        ("count_rows", vec![json!({"table": "page"})]),
        ("list_databases", vec![json!({})]),
        ("read_resource", vec![json!({"list": true})]),
        (
            "search_knowledgebase",
            vec![
                json!({"list_products": true}),
                json!({"query": "a pump for carp"}),
                json!({"query": "a pump", "project_versions": ["9"]}),
            ],
        ),
        ("search_schema", schema_searches()),
        (
            "similarity_search",
            vec![
                search(json!({})),
                search(json!({"output_format": "summary"})),
                search(json!({"output_format": "ids_only"})),
                search(json!({"max_output_tokens": 1})),
            ],
        ),
    ])
}

#[test]
fn structured_results_conform_to_the_declared_schema() {
    let postgres = garden();
    for is_on in [false, true] {
        let home = library(&postgres, is_on);
        let (_program, client) = home.serve(&["-no-auth"]);
        for revision in REVISIONS.into_iter().filter(|it| *it >= FIRST) {
            let tools = ask(&client, revision, "tools/list", &json!({}));
            let mut declared = Vec::new();
            for tool in tools["tools"].as_array().expect("a list") {
                let name = tool["name"].as_str().expect("a name");
                let schema = tool.get("outputSchema");
                if let Some(schema) = schema {
                    assert_plain(schema);
                    declared.push(name);
                }
                for arguments in &calls()[name] {
                    let result = call(&client, revision, name, arguments);
                    assert_eq!(result.get("isError"), None, "{name} {arguments} {result}");
                    let structure = result.get("structuredContent");
                    assert_eq!(structure.is_some(), schema.is_some(), "{name} {result}");
                    if let (Some(structure), Some(schema)) = (structure, schema) {
                        assert_conforms(structure, schema);
                    }
                }
            }
            let expected: &[&str] = if is_on {
                &[
                    "count_rows",
                    "execute_explain",
                    "generate_embedding",
                    "get_schema_info",
                    "list_databases",
                    "query_database",
                    "search_knowledgebase",
                    "search_schema",
                    "similarity_search",
                ]
            } else {
                &[]
            };
            assert_eq!(declared, expected, "{revision}");
        }
    }
}

#[test]
fn counts_and_databases_are_structured_if_the_operator_enables_it() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, true);
    let (_program, client) = home.serve(&["-no-auth"]);
    for revision in REVISIONS {
        let result = call(&client, revision, "count_rows", &json!({"table": "item"}));
        let counted = json!({"database": "main", "schema": "public", "table": "item", "count": 2});
        let expected = (revision >= FIRST).then_some(&counted);
        assert_eq!(result.get("structuredContent"), expected, "{revision}");
        let result = call(&client, revision, "list_databases", &json!({}));
        let listed = json!({"databases": [{"name": "main", "current": true, "access": "read"}]});
        let expected = (revision >= FIRST).then_some(&listed);
        assert_eq!(result.get("structuredContent"), expected, "{revision}");
    }
}

#[test]
fn a_call_may_ask_for_the_structure_of_its_result() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, false);
    let (_program, client) = home.serve(&["-no-auth"]);
    let arguments = json!({"query": ROWS});
    let asking =
        |meta: Value| json!({"name": "query_database", "arguments": arguments, "_meta": meta});
    let plain = call(&client, "2026-07-28", "query_database", &arguments);
    let mut asked = result(
        &client,
        "tools/call",
        &asking(json!({"ziggurat/structured": true})),
    );
    let table = asked
        .as_object_mut()
        .expect("a result")
        .remove("structuredContent");
    let table = table.expect("a table");
    assert_eq!(
        (&table["row_count"], &table["rows"][0][1]),
        (&json!(2), &json!("nut"))
    );
    assert_eq!(asked, plain, "the rest is as without");
    for meta in [
        json!({"ziggurat/structured": false}),
        json!({"ziggurat/structured": "true"}),
        json!({"structured": true, "note": "ziggurat/structured"}),
    ] {
        assert_eq!(
            result(&client, "tools/call", &asking(meta.clone())),
            plain,
            "{meta}"
        );
    }
    for revision in &REVISIONS[..4] {
        let params = asking(json!({"ziggurat/structured": true}));
        let result = legacy(&client, revision, "tools/call", &params)["result"].clone();
        assert_eq!(result.get("structuredContent"), None, "{revision}");
    }
    assert_eq!(declared(&client, "2026-07-28", "query_database"), None);
}

#[test]
fn a_call_that_asks_for_the_structure_of_a_plan_gets_its_steps() {
    let postgres = Postgres::with(SHOP);
    for is_on in [false, true] {
        let home = home(&postgres, is_on);
        let (_program, client) = home.serve(&["-no-auth"]);
        let query = "SELECT * FROM item ORDER BY price";
        let asked = |arguments: Value| {
            let meta = json!({"ziggurat/structured": true});
            let params = json!({"name": "execute_explain", "arguments": arguments, "_meta": meta});
            result(&client, "tools/call", &params)["structuredContent"].clone()
        };
        let explained = asked(json!({"query": query}));
        let nodes = explained["nodes"].as_array().expect("steps");
        let [sort, scan] = &nodes[..] else {
            panic!("{nodes:?}");
        };
        assert_eq!(
            (&sort["parent"], &sort["label"]),
            (&Value::Null, &json!("Sort"))
        );
        assert_eq!(
            (&scan["parent"], &scan["label"]),
            (&json!(0), &json!("Seq Scan on item"))
        );
        assert_eq!((&scan["rows"], &scan["loops"]), (&json!(2.0), &json!(1.0)));
        assert!(scan["rows_planned"].as_f64() > Some(2.0), "{scan}");
        assert!(sort["ms"].as_f64() >= scan["ms"].as_f64(), "{nodes:?}");
        assert!(sort["own_ms"].as_f64() <= sort["ms"].as_f64(), "{sort}");
        assert_eq!(
            (&scan["batches"], &scan["sorted_on_disk"]),
            (&Value::Null, &json!(false))
        );
        assert_eq!(
            (&sort["findings"], &scan["findings"]),
            (&json!([]), &json!([0]))
        );
        assert!(
            explained["issues"][0]
                .as_str()
                .expect("an issue")
                .contains("item")
        );

        let planned = asked(json!({"query": query, "analyze": false}));
        let scan = &planned["nodes"][1];
        for absent in ["rows", "loops", "ms", "own_ms"] {
            assert_eq!(scan[absent], Value::Null, "{absent}");
        }
        let plain = call(
            &client,
            "2026-07-28",
            "execute_explain",
            &json!({"query": query}),
        );
        assert_eq!(plain["structuredContent"]["nodes"], Value::Null);
    }
}
