//! Tests of the arguments of SQL tools.

use serde_json::{Value, json};

use super::{SHOP, home};
use crate::support::{Postgres, Transports};

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

/// Wrong values of arguments, and what they must be.
const WRONG: [(&str, &str, &str); 20] = [
    ("s", "1", "be a string"),
    ("s", r#""""#, "be a string of 1 to 5 characters"),
    ("s", r#""A""#, "be a match of [a-z ]*"),
    ("s", r#""a\u0000""#, "not hold a NUL character"),
    ("s", "null", "be a string"),
    ("i", "0", "be an integer from 1 to 9"),
    ("i", "1.0", "be an integer from 1 to 9"),
    ("n", "2.51", "be a number from 0 to 2.5"),
    ("b", r#""true""#, "be true or false"),
    ("e", r#""blue""#, "be one of red, green"),
    ("d", r#""today""#, "be a date such as 2026-01-31"),
    (
        "t",
        r#""now""#,
        "be a date and time such as 2026-01-31T12:00:00Z",
    ),
    ("u", r#""1""#, "be a UUID"),
    ("j", r#""0123456789""#, "be JSON of at most 9 bytes"),
    ("j", r#"["\u0000"]"#, "not hold a NUL character"),
    ("l", "1", "be a list"),
    ("l", "[]", "be a list of 1 to 2 values"),
    ("l", r#"[1, "2"]"#, "be an integer (item 2)"),
    ("c", r#""id\" DESC --""#, "be one of id, total"),
    ("c", r#""ID""#, "be one of id, total"),
];

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
    for (arguments, expected) in [
        (json!({"zzz": 1}), "Unknown argument: zzz"),
        (json!({"s": 1}), "Missing argument: i"),
        (
            json!({"s": "hunter2", "i": 3, "n": 1, "b": true}),
            "Missing argument: e",
        ),
    ] {
        assert_eq!(transports.fail("all", &arguments), expected, "{arguments}");
    }
    for (name, value, expected) in WRONG {
        let arguments = with(name, serde_json::from_str(value).expect(value));
        let expected = format!("Invalid argument '{name}': must {expected}");
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
