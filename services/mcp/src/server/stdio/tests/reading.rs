use proptest::prelude::*;
use tokio_test::io::Builder;

use super::*;
use crate::{Mcp, Prompts, Resources, ServerInfo, Tools};

fn mcp() -> Mcp {
    let about = ServerInfo::new("test", "0");
    Mcp::new(&about, Tools::new(), Resources::new(), Prompts::new()).expect("well-formed")
}

/// Returns all that is written while the pieces are read.
fn transcript(stdio: Stdio, pieces: &[&[u8]]) -> String {
    let mut input = Builder::new();
    for piece in pieces {
        input.read(piece);
    }
    let mut output = Vec::new();
    tokio_test::block_on(stdio.serve(mcp(), input.build(), &mut output, pending()))
        .expect("served");
    String::from_utf8(output).expect("UTF-8")
}

fn sorted(transcript: &str) -> Vec<&str> {
    let mut lines: Vec<_> = transcript.lines().collect();
    lines.sort_unstable();
    lines
}

#[tokio::test]
async fn calls_run_concurrently_and_are_answered_as_they_finish() {
    let (served, ()) = converse(Stdio::new(), async |mut client| {
        client.request(1).await;
        client.request(2).await;
        let first = client.call(1).await;
        client.call(2).await.reply("quick");
        assert_eq!(client.line().await, answer(2, "quick"));
        first.reply("slow");
        assert_eq!(client.rest().await, answer(1, "slow"));
    })
    .await;
    served.expect("served");
}

#[tokio::test]
async fn no_more_calls_run_than_there_are_permits() {
    let stdio = Stdio::new().with_limits(limits(2, 8));
    let (served, ()) = converse(stdio, async |mut client| {
        for id in 1..=4 {
            client.request(id).await;
        }
        let first = client.call(1).await;
        let second = client.call(2).await;
        settle().await;
        assert!(client.calls.try_recv().is_err(), "a third call runs");
        first.reply("done");
        let third = client.call(3).await;
        settle().await;
        assert!(client.calls.try_recv().is_err(), "a fourth call runs");
        second.reply("done");
        client.call(4).await.reply("done");
        third.reply("done");
        assert_eq!(client.rest().await.lines().count(), 4);
    })
    .await;
    served.expect("served");
}

#[tokio::test]
async fn an_answer_that_is_not_written_yet_holds_a_permit() {
    let stdio = Stdio::new().with_limits(limits(1, 8));
    let (served, ()) = converse(stdio, async |mut client| {
        client.request(1).await;
        client.request(2).await;
        let (body, text) = long_text();
        client.call(1).await.stream(body);
        settle().await;
        assert!(client.calls.try_recv().is_err(), "the first is not written");
        assert_eq!(client.line().await, answer(1, &text));
        client.call(2).await.reply("next");
        assert_eq!(client.rest().await, answer(2, "next"));
    })
    .await;
    served.expect("served");
}

#[tokio::test(start_paused = true)]
async fn reading_stops_while_too_much_is_waiting() {
    let stdio = Stdio::new().with_limits(limits(1, 1));
    let (served, ()) = converse(stdio, async |mut client| {
        client.request(1).await;
        client.request(2).await;
        let first = client.call(1).await;
        // More than the pipe and the buffer after it can hold.
        let many = "\n".repeat(64 << 10);
        let sending = time::timeout(
            Duration::from_secs(1),
            client.input.write_all(many.as_bytes()),
        );
        assert!(sending.await.is_err(), "the server went on reading");
        first.reply("done");
        client.call(2).await.reply("done");
        client.send(&many).await;
        assert_eq!(client.rest().await.lines().count(), 2);
    })
    .await;
    served.expect("served");
}

#[tokio::test]
async fn answers_are_written_one_after_another() {
    let (served, ()) = converse(Stdio::new(), async |mut client| {
        let mut texts = Vec::new();
        for id in 1..=3 {
            client.request(id).await;
            let (body, text) = long_text();
            client.call(id).await.stream(body);
            texts.push(answer(id, &text));
        }
        for text in texts {
            assert_eq!(client.line().await, text);
        }
    })
    .await;
    served.expect("served");
}

#[tokio::test]
async fn every_call_has_the_extensions_that_the_program_sets() {
    #[derive(Clone, Debug, PartialEq)]
    struct Identity(&'static str);

    let stdio = Stdio::new().with_extension(Identity("the owner"));
    let (served, ()) = converse(stdio, async |mut client| {
        for id in 1..=2 {
            client.request(id).await;
            let call = client.call(id).await;
            let identity = call.call.head().extensions.get();
            assert_eq!(identity, Some(&Identity("the owner")));
            call.reply("known");
            assert_eq!(client.line().await, answer(id, "known"));
        }
    })
    .await;
    served.expect("served");
}

#[test]
fn bad_lines_are_answered_and_the_next_one_is_served() {
    const PONG: &str = r#"{"jsonrpc":"2.0","id":"ok","result":{}}"#;
    let cases = [
        ("\n \t\r\n", None),
        ("\u{feff}", None),
        (r#"{"jsonrpc":"2.0","method":"anything"}"#, None),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            None,
        ),
        ("{", Some((-32700, "null"))),
        ("\u{0}", Some((-32700, "null"))),
        ("[]", Some((-32600, "null"))),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            Some((-32600, "null")),
        ),
        (r#"{"id":7,"method":"ping"}"#, Some((-32600, "7"))),
        (r#"{"jsonrpc":"2.0","id":7}"#, Some((-32600, "7"))),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#,
            Some((-32602, "7")),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"dance"}"#,
            Some((-32601, "7")),
        ),
        (&"9".repeat(200), Some((-32700, "null"))),
    ];
    for (line, refusal) in cases {
        let limits = Limits {
            max_line_bytes: 100,
            ..Limits::default()
        };
        let stdio = Stdio::new().with_limits(limits);
        let input =
            format!("{line}\n{{\"jsonrpc\":\"2.0\",\"id\":\"ok\",\"method\":\"ping\"}}\r\n");
        let written = transcript(stdio, &[input.as_bytes()]);
        assert!(written.ends_with('\n'), "{line:?}");
        let lines = sorted(&written);
        assert_eq!(lines.first(), Some(&PONG), "{line:?}: {written}");
        assert_eq!(lines.len(), 1 + usize::from(refusal.is_some()), "{line:?}");
        if let Some((code, id)) = refusal {
            let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#);
            assert!(
                lines.iter().any(|line| line.starts_with(&start)),
                "{written}"
            );
        }
    }
}

#[test]
fn ids_come_back_as_they_were_sent() {
    for id in ["1", "-0", "9007199254740993", r#""a\/b""#, "null", "1.5"] {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"ping","id":{id}}}"#);
        assert_eq!(
            transcript(Stdio::new(), &[line.as_bytes()]),
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
        );
    }
}

proptest! {
    #[test]
    fn the_answers_are_the_same_however_the_input_is_cut(
        lines in prop::collection::vec(prop_oneof![
            Just(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
            Just(r#"{"jsonrpc":"2.0","id":"é","method":"initialize"}"#),
            Just(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
            Just(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#),
            Just("not JSON"),
            Just(""),
        ], 0..12),
        ending in prop_oneof![Just("\n"), Just("\r\n")],
        cuts in prop::collection::vec(1_usize..40, 0..40),
    ) {
        let input = lines.join(ending);
        let whole = transcript(Stdio::new(), &[input.as_bytes()]);
        let mut rest = input.as_bytes();
        let mut pieces = Vec::new();
        for cut in cuts {
            let (piece, behind) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        pieces.push(rest);
        pieces.retain(|piece| !piece.is_empty());
        let cut = transcript(Stdio::new().with_limits(limits(1, 0)), &pieces);
        prop_assert_eq!(sorted(&cut), sorted(&whole));
        let answered = lines.iter().filter(|line| line.contains("id\":1") || line.contains("é") || **line == "not JSON");
        prop_assert_eq!(whole.lines().count(), answered.count());
    }
}
