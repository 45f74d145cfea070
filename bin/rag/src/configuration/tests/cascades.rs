//! Inheritance of settings from the defaults.

use std::{path::Path, time::Duration};

use ziggurat_llm::Provider;

use super::{Case, PIPELINE};
use crate::configuration::{ModelSource, Pipeline};

/// Returns a pipeline with these keys below its name, after the text `above`.
fn pipeline(above: &str, keys: &str) -> Pipeline {
    let text = format!(
        "{above}
pipelines:
- name: docs
  database: {{host: a, database: b, username: c}}
  tables: [{{table: d, text_column: e, vector_column: f}}]
{keys}"
    );
    Case::new(&text).pipeline()
}

const DEFAULTS: &str = "defaults:
  embedding_llm: {provider: openai, model: default-embedding, base_url: 'http://default/v1/'}
  rag_llm: {provider: openai, model: default-model, base_url: 'http://default', headers: {X-A: block, X-B: block}, request_timeout: 9s, per_attempt_timeout: 3s, max_tokens: 77, temperature: 0.3, max_retries: 5}
  llm_headers: {X-A: defaults, X-C: defaults}
  token_budget: 111
  top_n: 7
";

#[test]
fn missing_keys_of_a_pipeline_are_inherited() {
    let pipeline = pipeline(DEFAULTS, "");
    let model = &pipeline.completion;
    assert_eq!(model.maker, ModelSource::Provider(Provider::OpenAi));
    assert_eq!(model.name, "default-model");
    assert_eq!(model.base_url.as_deref(), Some("http://default"));
    assert_eq!(model.timeouts.call, Duration::from_secs(9));
    assert_eq!(model.timeouts.attempt, Some(Duration::from_secs(3)));
    assert_eq!((pipeline.max_tokens, pipeline.temperature), (77, Some(0.3)));
    assert_eq!(model.retry, ziggurat_llm::Retry::times(5));
    assert_eq!(model.headers["x-a"], "block");
    assert_eq!(model.headers["x-c"], "defaults");
    assert_eq!(
        pipeline.embedding.base_url.as_deref(),
        Some("http://default/v1")
    );
    assert_eq!((pipeline.token_budget, pipeline.top_n), (111, 7));
}

#[test]
fn the_same_provider_inherits_field_by_field() {
    let pipeline = pipeline(
        DEFAULTS,
        "  rag_llm: {provider: OpenAI, model: mine, headers: {x-b: mine}, max_tokens: 5}
  llm_headers: {x-c: pipeline, X-D: pipeline}
  token_budget: 0
  top_n: 3
",
    );
    let model = &pipeline.completion;
    assert_eq!(model.name, "mine");
    assert_eq!(model.base_url.as_deref(), Some("http://default"));
    assert_eq!((pipeline.max_tokens, pipeline.temperature), (5, Some(0.3)));
    for (name, value) in [
        ("x-a", "block"),
        ("x-b", "mine"),
        ("x-c", "pipeline"),
        ("x-d", "pipeline"),
    ] {
        assert_eq!(model.headers[name], value, "{name}");
    }
    assert_eq!((pipeline.token_budget, pipeline.top_n), (111, 3));
}

#[test]
fn another_provider_inherits_nothing_but_the_common_headers() {
    let pipeline = pipeline(DEFAULTS, "  rag_llm: {provider: anthropic, model: mine}\n");
    let model = &pipeline.completion;
    assert_eq!(model.maker, ModelSource::Provider(Provider::Anthropic));
    assert_eq!(model.base_url, None);
    assert_eq!(model.timeouts.call, Duration::from_mins(2));
    assert_eq!(model.timeouts.attempt, None);
    assert_eq!((pipeline.max_tokens, pipeline.temperature), (4096, None));
    assert_eq!(model.headers["x-a"], "defaults");
    assert!(!model.headers.contains_key("x-b"));
    let text = DEFAULTS.to_owned()
        + "pipelines:"
        + &PIPELINE.replace("provider: openai, model: gpt-4o-mini", "provider: gemini");
    assert_eq!(
        Case::new(&text).error(),
        "invalid configuration: pipelines[0].rag_llm.model: required"
    );
}

#[test]
fn key_files_are_inherited_from_the_nearest_section() {
    let above = "api_keys: {openai: /top/openai, voyage: /top/voyage, gemini: /top/gemini}
defaults:
  api_keys: {openai: /defaults/openai, voyage: /defaults/voyage}
  embedding_llm: {provider: local}
  rag_llm: {provider: local}
";
    let pipeline = pipeline(above, "  api_keys: {openai: /mine/openai}\n");
    for (provider, path) in [
        (Provider::OpenAi, Some("/mine/openai")),
        (Provider::Voyage, Some("/defaults/voyage")),
        (Provider::Gemini, Some("/top/gemini")),
        (Provider::Anthropic, None),
    ] {
        assert_eq!(pipeline.key_files.of(provider), path.map(Path::new));
    }
}

#[test]
fn the_local_provider_is_used_only_if_it_is_configured() {
    let keys = "  embedding_llm: {provider: local}\n  rag_llm: {provider: Local, model: ignored}\n";
    let pipeline = pipeline("", keys);
    assert_eq!(pipeline.embedding.maker, ModelSource::Local);
    assert_eq!(pipeline.completion.maker, ModelSource::Local);
}

#[test]
fn the_folder_of_a_static_model_is_inherited_with_its_provider() {
    let above = "defaults:\n  embedding_llm: {provider: static, model_path: /models/potion}\n";
    let local = "  rag_llm: {provider: local}\n";
    let inherited = pipeline(above, local).embedding;
    assert_eq!(inherited.maker, ModelSource::Static);
    assert_eq!(inherited.path, Path::new("/models/potion"));
    let other = "  embedding_llm: {provider: static, model_path: /models/other}\n";
    let own = pipeline(above, &format!("{local}{other}")).embedding;
    assert_eq!(own.path, Path::new("/models/other"));
}

#[test]
fn the_input_type_is_query_unless_it_is_configured() {
    let keys = |more: &str| {
        format!(
            "  embedding_llm: {{provider: voyage, model: m{more}}}\n  rag_llm: {{provider: local}}\n"
        )
    };
    for (more, expected) in [
        ("", Some("query")),
        (", input_type: ''", None),
        (", input_type: document", Some("document")),
    ] {
        let pipeline = pipeline("", &keys(more));
        assert_eq!(pipeline.embedding.input_type.as_deref(), expected, "{more}");
    }
}

#[test]
fn the_address_of_ollama_comes_from_its_variable_unless_the_file_sets_it() {
    for (variable, base_url, expected) in [
        (None, "", None),
        (Some("http://gpu:1234/"), "", Some("http://gpu:1234")),
        (Some("gpu"), "", Some("http://gpu:11434")),
        (Some("0.0.0.0:5000"), "", Some("http://0.0.0.0:5000")),
        (Some("[::1]"), "", Some("http://[::1]:11434")),
        (Some("https://gpu"), "", Some("https://gpu")),
        (
            Some("gpu"),
            ", base_url: ' http://file/ '",
            Some("http://file"),
        ),
    ] {
        let new = format!("provider: ollama{base_url}");
        let case = Case::changed(&[("provider: ollama", &new)]);
        let variables: Vec<_> = variable
            .iter()
            .map(|value| ("OLLAMA_HOST", *value))
            .collect();
        let pipeline = case.env(&variables).pipeline();
        assert_eq!(
            pipeline.embedding.base_url.as_deref(),
            expected,
            "{variable:?}"
        );
    }
}
