//! Tests of the tools for administrators: who has them, and their answers.

mod answers;

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::{
    revisions::{ask, listed, result},
    support::{Client, Home, Postgres, records, records::PASSWORD},
};

const TOOLS: [&str; 5] = [
    "active_sessions",
    "db_health",
    "index_advice",
    "lock_tree",
    "top_queries",
];

const ENABLED: &str = "dba: {enabled: true}\n";

/// A server with these sections, one database, and the users alice and bob.
fn home(postgres: &Postgres, sections: &str) -> Home {
    let home = Home::with(postgres);
    let users = ["alice", "bob"].map(|name| records::user(name, &[]));
    home.replace(&home.users(), &records::users(&users));
    home.replace(&home.tokens(), &records::tokens(&[]));
    home.configure(&format!("databases:\n{}{sections}", postgres.entry("main")));
    home
}

/// Returns the answers to a call of a tool, without its name: of `/mcp/v1`, and of `/mcp`.
fn called(client: &Client, name: &str) -> [String; 2] {
    let params = json!({"name": name, "arguments": {}});
    let answers = [
        client.call("tools/call", &params).to_string(),
        ask(client, "tools/call", &params).body,
    ];
    answers.map(|answer| answer.replace(name, ""))
}

/// Asserts which of the tools exist for a client, on `/mcp/v1` and on `/mcp`.
#[track_caller]
fn assert_has(client: &Client, expected: [&[&str]; 2]) {
    assert_eq!(listed(client, |name| TOOLS.contains(&name)), expected);
    let unknown = called(client, "invented");
    for name in TOOLS {
        let answers = called(client, name);
        for (at, names) in expected.iter().enumerate() {
            let is_unknown = answers[at] == unknown[at];
            assert_eq!(is_unknown, !names.contains(&name), "{name} {answers:?}");
        }
    }
}

#[test]
fn a_reload_adds_the_tools_and_takes_them_away() {
    let postgres = Postgres::new();
    let home = home(&postgres, "");
    let (program, client) = home.serve(&["-no-auth"]);
    for (sections, expected) in [(ENABLED, &TOOLS[..]), ("", &[])] {
        program.until_it_says("configuration reloaded from", || {
            home.configure(&format!("databases:\n{}{sections}", postgres.entry("main")));
            program.signal(Signal::HUP);
        });
        assert_has(&client, [&[], expected]);
    }
}

#[test]
fn the_tools_are_off_by_default_and_on_are_for_clients_that_negotiate() {
    let postgres = Postgres::new();
    for (sections, expected) in [
        ("", [&[][..], &[]]),
        ("dba: {enabled: false, for: {users: [alice]}}\n", [&[], &[]]),
        (ENABLED, [&[], &TOOLS]),
    ] {
        let (_program, client) = home(&postgres, sections).serve(&["-no-auth"]);
        assert_has(&client, expected);
    }
}

#[test]
fn the_tools_only_read_and_have_titles() {
    let postgres = Postgres::new();
    let (_program, client) = home(&postgres, ENABLED).serve(&["-no-auth"]);
    let tools = result(&client, "tools/list", &json!({}))["tools"].clone();
    for tool in tools.as_array().expect("a list") {
        if TOOLS.iter().any(|name| tool["name"] == *name) {
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
            assert!(tool["title"].is_string(), "{tool}");
            // There is only one database.
            assert!(tool["inputSchema"]["properties"]["database"].is_null());
        }
    }
}

const TOOLSETS: &str = "toolsets:
- {name: reader, tools: [query_database], for: {users: [alice, bob]}}
- {name: locks, tools: [lock_tree, \"top_*\"], for: {users: [bob]}}
";

#[test]
fn with_toolsets_the_callers_of_the_section_have_the_tools_and_others_single_ones() {
    let postgres = Postgres::new();
    let sections = format!("dba: {{enabled: true, for: {{users: [alice]}}}}\n{TOOLSETS}");
    let home = home(&postgres, &sections);
    let (program, stranger) = home.serve(&[]);
    let [alice, bob] = ["alice", "bob"].map(|name| stranger.logged_in(name, PASSWORD));
    assert_has(&alice, [&TOOLS, &TOOLS]);
    assert_has(&bob, [&["lock_tree"], &["lock_tree", "top_queries"]]);
    let (headers, body) = crate::revisions::modern("tools/list", &json!({}));
    let narrowed = |client: &Client| client.send("POST", "/mcp/x/dba", &headers, &body);
    let tools = narrowed(&alice).json()["result"]["tools"].clone();
    assert_eq!(tools.as_array().map(Vec::len), Some(TOOLS.len()), "{tools}");
    assert_eq!(narrowed(&bob).status, 404);

    // A reload moves them to another caller.
    let sections = sections.replace("for: {users: [alice]}", "for: {users: [bob]}");
    home.configure(&format!("databases:\n{}{sections}", postgres.entry("main")));
    program.until_it_says("configuration reloaded from", || {
        program.signal(Signal::HUP);
    });
    assert_has(&alice, [&[], &[]]);
    assert_has(&bob, [&TOOLS, &TOOLS]);
}

#[test]
fn without_callers_of_their_own_only_other_toolsets_have_the_tools() {
    let postgres = Postgres::new();
    let sections = format!("{ENABLED}{TOOLSETS}");
    let (_program, stranger) = home(&postgres, &sections).serve(&[]);
    assert_has(&stranger.logged_in("alice", PASSWORD), [&[], &[]]);
    let bob = stranger.logged_in("bob", PASSWORD);
    assert_has(&bob, [&["lock_tree"], &["lock_tree", "top_queries"]]);
}

/// Returns the lines that the check of a configuration prints, and its warnings.
fn checked(home: &Home) -> (String, String) {
    let ran = home.ran(&["-check-config"], "");
    (ran.stdout, ran.stderr)
}

#[test]
fn names_are_taken_while_the_tools_are_on() {
    let postgres = Postgres::new();
    let own = "custom_definitions_path: own.yaml\ntoolsets:\n- {name: dba, tools: [lock_tree], \
               for: {everyone: true}}\n";
    let valid = "the configuration is valid\n";
    let home = home(&postgres, own);
    fs::write(
        home.file("own.yaml"),
        "tools:\n- {name: lock_tree, description: D, statement: SELECT 1}\n",
    )
    .expect("written");
    home.replace(&home.tokens(), "");
    assert_eq!(checked(&home).0, valid);
    let with = |sections: &str| {
        home.configure(&format!("databases:\n{}{sections}", postgres.entry("main")));
        checked(&home)
    };
    let (said, _) = with(&format!("{ENABLED}{own}"));
    assert_eq!(said, "duplicate toolset: dba\n");
    let (said, _) = with(&format!("{ENABLED}custom_definitions_path: own.yaml\n"));
    let expected = "Failed to load custom definitions: own.yaml:2: tool 'lock_tree': duplicate tool \
                    name: lock_tree\n";
    assert_eq!(said, expected);
    let (said, _) = with(TOOLSETS);
    assert_eq!(said, "toolsets: 'locks': unknown tool: lock_tree\n");
    let (said, warned) = with("dba: {enabled: true, for: {users: [alice]}}\n");
    assert_eq!(said, valid);
    let expected = "dba.for has no effect without toolsets: every caller has the tools";
    assert!(warned.contains(expected), "{warned}");
    for (section, key) in [
        ("dba: {enable: true}\n", "dba.enable"),
        ("dba: {for: {user: [alice]}}\n", "dba.for.user"),
    ] {
        let (said, _) = with(section);
        assert!(said.starts_with(&format!("unknown key '{key}'")), "{said}");
    }
}
