//! Tests of streamed replies.

use super::*;

/// Returns the text, the stop reason, and the error if there was one.
async fn read(mut chunks: Chunks) -> (String, Option<Stop>, Option<Error>) {
    let (mut text, mut end) = (String::new(), None);
    while let Some(chunk) = chunks.next().await {
        assert_eq!(end, None, "nothing comes behind the end");
        match chunk {
            Ok(Chunk::Text(more)) => {
                assert!(!more.is_empty());
                text += &more;
            }
            Ok(Chunk::ToolUseStarted { .. } | Chunk::ToolUse(_)) => {}
            Ok(Chunk::End { stop, .. }) => end = Some(stop),
            Err(error) => {
                assert!(
                    chunks.next().await.is_none(),
                    "nothing comes behind an error"
                );
                return (text, None, Some(error));
            }
        }
    }
    (text, end, None)
}

async fn streamed(completer: &Completer) -> (String, Option<Stop>, Option<Error>) {
    let chunks = completer.stream(&question()).await;
    read(chunks.expect("an answer begins")).await
}

#[tokio::test]
async fn every_provider_streams_its_answer_for_any_split_of_the_bytes() {
    let fake = Fake::start();
    for (api, provider) in APIS {
        let completer = completer(&fake, api, provider, "model-1");
        for turn in [
            Turn::text("Schöner Schatten 🌿 ist gut."),
            Turn::text("Schöner Schatten 🌿 ist gut.").in_pieces(1),
            Turn::text("Schöner Schatten 🌿 ist gut.").in_pieces(7),
            Turn::text("Schöner Schatten 🌿 ist gut.").with_crlf(),
            Turn::text("Schöner Schatten 🌿 ist gut.").with_long_line(100 << 10),
        ] {
            fake.next(turn.clone());
            let (text, stop, error) = streamed(&completer).await;
            assert_eq!(
                text, "Schöner Schatten 🌿 ist gut.",
                "{provider:?} {turn:?}"
            );
            assert_eq!(stop, Some(Stop::EndTurn));
            assert!(error.is_none(), "{error:?}");
        }
        assert_eq!(completer.usage().total_tokens, 5 * 15, "{provider:?}");
        let asked = fake.requests();
        let accept = asked.last().and_then(|seen| seen.header("accept"));
        let expected = match provider {
            Provider::Ollama => "application/json",
            _ => "text/event-stream",
        };
        assert_eq!(accept, Some(expected), "{provider:?}");
    }
}

#[tokio::test]
async fn a_tool_is_called_in_a_stream_too() {
    let fake = Fake::start();
    for (api, provider) in APIS {
        let completer = completer(&fake, api, provider, "model-1");
        let answer = Answer::text("I look.").with_tool("call_1", "count_rows", json!({"a": 1}));
        fake.next(Turn::saying(answer));
        let chunks = completer.stream(&question()).await.expect("an answer");
        let chunks = all(chunks).await;
        let reply = Reply::of(chunks.into_iter().map(|chunk| chunk.expect("a chunk")));
        let [_, Block::ToolUse { name, input, .. }] = &*reply.blocks else {
            panic!("{provider:?} {reply:?}");
        };
        assert_eq!((name.as_str(), input.get()), ("count_rows", r#"{"a":1}"#));
        assert_eq!(reply.stop, Stop::ToolUse);
    }
}

/// Returns the bytes of a streamed answer with a text and two calls.
async fn wire(completer: &Completer) -> Vec<u8> {
    let (http, api) = completer.inner.source.as_ref().expect("a provider");
    let prompt = question();
    let request = completer.attempt(*api, &prompt, true).request();
    let opened = http.open(&request.expect("JSON"), Deadline::none()).await;
    let mut answer = opened.expect("an answer begins");
    let mut body = Vec::new();
    while let Some(bytes) = answer.chunk().await.expect("it goes on") {
        body.extend_from_slice(&bytes);
    }
    body
}

/// Parses the beginning of a body as a whole one, and returns the chunks and whether it has an end.
fn parsed(provider: Provider, body: &[u8]) -> (Vec<Chunk>, bool) {
    let mut reading = match provider {
        Provider::Anthropic => Reading::events(Box::new(anthropic::Reader::default())),
        Provider::OpenAi => Reading::events(openai::reader(Format::of("model-1"))),
        Provider::Gemini => Reading::events(Box::new(gemini::Reader::default())),
        _ => Reading::lines(Box::new(ollama::Reader::default())),
    };
    let mut chunks = VecDeque::new();
    let mut outcome = reading.read(body, &mut chunks);
    if matches!(outcome, Ok(false)) {
        outcome = reading.finish(&mut chunks);
    }
    (chunks.into(), outcome.is_ok_and(|is_complete| is_complete))
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_has_no_half_call_and_its_end_only_if_it_is_whole() {
    let fake = Fake::start();
    for (api, provider) in APIS {
        let completer = completer(&fake, api, provider, "model-1");
        let answer = Answer::text("I look.")
            .with_tool("call_1", "count_rows", json!({"table": "fern"}))
            .with_tool("call_2", "query_database", json!({"query": "SELECT 1"}));
        fake.next(Turn::saying(answer));
        let body = wire(&completer).await;
        let mut has_begun_alone = false;
        for bytes in 0..=body.len() {
            let (chunks, is_complete) = parsed(provider, &body[..bytes]);
            let ends = chunks.iter().filter(|it| matches!(it, Chunk::End { .. }));
            assert_eq!(
                ends.count(),
                usize::from(is_complete),
                "{provider:?} {bytes}"
            );
            let mut begun = Vec::new();
            let mut called = 0;
            for chunk in &chunks {
                match chunk {
                    Chunk::ToolUseStarted { id, .. } => begun.push(id.clone()),
                    Chunk::ToolUse(Block::ToolUse { id, input, .. }) => {
                        assert_eq!(*id, begun[called], "{provider:?} {bytes}");
                        let whole = [r#"{"table":"fern"}"#, r#"{"query":"SELECT 1"}"#][called];
                        assert_eq!(input.get(), whole, "{provider:?} {bytes}");
                        called += 1;
                    }
                    _ => {}
                }
            }
            has_begun_alone |= begun.len() > called;
            assert!(!is_complete || called == 2, "{provider:?} {bytes}");
        }
        let sends_pieces = matches!(provider, Provider::Anthropic | Provider::OpenAi);
        assert_eq!(has_begun_alone, sends_pieces, "{provider:?}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_an_error_after_its_text() {
    let fake = Fake::start();
    for (api, provider) in APIS {
        let completer = completer(&fake, api, provider, "model-1");
        // After the first words, before the end.
        let bytes = match provider {
            Provider::Anthropic => 700,
            Provider::OpenAi => 600,
            _ => 400,
        };
        fake.next(Turn::text("one two three four five").ended_after(bytes));
        let (text, _, error) = streamed(&completer).await;
        let error = error.expect("an error");
        assert_eq!(error.class(), Class::Provider, "{provider:?} {error}");
        assert!(text.starts_with("one "), "{provider:?}: {text}");
        assert!(!text.contains("five"), "{provider:?}: {text}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_error() {
    let fake = Fake::start();
    for (api, provider) in APIS {
        let completer = completer(&fake, api, provider, "model-1");
        fake.next(Turn::text("one two three four five").cut_after(300));
        // It may break before any byte arrives.
        let error = match completer.stream(&question()).await {
            Ok(chunks) => read(chunks).await.2.expect("an error"),
            Err(error) => error,
        };
        let is_theirs = matches!(error.class(), Class::Provider | Class::Unreachable);
        assert!(is_theirs, "{provider:?} {error}");
    }
}

#[tokio::test]
async fn the_error_of_a_provider_comes_after_its_text() {
    let fake = Fake::start();
    let slow_down = [
        (
            Api::Anthropic,
            Provider::Anthropic,
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":\
             {\"type\":\"text_delta\",\"text\":\"one\"}}\n\n\
             event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\
             \"message\":\"slow down, sk-wq8JkLmN2pRs7TuV\"}}\n\n",
        ),
        (
            Api::OpenAi,
            Provider::OpenAi,
            "data: {\"choices\":[{\"delta\":{\"content\":\"one\"}}]}\n\n\
             data: {\"error\":{\"message\":\"slow down, sk-wq8JkLmN2pRs7TuV\",\
             \"code\":\"rate_limit_exceeded\"}}\n\n",
        ),
        (
            Api::Gemini,
            Provider::Gemini,
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"one\"}]}}]}\n\n\
             data: {\"error\":{\"code\":429,\"message\":\"slow down, sk-wq8JkLmN2pRs7TuV\"}}\n\n",
        ),
    ];
    for (api, provider, body) in slow_down {
        let completer = completer(&fake, api, provider, "model-1");
        fake.next(Turn::raw(200, body));
        let (text, _, error) = streamed(&completer).await;
        let error = error.expect("an error");
        assert_eq!(text, "one", "{provider:?}");
        assert_eq!(error.class(), Class::RateLimit, "{provider:?} {error}");
        assert!(!format!("{error:?}").contains("wq8JkL"), "{error:?}");
    }
    let completer = completer(&fake, Api::Ollama, Provider::Ollama, "model-1");
    let body = "{\"message\":{\"content\":\"one\"},\"done\":false}\n{\"error\":\"no memory\"}\n";
    fake.next(Turn::raw(200, body));
    let (text, _, error) = streamed(&completer).await;
    assert_eq!(text, "one");
    assert_eq!(error.map(|error| error.class()), Some(Class::Provider));
}

#[tokio::test]
async fn text_is_available_before_the_rest_arrives() {
    let fake = Fake::start();
    let completer = completer(&fake, Api::Ollama, Provider::Ollama, "model-1");
    let gate = Gate::new();
    // After the first line: its word has arrived while the others wait.
    fake.next(Turn::text("one two three").held_after(160, &gate));
    let mut chunks = completer.stream(&question()).await.expect("an answer");
    let first = chunks.next().await.expect("a chunk").expect("no error");
    assert!(
        matches!(&first, Chunk::Text(text) if text == "one "),
        "{first:?}"
    );
    gate.open();
    let (rest, stop, _) = read(chunks).await;
    assert_eq!((rest.as_str(), stop), ("two three", Some(Stop::EndTurn)));
}

#[tokio::test]
async fn a_stream_that_pauses_for_too_long_is_an_error() {
    let fake = Fake::start();
    let completer = completer(&fake, Api::Ollama, Provider::Ollama, "model-1")
        .with_idle(Duration::from_millis(50));
    let gate = Gate::new();
    fake.next(Turn::text("one two three").held_after(160, &gate));
    let (text, _, error) = streamed(&completer).await;
    assert_eq!(text, "one ");
    assert_eq!(error.map(|error| error.class()), Some(Class::Timeout));
    fake.left(1).await;
}

#[tokio::test]
async fn a_stream_that_is_dropped_cancels_the_request() {
    let fake = Fake::start();
    for (at, (api, provider)) in APIS.into_iter().enumerate() {
        let completer = completer(&fake, api, provider, "model-1");
        let gate = Gate::new();
        fake.next(Turn::answer().held_after(20, &gate));
        let chunks = completer.stream(&question()).await.expect("an answer");
        drop(chunks);
        fake.left(at + 1).await;
    }
}

#[tokio::test]
async fn a_line_without_end_is_an_error() {
    let fake = Fake::start();
    for (api, provider) in APIS {
        let completer = completer(&fake, api, provider, "model-1");
        fake.next(Turn::answer().with_long_line(9 << 20));
        let (_, _, error) = streamed(&completer).await;
        assert_eq!(
            error.map(|error| error.class()),
            Some(Class::Provider),
            "{provider:?}"
        );
    }
}
