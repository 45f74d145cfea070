use serde_json::{Value, json};
use ziggurat_answers::test_server;
use ziggurat_fake_providers::{Api, Fake, Turn};
use ziggurat_llm::{Access, Http, Provider, Retry};

use super::*;

async fn embed(embedder: Embedder, arguments: Value) -> (String, bool) {
    test_server::call(GenerateEmbedding::new(embedder), arguments).await
}

async fn refused(embedder: Embedder, arguments: Value) -> String {
    let (text, failed) = embed(embedder, arguments).await;
    assert!(failed, "{text}");
    text
}

fn by(fake: &Fake, whose: Api, provider: Provider) -> Embedder {
    let access = Access {
        base_url: Some(fake.url(whose)),
        key: Some("wq8JkLmN2pRs7TuV".into()),
        retry: Retry::never(),
        ..Access::default()
    };
    let client = llm::client().expect("a client");
    let http = Http::new(&client, provider, &access).expect("an address");
    Embedder::Ready(llm::Embedder::new(http, None).expect("it embeds"))
}

#[tokio::test]
async fn a_missing_text_and_an_empty_text_are_different_errors() {
    let cases = [
        (json!({}), "Missing or invalid 'text' parameter"),
        (json!({"text": null}), "Missing or invalid 'text' parameter"),
        (
            json!({"text": ["a"]}),
            "Missing or invalid 'text' parameter",
        ),
        (
            json!({"text": ""}),
            "'text' parameter cannot be empty or whitespace-only",
        ),
        (
            json!({"text": " \n\u{2003}"}),
            "'text' parameter cannot be empty or whitespace-only",
        ),
    ];
    for (arguments, expected) in cases {
        let text = refused(Embedder::Disabled, arguments.clone()).await;
        assert_eq!(text, expected, "{arguments}");
    }
}

#[tokio::test]
async fn a_disabled_and_an_unusable_embedder_are_different_errors() {
    let text = refused(Embedder::Disabled, json!({"text": "fern"})).await;
    assert!(
        text.starts_with("Embedding generation is not enabled. "),
        "{text}"
    );
    assert!(text.contains("ZIGGURAT_EMBEDDING_ENABLED"), "{text}");

    let unusable = Embedder::unusable("OpenAI API key is required when provider is 'openai'");
    let text = refused(unusable, json!({"text": "fern"})).await;
    assert_eq!(
        text,
        "Failed to initialize embedding provider: OpenAI API key is required when provider is \
         'openai'"
    );
}

#[tokio::test]
async fn a_vector_is_shown_with_its_provider_and_model() {
    let fake = Fake::start();
    fake.set_vector("Ärger & ferns", &[0.5, -2e-5, 1.0]);
    let embedder = by(&fake, Api::Ollama, Provider::Ollama);
    let (text, failed) = embed(embedder, json!({"text": "Ärger & ferns"})).await;
    assert!(!failed, "{text}");
    assert_eq!(
        text,
        "Embedding Generated Successfully\n\
         ==================================================\n\
         \n\
         Provider: ollama\n\
         Model: nomic-embed-text\n\
         Dimensions: 3\n\
         Text Length: 13 characters\n\
         \n\
         Text:\n\
         Ärger & ferns\n\
         \n\
         Embedding Vector (3 dimensions):\n\
         [\n  0.5,\n  -0.00002,\n  1\n]"
    );
    let vector = text.split_once("dimensions):\n").expect("a vector").1;
    let vector: Vec<f32> = serde_json::from_str(vector).expect("JSON");
    assert_eq!(vector, [0.5, -2e-5, 1.0]);
}

#[tokio::test]
async fn a_vector_of_the_local_embedder_has_a_note() {
    let embedder = Embedder::Ready(llm::Embedder::local());
    let (text, failed) = embed(embedder, json!({"text": "fern"})).await;
    assert!(!failed, "{text}");
    assert!(text.contains("\nProvider: local\n"), "{text}");
    assert!(text.contains("\nNote: made by the server itself"), "{text}");
    assert!(text.contains("(256 dimensions):\n[\n  "), "{text}");
}

#[tokio::test]
async fn the_structure_has_the_vector_as_numbers() {
    let fake = Fake::start();
    fake.set_vector("fern", &[0.1, -2e-5, 1.0]);
    let tool = GenerateEmbedding::new(by(&fake, Api::Ollama, Provider::Ollama));
    let (_, embedded) = test_server::structured(tool, json!({"text": "fern"})).await;
    assert_eq!(
        embedded,
        json!({
            "provider": "ollama",
            "model": "nomic-embed-text",
            "dimensions": 3,
            "embedding": [0.1, -2e-5, 1.0],
        })
    );
    let tool = GenerateEmbedding::new(Embedder::Ready(llm::Embedder::local()));
    let (text, embedded) = test_server::structured(tool, json!({"text": "fern"})).await;
    let note = embedded["note"].as_str().expect("a note");
    assert!(text.contains(&format!("\nNote: {note}\n")), "{text}");
    assert_eq!(embedded["embedding"].as_array().map(Vec::len), Some(256));
}

#[tokio::test]
async fn a_provider_that_refuses_is_quoted_without_the_key() {
    let fake = Fake::start();
    let quoting = "Incorrect API key: {key}, or {stars}";
    fake.next(Turn::refusal_with(401, quoting));
    let embedder = by(&fake, Api::OpenAi, Provider::OpenAi);
    let text = refused(embedder.clone(), json!({"text": "fern"})).await;
    let start = "Failed to generate embedding: API request failed with status 401: {\"error\":";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("Incorrect API key: [redacted]"), "{text}");
    for piece in ["wq8JkL", "N2pRs7", "Rs7TuV"] {
        assert!(!text.contains(piece), "{text}");
    }

    fake.next(Turn::raw(200, r#"{"data": [{"embedding": []}]}"#));
    let text = refused(embedder, json!({"text": "fern"})).await;
    assert_eq!(text, "Received empty embedding vector from provider");
}
