//! Log lines of the service.

use ziggurat_fake_providers::{Answer, Turn};
use ziggurat_runtime::logs::captured::CapturedLog;

use super::*;

#[tokio::test]
async fn a_failure_is_logged_once_without_the_key_and_without_the_question() {
    let setup = Setup::new().await;
    let lines = CapturedLog::default();
    let _guard = lines.capture();
    for api in [Api::Anthropic, Api::OpenAi, Api::Gemini, Api::Ollama] {
        let service = served([setup.parts_of(Api::Voyage, api)]);
        for turn in [
            Turn::refusal_with(401, "bad key {key}"),
            Turn::refusal_with(403, "bad key {stars}"),
            Turn::refusal_with(500, "token={key}"),
        ] {
            setup.fake.next_of(api, turn.clone());
            ask(&service, question()).await;
            let told = lines.take();
            let failed = "ERROR pipeline execution failed";
            assert_eq!(told.matches(failed).count(), 1, "{api:?} {told}");
            assert!(told.contains("pipeline=docs"), "{told}");
            assert!(told.contains("API request failed with status"), "{told}");

            setup.fake.next_of(api, turn.clone());
            text(stream(&service, question()).await).await;
            let streamed = lines.take();
            assert_eq!(streamed.matches(failed).count(), 1, "{api:?} {streamed}");

            setup.fake.next_of(api, turn);
            let fresh = served([setup.parts_of(Api::Voyage, api)]);
            said(sent(&fresh, "GET", "/v1/health", "").await).await;
            let pinged = lines.take();
            assert!(pinged.contains("WARN "), "{pinged}");
            for told in [told, streamed, pinged] {
                for secret in ["wq8J", "7TuV", QUESTION] {
                    assert!(!told.contains(secret), "{api:?} {told}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_incomplete_answer_is_logged_as_a_warning() {
    let setup = Setup::new().await;
    let lines = CapturedLog::default();
    let _guard = lines.capture();
    let service = served([Parts {
        allow_include_sources: false,
        ..setup.parts()
    }]);
    ask(
        &service,
        json!({"query": QUESTION, "include_sources": true}),
    )
    .await;
    let told = lines.take();
    let warned = "WARN a request asked for sources, which are not permitted pipeline=docs\n";
    assert_eq!(told.matches(warned).count(), 1, "{told}");

    for is_streamed in [false, true] {
        let answer = Turn::saying(Answer::text("Ferns li").cut());
        setup.fake.next_of(Api::Anthropic, answer);
        if is_streamed {
            text(stream(&service, question()).await).await;
        } else {
            ask(&service, question()).await;
        }
        let told = lines.take();
        assert!(told.contains("WARN an answer was cut"), "{told}");
        assert!(!told.contains(QUESTION), "{told}");
    }
}

#[tokio::test]
async fn a_client_that_disconnects_is_logged_at_debug_level() {
    let setup = Setup::new().await;
    let lines = CapturedLog::default();
    let _guard = lines.capture();
    let service = served([setup.parts()]);
    drop(stream(&service, question()).await);
    let told = lines.take();
    assert!(told.contains("DEBUG the client disconnected"), "{told}");
    text(stream(&service, question()).await).await;
    assert!(!lines.take().contains("left"));
}
