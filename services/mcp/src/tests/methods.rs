use super::*;

const INITIALIZED: &str = r#""result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"ziggurat-tools","version":"1.2.3"}}"#;

#[test]
fn initialize_answers_its_own_revision_for_any_requested_one() {
    let cases = [
        "{}",
        "null",
        r#"{"protocolVersion":"2024-11-05"}"#,
        r#"{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}"#,
        r#"{"protocolVersion":"","clientInfo":{},"more":[1]}"#,
    ];
    let mcp = server();
    for params in cases {
        assert_eq!(ask(&mcp, "initialize", params), INITIALIZED, "{params}");
    }
}

fn assert_refused(cases: &[(&str, &str, &str)]) {
    let mcp = server();
    for (method, params, problem) in cases {
        let expected =
            format!(r#""error":{{"code":-32602,"message":"Invalid params","data":"{problem}"}}"#);
        assert_eq!(ask(&mcp, method, params), expected, "{method} {params}");
    }
}

#[test]
fn a_malformed_initialize_is_refused_and_the_member_is_named() {
    const VERSION: &str = "`protocolVersion` must be a string";
    const CLIENT: &str = "`clientInfo` must be an object";
    let cases = [
        (r#"{"protocolVersion":20241105}"#, VERSION),
        (r#"{"protocolVersion":null}"#, VERSION),
        (r#"{"capabilities":[]}"#, "`capabilities` must be an object"),
        (r#"{"clientInfo":"c"}"#, CLIENT),
        (r#"{"clientInfo":null}"#, CLIENT),
        (
            r#"{"clientInfo":{"name":1}}"#,
            "`clientInfo.name` must be a string",
        ),
        (
            r#"{"clientInfo":{"version":1}}"#,
            "`clientInfo.version` must be a string",
        ),
        ("[]", "`params` must be an object"),
    ];
    assert_refused(&cases.map(|(params, problem)| ("initialize", params, problem)));
}

#[test]
fn a_malformed_tool_call_is_refused_and_the_member_is_named() {
    const NAME: &str = "`name` must be a non-empty string";
    const ARGUMENTS: &str = "`arguments` must be an object";
    let cases = [
        ("{}", NAME),
        (r#"{"name":""}"#, NAME),
        (r#"{"name":["says"]}"#, NAME),
        (r#"{"name":null,"arguments":{}}"#, NAME),
        (r#"{"name":"says","arguments":[]}"#, ARGUMENTS),
        (r#"{"name":"says","arguments":"{}"}"#, ARGUMENTS),
        (r#"{"name":"says","arguments":null}"#, ARGUMENTS),
        (r#"{"name":"unknown","arguments":1}"#, ARGUMENTS),
        ("7", "`params` must be an object"),
    ];
    assert_refused(&cases.map(|(params, problem)| ("tools/call", params, problem)));
}

#[test]
fn a_malformed_read_or_prompt_is_refused_and_the_member_is_named() {
    const STRINGS: &str = "the values of `arguments` must be strings";
    assert_refused(&[
        ("resources/read", "{}", "`uri` must be a string"),
        ("resources/read", r#"{"uri":7}"#, "`uri` must be a string"),
        ("prompts/get", "{}", "`name` must be a non-empty string"),
        (
            "prompts/get",
            r#"{"name":"recites","arguments":[]}"#,
            "`arguments` must be an object",
        ),
        (
            "prompts/get",
            r#"{"name":"recites","arguments":{"loudly":true}}"#,
            STRINGS,
        ),
        (
            "prompts/get",
            r#"{"name":"recites","arguments":{"undeclared":1}}"#,
            STRINGS,
        ),
    ]);
}

#[test]
fn ping_and_an_initialized_that_waits_get_an_empty_object() {
    for method in ["ping", "notifications/initialized"] {
        assert_eq!(ask(&server(), method, "{}"), r#""result":{}"#, "{method}");
    }
}

#[test]
fn any_other_method_is_unknown() {
    let methods = [
        "server/discover",
        "logging/setLevel",
        "notifications/cancelled",
        "tools/LIST",
        "",
    ];
    for method in methods {
        assert_eq!(
            ask(&server(), method, "{}"),
            r#""error":{"code":-32601,"message":"Method not found"}"#,
            "{method}"
        );
    }
}

#[test]
fn a_notification_is_not_answered_and_not_acted_upon() {
    struct Untouchable;

    impl ToolHandler for Untouchable {
        fn describe(&self) -> ToolDescriptor {
            ToolDescriptor::new("untouchable", "Must not be called.", Schema::new())
        }

        async fn call(&self, _: ToolRequest) -> Result<ToolResult, Error> {
            panic!("called for nobody")
        }
    }

    let tools = Tools::new().with(Untouchable);
    let about = ServerInfo::new("test", "0");
    let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("well-formed");
    for method in [
        "tools/call",
        "tools/list",
        "notifications/initialized",
        "unknown",
    ] {
        let message =
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"name":"untouchable"}}}}"#);
        assert_eq!(answer(&mcp, read(message)), None, "{method}");
    }
}

#[test]
fn tools_are_listed_by_name_without_the_unlisted_and_the_disabled() {
    let list = concat!(
        r#""result":{"tools":["#,
        r#"{"name":"a-who","description":"Says who is calling.","inputSchema":{"type":"object","properties":{},"required":[]}},"#,
        r#"{"name":"read_resource","description":"Reads one of the server's resources by its URI, or lists them all. Resources are facts about the server and its database that need no query: ask for the list first if the URI is not known.","inputSchema":{"type":"object","properties":{"uri":{"type":"string","description":"The URI of the resource, as `list` shows it; for example pg://system_info."},"list":{"type":"boolean","description":"List the resources instead of reading one.","default":false}},"required":[]}},"#,
        r#"{"name":"says","description":"Says its arguments.","inputSchema":{"type":"object","properties":{"words":{"type":"string","description":"What to say."}},"required":["words"]}}"#,
        r#"]}"#,
    );
    let mcp = server();
    for params in ["{}", "null", r#"{"cursor":"next"}"#] {
        assert_eq!(ask(&mcp, "tools/list", params), list, "{params}");
    }
    let tools = Tools::new().with(Says).with(Who).with_disabled(["says"]);
    let about = ServerInfo::new("test", "0");
    let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("well-formed");
    let list = ask(&mcp, "tools/list", "{}");
    assert!(list.contains("a-who") && !list.contains("says\""), "{list}");
}

#[test]
fn a_tool_knows_which_others_its_client_can_see() {
    let tool = |name: &'static str| {
        let schema = Schema::new();
        Tool::with_schema(name, "Lists.", schema, |_: Value, call: ToolRequest| {
            let names = ["one", "off", "absent"];
            let listed = names.map(|name| call.listed_tools().has(name));
            async move { Ok(format!("{listed:?}")) }
        })
    };
    let tools = Tools::new().with(tool("one")).with(tool("off"));
    let tools = tools.with_disabled(["off"]);
    let about = ServerInfo::new("test", "0");
    let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("well-formed");
    let answer = ask(&mcp, "tools/call", r#"{"name":"one"}"#);
    assert!(answer.contains("[true, false, false]"), "{answer}");
}

#[test]
fn resources_are_listed_by_uri_and_there_are_no_templates() {
    let mcp = server();
    let list = ask_json(&mcp, "resources/list", r#"{"cursor":"next"}"#);
    let list = list["result"]["resources"].as_array().expect("a list");
    let uris: Vec<_> = list.iter().map(|resource| &resource["uri"]).collect();
    assert_eq!(
        uris,
        [
            "custom://a",
            "custom://b",
            "custom://broken",
            "custom://later"
        ]
    );
    assert_eq!(
        list[0].to_string(),
        r#"{"description":"Always the same.","mimeType":"text/plain","name":"Static","uri":"custom://a"}"#
    );
    assert_eq!(
        ask(&mcp, "resources/templates/list", "{}"),
        r#""result":{"resourceTemplates":[]}"#
    );
}
