use std::{collections::VecDeque, pin::Pin};

use http_body::Frame;
use proptest::prelude::*;

use super::*;

const MODERN: &str = "2026-07-28";

/// A body in several frames.
struct Pieces(VecDeque<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}

/// Headers and message of a call of revision 2026-07-28.
fn modern(
    method: &str,
    name: Option<&str>,
    params: Value,
) -> (Vec<(&'static str, String)>, String) {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut headers = vec![
        ("mcp-protocol-version", MODERN.to_owned()),
        ("mcp-method", method.to_owned()),
    ];
    headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
    (headers, message(method, &params))
}

fn send_modern(headers: &[(&'static str, String)], message: &str) -> Outcome {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    send(&headers, message)
}

#[test]
fn a_client_without_access_is_asked_to_authenticate() {
    for method in ["GET", "POST", "DELETE", "PUT"] {
        let request = Request::builder()
            .method(method)
            .body(Full::<Bytes>::default());
        let outcome = send_to(&layer(), request.expect("parts"), response("a/b", ""));
        assert_eq!(outcome.status, 401, "{method}");
        assert_eq!(outcome.headers["www-authenticate"], "Bearer", "{method}");
        assert!(outcome.sent.is_empty(), "{method}");
    }
}

#[cfg(feature = "bearer")]
#[test]
fn the_challenge_names_the_metadata_document() {
    let url = "https://a.example/.well-known/oauth-protected-resource";
    let challenge = crate::bearer::Challenge::new().with_resource_metadata(url);
    let layer = layer().with_challenge(&challenge.expect("a URL"));
    let request = Request::new(Full::<Bytes>::default());
    let outcome = send_to(&layer, request, response("a/b", ""));
    let expected = format!(r#"Bearer resource_metadata="{url}""#);
    assert_eq!(outcome.headers["www-authenticate"], expected);
}

#[test]
fn an_allowed_call_is_passed_on_byte_for_byte() {
    let message = "\n{\"jsonrpc\":\"2.0\",\"id\":1e2 , \"method\":\"tools\\/call\",\
        \"params\":{\"n\\u0061me\":\"se\\u0061rch\",\"arguments\":{\"Name\":1.0}}}\r\n";
    let message = message.replace("1e2", "12");
    let outcome = send(&[("x-kept", "yes"), ("upgrade", "h2c")], &message);
    let [sent] = outcome.sent.try_into().expect("one request");
    assert_eq!(sent.headers()["x-kept"], "yes");
    assert!(!sent.headers().contains_key("upgrade"));
    assert_eq!(sent.body().size_hint().exact(), Some(message.len() as u64));
    assert_eq!(Bytes::from(sent.into_body()), message);
}

#[test]
fn a_body_in_pieces_is_joined_before_it_is_checked() {
    let bad = message("tools/call", &json!({"name": "drop"}));
    let (first, rest) = bad.split_at(bad.len() - 8);
    let pieces = [first, rest].map(|piece| Bytes::from(piece.to_owned()));
    let mut request = Request::post("/")
        .body(Pieces(pieces.into()))
        .expect("parts");
    request.extensions_mut().insert(some_access());
    let outcome = send_to(&layer(), request, response("application/json", "{}"));
    assert_eq!(outcome.code(), Some(-32602));
    assert!(outcome.sent.is_empty());
}

fn params(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn allowed_names_pass() {
    for (method, json) in [
        ("tools/call", r#"{"name":"search"}"#),
        ("tools/call", r#"{"name":"report_sales"}"#),
        ("prompts/get", r#"{"name":"summary"}"#),
        ("resources/read", r#"{"uri":"db://status"}"#),
        ("resources/read", r#"{"uri":"file:///handbook/a"}"#),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"summary"}}"#,
        ),
        (
            "subscriptions/listen",
            r#"{"notifications":{"toolsListChanged":true}}"#,
        ),
        (
            "subscriptions/listen",
            r#"{"notifications":{"resourceSubscriptions":["db://status"]}}"#,
        ),
    ] {
        assert_eq!(call(method, &params(json)), Ok(()), "{method} {json}");
    }
}

#[test]
fn tools_and_prompts_that_are_not_allowed_are_unknown() {
    for (method, json, message) in [
        ("tools/call", r#"{"name":"drop"}"#, "Unknown tool: drop"),
        ("tools/call", r#"{"name":"Search"}"#, "Unknown tool: Search"),
        (
            "tools/call",
            r#"{"name":"search "}"#,
            "Unknown tool: search ",
        ),
        ("tools/call", r#"{"name":""}"#, "Unknown tool: "),
        (
            "prompts/get",
            r#"{"name":"search"}"#,
            "Unknown prompt: search",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"secret"}}"#,
            "Unknown prompt: secret",
        ),
    ] {
        let expected = json!({"code": -32602, "message": message});
        assert_eq!(
            call(method, &params(json)),
            Err(expected),
            "{method} {json}"
        );
    }
}

#[test]
fn resources_that_are_not_allowed_are_not_found() {
    for (method, json, uri) in [
        (
            "resources/read",
            r#"{"uri":"db://status/x"}"#,
            "db://status/x",
        ),
        (
            "resources/subscribe",
            r#"{"uri":"db://other"}"#,
            "db://other",
        ),
        (
            "resources/unsubscribe",
            r#"{"uri":"db://other"}"#,
            "db://other",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/resource","uri":"secret://{x}"}}"#,
            "secret://{x}",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"summary","uri":"secret://{x}"}}"#,
            "secret://{x}",
        ),
        (
            "subscriptions/listen",
            r#"{"notifications":{"resourceSubscriptions":["db://status","db://other"]}}"#,
            "db://other",
        ),
    ] {
        let message = "Resource not found";
        let expected = json!({"code": -32002, "message": message, "data": {"uri": uri}});
        assert_eq!(
            call(method, &params(json)),
            Err(expected),
            "{method} {json}"
        );
    }
}

#[test]
fn other_methods_do_not_exist() {
    for method in [
        "tasks/get",
        "logging/setLevel",
        "tools/call ",
        "TOOLS/CALL",
        "",
    ] {
        let error = call(method, &json!({"name": "search"})).expect_err("refused");
        assert_eq!(
            error,
            json!({"code": -32601, "message": "Method not found"}),
            "{method}"
        );
    }
}

#[test]
fn names_of_the_wrong_type_never_reach_the_server() {
    for (method, params) in [
        ("tools/call", json!({})),
        ("tools/call", json!({"name": 5})),
        ("tools/call", json!({"name": null})),
        ("tools/call", json!({"name": ["search"]})),
        ("tools/call", json!(["search"])),
        ("tools/call", json!({"uri": "db://status"})),
        ("prompts/get", json!({"name": {}})),
        ("resources/read", json!({"name": "summary"})),
        ("completion/complete", json!({})),
        ("completion/complete", json!({"ref": "summary"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt"}}),
        ),
        ("subscriptions/listen", json!({"notifications": []})),
        (
            "subscriptions/listen",
            json!({"notifications": {"resourceSubscriptions": "x"}}),
        ),
        (
            "subscriptions/listen",
            json!({"notifications": {"resourceSubscriptions": [1]}}),
        ),
    ] {
        let error = call(method, &params).expect_err("refused");
        assert_eq!(error["code"], -32602, "{method} {params}");
    }
}

#[test]
fn an_identity_with_no_access_can_still_set_up_a_conversation() {
    for method in [
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "notifications/initialized",
        "notifications/cancelled",
    ] {
        let text = message(method, &json!({}));
        let request = request(Access::nothing(), &[], &text);
        let served = response(
            "application/json",
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        );
        let outcome = send_to(&layer(), request, served);
        assert_eq!(outcome.sent.len(), 1, "{method}");
    }
}

#[test]
fn listed_methods_replace_those_that_name_things() {
    let access = Access::everything().with_methods(["tools/call", "tasks/*"]);
    for (method, expected) in [
        ("tools/call", true),
        ("tasks/get", true),
        ("ping", true),
        ("tools/list", false),
        ("resources/read", false),
    ] {
        let text = message(method, &json!({"name": "x", "uri": "x"}));
        let request = request(access.clone(), &[], &text);
        let outcome = send_to(&layer(), request, response("application/json", "{}"));
        assert_eq!(outcome.sent.len(), usize::from(expected), "{method}");
    }
}

#[test]
fn a_prefix_cannot_be_left_with_dot_segments() {
    let access = some_access();
    for (uri, expected) in [
        ("file:///handbook/a/b", true),
        ("file:///handbook/", true),
        ("file:///handbook/a..b", true),
        ("file:///handbook", false),
        ("FILE:///handbook/a", false),
        ("file:///handbook/../x", false),
        ("file:///handbook/..", false),
        ("file:///handbook/%2e%2E/x", false),
        ("file:///handbook/..%2fx", false),
        ("file:///handbook/..\\x", false),
        ("file:///handbook/.\t./x", false),
        ("file:///handbook/./x", false),
    ] {
        assert_eq!(access.allows_resource(uri), expected, "{uri:?}");
    }
    assert!(Access::everything().allows_resource("file:///a/../b"));
}

#[test]
fn messages_that_two_readers_understand_differently_are_refused() {
    for (text, code) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
            -32700,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}"#,
            -32700,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"PARAM\u017f":{}}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"METHOD":"tools/call"}"#,
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","Name":"drop"}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","name":"drop"}}"#,
            -32700,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"name":"summary","NAME":"drop"}}}"#,
            -32602,
        ),
        ("\u{feff}{}", -32700),
        ("", -32700),
        ("{} {}", -32700),
        ("7", -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call"}"#,
            -32600,
        ),
    ] {
        let outcome = send(&[], text);
        assert_eq!(outcome.code(), Some(code), "{text}");
        assert!(outcome.sent.is_empty(), "{text}");
    }
}

#[test]
fn the_answer_of_a_client_to_the_server_is_passed_on() {
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}"#,
    ] {
        assert_eq!(send(&[], text).sent.len(), 1, "{text}");
    }
}

#[test]
fn a_notification_that_is_not_allowed_is_dropped() {
    for text in [
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"drop"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":["drop"]}"#,
    ] {
        let outcome = send(&[], text);
        assert_eq!((outcome.status, outcome.text()), (202, ""), "{text}");
        assert!(outcome.sent.is_empty(), "{text}");
    }
}

#[test]
fn a_batch_is_passed_on_whole_or_not_at_all() {
    let ping = r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let drop = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"drop"}}"#;
    assert_eq!(send(&[], &format!("[{ping},{note}]")).sent.len(), 1);

    let outcome = send(&[], &format!("[{ping},{note},{drop},7]"));
    assert!(outcome.sent.is_empty());
    let codes: Vec<_> = outcome
        .json()
        .as_array()
        .expect("a batch")
        .iter()
        .map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
        .collect();
    let expected = [
        (json!("a"), json!(-32600)),
        (json!(2), json!(-32602)),
        (Value::Null, json!(-32600)),
    ];
    assert_eq!(codes, expected);

    let outcome = send(&[], r#"[{"jsonrpc":"2.0","method":"x"}]"#);
    assert_eq!((outcome.status, outcome.text()), (202, ""));
    assert_eq!(send(&[], "[]").code(), Some(-32600));
    let many = format!("[{}{ping}]", format!("{ping},").repeat(32));
    assert_eq!(send(&[], &many).code(), Some(-32600));
    let version = [("mcp-protocol-version", MODERN)];
    assert_eq!(send(&version, &format!("[{ping}]")).code(), Some(-32600));
    let (_, modern) = modern("ping", None, json!({}));
    let outcome = send(&[], &format!("[{modern}]"));
    assert_eq!(outcome.json()[0]["error"]["code"], -32600);
    assert!(outcome.sent.is_empty());
}

#[test]
fn headers_of_a_modern_call_must_match_its_message() {
    let (headers, text) = modern("tools/call", Some("search"), json!({"name": "search"}));
    assert_eq!(send_modern(&headers, &text).sent.len(), 1);

    let encoded = [
        &headers[..2],
        &[("mcp-name", "=?base64?c2VhcmNo?=".to_owned())],
    ]
    .concat();
    assert_eq!(send_modern(&encoded, &text).sent.len(), 1);

    for (change, problem) in [
        (
            ("mcp-protocol-version", None),
            "mcp-protocol-version is missing",
        ),
        (
            ("mcp-protocol-version", Some("2025-06-18")),
            "mcp-protocol-version does not match",
        ),
        (("mcp-method", None), "mcp-method is missing"),
        (
            ("mcp-method", Some("tools/list")),
            "mcp-method does not match",
        ),
        (
            ("mcp-method", Some("Tools/Call")),
            "mcp-method does not match",
        ),
        (("mcp-name", None), "mcp-name is missing"),
        (("mcp-name", Some("drop")), "mcp-name does not match"),
        (
            ("mcp-name", Some("=?base64?c2VhcmNo=?=")),
            "mcp-name has an invalid encoding",
        ),
    ] {
        let mut headers = headers.clone();
        headers.retain(|(name, _)| *name != change.0);
        headers.extend(change.1.map(|value| (change.0, value.to_owned())));
        let outcome = send_modern(&headers, &text);
        assert_eq!(
            (outcome.status, outcome.code()),
            (400, Some(-32020)),
            "{change:?}"
        );
        assert!(
            outcome.text().contains(problem),
            "{problem}: {}",
            outcome.text()
        );
        assert!(outcome.sent.is_empty(), "{change:?}");
    }
    for name in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
        let mut headers = headers.clone();
        let repeated = headers.iter().find(|header| header.0 == name).cloned();
        headers.extend(repeated);
        assert_eq!(
            send_modern(&headers, &text).code(),
            Some(-32020),
            "{name} twice"
        );
    }
}

#[test]
fn a_modern_call_without_a_revision_in_its_message_is_refused() {
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "ping")];
    for params in [json!({}), json!({"_meta": {}}), json!({"_meta": 1})] {
        let outcome = send(&headers, &message("ping", &params));
        assert_eq!(
            (outcome.status, outcome.code()),
            (400, Some(-32602)),
            "{params}"
        );
    }
}

#[test]
fn modern_refusals_have_the_status_and_code_of_the_revision() {
    let (headers, text) = modern("resources/read", Some("x://y"), json!({"uri": "x://y"}));
    let outcome = send_modern(&headers, &text);
    assert_eq!((outcome.status, outcome.code()), (400, Some(-32602)));
    assert_eq!(outcome.json()["error"]["data"], json!({"uri": "x://y"}));
    let (headers, text) = modern("tasks/get", None, json!({}));
    let outcome = send_modern(&headers, &text);
    assert_eq!((outcome.status, outcome.code()), (404, Some(-32601)));
}

#[test]
fn headers_of_an_older_revision_may_be_absent_but_not_wrong() {
    let text = message("tools/call", &json!({"name": "search"}));
    let version = ("mcp-protocol-version", "2025-06-18");
    for (headers, expected) in [
        (vec![version], 1),
        (vec![version, ("mcp-method", "tools/call")], 1),
        (vec![version, ("mcp-name", " search")], 1),
        (vec![version, ("mcp-method", "ping")], 0),
        (vec![version, ("mcp-name", "drop")], 0),
        (vec![("mcp-name", "search"), ("mcp-name", "search")], 0),
    ] {
        let outcome = send(&headers, &text);
        assert_eq!(outcome.sent.len(), expected, "{headers:?}");
        assert_eq!(
            outcome.status,
            if expected == 1 { 200 } else { 400 },
            "{headers:?}"
        );
    }
}

#[test]
fn two_different_revisions_in_the_headers_are_refused() {
    let text = message("ping", &json!({}));
    for other in ["2025-11-25", MODERN] {
        let headers = [
            ("mcp-protocol-version", "2025-06-18"),
            ("mcp-protocol-version", other),
        ];
        assert!(send(&headers, &text).sent.is_empty(), "{other}");
    }
}

#[test]
fn only_methods_without_a_body_pass_besides_post() {
    for (method, headers, body, status, code) in [
        ("GET", None, "", 200, ""),
        ("DELETE", None, "", 200, ""),
        ("HEAD", None, "", 200, ""),
        ("OPTIONS", None, "", 200, ""),
        ("GET", Some("last-event-id"), "", 405, "method_not_allowed"),
        ("GET", None, "{}", 400, "unexpected_body"),
        ("DELETE", None, "{}", 400, "unexpected_body"),
        ("PUT", None, "", 405, "method_not_allowed"),
        ("PATCH", None, "{}", 405, "method_not_allowed"),
        ("CONNECT", None, "", 405, "method_not_allowed"),
    ] {
        let mut request = Request::builder().method(method).extension(some_access());
        if let Some(name) = headers {
            request = request.header(name, "1");
        }
        let request = request.body(Full::<Bytes>::from(body)).expect("parts");
        let outcome = send_to(
            &layer(),
            request.clone(),
            response("text/event-stream", "x"),
        );
        assert_eq!(outcome.status, status, "{method}");
        assert_eq!(outcome.sent.len(), usize::from(status == 200), "{method}");
        if status != 200 {
            assert_eq!(outcome.rejection(), code, "{method}");
        }
        let strict = layer().with_posts_only();
        let outcome = send_to(&strict, request, response("a/b", "x"));
        assert_eq!(outcome.status, 405, "{method}");
        assert_eq!(outcome.headers["allow"], "POST", "{method}");
    }
}

#[test]
fn a_stream_is_resumed_only_if_the_operator_allows_it() {
    let request = Request::get("/")
        .header("last-event-id", "1")
        .extension(some_access());
    let request = request.body(Full::<Bytes>::default()).expect("parts");
    let outcome = send_to(&layer().with_resumption(), request, response("a/b", "x"));
    assert_eq!(outcome.sent.len(), 1);
}

#[test]
fn a_body_that_is_not_json_in_utf_8_is_refused() {
    for (content_type, status) in [
        (&["application/json"][..], 200),
        (&["APPLICATION/json ; Charset=\"UTF-8\""], 200),
        (&["application/json;profile=x"], 200),
        (&[], 200),
        (&["application/json; charset=utf-7"], 415),
        (&["application/json; charset=utf-16"], 415),
        (&["text/plain"], 415),
        (&[""], 415),
        (&["application/json", "text/plain"], 415),
    ] {
        let mut request = Request::post("/").extension(some_access());
        for value in content_type {
            request = request.header("content-type", *value);
        }
        let request = request
            .body(Full::<Bytes>::from(message("ping", &json!({}))))
            .expect("parts");
        let outcome = send_to(&layer(), request, response("application/json", "{}"));
        assert_eq!(outcome.status, status, "{content_type:?}");
    }
}

#[test]
fn large_and_deep_bodies_are_refused() {
    let text = message("ping", &json!({"a": [[1]]}));
    let layer = layer().with_max_bytes(text.len()).with_max_depth(4);
    let served = || response("application/json", "{}");
    let outcome = send_to(&layer, request(some_access(), &[], &text), served());
    assert_eq!(outcome.sent.len(), 1);

    let outcome = send_to(
        &layer,
        request(some_access(), &[], &format!("{text} ")),
        served(),
    );
    assert_eq!(
        (outcome.status, &*outcome.rejection()),
        (413, "request_too_large")
    );

    let deep = message("ping", &json!({"a": [[[]]]}));
    let layer = layer.with_max_bytes(1000);
    let outcome = send_to(&layer, request(some_access(), &[], &deep), served());
    assert_eq!((outcome.status, outcome.code()), (400, Some(-32700)));
}

#[test]
fn hidden_and_missing_names_get_the_same_bytes() {
    // The server would answer differently, but it is not asked.
    let answer = |name: &str| {
        let outcome = send(&[], &message("tools/call", &json!({"name": name})));
        assert!(outcome.sent.is_empty());
        outcome.text().replace(name, "…")
    };
    assert_eq!(answer("hidden"), answer("missing"));
}

proptest! {
    #[test]
    fn only_allowed_names_reach_the_server(name in "[a-z\\\\\"é😀 *_.]{0,6}|search|report_.{0,3}") {
        let access = some_access();
        let text = message("tools/call", &json!({"name": name}));
        let outcome = send(&[], &text);
        prop_assert_eq!(outcome.sent.len() == 1, access.allows_tool(&name));
        prop_assert_eq!(outcome.code().is_some(), outcome.sent.is_empty());
    }

    #[test]
    fn any_bytes_are_answered_or_passed_on_unchanged(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut request = Request::post("/").body(Full::<Bytes>::from(bytes.clone())).expect("parts");
        request.extensions_mut().insert(some_access());
        let outcome = send_to(&layer(), request, response("application/json", "{}"));
        for sent in outcome.sent {
            prop_assert_eq!(Bytes::from(sent.into_body()), &bytes);
        }
    }
}
