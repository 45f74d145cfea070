use tokio::time::Instant;
use tokio_test::io::Builder;

use super::*;

#[tokio::test]
async fn the_end_of_the_input_lets_calls_finish() {
    let stdio = Stdio::new().with_limits(limits(1, 8));
    let (served, ()) = converse(stdio, async |mut client| {
        client.request(1).await;
        client.send(request(2).trim_end()).await;
        let Client {
            input,
            mut output,
            mut calls,
        } = client;
        drop(input);
        for _ in 1..=2 {
            let call = soon(calls.recv()).await.expect("a call");
            settle().await;
            call.reply("done");
        }
        let mut rest = String::new();
        output.read_to_string(&mut rest).await.expect("text");
        assert_eq!(rest, answer(1, "done") + &answer(2, "done"));
    })
    .await;
    served.expect("served");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_finish_is_cut_off() {
    let start = Instant::now();
    let (served, call) = converse(Stdio::new(), async |mut client| {
        client.request(1).await;
        client.request(2).await;
        let stuck = client.call(1).await;
        client.call(2).await.reply("done");
        assert_eq!(client.rest().await, answer(2, "done"));
        stuck
    })
    .await;
    served.expect("served");
    assert_eq!(start.elapsed(), Limits::default().grace + ERROR_SEND_TIME);
    call.dropped().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cut_off_is_answered_if_the_service_has_an_answer() {
    let start = Instant::now();
    let cut_off = CutOff::default();
    let stdio = Stdio::new().with_cut_off(cut_off.clone());
    let (served, ()) = converse(stdio, async |mut client| {
        client.request(1).await;
        let call = client.call(1).await;
        let answering = async {
            cut_off.happened().await;
            call.reply("too late");
        };
        let (rest, ()) = tokio::join!(client.rest(), answering);
        assert_eq!(rest, answer(1, "too late"));
    })
    .await;
    served.expect("served");
    assert_eq!(start.elapsed(), Limits::default().grace);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_does_not_delay_the_shutdown() {
    let start = Instant::now();
    let (served, _output) = converse(Stdio::new(), async |mut client| {
        client.request(1).await;
        client.call(1).await.stream(long_text().0);
        client.output
    })
    .await;
    served.expect("served");
    assert_eq!(start.elapsed(), Limits::default().grace + ERROR_SEND_TIME);
}

#[tokio::test]
async fn a_shutdown_stops_reading_and_lets_calls_finish() {
    let (mut input, server_input) = tokio::io::duplex(PIPE);
    let (server_output, mut output) = tokio::io::duplex(PIPE);
    let (call, mut calls) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async { stopped.await.expect("sent") };
    let serving = Stdio::new().serve(TestService(call), server_input, server_output, shutdown);
    let client = async {
        input.write_all(request(1).as_bytes()).await.expect("sent");
        let first = soon(calls.recv()).await.expect("a call");
        stop.send(()).expect("the server is running");
        settle().await;
        input.write_all(request(2).as_bytes()).await.ok();
        settle().await;
        assert!(calls.try_recv().is_err(), "a call after the shutdown");
        first.reply("done");
        let mut rest = String::new();
        output.read_to_string(&mut rest).await.expect("text");
        assert_eq!(rest, answer(1, "done"));
    };
    let both = async { tokio::join!(serving, client) };
    let (served, ()) = time::timeout(STUCK, both).await.expect("nothing is stuck");
    served.expect("served");
}

#[tokio::test]
async fn an_output_that_is_gone_ends_everything_at_once() {
    let (served, stuck) = converse(Stdio::new(), async |mut client| {
        client.request(1).await;
        client.request(2).await;
        let stuck = client.call(1).await;
        let second = client.call(2).await;
        drop(client.output);
        second.reply("to nobody");
        // The input stays open: the server must not wait for its end.
        stuck.dropped().await;
        client.input
    })
    .await;
    let error = served.expect_err("the output is gone");
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    drop(stuck);
}

#[tokio::test]
async fn an_input_that_fails_is_an_error_once_the_calls_are_answered() {
    let (call, mut calls) = mpsc::unbounded_channel();
    let input = Builder::new()
        .read(request(1).as_bytes())
        .read_error(io::ErrorKind::ConnectionReset.into())
        .build();
    let mut output = Vec::new();
    let serving = Stdio::new().serve(TestService(call), input, &mut output, pending());
    let desk = async { soon(calls.recv()).await.expect("a call").reply("done") };
    let (served, ()) = tokio::join!(serving, desk);
    let error = served.expect_err("the input failed");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(output, answer(1, "done").as_bytes());
}
