//! Tests of toolsets that API tokens have themselves.

use serde_json::json;

use super::{TOKEN, check, serve};
use crate::support::{
    Client,
    records::{self, PASSWORD},
    until,
};

const TOOLSETS: &str = "toolsets:
- {name: counting, tools: [get_schema_info], rest: [databases], for: {users: [ada]}}
- {name: reading, tools: [query_database], rest: [query], for: {users: [ada]}}
";

/// Names of the tools that a client sees.
fn tools(client: &Client) -> Vec<String> {
    let listed = client.call("tools/list", &json!({}));
    let tools = listed["result"]["tools"]
        .as_array()
        .expect("a list")
        .clone();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

/// Statuses of requests to three areas of the REST API.
fn areas(client: &Client) -> [bool; 3] {
    let exists = |status: u16| status != 404;
    [
        exists(client.get("/api/databases").status),
        exists(client.post("/api/query", "{}").status),
        exists(client.post("/api/chat/compact", "{}").status),
    ]
}

#[test]
fn a_token_with_a_toolset_sees_exactly_that_set() {
    let server = serve(TOOLSETS, &[]);
    let ada = server.client.logged_in("ada", PASSWORD);
    assert_eq!(
        tools(&server.client.bearing(TOKEN)),
        [""; 0],
        "no set names it"
    );
    let path = "/api/admin/tokens";
    let made = ada.post(path, r#"{"toolsets": ["counting", "counting"]}"#);
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    assert_eq!(made["record"]["toolsets"], json!(["counting"]));
    let counting = server
        .client
        .bearing(made["token"].as_str().expect("a token"));
    until("it is known", || {
        counting.get("/api/databases").status == 200
    });
    assert_eq!(tools(&counting), ["get_schema_info"]);
    assert_eq!(areas(&counting), [true, false, false]);
    let hidden = json!({"name": "query_database", "arguments": {"query": "SELECT 1"}});
    let answer = counting.call("tools/call", &hidden);
    assert_eq!(answer["error"]["message"], "Tool not found", "{answer}");

    let unknown = ada.post(path, r#"{"toolsets": ["counting", "no such"]}"#);
    check(&unknown, 400, "unknown_toolset");
    let listed = ada.get(path).json();
    let sets: Vec<_> = listed["tokens"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| &it["toolsets"])
        .collect();
    assert_eq!(sets, [&json!(null), &json!(["counting"])]);
}

#[test]
fn a_command_makes_the_same_token_and_a_change_by_hand_counts() {
    let server = serve(TOOLSETS, &[]);
    let arguments = [
        "-add-token",
        "-token-note",
        "both",
        "-token-expiry",
        "never",
        "-token-database",
        "",
        "-token-toolset",
        "counting",
        "-token-toolset",
        "reading",
    ];
    let ran = server.home.ran(&arguments, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("Toolsets: counting, reading\n"),
        "{}",
        ran.stdout
    );
    let token = ran
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Token: "))
        .expect("a token");
    let client = server.client.bearing(token);
    until("it is known", || client.get("/api/databases").status == 200);
    let mut names = tools(&client);
    names.sort();
    assert_eq!(names, ["get_schema_info", "query_database"]);
    assert_eq!(areas(&client), [true, true, false]);
    let listed = server.home.ran(&["-list-tokens"], "").stdout;
    assert!(listed.contains("Toolsets: counting, reading\n"), "{listed}");

    let file = std::fs::read_to_string(server.home.tokens()).expect("a file");
    let file = file.replace("  - counting\n", "");
    server.home.replace(&server.home.tokens(), &file);
    until("the set is gone", || {
        client.get("/api/databases").status == 404
    });
    assert_eq!(areas(&client), [false, true, false]);

    let wrong = ["-add-token", "-token-toolset", "no such"];
    let ran = server.home.ran(&wrong, "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("unknown toolset: no such"),
        "{}",
        ran.stderr
    );
}

/// Adds a token with this member to the token file of a server, and returns its client.
fn with_token(server: &super::Server, member: &str) -> Client {
    let tokens = [
        records::token(1, TOKEN, &["database: main"]),
        records::token(2, "narrow", &["database: main", member]),
    ];
    let path = server.home.tokens();
    server.program.until_it_says("[AUTH] Reloaded ", || {
        server.home.replace(&path, &records::tokens(&tokens));
    });
    server.client.bearing("narrow")
}

#[test]
fn a_token_with_a_toolset_sees_nothing_where_there_are_none() {
    let server = serve("", &[]);
    let narrow = with_token(&server, "toolsets: [counting]");
    assert_eq!(tools(&narrow), [""; 0]);
    assert_eq!(areas(&narrow), [false; 3]);
    let call = json!({"name": "get_schema_info", "arguments": {}});
    let answer = narrow.call("tools/call", &call);
    assert_eq!(answer["error"]["message"], "Tool not found", "{answer}");
    // Others are unaffected.
    assert!(tools(&server.client.bearing(TOKEN)).len() > 3);
    let ran = server.home.ran(&["-http", "-check-config"], "");
    let told =
        "the API token token-2 sees nothing: it has toolsets, and the configuration has none";
    assert!(ran.stderr.contains(told), "{ran:?}");
}

#[test]
fn a_toolset_without_callers_is_for_the_tokens_that_name_it() {
    let without = "toolsets: [{name: counting, tools: [get_schema_info], rest: [databases]}]\n";
    let server = serve(without, &[]);
    let narrow = with_token(&server, "toolsets: [counting]");
    assert_eq!(tools(&narrow), ["get_schema_info"]);
    assert_eq!(areas(&narrow), [true, false, false]);
    assert_eq!(tools(&server.client.bearing(TOKEN)), [""; 0]);
    let ada = server.client.logged_in("ada", PASSWORD);
    assert_eq!(areas(&ada), [false; 3]);
}
