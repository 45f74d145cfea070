//! Tests of resources, and of the tool that reads them.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::{Home, Postgres, Transports};

/// Reads a resource, and returns its only entry.
fn read(transports: &mut Transports, uri: &str) -> (String, String) {
    let answer = transports.call("resources/read", &json!({"uri": uri}));
    let result = answer["result"].as_object().expect("a result");
    assert_eq!(result.len(), 1, "{answer}");
    let contents = result["contents"].as_array().expect("a list");
    assert_eq!(contents.len(), 1, "{answer}");
    assert_eq!(contents[0]["uri"], uri, "{answer}");
    let text = |member: &str| contents[0][member].as_str().expect("a text").to_owned();
    (text("mimeType"), text("text"))
}

/// Members of the document, in order.
const FACTS: [&str; 16] = [
    "version",
    "os",
    "arch",
    "postgresql_version",
    "version_number",
    "full_version",
    "operating_system",
    "architecture",
    "compiler",
    "bit_version",
    "database",
    "user",
    "host",
    "port",
    "connection_name",
    "allow_writes",
];

#[test]
fn system_info_is_what_postgresql_reports() {
    let postgres = Postgres::new();
    let mut transports = Transports::open(Home::with(&postgres));
    let (mime_type, text) = read(&mut transports, "pg://system_info");
    assert_eq!(mime_type, "application/json");
    let members: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("  \"")?.split('"').next())
        .collect();
    assert_eq!(members, FACTS);
    let about: Value = serde_json::from_str(&text).expect("JSON");
    let version = about["version"].as_str().expect("a text");
    let question = |sql: &str| postgres.count(&format!("SELECT ({sql})::int::bigint"));
    assert_eq!(question(&format!("version() = '{version}'")), 1);
    assert_eq!(about["full_version"], version);
    let number = about["version_number"].as_str().expect("a text");
    assert_eq!(
        question(&format!(
            "current_setting('server_version_num') = '{number}'"
        )),
        1
    );
    let said = about["postgresql_version"].as_str().expect("a text");
    assert!(
        version.starts_with(&format!("PostgreSQL {said} ")),
        "{text}"
    );
    assert_eq!(about["os"], about["operating_system"]);
    assert_eq!(about["arch"], about["architecture"]);
    let arch = about["arch"].as_str().expect("a text");
    assert!(
        version.contains(&format!(" on {arch}, compiled by ")),
        "{text}"
    );
    assert_eq!(about["bit_version"], "64-bit");
    assert_eq!(about["database"], postgres.name());
    let [host, port, _, user, _] = postgres.environment().map(|(_, value)| value);
    assert_eq!(about["host"], host);
    assert_eq!(about["port"].to_string(), port);
    assert_eq!(about["user"], user);
    assert_eq!(about["connection_name"], "main");
    assert_eq!(about["allow_writes"], false);

    // The tool returns the same.
    let arguments = json!({"uri": "pg://system_info"});
    assert_eq!(transports.succeed("read_resource", &arguments), text);
}

#[test]
fn each_read_that_fails_has_its_error() {
    let mut home = Home::new();
    home.set("PGUSER", "nobody");
    home.set("PGHOST", "127.0.0.1");
    home.set("PGPORT", "1");
    let mut transports = Transports::open(home);
    for params in [
        json!({}),
        json!({"uri": null}),
        json!({"uri": 7}),
        json!({"uri": ["pg://system_info"]}),
    ] {
        let error = &transports.call("resources/read", &params)["error"];
        assert_eq!(error["code"], -32602, "{params}");
        assert_eq!(error["message"], "Invalid params", "{params}");
        let data = error["data"].as_str().expect("a text");
        assert!(data.contains("uri"), "{params}: {data}");
    }
    for uri in ["pg://nothing", "", "PG://SYSTEM_INFO", "file:///etc/passwd"] {
        let answer = transports.call("resources/read", &json!({"uri": uri}));
        assert_eq!(
            answer["error"],
            json!({"code": -32003, "message": "Resource not found", "data": uri})
        );
        let text = transports.fail("read_resource", &json!({"uri": uri}));
        let not_found = format!("Resource not found: {uri}");
        assert!(text.starts_with("Error reading resource: "), "{text}");
        assert!(text.contains(&not_found), "{text}");
    }
    for arguments in [json!({}), json!({"uri": 7}), json!({"list": "yes"})] {
        let text = transports.fail("read_resource", &arguments);
        let expected = "Error: 'uri' parameter is required. ";
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn the_tool_lists_the_resources() {
    let mut home = Home::new();
    home.set("PGUSER", "nobody");
    home.set("PGPORT", "1");
    let mut transports = Transports::open(home);
    let listed = transports.call("resources/list", &json!({}));
    let description = listed["result"]["resources"][0]["description"].as_str();
    let expected = format!(
        "Available Resources:\n====================\n\nURI: pg://system_info\n\
         Name: postgresql_system_info\nDescription: {}\nMIME Type: application/json\n\n",
        description.expect("a text")
    );
    for arguments in [json!({"list": true}), json!({"list": true, "uri": "x"})] {
        assert_eq!(transports.succeed("read_resource", &arguments), expected);
    }
}

#[test]
fn an_unreachable_database_is_described_in_the_error_with_its_cause_for_the_operator() {
    let mut home = Home::new();
    home.set("PGUSER", "nobody");
    home.set("PGHOST", "127.0.0.1");
    home.set("PGPORT", "1");
    home.set("PGPASSWORD", "hush-hush");
    let (_http, client) = home.serve(&["-no-auth"]);
    let (_program, mut stdio) = home.stdio(&[]);
    for over_stdio in [false, true] {
        let mut call = |method: &str, params: Value| {
            if over_stdio {
                stdio.call(&json!(1), method, &params)
            } else {
                client.call(method, &params)
            }
        };
        // The operator is the client of standard input and output.
        let check = |text: &str| {
            assert!(!text.contains("hush-hush"), "{text}");
            assert_eq!(text.contains("refused"), over_stdio, "{text}");
            assert_eq!(text.contains("see the log"), !over_stdio, "{text}");
        };
        let answer = call("resources/read", json!({"uri": "pg://system_info"}));
        let content = &answer["result"]["contents"][0];
        assert_eq!(content["mimeType"], "application/json");
        let text = content["text"].as_str().expect("a text");
        let error: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(error["error"], true);
        assert_eq!(error["code"], "DATABASE_NOT_READY");
        assert_eq!(error["retryable"], true);
        assert_eq!(error.as_object().expect("an object").len(), 4);
        let cause = "failed to connect to database 'default': ";
        let message = error["message"].as_str().expect("a text");
        assert!(message.starts_with(cause), "{message}");
        check(message);
        for (tool, arguments) in [
            ("query_database", json!({"query": "SELECT 1"})),
            ("count_rows", json!({"table": "t"})),
            ("execute_explain", json!({"query": "SELECT 1"})),
            ("get_schema_info", json!({})),
        ] {
            let result = call("tools/call", json!({"name": tool, "arguments": arguments}));
            assert_eq!(result["result"]["isError"], true, "{result}");
            let text = result["result"]["content"][0]["text"]
                .as_str()
                .expect("a text");
            let (first, hint) = text.split_once('\n').expect("two lines");
            let expected = format!("Failed to get database client: {cause}");
            assert!(
                first.starts_with(&expected) && !hint.is_empty(),
                "{tool}: {text}"
            );
            check(text);
        }
    }
}

#[test]
fn a_database_that_is_slow_to_connect_is_not_ready() {
    // The server accepts connections, and stays silent for longer than the start and a call wait.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("bound").port();
    let home = Home::new();
    home.configure(&format!(
        "databases: [{{name: main, host: 127.0.0.1, port: {port}, user: nobody, \
         sslmode: disable, connect_timeout: 6s}}]\n"
    ));
    let (_program, mut stdio) = home.stdio(&[]);
    let calls = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "query_database", "arguments": {"query": "SELECT 1"}}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "resources/read",
            "params": {"uri": "pg://system_info"}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "initialize"}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"}),
    ];
    for call in &calls {
        stdio.send(call);
    }
    // Calls that need no database do not wait for it.
    let [three, four] = [stdio.receive(), stdio.receive()];
    assert_eq!((&three["id"], &four["id"]), (&json!(3), &json!(4)));
    let mut rest = [stdio.receive(), stdio.receive()];
    rest.sort_by_key(|answer| answer["id"].as_i64());
    let [one, two] = rest;
    assert_eq!(
        one["error"],
        json!({"code": -32001, "message": "Database not ready"}),
        "{one}"
    );
    let text = two["result"]["contents"][0]["text"].as_str();
    let error: Value = serde_json::from_str(text.expect("a text")).expect("JSON");
    assert_eq!(error["code"], "DATABASE_NOT_READY", "{two}");
    assert_eq!(error["retryable"], true, "{two}");
    // Later the timeout of the connection has passed.
    let params = json!({"name": "query_database", "arguments": {"query": "SELECT 1"}});
    let mut answer = stdio.call(&json!(5), "tools/call", &params);
    if answer["error"]["code"] == -32001 {
        answer = stdio.call(&json!(6), "tools/call", &params);
    }
    let text = answer["result"]["content"][0]["text"].as_str();
    let expected = "Failed to get database client: failed to connect to database 'main': ";
    assert!(
        text.is_some_and(|text| text.starts_with(expected)),
        "{answer}"
    );
}

#[test]
fn without_a_database_there_is_an_error() {
    let mut transports = Transports::open(Home::new());
    let text = transports.fail("query_database", &json!({"query": "SELECT 1"}));
    assert!(
        text.starts_with("Failed to get database client: no databases are configured\n"),
        "{text}"
    );
    let (_, text) = read(&mut transports, "pg://system_info");
    assert!(text.contains("DATABASE_NOT_READY"), "{text}");
}
