//! Tests of the commented example configuration.

use ziggurat_runtime::config;

use crate::{
    arguments::Overrides,
    configuration::{fixture::Case, read},
};

const EXAMPLE: &str = include_str!("../../../ziggurat-tools.example.yaml");

/// Returns the example with its database uncommented.
fn with_a_database() -> String {
    let mut text = String::new();
    for line in EXAMPLE.lines() {
        let entry = line
            .strip_prefix('#')
            .filter(|rest| rest.starts_with("  - name") || rest.starts_with("    "));
        match (line, entry) {
            ("databases: []", _) => text.push_str("databases:"),
            (_, Some(entry)) => text.push_str(entry),
            (line, None) => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_example_shows_the_defaults() {
    let case = Case::new().file(EXAMPLE);
    assert_eq!(case.warnings(), [""; 0]);
    let mut without = Case::new();
    let expected = format!("{:#?}", without.configuration());
    let expected = expected.replace(&without.folder().display().to_string(), "");
    let found = format!("{:#?}", case.configuration());
    let found = found.replace(&case.folder().display().to_string(), "");
    assert_eq!(found, expected);

    // The same with HTTP, which hides its settings while it is off.
    let with_http = EXAMPLE.replacen("enabled: false", "enabled: true", 1);
    let case = Case::new().file(&with_http);
    without = without.words("-http");
    assert_eq!(case.configuration().http, without.configuration().http);
}

#[test]
fn the_database_of_the_example_has_the_default_settings() {
    let case = Case::new().file(&with_a_database());
    assert_eq!(case.warnings(), [""; 0]);
    let expected = Case::new().file("databases: [{name: main, user: reader, port: 5432}]");
    assert_eq!(
        format!("{:#?}", case.configuration().databases),
        format!("{:#?}", expected.configuration().databases)
    );
}

#[test]
fn the_example_names_every_key() {
    let text = with_a_database();
    for path in config::keys_of(|file| read(file, &Overrides::default())) {
        // The example names the keys of a host in a comment, on one line.
        if path.starts_with("databases[].hosts[]") {
            continue;
        }
        let key = path.rsplit('.').next().expect("a key");
        let is_there = text.lines().any(|line| {
            let line = line.trim_start_matches([' ', '-', '#']);
            line.starts_with(&format!("{key}:"))
        });
        assert!(is_there, "{path}");
    }
}

#[test]
fn the_example_names_every_variable() {
    for name in [
        "ZIGGURAT_HTTP_ENABLED",
        "ZIGGURAT_TLS_CHAIN_FILE",
        "ZIGGURAT_AUTH_RATE_LIMIT_MAX_ATTEMPTS",
        "ZIGGURAT_DB_SSLROOTCERT",
        "ZIGGURAT_OPENAI_EMBEDDING_BASE_URL",
        "ZIGGURAT_KB_OLLAMA_URL",
        "ZIGGURAT_DATA_DIR",
    ] {
        assert!(EXAMPLE.contains(name), "{name}");
    }
}
