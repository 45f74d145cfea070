//! Forms, logs and requests of a server.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{doubles::*, *};
use ziggurat_mcp::protocol::Revision;

/// Accepts every form, and keeps the questions.
fn accepting(builder: ClientBuilder) -> (ClientBuilder, Arc<Mutex<Vec<String>>>) {
    let questions = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&questions);
    let builder = builder.with_elicitation(move |form| {
        asked.lock().expect("not poisoned").push(form.message);
        async { FormAnswer::accept(&json!({"ok": true})).expect("JSON") }
    });
    (builder, questions)
}

#[tokio::test]
async fn a_call_is_repeated_with_the_answers_until_it_is_complete() {
    let (builder, questions) = accepting(over_http(mcp().0));
    let client = builder.connect().await.expect("connected");
    let result = soon(client.call("confirm", &())).await.expect("called");
    assert_eq!(result.text(), "true");
    assert_eq!(*questions.lock().expect("not poisoned"), ["Sure?", "Sure?"]);
    over_pipes(mcp().0, async |builder| {
        let (builder, _questions) = accepting(builder);
        let client = builder.connect().await.expect("connected");
        let result = client.call("confirm", &()).await.expect("called");
        assert_eq!(result.text(), "true");
        client.close().await.expect("closed");
    })
    .await;
}

#[tokio::test]
async fn a_user_may_decline() {
    let builder = over_http(mcp().0).with_elicitation(async |_| FormAnswer::decline());
    let client = builder.connect().await.expect("connected");
    let result = soon(client.call("confirm", &())).await.expect("called");
    assert_eq!(result.text(), "declined");
}

#[tokio::test]
async fn a_client_without_a_closure_cannot_be_asked() {
    let client = over_http(mcp().0).connect().await.expect("connected");
    let error = client
        .call("confirm", &())
        .await
        .expect_err("no capability");
    assert!(
        matches!(error, ClientError::Rpc { code: -32021, .. }),
        "{error}"
    );
}

/// Returns a server of the modern revision that answers each call like this.
fn modern(answer: Value) -> ClientBuilder {
    let (builder, _) = scripted(move |seen| {
        let found = json!({"supportedVersions": ["2026-07-28"], "capabilities": {}});
        let is_call = seen.message["method"] == "tools/call";
        json_response(&result(
            &seen.message,
            if is_call { &answer } else { &found },
        ))
    });
    builder
}

#[tokio::test]
async fn questions_without_end_and_questions_of_other_kinds_are_errors() {
    let form = json!({"method": "elicitation/create",
        "params": {"message": "?", "requestedSchema": {}}});
    let again = json!({"resultType": "input_required", "inputRequests": {"a": form}});
    let (builder, questions) = accepting(modern(again));
    let client = builder
        .with_max_rounds(3)
        .connect()
        .await
        .expect("connected");
    let error = soon(client.call("x", &())).await.expect_err("no end");
    assert_eq!(
        error.to_string(),
        "the server asked for input more than 3 times in one call"
    );
    assert_eq!(questions.lock().expect("not poisoned").len(), 4);

    let url = json!({"method": "elicitation/create", "params": {"mode": "url", "message": "?",
        "requestedSchema": {}}});
    let roots = json!({"method": "roots/list"});
    for (request, problem) in [
        (url, "not a form"),
        (roots, "`roots/list`, which is not declared"),
    ] {
        let asks = json!({"resultType": "input_required", "inputRequests": {"a": request}});
        let client = accepting(modern(asks)).0.connect().await;
        let client = client.expect("connected");
        let error = soon(client.call("x", &())).await.expect_err("not a form");
        assert!(error.to_string().ends_with(problem), "{error}");
    }

    let task = modern(json!({"resultType": "task", "taskId": "1"}));
    let client = task.connect().await.expect("connected");
    let error = client.call("x", &()).await.expect_err("a task");
    assert!(error.to_string().contains("type `task`"), "{error}");
}

/// Serves one call over HTTP with a stream that asks in the middle of it.
async fn ask_in_stream(builder_of: fn(ClientBuilder) -> ClientBuilder, question: Value) -> Value {
    let (events_in, events_out) = mpsc::unbounded_channel::<String>();
    let events_out = Arc::new(Mutex::new(Some(events_out)));
    let (builder, mut received) = scripted(move |_| {
        let mut events_out = events_out.lock().expect("not poisoned");
        let mut events_out = events_out.take().expect("one call");
        let stream = futures_util::stream::poll_fn(move |cx| events_out.poll_recv(cx));
        let frames =
            futures_util::StreamExt::map(stream, |event| Ok(Frame::data(Bytes::from(event))));
        events(StreamBody::new(frames).boxed_unsync())
    });
    let builder = builder_of(builder).with_revision(Revision::V2025_11_25);
    let client = builder.connect().await.expect("connected");
    let serving = async {
        let call = loop {
            let seen = received.recv().await.expect("a request");
            if seen.message["method"] == "tools/call" {
                break seen.message;
            }
        };
        events_in
            .send(format!("data: {question}\n\n"))
            .expect("read");
        let answer = received.recv().await.expect("an answer").message;
        let text = json!({"content": [{"type": "text", "text": "done"}]});
        let done = result(&call, &text);
        events_in.send(format!("data: {done}\n\n")).expect("read");
        answer
    };
    let (result, answer) = soon(async { tokio::join!(client.call("x", &()), serving) }).await;
    assert_eq!(result.expect("called").text(), "done");
    answer
}

#[tokio::test]
async fn a_request_in_the_stream_of_a_call_is_answered_with_a_post() {
    let form = json!({"message": "Name?", "requestedSchema": {"type": "object"}});
    let ask = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": "q-1", "method": method, "params": params});
    let with = |builder: ClientBuilder| accepting(builder).0;
    let answer = ask_in_stream(with, ask("elicitation/create", form.clone())).await;
    let accepted = json!({"action": "accept", "content": {"ok": true}});
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": "q-1", "result": accepted})
    );

    let answer = ask_in_stream(with, ask("elicitation/create", json!({"message": 7}))).await;
    assert_eq!(answer["error"]["code"], -32602);
    let answer = ask_in_stream(|builder| builder, ask("elicitation/create", form)).await;
    assert_eq!(answer["error"]["code"], -32601);
    let answer = ask_in_stream(with, ask("ping", json!({}))).await;
    assert_eq!(answer["result"], json!({}));
    let answer = ask_in_stream(with, ask("roots/list", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32601);
}

#[tokio::test]
async fn forms_are_declared_as_each_revision_writes_it() {
    for (revision, expected) in [
        (Revision::V2024_11_05, json!({})),
        (Revision::V2025_03_26, json!({})),
        (Revision::V2025_06_18, json!({"elicitation": {}})),
        (Revision::V2025_11_25, json!({"elicitation": {"form": {}}})),
    ] {
        let (builder, mut received) = scripted(|_| unreachable!("only connected"));
        let builder = accepting(builder).0.with_revision(revision);
        builder.connect().await.expect("connected");
        let seen = received.recv().await.expect("a request").message;
        assert_eq!(seen["params"]["capabilities"], expected, "{revision}");
    }
}

#[tokio::test]
async fn logs_are_passed_on_and_other_notifications_are_ignored() {
    let logs = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&logs);
    let (builder, mut peer) = pipes(1024);
    let builder = builder.with_log(LogLevel::Info, move |log| {
        let text = format!("{} {:?} {}", log.level, log.logger, log.data);
        received.lock().expect("not poisoned").push(text);
    });
    let client = welcomed(builder, &mut peer).await;
    let serving = async {
        let call = peer.expect("tools/call").await;
        for (method, params) in [
            (
                "notifications/message",
                json!({"level": "info", "data": {"a": 1}}),
            ),
            ("notifications/message", json!({"no": "level"})),
            (
                "notifications/progress",
                json!({"progressToken": 1, "progress": 1}),
            ),
            ("notifications/tools/list_changed", json!({})),
        ] {
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            peer.send(message).await;
        }
        peer.send(result(&call, &json!({"content": []}))).await;
    };
    let (result, ()) = tokio::join!(soon(client.call("x", &())), serving);
    assert_eq!(result.expect("called").text(), "");
    assert_eq!(
        *logs.lock().expect("not poisoned"),
        [r#"info None {"a":1}"#]
    );
}
