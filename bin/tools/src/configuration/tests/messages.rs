//! Tests of error messages, as the specification fixes them.

use std::fs;

use crate::configuration::{fixture::Case, start::StartError};

fn assert_mistakes(cases: &[(&str, &str)]) {
    for (text, message) in cases {
        let error = Case::new().file(text).error();
        let expected = format!("invalid configuration: {message}");
        assert!(error.starts_with(&expected), "{text}: {error}");
    }
}

#[test]
fn each_error_of_a_database_has_its_message() {
    assert_mistakes(&[
        (
            "http: {tls: {enabled: true}}",
            "TLS requires HTTP mode to be enabled",
        ),
        (
            "databases: [{user: a}]",
            "database at index 0: name is required",
        ),
        (
            "databases: [{name: a, user: a}, {name: '', user: a}]",
            "database at index 1: name is required",
        ),
        (
            "databases: [{name: a, user: a}, {name: b, user: a}, {name: a, user: a}]",
            "duplicate database name: a",
        ),
        (
            "databases: [{name: a}]",
            "database 'a': user is required (set user, or ZIGGURAT_DB_USER or -db-user for the first one)",
        ),
        (
            "databases: [{name: a, user: a, sslcert: x}]",
            "database 'a': sslcert and sslkey must be set together",
        ),
        (
            "databases: [{name: a, user: a, sslkey: x}]",
            "database 'a': sslcert and sslkey must be set together",
        ),
        (
            "databases: [{name: a, user: a, sslmode: on}]",
            "database 'a': sslmode 'on' is none of disable, allow, prefer, require, verify-ca, verify-full",
        ),
        (
            "databases: [{name: a, user: a, host: x, hosts: [{host: y}]}]",
            "database 'a': hosts and host exclude each other",
        ),
        (
            "databases: [{name: a, user: a, hosts: [{port: 1}]}]",
            "database 'a': host is required",
        ),
        (
            "databases: [{name: a, user: a, metadata_ttl: 5}]",
            "database 'a': metadata_ttl '5' is not a duration (write 300ms, 10s, 5m or 1h30m)",
        ),
        (
            "databases: [{name: a, user: a, row_limit: 0}]",
            "database 'a': row_limit must be between 1 and",
        ),
    ]);
}

#[test]
fn each_error_of_a_list_of_hosts_has_its_message() {
    assert_mistakes(&[
        (
            "databases: [{name: a, user: a, target_session_attrs: fast}]",
            "database 'a': target_session_attrs must be any, read-write, read-only, primary, standby or prefer-standby",
        ),
        (
            "databases: [{name: a, user: a, pool_min_conns: 5}]",
            "database 'a': pool_min_conns must be pool_max_conns at most",
        ),
    ]);
}

#[test]
fn each_error_of_http_has_its_message() {
    assert_mistakes(&[
        (
            "http: {address: '8080'}",
            "http.address: '8080' has no port (write :port or host:port)",
        ),
        (
            "http: {auth: {rate_limit_max_attempts: 0}}",
            "http.auth.rate_limit_max_attempts: must be at least 1",
        ),
        (
            "http: {auth: {rate_limit_window_minutes: 0}}",
            "http.auth.rate_limit_window_minutes: must be between 1 and 527040",
        ),
        (
            "http: {client_ip: {source: header}}",
            "http.client_ip.trusted_proxies: must list the proxies, because http.client_ip.source is 'header'",
        ),
        (
            "http: {client_ip: {source: peer}}",
            "http.client_ip.source: 'peer' is neither 'socket' nor 'header'",
        ),
        (
            "http: {client_ip: {trusted_proxies: [10.1.2.3/8]}}",
            "http.client_ip.trusted_proxies: not a network: 10.1.2.3/8 (did you mean 10.0.0.0/8?)",
        ),
        (
            "http: {client_ip: {header: 'a b'}}",
            "http.client_ip.header: 'a b' is not the name of a header",
        ),
        (
            "http: {allowed_origins: ['*']}",
            "http.allowed_origins: `*` is not an origin such as `https://example.com`",
        ),
        (
            "http: {allowed_origins: ['https://a.example/path']}",
            "http.allowed_origins: `https://a.example/path` is not an origin such as `https://example.com`",
        ),
        (
            "http: {allowed_hosts: ['https://a.example']}",
            "http.allowed_hosts: `https://a.example` is not a host, with or without a port",
        ),
        (
            "http: {rate_limit: 600}",
            "http.rate_limit: not a quota: expected words like `10 per 15 minutes` or `5/s`",
        ),
        (
            "http: {rate_limit: 0 per minute}",
            "http.rate_limit: not a quota: the count must be at least 1",
        ),
    ]);
}

#[test]
fn each_error_of_built_in_things_and_the_schema_has_its_message() {
    assert_mistakes(&[
        (
            "builtins: {connection_urls: maybe}",
            "builtins.connection_urls: 'maybe' is neither auto, true nor false",
        ),
        (
            "builtins: {connection_urls: 1}",
            "builtins.connection_urls: is neither auto, true nor false",
        ),
        (
            "builtins: {connection_url_hosts: [db.example]}",
            "builtins.connection_url_hosts: needs builtins.connection_urls: true",
        ),
        (
            "schema: {max_tokens: 199}",
            "schema.max_tokens: must be between 200 and 20000",
        ),
        (
            "schema: {values_max: 101}",
            "schema.values_max: must be between 0 and 100",
        ),
        (
            "builtins: {connection_urls: true, connection_url_hosts: ['a/b']}",
            "builtins.connection_url_hosts: 'a/b' must be a host or host:port (an IPv6 address goes in brackets)",
        ),
    ]);
}

#[test]
fn each_error_of_providers_and_limits_has_its_message() {
    assert_mistakes(&[
        (
            "embedding: {provider: cohere}",
            "embedding.provider: 'cohere' is none of voyage, openai, gemini, ollama, static, local",
        ),
        (
            "llm: {provider: x}",
            "llm.provider: 'x' is none of anthropic, openai, gemini, ollama, local",
        ),
        (
            "knowledgebase: {embedding_provider: x}",
            "knowledgebase.embedding_provider: 'x' is none of voyage, openai, gemini, ollama, static, local",
        ),
        (
            "llm: {ollama_url: 'localhost:11434'}",
            "llm.ollama_url: is not an http:// or https:// URL",
        ),
        (
            "llm: {temperature: .nan}",
            "llm.temperature: must be between 0 and 2",
        ),
        ("llm: {max_tokens: 0}", "llm.max_tokens: must be at least 1"),
    ]);
}

#[test]
fn each_error_of_limits_has_its_message() {
    assert_mistakes(&[
        (
            "limits: {max_connections: 0}",
            "limits.max_connections: must be between 1 and 1000000",
        ),
        (
            "limits: {max_body_bytes: 1}",
            "limits.max_body_bytes: must be between 1024 and 1073741824",
        ),
        (
            "limits: {max_statement_bytes: 1}",
            "limits.max_statement_bytes: must be between 1024 and 1073741824",
        ),
        (
            "limits: {max_result_bytes: 1}",
            "limits.max_result_bytes: must be between 1024 and 1073741824",
        ),
        (
            "limits: {header_timeout: 0s}",
            "limits.header_timeout: must be more than 0 and at most an hour",
        ),
        (
            "limits: {body_timeout: 0s}",
            "limits.body_timeout: must be more than 0 and at most an hour",
        ),
        (
            "limits: {shutdown_grace: 2h}",
            "limits.shutdown_grace: must be at most an hour",
        ),
        (
            "limits: {shutdown_delay: 61s}",
            "limits.shutdown_delay: must be at most a minute",
        ),
        (
            "http: {auth: {min_password_length: 73}}",
            "http.auth.min_password_length: must be between 1 and 72",
        ),
        (
            "limits: {max_sessions_per_user: 0}",
            "limits.max_sessions_per_user: must be between 1 and 10000",
        ),
        (
            "limits: {max_login_workers: 0}",
            "limits.max_login_workers: must be between 1 and 1024",
        ),
    ]);
}

#[test]
fn a_valid_configuration_has_no_warnings() {
    let case = Case::new().file("\nllm: {enabled: true}\n").env(&[
        ("ZIGGURAT_MCP_LOG_LEVEL", "info"),
        ("ZIGGURAT_DB_LOG_LEVEL", "trace"),
        ("ZIGGURAT_LLM_LOG_LEVEL", "info"),
    ]);
    assert_eq!(case.warnings(), [""; 0]);
}

#[test]
fn files_for_https_without_https_are_a_warning() {
    let case = Case::new().words("-http -cert x");
    assert_eq!(
        case.warnings(),
        ["-cert, -key and -chain have no effect without -tls"]
    );
}

#[test]
fn required_files_are_looked_for_one_after_the_other() {
    let mut case = Case::new();
    let (cert, key, chain) = (case.path("c"), case.path("k"), case.path("i"));
    let tokens = case.path("t");
    let line = format!(
        "-http -tls -cert {} -key {} -chain {} -token-file {}",
        cert.display(),
        key.display(),
        chain.display(),
        tokens.display()
    );
    case = case.words(&line);
    for (path, error, message) in [
        (
            &cert,
            StartError::Certificate(cert.clone()),
            "Certificate file not found: ",
        ),
        (&key, StartError::Key(key.clone()), "Key file not found: "),
        (
            &chain,
            StartError::Chain(chain.clone()),
            "Chain file not found: ",
        ),
        (
            &tokens,
            StartError::Tokens(tokens.clone()),
            "Token file not found: ",
        ),
    ] {
        assert_eq!(case.configuration().check_files(), Err(error.clone()));
        let text = error.to_string();
        let first = text.lines().next();
        assert_eq!(first, Some(&*format!("{message}{}", path.display())));
        fs::write(path, "").expect("written");
    }
    assert_eq!(case.configuration().check_files(), Ok(()));
}

#[test]
fn a_missing_token_file_comes_with_two_hints() {
    let case = Case::new().words("-http");
    let error = case.configuration().check_files().expect_err("no tokens");
    let text = error.to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[1].contains("ziggurat-tools -add-token"), "{text}");
    assert!(lines[2].contains("-no-auth"), "{text}");
}

#[test]
fn a_public_address_without_authentication_must_be_allowed_explicitly() {
    for (file, line, is_refused) in [
        ("", "-http -no-auth", false),
        ("", "-http -no-auth -addr localhost:80", false),
        ("", "-http -no-auth -addr [::1]:80", false),
        ("", "-http -no-auth -addr :80", false),
        ("", "-http -no-auth -addr 0.0.0.0:80", true),
        ("", "-http -no-auth -addr tools.example:80", true),
        ("", "-http -no-auth=public -addr :80", false),
        ("", "-http -addr :80", false),
        ("", "-no-auth -addr :80", false),
        (
            "http: {address: ':80', auth: {enabled: false}}",
            "-http",
            false,
        ),
        (
            "http: {address: ':80', allow_public: true, auth: {enabled: false}}",
            "-http",
            false,
        ),
    ] {
        let configuration = Case::new().file(file).words(line).configuration();
        let checked = configuration.check_address();
        assert_eq!(checked.is_err(), is_refused, "{file} {line}");
    }
    let case = Case::new().words("-http -no-auth -addr 0.0.0.0:80");
    let error = case.configuration().check_address().expect_err("public");
    let text = error.to_string();
    for part in [
        "reach 0.0.0.0:80",
        "-no-auth=public",
        "http.allow_public: true",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_bare_port_without_authentication_is_for_this_machine_only() {
    for (line, address, is_told) in [
        ("-http -no-auth -addr :80", "localhost:80", true),
        ("-no-auth -addr :80", ":8080", false),
        ("-http -no-auth", "127.0.0.1:8080", false),
        ("-http -no-auth=public -addr :80", ":80", false),
        ("-http -addr :80", ":80", false),
    ] {
        let case = Case::new().words(line);
        let http = case.configuration().http.unwrap_or_default();
        assert_eq!(http.address.to_string(), address, "{line}");
        let warnings = case.warnings();
        let told = warnings
            .iter()
            .filter(|it| it.contains("-no-auth=public opens it"));
        assert_eq!(told.count(), usize::from(is_told), "{line}: {warnings:?}");
    }
}

#[test]
fn no_token_file_is_needed_without_authentication() {
    for line in ["", "-http -no-auth", "-http=false"] {
        let case = Case::new().words(line);
        assert_eq!(case.configuration().check_files(), Ok(()), "{line}");
    }
}
