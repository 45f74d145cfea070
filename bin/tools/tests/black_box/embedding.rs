//! Tests of `generate_embedding` with every provider, and of the sources of API keys.

use std::fs;

use serde_json::json;
use ziggurat_fake_providers::{Api, Fake, Turn};

use crate::support::{Home, Program, StdioClient};

const KEY: &str = "wq8JkLmN2pRs7TuV";

/// Starts a server on standard input and output with this section `embedding`.
fn stdio(home: &Home, section: &str) -> (Program, StdioClient) {
    home.configure(&format!("embedding: {{enabled: true, {section}}}"));
    home.stdio(&[])
}

fn embed(stdio: &mut StdioClient, text: &str) -> (String, bool) {
    stdio.tool("generate_embedding", &json!({ "text": text }))
}

fn vector(answer: &str) -> Vec<f32> {
    let (_, vector) = answer
        .split_once("dimensions):\n")
        .unwrap_or_else(|| panic!("a vector in {answer}"));
    serde_json::from_str(vector).expect("JSON")
}

#[test]
fn each_configured_provider_creates_embeddings() {
    let fake = Fake::start();
    fake.set_vector("two ferns", &[0.5, -0.25]);
    for (provider, whose, keys, model, key) in [
        (
            "openai",
            Api::OpenAi,
            "openai_api_key",
            "text-embedding-3-small",
            Some(KEY),
        ),
        (
            "voyage",
            Api::Voyage,
            "voyage_api_key",
            "voyage-3-lite",
            Some(KEY),
        ),
        (
            "gemini",
            Api::Gemini,
            "gemini_api_key",
            "gemini-embedding-001",
            Some(KEY),
        ),
        (
            "ollama",
            Api::Ollama,
            "openai_api_key",
            "nomic-embed-text",
            None,
        ),
    ] {
        let home = Home::new();
        let place = if provider == "ollama" {
            "ollama_url".to_owned()
        } else {
            format!("{provider}_base_url")
        };
        let url = fake.url(whose);
        let section = format!("provider: {provider}, {place}: '{url}', {keys}: {KEY}");
        let (_program, mut stdio) = stdio(&home, &section);
        let (answer, failed) = embed(&mut stdio, "two ferns");
        assert!(!failed, "{answer}");
        assert_eq!(vector(&answer), [0.5, -0.25]);
        assert!(answer.contains(&format!("\nProvider: {provider}\nModel: {model}\n")));
        let seen = fake.requests().pop().expect("a request");
        assert_eq!((seen.api, seen.key()), (whose, key));
    }
}

#[test]
fn a_key_comes_from_the_environment_then_its_file_then_the_configuration() {
    let fake = Fake::start();
    let section = |more: &str| {
        let url = fake.url(Api::OpenAi);
        format!("provider: openai, model: m, openai_base_url: '{url}'{more}")
    };
    let both = ", openai_api_key: direct, openai_api_key_file: '~/key'";
    for (variable, more, expected) in [
        (Some("variable"), both, Some("variable")),
        (None, both, Some("in-the-file")),
        (None, ", openai_api_key: direct", Some("direct")),
        // A compatible server may need no key.
        (None, "", None),
    ] {
        let mut home = Home::new();
        fs::write(home.file("key"), " in-the-file\n").expect("written");
        if let Some(key) = variable {
            home.set("OPENAI_API_KEY", key);
        }
        let (_program, mut stdio) = stdio(&home, &section(more));
        let (answer, failed) = embed(&mut stdio, "fern");
        assert!(!failed, "{answer}");
        let seen = fake.requests().pop().expect("a request");
        assert_eq!(seen.key(), expected, "{more}");
        assert_eq!(seen.json(), json!({"model": "m", "input": "fern"}));
    }
}

#[test]
fn without_a_key_the_server_starts_and_the_tool_names_what_is_missing() {
    for (provider, expected) in [
        (
            "openai",
            "OpenAI API key is required when provider is 'openai'",
        ),
        (
            "voyage",
            "Voyage AI API key is required when provider is 'voyage'",
        ),
    ] {
        let home = Home::new();
        let (program, mut stdio) = stdio(&home, &format!("provider: {provider}"));
        let (answer, failed) = embed(&mut stdio, "fern");
        assert!(failed);
        assert_eq!(
            answer,
            format!("Failed to initialize embedding provider: {expected}")
        );
        program.wait_for("the embedding provider cannot be used");
    }
}

#[test]
fn the_error_of_a_provider_is_quoted_and_no_part_of_the_key_is_shown_or_logged() {
    let fake = Fake::start();
    fake.next(Turn::refusal_with(
        401,
        "Incorrect API key: {key}, or {stars}",
    ));
    let home = Home::new();
    let url = fake.url(Api::OpenAi);
    let section = format!("provider: openai, openai_base_url: '{url}', openai_api_key: {KEY}");
    home.configure(&format!("embedding: {{enabled: true, {section}}}"));
    let (program, mut stdio) = home.stdio(&["-debug"]);
    let (answer, failed) = embed(&mut stdio, "fern");
    assert!(failed);
    let start = "Failed to generate embedding: API request failed with status 401: {\"error\":";
    assert!(answer.starts_with(start), "{answer}");
    drop(stdio);
    let log = program.whole_log();
    for piece in ["wq8JkL", "N2pRs7", "Rs7TuV"] {
        assert!(!answer.contains(piece), "{answer}");
        assert!(!log.contains(piece), "{log}");
    }
}

#[test]
fn an_unreachable_ollama_is_an_error_with_a_hint() {
    let fake = Fake::start();
    let url = fake.url(Api::Ollama);
    drop(fake);
    let home = Home::new();
    let (_program, mut stdio) = stdio(&home, &format!("ollama_url: '{url}'"));
    let (answer, failed) = embed(&mut stdio, "fern");
    assert!(failed);
    let start = format!("Failed to generate embedding: failed to connect to Ollama at {url}: ");
    assert!(answer.starts_with(&start), "{answer}");
    assert!(answer.ends_with(" (is Ollama running?)"), "{answer}");
}

#[test]
fn the_local_provider_creates_embeddings_and_names_itself() {
    let home = Home::new();
    let (_program, mut stdio) = stdio(&home, "provider: local");
    let (answer, failed) = embed(&mut stdio, "two ferns");
    assert!(!failed, "{answer}");
    assert_eq!(vector(&answer).len(), 256);
    assert!(answer.contains("\nProvider: local\n"), "{answer}");
    assert!(
        answer.contains("\nNote: made by the server itself"),
        "{answer}"
    );
    let (again, _) = embed(&mut stdio, "two ferns");
    assert_eq!(again, answer);
}

#[test]
fn an_embedding_needs_no_database() {
    let home = Home::new();
    let section = "provider: local}\ndatabases: [{name: gone, host: 127.0.0.1, port: 1, user: x}]";
    home.configure(&format!("embedding: {{enabled: true, {section}"));
    let (_program, mut stdio) = home.stdio(&[]);
    let (answer, failed) = embed(&mut stdio, "fern");
    assert!(!failed, "{answer}");
}

#[test]
fn an_unknown_provider_prevents_the_start() {
    let home = Home::new();
    home.configure("embedding: {enabled: true, provider: cohere}");
    let ran = home.ran(&[], "");
    assert_eq!(ran.code, Some(1));
    let expected =
        "embedding.provider: 'cohere' is none of voyage, openai, gemini, ollama, static, local";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}
