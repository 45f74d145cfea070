use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::Value;
use tokio_test::{assert_pending, assert_ready, assert_ready_ok, task};

use super::*;
use crate::{
    json_rpc::{
        Id, Json, JsonRpcLayer,
        tests::{ask, error, full, invalid, next_call, post, send, spawn, text},
    },
    reject::AuthFailed,
};

#[test]
fn a_batch_is_answered_in_order() {
    let batches = Dialect::new().with_batches(Batches::new(6));
    let add =
        |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"add","params":[{id},1]}}"#);
    let sum = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, id + 1);
    let notify = r#"{"jsonrpc":"2.0","method":"add"}"#;
    let cases = [
        (add(1), sum(1)),
        (
            [add(1), add(2), add(3), add(4), add(5), add(6)].join(","),
            [sum(1), sum(2), sum(3), sum(4), sum(5), sum(6)].join(","),
        ),
        (
            format!("{notify},{},{notify},{}", add(1), add(2)),
            format!("{},{}", sum(1), sum(2)),
        ),
        (
            format!("7,{},[],{{}}", add(1)),
            [
                invalid("null", "a message must be an object"),
                sum(1),
                invalid("null", "a message must be an object"),
                invalid("null", "`jsonrpc` is missing"),
            ]
            .join(","),
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"stream"}},{}"#, add(2)),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":[1,2]}},{}"#, sum(2)),
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"break"}},{}"#, add(2)),
            format!(
                "{},{}",
                error("1", -32603, "Internal error", "the result is incomplete"),
                sum(2)
            ),
        ),
    ];
    for (messages, answers) in cases {
        let response = send(batches, format!("[{messages}]"));
        assert_eq!(response.status(), StatusCode::OK, "{messages}");
        assert_eq!(
            response.headers()["content-type"],
            "application/json",
            "{messages}"
        );
        let size = response.body().size_hint().exact();
        let body = text(response.into_body());
        assert_eq!(body, format!("[{answers}]"), "{messages}");
        assert_eq!(size, u64::try_from(body.len()).ok(), "{messages}");
    }

    let too_many = vec![add(1); 7].join(",");
    let refused = [
        (String::from("[]"), "the batch is empty"),
        (format!("[{too_many}]"), "the batch has too many messages"),
    ];
    for (messages, problem) in refused {
        assert_eq!(ask(batches, messages), invalid("null", problem));
    }
}

#[test]
fn the_calls_of_a_batch_are_marked_as_batched() {
    let batches = Dialect::new().with_batches(Batches::new(1));
    let answer = ask(batches, r#"[{"jsonrpc":"2.0","id":1,"method":"about"}]"#);
    assert!(answer.contains(r#""batched":true"#), "{answer}");
}

#[test]
fn of_the_http_parts_of_a_batch_the_extensions_are_kept() {
    let batches = Dialect::new().with_batches(Batches::new(2));
    let response = send(
        batches,
        r#"[{"jsonrpc":"2.0","id":1,"method":"login"},{"jsonrpc":"2.0","id":2,"method":"echo"}]"#,
    );
    assert_eq!(response.status(), StatusCode::OK);
    assert!(!response.headers().contains_key("retry-after"));
    assert!(response.extensions().get::<AuthFailed>().is_some());
}

#[test]
fn a_result_that_does_not_fit_into_the_answers_is_an_error() {
    let fits = r#"{"jsonrpc":"2.0","id":1,"result":[1,2]}"#;
    let two = r#"[{"jsonrpc":"2.0","id":1,"method":"stream"},{"jsonrpc":"2.0","id":1,"method":"stream"}]"#;
    let too_large = error(
        "1",
        -32603,
        "Internal error",
        "the answers to the batch are too large",
    );
    let cases = [
        (2 * fits.len(), format!("[{fits},{fits}]")),
        (2 * fits.len() - 1, format!("[{fits},{too_large}]")),
        (fits.len() - 1, format!("[{too_large},{too_large}]")),
    ];
    for (max_bytes, answer) in cases {
        let batches = Batches::new(2)
            .with_max_bytes(max_bytes)
            .with_concurrency(0);
        assert_eq!(
            ask(Dialect::new().with_batches(batches), two),
            answer,
            "{max_bytes}"
        );
    }
}

#[test]
fn a_result_that_did_not_fit_leaves_its_bytes_to_the_next() {
    let fits = r#"{"jsonrpc":"2.0","id":2,"result":[1,2]}"#;
    let batches = Batches::new(2)
        .with_max_bytes(fits.len())
        .with_concurrency(1);
    let answer = ask(
        Dialect::new().with_batches(batches),
        r#"[{"jsonrpc":"2.0","id":100,"method":"stream"},{"jsonrpc":"2.0","id":2,"method":"stream"}]"#,
    );
    assert!(answer.contains("too large"), "{answer}");
    assert!(answer.ends_with(&format!(",{fits}]")), "{answer}");
}

#[test]
fn a_batch_runs_no_more_calls_at_once_than_it_may() {
    let batches = Batches::new(3).with_concurrency(2);
    let layer = JsonRpcLayer::new().with_dialect(Dialect::new().with_batches(batches));
    let (mut mock, mut handle) = spawn(layer);
    assert_ready_ok!(mock.poll_ready::<Request<Full<Bytes>>>());
    let calls =
        ["a", "b", "c"].map(|id| format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"m"}}"#));
    let mut response = task::spawn(mock.call(post(full(format!("[{}]", calls.join(","))))));
    let answer = |id: &str| Json::new(id).map_err(|_| Error::internal_error()).into();

    assert_pending!(response.poll());
    let (a, reply_a) = next_call(&mut handle);
    let (b, reply_b) = next_call(&mut handle);
    assert_eq!(
        (a.id().and_then(Id::as_str), b.id().and_then(Id::as_str)),
        (Some("a"), Some("b"))
    );
    let mut third = task::spawn(async { handle.next_request().await });
    assert_pending!(third.poll());

    reply_b.send_response(answer("B"));
    assert!(response.is_woken());
    assert_pending!(response.poll());
    let (_, reply_c) = assert_ready!(third.poll()).expect("c");
    reply_c.send_response(answer("C"));
    assert_pending!(response.poll());
    reply_a.send_response(answer("A"));
    let response = assert_ready_ok!(response.poll());
    let results: Vec<Value> = serde_json::from_str(&text(response.into_body())).expect("JSON");
    let results: Vec<_> = results.iter().map(|answer| &answer["result"]).collect();
    assert_eq!(results, ["A", "B", "C"]);
}

#[test]
fn a_batch_waits_until_the_service_is_ready_again() {
    let layer = JsonRpcLayer::new().with_dialect(Dialect::new().with_batches(Batches::new(3)));
    let (mut mock, mut handle) = spawn(layer);
    handle.allow(1);
    assert_ready_ok!(mock.poll_ready::<Request<Full<Bytes>>>());
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#;
    let mut response = task::spawn(mock.call(post(full(format!("[{call},7,{call}]")))));
    assert_pending!(response.poll());
    let (_, reply) = next_call(&mut handle);
    reply.send_response(Error::method_not_found().into());
    assert_pending!(response.poll(), "the second call has no permit");
    handle.allow(1);
    assert!(response.is_woken());
    assert_pending!(response.poll());
    let (_, reply) = next_call(&mut handle);
    reply.send_response(Error::method_not_found().into());
    let response = assert_ready_ok!(response.poll());
    let answers: Vec<Value> = serde_json::from_str(&text(response.into_body())).expect("JSON");
    assert_eq!(answers.len(), 3);
}
