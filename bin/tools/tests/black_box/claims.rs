//! Tests of claims, and of parameters that are filled with them.

mod commands;
mod issued;
mod secrecy;

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    support::{Client, Home, Postgres, records, records::PASSWORD, until},
    toolsets::{WAYS, invented, listed, send, whole},
};

const NOTES: &str = "
    CREATE TABLE notes (tenant text, note text);
    INSERT INTO notes VALUES ('acme', 'red'), ('globex', 'blue'), ('initech', 'green');";

const TOOLS: &str = r#"tools:
- name: own_notes
  description: The notes of the caller's tenant
  statement: SELECT note FROM notes WHERE tenant = :tenant
  parameters: [{name: tenant, type: string, from: {claim: tenant}}]
  result: value
- name: own_roles
  description: The roles of the caller
  statement: SELECT array_to_string(:roles, '+')
  parameters: [{name: roles, type: array, items: {type: string}, from: {claim: realm_access.roles}}]
  result: value
- name: own_level
  description: The level of the caller, and one that it sends
  statement: SELECT :level + coalesce(:more, 0)
  parameters:
  - {name: level, type: integer, from: {claim: level}, max: 9}
  - {name: more, type: integer, required: false}
  result: value
- name: own_name
  description: The name of the caller
  statement: SELECT :who
  parameters: [{name: who, type: string, from: caller}]
  result: value
- {name: of_two, description: A tool of a database, database: two, statement: "SELECT 2", result: value}
"#;

const OWN: [&str; 5] = ["of_two", "own_level", "own_name", "own_notes", "own_roles"];

/// Makes a server with the tools and two databases.
fn home(postgres: &Postgres, more: &str) -> Home {
    let home = Home::new();
    fs::write(home.file("own.yaml"), TOOLS).expect("written");
    configure(&home, postgres, more);
    home
}

fn configure(home: &Home, postgres: &Postgres, more: &str) {
    let entries = ["main", "two"].map(|name| postgres.entry(name)).concat();
    home.configure(&format!(
        "databases:\n{entries}custom_definitions_path: own.yaml\n{more}"
    ));
}

fn value(client: &Client, name: &str) -> String {
    let (text, is_error) = client.tool(name, &json!({}));
    assert!(!is_error, "{name}: {text}");
    text
}

/// Returns the tools of the file that a client sees, by the lists of all revisions.
fn seen(client: &Client) -> Vec<String> {
    let lists = WAYS.map(|way| {
        let names = listed(client, way, "tools/list", "tools/name").into_iter();
        let own = names.filter(|name| OWN.contains(&&**name));
        own.collect::<Vec<_>>()
    });
    assert!(lists.iter().all(|list| *list == lists[0]), "{lists:?}");
    lists[0].clone()
}

/// Checks that a caller sees these tools of the file, and that the others were never defined.
fn check(client: &Client, expected: &[&str]) {
    assert_eq!(seen(client), expected);
    for name in OWN {
        for (way, arguments) in WAYS
            .into_iter()
            .flat_map(|way| [(way, json!({})), (way, json!({"tenant": 7}))])
        {
            let call = |name: &str| {
                let params = json!({"name": name, "arguments": arguments});
                whole(&send(client, way, "tools/call", &params))
            };
            let other = invented(name);
            let is_unknown = call(name).replace(name, &other) == call(&other);
            assert_eq!(is_unknown, !expected.contains(&name), "{way} {name}");
        }
    }
}

#[test]
fn each_caller_gets_the_rows_of_its_own_claims() {
    let postgres = Postgres::with(NOTES);
    let home = home(&postgres, "");
    home.replace(
        &home.tokens(),
        &records::tokens(&[
            records::token(
                1,
                "one",
                &["claims: {tenant: acme, level: 7, realm_access: {roles: [a, b]}}"],
            ),
            records::token(
                2,
                "two",
                &["database: two", "claims: {tenant: globex, level: '8'}"],
            ),
            records::token(3, "three", &["claims: {tenant: [acme], level: 10}"]),
            records::token(4, "four", &[]),
        ]),
    );
    let claims = "claims: {tenant: initech, realm_access.roles: [c]}";
    let alice = records::user("alice", &[claims]);
    home.replace(&home.users(), &records::users(&[alice]));
    let (_program, stranger) = home.serve(&[]);
    let [one, two, three, four] =
        ["one", "two", "three", "four"].map(|token| stranger.bearing(token));
    let alice = stranger.logged_in("alice", PASSWORD);
    check(&one, &["own_level", "own_name", "own_notes", "own_roles"]);
    check(&two, &["of_two", "own_level", "own_name", "own_notes"]);
    check(&three, &["own_name"]);
    check(&four, &["own_name"]);
    check(&alice, &["of_two", "own_name", "own_notes", "own_roles"]);
    for _ in 0..2 {
        for (client, expected) in [(&one, "red"), (&two, "blue"), (&alice, "green")] {
            assert_eq!(value(client, "own_notes"), expected);
        }
    }
    assert_eq!(value(&one, "own_roles"), "a+b");
    assert_eq!(value(&alice, "own_roles"), "c");
    assert_eq!(value(&one, "own_level"), "7");
    assert_eq!(value(&two, "own_level"), "8");
    let (sum, _) = two.tool("own_level", &json!({"more": 4}));
    assert_eq!(sum, "12");
    assert_eq!(value(&two, "of_two"), "2");
    assert_eq!(value(&alice, "own_name"), "user:alice");
}

#[test]
fn a_bound_parameter_cannot_be_sent_in_any_spelling() {
    let postgres = Postgres::with(NOTES);
    let home = home(&postgres, "");
    let token = records::token(1, "one", &["claims: {tenant: acme}"]);
    home.replace(&home.tokens(), &records::tokens(&[token]));
    let (_program, stranger) = home.serve(&[]);
    let client = stranger.bearing("one");
    let refused = |way: &str, written: &str| {
        let name: String = serde_json::from_str(written).expect(written);
        let arguments = format!("{{{written}: \"globex\"}}");
        let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
        let params = json!({"name": "own_notes", "arguments": arguments});
        let answer = whole(&send(&client, way, "tools/call", &params));
        (name, answer)
    };
    for way in WAYS {
        let (_, unknown) = refused(way, r#""zenant""#);
        assert!(unknown.contains("Unknown argument: zenant"), "{unknown}");
        for written in [
            r#""tenant""#,
            r#""Tenant""#,
            r#""TENANT""#,
            r#"" tenant""#,
            r#""tenant ""#,
            r#""tenant\u0000""#,
            r#""\u0442enant""#,
            r#""tenant\u200b""#,
            r#""$1""#,
            r#"":tenant""#,
            r#""""#,
        ] {
            let (name, answer) = refused(way, written);
            let is_refused = answer.contains("Unknown argument: ");
            assert!(is_refused, "{way} {written}: {answer}");
            let has_rows = answer.contains("\"blue\"") || answer.contains("\"red\"");
            assert!(!has_rows, "{way} {written}: {answer}");
            if name.len() == "zenant".len() {
                assert_eq!(answer.replace(&name, "zenant"), unknown, "{way} {written}");
            }
        }
    }
    for arguments in [
        r#"{"ten\u0061nt":"globex"}"#,
        r#"{"tenant":"globex","tenant":"globex"}"#,
        r#"{"tenant":null}"#,
    ] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"own_notes","arguments":{arguments}}}}}"#
        );
        let answer = client.post("/mcp/v1", &call).body;
        assert!(answer.contains("rror"), "{answer}");
        let has_rows = answer.contains("\"blue\"") || answer.contains("\"red\"");
        assert!(!has_rows, "{answer}");
    }
    assert_eq!(value(&client, "own_notes"), "red");
}

#[test]
fn claims_change_with_the_file_of_their_token() {
    let postgres = Postgres::with(NOTES);
    let home = home(&postgres, "");
    let write = |claims: &str| {
        let token = records::token(1, "one", &[claims]);
        home.replace(&home.tokens(), &records::tokens(&[token]));
    };
    write("claims: {tenant: acme}");
    let (program, stranger) = home.serve(&[]);
    let client = stranger.bearing("one");
    assert_eq!(value(&client, "own_notes"), "red");
    write("claims: {tenant: globex, level: 3}");
    until("the new claim", || {
        client.tool("own_notes", &json!({})).0 == "blue"
    });
    assert_eq!(value(&client, "own_level"), "3");
    write("note2: none");
    until("no claim", || {
        let names = listed(&client, WAYS[0], "tools/list", "tools/name");
        !names.contains(&"own_notes".to_owned())
    });
    // A file with claims that are not valid is not used.
    program.until_it_says("claims: claim 'tenant' is not a text", || {
        write("claims: {tenant: [[swordfish]]}");
    });
    assert!(!program.log().contains("swordfish"));
    assert_eq!(seen(&client), ["own_name"]);
}

#[test]
fn the_local_caller_has_the_claims_of_the_configuration() {
    let postgres = Postgres::with(NOTES);
    let local = "identity: {local: {name: laptop, claims: {tenant: acme, level: 1}}}\n";
    let home = home(&postgres, local);
    let (program, client) = home.serve(&["-no-auth"]);
    check(&client, &["of_two", "own_level", "own_name", "own_notes"]);
    assert_eq!(value(&client, "own_notes"), "red");
    assert_eq!(value(&client, "own_name"), "local:laptop");
    let (_program, mut stdio) = home.stdio(&[]);
    let mut value = |name: &str| stdio.tool(name, &json!({})).0;
    assert_eq!(value("own_notes"), "red");
    assert_eq!(value("own_name"), "local:laptop");
    program.until_it_says("configuration reloaded", || {
        let local = "identity: {local: {claims: {tenant: globex}}}\n";
        configure(&home, &postgres, local);
        program.signal(Signal::HUP);
    });
    assert_eq!(self::value(&client, "own_notes"), "blue");
    assert_eq!(self::value(&client, "own_name"), "local");
    check(&client, &["of_two", "own_name", "own_notes"]);
}

#[test]
fn toolsets_and_claims_both_decide_what_is_seen() {
    let postgres = Postgres::with(NOTES);
    let sets = "toolsets:\n- {name: all, tools: ['own_*'], for: {everyone: true}}\n\
                audit: {file: audit.jsonl}\n";
    let home = home(&postgres, sets);
    home.replace(
        &home.tokens(),
        &records::tokens(&[
            records::token(1, "one", &["claims: {tenant: acme}"]),
            records::token(2, "two", &["database: two"]),
        ]),
    );
    let (mut program, stranger) = home.serve(&[]);
    let [one, two] = ["one", "two"].map(|token| stranger.bearing(token));
    check(&one, &["own_name", "own_notes"]);
    check(&two, &["own_name"]);
    program.signal(Signal::TERM);
    assert!(program.ended().success());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    for line in trail.lines().filter(|line| line.contains("\"tools/call\"")) {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let name = line["tool"].as_str().expect("a tool");
        let is_one = line["caller"]["name"] == "token-1";
        let is_hidden =
            OWN.contains(&name) && name != "own_name" && !(is_one && name == "own_notes");
        assert_eq!(line["hidden"] == true, is_hidden, "{line}");
    }
}
