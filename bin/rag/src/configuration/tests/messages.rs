//! Error messages for invalid settings.

use super::{Case, PIPELINE};

const ODD_HOST: &str = "must not contain commas, whitespace, @, /, ?, =, ', \\, or #";

/// Asserts the message after a text of the complete pipeline is replaced.
pub(super) fn refused(cases: &[(&str, &str, &str)]) {
    for (old, new, message) in cases {
        let error = Case::changed(&[(old, new)]).error();
        let expected = format!("invalid configuration: {message}");
        assert_eq!(error, expected, "{old} -> {new}");
    }
}

#[test]
fn a_complete_pipeline_is_accepted() {
    assert_eq!(Case::changed(&[]).pipeline().name, "docs");
}

#[test]
fn names_of_pipelines() {
    let long = format!("name: {}", "a".repeat(64));
    refused(&[
        ("name: docs", "name: ''", "pipelines[0].name: required"),
        (
            "name: docs",
            &long,
            "pipelines[0].name: must be 63 characters or fewer",
        ),
        (
            "name: docs",
            "name: Docs",
            "pipelines[0].name: must contain only lowercase letters, digits, hyphens, and \
             underscores (^[a-z0-9_-]+$)",
        ),
    ]);
    let longest = format!("name: {}", "a".repeat(63));
    assert!(Case::changed(&[("name: docs", &longest)]).load().is_ok());
    let twice = format!("pipelines:{PIPELINE}{PIPELINE}");
    assert_eq!(
        Case::new(&twice).error(),
        "invalid configuration: pipelines[1].name: duplicate pipeline name: docs"
    );
    for none in ["", "pipelines: []", "server: {port: 1}"] {
        assert_eq!(
            Case::new(none).error(),
            "invalid configuration: pipelines: at least one pipeline must be configured"
        );
    }
}

#[test]
fn hosts_of_databases() {
    let host = "host: db.example";
    let at = |key: &str, message: &str| format!("pipelines[0].database.{key}: {message}");
    for (new, message) in [
        ("host: ''", at("host", "required")),
        ("host: '[::1'", at("host", "invalid IPv6 address")),
        ("host: '[db]'", at("host", "invalid IPv6 address")),
        ("host: 'db:5432'", at("host", "invalid IPv6 address")),
        ("host: 'a,b'", at("host", ODD_HOST)),
        ("host: 'a b'", at("host", ODD_HOST)),
        ("host: 'a@b'", at("host", ODD_HOST)),
        ("host: '/run'", at("host", ODD_HOST)),
        ("host: 'a?b'", at("host", ODD_HOST)),
        ("host: 'a=b'", at("host", ODD_HOST)),
        ("host: \"a'b\"", at("host", ODD_HOST)),
        ("host: 'a\\b'", at("host", ODD_HOST)),
        ("host: 'a#b'", at("host", ODD_HOST)),
    ] {
        refused(&[(host, new, &message)]);
    }
    for good in [
        "host: '[::1]'",
        "host: '::1'",
        "host: 10.0.0.1",
        "hosts: [{host: a}]",
    ] {
        assert!(Case::changed(&[(host, good)]).load().is_ok(), "{good}");
    }
}

#[test]
fn ports_and_lists_of_hosts() {
    let host = "host: db.example";
    let at = |key: &str, message: &str| format!("pipelines[0].database.{key}: {message}");
    for (new, message) in [
        (
            "host: a, port: 0",
            at("port", "must be between 1 and 65535"),
        ),
        (
            "host: a, port: 65536",
            at("port", "must be between 1 and 65535"),
        ),
        (
            "host: a, port: -1",
            at("port", "must be between 1 and 65535"),
        ),
        ("hosts: [{port: 1}]", at("hosts[0].host", "required")),
        (
            "hosts: [{host: a}, {host: 'x y'}]",
            at("hosts[1].host", ODD_HOST),
        ),
        (
            "hosts: [{host: a}, {host: b, port: 70000}]",
            at("hosts[1].port", "must be between 1 and 65535"),
        ),
        (
            "host: a, hosts: [{host: b, port: 0}], port: 0",
            "pipelines[0].database: cannot specify both 'hosts' and 'host'; use one or the other"
                .to_owned(),
        ),
        (
            "host: a, target_session_attrs: any",
            at(
                "target_session_attrs",
                "only supported with multi-host 'hosts' configuration",
            ),
        ),
        (
            "hosts: [{host: a}], target_session_attrs: master",
            at(
                "target_session_attrs",
                "must be one of: any, read-write, read-only, primary, standby, prefer-standby",
            ),
        ),
    ] {
        refused(&[(host, new, &message)]);
    }
}

#[test]
fn other_settings_of_databases() {
    let at = |key: &str, message: &str| format!("pipelines[0].database.{key}: {message}");
    for (old, new, message) in [
        ("database: docs", "database: ''", at("database", "required")),
        ("username: reader", "username: ''", at("username", "required")),
        (
            "username: reader",
            "username: a, ssl_mode: sometimes",
            at(
                "ssl_mode",
                "must be one of: disable, allow, prefer, require, verify-ca, verify-full",
            ),
        ),
        (
            "username: reader",
            "username: a, max_connections: 0",
            at("max_connections", "must be between 1 and 1000"),
        ),
        (
            "username: reader",
            "username: a, connect_timeout: 0s",
            at("connect_timeout", "must be longer than 0"),
        ),
        (
            "username: reader",
            "username: a, statement_timeout: -1s",
            at("statement_timeout", "must not be negative"),
        ),
        (
            "username: reader",
            "username: a, ssl_cert: /none",
            "pipelines[0].database: ssl_cert and ssl_key must be set together".to_owned(),
        ),
        (
            "username: reader",
            "username: a, ssl_mode: verify-ca, ssl_root_ca: /none",
            "pipelines[0].database: ssl_root_ca cannot be read: No such file or directory (os error 2)"
                .to_owned(),
        ),
    ] {
        refused(&[(old, new, &message)]);
    }
}

#[test]
fn tables_and_their_filters() {
    let at = |key: &str, message: &str| format!("pipelines[0].tables[0].{key}: {message}");
    let tables = "tables: [{table: documents, text_column: content, vector_column: embedding}]";
    refused(&[(
        tables,
        "tables: []",
        "pipelines[0].tables: at least one table must be configured",
    )]);
    for (old, new, message) in [
        ("table: documents", "table: ''", at("table", "required")),
        (
            "text_column: content",
            "text_column: ''",
            at("text_column", "required"),
        ),
        (
            "vector_column: embedding",
            "vector_column: ''",
            at("vector_column", "required"),
        ),
        (
            "table: documents",
            "table: a, filter: {conditions: [{column: b, operator: '~', value: 1}]}",
            at(
                "filter",
                "unsupported operator: ~ (allowed: =, !=, <, >, <=, >=, LIKE, ILIKE, IN, NOT IN, \
                 IS NULL, IS NOT NULL)",
            ),
        ),
        (
            "table: documents",
            "table: a, filter: {logic: xor, conditions: [{column: b, operator: '=', value: 1}]}",
            at("filter", "invalid logic operator: XOR (must be AND or OR)"),
        ),
    ] {
        refused(&[(old, new, &message)]);
    }
    for sql in ["a) OR (b", "a; b", "a -- b"] {
        let new = format!("table: a, filter: '{sql}'");
        let error = Case::changed(&[("table: documents", &new)]).error();
        let start = format!("invalid configuration: {}", at("filter", ""));
        assert!(error.starts_with(&start), "{sql}: {error}");
    }
    let new = "table: a, keyword_backend: magic";
    let error = Case::changed(&[("table: documents", new)]).error();
    let start = format!("invalid configuration: {}", at("keyword_backend", ""));
    assert!(error.starts_with(&start), "{error}");
}

#[test]
fn models() {
    const EMBEDDERS: &str =
        "must be one of: openai, voyage, ollama, gemini, static (or local, for trials)";
    const COMPLETERS: &str =
        "must be one of: anthropic, openai, ollama, gemini (or local, for trials)";
    const URL: &str = "must be an http or https URL with a host";
    let embedding = "embedding_llm: {provider: ollama, model: nomic}";
    let completion = "rag_llm: {provider: openai, model: gpt-4o-mini}";
    for (name, old, choice, unfit) in [
        ("embedding_llm", embedding, EMBEDDERS, "anthropic"),
        ("rag_llm", completion, COMPLETERS, "voyage"),
    ] {
        let at = |key: &str, message: &str| format!("pipelines[0].{name}.{key}: {message}");
        for (new, message) in [
            ("model: m".to_owned(), at("provider", "required")),
            (
                "provider: cohere, model: m".to_owned(),
                at("provider", choice),
            ),
            (
                format!("provider: {unfit}, model: m"),
                at("provider", choice),
            ),
            ("provider: openai".to_owned(), at("model", "required")),
            (
                "provider: openai, model: m, request_timeout: -1s".to_owned(),
                at("request_timeout", "must not be negative"),
            ),
            (
                "provider: openai, model: m, per_attempt_timeout: -1s".to_owned(),
                at("per_attempt_timeout", "must not be negative"),
            ),
            (
                "provider: openai, model: m, base_url: 'ftp://a'".to_owned(),
                at("base_url", URL),
            ),
            (
                "provider: openai, model: m, base_url: 'http://'".to_owned(),
                at("base_url", URL),
            ),
            (
                "provider: openai, model: m, max_tokens: 0".to_owned(),
                at("max_tokens", "must be at least 1"),
            ),
            (
                "provider: openai, model: m, headers: {'a b': c}".to_owned(),
                at("headers", "'a b' is not the name of a header"),
            ),
        ] {
            refused(&[(old, &format!("{name}: {{{new}}}"), &message)]);
        }
        let new = format!(
            "{name}: {{provider: openai, model: m, request_timeout: 1s, per_attempt_timeout: 2s}}"
        );
        let error = Case::changed(&[(old, &new)]).error();
        let message = at("per_attempt_timeout", "must not exceed request_timeout");
        assert!(error.contains(&message), "{error}");
    }
}

#[test]
fn default_model_blocks_are_checked_if_they_name_a_provider() {
    for (defaults, message) in [
        (
            "embedding_llm: {provider: cohere, model: m}",
            "defaults.embedding_llm.provider: must be one of: openai, voyage, ollama, gemini, static (or local, for trials)",
        ),
        (
            "rag_llm: {provider: cohere, model: m}",
            "defaults.rag_llm.provider: must be one of: anthropic, openai, ollama, gemini (or local, for trials)",
        ),
        (
            "rag_llm: {provider: gemini}",
            "defaults.rag_llm.model: required when provider is set",
        ),
        (
            "token_budget: -1",
            "defaults.token_budget: must be non-negative",
        ),
        ("top_n: -1", "defaults.top_n: must be non-negative"),
    ] {
        let text = format!("defaults: {{{defaults}}}\npipelines:{PIPELINE}");
        let error = Case::new(&text).error();
        assert_eq!(error, format!("invalid configuration: {message}"));
    }
    let text = format!("defaults: {{rag_llm: {{request_timeout: 5s}}}}\npipelines:{PIPELINE}");
    assert!(Case::new(&text).load().is_ok());
}

/// Returns a message about a key of the first pipeline.
fn at(key: &str, message: &str) -> String {
    format!("pipelines[0].{key}: {message}")
}

#[test]
fn numbers_of_pipelines() {
    for (new, message) in [
        (
            "token_budget: -1",
            at("token_budget", "must be non-negative"),
        ),
        ("top_n: -1", at("top_n", "must be non-negative")),
    ] {
        refused(&[("name: docs", &format!("name: docs\n  {new}"), &message)]);
    }
}

#[test]
fn settings_of_reranking() {
    for (new, message) in [
        (
            "rerank: {top_k: -1}",
            at("rerank.top_k", "must be non-negative"),
        ),
        (
            "rerank: {provider: openai, model: m}",
            at(
                "rerank.provider",
                "must be one of: voyage, cohere, jina, tei",
            ),
        ),
        (
            "rerank: {provider: tei}",
            at("rerank.base_url", "required when provider is tei"),
        ),
        (
            "rerank: {provider: Cohere}",
            at("rerank.model", "required when provider is set"),
        ),
        (
            "rerank: {provider: voyage}",
            at("rerank.model", "required when provider is set"),
        ),
        (
            "rerank: {provider: voyage, model: m, per_attempt_timeout: 2s, request_timeout: 1s}",
            at(
                "rerank.per_attempt_timeout",
                "must not exceed request_timeout",
            ),
        ),
    ] {
        refused(&[("name: docs", &format!("name: docs\n  {new}"), &message)]);
    }
}

#[test]
fn settings_of_search() {
    const SHARE: &str = "must be between 0.0 and 1.0";
    for (new, message) in [
        (
            "search: {vector_weight: 1.1}",
            at("search.vector_weight", SHARE),
        ),
        (
            "search: {vector_weight: -0.1}",
            at("search.vector_weight", SHARE),
        ),
        (
            "search: {candidates: 1001}",
            at("search.candidates", "must be between 1 and 1000"),
        ),
        ("search: {diversity: 1.5}", at("search.diversity", SHARE)),
        (
            "search: {ef_search: 39}",
            at("search.ef_search", "must be between 40 and 1000"),
        ),
        (
            "search: {fusion: {method: sum}}",
            at("search.fusion.method", "must be one of: rrf, weighted"),
        ),
        (
            "search: {fusion: {k: 0}}",
            at("search.fusion.k", "must be between 1 and 1000"),
        ),
        (
            "search: {fusion: {method: weighted, k: 60}}",
            at("search.fusion.k", "has no effect on the method weighted"),
        ),
        (
            "search: {fusion: {vector: 0, keyword: 0}}",
            at("search.fusion.keyword", "must not be 0 if vector is 0"),
        ),
        (
            "search: {vector_weight: 0.5, fusion: {vector: 0.5}}",
            at(
                "search.fusion.vector",
                "vector_weight is set too: set only one of the two",
            ),
        ),
        (
            "search: {min_similarity: 2}",
            at("search.min_similarity", SHARE),
        ),
        (
            "search: {bm25_max_documents: 0}",
            at("search.bm25_max_documents", "must be at least 1"),
        ),
    ] {
        refused(&[("name: docs", &format!("name: docs\n  {new}"), &message)]);
    }
}

#[test]
fn the_server() {
    for (server, message) in [
        ("port: 0", "server.port: must be between 1 and 65535"),
        ("port: 65536", "server.port: must be between 1 and 65535"),
        (
            "listen_address: 'a b'",
            "server.listen_address: must be a host name or an IP address",
        ),
        (
            "rate_limit: often",
            "server.rate_limit: not a quota: expected words like `10 per 15 minutes` or `5/s`",
        ),
        (
            "ping_timeout: 0s",
            "server.ping_timeout: must be longer than 0",
        ),
        (
            "body_timeout: 0s",
            "server.body_timeout: must be longer than 0",
        ),
        (
            "request_timeout: -5s",
            "server.request_timeout: must not be negative",
        ),
        (
            "tls: {enabled: true}",
            "server.tls.cert_file: required when TLS is enabled; \
             server.tls.key_file: required when TLS is enabled",
        ),
        (
            "tls: {enabled: true, cert_file: ~/c, key_file: /none/k}",
            "server.tls.cert_file: file not found: /none/home/c; \
             server.tls.key_file: file not found: /none/k",
        ),
    ] {
        let text = format!("server: {{{server}}}\npipelines:{PIPELINE}");
        let error = Case::new(&text).env(&[("HOME", "/none/home")]).error();
        assert_eq!(error, format!("invalid configuration: {message}"));
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = "
server: {port: 99999, tls: {enabled: true, cert_file: /none}}
pipelines:
- name: Bad Name
  database: {port: 0, ssl_mode: maybe}
  tables: [{table: a}, {}]
  rag_llm: {provider: voyage, model: m}
  top_n: -5
- name: docs
";
    let case = Case::new(text).env(&[("USER", "me")]);
    let error = case.error();
    let list = error
        .strip_prefix("invalid configuration: ")
        .expect("invalid");
    let found: Vec<_> = list.split("; ").collect();
    let expected = [
        "server.port: must be between 1 and 65535",
        "server.tls.cert_file: file not found: /none",
        "server.tls.key_file: required when TLS is enabled",
        "pipelines[0].name: must contain only lowercase letters, digits, hyphens, and underscores (^[a-z0-9_-]+$)",
        "pipelines[0].database.port: must be between 1 and 65535",
        "pipelines[0].database.host: required",
        "pipelines[0].database.database: required",
        "pipelines[0].database.ssl_mode: must be one of: disable, allow, prefer, require, verify-ca, verify-full",
        "pipelines[0].tables[0].text_column: required",
        "pipelines[0].tables[0].vector_column: required",
        "pipelines[0].tables[1].table: required",
        "pipelines[0].tables[1].text_column: required",
        "pipelines[0].tables[1].vector_column: required",
        "pipelines[0].embedding_llm.provider: required",
        "pipelines[0].embedding_llm.model: required",
        "pipelines[0].rag_llm.provider: must be one of: anthropic, openai, ollama, gemini (or local, for trials)",
        "pipelines[0].top_n: must be non-negative",
        "pipelines[1].database.host: required",
        "pipelines[1].database.database: required",
        "pipelines[1].tables: at least one table must be configured",
        "pipelines[1].embedding_llm.provider: required",
        "pipelines[1].embedding_llm.model: required",
        "pipelines[1].rag_llm.provider: required",
        "pipelines[1].rag_llm.model: required",
    ];
    assert_eq!(found, expected);
}
