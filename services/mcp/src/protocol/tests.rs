use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio_test::block_on;
use tower::{Service, ServiceBuilder, ServiceExt as _, service_fn};
use ziggurat_layers::json_rpc::{Incoming, Json, JsonRpcLayer};

use super::*;

const MODERN: &str = "2026-07-28";

/// Returns the context of the call, and refuses unknown methods.
async fn echo(call: Call) -> Result<Reply, Infallible> {
    // A notification has none.
    let context = call.head().extensions.get::<Context>();
    let context = context.cloned().unwrap_or_default();
    if !context.is_negotiated() {
        return Ok(Json::new("to the letter").expect("JSON").into());
    }
    if call.method() == "nothing" {
        return Ok(Error::method_not_found().into());
    }
    if call.method() == "broken" {
        return Ok(Error::internal_error().into());
    }
    let said = (
        context.revision().as_str(),
        context.capabilities().elicitation,
    );
    Ok(Json::new(&said).expect("JSON").into())
}

fn server() -> impl Service<
    Request<Full<Bytes>>,
    Response = Response<ziggurat_layers::json_rpc::RpcBody<ziggurat_layers::json_rpc::NoStream>>,
    Error = Infallible,
> {
    ServiceBuilder::new()
        .layer(JsonRpcLayer::new().with_dialect_of(dialect_of))
        .layer(ProtocolLayer::http())
        .service(service_fn(echo))
}

fn send(headers: &[(&str, &str)], message: &str) -> (u16, Value) {
    let mut request = Request::post("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request
        .body(Full::from(message.to_owned()))
        .expect("valid parts");
    let Ok(response) = block_on(server().oneshot(request));
    let status = response.status().as_u16();
    let body = block_on(response.into_body().collect())
        .expect("whole")
        .to_bytes();
    let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
    (status, json)
}

fn meta(version: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    })
}

fn message(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
}

fn modern(method: &str) -> String {
    message(method, &json!({"_meta": meta(&json!(MODERN))}))
}

#[test]
fn the_revision_of_a_legacy_request_is_in_its_header_or_the_default() {
    let plain = message("x", &json!({}));
    let cases = [
        (&[][..], "2025-03-26"),
        (&[("mcp-protocol-version", "2024-11-05")], "2024-11-05"),
        (&[("mcp-protocol-version", " 2025-06-18 ")], "2025-06-18"),
        (&[("mcp-protocol-version", "2025-11-25")], "2025-11-25"),
    ];
    for (headers, revision) in cases {
        let (status, answer) = send(headers, &plain);
        assert_eq!((status, &answer["result"][0]), (200, &json!(revision)));
    }
}

#[test]
fn an_initialize_chooses_and_an_unknown_choice_gets_the_latest() {
    for (asked, answered) in [
        (json!("2024-11-05"), "2024-11-05"),
        (json!("2025-06-18"), "2025-06-18"),
        (json!("2026-07-28"), "2025-11-25"),
        (json!("1999"), "2025-11-25"),
    ] {
        let call = message("initialize", &json!({"protocolVersion": asked}));
        assert_eq!(send(&[], &call).1["result"][0], answered, "{asked}");
    }
}

#[test]
fn legacy_errors_are_200_and_only_malformed_requests_are_400() {
    let ok = [
        message("nothing", &json!({})),
        message("broken", &json!({})),
        message("x", &json!([])),
        message("x", &json!(7)),
    ];
    for call in ok {
        let (status, answer) = send(&[], &call);
        assert_eq!(status, 200, "{call}: {answer}");
        assert!(answer["error"]["code"].is_i64(), "{call}: {answer}");
    }
    for call in [
        "{",
        "7",
        r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
    ] {
        let (status, answer) = send(&[], call);
        assert_eq!(status, 400, "{call}: {answer}");
        assert_ne!(answer.get("id"), Some(&Value::Null), "{call}: {answer}");
    }
}

#[test]
fn one_revision_allows_batches_and_no_batch_allows_initialize() {
    let ping = message("x", &json!({}));
    let batch = format!("[{ping},{ping}]");
    for headers in [&[][..], &[("mcp-protocol-version", "2025-03-26")]] {
        let (status, answers) = send(headers, &batch);
        assert_eq!((status, answers.as_array().map(Vec::len)), (200, Some(2)));
    }
    for version in ["2024-11-05", "2025-06-18", "2025-11-25", MODERN, "1999"] {
        let (status, answer) = send(&[("mcp-protocol-version", version)], &batch);
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &json!(-32600)),
            "{version}"
        );
    }
    let (initialize, later) = (message("initialize", &json!({})), modern("x"));
    let (status, answers) = send(&[], &format!("[{initialize},{later},{ping}]"));
    assert_eq!(status, 200);
    assert_eq!(answers[0]["error"]["code"], -32600, "{answers}");
    assert_eq!(answers[1]["error"]["code"], -32600, "{answers}");
    assert_eq!(answers[2]["result"][0], "2025-03-26", "{answers}");
    let note = r#"{"jsonrpc":"2.0","method":"x"}"#;
    assert_eq!(send(&[], &format!("[{note},{note}]")), (202, Value::Null));
}

/// A modern request that is refused: its headers, its message, the code and the status.
type Refused<'a> = (&'a [(&'a str, &'a str)], String, i64, u16);

fn assert_refused(cases: &[Refused<'_>]) {
    for (headers, call, code, expected) in cases {
        let (status, answer) = send(headers, call);
        assert_eq!(
            answer["error"]["code"], *code,
            "{headers:?} {call}: {answer}"
        );
        assert_eq!(status, *expected, "{headers:?} {call}: {answer}");
        assert_eq!(answer["id"], 7, "{headers:?} {call}: {answer}");
    }
}

const VERSION: (&str, &str) = ("mcp-protocol-version", MODERN);
const OTHER: (&str, &str) = ("mcp-protocol-version", "2099-01-01");
const METHOD: (&str, &str) = ("mcp-method", "x");
const CALL: (&str, &str) = ("mcp-method", "tools/call");

#[test]
fn required_members_are_checked_first() {
    let without = |key: &str| {
        let mut meta = meta(&json!(MODERN));
        let members = meta.as_object_mut().expect("an object");
        members.remove(&format!("io.modelcontextprotocol/{key}"));
        message("x", &json!({"_meta": meta}))
    };
    let empty = message("x", &json!({}));
    assert_refused(&[
        (&[VERSION, METHOD], empty.clone(), -32602, 400),
        (&[VERSION, METHOD], message("x", &json!([])), -32602, 400),
        (&[VERSION, METHOD], message("x", &json!(7)), -32602, 400),
        (&[VERSION], message("x", &json!({"_meta": 7})), -32602, 400),
        (&[OTHER], empty, -32602, 400),
        (&[VERSION], without("protocolVersion"), -32602, 400),
        (&[VERSION], without("clientCapabilities"), -32602, 400),
    ]);
}

#[test]
fn headers_are_checked_before_the_members_they_repeat() {
    let named = |name: &str| {
        message(
            "tools/call",
            &json!({"name": name, "_meta": meta(&json!(MODERN))}),
        )
    };
    let old = ("mcp-protocol-version", "2025-11-25");
    let wrong = ("mcp-name", "A");
    let broken = ("mcp-name", "=?base64?YR==?=");
    assert_refused(&[
        (&[], modern("x"), -32020, 400),
        (&[VERSION], modern("x"), -32020, 400),
        (&[old, METHOD], modern("x"), -32020, 400),
        (&[OTHER, METHOD], modern("x"), -32020, 400),
        (&[VERSION, VERSION, METHOD], modern("x"), -32020, 400),
        (&[VERSION, METHOD, METHOD], modern("x"), -32020, 400),
        (&[VERSION, ("mcp-method", "X")], modern("x"), -32020, 400),
        (&[VERSION, CALL], named("a"), -32020, 400),
        (&[VERSION, CALL, wrong], named("a"), -32020, 400),
        (&[VERSION, CALL, broken], named("a"), -32020, 400),
    ]);
}

#[test]
fn the_version_the_types_and_the_method_are_checked_last() {
    let level = |level: &Value| {
        let mut meta = meta(&json!(MODERN));
        meta["io.modelcontextprotocol/logLevel"] = level.clone();
        message("x", &json!({"_meta": meta}))
    };
    let newer = message("x", &json!({"_meta": meta(&json!("2099-01-01"))}));
    let mut capabilities = meta(&json!(MODERN));
    capabilities["io.modelcontextprotocol/clientCapabilities"] = json!([]);
    let capabilities = message("x", &json!({"_meta": capabilities}));
    let (nothing, broken) = (("mcp-method", "nothing"), ("mcp-method", "broken"));
    assert_refused(&[
        (&[OTHER, METHOD], newer, -32022, 400),
        (&[VERSION, METHOD], capabilities, -32602, 400),
        (&[VERSION, METHOD], level(&json!("loud")), -32602, 400),
        (&[VERSION, METHOD], level(&json!(null)), -32602, 400),
        (&[VERSION, nothing], modern("nothing"), -32601, 404),
        (&[VERSION, broken], modern("broken"), -32603, 200),
    ]);
}

#[test]
fn a_modern_request_that_agrees_with_its_headers_is_served() {
    let version = ("MCP-Protocol-Version", MODERN);
    for (name, header) in [
        ("a", "a"),
        ("a", " a "),
        ("äöü", "=?base64?w6TDtsO8?="),
        ("a", "=?base64?YQ==?="),
    ] {
        let params = json!({"name": name, "_meta": meta(&json!(MODERN))});
        let headers = [version, ("mcp-method", "tools/call"), ("mcp-name", header)];
        let (status, answer) = send(&headers, &message("tools/call", &params));
        assert_eq!(
            (status, &answer["result"]),
            (200, &json!([MODERN, true])),
            "{header}"
        );
    }
    let unsupported = message("x", &json!({"_meta": meta(&json!("2099-01-01"))}));
    let headers = [("mcp-protocol-version", "2099-01-01"), ("mcp-method", "x")];
    let (_, answer) = send(&headers, &unsupported);
    let data = json!({"supported": [MODERN], "requested": "2099-01-01"});
    assert_eq!(answer["error"]["data"], data);
}

/// Sends a call over stdio; returns its result, or the code of its error.
fn line(layer: &ProtocolLayer, call: &str) -> Value {
    let Incoming::Call(call) = crate::dialect().read(Request::new(Bytes::from(call.to_owned())))
    else {
        panic!("a call: {call}");
    };
    let mut service = layer.layer(service_fn(echo));
    let envelope = call.envelope();
    let Ok(reply) = block_on(service.call(call));
    let body = envelope.wrap(reply).into_body().expect("an answer");
    let body = block_on(body.collect()).expect("whole").to_bytes();
    let answer: Value = serde_json::from_slice(&body).expect("JSON");
    match answer.get("result") {
        Some(result) => result.clone(),
        None => answer["error"]["code"].clone(),
    }
}

#[test]
fn over_stdio_legacy_requests_are_answered_as_in_revision_2024_11_05() {
    let layer = ProtocolLayer::stdio();
    for method in ["initialize", "tools/list", "x"] {
        assert_eq!(line(&layer, &message(method, &json!({}))), "to the letter");
    }
    assert_eq!(
        line(&layer, &modern("server/discover")),
        json!([MODERN, true])
    );
    assert_eq!(
        line(&layer, &message("server/discover", &json!({}))),
        -32602
    );
    let newer = message("x", &json!({"_meta": meta(&json!("2099-01-01"))}));
    assert_eq!(line(&layer, &newer), -32022);
    let wrong = message("x", &json!({"_meta": meta(&json!(7))}));
    assert_eq!(line(&layer, &wrong), -32602);
}

#[test]
fn a_client_over_stdio_may_be_allowed_to_choose_the_revision() {
    let layer = ProtocolLayer::stdio().with_negotiation(true);
    let plain = message("x", &json!({}));
    assert_eq!(line(&layer, &plain), json!(["2025-03-26", false]));
    let call = message("initialize", &json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(line(&layer, &call), json!(["2025-06-18", false]));
    assert_eq!(line(&layer, &plain), json!(["2025-06-18", false]));
    assert_eq!(line(&layer, &modern("x")), json!([MODERN, true]));
}

#[test]
fn the_layer_may_be_shared_and_sent() {
    fn check<T: Clone + Send + Sync>() {}
    check::<ProtocolLayer>();
    check::<Protocol<()>>();
}
