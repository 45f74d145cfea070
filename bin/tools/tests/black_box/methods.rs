//! Tests of the protocol methods.

use serde_json::{Value, json};

use crate::support::{Home, Transports};

/// Starts servers with an unreachable database, because these tests need no database.
fn transports() -> Transports {
    let mut home = Home::new();
    home.set("PGUSER", "nobody");
    home.set("PGHOST", "127.0.0.1");
    home.set("PGPORT", "1");
    Transports::open(home)
}

fn names<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    let list = list.as_array().unwrap_or_else(|| panic!("a list: {list}"));
    list.iter()
        .map(|entry| entry[member].as_str().expect("a text"))
        .collect()
}

fn members(object: &Value) -> Vec<&str> {
    let object = object.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

/// Returns the error of an answer: its code, message and data.
fn error(answer: &Value) -> (i64, &str, Option<&str>) {
    assert_eq!(members(answer), ["error", "id", "jsonrpc"], "{answer}");
    let error = &answer["error"];
    let code = error["code"].as_i64().expect("a number");
    let message = error["message"].as_str().expect("a text");
    let data = error.get("data").map(|data| data.as_str().expect("a text"));
    (code, message, data)
}

#[test]
fn initialize_answers_with_the_one_revision_whatever_is_requested() {
    let mut transports = transports();
    let client = json!({"name": "test", "version": "1"});
    let asked = [
        json!({}),
        json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client}),
        json!({"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": client}),
        json!({"protocolVersion": "2026-07-28"}),
        json!({"protocolVersion": "1999-01-01", "something": ["else"]}),
        json!({"protocolVersion": ""}),
        json!({"capabilities": {}}),
    ];
    let version = env!("CARGO_PKG_VERSION");
    for params in asked {
        let answer = transports.call("initialize", &params);
        assert_eq!(
            answer["result"],
            json!({
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "ziggurat-tools", "version": version},
            }),
            "{params}"
        );
    }
    let health = transports.client.get("/health").json();
    assert_eq!(health["server"], "ziggurat-tools");
    assert_eq!(health["version"], version);
}

#[test]
fn initialize_refuses_params_that_are_malformed() {
    let mut transports = transports();
    let cases = [
        (json!({"protocolVersion": 20_241_105}), "protocolVersion"),
        (json!({"protocolVersion": null}), "protocolVersion"),
        (
            json!({"protocolVersion": ["2024-11-05"]}),
            "protocolVersion",
        ),
        (json!({"capabilities": []}), "capabilities"),
        (json!({"capabilities": "tools"}), "capabilities"),
        (json!({"clientInfo": "test"}), "clientInfo"),
        (json!({"clientInfo": {"name": 7}}), "clientInfo.name"),
        (json!({"clientInfo": {"version": 7}}), "clientInfo.version"),
    ];
    for (params, about) in cases {
        let answer = transports.call("initialize", &params);
        let (code, message, data) = error(&answer);
        assert_eq!((code, message), (-32602, "Invalid params"), "{params}");
        assert!(data.is_some_and(|data| data.contains(about)), "{answer}");
    }
}

#[test]
fn methods_work_without_initialize() {
    let mut transports = transports();
    assert_eq!(transports.call("ping", &json!({}))["result"], json!({}));
    let initialized = transports.call("notifications/initialized", &json!({}));
    assert_eq!(initialized["result"], json!({}));
    assert!(transports.call("tools/list", &json!({}))["result"].is_object());
    transports.call("initialize", &json!({}));
    transports.call("initialize", &json!({}));
    assert!(transports.call("prompts/list", &json!({}))["result"].is_object());
}

#[test]
fn methods_that_do_not_exist_are_not_found_without_details() {
    let mut transports = transports();
    let methods = [
        "nothing",
        "",
        "Ping",
        "tools/List",
        "tools/list ",
        "tools",
        "rpc.discover",
        "logging/setLevel",
        "resources/subscribe",
        "completion/complete",
        "roots/list",
    ];
    for method in methods {
        let answer = transports.call(method, &json!({}));
        assert_eq!(
            error(&answer),
            (-32601, "Method not found", None),
            "{method}"
        );
    }
    // `server/discover` probes for a later revision, which standard input and output supports.
    let answer = transports.client.call("server/discover", &json!({}));
    assert_eq!(error(&answer), (-32601, "Method not found", None));
}

#[test]
fn the_lists_are_sorted_and_the_same_every_time() {
    let mut transports = transports();
    let cases = [
        (
            "tools/list",
            "tools",
            "name",
            &[
                "generate_embedding",
                "get_schema_info",
                "query_database",
                "read_resource",
                "similarity_search",
            ][..],
        ),
        (
            "resources/list",
            "resources",
            "uri",
            &["pg://system_info"][..],
        ),
        (
            "resources/templates/list",
            "resourceTemplates",
            "uriTemplate",
            &[][..],
        ),
        (
            "prompts/list",
            "prompts",
            "name",
            &[
                "design-schema",
                "diagnose-query-issue",
                "explore-database",
                "setup-semantic-search",
            ][..],
        ),
    ];
    for (method, list, key, expected) in cases {
        let first = transports.call(method, &json!({}));
        let result = &first["result"];
        assert_eq!(members(result), [list], "{first}");
        let listed = names(&result[list], key);
        assert!(listed.is_sorted(), "{listed:?}");
        assert_eq!(listed, expected, "{method}");
        for params in [json!({"cursor": "x"}), json!({"cursor": 7}), json!({})] {
            assert_eq!(transports.call(method, &params), first, "{method} {params}");
        }
    }
}

#[test]
fn descriptors_have_the_members_of_their_revision_and_no_others() {
    let mut transports = transports();
    let answer = transports.call("tools/list", &json!({}));
    for tool in answer["result"]["tools"].as_array().expect("a list") {
        assert_eq!(members(tool), ["description", "inputSchema", "name"]);
        let name = tool["name"].as_str().expect("a text");
        let is_right = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(name.chars().all(is_right) && (1..=64).contains(&name.len()));
        assert_ne!(tool["description"], "", "{name}");
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        for member in members(schema) {
            assert!(["type", "properties", "required"].contains(&member));
        }
        let properties = schema["properties"].as_object().expect("an object");
        for (property, about) in properties {
            assert!(about["type"].is_string(), "{name}.{property}");
            assert_ne!(about["description"], "", "{name}.{property}");
            assert!(about["description"].is_string(), "{name}.{property}");
            if about["type"] == "array" {
                assert!(about["items"].is_object(), "{name}.{property}");
            }
        }
        for name in schema["required"].as_array().expect("a list") {
            assert!(properties.contains_key(name.as_str().expect("a text")));
        }
    }
    let answer = transports.call("resources/list", &json!({}));
    let resource = &answer["result"]["resources"][0];
    assert_eq!(
        members(resource),
        ["description", "mimeType", "name", "uri"]
    );
    assert_eq!(resource["name"], "postgresql_system_info");
    assert_eq!(resource["mimeType"], "application/json");
    assert_ne!(resource["description"], "");
}

#[test]
fn schemas_of_tools_describe_the_arguments() {
    let mut transports = transports();
    let answer = transports.call("tools/list", &json!({}));
    let tools = answer["result"]["tools"].as_array().expect("a list");
    let schema = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name);
        let mut schema = tool.unwrap_or_else(|| panic!("{name}"))["inputSchema"].clone();
        let properties = schema["properties"].as_object_mut().expect("an object");
        for property in properties.values_mut() {
            property.as_object_mut().expect("one").remove("description");
        }
        schema
    };
    assert_eq!(
        schema("query_database"),
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "default": 100, "minimum": 1, "maximum": 1000},
                "offset": {"type": "integer", "default": 0, "minimum": 0},
            },
            "required": ["query"],
        })
    );
    let about = schema("get_schema_info");
    assert_eq!(members(&about), ["properties", "required", "type"]);
    assert_eq!(about["required"], json!([]));
    assert_eq!(schema("read_resource")["required"], json!([]));
    let flag = json!({"type": "boolean", "default": false});
    let properties = &about["properties"];
    assert_eq!(properties["schema_name"], json!({"type": "string"}));
    assert_eq!(properties["table_name"], json!({"type": "string"}));
    assert_eq!(properties["vector_tables_only"], flag);
    assert_eq!(properties["compact"], flag);
    let about = schema("read_resource");
    assert_eq!(members(&about), ["properties", "required", "type"]);
    assert_eq!(about["properties"]["uri"]["type"], "string");
    assert_eq!(about["properties"]["list"]["type"], "boolean");
}

#[test]
fn a_tool_is_called_by_its_name_with_an_object() {
    let mut transports = transports();
    let malformed = [
        (json!({}), "name"),
        (json!({"arguments": {}}), "name"),
        (json!({"name": ""}), "name"),
        (json!({"name": null}), "name"),
        (json!({"name": 7, "arguments": {}}), "name"),
        (json!({"name": ["query_database"]}), "name"),
        (
            json!({"name": "query_database", "arguments": []}),
            "arguments",
        ),
        (
            json!({"name": "query_database", "arguments": "SELECT 1"}),
            "arguments",
        ),
        (
            json!({"name": "query_database", "arguments": null}),
            "arguments",
        ),
        (json!({"name": "nothing", "arguments": 1}), "arguments"),
    ];
    for (params, about) in malformed {
        let answer = transports.call("tools/call", &params);
        let (code, message, data) = error(&answer);
        assert_eq!((code, message), (-32602, "Invalid params"), "{params}");
        assert!(data.is_some_and(|data| data.contains(about)), "{answer}");
    }
    for name in ["nothing", "Query_Database", "query_database ", "é\n\"\\"] {
        let answer = transports.call("tools/call", &json!({"name": name, "arguments": {}}));
        assert_eq!(error(&answer), (-32002, "Tool not found", Some(name)));
    }
    // Missing arguments are empty, and unknown arguments are ignored.
    for arguments in [json!({}), json!({"nothing": [1]})] {
        let params = json!({"name": "query_database", "arguments": arguments, "_meta": {}});
        let text = transports.call("tools/call", &params);
        let expected = "Missing or invalid 'query' parameter";
        assert_eq!(text["result"]["content"][0]["text"], expected);
    }
    let text = transports.call("tools/call", &json!({"name": "query_database"}));
    assert_eq!(text["result"]["isError"], true, "{text}");
}

#[test]
fn a_login_needs_accounts_to_log_in_to() {
    let mut transports = transports();
    let cases = [
        (json!({}), "username is required"),
        (
            json!({"username": 7, "password": "x"}),
            "username must be a non-empty string",
        ),
        (
            json!({"username": "", "password": "x"}),
            "username must be a non-empty string",
        ),
        (json!({"username": "alice"}), "password is required"),
        (
            json!({"username": "alice", "password": ""}),
            "password must be a non-empty string",
        ),
        (
            json!({"username": "alice", "password": "x"}),
            "user authentication is not configured",
        ),
    ];
    for (arguments, expected) in cases {
        let params = json!({"name": "authenticate_user", "arguments": arguments});
        let answer = transports.call("tools/call", &params);
        let expected = (-32603, "Tool execution error", Some(expected));
        assert_eq!(error(&answer), expected, "{arguments}");
    }
}

#[test]
fn disabled_features_are_neither_listed_nor_available() {
    let home = Home::new();
    home.configure(
        "databases: [{name: main, user: nobody, host: 127.0.0.1, port: 1}]\n\
         builtins:\n  tools: {query_database: false, count_rows: false}\n  \
         resources: {system_info: false}\n  prompts: {design_schema: false}\n",
    );
    let mut transports = Transports::open(home);
    let tools = transports.call("tools/list", &json!({}));
    let listed = names(&tools["result"]["tools"], "name");
    assert!(!listed.contains(&"query_database"), "{listed:?}");
    assert!(listed.contains(&"get_schema_info"), "{listed:?}");
    for name in ["query_database", "count_rows"] {
        let text = transports.fail(name, &json!({"query": "SELECT 1"}));
        assert_eq!(text, format!("Tool '{name}' is not available"));
    }
    let resources = transports.call("resources/list", &json!({}));
    assert_eq!(resources["result"], json!({"resources": []}));
    let uri = "pg://system_info";
    let answer = transports.call("resources/read", &json!({"uri": uri}));
    assert_eq!(error(&answer), (-32003, "Resource not found", Some(uri)));
    let prompts = transports.call("prompts/list", &json!({}));
    let listed = names(&prompts["result"]["prompts"], "name");
    assert!(!listed.contains(&"design-schema"), "{listed:?}");
    let answer = transports.call("prompts/get", &json!({"name": "design-schema"}));
    assert_eq!(error(&answer).1, "Prompt execution error");
}
