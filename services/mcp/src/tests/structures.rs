//! The structured part of results.

use futures_util::stream;
use http_body::Body as _;
use serde_json::json;
use tokio_test::block_on;

use super::*;
use crate::{
    protocol::{Context, Revision},
    server::encode::Encoders,
};

/// Makes the result of a tool.
type Results = fn() -> ToolResult;

fn structure(json: &Value) -> Structure {
    Structure::new(json).expect("JSON")
}

fn streamed(pieces: Vec<Result<Piece, Reported>>) -> ToolResult {
    ToolResult::stream(stream::iter(pieces))
}

/// Encodes a result in a revision; returns it, and whether its length is known from the start.
fn written(revision: Revision, result: ToolResult) -> (Value, bool) {
    encoded(revision, true, result)
}

fn encoded(revision: Revision, is_negotiated: bool, result: ToolResult) -> (Value, bool) {
    sealed(revision, is_negotiated, result, None)
}

fn sealed(
    revision: Revision,
    is_negotiated: bool,
    result: ToolResult,
    seal: Option<Box<dyn ResultSeal>>,
) -> (Value, bool) {
    let server = ServerInfo::new("test", "0");
    let lists = (Tools::new(), Resources::new(), Prompts::new());
    let encoders = Encoders::new(&server, &lists.0, &lists.1, &lists.2);
    let context = Context {
        revision,
        is_negotiated,
        ..Context::default()
    };
    let Ok(reply) = encoders.of(&context).tool_result(Ok(result), seal) else {
        panic!("a result");
    };
    let incoming = read(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#.to_owned());
    let Incoming::Call(call) = incoming else {
        panic!("a call");
    };
    let body = call.envelope().wrap(reply).into_body().expect("an answer");
    let has_length = body.size_hint().exact().is_some();
    let answer = block_on(body.collect()).expect("whole").to_bytes();
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    (answer["result"].clone(), has_length)
}

#[test]
fn a_structure_follows_the_text_in_revisions_that_support_it() {
    let results: [(Results, bool); 4] = [
        (
            || ToolResult::text("a\n").with_structure(Some(structure(&json!({"n": [1]})))),
            true,
        ),
        (
            || {
                let text = Ok(Text::from("a\n").into());
                let structure = structure(&json!({"n": [1]}));
                streamed(vec![text, Ok(structure.into())])
            },
            true,
        ),
        (
            || {
                let blocks = [Block::text("a\n")];
                ToolResult::blocks(blocks).with_structure(Some(structure(&json!({"n": [1]}))))
            },
            true,
        ),
        (|| ToolResult::text("a\n").with_structure(None), false),
    ];
    for (at, (result, has_structure)) in results.into_iter().enumerate() {
        for revision in Revision::ALL {
            let (result, _) = written(revision, result());
            let expected = has_structure && revision >= Revision::V2025_06_18;
            let found = result.get("structuredContent");
            let expected = expected.then(|| json!({"n": [1]}));
            assert_eq!(found, expected.as_ref(), "{at} {revision}");
            assert_eq!(result["content"][0]["text"], "a\n", "{at} {revision}");
            assert_eq!(result.get("isError"), None, "{at} {revision}");
            let is_modern = result.get("resultType").is_some();
            assert_eq!(is_modern, revision.is_modern(), "{at} {revision}");
        }
    }
}

#[test]
fn before_the_last_revision_a_structure_is_an_object() {
    for revision in Revision::ALL {
        let result = ToolResult::text("").with_structure(Some(structure(&json!([7]))));
        let (result, has_length) = written(revision, result);
        let found = result.get("structuredContent");
        assert_eq!(found.is_some(), revision.is_modern(), "{revision}");
        assert!(has_length, "{revision}");
    }
}

#[test]
fn a_stream_that_fails_has_no_structure() {
    for text in [None, Some("a")] {
        let text = text.map(|text| Ok(Text::from(text).into()));
        let pieces = text.into_iter().chain([Err(Reported::new("no"))]);
        let (result, _) = written(Revision::V2025_11_25, streamed(pieces.collect()));
        assert_eq!(result["isError"], true);
        assert_eq!(result.get("structuredContent"), None);
    }
}

#[test]
fn results_of_revision_2024_11_05_have_no_structure() {
    for is_negotiated in [false, true] {
        let result = ToolResult::text("a").with_structure(Some(structure(&json!({}))));
        let (result, _) = encoded(Revision::V2024_11_05, is_negotiated, result);
        assert_eq!(result, json!({"content": [{"type": "text", "text": "a"}]}));
    }
}

/// Returns all that it was given as the member.
#[derive(Default)]
struct Echo(Vec<String>);

impl Echo {
    fn push(&mut self, part: &str, bytes: &[u8]) {
        let text = str::from_utf8(bytes).expect("text");
        self.0.push(format!("{part} {text}"));
    }
}

impl ResultSeal for Echo {
    fn text(&mut self, escaped: &[u8]) {
        self.push("text", escaped);
    }

    fn content(&mut self, json: &[u8]) {
        self.push("content", json);
    }

    fn structure(&mut self, json: &[u8]) {
        self.push("structure", json);
    }

    fn close(self: Box<Self>) -> SealedMember {
        Box::pin(async move { Some(("test/echo", json!(self.0).to_string())) })
    }
}

#[test]
fn a_seal_gets_what_is_sent_and_its_member_is_in_the_result() {
    let pieces = || {
        let text = |text: &str| Ok(Piece::Text(text.into()));
        let structure = Ok(Piece::Structure(structure(&json!({"n": 1}))));
        stream::iter([text("a\n"), text("b"), structure])
    };
    let cases: [(ToolResult, Value); 4] = [
        (ToolResult::text("a\n"), json!([r"text a\n"])),
        (
            ToolResult::text("a").with_structure(Some(structure(&json!({"n": 1})))),
            json!(["text a", r#"structure {"n":1}"#]),
        ),
        (
            ToolResult::stream(pieces()),
            json!([r"text a\n", "text b", r#"structure {"n":1}"#]),
        ),
        (
            ToolResult::texts(["a".to_owned()]),
            json!([r#"content [{"type":"text","text":"a"}]"#]),
        ),
    ];
    for (result, given) in cases {
        let seal = Some(Box::<Echo>::default() as Box<dyn ResultSeal>);
        let (result, _) = sealed(Revision::V2026_07_28, true, result, seal);
        assert_eq!(result["_meta"]["test/echo"], given, "{result}");
        let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(server["name"], "test", "{result}");
    }
    let seal = Some(Box::<Echo>::default() as Box<dyn ResultSeal>);
    let (result, _) = sealed(Revision::V2024_11_05, false, ToolResult::text("a"), seal);
    let expected = json!({"content": [{"type": "text", "text": "a"}],
        "_meta": {"test/echo": ["text a"]}});
    assert_eq!(result, expected);
}

#[test]
fn a_stream_that_fails_has_no_seal() {
    let pieces = [Ok(Piece::Text("a".into())), Err(Reported::new("no"))];
    let seal = Some(Box::<Echo>::default() as Box<dyn ResultSeal>);
    let result = ToolResult::stream(stream::iter(pieces));
    let (result, _) = sealed(Revision::V2026_07_28, true, result, seal);
    assert_eq!(result["isError"], true, "{result}");
    assert!(result["_meta"]["test/echo"].is_null(), "{result}");
}
