use serde_json::json;
use ziggurat_fake_providers::{Api, Fake, Turn};

use super::*;
use crate::{Access, Class, Retry, client, rerank::Reranker};

const EMBEDDERS: [(Api, Provider); 4] = [
    (Api::OpenAi, Provider::OpenAi),
    (Api::Gemini, Provider::Gemini),
    (Api::Ollama, Provider::Ollama),
    (Api::Voyage, Provider::Voyage),
];

fn http_client(fake: &Fake, whose: Api, provider: Provider) -> Http {
    let access = Access {
        base_url: Some(fake.url(whose)),
        key: Some("wq8JkLmN2pRs7TuV".into()),
        retry: Retry::never(),
        ..Access::default()
    };
    Http::new(&client().expect("a client"), provider, &access).expect("an address")
}

fn embedder(fake: &Fake, whose: Api, provider: Provider) -> Embedder {
    Embedder::new(http_client(fake, whose, provider), None).expect("it embeds")
}

#[tokio::test]
async fn each_provider_makes_the_vector_of_a_text_in_its_own_format() {
    let fake = Fake::start();
    fake.set_vector("two ferns", &[0.25, -1.5e-5]);
    for ((whose, provider), path, body, usage) in [
        (
            EMBEDDERS[0],
            "v1/embeddings",
            json!({"model": "text-embedding-3-small", "input": "two ferns"}),
            Usage::read(2, 2),
        ),
        (
            EMBEDDERS[1],
            "v1beta/models/gemini-embedding-001:embedContent",
            json!({"content": {"parts": [{"text": "two ferns"}]}}),
            Usage::default(),
        ),
        (
            EMBEDDERS[2],
            "api/embed",
            json!({"model": "nomic-embed-text", "input": "two ferns"}),
            Usage::read(2, 2),
        ),
        (
            EMBEDDERS[3],
            "v1/embeddings",
            json!({"model": "voyage-3-lite", "input": ["two ferns"]}),
            Usage::read(0, 2),
        ),
    ] {
        let embedder = embedder(&fake, whose, provider);
        let embedding = embedder.embed("two ferns").await.expect("a vector");
        assert_eq!(embedding.vector, [0.25, -1.5e-5], "{provider:?}");
        assert_eq!(embedding.usage, usage, "{provider:?}");
        assert_eq!(embedder.usage(), usage, "{provider:?}");
        assert_eq!(embedder.provider(), provider.name());
        let seen = fake.requests().pop().expect("a request");
        assert_eq!((seen.api, &*seen.path), (whose, path));
        assert_eq!(seen.json(), body, "{provider:?}");
    }
}

#[tokio::test]
async fn each_provider_makes_the_vectors_of_several_texts_in_one_request() {
    let fake = Fake::start();
    fake.set_vector("two ferns", &[0.25, -1.5]);
    fake.set_vector("moss", &[1.0, 2.0]);
    let gemini = |text: &str| json!({"model": "models/gemini-embedding-001", "content": {"parts": [{"text": text}]}});
    let texts = ["two ferns", "moss"];
    for ((whose, provider), path, body) in [
        (
            EMBEDDERS[0],
            "v1/embeddings",
            json!({"model": "text-embedding-3-small", "input": texts}),
        ),
        (
            EMBEDDERS[1],
            "v1beta/models/gemini-embedding-001:batchEmbedContents",
            json!({"requests": [gemini("two ferns"), gemini("moss")]}),
        ),
        (
            EMBEDDERS[2],
            "api/embed",
            json!({"model": "nomic-embed-text", "input": texts}),
        ),
        (
            EMBEDDERS[3],
            "v1/embeddings",
            json!({"model": "voyage-3-lite", "input": texts, "input_type": "document"}),
        ),
    ] {
        let embedder = embedder(&fake, whose, provider).with_input_type(Some("document"));
        let vectors = embedder.embed_all(&texts, 10).await.expect("vectors");
        assert_eq!(vectors, [[0.25, -1.5], [1.0, 2.0]], "{provider:?}");
        let seen = fake.requests().pop().expect("a request");
        assert_eq!((seen.api, &*seen.path), (whose, path));
        assert_eq!(seen.json(), body, "{provider:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_too_large_for_a_server_is_halved() {
    let fake = Fake::start();
    let (whose, provider) = EMBEDDERS[0];
    fake.next_of(whose, Turn::refusal(413));
    let embedder = embedder(&fake, whose, provider);
    let vectors = embedder.embed_all(&["a", "b", "c", "d", "e"], 4).await;
    assert_eq!(vectors.expect("vectors").len(), 5);
    let sizes = fake.requests().into_iter().map(|seen| {
        let input = seen.json()["input"].as_array().map(Vec::len);
        input.expect("a list")
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [4, 2, 2, 1]);
}

#[tokio::test]
async fn a_model_that_is_named_is_used_with_or_without_the_prefix_of_gemini() {
    let fake = Fake::start();
    let http = http_client(&fake, Api::Gemini, Provider::Gemini);
    let embedder = Embedder::new(http, Some("models/text-embedding-004")).expect("it embeds");
    embedder.embed("fern").await.expect("a vector");
    let path = fake.request().path;
    assert_eq!(path, "v1beta/models/text-embedding-004:embedContent");
}

#[tokio::test]
async fn voyage_gets_the_input_type_of_a_text() {
    let fake = Fake::start();
    let voyage = embedder(&fake, Api::Voyage, Provider::Voyage);
    let voyage = voyage.with_input_type(Some("query"));
    voyage.embed("fern").await.expect("a vector");
    assert_eq!(fake.request().json()["input_type"], "query");
}

#[tokio::test]
async fn an_empty_or_non_numeric_vector_is_an_error() {
    let fake = Fake::start();
    for (vector, is_empty) in [
        ("[]", true),
        ("[1e39]", false),
        ("[\"a\"]", false),
        ("[null]", false),
    ] {
        for (whose, provider) in EMBEDDERS {
            let body = match provider {
                Provider::Gemini => format!(r#"{{"embedding": {{"values": {vector}}}}}"#),
                Provider::Ollama => format!(r#"{{"embeddings": [{vector}]}}"#),
                _ => format!(r#"{{"data": [{{"embedding": {vector}}}]}}"#),
            };
            fake.next(Turn::raw(200, body));
            let error = embedder(&fake, whose, provider).embed("fern").await;
            let error = error.expect_err("no vector");
            assert_eq!(error.class(), Class::Provider, "{provider:?} {vector}");
            assert_eq!(
                matches!(error, Error::Empty),
                is_empty,
                "{provider:?} {vector}: {error}"
            );
        }
    }
    for body in [
        r#"{"data": []}"#,
        r#"{"embeddings": []}"#,
        "{}",
        "[]",
        "\"a\"",
    ] {
        for (whose, provider) in EMBEDDERS {
            fake.next(Turn::raw(200, body));
            let error = embedder(&fake, whose, provider).embed("fern").await;
            assert_eq!(
                error.expect_err("no vector").class(),
                Class::Provider,
                "{provider:?} {body}"
            );
        }
    }
}

#[test]
fn anthropic_makes_no_vectors_and_only_voyage_reranks() {
    let fake = Fake::start();
    let error = Embedder::new(
        http_client(&fake, Api::Anthropic, Provider::Anthropic),
        None,
    );
    let error = error.expect_err("it makes none");
    assert_eq!(
        error.to_string(),
        "Anthropic does not provide an embedding API"
    );
    assert_eq!(error.class(), Class::Unsupported);
    let error = Reranker::new(http_client(&fake, Api::Ollama, Provider::Ollama), "m");
    let error = error.expect_err("it does no such thing");
    assert_eq!(
        error.to_string(),
        "provider ollama does not support reranking"
    );
}

#[tokio::test]
async fn the_server_itself_makes_vectors_without_a_provider() {
    let embedder = Embedder::local();
    let embedding = embedder
        .embed("a fern in the shade")
        .await
        .expect("a vector");
    assert_eq!(embedding.vector.len(), crate::LOCAL_DIMENSIONS);
    assert_eq!(embedding.usage, Usage::default());
    assert_eq!((embedder.provider(), embedder.is_local()), ("local", true));
    embedder.ping(Deadline::none()).await.expect("always there");
}

#[tokio::test]
async fn a_ping_is_a_free_request_and_for_voyage_the_smallest_vector() {
    let fake = Fake::start();
    for (whose, provider, path) in [
        (Api::OpenAi, Provider::OpenAi, "v1/models"),
        (Api::Gemini, Provider::Gemini, "v1beta/models"),
        (Api::Ollama, Provider::Ollama, "api/tags"),
        (Api::Voyage, Provider::Voyage, "v1/embeddings"),
    ] {
        let embedder = embedder(&fake, whose, provider);
        embedder.ping(Deadline::none()).await.expect("it is there");
        let seen = fake.requests().pop().expect("a request");
        assert_eq!((seen.api, &*seen.path), (whose, path));
        let is_voyage = provider == Provider::Voyage;
        assert_eq!(
            embedder.usage().total_tokens,
            u64::from(is_voyage),
            "{provider:?}"
        );
    }
    let last = fake.requests().pop().expect("a request").json();
    assert_eq!(last, json!({"model": "voyage-3-lite", "input": ["."]}));
}

#[tokio::test]
async fn a_ping_is_sent_once_and_voyage_is_healthy_if_it_only_rejects_the_model() {
    let fake = Fake::start();
    for (status, openai, voyage) in [
        (401, Some(Class::Credentials), Some(Class::Credentials)),
        (403, Some(Class::Credentials), Some(Class::Credentials)),
        (429, Some(Class::RateLimit), Some(Class::RateLimit)),
        (400, Some(Class::Invalid), None),
        (404, Some(Class::Provider), None),
        (500, Some(Class::Provider), Some(Class::Provider)),
    ] {
        for (whose, provider, expected) in [
            (Api::OpenAi, Provider::OpenAi, openai),
            (Api::Voyage, Provider::Voyage, voyage),
        ] {
            let before = fake.requests().len();
            fake.next(Turn::refusal(status));
            let access = Access {
                base_url: Some(fake.url(whose)),
                key: Some("wq8JkLmN2pRs7TuV".into()),
                ..Access::default()
            };
            let http = Http::new(&client().expect("a client"), provider, &access);
            let outcome = http.expect("an address").ping(None, Deadline::none()).await;
            let class = outcome.err().map(|error| error.class());
            assert_eq!(class, expected, "{provider:?} {status}");
            assert_eq!(fake.requests().len() - before, 1, "{provider:?} {status}");
        }
    }
}

#[tokio::test]
async fn texts_are_ordered_by_relevance() {
    let fake = Fake::start();
    let reranker = Reranker::new(
        http_client(&fake, Api::Voyage, Provider::Voyage),
        "rerank-2.5",
    );
    let reranker = reranker.expect("it ranks");
    let documents = ["frost", "wild ferns", "ferns"];
    fake.set_vector("ferns?", &[1.0, 0.0]);
    fake.set_vector("frost", &[0.0, 1.0]);
    fake.set_vector("wild ferns", &[0.5, 0.5]);
    fake.set_vector("ferns", &[1.0, 0.0]);
    let order = |top_k| {
        let reranker = reranker.clone();
        async move {
            let ranked = reranker
                .rerank("ferns?", &documents, top_k, Deadline::none())
                .await;
            let ranked = ranked.expect("an order");
            ranked.iter().map(|ranked| ranked.index).collect::<Vec<_>>()
        }
    };
    assert_eq!(order(0).await, [2, 1, 0]);
    assert_eq!(order(2).await, [2, 1]);
    assert_eq!(order(3).await, [2, 1, 0]);
    let asked: Vec<_> = fake
        .requests()
        .iter()
        .map(|seen| seen.json()["top_k"].clone())
        .collect();
    assert_eq!(asked, [json!(null), json!(2), json!(null)]);
    let first = fake.requests()[0].json();
    assert_eq!(first["documents"], json!(documents));
    assert_eq!(first["model"], "rerank-2.5");
}
