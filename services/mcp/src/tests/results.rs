use std::{future::pending, net::SocketAddr, sync::Arc};

use futures_util::stream;
use http_body::Body as _;
use proptest::prelude::*;
use serde_json::json;
use tokio_test::{assert_pending, assert_ready, task};
use ziggurat_layers::{client_ip::ClientIp, reject::AuthFailed};

use super::{doubles::Name, *};
use crate::{body::Ending, protocol::Revision, tool::Content};

#[test]
fn a_tool_gets_its_arguments_as_they_were_written() {
    let cases = [
        (r#"{"name":"says"}"#, "{}"),
        (r#"{"name":"says","arguments":{}}"#, "{}"),
        (
            r#"{"arguments": {"n": 9007199254740993,  "é":"\u00e9"} , "name":"s\u0061ys"}"#,
            r#"{"n": 9007199254740993,  "é":"\u00e9"}"#,
        ),
    ];
    let mcp = server();
    for (params, arguments) in cases {
        let result = ask_json(&mcp, "tools/call", params);
        assert_eq!(said(&result), (arguments, false), "{params}");
    }
    assert_eq!(
        ask(&mcp, "tools/call", r#"{"name":"says"}"#),
        r#""result":{"content":[{"type":"text","text":"{}"}]}"#
    );
}

#[test]
fn a_tool_gets_the_identity_of_its_caller() {
    let mcp = server();
    let params = r#"{"name":"a-who"}"#;
    assert_eq!(said(&ask_json(&mcp, "tools/call", params)).0, "None None");

    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a-who"}}"#;
    let peer: SocketAddr = "192.0.2.7:1234".parse().expect("an address");
    let mut request = Request::new(Bytes::from(message));
    request.extensions_mut().insert(Name("Ada"));
    request.extensions_mut().insert(ClientIp::from_peer(peer));
    let text = answer(&mcp, dialect().read(request)).expect("an answer");
    assert!(text.contains(r#"Some(\"Ada\") Some(192.0.2.7)"#), "{text}");
}

#[test]
fn every_failure_of_a_tool_has_its_own_answer() {
    let cases = [
        (
            r#"{"name":"unknown"}"#,
            r#""error":{"code":-32002,"message":"Tool not found","data":"unknown"}"#,
        ),
        (
            r#"{"name":"off"}"#,
            r#""result":{"content":[{"type":"text","text":"Tool 'off' is not available"}],"isError":true}"#,
        ),
        (
            r#"{"name":"fails","arguments":{"how":"in words"}}"#,
            r#""result":{"content":[{"type":"text","text":"the \"moon\"\nis full"}],"isError":true}"#,
        ),
        (
            r#"{"name":"fails","arguments":{"how":"not ready"}}"#,
            r#""error":{"code":-32001,"message":"Database not ready"}"#,
        ),
        (
            r#"{"name":"fails","arguments":{"how":"in a panic"}}"#,
            r#""error":{"code":-32603,"message":"Tool execution error","data":"an unexpected error occurred"}"#,
        ),
        (
            r#"{"name":"fails","arguments":{"how":"login"}}"#,
            r#""error":{"code":-32603,"message":"Tool execution error","data":"too many attempts"}"#,
        ),
        (
            r#"{"name":"fails","arguments":{"how":"badly"}}"#,
            r#""error":{"code":-32603,"message":"Tool execution error","data":"no luck"}"#,
        ),
    ];
    let mcp = server();
    for (params, outcome) in cases {
        assert_eq!(ask(&mcp, "tools/call", params), outcome, "{params}");
    }
    let missing = ask_json(&mcp, "tools/call", r#"{"name":"fails"}"#);
    let (text, is_error) = said(&missing);
    assert!(
        is_error && text.starts_with("Invalid arguments: "),
        "{text}"
    );
}

#[test]
fn a_call_that_is_cut_off_ends_in_an_error_wherever_it_is() {
    let cut_off = CutOff::default();
    let mcp = server().with_cut_off(cut_off.clone());
    cut_off.happen();
    let params = r#"{"name":"pieces","arguments":{"stuck":true}}"#;
    let outcome = r#""error":{"code":-32603,"message":"Tool execution error","data":"the server is shutting down"}"#;
    assert_eq!(ask(&mcp, "tools/call", params), outcome);
    let params = r#"{"name":"pieces","arguments":{"stuck":true,"pieces":["one\n"]}}"#;
    let result = ask_json(&mcp, "tools/call", params);
    let text = "one\n\n\nThe server is shutting down: the rest of the result is missing.";
    assert_eq!(said(&result), (text, true));
    let params = r#"{"name":"says","arguments":{}}"#;
    let result = ask_json(&mcp, "tools/call", params);
    assert_eq!(said(&result), ("{}", false), "what is ready is sent");
}

#[test]
fn the_cause_of_a_failure_is_shown_in_development_only_and_without_secrets() {
    let params = r#"{"name":"fails","arguments":{"how":"badly"}}"#;
    let mcp = server().with_sanitizer(Sanitizer::development());
    let shown = ask(&mcp, "tools/call", params);
    assert!(shown.contains("no luck: disk 7 is on fire"), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(!format!("{:?}", doubles::a_failure()).contains("hunter2"));
    assert!(!ask(&server(), "tools/call", params).contains("disk"));
}

#[test]
fn a_failed_login_marks_the_http_reply() {
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fails","arguments":{"how":"login"}}}"#;
    let Ok(answer) = block_on(read(message.to_owned()).answer(server()));
    let response = answer.into_response();
    assert_eq!(response.status(), http::StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "60");
    assert!(response.extensions().get::<AuthFailed>().is_some());
}

#[test]
fn a_streamed_result_is_whole_json_however_it_ends() {
    let cases: [(&[&str], Option<&str>, &str, bool); 7] = [
        (&[], None, "", false),
        (&["a\tb\n", "", "1\t\"2\""], None, "a\tb\n1\t\"2\"", false),
        (&["", ""], None, "", false),
        (&[], Some("no \"relation\""), "no \"relation\"", true),
        (&["", ""], Some("no"), "no", true),
        (
            &["row 1\n", "row 2"],
            Some("cut off"),
            "row 1\nrow 2\n\ncut off",
            true,
        ),
        (&["row 1"], Some(""), "row 1\n\n", true),
    ];
    let mcp = server();
    for (pieces, problem, text, is_error) in cases {
        let arguments = json!({ "pieces": pieces, "problem": problem });
        let params = json!({ "name": "pieces", "arguments": arguments });
        let result = ask_json(&mcp, "tools/call", &params.to_string());
        assert_eq!(said(&result), (text, is_error), "{pieces:?} {problem:?}");
    }
    let params = r#"{"name":"pieces","arguments":{"pieces":["x"]}}"#;
    assert_eq!(
        ask(&mcp, "tools/call", params),
        r#""result":{"content":[{"type":"text","text":"x"}]}"#
    );
}

#[test]
fn a_stream_is_polled_as_it_is_read_and_dropped_before_its_end_is_sent() {
    let held = Arc::new(());
    let clone = Arc::clone(&held);
    let pieces = stream::unfold(Some(clone), async |held| {
        held.map(|held| {
            (
                Ok(Text::from(&*format!("{}", Arc::strong_count(&held)))),
                None,
            )
        })
    });
    let Content::Streamed(pieces) = ToolResult::stream(pieces).content else {
        panic!("a stream");
    };
    let mut body = task::spawn(ResultBody::streamed(
        pieces,
        Ending::new(Revision::V2024_11_05, "}"),
        None,
    ));
    let mut frame = || {
        let frame = assert_ready!(body.enter(|cx, body| body.poll_frame(cx)));
        frame.map(|frame| {
            let Ok(frame) = frame;
            frame.into_data().expect("data")
        })
    };
    assert_eq!(
        frame().as_deref(),
        Some(&br#"{"content":[{"type":"text","text":""#[..])
    );
    assert_eq!(frame().as_deref(), Some(&b"2"[..]));
    assert_eq!(frame().as_deref(), Some(&br#""}]}"#[..]));
    assert_eq!(Arc::strong_count(&held), 1);
    assert_eq!(frame(), None);
    assert!(body.is_end_stream());
}

#[test]
fn dropping_a_call_drops_its_tool() {
    struct Waits(Arc<()>);

    impl ToolHandler for Waits {
        fn describe(&self) -> ToolDescriptor {
            ToolDescriptor::new("waits", "Waits.", Schema::new())
        }

        async fn call(&self, _: ToolRequest) -> Result<ToolResult, Error> {
            let _held = Arc::clone(&self.0);
            pending().await
        }
    }

    let held = Arc::new(());
    let tools = Tools::new().with(Waits(Arc::clone(&held)));
    let about = ServerInfo::new("test", "0");
    let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("well-formed");
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"waits"}}"#;
    let mut call = task::spawn(read(message.to_owned()).answer(mcp));
    assert_pending!(call.poll());
    assert_eq!(Arc::strong_count(&held), 3);
    drop(call);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_resource_is_read_by_its_uri() {
    let cases = [
        (
            r#"{"uri":"custom://a"}"#,
            r#""result":{"contents":[{"uri":"custom://a","mimeType":"text/plain","text":"Apples"}]}"#,
        ),
        (
            r#"{"uri":"custom://none"}"#,
            r#""error":{"code":-32003,"message":"Resource not found","data":"custom://none"}"#,
        ),
        (
            r#"{"uri":""}"#,
            r#""error":{"code":-32003,"message":"Resource not found","data":""}"#,
        ),
        (
            r#"{"uri":"custom://later"}"#,
            r#""result":{"contents":[{"uri":"custom://later","mimeType":"application/json","text":"{\"error\":true,\"message\":\"the database is still being prepared\",\"code\":\"DATABASE_NOT_READY\",\"retryable\":true}"}]}"#,
        ),
        (
            r#"{"uri":"custom://broken"}"#,
            r#""error":{"code":-32603,"message":"Resource read error","data":"no luck"}"#,
        ),
    ];
    let mcp = server();
    for (params, outcome) in cases {
        assert_eq!(ask(&mcp, "resources/read", params), outcome, "{params}");
    }
}

#[test]
fn read_resource_reads_lists_and_cannot_be_switched_off() {
    const LIST: &str = "Available Resources:\n====================\n\n\
        URI: custom://a\nName: Static\nDescription: Always the same.\nMIME Type: text/plain\n\n\
        URI: custom://b\n";
    let missing = "Error: 'uri' parameter is required. ";
    let cases = [
        (r#"{"uri":"custom://a"}"#, "Apples", false),
        (r#"{"uri":"custom://a","list":false}"#, "Apples", false),
        (r#"{"uri":"custom://a","list":"yes"}"#, "Apples", false),
        (r#"{"uri":"custom://a","list":true}"#, LIST, false),
        (r#"{"list":true}"#, LIST, false),
        (r"{}", missing, true),
        (r#"{"uri":7}"#, missing, true),
        (
            r#"{"uri":"pg://x"}"#,
            "Error reading resource: Resource not found: pg://x",
            true,
        ),
        (
            r#"{"uri":"custom://broken"}"#,
            "Error reading resource: no luck",
            true,
        ),
        (r#"{"uri":"custom://later"}"#, r#"{"error":true,"#, false),
    ];
    let mcp = server();
    for (arguments, text, is_error) in cases {
        let params = format!(r#"{{"name":"read_resource","arguments":{arguments}}}"#);
        let result = ask_json(&mcp, "tools/call", &params);
        let said = said(&result);
        assert!(said.0.starts_with(text), "{arguments}: {said:?}");
        assert_eq!(said.1, is_error, "{arguments}");
    }
}

proptest! {
    #[test]
    fn the_client_reads_the_text_of_a_stream(
        pieces: Vec<String>,
        problem: Option<String>,
    ) {
        let params = json!({
            "name": "pieces",
            "arguments": { "pieces": pieces, "problem": problem },
        });
        let result = ask_json(&server(), "tools/call", &params.to_string());
        let mut text = pieces.concat();
        if let Some(problem) = &problem {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(problem);
        }
        prop_assert_eq!(said(&result), (&*text, problem.is_some()));
    }

    #[test]
    fn no_params_make_the_service_panic(params in r#"\{("(name|uri|arguments)":("says"|"pieces"|7|null|\{"pieces":\["a"\]\}|\[\])(,"x":1)?)?\}"#) {
        for method in ["initialize", "tools/call", "resources/read", "prompts/get"] {
            ask_json(&server(), method, &params);
        }
    }
}

#[test]
fn several_texts_say_in_every_revision_that_they_are_no_error() {
    let texts =
        |_: Value| async { Ok::<_, Error>(ToolResult::texts(["a".to_owned(), "b".to_owned()])) };
    let tools = Tools::new().with(Tool::with_schema("texts", "Says.", Schema::new(), texts));
    let mcp = Mcp::new(
        &ServerInfo::new("test", "0"),
        tools,
        Resources::new(),
        Prompts::new(),
    );
    assert_eq!(
        ask(&mcp.expect("one tool"), "tools/call", r#"{"name":"texts"}"#),
        r#""result":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isError":false}"#
    );
}
