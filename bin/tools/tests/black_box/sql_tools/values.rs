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
- name: others
  description: D
  statement: SELECT :i, :a, :n, :above, :below, :d, :late, :t, :w
  parameters:
  - {name: i, type: integer, default: 1}
  - {name: a, type: integer, allowed: [1, 2], default: 1}
  - {name: n, type: number, default: 1}
  - {name: above, type: number, min: 2, default: 2}
  - {name: below, type: number, max: 2.5, default: 2}
  - {name: d, type: date, min: "2026-01-01", max: "2026-12-31", default: "2026-01-31"}
  - {name: late, type: date, min: "2026-01-01", default: "2026-01-31"}
  - {name: t, type: timestamp, max: "2026-01-01T00:00:00Z", default: "2025-01-01T00:00:00Z"}
  - {name: w, type: string, allowed: [a, b], default: a}
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

/// Wrong values of the arguments of another tool, and what they must be.
const WRONG_OTHERS: [(&str, &str, &str); 10] = [
    ("i", "1e3", "an integer"),
    (
        "i",
        "9223372036854775808",
        "an integer from -9223372036854775808 to 9223372036854775807",
    ),
    ("a", "3", "one of 1, 2"),
    ("n", r#""1""#, "a number"),
    ("above", "1.99", "a number from 2"),
    ("below", "25.1e-1", "a number to 2.5"),
    (
        "d",
        r#""2025-12-31""#,
        "a date from 2026-01-01 to 2026-12-31",
    ),
    ("late", r#""2025-12-31""#, "a date from 2026-01-01"),
    (
        "t",
        r#""2026-01-01T00:00:00.1Z""#,
        "a date and time to 2026-01-01T00:00:00Z",
    ),
    ("w", r#""c""#, "one of a, b"),
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
    for (name, value, expected) in WRONG_OTHERS {
        let value: Value = serde_json::from_str(value).expect(value);
        let expected = format!("Invalid argument '{name}': must be {expected}");
        assert_eq!(transports.fail("others", &json!({name: value})), expected);
    }
    let params = json!({"name": "all", "arguments": [1]});
    assert_eq!(
        transports.call("tools/call", &params)["error"]["code"],
        -32602
    );
}
