//! Tests of JSON-RPC framing.

use serde_json::{Value, json};

use crate::support::{Home, Transports};

/// Starts servers that need no database.
fn transports() -> Transports {
    let mut home = Home::new();
    home.set("PGUSER", "nobody");
    home.set("PGHOST", "127.0.0.1");
    home.set("PGPORT", "1");
    Transports::open(home)
}

#[test]
fn ids_come_back_digit_for_digit() {
    let mut transports = transports();
    let ids = [
        "1",
        "0",
        "-1",
        "9007199254740993",
        "-9223372036854775809",
        "123456789012345678901234567890123456789",
        "1.50",
        "1e3",
        "\"a\"",
        "\"\"",
        "\"1\"",
        r#""\u00e9\ud83d\ude00\n\"\\\/""#,
        "\"ключ\"",
        "null",
    ];
    for id in ids {
        let answer = transports.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(answer, expected);
        // An error has the id too, and the id may be at any place in the object.
        let errors = [
            (r#""method":"nothing""#, -32601, "Method not found"),
            (r#""method":"ping","params":[]"#, -32602, "Invalid params"),
            (r#""method":7"#, -32600, "Invalid Request"),
            (r#""params":{}"#, -32600, "Invalid Request"),
        ];
        for (members, code, message) in errors {
            for call in [
                format!(r#"{{"jsonrpc":"2.0","id":{id},{members}}}"#),
                format!(r#"{{ {members} , "id" : {id} , "jsonrpc" : "2.0" }}"#),
            ] {
                let answer = transports.ask(&call);
                let error = format!(r#""error":{{"code":{code},"message":"{message}""#);
                let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},{error}"#);
                assert!(answer.starts_with(&expected), "{call}: {answer}");
            }
        }
    }
}

/// Sends an invalid request, and checks the code of the error and the subject of its `data`.
fn refused(transports: &mut Transports, message: &str, code: i64, about: &str) -> Value {
    let answer = transports.ask(message);
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let text = match code {
        -32700 => "Parse error",
        -32600 => "Invalid Request",
        _ => "Invalid params",
    };
    let error = &answer["error"];
    assert_eq!(error["code"], code, "{message}: {answer}");
    assert_eq!(error["message"], text, "{message}: {answer}");
    let data = error["data"].as_str().unwrap_or_default();
    assert!(
        !data.is_empty() && data.contains(about),
        "{message}: {answer}"
    );
    let members: Vec<_> = answer.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["error", "id", "jsonrpc"], "{message}: {answer}");
    answer["id"].clone()
}

#[test]
fn invalid_json_is_a_parse_error_without_an_id() {
    let mut transports = transports();
    let broken = [
        "{",
        "}",
        "ping",
        "\"",
        "nul",
        "tru",
        "01",
        "1.",
        "[1,]",
        r#"{"a":1,}"#,
        "{'a':1}",
        r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"\x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\t\"}",
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
    ];
    for message in broken {
        assert_eq!(refused(&mut transports, message, -32700, ""), Value::Null);
    }
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(refused(&mut transports, &deep, -32700, ""), Value::Null);
    // Both servers continue after the error.
    assert_eq!(transports.call("ping", &json!({}))["result"], json!({}));
}

/// Invalid requests: text, error code, subject of the `data`, and id.
const NO_REQUESTS: [(&str, i64, &str, &str); 21] = [
    // JSON values other than objects.
    ("null", -32600, "", "null"),
    ("true", -32600, "", "null"),
    ("7", -32600, "", "null"),
    ("\"ping\"", -32600, "", "null"),
    ("{}", -32600, "jsonrpc", "null"),
    // Batches.
    ("[]", -32600, "", "null"),
    (
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        -32600,
        "",
        "null",
    ),
    (
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        -32600,
        "",
        "null",
    ),
    // Members that are missing or have the wrong type.
    (r#"{"id":1,"method":"ping"}"#, -32600, "jsonrpc", "1"),
    (
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        -32600,
        "jsonrpc",
        "1",
    ),
    (
        r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
        -32600,
        "jsonrpc",
        "1",
    ),
    (r#"{"jsonrpc":"2.0","id":"x"}"#, -32600, "method", "\"x\""),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        -32600,
        "method",
        "1",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":["ping"]}"#,
        -32600,
        "method",
        "1",
    ),
    (
        r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        -32600,
        "id",
        "null",
    ),
    (
        r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
        -32600,
        "id",
        "null",
    ),
    (
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        -32600,
        "id",
        "null",
    ),
    // Params.
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#,
        -32602,
        "params",
        "1",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":"x"}"#,
        -32602,
        "params",
        "1",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}"#,
        -32602,
        "params",
        "1",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":false}"#,
        -32602,
        "params",
        "1",
    ),
];

#[test]
fn invalid_requests_are_refused_and_the_cause_is_named() {
    let mut transports = transports();
    for (message, code, about, id) in NO_REQUESTS {
        let id: Value = serde_json::from_str(id).expect("JSON");
        assert_eq!(
            refused(&mut transports, message, code, about),
            id,
            "{message}"
        );
    }
}

#[test]
fn params_may_be_left_out_empty_or_null() {
    let mut transports = transports();
    let methods = [
        "ping",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "initialize",
    ];
    for method in methods {
        let answers = ["", r#","params":{}"#, r#","params":null"#].map(|params| {
            transports.ask(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{params}}}"#
            ))
        });
        assert!(answers[0].contains("\"result\""), "{}", answers[0]);
        assert_eq!(answers[0], answers[1], "{method}");
        assert_eq!(answers[0], answers[2], "{method}");
    }
}

#[test]
fn notifications_are_not_answered() {
    let mut transports = transports();
    let notifications = [
        r#""method":"notifications/initialized""#,
        r#""method":"notifications/initialized","params":{}"#,
        r#""method":"notifications/cancelled","params":{"requestId":17}"#,
        r#""method":"notifications/cancelled","params":{}"#,
        r#""method":"notifications/cancelled""#,
        r#""method":"notifications/nobody/knows""#,
        r#""method":"nothing""#,
        r#""method":"ping""#,
        r#""method":"initialize","params":{"protocolVersion":7}"#,
        r#""method":"tools/list","params":{"cursor":"x"}"#,
        r#""method":"tools/call","params":{}"#,
        r#""method":"tools/call","params":{"name":"nothing"}"#,
    ];
    for members in notifications {
        transports.tell(&format!(r#"{{"jsonrpc":"2.0",{members}}}"#));
        // The next message is the answer to the next request.
        transports.call("ping", &json!({}));
    }
}

#[test]
fn an_unexpected_response_is_not_a_request() {
    let mut transports = transports();
    let cases = [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
    ];
    for message in cases {
        refused(&mut transports, message, -32600, "response");
    }
}
