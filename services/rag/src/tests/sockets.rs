//! Behaviour that only a real connection shows.

use std::future::pending;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use ziggurat_fake_providers::{Gate, Turn};
use ziggurat_serve::{Limits, Server};

use super::*;

/// Serves pipelines on a port until the tasks are dropped.
async fn listening(tasks: &mut JoinSet<()>, parts: Parts) -> TcpStream {
    let pipelines = Pipelines::new(vec![Pipeline::new(parts)]);
    let service = service(pipelines, Options::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    tasks.spawn(async move {
        let serving = Server::new(Limits::default()).serve(listener, service, pending());
        serving.await.expect("the listener lives");
    });
    TcpStream::connect(address).await.expect("listening")
}

async fn post(stream: &mut TcpStream, length: usize, body: &str) {
    let request = format!(
        "POST /v1/pipelines/docs HTTP/1.1\r\nhost: t\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.expect("heard");
}

/// Reads until the text contains `end`.
async fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut bytes = [0; 1024];
    while !text.contains(end) {
        let count = stream.read(&mut bytes).await.expect("no reset");
        assert!(count > 0, "it ends: {text}");
        text.push_str(str::from_utf8(&bytes[..count]).expect("text"));
    }
    text
}

#[tokio::test]
async fn the_head_of_a_stream_is_sent_at_once_and_a_disconnect_cancels_the_work() {
    let setup = Setup::new().await;
    let mut tasks = JoinSet::new();
    let mut client = listening(&mut tasks, setup.parts()).await;
    let gate = Gate::new();
    setup.fake.next_of(Api::OpenAi, Turn::answer().held(&gate));
    let question = json!({"query": QUESTION, "stream": true}).to_string();
    post(&mut client, question.len(), &question).await;
    let head = until(&mut client, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("connection: keep-alive\r\n"), "{head}");
    assert!(
        head.contains("content-type: text/event-stream\r\n"),
        "{head}"
    );
    setup.fake.asked(1).await;
    drop(client);
    setup.fake.left(1).await;
}

#[tokio::test]
async fn the_first_text_is_sent_before_the_answer_is_complete() {
    let setup = Setup::new().await;
    let mut tasks = JoinSet::new();
    let mut client = listening(&mut tasks, setup.parts()).await;
    let gate = Gate::new();
    let delta = "data: {\"type\":\"content_block_delta\",\"index\":0,\
        \"delta\":{\"type\":\"text_delta\",\"text\":\"Shade\"}}\n\n";
    let body = format!("{delta}data: {{\"type\":\"message_stop\"}}\n\n");
    let turn = Turn::raw(200, body).held_after(delta.len(), &gate);
    setup.fake.next_of(Api::Anthropic, turn);
    let question = json!({"query": QUESTION, "stream": true}).to_string();
    post(&mut client, question.len(), &question).await;
    until(&mut client, &chunk("Shade")).await;
    gate.open();
    until(&mut client, DONE).await;
    // The same connection serves the next request.
    post(&mut client, 2, "{}").await;
    let answer = until(&mut client, "query is required").await;
    assert!(answer.contains("400 Bad Request"), "{answer}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_by_its_announced_length() {
    let parts = || bare("docs", Embedder::local(), Completer::local());
    let mut tasks = JoinSet::new();
    let mut client = listening(&mut tasks, parts()).await;
    post(&mut client, 2 << 20, "").await;
    let answer = until(&mut client, "1048576 bytes").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");
}
