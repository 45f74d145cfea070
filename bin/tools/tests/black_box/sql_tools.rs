//! Tests of the operator's own SQL tools.

mod hostile;
mod same_text;
mod trips;
mod values;
pub(crate) mod writing;

use std::fs;

use serde_json::{Value, json};

use self::writing::{asked, confirmed};
use crate::{
    revisions::{listed, result},
    support::{Client, Home, Postgres, records, records::PASSWORD},
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

/// Calls, the texts of their results, and their structures.
const FORMS: [(&str, &str, &str, &str); 9] = [
    (
        "rows",
        r#"{"customer": 7}"#,
        "Results (2 rows):\nid\ttotal\tnote\n1\t10.50\t\\N\n2\t3\ta|b\\tc\\nd",
        r#"{"columns": ["id", "total", "note"],
            "rows": [[1, "10.50", null], [2, "3", "a|b\tc\nd"]],
            "row_count": 2, "truncated": false}"#,
    ),
    (
        "rows",
        r#"{"customer": 1}"#,
        "No rows.",
        r#"{"columns": ["id", "total", "note"], "rows": [], "row_count": 0, "truncated": false}"#,
    ),
    (
        "first",
        "{}",
        "Results (1 rows shown, more available):\nid\tnote\n1\t\\N",
        r#"{"columns": ["id", "note"], "rows": [[1, null]], "row_count": 1, "truncated": true}"#,
    ),
    (
        "total",
        r#"{"customer": 7}"#,
        "13.50",
        r#"{"value": "13.50"}"#,
    ),
    (
        "total",
        r#"{"customer": 1}"#,
        "Nothing.",
        r#"{"value": null}"#,
    ),
    (
        "one",
        r#"{"id": 2}"#,
        "id: 2\nnote: a|b\\tc\\nd\nid: a|b\\tc\\nd",
        r#"{"record": {"id": 2, "note": "a|b\tc\nd"}}"#,
    ),
    ("one", r#"{"id": 9}"#, "No rows.", r#"{"record": {}}"#),
    (
        "data",
        r#"{"id": 3}"#,
        r#"{"columns":["id","day"],"rows":[[1,"2026-01-01"],[2,"2026-01-02"]],"row_count":2,"truncated":false}"#,
        r#"{"columns": ["id", "day"], "rows": [[1, "2026-01-01"], [2, "2026-01-02"]],
            "row_count": 2, "truncated": false}"#,
    ),
    (
        "table",
        "{}",
        "| id | note |\n| --- | --- |\n| 1 |  |\n| 2 | a\\|b\\tc\\nd |\n| 3 | x |",
        "null",
    ),
];

#[test]
fn a_result_has_one_of_five_forms() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, SHAPES);
    let (_program, client) = home.serve(&["-no-auth"]);
    let read = |json: &str| serde_json::from_str::<Value>(json).expect(json);
    for (name, arguments, expected, structure) in FORMS {
        let found = call(&client, name, &read(arguments));
        assert_eq!(found.get("isError"), None, "{found}");
        assert_eq!(text(&found), expected, "{name} {arguments}");
        assert_eq!(found["structuredContent"], read(structure), "{name}");
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
    let listed = |client| listed(client, |name| name.starts_with("of_"));
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

/// Returns the blocks of the manual, each with its language.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let fenced = MANUAL.split("```").skip(1).step_by(2);
    let block = |block: &'static str| block.split_once('\n').expect("a language");
    fenced.map(block).collect()
}

/// Starts with the tables and the definitions of the manual, each in a file of its own.
fn server_of_manual(blocks: &[(&str, &str)]) -> (Postgres, Postgres, Home) {
    let of = |language: &str| {
        let found = blocks.iter().filter(|(it, _)| *it == language);
        found.map(|(_, text)| *text).collect::<Vec<_>>()
    };
    let is_archive = |sql: &&str| sql.starts_with("-- In the database archive.");
    let (archive, shop): (Vec<_>, Vec<_>) = of("sql").into_iter().partition(is_archive);
    let (archive, shop) = (
        Postgres::with(&archive.concat()),
        Postgres::with(&shop.concat()),
    );
    let home = Home::new();
    let folder = home.file("definitions");
    fs::create_dir(&folder).expect("made");
    let definitions = of("yaml");
    assert_eq!(definitions.len(), 10);
    for (index, text) in definitions.into_iter().enumerate() {
        fs::write(folder.join(format!("{index:02}.yaml")), text).expect("written");
    }
    home.configure(&format!(
        "databases:\n{}    allow_writes: true\n{}custom_definitions_path: definitions\n",
        shop.entry("shop"),
        archive.entry("archive"),
    ));
    (archive, shop, home)
}

#[test]
fn the_examples_of_the_manual_have_the_answers_that_it_shows() {
    let blocks = blocks();
    let (_archive, _shop, home) = server_of_manual(&blocks);
    let (_program, client) = home.serve(&["-no-auth"]);
    let (mut called, mut answered) = (0, 0);
    let mut found = Value::Null;
    let mut call = Value::Null;
    for (language, text) in blocks {
        match language {
            "json" => {
                call = serde_json::from_str(text).expect(text);
                found = asked(&client, &call, &json!({}));
                called += 1;
            }
            "question" => {
                let message = &found["inputRequests"]["confirm"]["params"]["message"];
                assert_eq!(message, text.trim_end(), "{call}");
                found = asked(&client, &call, &confirmed(&found, true));
            }
            "answer" => {
                assert_eq!(self::text(&found), text.trim_end(), "{call}");
                answered += 1;
            }
            _ => {}
        }
    }
    assert_eq!((called, answered), (14, 14));
}
