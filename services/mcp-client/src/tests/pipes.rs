//! Several calls on one pair of pipes, and pipes that break.

use std::pin::pin;

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::{doubles::*, *};
use ziggurat_mcp::protocol::Revision;

fn said(request: &Value, text: &str) -> Value {
    result(
        request,
        &json!({"content": [{"type": "text", "text": text}]}),
    )
}

#[tokio::test]
async fn answers_reach_their_calls_in_any_order() {
    let (builder, mut peer) = pipes(64);
    let client = welcomed(builder, &mut peer).await;
    let call = async |name: &str| {
        let result = client.call(name, &json!({"long": "x".repeat(200)})).await;
        result.expect("called").text()
    };
    let serving = async {
        let calls = [
            peer.message().await,
            peer.message().await,
            peer.message().await,
        ];
        for call in calls.iter().rev() {
            let name = call["params"]["name"].as_str().expect("a name");
            peer.send(said(call, &format!("{name} {}", "y".repeat(200))))
                .await;
        }
    };
    let calls = async { tokio::join!(call("a"), call("b"), call("c")) };
    let ((a, b, c), ()) = soon(async { tokio::join!(calls, serving) }).await;
    for (text, start) in [(a, "a y"), (b, "b y"), (c, "c y")] {
        assert!(text.starts_with(start), "{text}");
    }
}

#[tokio::test]
async fn a_call_continues_in_its_task_when_the_one_that_read_for_it_is_dropped() {
    let (builder, mut peer) = pipes(1024);
    let client = welcomed(builder, &mut peer).await;
    let first = tokio::task::LocalSet::new();
    let waiting = client.clone();
    let (sender, answered) = tokio::sync::oneshot::channel();
    first.spawn_local(async move {
        let result = waiting.call("first", &()).await;
        sender.send(result.expect("called").text()).expect("a test");
    });
    let script = async {
        let first = peer.expect("tools/call").await;
        // The last to poll the pipe, and never again.
        assert!(client.call("second", &()).now_or_never().is_none());
        peer.expect("tools/call").await;
        peer.expect("notifications/cancelled").await;
        peer.send(said(&first, "done")).await;
        assert_eq!(soon(answered).await.expect("an answer"), "done");
    };
    first.run_until(soon(script)).await;
}

#[tokio::test]
async fn a_call_is_woken_when_another_reads_its_answer_and_is_then_not_polled() {
    let (builder, mut peer) = pipes(1024);
    let client = welcomed(builder, &mut peer).await;
    let mut first = pin!(client.call("first", &()));
    assert!(poll_once(first.as_mut()).await.is_pending());
    let request = peer.expect("tools/call").await;
    let mut second = pin!(client.call("second", &()));
    assert!(poll_once(second.as_mut()).await.is_pending());
    peer.send(said(&request, "done")).await;
    assert!(
        poll_once(second.as_mut()).await.is_pending(),
        "reads for the first"
    );
    assert_eq!(soon(first).await.expect("called").text(), "done");
}

#[tokio::test]
async fn progress_reaches_the_call_that_its_token_names() {
    use std::sync::{Arc, Mutex};

    let (builder, mut peer) = pipes(1024);
    let client = welcomed(builder, &mut peer).await;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let reporting = |name: &'static str| {
        let reports = Arc::clone(&reports);
        let receive = move |report: ProgressReport| {
            reports
                .lock()
                .expect("not poisoned")
                .push((name, report.progress));
        };
        client.with_progress(receive)
    };
    let serving = async {
        let calls = [peer.message().await, peer.message().await];
        for (step, call) in [(1, &calls[1]), (2, &calls[0]), (3, &calls[1])] {
            let token = &call["params"]["_meta"]["progressToken"];
            let params = json!({"progressToken": token, "progress": step});
            let method = "notifications/progress";
            peer.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
                .await;
        }
        peer.send(said(&calls[0], "a")).await;
        peer.send(said(&calls[1], "b")).await;
    };
    let (a, b) = (reporting("a"), reporting("b"));
    let calls = async { tokio::join!(a.call("a", &()), b.call("b", &())) };
    let ((a, b), ()) = soon(async { tokio::join!(calls, serving) }).await;
    assert_eq!(
        (a.expect("called").text(), b.expect("called").text()),
        ("a".into(), "b".into())
    );
    let mut reports = reports.lock().expect("not poisoned").clone();
    reports.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    assert_eq!(reports, [("b", 1.0), ("a", 2.0), ("b", 3.0)]);
}

#[tokio::test]
async fn a_request_of_the_server_is_answered_by_the_call_that_waits() {
    let (builder, mut peer) = pipes(1024);
    let builder =
        builder.with_elicitation(async |_| FormAnswer::accept(&json!({"ok": true})).expect("JSON"));
    let client = welcomed(builder, &mut peer).await;
    let serving = async {
        let call = peer.expect("tools/call").await;
        let params = json!({"message": "?", "requestedSchema": {}});
        let method = "elicitation/create";
        peer.send(json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
            .await;
        let answer = peer.message().await;
        assert_eq!(answer["id"], 7);
        assert_eq!(answer["result"]["action"], "accept");
        peer.send(said(&call, "thanks")).await;
    };
    let (result, ()) = tokio::join!(soon(client.call("x", &())), serving);
    assert_eq!(result.expect("called").text(), "thanks");
}

#[tokio::test]
async fn a_wrong_line_fails_the_calls_that_wait_and_no_later_ones() {
    let (builder, mut peer) = pipes(4096);
    let builder = builder.with_max_bytes(500);
    let client = welcomed(builder, &mut peer).await;
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
    for (line, expected) in [
        (
            "not json",
            "expected ident at line 1 column 2 in `not json`",
        ),
        ("[]", "in `[]`"),
        ("7", "in `7`"),
        (
            r#"{"jsonrpc":"1.0","id":2,"result":{}}"#,
            "`jsonrpc` is not \"2.0\"",
        ),
        (
            r#"{"jsonrpc":"2.0","id":2}"#,
            "neither a request nor a result",
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":""}}"#,
            "neither",
        ),
        (r#"{"jsonrpc":"2.0","result":{}}"#, "neither"),
        (
            r#"{"jsonrpc":"2.0","id":999,"result":{}}"#,
            "the id 999, which no request has",
        ),
        (
            r#"{"jsonrpc":"2.0","id":"2","result":{}}"#,
            "which no request has",
        ),
        (r#"{"jsonrpc":"2.0","id":2,"error":"no"}"#, "invalid type"),
        (error, "the error -32700: Parse error"),
        (&"x".repeat(501), "longer than 500 bytes"),
    ] {
        let serving = async {
            peer.expect("tools/call").await;
            peer.send(line).await;
        };
        let (failed, ()) = tokio::join!(soon(client.call("x", &())), serving);
        let error = failed.expect_err(line).to_string();
        assert!(error.contains(expected), "{line}: {error}");
        // The server does not know that the client has given up.
        peer.expect("notifications/cancelled").await;
    }
    let serving = async {
        let call = peer.expect("tools/call").await;
        peer.send(said(&call, "well")).await;
    };
    let (result, ()) = tokio::join!(soon(client.call("x", &())), serving);
    assert_eq!(result.expect("called").text(), "well");
}

#[tokio::test]
async fn a_late_answer_to_a_dropped_call_is_ignored() {
    let (builder, mut peer) = pipes(1024);
    let client = welcomed(builder, &mut peer).await;
    assert!(client.call("x", &()).now_or_never().is_none());
    let dropped = peer.expect("tools/call").await;
    peer.expect("notifications/cancelled").await;
    let serving = async {
        let call = peer.expect("tools/call").await;
        peer.send(said(&dropped, "late")).await;
        peer.send(said(&call, "new")).await;
    };
    let (result, ()) = tokio::join!(soon(client.call("x", &())), serving);
    assert_eq!(result.expect("called").text(), "new");
}

#[tokio::test]
async fn a_server_that_ends_fails_its_calls_and_all_later_ones() {
    let (builder, mut peer) = pipes(1024);
    let client = welcomed(builder, &mut peer).await;
    let ending = async {
        peer.expect("tools/call").await;
        peer.send(r#"{"jsonrpc":"2.0","id":2,"resu"#.trim()).await;
        drop(peer);
    };
    let calls = async { tokio::join!(client.call("x", &()), client.call("y", &())) };
    let ((x, y), ()) = soon(async { tokio::join!(calls, ending) }).await;
    for failed in [x, y, soon(client.call("z", &())).await] {
        let error = failed.expect_err("a dead server");
        let is_expected = matches!(error, ClientError::Closed | ClientError::Unexpected(_));
        assert!(is_expected, "{error}");
    }
    let error = soon(client.ping()).await.expect_err("a dead server");
    assert!(matches!(error, ClientError::Closed), "{error}");
}

#[tokio::test]
async fn an_answer_on_a_last_line_without_an_end_counts() {
    let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    let client = Client::stdio(&answer[..], tokio::io::sink())
        .connect()
        .await;
    let client = client.expect("connected");
    assert_eq!(client.server().revision, Revision::V2026_07_28);
    let error = soon(client.ping()).await.expect_err("the end");
    assert!(matches!(error, ClientError::Closed), "{error}");
}
