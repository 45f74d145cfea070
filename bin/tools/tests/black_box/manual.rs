//! What the manual tells people to do, done.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::{Command, Stdio},
};

use serde_json::json;

use crate::support::{Client, Home, Postgres};

const MANUAL: &str = include_str!("../../README.md");

/// The manual, and what the front page of the repository says about this program.
const BOTH: [&str; 2] = [MANUAL, include_str!("../../../../README.md")];

const SAMPLE: &str = "CREATE TABLE plants (id int PRIMARY KEY, name text);
    INSERT INTO plants VALUES (1, 'fern')";

/// The blocks of a document in this language.
fn blocks<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let rest = document.split(&*fence).skip(1);
    rest.map(|block| block.split("```").next().expect("an end"))
        .collect()
}

#[test]
fn every_configuration_is_understood() {
    let mut seen = 0;
    let all = BOTH.iter().flat_map(|document| blocks(document, "yaml"));
    // The front page has one for the other server, too.
    for configuration in all.filter(|text| !text.contains("pipelines:")) {
        let home = Home::new();
        // The files that are read whatever the program is to do.
        let configuration = &configuration
            .replace("/etc/ziggurat/postgresql-ca.crt", "\"\"")
            .replace("/etc/ziggurat/state-url", "\"\"");
        home.configure(configuration);
        let output = home.run(&["-list-users"], "");
        let remarks = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{configuration}{remarks}");
        assert!(!remarks.contains("WARN"), "{configuration}{remarks}");
        seen += 1;
    }
    assert_eq!(seen, 10);
}

#[test]
fn every_account_is_made_as_it_is_written() {
    let home = Home::new();
    home.configure("databases: [{name: shop, user: reader}]");
    let lines = BOTH.iter().flat_map(|document| document.lines());
    let lines = lines.filter_map(|line| {
        let line = line.strip_prefix("# ").or(line.strip_prefix("$ "))?;
        let line = line.strip_prefix("sudo -u ziggurat ").unwrap_or(line);
        let (program, rest) = line.split_once(' ')?;
        (program == "ziggurat-tools" && rest.contains("-add-")).then_some(rest)
    });
    let mut made = 0;
    for line in lines {
        // A shell knows better how the line is taken apart.
        let script = format!("exec \"$0\" {line} \"$@\"");
        let mut command = Command::new("sh");
        let program = home.command(&[]);
        let output = command
            .args(["-c", &*script.replace("-config shop.yaml ", "")])
            .arg(program.get_program())
            .args(program.get_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .and_then(|mut child| {
                let mut input = child.stdin.take().expect("piped");
                input.write_all(b"correct horse\ncorrect horse\n").ok();
                drop(input);
                child.wait_with_output()
            })
            .expect("a shell");
        assert!(output.status.success(), "{line}: {output:?}");
        made += 1;
    }
    assert_eq!(made, 3);
}

#[test]
fn the_role_can_read_and_cannot_write_even_where_writes_are_allowed() {
    let mut postgres = Postgres::with(SAMPLE);
    if postgres.count("SELECT rolsuper::int::bigint FROM pg_roles WHERE rolname = current_user")
        == 0
    {
        // A server that was given, to somebody who may not make such a role.
        return;
    }
    let role = postgres.role();
    let [sql] = blocks(MANUAL, "sql")[..] else {
        panic!("one block of SQL");
    };
    let (head, tail) = sql.split_once("'change me'").expect("a password");
    assert!(head.starts_with("CREATE ROLE reader LOGIN PASSWORD"));
    let tail = tail
        .replace("reader", &role)
        .replace("DATABASE shop", &format!("DATABASE {}", postgres.name()));
    postgres.run(&format!("ALTER ROLE {role} {tail}"));

    let home = Home::new();
    let entry = postgres.entry_as("main", &role);
    home.configure(&format!("databases:\n{entry}    allow_writes: true\n"));
    let token = home.token("main");
    let (_program, client) = home.serve(&[]);
    let client = client.bearing(&token);
    assert!(client.query("SELECT name FROM plants").ends_with("fern"));
    for (statement, refusal) in [
        ("DELETE FROM plants", "permission denied for table plants"),
        (
            "CREATE TABLE mine ()",
            "permission denied for schema public",
        ),
        (
            "CREATE TEMPORARY TABLE mine ()",
            "permission denied to create temporary tables",
        ),
    ] {
        let arguments = json!({"query": statement});
        let (text, is_error) = client.tool("query_database", &arguments);
        assert!(is_error && text.contains(refusal), "{statement}: {text}");
    }
    assert_eq!(postgres.count("SELECT count(*) FROM plants"), 1);
}

#[test]
fn behind_a_proxy_it_answers_to_its_name_and_counts_logins_by_client() {
    let postgres = Postgres::with(SAMPLE);
    let home = Home::new();
    let configuration = blocks(MANUAL, "yaml")
        .into_iter()
        .find(|block| block.contains("client_ip"))
        .expect("a configuration for a proxy");
    home.configure(&format!(
        "{configuration}  auth: {{rate_limit_max_attempts: 1}}\ndatabases:\n{}",
        postgres.entry("main")
    ));
    home.token("main");
    home.user("alice", "correct horse");
    let (_program, client) = home.serve(&[]);

    let login = |client: &Client, from: &str, password: &str| {
        let headers = format!("x-real-ip: {from}\r\ncontent-type: application/json\r\n");
        let arguments = json!({"username": "alice", "password": password});
        let params = json!({"name": "authenticate_user", "arguments": arguments});
        let call = json!(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        );
        client.send("POST", "/mcp/v1", &headers, &call.to_string())
    };
    assert_eq!(login(&client, "192.0.2.1", "wrong").status, 200);
    assert_eq!(login(&client, "192.0.2.1", "correct horse").status, 429);
    let answer = login(&client, "192.0.2.2", "correct horse");
    assert!(answer.body.contains("session_token"), "{answer:?}");

    for (host, status) in [("tools.example.com", 200), ("evil.example.com", 403)] {
        let mut stream = TcpStream::connect(client.address()).expect("listening");
        let request = format!("GET /docs HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        let expected = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expected), "{host}: {answer}");
    }
}
