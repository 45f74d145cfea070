//! Failures of providers and databases, and the messages for clients.

use std::net::TcpListener;

use ziggurat_fake_providers::Turn;

use super::*;

const CREDENTIALS: &str = "the configured provider rejected the server's credentials";
const RATE: &str = "the provider rate limit was exceeded; retry later";
const INVALID: &str = "the provider rejected the request as invalid";
const BROKEN: &str = "the provider returned an error";
const AWAY: &str = "the provider could not be reached";
const OURS: &str = "an internal error occurred";

const GEMINI_KEY: &str = r#"{"error":{"code":400,"message":"API key not valid: sk-wq8JkLmN2pRs7TuV",
    "status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#;

fn faults(api: Api) -> Vec<(Turn, &'static str)> {
    let mut faults = vec![
        (Turn::refusal_with(401, "bad key {key}"), CREDENTIALS),
        (Turn::refusal_with(403, "bad key {stars}"), CREDENTIALS),
        (Turn::refusal_with(429, "slow down, {key}"), RATE),
        (Turn::refusal_with(400, "no, {key}"), INVALID),
        (Turn::refusal(404), BROKEN),
        (Turn::refusal(409), BROKEN),
        (Turn::refusal(413), BROKEN),
        (Turn::refusal(422), BROKEN),
        (Turn::refusal_with(500, "{key}"), BROKEN),
        (Turn::refusal(529), BROKEN),
        (Turn::malformed(), BROKEN),
        (Turn::reset(), AWAY),
    ];
    if api == Api::Gemini {
        faults.push((Turn::raw(400, GEMINI_KEY), CREDENTIALS));
    }
    faults
}

/// Asserts the message for a fault, once in JSON and once in a stream.
async fn is_said(service: &Router, fake: &Fake, api: Api, turn: &Turn, sentence: &str) {
    fake.next_of(api, turn.clone());
    let response = sent(
        service,
        "POST",
        "/v1/pipelines/docs",
        question().to_string(),
    )
    .await;
    let expected = error("EXECUTION_ERROR", sentence);
    assert_eq!(said(response).await, (500, expected), "{api:?} {turn:?}");
    fake.next_of(api, turn.clone());
    let frames = text(stream(service, question()).await).await;
    assert_eq!(frames, failed(sentence), "{api:?} {turn:?}");
}

#[tokio::test]
async fn every_fault_of_a_completion_provider_has_its_message() {
    let setup = Setup::new().await;
    for api in [Api::Anthropic, Api::OpenAi, Api::Gemini, Api::Ollama] {
        let service = served([setup.parts_of(Api::Voyage, api)]);
        for (turn, sentence) in faults(api) {
            is_said(&service, &setup.fake, api, &turn, sentence).await;
        }
    }
}

#[tokio::test]
async fn every_fault_of_an_embedding_provider_has_its_message() {
    let setup = Setup::new().await;
    for api in [Api::Voyage, Api::OpenAi, Api::Gemini, Api::Ollama] {
        let service = served([setup.parts_of(api, Api::Anthropic)]);
        for (turn, sentence) in faults(api) {
            is_said(&service, &setup.fake, api, &turn, sentence).await;
        }
    }
}

#[tokio::test]
async fn a_provider_that_refuses_connections_is_unreachable() {
    let setup = Setup::new().await;
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = closed.local_addr().expect("bound");
    drop(closed);
    for api in Api::ALL {
        let access = Access {
            base_url: Some(format!("http://{address}")),
            ..access(&setup.fake, api)
        };
        let http = http(api, &access);
        let mut all = Vec::new();
        if let Ok(completer) = Completer::new(http.clone(), "model-1") {
            all.push(Parts {
                completer,
                ..setup.parts()
            });
        }
        if let Ok(embedder) = Embedder::new(http, None) {
            all.push(Parts {
                embedder,
                ..setup.parts()
            });
        }
        for parts in all {
            let service = served([parts]);
            let expected = (500, error("EXECUTION_ERROR", AWAY));
            assert_eq!(ask(&service, question()).await, expected, "{api:?}");
            let frames = text(stream(&service, question()).await).await;
            assert_eq!(frames, failed(AWAY), "{api:?}");
        }
    }
}

#[tokio::test]
async fn a_database_that_fails_is_an_internal_error_unless_codes_are_enabled() {
    let setup = Setup::new().await;
    let retriever = |pool| retriever(pool, vec![table("absent")]);
    for (pool, usual, status, code, message) in [
        (
            setup.pool.clone(),
            "a table or column that the pipeline searches does not exist; the log of the server \
             names it",
            500,
            "RETRIEVAL_REFUSED",
            "the document search could not be run because of a server-side configuration or \
             permissions problem; no documents were searched",
        ),
        (
            nowhere(),
            OURS,
            503,
            "RETRIEVAL_UNAVAILABLE",
            "the document store could not be reached; no documents were searched",
        ),
    ] {
        let parts = || Parts {
            retriever: retriever(pool.clone()),
            ..setup.parts()
        };
        let service = served([parts()]);
        let expected = (500, error("EXECUTION_ERROR", usual));
        assert_eq!(ask(&service, question()).await, expected, "{code}");
        assert_eq!(
            text(stream(&service, question()).await).await,
            failed(usual)
        );

        let options = Options {
            retrieval_error_codes: true,
            ..Options::default()
        };
        let service = served_with([parts()], options);
        let expected = (status, error(code, message));
        assert_eq!(ask(&service, question()).await, expected);
        assert_eq!(
            text(stream(&service, question()).await).await,
            failed(message)
        );
    }
}

#[tokio::test]
async fn health_reports_vectors_with_other_dimensions_than_the_model() {
    let setup = Setup::new().await;
    let service = served([setup.parts()]);
    let health = async || said(sent(&service, "GET", "/v1/health", "").await).await;
    let there = json!({"reachable": true});
    let docs = json!({"name": "docs", "embedding": there, "completion": there});
    let healthy = json!({"status": "healthy", "pipelines": [docs]});
    assert_eq!(health().await, (200, healthy.clone()));

    setup.fake.set_dimensions(2);
    let (status, _) = ask(&service, json!({"query": "Where do ferns grow?"})).await;
    assert_eq!(status, 500);
    let (status, answer) = health().await;
    assert_eq!((status, &answer["status"]), (200, &json!("degraded")));
    let expected = json!({
        "by_meaning": false,
        "error": "a table cannot be searched by meaning; see the log of the server",
    });
    assert_eq!(answer["pipelines"][0]["search"], expected);

    setup.fake.set_dimensions(3);
    assert_eq!(ask(&service, question()).await.0, 200);
    assert_eq!(health().await, (200, healthy));
}
