//! Tests of who may use which endpoint of the console's API.

use serde_json::json;
use ziggurat_black_box::FakeIssuer;

use super::Server;
use crate::support::{Client, Postgres, records, until};

/// The server, as tokens of the issuer name it.
const RESOURCE: &str = "https://tools.example/mcp";

/// Callers, in the order of the expected statuses.
const CALLERS: [&str; 7] = [
    "none",
    "user",
    "another user",
    "token",
    "client",
    "administrator",
    "administrator who signed in long ago",
];

/// Stands for any status of a request that was let in.
const LET_IN: u16 = 0;

/// Statuses of requests that only administrators may send: reading, and changes after a sign-in.
const READING: [u16; 7] = [401, 403, 403, 403, 403, LET_IN, LET_IN];
const CHANGING: [u16; 7] = [401, 403, 403, 403, 403, LET_IN, 403];

/// A request that changes nothing, and its status for each caller. A body that is refused with 400
/// was let in.
type Case = (&'static str, &'static str, &'static str, [u16; 7]);

const CASES: [Case; 26] = [
    ("GET", "/api/console/session", "", [200; 7]),
    (
        "GET",
        "/api/schema",
        "",
        [401, 200, 200, 200, 200, 200, 200],
    ),
    (
        "POST",
        "/api/query",
        "{}",
        [401, 400, 400, 400, 400, 400, 400],
    ),
    (
        "POST",
        "/api/exports",
        r#"{"sql": " ", "format": "csv"}"#,
        [401, 400, 400, 403, 403, 400, 400],
    ),
    (
        "GET",
        "/api/exports/none",
        "",
        [401, 404, 404, 404, 404, 404, 404],
    ),
    (
        "GET",
        "/api/activity",
        "",
        [401, 200, 200, 200, 200, 200, 200],
    ),
    (
        "GET",
        "/api/activity?scope=all",
        "",
        [401, 403, 403, 403, 403, 200, 200],
    ),
    (
        "POST",
        "/api/activity/0/cancel",
        "",
        [401, 404, 404, 404, 404, 404, 404],
    ),
    (
        "GET",
        "/api/admin/tokens",
        "",
        [401, 403, 403, 403, 403, 200, 200],
    ),
    (
        "POST",
        "/api/admin/tokens",
        "[]",
        [401, 403, 403, 403, 403, 400, 403],
    ),
    (
        "DELETE",
        "/api/admin/tokens/none",
        "",
        [401, 403, 403, 403, 403, 404, 403],
    ),
    (
        "GET",
        "/api/admin/audit",
        "",
        [401, 403, 403, 403, 403, 200, 200],
    ),
    ("GET", "/api/admin/users", "", READING),
    ("POST", "/api/admin/users", "[]", CHANGING),
    ("PATCH", "/api/admin/users/none", "[]", CHANGING),
    ("DELETE", "/api/admin/users/none", "", CHANGING),
    ("DELETE", "/api/admin/users/none/sessions", "", CHANGING),
    ("GET", "/api/admin/databases", "", READING),
    ("POST", "/api/admin/databases/none/test", "", READING),
    ("GET", "/api/admin/configuration", "", READING),
    ("POST", "/api/admin/reload", "[]", CHANGING),
    ("GET", "/api/conversations", "", of_users(200)),
    ("GET", "/api/library", "", of_users(200)),
    ("POST", "/api/library", "{}", of_users(400)),
    ("PUT", "/api/library/none", ITEM, of_users(404)),
    ("DELETE", "/api/library/none", "", of_users(404)),
];

/// A query that is saved in place of another.
const ITEM: &str = r#"{"kind": "query", "title": "a", "text": "b", "version": 1}"#;

/// Endpoints that do not exist without authentication.
const OF_ACCOUNTS: [&str; 3] = ["/api/admin/", "/api/conversations", "/api/library"];

/// Returns the statuses of what users keep, which API tokens and clients do not.
const fn of_users(status: u16) -> [u16; 7] {
    [401, status, status, 403, 403, status, status]
}

fn status(client: &Client, (method, path, body, _): Case) -> u16 {
    let json = "content-type: application/json\r\n";
    client.send(method, path, json, body).status
}

/// Starts a server that trusts an issuer, and keeps its sessions in a database.
fn serve(state: &Postgres, issuer: &FakeIssuer) -> Server {
    let url = &issuer.url;
    Server::new(
        &format!(
            "audit: {{file: audit.jsonl}}\nstate: {{url: '{}'}}\n\
             http: {{auth: {{issuer: {{url: '{url}', jwks_url: '{url}/keys', \
             public_url: 'https://tools.example', when_unreachable: accept}}}}}}\n",
            state.url()
        ),
        &[],
    )
}

#[test]
fn each_endpoint_lets_in_the_callers_that_it_is_for() {
    let (sessions, issuer) = (Postgres::new(), FakeIssuer::start());
    let server = serve(&sessions, &issuer);
    let stale = server.user("ada");
    sessions.run("UPDATE ziggurat.sessions SET opened_at = opened_at - interval '20 minutes'");
    let clients = [
        server.client.clone(),
        server.user("bob"),
        server.user("eve"),
        server.client.bearing(super::TOKEN),
        server
            .client
            .bearing(&issuer.token(RESOURCE, "robot", &json!({}))),
        server.user("ada"),
        stale,
    ];
    for case in CASES {
        let (method, path, _, expected) = case;
        for ((client, name), expected) in clients.iter().zip(CALLERS).zip(expected) {
            let found = status(client, case);
            let is_let_in = ![401, 403].contains(&found);
            assert!(
                found == expected || expected == LET_IN && is_let_in,
                "{method} {path}: {name}: {found}"
            );
        }
    }
    // For a disabled user it is as with a wrong token.
    let [_, bob, ..] = &clients;
    let users = [
        records::user("ada", &["admin: true"]),
        records::user("bob", &["enabled: false"]),
    ];
    let path = server.home.users();
    server.home.replace(&path, &records::users(&users));
    until("the user is disabled", || {
        bob.get("/api/user/info").status == 401
    });
    for case in CASES {
        let (method, path, ..) = case;
        assert_eq!(status(bob, case), 401, "{method} {path}");
    }
}

#[test]
fn without_authentication_there_are_statements_and_no_administrators() {
    let server = Server::new("audit: {file: audit.jsonl}\n", &["-no-auth"]);
    for case in CASES {
        let (method, path, _, [_, user, ..]) = case;
        let is_of_accounts = OF_ACCOUNTS.iter().any(|it| path.starts_with(it));
        let expected = if is_of_accounts { 404 } else { user };
        assert_eq!(status(&server.client, case), expected, "{method} {path}");
    }
    let answer = server.client.get("/api/admin/audit");
    assert_eq!(answer.json(), json!({"error": "Not found"}));
}
