use super::*;

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_not_answered() {
    let (served, ()) = converse(Stdio::new(), async |mut client| {
        client.request(1).await;
        client.request(2).await;
        let first = client.call(1).await;
        let second = client.call(2).await;
        client.cancel("1").await;
        first.dropped().await;
        second.reply("left alone");
        assert_eq!(client.rest().await, answer(2, "left alone"));
    })
    .await;
    served.expect("served");
}

#[tokio::test]
async fn only_the_call_of_the_same_id_is_cancelled() {
    let cases = [r#""1""#, "1.0", "2", "null", "{}"];
    for id in cases {
        let (served, ()) = converse(Stdio::new(), async |mut client| {
            client.request(1).await;
            let call = client.call(1).await;
            client.cancel(id).await;
            settle().await;
            call.reply("still here");
            assert_eq!(client.line().await, answer(1, "still here"), "{id}");
        })
        .await;
        served.expect("served");
    }
}

#[tokio::test]
async fn a_text_id_is_matched_however_it_is_escaped() {
    let (served, ()) = converse(Stdio::new(), async |mut client| {
        client
            .send("{\"jsonrpc\":\"2.0\",\"id\":\"a/b\",\"method\":\"wait\"}\n")
            .await;
        let call = soon(client.calls.recv()).await.expect("a call");
        client.cancel(r#""a\/b""#).await;
        call.dropped().await;
        assert_eq!(client.rest().await, "");
    })
    .await;
    served.expect("served");
}

#[tokio::test]
async fn a_cancellation_gets_past_the_calls_that_wait() {
    let stdio = Stdio::new().with_limits(limits(1, 2));
    let (served, ()) = converse(stdio, async |mut client| {
        for id in 1..=2 {
            client.request(id).await;
        }
        let first = client.call(1).await;
        client.cancel("2").await;
        client.request(3).await;
        settle().await;
        first.reply("done");
        client.call(3).await.reply("done");
        let expected = answer(1, "done") + &answer(3, "done");
        assert_eq!(client.rest().await, expected);
    })
    .await;
    served.expect("served");
}

#[tokio::test]
async fn an_answer_that_waits_for_its_line_is_dropped_and_one_that_has_begun_is_finished() {
    let (served, ()) = converse(Stdio::new(), async |mut client| {
        for id in 1..=3 {
            client.request(id).await;
        }
        let first = client.call(1).await;
        let second = client.call(2).await;
        let third = client.call(3).await;
        let (body, text) = long_text();
        first.stream(body);
        settle().await;
        second.stream(short_text());
        third.reply("short too");
        settle().await;
        client.cancel("1").await;
        client.cancel("2").await;
        settle().await;
        let expected = answer(1, &text) + &answer(3, "short too");
        assert_eq!(client.rest().await, expected);
    })
    .await;
    served.expect("served");
}

#[tokio::test]
async fn a_cancelled_call_releases_its_permit() {
    let stdio = Stdio::new().with_limits(limits(1, 1));
    let (served, ()) = converse(stdio, async |mut client| {
        client.request(1).await;
        let first = client.call(1).await;
        client.cancel("1").await;
        client.request(2).await;
        first.dropped().await;
        client.call(2).await.reply("done");
        assert_eq!(client.rest().await, answer(2, "done"));
    })
    .await;
    served.expect("served");
}

#[tokio::test]
async fn initialize_cannot_be_cancelled() {
    let (served, ()) = converse(Stdio::new(), async |mut client| {
        client
            .send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n")
            .await;
        let call = client.call(1).await;
        client.cancel("1").await;
        settle().await;
        call.reply("hello");
        assert_eq!(client.rest().await, answer(1, "hello"));
    })
    .await;
    served.expect("served");
}

#[tokio::test]
async fn a_cancellation_that_wants_an_answer_is_an_ordinary_call() {
    let (served, ()) = converse(Stdio::new(), async |mut client| {
        client
            .send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"notifications/cancelled\"}\n")
            .await;
        client.call(1).await.reply("what?");
        assert_eq!(client.rest().await, answer(1, "what?"));
    })
    .await;
    served.expect("served");
}
