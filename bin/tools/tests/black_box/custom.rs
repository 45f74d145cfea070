//! Tests of the operator's custom prompts and resources.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Home, Postgres, Transports};

const DEFINITIONS: &str = r#"
prompts:
  - name: analyze-table
    description: Analyse one table
    arguments:
      - {name: table_name, description: Table to look at, required: true}
      - {name: deep, description: How, type: boolean}
    messages:
      - role: user
        content: {type: text, text: "Look at {{table_name}}, {{deep}}; {{table_name}}"}
      - role: assistant
        content: {type: text, text: "I see"}
  - name: zzz
    messages: [{role: user, content: {type: text, text: "plain"}}]
resources:
  - uri: custom://people
    name: People
    description: Who there is
    type: sql
    sql: SELECT id, name FROM people ORDER BY id
  - {uri: custom://none, name: None, type: sql, sql: SELECT 1 AS one WHERE false}
  - {uri: custom://many, name: Many, type: sql, sql: "SELECT generate_series(1, 5000) AS n"}
  - {uri: custom://write, name: Write, type: sql, sql: "DELETE FROM people"}
  - {uri: custom://wrong, name: Wrong, type: sql, sql: "SELECT * FROM nope"}
  - {uri: custom://limits, name: Limits, type: static, data: {max: 100, names: [a, [1, 2.5], null]}}
  - {uri: custom://word, name: Word, mimeType: text/plain, type: static, data: hello}
"#;

fn transports(postgres: &Postgres) -> Transports {
    let home = Home::new();
    fs::write(home.file("own.yaml"), DEFINITIONS).expect("written");
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\ncustom_definitions_path: {}\n",
        postgres.entry("main"),
        home.file("own.yaml").display(),
    ));
    Transports::open(home)
}

fn read(transports: &mut Transports, uri: &str) -> Value {
    let answer = transports.call("resources/read", &json!({"uri": uri}));
    let mut contents = answer["result"]["contents"].clone();
    assert_eq!(contents[0]["uri"], uri, "{answer}");
    contents[0].take()
}

#[test]
fn custom_definitions_are_listed_with_the_built_in_ones() {
    let postgres = Postgres::with(
        "CREATE TABLE people (id int, name text); INSERT INTO people VALUES (1, 'Ada'), (2, NULL)",
    );
    let mut transports = transports(&postgres);
    let answer = transports.call("prompts/list", &json!({}));
    let prompts = answer["result"]["prompts"].as_array().expect("a list");
    let names: Vec<_> = prompts.iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names.len(), 6);
    assert_eq!(
        (names[0], names[5]),
        (&json!("analyze-table"), &json!("zzz"))
    );
    assert_eq!(prompts[0]["arguments"][0]["required"], true);
    assert_eq!(prompts[0]["arguments"][1]["type"], "boolean");

    let answer = transports.call("resources/list", &json!({}));
    let resources = answer["result"]["resources"].as_array().expect("a list");
    let listed: Vec<_> = resources
        .iter()
        .map(|resource| {
            let text = |member: &str| resource[member].as_str().expect("a text");
            (text("uri"), text("mimeType"))
        })
        .collect();
    let tsv = "text/tab-separated-values";
    assert_eq!(
        listed,
        [
            ("custom://limits", "application/json"),
            ("custom://many", tsv),
            ("custom://none", tsv),
            ("custom://people", tsv),
            ("custom://word", "text/plain"),
            ("custom://write", tsv),
            ("custom://wrong", tsv),
            ("pg://system_info", "application/json"),
        ]
    );
}

#[test]
fn the_arguments_of_a_prompt_are_filled_in_once() {
    let postgres = Postgres::new();
    let mut transports = transports(&postgres);
    let cases = [
        (
            json!({"table_name": "t", "deep": "true"}),
            "Look at t, true; t",
        ),
        (
            json!({"table_name": "{{deep}}", "deep": "false"}),
            "Look at {{deep}}, false; {{deep}}",
        ),
        (
            json!({}),
            "Look at {{table_name}}, {{deep}}; {{table_name}}",
        ),
    ];
    for (arguments, expected) in cases {
        let params = json!({"name": "analyze-table", "arguments": arguments});
        let answer = transports.call("prompts/get", &params);
        let message = |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
        assert_eq!(
            answer["result"],
            json!({
                "description": "Analyse one table",
                "messages": [message("user", expected), message("assistant", "I see")],
            })
        );
    }
}

#[test]
fn resources_are_read_from_the_file_or_the_database() {
    let postgres = Postgres::with(
        "CREATE TABLE people (id int, name text); INSERT INTO people VALUES (1, 'Ada'), (2, NULL)",
    );
    let mut transports = transports(&postgres);
    let tsv = "text/tab-separated-values";
    let people = "id\tname\n1\tAda\n2\t\n";
    assert_eq!(
        read(&mut transports, "custom://people"),
        json!({"uri": "custom://people", "mimeType": tsv, "text": people})
    );
    let arguments = json!({"uri": "custom://people"});
    assert_eq!(transports.succeed("read_resource", &arguments), people);
    assert_eq!(read(&mut transports, "custom://none")["text"], "one\n");
    let many = read(&mut transports, "custom://many");
    let many = many["text"].as_str().expect("a text");
    assert!(many.starts_with("n\n1\n2\n") && many.ends_with('\n'));
    assert!(many.lines().count() <= 1001, "{}", many.lines().count());
    let limits: Value = json!({"max": 100, "names": ["a", [1, 2.5], null]});
    let text = read(&mut transports, "custom://limits");
    let text = text["text"].as_str().expect("a text");
    assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), limits);
    assert!(
        text.starts_with("{\n  \"max\": 100,\n  \"names\": [\n"),
        "{text}"
    );
    assert_eq!(
        read(&mut transports, "custom://word")["mimeType"],
        "text/plain"
    );

    for (uri, cause) in [
        (
            "custom://write",
            "ERROR: cannot execute DELETE in a read-only transaction (SQLSTATE 25006)",
        ),
        (
            "custom://wrong",
            "ERROR: relation \"nope\" does not exist (SQLSTATE 42P01)",
        ),
    ] {
        let error = &transports.call("resources/read", &json!({"uri": uri}))["error"];
        assert_eq!(error["code"], -32603, "{error}");
        assert_eq!(error["message"], "Resource read error", "{error}");
        let data = error["data"].as_str().expect("a text");
        assert!(data.contains(cause), "{data}");
        let text = transports.fail("read_resource", &json!({"uri": uri}));
        assert!(text.starts_with("Error reading resource: "), "{text}");
    }
    assert_eq!(postgres.count("SELECT count(*) FROM people"), 2);
}

#[test]
fn a_static_resource_needs_no_database() {
    let home = Home::new();
    fs::write(home.file("own.yml"), DEFINITIONS).expect("written");
    home.configure(&format!(
        "databases: [{{name: main, host: 127.0.0.1, port: 1, user: nobody}}]\n\
         custom_definitions_path: {}\n",
        home.file("own.yml").display(),
    ));
    let mut transports = Transports::open(home);
    assert!(
        read(&mut transports, "custom://word")["text"]
            .as_str()
            .is_some_and(|it| it.contains("hello"))
    );
    // Only the operator, at standard input and output, is told why.
    let params = json!({"uri": "custom://people"});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params});
    let [http, stdio] = transports.ask_each(&call.to_string());
    for (answer, is_told) in [(http, false), (stdio, true)] {
        assert!(answer.contains("DATABASE_NOT_READY"), "{answer}");
        assert_eq!(answer.contains("connection refused"), is_told, "{answer}");
    }
}

/// Invalid files, and their error messages.
const SENSELESS: [(&str, &str); 19] = [
    (
        "prompts: [{messages: [{role: user, content: {type: text, text: x}}]}]",
        "validation failed: prompt 0: name is required",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: text, text: x}}]}, {name: a, messages: [{role: user, content: {type: text, text: x}}]}]",
        "validation failed: prompt 1: duplicate prompt name: a",
    ),
    (
        "prompts: [{name: a}]",
        "validation failed: prompt 0: at least one message is required",
    ),
    (
        "prompts: [{name: a, arguments: [{description: x}], messages: [{role: user, content: {type: text, text: x}}]}]",
        "validation failed: prompt 0: argument name is required",
    ),
    (
        "prompts: [{name: a, messages: [{role: robot, content: {type: text, text: x}}]}]",
        "validation failed: prompt 0: message 0: invalid role \"robot\" (must be user, \
             assistant, or system)",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: film}}]}]",
        "validation failed: prompt 0: message 0: invalid content type \"film\" (must be text, \
             image, or resource)",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: text}}]}]",
        "text content requires 'text' field",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: text, text: \"{{b}}\"}}]}]",
        "template references undefined argument: b",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: image, mimeType: image/png}}]}]",
        "image content requires 'data' field",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: image, data: eA==}}]}]",
        "image content requires 'mimeType' field",
    ),
    (
        "prompts: [{name: a, messages: [{role: user, content: {type: resource}}]}]",
        "resource content requires 'uri' field",
    ),
    (
        "resources: [{name: a, type: static, data: 1}]",
        "validation failed: resource 0: uri is required",
    ),
    (
        "resources: [{uri: a, type: static, data: 1}]",
        "validation failed: resource 0: name is required",
    ),
    (
        "resources: [{uri: a, name: a, data: 1}]",
        "validation failed: resource 0: type is required",
    ),
    (
        "resources: [{uri: a, name: a, type: film}]",
        "validation failed: resource 0: invalid type \"film\" (must be sql or static)",
    ),
    (
        "resources: [{uri: a, name: a, type: sql}]",
        "validation failed: resource 0: sql type requires 'sql' field",
    ),
    (
        "resources: [{uri: a, name: a, type: static}]",
        "validation failed: resource 0: static type requires 'data' field",
    ),
    (
        "resources: [{uri: a, name: a, type: static, data: 1}, {uri: a, name: b, type: static, data: 1}]",
        "validation failed: resource 1: duplicate resource URI: a",
    ),
    ("prompts: [", ""),
];

#[test]
fn invalid_definitions_prevent_the_start() {
    let home = Home::new();
    let path = home.file("own.yaml");
    home.configure(&format!("custom_definitions_path: {}\n", path.display()));
    let refused = |complaint: &str| {
        for arguments in [&["-http", "-no-auth", "-addr", "127.0.0.1:0"][..], &[]] {
            let output = home.run(arguments, "");
            assert_eq!(output.status.code(), Some(1), "{complaint}");
            assert!(output.stdout.is_empty());
            let said = String::from_utf8(output.stderr).expect("text");
            let expected = "ERROR: Failed to load custom definitions: ";
            let line = said.lines().find(|line| line.starts_with(expected));
            assert!(line.is_some_and(|line| line.contains(complaint)), "{said}");
        }
    };
    for (yaml, complaint) in SENSELESS {
        fs::write(&path, yaml).expect("written");
        refused(complaint);
    }
    fs::remove_file(&path).expect("was there");
    refused("");
    home.configure("custom_definitions_path: own.toml\n");
    fs::write(home.file("own.toml"), "").expect("written");
    refused("unsupported file format: ");
}
