//! A tool server that accepts tokens of the service.

use std::{ffi::OsString, net::SocketAddr, sync::mpsc, thread};

use serde_json::{Value, json};
use ziggurat_black_box::{Answer, Folder, PATIENCE, Postgres, until};

use crate::support::{Client, Home, Session, request};

/// Starts a tool server in this process, which ends with the process.
fn tools(folder: &Folder, yaml: &str) -> Client {
    folder.replace(&folder.file("tools.yaml"), yaml);
    let config = folder.file("tools.yaml");
    let words: Vec<OsString> = ["-http", "-addr", "127.0.0.1:0", "-config"]
        .into_iter()
        .map(OsString::from)
        .chain([config.into()])
        .collect();
    let (tell, told) = mpsc::channel::<SocketAddr>();
    thread::spawn(move || ziggurat_tools::run(words, |address| tell.send(address).expect("heard")));
    let address = told.recv_timeout(PATIENCE).expect("listening");
    Client::new(address.to_string())
}

fn call(client: &Client, name: &str, arguments: &Value) -> Answer {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": name, "arguments": arguments}});
    request(client, "POST", "/mcp/v1", Some(&call))
}

fn yaml(issuer: &Client, folder: &Folder, databases: &str, more: &str) -> String {
    let files = folder.path().display();
    format!(
        "data_dir: {files}/data\nhttp:\n  auth:\n    token_file: {files}/none.yaml\n    user_file: {files}/nobody.yaml\n    \
         issuer:\n      url: http://{}\n      public_url: https://tools.example\n      \
         poll_interval: 1s\n{more}databases:\n{databases}",
        issuer.address()
    )
}

#[test]
fn a_client_uses_the_tools_until_it_is_deleted() {
    let postgres = Postgres::with("CREATE TABLE shop (id int)");
    let home = Home::new();
    home.configure("tokens: {audience: ['https://tools.example/mcp'], scope: mcp}\n");
    let (_program, admin, _) = home.started();
    let made = admin.send(
        "POST",
        "/clients",
        Some(&json!({"name": "a", "description": ""})),
    );
    let made = made.json();
    let token = Session::of(&admin.client, &made["auth0_id"], &made["auth0_secret"]).token;

    let folder = Folder::new();
    let entry = postgres.entry("open") + &postgres.entry("closed");
    let entry = format!("{entry}    available_to_clients: [nobody]\n");
    let tools = tools(
        &folder,
        &yaml(&admin.client, &folder, &entry, "      scopes: [mcp]\n"),
    );
    let refused = tools.get("/api/databases");
    assert_eq!(refused.status, 401);
    let challenge = refused.header("www-authenticate").expect("a challenge");
    let metadata = "https://tools.example/.well-known/oauth-protected-resource/mcp";
    assert_eq!(
        challenge,
        format!("Bearer scope=\"mcp\", resource_metadata=\"{metadata}\"")
    );
    for path in ["", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let said = tools.get(&path).json();
        assert_eq!(said["resource"], "https://tools.example/mcp");
        assert_eq!(
            said["authorization_servers"][0],
            format!("http://{}", admin.client.address())
        );
    }

    let client = tools.bearing(&token);
    let counted = call(&client, "count_rows", &json!({"table": "shop"}));
    assert_eq!(counted.status, 200, "{counted:?}");
    assert!(counted.body.contains('0'), "{counted:?}");
    let databases = client.get("/api/databases").json();
    assert_eq!(databases["databases"].as_array().map(Vec::len), Some(1));
    assert_eq!(databases["current"], "open");

    let path = format!("/clients/{}", made["id"].as_str().expect("an id"));
    assert_eq!(admin.send("DELETE", &path, None).status, 204);
    until("the tool server has heard of it", || {
        client.get("/api/databases").status == 401
    });
    let others = tools.bearing(&admin.token);
    assert_eq!(others.get("/api/databases").status, 200, "others stay");
}

#[test]
fn a_token_without_the_scope_or_of_another_issuer_is_refused() {
    let home = Home::new();
    home.configure("tokens: {audience: ['https://tools.example/mcp']}\n");
    let (_program, admin, _) = home.started();
    let other = Home::new();
    let (_other, elsewhere, _) = other.started();
    let folder = Folder::new();
    let database = "  - {name: a, host: 127.0.0.1, port: 1, user: nobody}\n";
    let tools = tools(
        &folder,
        &yaml(&admin.client, &folder, database, "      scopes: [mcp]\n"),
    );
    let answer = tools.bearing(&admin.token).get("/api/databases");
    assert_eq!(answer.status, 403, "{answer:?}");
    let challenge = answer.header("www-authenticate").expect("a challenge");
    assert!(challenge.starts_with("Bearer error=\"insufficient_scope\", scope=\"mcp\""));
    let answer = tools.bearing(&elsewhere.token).get("/api/databases");
    assert_eq!(answer.status, 401, "of another issuer");
    let challenge = answer.header("www-authenticate").expect("a challenge");
    assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
}
