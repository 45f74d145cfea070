use serde_json::{Value, json};
use ziggurat_postgres::database::Settings;

use super::*;
use crate::SqlTools;

fn environment() -> Environment {
    let database = |name: &str, allow_writes| {
        let settings = Settings {
            name: name.into(),
            user: "reader".into(),
            allow_writes,
            ..Settings::default()
        };
        Arc::new(Database::try_from(settings).expect("valid"))
    };
    Environment {
        databases: vec![database("shop", false), database("desk", true)],
        tools: vec!["query_database".to_owned()],
        ..Environment::default()
    }
}

/// Reads a file, and returns its problems.
fn problems(yaml: &str) -> Vec<String> {
    let file: Yaml = serde_yaml::from_str(yaml).expect(yaml);
    let entries = file["tools"].as_sequence().expect("tools").clone();
    SqlTools::default().read("own.yaml", yaml, entries, &environment())
}

/// Returns the only problem of a tool with these keys besides its name and description.
fn problem(keys: &str) -> String {
    let yaml = format!("tools:\n- {{name: t, description: T, {keys}}}\n");
    let problems = problems(&yaml);
    let [problem] = &problems[..] else {
        panic!("{keys}: {problems:?}");
    };
    let start = "own.yaml:2: tool 't': ";
    problem.strip_prefix(start).expect(problem).to_owned()
}

fn parameter_problem(statement: &str, parameter: &str) -> String {
    problem(&format!(
        "statement: '{statement}', parameters: [{{name: p, {parameter}}}]"
    ))
}

fn definition(keys: &str) -> Definition {
    let yaml = format!("{{name: t, description: T, {keys}}}");
    let entry = serde_yaml::from_str(&yaml).expect(&yaml);
    let read = Definition::read(entry, 0, &environment());
    read.unwrap_or_else(|problems| panic!("{keys}: {problems:?}"))
}

#[test]
fn all_problems_are_reported_with_their_lines() {
    let yaml = r"
tools:
- name: orders
  description: Orders
  statement: SELECT :day, :missing
  parameters:
  - name: day
    type: date
    default: tomorrow
  - {name: more, type: film}
- statement: SELECT 1
  row_limit: 0
- {name: orders, description: O, statement: SELECT 1}
- {name: orders, description: O, statement: SELECT 1}
- {name: query_database, description: O, statement: SELECT 1}
- {name: Big, description: O, statement: SELECT 1, size: 3}
";
    let found = problems(yaml);
    let expected = [
        "own.yaml:7: tool 'orders': parameter 'day': default is not a date",
        "own.yaml:10: tool 'orders': parameter 'more': unknown type: film",
        "own.yaml:11: tool 1: name is required",
        "own.yaml:11: tool 1: description is required",
        "own.yaml:11: tool 1: row_limit is not from 1 to 1000",
        "own.yaml:14: tool 'orders': duplicate tool name: orders",
        "own.yaml:15: tool 'query_database': duplicate tool name: query_database",
    ];
    assert_eq!(found[..7], expected);
    assert_eq!(found.len(), 8, "{found:?}");
    let unknown = "own.yaml:16: tool 'Big': unknown field `size`, expected one of ";
    assert!(found[7].starts_with(unknown), "{}", found[7]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_tool_that_cannot_work_is_refused() {
    let cases = [
        ("statement: ' ; '", "statement is required"),
        ("title: T", "statement is required"),
        (
            "statement: SELECT 1; SELECT 2",
            "statement holds more than one statement",
        ),
        (
            "statement: SELECT 1, database: shp",
            "unknown database: shp",
        ),
        ("statement: SELECT 1, result: film", "invalid result: film"),
        (
            "statement: SELECT 1, timeout: 5",
            "invalid type: integer `5`, expected a string",
        ),
        (
            "statement: SELECT 1, timeout: soon",
            "timeout is not a duration such as 5s",
        ),
        (
            "statement: SELECT 1, row_limit: 1001",
            "row_limit is not from 1 to 1000",
        ),
        (
            "statement: SELECT 1, confirm: always",
            "confirm: always needs write: true",
        ),
        ("statement: SELECT 1, confirm: no", "invalid confirm: no"),
        (
            "statement: SELECT 1, destructive: false",
            "destructive needs write: true",
        ),
        (
            "statement: SELECT 1, idempotent: true",
            "idempotent needs write: true",
        ),
        ("statement: SELECT 1, write: true", "write needs a database"),
        (
            "statement: SELECT 1, write: true, database: shop",
            "database 'shop' does not allow writes",
        ),
        (
            "statement: DELETE FROM t; DELETE FROM u, write: true, database: desk",
            "statement holds more than one statement",
        ),
        (
            "statement: SELECT :x",
            "statement uses undeclared parameter: x",
        ),
        (
            "statement: COMMIT",
            "query rejected: COMMIT is not allowed, the server handles transactions itself",
        ),
        (
            "statement: COPY t TO STDOUT",
            "query rejected: COPY to or from the client is not supported, use SELECT or INSERT",
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(problem(keys), expected, "{keys}");
    }
    let name = |name: &str| {
        let yaml = format!("tools: [{{name: {name}, description: T, statement: SELECT 1}}]");
        problems(&yaml).pop().unwrap_or_default()
    };
    for wrong in ["Orders", "1st", "a-b", &"a".repeat(64)] {
        let expected = format!("own.yaml:1: tool '{wrong}': invalid tool name: {wrong}");
        assert_eq!(name(wrong), expected);
    }
    assert_eq!(name(&"a".repeat(63)), "");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_parameter_that_cannot_work_is_refused() {
    let cases = [
        ("type: film", "unknown type: film"),
        ("description: x", "type is required"),
        ("type: enum", "allowed is required"),
        ("type: enum, allowed: []", "allowed is required"),
        (
            "type: enum, allowed: [1]",
            "allowed is not a list of strings",
        ),
        ("type: identifier", "allowed is required"),
        ("type: boolean, min: 1", "min does not apply to boolean"),
        ("type: uuid, pattern: a", "pattern does not apply to uuid"),
        (
            "type: integer, max_length: 1",
            "max_length does not apply to integer",
        ),
        ("type: string, min: 1", "min does not apply to string"),
        (
            "type: identifier, allowed: [a], pattern: a",
            "pattern does not apply to identifier",
        ),
        ("type: integer, min: 2, max: 1", "min is above max"),
        ("type: number, min: 0.2, max: 0.1", "min is above max"),
        (
            "type: date, min: \"2024-01-02\", max: \"2024-01-01\"",
            "min is above max",
        ),
        (
            "type: string, min_length: 2, max_length: 1",
            "min_length is above max_length",
        ),
        (
            "type: array, items: {type: integer}, min_items: 2, max_items: 1",
            "min_items is above max_items",
        ),
        ("type: integer, min: 1.5", "min is not an integer"),
        ("type: date, min: soon", "min is not a date"),
        (
            "type: timestamp, max: \"2024-01-01\"",
            "max is not a date and time",
        ),
        (
            "type: string, pattern: \"(\"",
            "invalid pattern: unclosed group",
        ),
        ("type: array", "items is required"),
        (
            "type: array, items: {type: film}",
            "items: unknown type: film",
        ),
        (
            "type: array, items: {type: array}",
            "items: unknown type: array",
        ),
        (
            "type: array, items: {type: integer, pattern: a}",
            "items: pattern does not apply to integer",
        ),
        (
            "type: array, items: {type: integer}, default: [1, x]",
            "default is not an integer (item 2)",
        ),
        ("type: integer, default: 1.5", "default is not an integer"),
        (
            "type: integer, min: 1, max: 5, default: 9",
            "default is not an integer from 1 to 5",
        ),
        ("type: date, default: today", "default is not a date"),
        (
            "type: string, default: \"a\\0\"",
            "default holds a NUL character",
        ),
        (
            "type: string, required: true, default: a",
            "a required parameter takes no default",
        ),
        (
            "type: string, from: user, default: a",
            "a bound parameter takes no default, allowed or required",
        ),
        (
            "type: string, from: user, required: true",
            "a bound parameter takes no default, allowed or required",
        ),
        (
            "type: string, from: user, allowed: [a]",
            "a bound parameter takes no default, allowed or required",
        ),
        ("type: string, from: weather", "invalid from: weather"),
        (
            "type: string, from: {claim: org, user: a}",
            "invalid from: write user, client, token, caller or {claim: name}",
        ),
        (
            "type: string, from: {claim: [org]}",
            "invalid from: write user, client, token, caller or {claim: name}",
        ),
        (
            "type: string, from: [user]",
            "invalid from: write user, client, token, caller or {claim: name}",
        ),
        (
            "type: string, from: {claim: a..b}",
            "from: invalid name of a claim: a..b",
        ),
        (
            "type: string, from: {claim: org}, default: a",
            "a bound parameter takes no default, allowed or required",
        ),
        (
            "type: array, items: {type: string}, from: role",
            "from: role does not apply to array",
        ),
        (
            "type: array, items: {type: string}, from: user",
            "from: user does not apply to array",
        ),
    ];
    for (parameter, expected) in cases {
        let found = parameter_problem("SELECT :p", parameter);
        assert_eq!(found, format!("parameter 'p': {expected}"), "{parameter}");
    }
    let found = parameter_problem("SELECT 1", "type: date");
    assert_eq!(found, "parameter 'p' is not used");
    let found = parameter_problem("SELECT :p", "type: identifier, allowed: [a]");
    assert_eq!(found, "parameter 'p': write :\"p\" in the statement");
    let found = parameter_problem("SELECT :\"p\"", "type: date");
    assert_eq!(found, "parameter 'p': write :p in the statement");
    let found = parameter_problem(
        "SELECT :\"p\"",
        "type: identifier, allowed: [a], required: false",
    );
    assert_eq!(
        found,
        "parameter 'p': an identifier is required or has a default"
    );
    let secret = parameter_problem("SELECT :p", "type: date, sensitive: true, default: hunter2");
    assert!(!secret.contains("hunter2"), "{secret}");
}

#[test]
fn values_are_numbered_and_cast_and_names_are_quoted() {
    let tool = definition(
        "statement: 'SELECT :b, :a::text, (:l)[1], :l[2] FROM :\"t\" LIMIT:a; ', parameters: [\
         {name: a, type: integer}, {name: t, type: identifier, allowed: ['x\"; --', y]}, \
         {name: b, type: json}, {name: l, type: array, items: {type: uuid}}]",
    );
    let expected = [
        r#"SELECT  $2::text::jsonb,  $1::text::bigint::text, ( $3::text[]::uuid[])[1],  ($3::text[]::uuid[])[2] FROM  "x""; --" LIMIT $1::text::bigint"#,
        r#"SELECT  $2::text::jsonb,  $1::text::bigint::text, ( $3::text[]::uuid[])[1],  ($3::text[]::uuid[])[2] FROM  "y" LIMIT $1::text::bigint"#,
    ];
    assert_eq!(tool.statements(), expected);
}

#[test]
fn the_names_of_a_tool_make_at_most_64_statements() {
    let names = |count: usize| {
        let names: Vec<_> = (0..count).map(|it| format!("c{it}")).collect();
        names.join(", ")
    };
    let keys = |one, two| {
        format!(
            "statement: 'SELECT :\"a\", :\"b\"', parameters: [\
             {{name: a, type: identifier, allowed: [{}]}}, \
             {{name: b, type: identifier, allowed: [{}]}}]",
            names(one),
            names(two)
        )
    };
    let tool = definition(&keys(8, 8));
    let mut statements = tool.statements();
    statements.sort();
    statements.dedup();
    assert_eq!(statements.len(), 64);
    let expected = "identifiers have 72 combinations, at most 64";
    assert_eq!(problem(&keys(8, 9)), expected);
}

#[test]
fn the_schema_lists_what_callers_can_send_in_the_order_of_the_file() {
    let tool = definition(
        "statement: 'SELECT :z, :y, :x, :w, :v, :u ORDER BY :\"s\"', parameters: [\
         {name: z, type: string, description: Z, pattern: 'a|b', min_length: 1}, \
         {name: y, type: integer, min: 1, max: 9, default: 3}, \
         {name: s, type: identifier, allowed: [a, b], default: a}, \
         {name: x, type: string, from: user}, \
         {name: w, type: array, items: {type: date}, max_items: 5, required: false}, \
         {name: v, type: json, sensitive: true, default: {a: 1}}, \
         {name: u, type: number, min: 0.5}]",
    );
    let schema = crate::input_schema::of(&tool.parameters, false);
    let text = serde_json::to_string(&schema).expect("JSON");
    let order: Vec<_> = ["\"z\"", "\"y\"", "\"s\"", "\"w\"", "\"v\"", "\"u\""]
        .map(|name| text.find(&format!("{name}:")).expect(name))
        .into();
    assert!(order.is_sorted(), "{text}");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "z": {"type": "string", "description": "Z", "pattern": "^(?:a|b)$", "minLength": 1, "maxLength": 10000},
                "y": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
                "s": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "w": {"type": "array", "items": {"type": "string", "format": "date"}, "maxItems": 5},
                "v": {},
                "u": {"type": "number", "minimum": 0.5},
            },
            "required": ["z", "u"],
            "additionalProperties": false,
        })
    );
}
