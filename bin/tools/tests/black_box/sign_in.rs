//! Sign-in with a browser: a person gives a client the bare address.

mod administration;
mod attacks;
mod console;
mod entrances;
mod events;
mod refusals;
mod replicas;
mod rights;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Browser, Client, Home, OAuthClient, Postgres, Program, claims, granted, records,
    records::PASSWORD, until,
};

/// Databases and users of a server with a sign-in.
pub(super) struct Office {
    pub(super) postgres: Postgres,
    pub(super) home: Home,
}

impl Office {
    /// Has the writable database `shop`, the readable `logs`, and the users ann and bob, of whom bob
    /// may use the logs only.
    pub(super) fn new(more: &str) -> Self {
        let postgres = Postgres::with("CREATE TABLE orders (id int)");
        let home = Home::new();
        let (shop, logs) = (postgres.entry("shop"), postgres.entry("logs"));
        home.configure(&format!(
            "databases:\n{shop}    allow_writes: true\n{logs}{more}"
        ));
        let ann = records::user("ann", &["claims: {groups: [analysts]}"]);
        let bob = records::user("bob", &["available_databases: [logs]"]);
        home.replace(&home.users(), &records::users(&[ann, bob]));
        Self { postgres, home }
    }

    pub(super) fn serve(&self) -> (Program, Client) {
        self.home.serve(&["-oauth"])
    }

    pub(super) fn orders(&self) -> i64 {
        self.postgres.count("SELECT count(*) FROM orders")
    }
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

pub(super) const INSERT: &str = "INSERT INTO orders VALUES (1)";

/// Everything that a person may allow.
pub(super) const ALL: &[(&str, &str)] = &[
    ("database.shop", "1"),
    ("database.logs", "1"),
    ("write", "1"),
];

/// Calls `query_database` as a client that negotiates its revision does.
pub(super) fn query(client: &Client, database: &str, sql: &str) -> (String, bool) {
    let arguments = json!({"query": sql, "database": database});
    let params = json!({"name": "query_database", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
                   mcp-protocol-version: 2025-06-18\r\n";
    let answer = client.send("POST", "/mcp", headers, &call.to_string());
    let answer = answer.json();
    let text = answer["result"]["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("a text in {answer}"));
    (text.to_owned(), answer["result"]["isError"] == json!(true))
}

#[test]
fn a_client_finds_its_way_from_the_bare_address() {
    let office = Office::new("");
    let (_program, client) = office.serve();
    // No token file is there, and none is needed.
    let refused = client.send("POST", "/mcp", "content-type: application/json\r\n", PING);
    assert_eq!(refused.status, 401);
    let challenge = refused.header("www-authenticate").expect("a challenge");
    let port = client.address().rsplit_once(':').expect("a port").1;
    let issuer = format!("http://localhost:{port}");
    let document = "/.well-known/oauth-protected-resource/mcp";
    let expected = format!("Bearer scope=\"mcp\", resource_metadata=\"{issuer}{document}\"");
    assert_eq!(challenge, expected);
    let resource = client.get(document).json();
    assert_eq!(resource["resource"], json!(format!("{issuer}/mcp")));
    assert_eq!(resource["authorization_servers"], json!([issuer]));
    let server = client.get("/.well-known/oauth-authorization-server").json();
    assert_eq!(server["issuer"], json!(issuer));
    assert_eq!(server["client_id_metadata_document_supported"], json!(true));

    let program = OAuthClient::register(&client);
    let tokens = program.tokens("ann", PASSWORD, ALL);
    assert_eq!(tokens.scope, "mcp mcp:write");
    let facts = claims(&tokens.access);
    assert_eq!(facts["iss"], json!(issuer));
    assert_eq!(facts["sub"], json!("ann"));
    assert_eq!(facts["aud"], json!([format!("{issuer}/mcp")]));
    assert_eq!(facts["groups"], json!(["analysts"]));
    assert_eq!(facts["databases"], Value::Null, "all that ann may use");
    let ann = client.bearing(&tokens.access);
    let (text, _) = query(&ann, "shop", "SELECT 42 AS answer");
    assert!(text.contains("42"), "{text}");
    let info = ann.get("/api/user/info").json();
    assert_eq!(info["username"], json!("ann"), "{info}");
}

#[test]
fn a_server_with_a_sign_in_closes_its_connections_at_its_end() {
    let office = Office::new("");
    let (mut program, client) = office.serve();
    let tokens = OAuthClient::register(&client).tokens("ann", PASSWORD, ALL);
    query(&client.bearing(&tokens.access), "shop", "SELECT 1");
    program.signal(Signal::TERM);
    let status = program.ended();
    assert_eq!(status.code(), Some(0), "{}", program.log());
    assert!(
        !program.log().contains("not closed in time"),
        "{}",
        program.log()
    );
}

#[test]
fn a_refresh_works_after_a_restart_and_a_used_token_ends_the_grant() {
    let office = Office::new("");
    let (program, client) = office.serve();
    let registered = OAuthClient::register(&client);
    let first = registered.tokens("ann", PASSWORD, ALL);
    drop(program);
    let address = client.address().to_owned();
    let (_program, client) = office.home.serve(&["-oauth", "-addr", &address]);
    assert_eq!(
        client.bearing(&first.access).get("/api/user/info").status,
        200
    );
    let second = granted(&registered.refresh(&first.refresh));
    let third = granted(&registered.refresh(&second.refresh));
    let again = registered.refresh(&first.refresh);
    assert_eq!(
        (again.status, &again.json()["error"]),
        (400, &json!("invalid_grant"))
    );
    for token in [&first, &second, &third] {
        let refused = client.bearing(&token.access).get("/api/user/info");
        assert_eq!(refused.status, 401, "its grant has ended");
    }
    assert_eq!(registered.refresh(&third.refresh).status, 400);
}

#[test]
fn a_revoked_grant_ends_at_once_and_others_stay() {
    let office = Office::new("");
    let (_program, client) = office.serve();
    let registered = OAuthClient::register(&client);
    let [one, two] = [(); 2].map(|()| registered.tokens("ann", PASSWORD, ALL));
    let info = |token: &str| client.bearing(token).get("/api/user/info").status;
    assert_eq!((info(&one.access), info(&two.access)), (200, 200));
    assert_eq!(registered.revoke(&one.refresh).status, 200);
    assert_eq!((info(&one.access), info(&two.access)), (401, 200));
    assert_eq!(registered.revoke("unknown").status, 200);
}

#[test]
fn an_account_takes_its_grants_with_it() {
    let office = Office::new("");
    let (_program, client) = office.serve();
    let registered = OAuthClient::register(&client);
    let tokens = registered.tokens("ann", PASSWORD, ALL);
    let info = || client.bearing(&tokens.access).get("/api/user/info").status;
    assert_eq!(info(), 200);
    office.home.ran(&["-disable-user", "-username", "ann"], "");
    until("the account is disabled", || info() == 401);
    office.home.ran(&["-enable-user", "-username", "ann"], "");
    let again = || OAuthClient::register(&client).tokens("ann", PASSWORD, ALL);
    until("the account is enabled", || {
        let browser = Browser::new(&client);
        browser
            .sign_in(&registered.request("mcp"), "ann", PASSWORD)
            .status
            == 200
    });
    let fresh = again();
    assert_eq!(
        registered.refresh(&tokens.refresh).status,
        400,
        "its grant has ended"
    );
    office
        .home
        .ran(&["-delete-user", "-username", "ann"], "y\n");
    office.home.user("ann", "another correct horse");
    until("the account is another one", || {
        client.bearing(&fresh.access).get("/api/user/info").status == 401
    });
    let refused = registered.refresh(&fresh.refresh);
    assert_eq!(
        (refused.status, &refused.json()["error"]),
        (400, &json!("invalid_grant"))
    );
}
