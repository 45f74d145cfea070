//! Tests of the fake over plain sockets: formats, faults and recorded requests.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};
use ziggurat_fake_providers::{Answer, Api, Fake, Gate, Turn};

/// Time limit of a read.
const TEST_TIMEOUT: Duration = Duration::from_mins(3);

/// Sends a request, and reads until the connection ends.
fn ask(fake: &Fake, of: Api, path: &str, body: &Value) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(fake.address())?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    let body = body.to_string();
    let method = if body == "null" { "GET" } else { "POST" };
    write!(
        stream,
        "{method} /{}/{path} HTTP/1.1\r\nHost: fake\r\nConnection: close\r\n\
         Authorization: Bearer sk-0123456789abcdef\r\nContent-Length: {}\r\n\r\n{body}",
        of.name(),
        body.len(),
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The data lines of a stream.
fn events(answer: &str) -> Vec<&str> {
    answer
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .collect()
}

#[test]
fn each_provider_completes_embeds_and_lists_its_models_under_its_path() {
    let fake = Fake::start();
    let chat = json!({"model": "m", "messages": [], "stream": false});
    let embed = json!({"model": "m", "input": "fern"});
    for (api, path, body, expected) in [
        (Api::OpenAi, "v1/models", &json!(null), "gpt-4o-mini"),
        (Api::OpenAi, "v1/embeddings", &embed, "\"total_tokens\":1"),
        (
            Api::OpenAi,
            "v1/chat/completions",
            &chat,
            "Ferns like shade.",
        ),
        (
            Api::Anthropic,
            "v1/models",
            &json!(null),
            "claude-sonnet-4-5",
        ),
        (Api::Anthropic, "v1/messages", &chat, "Ferns like shade."),
        (Api::Gemini, "v1beta/models", &json!(null), "embedContent"),
        (
            Api::Gemini,
            "v1beta/models/m:embedContent",
            &embed,
            "\"values\":[",
        ),
        (
            Api::Gemini,
            "v1beta/models/m:generateContent",
            &chat,
            "Ferns like shade.",
        ),
        (Api::Voyage, "v1/embeddings", &embed, "\"total_tokens\":1"),
        (
            Api::Voyage,
            "v1/rerank",
            &json!({"query": "a", "documents": ["a"]}),
            "relevance_score",
        ),
        (Api::Ollama, "api/tags", &json!(null), "nomic-embed-text"),
        (Api::Ollama, "api/embed", &embed, "\"embeddings\":[["),
        (Api::Ollama, "api/chat", &chat, "Ferns like shade."),
    ] {
        let answer = ask(&fake, api, path, body).expect("an answer");
        assert!(
            answer.starts_with("HTTP/1.1 200"),
            "{api:?} {path}: {answer}"
        );
        assert!(answer.contains(expected), "{api:?} {path}: {answer}");
    }
    let answer = ask(&fake, Api::Voyage, "v1/nothing", &json!({})).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[test]
fn rerankers_answer_in_their_own_formats() {
    let fake = Fake::start();
    for (api, path, body, expected) in [
        (
            Api::Cohere,
            "v2/rerank",
            &json!({"query": "a", "documents": ["a"]}),
            "\"results\":[{\"index\":0,\"relevance_score\"",
        ),
        (
            Api::Jina,
            "v1/rerank",
            &json!({"query": "a", "documents": ["a"]}),
            "\"total_tokens\":1",
        ),
        (
            Api::Tei,
            "rerank",
            &json!({"query": "a", "texts": ["a"]}),
            "[{\"index\":0,\"score\"",
        ),
    ] {
        let answer = ask(&fake, api, path, body).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{api:?}: {answer}");
        assert!(answer.contains(expected), "{api:?}: {answer}");
    }
}

#[test]
fn streams_end_as_with_each_provider() {
    let fake = Fake::start();
    fake.always(Turn::saying(Answer::text("a b").with_tool(
        "call_1",
        "look",
        json!({"at": "ferns"}),
    )));
    let chat = json!({"model": "m", "stream": true, "stream_options": {"include_usage": true}});
    let answer = ask(&fake, Api::OpenAi, "v1/chat/completions", &chat).expect("an answer");
    assert_eq!(events(&answer).last(), Some(&"[DONE]"));
    assert!(
        answer.contains(r#""finish_reason":"tool_calls""#),
        "{answer}"
    );
    assert!(answer.contains(r#""total_tokens":15"#), "{answer}");

    let answer = ask(&fake, Api::Anthropic, "v1/messages", &chat).expect("an answer");
    assert_eq!(events(&answer).last(), Some(&r#"{"type":"message_stop"}"#));
    assert!(answer.contains("event: content_block_delta\n"), "{answer}");

    let path = "v1beta/models/m:streamGenerateContent?alt=sse";
    let answer = ask(&fake, Api::Gemini, path, &chat).expect("an answer");
    let last: Value = serde_json::from_str(events(&answer).last().expect("events")).expect("JSON");
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");

    let answer = ask(&fake, Api::Ollama, "api/chat", &chat).expect("an answer");
    assert!(answer.contains(r#""done":false"#), "{answer}");
    assert!(answer.contains(r#""eval_count":5"#), "{answer}");
}

#[test]
fn the_next_request_gets_the_next_turn_and_others_the_default() {
    let fake = Fake::start();
    let embed = json!({"model": "m", "input": "fern"});
    fake.next(Turn::refusal(429).with_header("Retry-After", "1"));
    fake.next_of(
        Api::Voyage,
        Turn::refusal_with(401, "bad key {key}, that is {stars}"),
    );
    fake.next(Turn::malformed());
    let ask = |api, path| ask(&fake, api, path, &embed).expect("an answer");
    let first = ask(Api::OpenAi, "v1/embeddings");
    assert!(first.starts_with("HTTP/1.1 429"), "{first}");
    assert!(first.contains("retry-after: 1\r\n"), "{first}");
    let own = ask(Api::Voyage, "v1/embeddings");
    let expected = r#"{"detail":"bad key sk-0123456789abcdef, that is sk-01234********cdef"}"#;
    assert!(own.contains(expected), "{own}");
    let second = ask(Api::Ollama, "api/embed");
    assert!(second.contains(r#"{"data": [{"embedd"#), "{second}");
    let truth = ask(Api::OpenAi, "v1/embeddings");
    assert!(truth.contains("\"embedding\":["), "{truth}");

    let seen = fake.requests();
    assert_eq!(seen.len(), 4);
    assert_eq!(seen[1].api, Api::Voyage);
    assert_eq!(seen[1].key(), Some("sk-0123456789abcdef"));
    assert_eq!(seen[3].json(), embed);
}

#[test]
fn a_connection_breaks_at_the_scripted_byte() {
    let fake = Fake::start();
    let embed = json!({"model": "m", "input": "fern"});
    fake.next(Turn::reset());
    let error = ask(&fake, Api::OpenAi, "v1/embeddings", &embed).expect_err("a reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    fake.next(Turn::answer().cut_after(10));
    let answer = ask(&fake, Api::OpenAi, "v1/embeddings", &embed).expect("a beginning");
    assert!(!answer.ends_with("0\r\n\r\n"), "no end: {answer}");
    fake.next(Turn::answer().ended_after(10));
    let answer = ask(&fake, Api::OpenAi, "v1/embeddings", &embed).expect("a beginning");
    assert!(answer.ends_with("0\r\n\r\n"), "an end: {answer}");
}

#[test]
fn an_answer_waits_at_its_gate_and_a_disconnect_is_recorded() {
    let fake = Fake::start();
    let gate = Gate::new();
    fake.next(Turn::answer().held(&gate));
    let mut stream = TcpStream::connect(fake.address()).expect("a connection");
    stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("set");
    let head = "GET /ollama/api/tags HTTP/1.1\r\nHost: fake\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("sent");
    fake.wait_for(1);
    stream.set_nonblocking(true).expect("a socket");
    let early = stream.read(&mut [0; 16]).expect_err("nothing yet");
    assert_eq!(early.kind(), ErrorKind::WouldBlock);
    stream.set_nonblocking(false).expect("a socket");
    gate.open();
    assert!(stream.read(&mut [0; 16]).expect("an answer") > 0);

    fake.next(Turn::answer().held_after(3, &Gate::new()));
    let mut stream = TcpStream::connect(fake.address()).expect("a connection");
    stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("set");
    stream.write_all(head.as_bytes()).expect("sent");
    fake.wait_for(2);
    drop(stream);
    fake.wait_for_leaving(1);
}

#[test]
fn the_same_text_has_the_same_vector_unless_it_is_given_one() {
    let fake = Fake::start();
    fake.set_dimensions(3);
    fake.set_vector("moss", &[0.0, 0.0, 1.0]);
    let vector = |text: &str| {
        let body = json!({"model": "m", "input": text});
        let answer = ask(&fake, Api::Ollama, "api/embed", &body).expect("an answer");
        let start = answer.find('{').expect("JSON");
        let end = answer.rfind('}').expect("JSON") + 1;
        let answer: Value = serde_json::from_str(&answer[start..end]).expect("JSON");
        answer["embeddings"][0].clone()
    };
    assert_eq!(vector("a fern"), vector("A FERN!"));
    assert_eq!(vector("a fern").as_array().map(Vec::len), Some(3));
    assert_eq!(vector("moss"), json!([0.0, 0.0, 1.0]));
}
