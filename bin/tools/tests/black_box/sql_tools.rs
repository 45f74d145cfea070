//! Tests of the operator's own SQL tools.

use std::fs;

use serde_json::{Value, json};

use crate::{
    revisions::result,
    support::{Client, Home, Postgres, Transports, records, records::PASSWORD},
};

const SHOP: &str = "
    CREATE TABLE orders (id bigint PRIMARY KEY, customer bigint, day date, total numeric, note text);
    INSERT INTO orders VALUES
        (1, 7, '2026-01-01', 10.50, NULL), (2, 7, '2026-01-02', 3, E'a|b\\tc\\nd'),
        (3, 8, '2026-01-01', 99, 'x');";

/// A server with these definitions of tools.
fn home(postgres: &Postgres, tools: &str) -> Home {
    let home = Home::new();
    fs::write(home.file("own.yaml"), format!("tools:\n{tools}")).expect("written");
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\nmcp: {{structured_output: true}}\n\
         custom_definitions_path: own.yaml\n",
        postgres.entry("main"),
    ));
    home
}

/// Calls a tool in the newest revision, and returns the result.
fn call(client: &Client, name: &str, arguments: &Value) -> Value {
    result(
        client,
        "tools/call",
        &json!({"name": name, "arguments": arguments}),
    )
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

const SHAPES: &str = r#"
- name: rows
  description: Orders of a customer
  statement: SELECT id, total, note FROM orders WHERE customer = :customer ORDER BY id
  parameters: [{name: customer, type: integer}]
- {name: first, description: D, statement: "SELECT id, note FROM orders ORDER BY id", row_limit: 1}
- name: total
  description: D
  statement: SELECT sum(total) FROM orders WHERE customer = :customer
  parameters: [{name: customer, type: integer}]
  result: value
  empty: Nothing.
- {name: many, description: D, statement: SELECT id FROM orders, result: value}
- {name: wide, description: D, statement: "SELECT 1, 2", result: value}
- name: one
  description: D
  statement: SELECT id, note, note AS id FROM orders WHERE id = :id
  parameters: [{name: id, type: integer}]
  result: record
- name: data
  description: D
  statement: SELECT id, day FROM orders WHERE id < :id ORDER BY id
  parameters: [{name: id, type: integer}]
  result: json
- name: table
  description: D
  statement: SELECT id, note FROM orders ORDER BY id
  result: markdown
"#;

#[test]
fn a_result_has_one_of_five_forms() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, SHAPES);
    let (_program, client) = home.serve(&["-no-auth"]);
    let cases = [
        (
            "rows",
            json!({"customer": 7}),
            "Results (2 rows):\nid\ttotal\tnote\n1\t10.50\t\\N\n2\t3\ta|b\\tc\\nd",
            json!({"columns": ["id", "total", "note"], "rows": [[1, "10.50", null], [2, "3", "a|b\tc\nd"]], "row_count": 2, "truncated": false}),
        ),
        (
            "rows",
            json!({"customer": 1}),
            "No rows.",
            json!({"columns": ["id", "total", "note"], "rows": [], "row_count": 0, "truncated": false}),
        ),
        (
            "first",
            json!({}),
            "Results (1 rows shown, more available):\nid\tnote\n1\t\\N",
            json!({"columns": ["id", "note"], "rows": [[1, null]], "row_count": 1, "truncated": true}),
        ),
        (
            "total",
            json!({"customer": 7}),
            "13.50",
            json!({"value": "13.50"}),
        ),
        (
            "total",
            json!({"customer": 1}),
            "Nothing.",
            json!({"value": null}),
        ),
        (
            "one",
            json!({"id": 2}),
            "id: 2\nnote: a|b\\tc\\nd\nid: a|b\\tc\\nd",
            json!({"record": {"id": 2, "note": "a|b\tc\nd"}}),
        ),
        ("one", json!({"id": 9}), "No rows.", json!({"record": {}})),
        (
            "data",
            json!({"id": 3}),
            r#"{"columns":["id","day"],"rows":[[1,"2026-01-01"],[2,"2026-01-02"]],"row_count":2,"truncated":false}"#,
            json!({"columns": ["id", "day"], "rows": [[1, "2026-01-01"], [2, "2026-01-02"]], "row_count": 2, "truncated": false}),
        ),
        (
            "table",
            json!({}),
            "| id | note |\n| --- | --- |\n| 1 |  |\n| 2 | a\\|b\\tc\\nd |\n| 3 | x |",
            Value::Null,
        ),
    ];
    for (name, arguments, expected, structure) in cases {
        let found = call(&client, name, &arguments);
        assert_eq!(found.get("isError"), None, "{found}");
        assert_eq!(text(&found), expected, "{name} {arguments}");
        assert_eq!(found["structuredContent"], structure, "{name} {arguments}");
    }
    for name in ["many", "wide"] {
        let found = call(&client, name, &json!({}));
        let expected = format!("Tool '{name}' returned more than one value");
        assert_eq!(
            (text(&found), &found["isError"]),
            (&*expected, &json!(true))
        );
    }
}

const TYPES: &str = r#"
- name: all
  description: D
  statement: >-
    SELECT :s::text || ' ' || :i || ' ' || :n || ' ' || :b || ' ' || :e || ' ' || :d || ' ' ||
    (:t AT TIME ZONE 'UTC') || ' ' || :u || ' ' || :j || ' ' || :l::text || ' ' ||
    coalesce(:o, 'none') AS it FROM orders ORDER BY :"c" LIMIT 1
  parameters:
  - {name: s, type: string, min_length: 1, max_length: 5, pattern: "[a-z ]*"}
  - {name: i, type: integer, min: 1, max: 9}
  - {name: n, type: number, min: 0, max: 2.5}
  - {name: b, type: boolean}
  - {name: e, type: enum, allowed: [red, green]}
  - {name: d, type: date, default: "2026-01-31"}
  - {name: t, type: timestamp, default: "2026-01-31T12:00:00+02:00"}
  - {name: u, type: uuid, default: 123e4567-e89b-12d3-a456-426614174000}
  - {name: j, type: json, max_length: 9, default: [1]}
  - {name: l, type: array, items: {type: integer}, min_items: 1, max_items: 2, default: [3]}
  - {name: o, type: string, required: false}
  - {name: c, type: identifier, allowed: [id, total], default: id}
  result: value
- name: tags
  description: D
  statement: SELECT cardinality(:tags), :tags[2] AS second, :more IS NULL AS none
  parameters:
  - {name: tags, type: array, items: {type: string}}
  - {name: more, type: array, items: {type: uuid}, required: false}
"#;

#[test]
fn arguments_are_checked_in_order_and_errors_repeat_no_value() {
    let postgres = Postgres::with(SHOP);
    let mut transports = Transports::open(home(&postgres, TYPES));
    let right = json!({"s": "a b", "i": 3, "n": 1.50, "b": true, "e": "red"});
    let with = |name: &str, value: Value| {
        let mut arguments = right.clone();
        arguments[name] = value;
        arguments
    };
    assert_eq!(
        transports.succeed("all", &right),
        "a b 3 1.5 true red 2026-01-31 2026-01-31 10:00:00 \
         123e4567-e89b-12d3-a456-426614174000 [1] {3} none"
    );
    let found = transports.succeed("all", &with("o", json!("it's")));
    assert!(found.ends_with(" it's"), "{found}");
    transports.succeed("all", &with("o", Value::Null));
    transports.succeed("all", &with("d", Value::Null));
    let found = transports.succeed("tags", &json!({"tags": ["a,b", "\"}{"]}));
    assert_eq!(
        found,
        "Results (1 rows):\ncardinality\tsecond\tnone\n2\t\"}{\ttrue"
    );
    let cases = [
        (json!({"zzz": 1}), "Unknown argument: zzz"),
        (json!({"s": 1}), "Missing argument: i"),
        (
            json!({"s": "hunter2", "i": 3, "n": 1, "b": true}),
            "Missing argument: e",
        ),
        (
            with("s", json!(1)),
            "Invalid argument 's': must be a string",
        ),
        (
            with("s", json!("")),
            "Invalid argument 's': must be a string of 1 to 5 characters",
        ),
        (
            with("s", json!("A")),
            "Invalid argument 's': must be a match of [a-z ]*",
        ),
        (
            with("s", json!("a\0")),
            "Invalid argument 's': must not hold a NUL character",
        ),
        (
            with("s", Value::Null),
            "Invalid argument 's': must be a string",
        ),
        (
            with("i", json!(0)),
            "Invalid argument 'i': must be an integer from 1 to 9",
        ),
        (
            with("i", json!(1.0)),
            "Invalid argument 'i': must be an integer from 1 to 9",
        ),
        (
            with("n", json!(2.51)),
            "Invalid argument 'n': must be a number from 0 to 2.5",
        ),
        (
            with("b", json!("true")),
            "Invalid argument 'b': must be true or false",
        ),
        (
            with("e", json!("blue")),
            "Invalid argument 'e': must be one of red, green",
        ),
        (
            with("d", json!("today")),
            "Invalid argument 'd': must be a date such as 2026-01-31",
        ),
        (
            with("t", json!("now")),
            "Invalid argument 't': must be a date and time such as 2026-01-31T12:00:00Z",
        ),
        (
            with("u", json!("1")),
            "Invalid argument 'u': must be a UUID",
        ),
        (
            with("j", json!("0123456789")),
            "Invalid argument 'j': must be JSON of at most 9 bytes",
        ),
        (
            with("j", json!(["\0"])),
            "Invalid argument 'j': must not hold a NUL character",
        ),
        (with("l", json!(1)), "Invalid argument 'l': must be a list"),
        (
            with("l", json!([])),
            "Invalid argument 'l': must be a list of 1 to 2 values",
        ),
        (
            with("l", json!([1, "2"])),
            "Invalid argument 'l': must be an integer (item 2)",
        ),
        (
            with("c", json!("id\" DESC --")),
            "Invalid argument 'c': must be one of id, total",
        ),
        (
            with("c", json!("ID")),
            "Invalid argument 'c': must be one of id, total",
        ),
    ];
    for (arguments, expected) in cases {
        assert_eq!(transports.fail("all", &arguments), expected, "{arguments}");
    }
    let params = json!({"name": "all", "arguments": [1]});
    assert_eq!(
        transports.call("tools/call", &params)["error"]["code"],
        -32602
    );
}

const HOSTILE: &str = r#"
- name: string
  description: D
  statement: SELECT :v, (SELECT statement FROM pg_cursors) AS s
  parameters: [{name: v, type: string}]
  result: json
- name: json
  description: D
  statement: SELECT :v::text, (SELECT statement FROM pg_cursors) AS s
  parameters: [{name: v, type: json}]
  result: json
- name: array
  description: D
  statement: SELECT :v[1], (SELECT statement FROM pg_cursors) AS s
  parameters: [{name: v, type: array, items: {type: string}}]
  result: json
- {name: integer, description: D, statement: "SELECT :v", parameters: [{name: v, type: integer}]}
- {name: number, description: D, statement: "SELECT :v", parameters: [{name: v, type: number}]}
- {name: boolean, description: D, statement: "SELECT :v", parameters: [{name: v, type: boolean}]}
- {name: enum, description: D, statement: "SELECT :v", parameters: [{name: v, type: enum, allowed: [a]}]}
- {name: date, description: D, statement: "SELECT :v", parameters: [{name: v, type: date}]}
- {name: timestamp, description: D, statement: "SELECT :v", parameters: [{name: v, type: timestamp}]}
- {name: uuid, description: D, statement: "SELECT :v", parameters: [{name: v, type: uuid}]}
- {name: name, description: D, statement: "SELECT :\"v\" FROM orders", parameters: [{name: v, type: identifier, allowed: [id]}]}
- name: plan
  description: D
  statement: EXPLAIN (COSTS OFF, FORMAT JSON) SELECT id FROM orders WHERE note = :v
  parameters: [{name: v, type: string}]
  result: json
"#;

/// Pieces of texts that leave strings, names, comments and statements.
const PIECES: &[&str] = &[
    "'",
    "''",
    "\"",
    "\\",
    "\\'",
    ";",
    "--",
    "/*",
    "*/",
    "$$",
    "$a$",
    "$1",
    ":v",
    "::text",
    "(",
    ")",
    "\n",
    "\r",
    "\t",
    " OR 1=1",
    "DROP TABLE orders",
    "E'",
    "U&'",
    "\\x27",
    "%27",
    "{",
    "}",
    ",",
    "NULL",
    "COMMIT",
    "\u{2019}",
    "\u{ff07}",
    "\u{200b}",
    "é",
    "\u{1f600}",
    "\u{1}",
    "\\N",
    "0x27",
];

/// Returns hostile texts, the same at each run.
fn hostile() -> impl Iterator<Item = String> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).expect("31 bits")
    };
    (0..500).map(move |_| {
        let pieces = 1 + next() % 6;
        (0..pieces).map(|_| PIECES[next() % PIECES.len()]).collect()
    })
}

#[test]
fn hostile_values_change_neither_the_statement_nor_its_plan() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, HOSTILE);
    let (_program, client) = home.serve(&["-no-auth"]);
    let send = |name: &str, value: &Value| {
        let (text, is_error) = client.tool(name, &json!({"v": value}));
        assert!(!is_error, "{name} {value}: {text}");
        let answer: Value = serde_json::from_str(&text).expect(&text);
        let rows = answer["rows"].as_array().expect("rows").clone();
        assert!(!rows.is_empty(), "{name} {value}");
        rows
    };
    let first = ["string", "json", "array"].map(|name| {
        let value = if name == "array" {
            json!(["a"])
        } else {
            json!("a")
        };
        send(name, &value)[0][1].clone()
    });
    let declared = first[0].as_str().expect("a statement");
    assert!(
        declared.contains("SELECT  $1::text::text, (SELECT"),
        "{declared}"
    );
    // The plan without its condition, which shows the value.
    let plan = |value: &str| {
        let plan = send("plan", &json!(value))[0][0].clone();
        let mut plan: Value = serde_json::from_str(plan.as_str().expect("JSON")).expect("JSON");
        let filter = plan[0]["Plan"]["Filter"].take();
        assert!(filter.is_string(), "{plan}");
        plan
    };
    let shape = plan("a");
    assert_eq!(shape[0]["Plan"]["Node Type"], "Seq Scan");
    for value in hostile() {
        let row = send("string", &json!(value));
        assert_eq!(row, [json!([value, first[0]])]);
        // PostgreSQL writes JSON in a form of its own.
        let row = send("json", &json!({ &value: value }));
        let written = row[0][0].as_str().expect("JSON");
        let read: Value = serde_json::from_str(written).expect("JSON");
        assert_eq!((read, &row[0][1]), (json!({ &value: value }), &first[1]));
        let row = send("array", &json!([value, "NULL"]));
        assert_eq!(row, [json!([value, first[2]])]);
        assert_eq!(plan(&value), shape, "{value}");
        for (name, expected) in [
            ("integer", "an integer"),
            ("number", "a number"),
            ("boolean", "true or false"),
            ("enum", "one of a"),
            ("date", "a date such as 2026-01-31"),
            ("timestamp", "a date and time such as 2026-01-31T12:00:00Z"),
            ("uuid", "a UUID"),
            ("name", "one of id"),
        ] {
            let (text, is_error) = client.tool(name, &json!({"v": value}));
            let expected = format!("Invalid argument 'v': must be {expected}");
            assert_eq!((text, is_error), (expected, true), "{name} {value}");
        }
    }
    assert_eq!(postgres.count("SELECT count(*) FROM orders"), 3);
}

const READING: &str = r#"
- {name: sneaky, description: D, statement: "SELECT erase()"}
- {name: sneaky_bound, description: D, statement: "SELECT erase() WHERE :a", parameters: [{name: a, type: boolean}]}
- {name: slow, description: D, statement: "SELECT pg_sleep(:n)", timeout: 100ms, parameters: [{name: n, type: integer}]}
- {name: divide, description: D, statement: "SELECT 1 / :secret_name AS x", parameters: [{name: secret_name, type: integer}]}
- {name: broken, description: D, statement: "SELECT * FROM absent WHERE a = :a", parameters: [{name: a, type: integer}]}
- {name: limited, description: D, statement: "SELECT n FROM generate_series(1, :n) n", row_limit: 2, parameters: [{name: n, type: integer}]}
- {name: own_limit, description: D, statement: "SELECT n FROM generate_series(1, 9) n LIMIT 5", row_limit: 2}
"#;

#[test]
fn a_tool_only_reads_and_its_statement_is_never_shown() {
    let postgres = Postgres::with(&format!(
        "{SHOP} CREATE FUNCTION erase() RETURNS int LANGUAGE sql AS 'DELETE FROM orders; SELECT 1';"
    ));
    let home = home(&postgres, READING);
    let (program, client) = home.serve(&["-no-auth"]);
    program.wait_for(
        "own.yaml:7: tool 'broken' cannot run: ERROR: relation \"absent\" does not exist",
    );
    let cases = [
        (
            "sneaky",
            json!({}),
            "Error: ERROR: cannot execute DELETE in a read-only transaction (SQLSTATE 25006)",
        ),
        (
            "sneaky_bound",
            json!({"a": true}),
            "Error: ERROR: cannot execute DELETE in a read-only transaction (SQLSTATE 25006)",
        ),
        (
            "slow",
            json!({"n": 60}),
            "Error: ERROR: canceling statement due to statement timeout (SQLSTATE 57014)",
        ),
        (
            "divide",
            json!({"secret_name": 0}),
            "Error: ERROR: division by zero (SQLSTATE 22012)",
        ),
        (
            "broken",
            json!({"a": 1}),
            "Tool 'broken' cannot run: ERROR: relation \"absent\" does not exist (SQLSTATE 42P01)",
        ),
    ];
    for (name, arguments, expected) in cases {
        let (text, is_error) = client.tool(name, &arguments);
        assert_eq!((&*text, is_error), (expected, true), "{name}");
        let found = call(&client, name, &arguments);
        assert_eq!(
            (self::text(&found), &found["isError"]),
            (expected, &json!(true))
        );
    }
    for (name, arguments) in [("limited", json!({"n": 9})), ("own_limit", json!({}))] {
        let (text, _) = client.tool(name, &arguments);
        assert_eq!(
            text, "Results (2 rows shown, more available):\nn\n1\n2",
            "{name}"
        );
    }
    // The connection is usable after errors.
    let (text, _) = client.tool("limited", &json!({"n": 2}));
    assert_eq!(text, "Results (2 rows):\nn\n1\n2");
    assert_eq!(postgres.count("SELECT count(*) FROM orders"), 3);
}

const WRITING: &str = r#"
- name: cancel
  title: Cancel an order
  description: D
  database: main
  write: true
  destructive: false
  idempotent: true
  statement: UPDATE orders SET note = :why WHERE id = :id RETURNING id, note
  parameters: [{name: id, type: integer}, {name: why, type: string, sensitive: true}]
- {name: erase, description: D, database: main, write: true, confirm: always, statement: DELETE FROM orders}
- name: add
  description: D
  database: main
  write: true
  statement: INSERT INTO orders (id, note) SELECT n, 'new' FROM unnest(:ids) n
  parameters: [{name: ids, type: array, items: {type: integer}}]
- {name: show, description: D, statement: SELECT 1}
"#;

/// Calls a tool from a client that supports elicitation, with the answers of its user.
fn asked(client: &Client, name: &str, arguments: &Value, answers: &Value) -> Value {
    let mut params = json!({
        "name": name,
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        },
    });
    for (key, value) in answers.as_object().expect("members") {
        params[key] = value.clone();
    }
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = format!(
        "content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {name}\r\n"
    );
    let answer = client.send("POST", "/mcp", &headers, &call.to_string());
    answer.json()["result"].clone()
}

fn answered(question: &Value, confirm: bool) -> Value {
    let response = json!({"action": "accept", "content": {"confirm": confirm}});
    json!({"inputResponses": {"confirm": response}, "requestState": question["requestState"]})
}

#[test]
fn a_tool_that_writes_is_confirmed_by_the_user() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, WRITING);
    let (_program, client) = home.serve(&["-no-auth"]);
    let note = |note: &str| {
        postgres.count(&format!(
            "SELECT count(*) FROM orders WHERE note = '{note}'"
        ))
    };
    let arguments = json!({"id": 1, "why": "it's secret"});
    let question = asked(&client, "cancel", &arguments, &json!({}));
    let message = &question["inputRequests"]["confirm"]["params"]["message"];
    let expected =
        "May the tool \"Cancel an order\" change data in the database main?\nid: 1\nwhy: ***";
    assert_eq!(message, expected, "{question}");
    assert_eq!(note("it''s secret"), 0);
    let declined = asked(&client, "cancel", &arguments, &answered(&question, false));
    assert_eq!(
        text(&declined),
        "The user did not confirm the call, and it was not run."
    );
    // The answer is for these values only.
    let others = json!({"id": 2, "why": "it's secret"});
    let refused = asked(&client, "cancel", &others, &answered(&question, true));
    assert_eq!(refused, Value::Null);
    let done = asked(&client, "cancel", &arguments, &answered(&question, true));
    assert_eq!(text(&done), "Results (1 rows):\nid\tnote\n1\tit's secret");
    assert_eq!(
        done["structuredContent"]["rows"],
        json!([[1, "it's secret"]])
    );
    assert_eq!(note("it''s secret"), 1);
    let again = asked(&client, "cancel", &arguments, &answered(&question, true));
    assert_eq!(again["resultType"], "input_required", "{again}");

    // A client that cannot be asked is taken at its word, unless the operator wants a confirmation.
    let (text, is_error) = client.tool("cancel", &json!({"id": 3, "why": "b"}));
    assert_eq!(
        (&*text, is_error),
        ("Results (1 rows):\nid\tnote\n3\tb", false)
    );
    let (text, _) = client.tool("cancel", &json!({"id": 99, "why": "b"}));
    assert_eq!(text, "No rows.");
    let (text, _) = client.tool("add", &json!({"ids": [11, 12]}));
    assert_eq!(text, "Rows affected: 2");
    assert_eq!(note("new"), 2);
    let (text, is_error) = client.tool("add", &json!({"ids": [13, 11]}));
    let expected = "Error: ERROR: duplicate key value violates unique constraint \"orders_pkey\" \
                    (SQLSTATE 23505)\nDETAIL: Key (id)=(11) already exists.";
    assert_eq!((&*text, is_error), (expected, true));
    assert_eq!(note("new"), 2);
    let (text, is_error) = client.tool("erase", &json!({}));
    let expected = "This tool changes data and has to be confirmed by a user, whom this client \
                    cannot ask.";
    assert_eq!((&*text, is_error), (expected, true));
    assert_eq!(postgres.count("SELECT count(*) FROM orders"), 5);
}

#[test]
fn tools_are_listed_on_every_endpoint_with_their_annotations() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, WRITING);
    let (_program, client) = home.serve(&["-no-auth"]);
    let exact = client.call("tools/list", &json!({}))["result"]["tools"].clone();
    let newest = result(&client, "tools/list", &json!({}))["tools"].clone();
    let find = |tools: &Value, name: &str| {
        let mut tools = tools.as_array().expect("a list").iter();
        tools.find(|tool| tool["name"] == name).expect(name).clone()
    };
    assert_eq!(
        find(&exact, "cancel"),
        json!({"name": "cancel", "description": "D", "inputSchema": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "why": {"type": "string", "maxLength": 10000}},
            "required": ["id", "why"],
            "additionalProperties": false,
        }})
    );
    let cancel = find(&newest, "cancel");
    assert_eq!(cancel["title"], "Cancel an order");
    let annotations = |tool: &Value| tool["annotations"].clone();
    assert_eq!(
        annotations(&cancel),
        json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
    );
    assert_eq!(
        annotations(&find(&newest, "erase"))["destructiveHint"],
        true
    );
    let expected = json!({"readOnlyHint": true, "openWorldHint": false});
    assert_eq!(annotations(&find(&newest, "show")), expected);
}

const BOUND: &str = r#"
- {name: of_user, description: D, statement: "SELECT :who", result: value, parameters: [{name: who, type: string, from: user}]}
- {name: of_token, description: D, statement: "SELECT :who", result: value, parameters: [{name: who, type: string, from: token}]}
- {name: of_client, description: D, statement: "SELECT :who", result: value, parameters: [{name: who, type: string, from: client}]}
- {name: of_caller, description: D, statement: "SELECT :who", result: value, parameters: [{name: who, type: string, from: caller}]}
- {name: of_number, description: D, statement: "SELECT :who", result: value, parameters: [{name: who, type: integer, from: user}]}
"#;

#[test]
fn a_tool_exists_for_callers_who_have_the_facts_that_it_is_filled_with() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, BOUND);
    home.replace(
        &home.users(),
        &records::users(&[records::user("alice", &[])]),
    );
    let token = home.token("main");
    let (_program, anonymous) = home.serve(&[]);
    let alice = anonymous.logged_in("alice", PASSWORD);
    let program = anonymous.bearing(&token);
    let listed = |client: &Client| {
        let lists = [
            client.call("tools/list", &json!({}))["result"]["tools"].clone(),
            result(client, "tools/list", &json!({}))["tools"].clone(),
        ];
        lists.map(|list| {
            let names = list.as_array().expect("a list").iter();
            let names = names.filter_map(|tool| tool["name"].as_str());
            let own = names.filter(|name| name.starts_with("of_"));
            own.map(str::to_owned).collect::<Vec<_>>()
        })
    };
    assert_eq!(
        listed(&alice),
        [(); 2].map(|()| vec!["of_caller", "of_user"])
    );
    assert_eq!(
        listed(&program),
        [(); 2].map(|()| vec!["of_caller", "of_token"])
    );
    assert_eq!(
        alice.tool("of_user", &json!({})),
        ("alice".to_owned(), false)
    );
    assert_eq!(
        alice.tool("of_caller", &json!({})),
        ("user:alice".to_owned(), false)
    );
    let (id, _) = program.tool("of_token", &json!({}));
    assert!(id.starts_with("token-"), "{id}");
    let (text, is_error) = alice.tool("of_user", &json!({"who": "bob"}));
    assert_eq!((&*text, is_error), ("Unknown argument: who", true));
    let unknown = |client: &Client, name: &str| {
        let params = json!({"name": name, "arguments": {}});
        client.call("tools/call", &params)["error"].clone()
    };
    for (client, name) in [
        (&alice, "of_token"),
        (&program, "of_user"),
        (&alice, "of_number"),
    ] {
        let invented = unknown(client, "invented").to_string();
        let expected = invented.replace("invented", name);
        assert_eq!(unknown(client, name).to_string(), expected);
    }
}

#[test]
fn all_problems_of_definitions_are_printed_with_their_files_and_lines() {
    let home = Home::new();
    let folder = home.file("tools");
    fs::create_dir_all(folder.join("more")).expect("made");
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
    write(
        "b.yaml",
        "include: [more/c.yaml]\ntools:\n- {name: two, description: D, statement: SELECT :x}\n",
    );
    write(
        "a.yml",
        "tools:\n\n- {name: one, description: D, statement: SELECT 1, database: shop}\n",
    );
    write(
        "more/c.yaml",
        "tools:\n- {name: two, description: D, statement: SELECT 1}\n- {name: three}\n",
    );
    write("notes.txt", "not read");
    home.configure("custom_definitions_path: tools\n");
    let lines = [
        "tools/a.yml:3: tool 'one': unknown database: shop",
        "tools/b.yaml:3: tool 'two': statement uses undeclared parameter: x",
        "tools/more/c.yaml:3: tool 'three': description is required",
        "tools/more/c.yaml:3: tool 'three': statement is required",
    ]
    .map(|line| format!("Failed to load custom definitions: {line}"));
    let checked = home.run(&["-check-config"], "");
    assert_eq!(checked.status.code(), Some(1));
    let said = String::from_utf8(checked.stdout).expect("text");
    assert_eq!(said.lines().collect::<Vec<_>>(), lines);
    let started = home.run(&[], "");
    assert_eq!(started.status.code(), Some(1));
    let said = String::from_utf8(started.stderr).expect("text");
    let errors: Vec<_> = said
        .lines()
        .filter_map(|line| line.strip_prefix("ERROR: "))
        .collect();
    assert_eq!(errors, lines, "{said}");

    let first = |text: &str| {
        write("b.yaml", text);
        write("a.yml", "");
        let said = home.run(&["-check-config"], "").stdout;
        String::from_utf8(said).expect("text")
    };
    write(
        "more/c.yaml",
        "include: [../b.yaml]\ntools: [{name: t, description: D, statement: SELECT 1}]\n",
    );
    assert_eq!(
        first("include: [more/c.yaml]\n"),
        "the configuration is valid\n"
    );
    let expected = "Failed to load custom definitions: tools/b.yaml: include ../../own.yaml: \
                    validation failed: the path leaves the folder of the first file\n";
    fs::write(home.file("own.yaml"), "").expect("written");
    write("more/c.yaml", "");
    assert_eq!(
        first("include: [../own.yaml]\n"),
        expected.replace("../../", "../")
    );
}

const MANUAL: &str = include_str!("../../../../docs/src/sql-tools.md");

#[test]
fn the_examples_of_the_manual_have_the_answers_that_it_shows() {
    let blocks = |language: &str| {
        let fence = format!("```{language}\n");
        let rest = MANUAL.split(&*fence).skip(1);
        let end = |block: &'static str| block.split("```").next().expect("an end");
        rest.map(end).collect::<Vec<_>>()
    };
    let postgres = Postgres::with(blocks("sql")[0]);
    let home = Home::new();
    fs::write(home.file("definitions.yaml"), blocks("yaml")[0]).expect("written");
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\ncustom_definitions_path: definitions.yaml\n",
        postgres.entry("shop"),
    ));
    let (_program, client) = home.serve(&["-no-auth"]);
    let (calls, answers) = (blocks("json"), blocks("answer"));
    assert_eq!((calls.len(), answers.len()), (4, 4));
    for (call, answer) in calls.into_iter().zip(answers) {
        let params: Value = serde_json::from_str(call).expect(call);
        let found = result(&client, "tools/call", &params);
        assert_eq!(text(&found), answer.trim_end(), "{call}");
    }
}
