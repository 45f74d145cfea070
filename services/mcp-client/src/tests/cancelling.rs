//! Calls that are dropped.

use std::{convert::Infallible, future::pending, pin::pin};

use futures_util::FutureExt as _;
use http::StatusCode;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tower::service_fn;

use super::{doubles::*, *};
use ziggurat_mcp::protocol::Revision;

#[tokio::test]
async fn dropping_a_call_of_the_modern_revision_drops_the_response() {
    let (mcp, mut waited) = mcp();
    let client = over_http(mcp).connect().await.expect("connected");
    for client in [client.clone(), client.with_progress(|_| {})] {
        {
            let mut call = pin!(client.call("wait", &()));
            while waited.try_recv().is_err() {
                assert!(poll_once(call.as_mut()).await.is_pending());
            }
            // With progress the response has begun.
            assert!(poll_once(call.as_mut()).await.is_pending());
        }
        assert_eq!(soon(waited.recv()).await, Some("dropped"));
    }
}

#[tokio::test]
async fn dropping_a_call_over_pipes_cancels_it_on_the_server() {
    for revision in Revision::ALL {
        let (mcp, mut waited) = mcp();
        over_pipes(mcp, async |builder| {
            let client = builder.with_revision(revision).connect().await;
            let client = client.expect("connected");
            tokio::select! {
                _ = client.call("wait", &()) => panic!("it never answers"),
                started = waited.recv() => assert_eq!(started, Some("started")),
            }
            assert_eq!(soon(waited.recv()).await, Some("dropped"));
            client.ping().await.expect("the pipe still works");
            client.close().await.expect("closed");
        })
        .await;
    }
}

#[tokio::test]
async fn dropping_a_call_of_an_older_revision_posts_a_notification() {
    let (builder, mut received) = scripted(|_| {
        let body = StreamBody::new(futures_util::stream::pending::<
            Result<Frame<Bytes>, BoxError>,
        >());
        events(body.boxed_unsync())
    });
    let builder = builder.with_revision(Revision::V2025_11_25);
    let client = builder.connect().await.expect("connected");
    // Once before the response and once in its body.
    assert!(client.call("x", &()).now_or_never().is_none());
    let cancelled = async {
        loop {
            let seen = soon(received.recv()).await.expect("a request");
            if seen.message["method"] == "notifications/cancelled" {
                break seen;
            }
        }
    };
    let seen = cancelled.await;
    assert_eq!(seen.message["params"]["requestId"], 2);
    assert_eq!(seen.headers["mcp-protocol-version"], "2025-11-25");
    assert_eq!(seen.headers["mcp-session-id"], "s-1");
}

#[tokio::test]
async fn a_finished_call_is_not_cancelled() {
    let (builder, mut received) = scripted(|seen| match seen.message["method"].as_str() {
        Some("tools/call") => status(
            StatusCode::OK,
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}"#,
        ),
        _ => json_response(&result(&seen.message, &json!({"tools": []}))),
    });
    let builder = builder.with_revision(Revision::V2025_11_25);
    let client = builder.connect().await.expect("connected");
    client
        .call("x", &())
        .await
        .expect_err("an error is an answer");
    client.tools().await.expect("a list");
    client.flush().await.expect("flushed");
    client.close().await.expect("closed");
    while let Ok(seen) = received.try_recv() {
        assert_ne!(seen.message["method"], "notifications/cancelled");
    }
}

/// A server that accepts each notification only when the test lets it through.
fn slow_server() -> (
    ClientBuilder,
    mpsc::UnboundedReceiver<(Value, oneshot::Sender<()>)>,
) {
    let (sender, received) = mpsc::unbounded_channel();
    let service = service_fn(move |request: Request<RequestBody>| {
        let sender = sender.clone();
        async move {
            let body = request.into_body().collect().await.expect("a body");
            let message: Value = serde_json::from_slice(&body.to_bytes()).expect("JSON");
            match message["method"].as_str() {
                Some("initialize") => return Ok(json_response(&initialized(&message))),
                Some("notifications/initialized") => return Ok(status(StatusCode::OK, "")),
                Some("tools/call") => return pending().await,
                Some("ping") => return Ok(json_response(&result(&message, &json!({})))),
                _ => {}
            }
            let (go, gone) = oneshot::channel();
            sender.send((message, go)).expect("a test");
            gone.await.expect("a test");
            Ok::<_, Infallible>(status(StatusCode::ACCEPTED, ""))
        }
    });
    (Client::service("http://localhost/mcp", service), received)
}

#[tokio::test]
async fn a_cancellation_that_cannot_leave_at_once_leaves_with_a_flush_or_the_next_call() {
    let (builder, mut received) = slow_server();
    let builder = builder.with_revision(Revision::V2025_06_18);
    let client = builder.connect().await.expect("connected");
    assert!(client.call("x", &()).now_or_never().is_none());
    let (message, go) = received.recv().await.expect("begun at once");
    assert_eq!(message["params"]["requestId"], 2);
    {
        let mut flush = pin!(client.flush());
        assert!(poll_once(flush.as_mut()).await.is_pending());
        go.send(()).expect("not dropped");
        assert!(matches!(
            poll_once(flush.as_mut()).await,
            Poll::Ready(Ok(()))
        ));
    }

    assert!(client.call("x", &()).now_or_never().is_none());
    let (message, go) = received.recv().await.expect("begun at once");
    assert_eq!(message["params"]["requestId"], 3);
    go.send(()).expect("not dropped");
    soon(client.ping()).await.expect("pinged");
    assert!(client.flush().now_or_never().is_some(), "nothing is left");
}

#[tokio::test]
async fn a_cancellation_that_the_pipe_has_no_space_for_leaves_with_a_flush() {
    let (builder, mut peer) = pipes(16);
    let client = welcomed(builder, &mut peer).await;
    assert!(client.call("x", &()).now_or_never().is_none());
    let mut flush = pin!(client.flush());
    assert!(poll_once(flush.as_mut()).await.is_pending());
    let serving = async {
        peer.expect("tools/call").await;
        peer.expect("notifications/cancelled").await
    };
    let (flushed, cancelled) = tokio::join!(soon(flush), serving);
    flushed.expect("flushed");
    assert_eq!(cancelled["params"]["requestId"], 2);
}
