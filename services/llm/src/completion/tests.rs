//! Tests against fake providers.

use std::time::Duration;

use serde_json::{Value, json};
use ziggurat_fake_providers::{Answer, Api, Fake, Gate, Turn};

use super::*;
use crate::{Access, Block, Chunk, Class, Message, Retry, Stop, client};

mod streams;

const KEY: &str = "sk-wq8JkLmN2pRs7TuV";

const APIS: [(Api, Provider); 4] = [
    (Api::Anthropic, Provider::Anthropic),
    (Api::OpenAi, Provider::OpenAi),
    (Api::Gemini, Provider::Gemini),
    (Api::Ollama, Provider::Ollama),
];

fn completer(played: &Fake, api: Api, provider: Provider, model: &str) -> Completer {
    let access = Access {
        base_url: Some(played.url(api)),
        key: Some(KEY.to_owned().into()),
        retry: Retry::never(),
        ..Access::default()
    };
    let http = Http::new(&client().expect("a client"), provider, &access);
    Completer::new(http.expect("usable"), model).expect("a completer")
}

/// Reads a reply to its end.
async fn all(mut chunks: Chunks) -> Vec<Result<Chunk, Error>> {
    let mut all = Vec::new();
    while let Some(chunk) = chunks.next().await {
        all.push(chunk);
    }
    all
}

fn question() -> Prompt {
    Prompt::new(vec![Message::user("What do ferns like?")]).with_system("Be brief.")
}

#[tokio::test]
async fn every_provider_answers_and_gets_its_key() {
    let fake = Fake::start();
    for (at, (api, provider)) in APIS.into_iter().enumerate() {
        let completer = completer(&fake, api, provider, "model-1");
        fake.next(Turn::text("Shade and water."));
        let reply = completer.complete(&question()).await.expect("an answer");
        assert_eq!(reply.text(), "Shade and water.", "{provider:?}");
        assert_eq!(reply.stop, Stop::EndTurn);
        assert_eq!(reply.usage.total_tokens, 15);
        assert_eq!(completer.usage().total_tokens, 15);
        let seen = &fake.requests()[at];
        let key = (provider != Provider::Ollama).then_some(KEY);
        assert_eq!(seen.key(), key, "{provider:?}");
    }
}

#[tokio::test]
async fn every_provider_can_call_a_tool() {
    let fake = Fake::start();
    for (api, provider) in APIS {
        let completer = completer(&fake, api, provider, "model-1");
        let answer = Answer::text("I look.").with_tool("call_1", "count_rows", json!({"a": 1}));
        fake.next(Turn::saying(answer));
        let reply = completer.complete(&question()).await.expect("an answer");
        let [text, Block::ToolUse { name, input, .. }] = &*reply.blocks else {
            panic!("{reply:?}");
        };
        assert_eq!(*text, Block::text("I look."), "{provider:?}");
        assert_eq!((name.as_str(), input.get()), ("count_rows", r#"{"a":1}"#));
        assert_eq!(reply.stop, Stop::ToolUse);
    }
}

#[tokio::test]
async fn every_error_response_has_its_class_and_no_key() {
    let fake = Fake::start();
    for (api, provider) in APIS {
        let completer = completer(&fake, api, provider, "model-1");
        for (status, class) in [
            (400, Class::Invalid),
            (401, Class::Credentials),
            (429, Class::RateLimit),
            (404, Class::Provider),
            (529, Class::Provider),
        ] {
            fake.next(Turn::refusal_with(status, "no: {key} {stars}"));
            let error = completer.complete(&question()).await.expect_err("refused");
            assert_eq!(error.class(), class, "{provider:?} {status}");
            fake.next(Turn::refusal_with(status, "no: {key} {stars}"));
            let streamed = completer.stream(&question()).await.expect_err("refused");
            assert_eq!(streamed.class(), class, "{provider:?} {status}");
            for error in [error, streamed] {
                let told = format!("{error} {error:?}");
                assert!(!told.contains("wq8JkL") && told.contains("no: "), "{told}");
            }
        }
    }
}

#[tokio::test]
async fn an_invalid_response_is_the_fault_of_the_provider() {
    let fake = Fake::start();
    for (api, provider) in APIS {
        let completer = completer(&fake, api, provider, "model-1");
        for turn in [
            Turn::malformed(),
            Turn::raw(200, "[1,2]"),
            Turn::raw(200, ""),
        ] {
            fake.next(turn.clone());
            let error = completer.complete(&question()).await.expect_err("nonsense");
            assert_eq!(error.class(), Class::Provider, "{provider:?} {turn:?}");
        }
        fake.next(Turn::reset());
        let error = completer.complete(&question()).await.expect_err("reset");
        assert_eq!(error.class(), Class::Unreachable, "{provider:?}");
    }
    fake.next(Turn::raw(200, r#"{"choices":[]}"#));
    let openai = completer(&fake, Api::OpenAi, Provider::OpenAi, "gpt-4o");
    let error = openai.complete(&question()).await.expect_err("nothing");
    assert_eq!(error.to_string(), "no choices in response");
}

#[tokio::test]
async fn transient_failures_are_retried() {
    let fake = Fake::start();
    let access = Access {
        base_url: Some(fake.url(Api::Anthropic)),
        key: Some(KEY.to_owned().into()),
        retry: Retry::times(2).with_base(Duration::from_millis(1)),
        ..Access::default()
    };
    let http = Http::new(&client().expect("a client"), Provider::Anthropic, &access);
    let completer = Completer::new(http.expect("usable"), "claude").expect("a completer");
    fake.next(Turn::refusal(529));
    fake.next(Turn::reset());
    let reply = completer.complete(&question()).await.expect("an answer");
    assert_eq!(reply.text(), "Ferns like shade.");
    fake.next(Turn::refusal(500));
    let chunks = completer.stream(&question()).await.expect("an answer");
    assert_eq!(all(chunks).await.len(), 4);
    assert_eq!(fake.requests().len(), 5);
}

#[tokio::test]
async fn a_model_that_needs_another_format_gets_it_from_then_on() {
    let fake = Fake::start();
    let completer = completer(&fake, Api::OpenAi, Provider::OpenAi, "custom");
    let prompt = question().with_temperature(Some(0.5));
    let no_tokens = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.";
    fake.next(Turn::refusal_with(400, no_tokens));
    fake.next(Turn::refusal_with(
        400,
        "'temperature' is not for this model",
    ));
    completer.complete(&prompt).await.expect("an answer");
    completer.complete(&prompt).await.expect("an answer");
    let asked: Vec<Value> = fake
        .requests()
        .iter()
        .map(ziggurat_fake_providers::RecordedRequest::json)
        .collect();
    let limits = |asked: &Value| {
        let of = |name: &str| asked.get(name).is_some();
        (
            of("max_tokens"),
            of("max_completion_tokens"),
            of("temperature"),
        )
    };
    let found: Vec<_> = asked.iter().map(limits).collect();
    let expected = [
        (true, false, true),
        (false, true, true),
        (false, true, false),
        (false, true, false),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_prompt_is_sent_three_times_at_most() {
    let fake = Fake::start();
    let completer = completer(&fake, Api::OpenAi, Provider::OpenAi, "custom");
    let message = "max_tokens, temperature, stream_options: none will do";
    fake.always(Turn::refusal_with(400, message));
    let prompt = question().with_temperature(Some(0.5));
    let error = completer.complete(&prompt).await.expect_err("refused");
    assert_eq!(error.class(), Class::Invalid);
    assert!(fake.requests().len() <= 3);
}

#[tokio::test]
async fn another_model_of_the_same_provider_counts_with_it() {
    let fake = Fake::start();
    let completer = completer(&fake, Api::OpenAi, Provider::OpenAi, "gpt-4o");
    let other = completer.with_model("o3-mini");
    other.complete(&question()).await.expect("an answer");
    completer.complete(&question()).await.expect("an answer");
    assert_eq!(completer.usage().total_tokens, 30);
    let asked = fake.requests();
    assert_eq!(asked[0].json()["model"], "o3-mini");
    assert_eq!(asked[0].json()["max_completion_tokens"], 4096);
    assert_eq!(asked[1].json()["max_tokens"], 4096);
}

#[tokio::test]
async fn voyage_has_no_completions() {
    let access = Access {
        key: Some(KEY.to_owned().into()),
        ..Access::default()
    };
    let http = Http::new(&client().expect("a client"), Provider::Voyage, &access);
    let error = Completer::new(http.expect("usable"), "voyage-3").expect_err("none");
    assert_eq!(
        error.to_string(),
        "Voyage does not provide a completion API"
    );
    assert_eq!(error.class(), Class::Unsupported);
}
