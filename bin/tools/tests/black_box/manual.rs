//! Tests of the snippets in the manual and in `README.md`.

use std::{
    fs,
    io::{Read as _, Write as _},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Client, Home, Postgres, Program, Ran, connect, output_of};

const MANUAL: &str = include_str!("../../../../docs/src/tools.md");

/// The manual, and the section about this program in `README.md`.
const BOTH: [&str; 2] = [MANUAL, include_str!("../../../../README.md")];

const SAMPLE: &str = "CREATE TABLE plants (id int PRIMARY KEY, name text);
    INSERT INTO plants VALUES (1, 'fern')";

/// Returns the code blocks of a document in this language.
fn blocks<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let rest = document.split(&*fence).skip(1);
    rest.map(|block| block.split("```").next().expect("an end"))
        .collect()
}

/// Writes the files that a configuration names into a folder, and adapts their paths.
fn at_home(configuration: &str, home: &Home) -> String {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    let folder = format!("{}/", home.path().display());
    let mut text = configuration.to_owned();
    for root in ["/etc/ziggurat/", "/var/lib/ziggurat/"] {
        for rest in configuration.split(root).skip(1) {
            let name = rest.split_whitespace().next().expect("a name");
            let content = match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
                "crt" => made.cert.pem(),
                "key" => made.signing_key.serialize_pem(),
                "yaml" => String::new(),
                _ if name == "state-url" => "postgres://ziggurat@localhost/ziggurat".to_owned(),
                _ => "x".to_owned(),
            };
            fs::write(home.file(name), content).expect("written");
        }
        text = text.replace(root, &folder);
    }
    text
}

#[test]
fn every_configuration_is_valid() {
    let mut seen = 0;
    let all = BOTH.iter().flat_map(|document| blocks(document, "yaml"));
    // `README.md` has a configuration of another server too.
    for configuration in all.filter(|text| !text.contains("pipelines:")) {
        let home = Home::new();
        home.configure(&at_home(configuration, &home));
        fs::write(home.tokens(), "").expect("written");
        let ran = home.ran(&["-check-config"], "");
        assert_eq!(
            (ran.code, &*ran.stdout, &*ran.stderr),
            (Some(0), "the configuration is valid\n", ""),
            "{configuration}"
        );
        seen += 1;
    }
    assert_eq!(seen, 18);
}

/// Servers in the client configurations of the documents.
fn servers() -> Vec<Value> {
    let all = BOTH.iter().flat_map(|document| blocks(document, "json"));
    let servers = all.filter_map(|text| {
        let mut snippet: Value = serde_json::from_str(text).expect(text);
        let name = ["mcpServers", "servers"]
            .into_iter()
            .find(|name| snippet[name].is_object())?;
        Some(snippet[name]["shop"].take())
    });
    servers.collect()
}

#[test]
fn clients_that_start_the_server_need_only_the_snippet() {
    let postgres = Postgres::with(SAMPLE);
    let (url, password) = (postgres.url(), postgres.password());
    let mut without = url.clone();
    if !password.is_empty() {
        without = url.replacen(&format!(":{password}@"), "@", 1);
    }
    let mut seen = 0;
    for server in servers()
        .iter()
        .filter(|server| server["command"].is_string())
    {
        let program = server["command"].as_str().unwrap_or_default();
        assert!(program.ends_with("/ziggurat-tools"), "{server}");
        let filled = |text: &Value| {
            let text = text
                .as_str()
                .unwrap_or_else(|| panic!("a text in {server}"));
            text.replace("postgres://reader:<the password>@localhost/shop", &url)
                .replace("postgres://reader@localhost/shop", &without)
                .replace("<the password>", &password)
        };
        let arguments = server["args"].as_array().into_iter().flatten().map(filled);
        let variables = server["env"].as_object().into_iter().flatten();
        let variables = variables.map(|(name, value)| (name, filled(value)));
        let mut command = Command::new(env!("CARGO_BIN_EXE_ziggurat-tools"));
        command
            .args(arguments)
            .env_clear()
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (mut program, mut stdio) = Home::talking(&mut command);
        let params = json!({"protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "snippet", "version": "1"}});
        let answer = stdio.call(&json!(1), "initialize", &params);
        assert_eq!(
            answer["result"]["serverInfo"]["name"], "ziggurat-tools",
            "{answer}"
        );
        let query = json!({"query": "SELECT name FROM plants"});
        let (text, is_error) = stdio.tool("query_database", &query);
        assert!(!is_error && text.ends_with("fern"), "{server}: {text}");
        stdio.hang_up();
        assert!(program.ended().success());
        let log = program.whole_log();
        // The role of the test has more permissions than the manual recommends.
        let mut warnings = log.lines().filter(|line| line.contains("WARN"));
        assert!(
            warnings.all(|line| line.contains("the role has privileges beyond")),
            "{server}: {log}"
        );
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn clients_over_http_need_an_address_and_a_token() {
    let postgres = Postgres::with(SAMPLE);
    let home = Home::with(&postgres);
    let token = home.token("main");
    let (_program, client) = home.serve(&[]);
    let mut seen = 0;
    for server in servers().iter().filter(|server| server["url"].is_string()) {
        let url = server["url"].as_str().unwrap_or_default();
        let path = url.splitn(4, '/').nth(3).expect("a path");
        let mut headers = "content-type: application/json\r\n\
                           accept: application/json, text/event-stream\r\n"
            .to_owned();
        for (name, value) in server["headers"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            let value = value.replace("<the token>", &token);
            headers.extend([name, ": ", &value, "\r\n"]);
        }
        let params = json!({"protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "snippet", "version": "1"}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let answer = client.send("POST", &format!("/{path}"), &headers, &call.to_string());
        assert_eq!(answer.status, 200, "{server}: {answer:?}");
        assert!(
            answer.body.contains("ziggurat-tools"),
            "{server}: {answer:?}"
        );
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[test]
fn every_command_for_accounts_works_as_documented() {
    let home = Home::new();
    home.configure(
        "databases: [{name: shop, user: reader}]\ntoolsets: [{name: analyst, for: {local: true}}]",
    );
    let lines = BOTH.iter().flat_map(|document| document.lines());
    let lines = lines.filter_map(|line| {
        let line = line.strip_prefix("# ").or(line.strip_prefix("$ "))?;
        let line = line.strip_prefix("sudo -u ziggurat ").unwrap_or(line);
        let (program, rest) = line.split_once(' ')?;
        (program == "ziggurat-tools" && rest.contains("-add-")).then_some(rest)
    });
    let mut made = 0;
    for line in lines {
        // A shell splits the line into words.
        let script = format!("exec \"$0\" {line} \"$@\"");
        // A terminal asks for the password.
        let password: &[&str] = if line.contains("-add-user") {
            &["-password", "-"]
        } else {
            &[]
        };
        let mut command = Command::new("sh");
        let program = home.command(&[]);
        let output = command
            .args(["-c", &*script.replace("-config shop.yaml ", "")])
            .arg(program.get_program())
            .args(program.get_args())
            .args(password)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map(|mut child| {
                let mut input = child.stdin.take().expect("piped");
                input.write_all(b"correct horse\n").ok();
                drop(input);
                output_of(child)
            })
            .expect("a shell");
        assert!(output.status.success(), "{line}: {output:?}");
        made += 1;
    }
    assert_eq!(made, 5);
}

#[test]
fn the_commands_of_the_readme_make_a_token_and_serve_with_it() {
    let postgres = Postgres::with(SAMPLE);
    let [_, readme] = BOTH;
    let home = Home::new();
    let entry = postgres.entry("shop");
    fs::write(home.file("shop.yaml"), format!("databases:\n{entry}")).expect("written");
    let commands = readme
        .lines()
        .filter_map(|line| line.strip_prefix("$ ziggurat-tools "));
    let commands: Vec<_> = commands.map(|line| line.replace(":8080", ":0")).collect();
    let [add, serve] = &commands[..] else {
        panic!("two commands: {commands:?}");
    };
    let words = |line: &str| home.bare(&line.split(' ').collect::<Vec<_>>());
    let added = Ran::from(words(add).output().expect("built"));
    let token = added
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Token: "));
    let token = token.unwrap_or_else(|| panic!("a token: {} {}", added.stdout, added.stderr));
    let (_program, client) = Program::listening(&mut words(serve));
    assert_eq!(client.get("/api/databases").status, 401);
    let text = client.bearing(token).query("SELECT name FROM plants");
    assert!(text.contains("fern"), "{text}");
}

#[test]
fn the_role_can_read_and_cannot_write_even_where_writes_are_allowed() {
    let mut postgres = Postgres::with(SAMPLE);
    if postgres.count("SELECT rolsuper::int::bigint FROM pg_roles WHERE rolname = current_user")
        == 0
    {
        // With an external PostgreSQL, the user may not be allowed to create a role.
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
fn behind_a_proxy_it_accepts_its_name_and_counts_logins_by_client() {
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
        let mut stream = connect(client.address());
        let request = format!("GET /docs HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        let expected = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expected), "{host}: {answer}");
    }
}
