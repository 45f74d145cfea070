//! Tests of the precedence of command line, environment, file and default, for each field.

use ziggurat_llm::Provider::{Ollama, OpenAi};
use ziggurat_runtime::Secret;

use crate::configuration::{Configuration, fixture::Case};

type Show = fn(&Configuration) -> String;

/// Setting with its default, its form in a file, in the environment and on the command line, and a
/// function that reads it.
struct Setting {
    default: &'static str,
    file: (&'static str, &'static str),
    variable: (&'static str, &'static str),
    flag: Option<(&'static str, &'static str)>,
    show: Show,
}

fn check(setting: &Setting) {
    let (file, variable) = (setting.file, setting.variable);
    let show = |case: &Case| (setting.show)(&case.configuration());
    let case = || Case::new().file(file.0);
    let name = variable.0;
    assert_eq!(show(&Case::new()), setting.default, "{name}: default");
    assert_eq!(show(&case()), file.1, "{name}: file");
    let (key, value) = name.split_once('=').expect("a value");
    let with_env = || case().env(&[(key, value)]);
    assert_eq!(show(&with_env()), variable.1, "{name}: environment");
    // An empty variable counts as unset.
    assert_eq!(show(&case().env(&[(key, "")])), file.1, "{name}: empty");
    if let Some((flag, expected)) = setting.flag {
        assert_eq!(show(&with_env().words(flag)), expected, "{name}: flag");
    }
}

const HTTP: &str = "http: {enabled: true, ";

#[test]
#[expect(clippy::too_many_lines, reason = "a table of settings")]
fn settings_of_http_and_authentication() {
    let settings = [
        Setting {
            default: "false",
            file: ("http: {enabled: true}", "true"),
            variable: ("ZIGGURAT_HTTP_ENABLED=no", "false"),
            flag: Some(("-http", "true")),
            show: |c| c.http.is_some().to_string(),
        },
        Setting {
            default: "true",
            file: ("http: {auth: {enabled: false}}", "false"),
            variable: ("ZIGGURAT_AUTH_ENABLED=yes", "true"),
            flag: Some(("-no-auth", "false")),
            show: |c| c.auth.is_enabled.to_string(),
        },
        Setting {
            default: ":8080 false",
            file: (
                "http: {enabled: true, auth: {enabled: false}}",
                "127.0.0.1:8080 false",
            ),
            variable: ("ZIGGURAT_HTTP_ALLOW_PUBLIC=true", ":8080 true"),
            flag: Some(("-no-auth=public", ":8080 true")),
            show: |c| {
                let http = c.http.as_ref();
                http.map_or_else(
                    || ":8080 false".to_owned(),
                    |http| format!("{} {}", http.address, http.allow_public),
                )
            },
        },
        Setting {
            default: "ziggurat-tools-tokens.yaml",
            file: ("http: {auth: {token_file: /f}}", "f"),
            variable: ("ZIGGURAT_AUTH_TOKEN_FILE=/e", "e"),
            flag: Some(("-token-file /c", "c")),
            show: |c| last(&c.auth.token_file),
        },
        Setting {
            default: "ziggurat-tools-users.yaml",
            file: ("http: {auth: {user_file: /f}}", "f"),
            variable: ("ZIGGURAT_AUTH_USER_FILE=/e", "e"),
            flag: Some(("-user-file /c", "c")),
            show: |c| last(&c.auth.user_file),
        },
        Setting {
            default: "None",
            file: (
                "http: {auth: {max_failed_attempts_before_lockout: 3}}",
                "Some(3)",
            ),
            variable: (
                "ZIGGURAT_AUTH_MAX_FAILED_ATTEMPTS_BEFORE_LOCKOUT=4",
                "Some(4)",
            ),
            flag: None,
            show: |c| format!("{:?}", c.auth.lockout),
        },
        Setting {
            default: "12",
            file: ("http: {auth: {min_password_length: 3}}", "3"),
            variable: ("ZIGGURAT_AUTH_MIN_PASSWORD_LENGTH=4", "4"),
            flag: None,
            show: |c| c.auth.min_password_length.to_string(),
        },
        Setting {
            default: "900s",
            file: ("http: {auth: {rate_limit_window_minutes: 1}}", "60s"),
            variable: ("ZIGGURAT_AUTH_RATE_LIMIT_WINDOW_MINUTES=2", "120s"),
            flag: None,
            show: |c| format!("{:?}", c.auth.window),
        },
        Setting {
            default: "10",
            file: ("http: {auth: {rate_limit_max_attempts: 1}}", "1"),
            variable: ("ZIGGURAT_AUTH_RATE_LIMIT_MAX_ATTEMPTS=2", "2"),
            flag: None,
            show: |c| c.auth.max_attempts.to_string(),
        },
    ];
    settings.iter().for_each(check);
}

#[test]
fn settings_that_show_with_http_only() {
    for (key, variable, flag, expected) in [
        (
            "address: ':1'",
            "ZIGGURAT_HTTP_ADDRESS",
            "-addr",
            [":1", ":2", ":3"],
        ),
        (
            "tls: {enabled: true, cert_file: f}",
            "ZIGGURAT_TLS_CERT_FILE",
            "-cert",
            ["f", "e", "c"],
        ),
        (
            "tls: {enabled: true, key_file: f}",
            "ZIGGURAT_TLS_KEY_FILE",
            "-key",
            ["f", "e", "c"],
        ),
        (
            "tls: {enabled: true, chain_file: f}",
            "ZIGGURAT_TLS_CHAIN_FILE",
            "-chain",
            ["f", "e", "c"],
        ),
    ] {
        let case = || Case::new().file(&format!("{HTTP}{key}}}"));
        let [file, environment, line] = expected;
        let env = || case().env(&[(variable, environment)]);
        for (case, expected) in [
            (case(), file),
            (env(), environment),
            (env().words(&format!("-http {flag} {line}")), line),
        ] {
            let text = format!("{:?}", case.configuration().http);
            let http = case.configuration().http.expect("HTTP");
            let address = http.address.to_string();
            let is_there = address == expected || text.contains(&format!("{expected:?}"));
            assert!(is_there, "{variable} {expected}: {text}");
        }
    }
}

#[test]
fn https_can_be_switched_off_again() {
    let on = || Case::new().file("http: {enabled: true, tls: {enabled: true}}");
    let tls = |case: Case| case.configuration().http.expect("HTTP").tls.is_some();
    assert!(tls(on()));
    assert!(!tls(on().env(&[("ZIGGURAT_TLS_ENABLED", "false")])));
    assert!(!tls(on().words("-tls=false")));
    assert!(tls(on()
        .env(&[("ZIGGURAT_TLS_ENABLED", "false")])
        .words("-http -tls")));
    assert!(tls(on().words("-tls=false -http -tls")));
}

#[test]
fn settings_of_providers() {
    let settings = [
        Setting {
            default: "ollama",
            file: ("embedding: {provider: voyage}", "voyage"),
            variable: ("ZIGGURAT_EMBEDDING_PROVIDER=openai", "openai"),
            flag: None,
            show: |c| c.embedding.vectors.provider.name().to_owned(),
        },
        Setting {
            default: "http://localhost:11434 http://localhost:11434",
            file: (
                "{embedding: {ollama_url: 'http://a'}, llm: {ollama_url: 'http://b/'}}",
                "http://a http://b",
            ),
            variable: ("ZIGGURAT_OLLAMA_URL=https://c", "https://c https://c"),
            flag: None,
            show: |c| {
                let [a, b] = [&c.embedding.vectors.access, &c.llm.access];
                format!("{} {}", a.urls[&Ollama], b.urls[&Ollama])
            },
        },
        Setting {
            default: "None",
            file: (
                "embedding: {openai_base_url: 'http://a'}",
                "Some(\"http://a\")",
            ),
            variable: (
                "ZIGGURAT_OPENAI_EMBEDDING_BASE_URL=http://b",
                "Some(\"http://b\")",
            ),
            flag: None,
            show: |c| format!("{:?}", c.embedding.vectors.access.urls.get(&OpenAi)),
        },
    ];
    settings.iter().for_each(check);
}

#[test]
fn settings_of_the_language_model_and_the_documentation() {
    let settings = [
        Setting {
            default: "claude-sonnet-4-5 None",
            file: ("llm: {model: m, max_tokens: 5}", "m Some(5)"),
            variable: ("ZIGGURAT_LLM_MAX_TOKENS=6", "m Some(6)"),
            flag: None,
            show: |c| format!("{} {:?}", c.llm.model, c.llm.max_tokens),
        },
        Setting {
            default: "None",
            file: ("llm: {temperature: 0.5}", "Some(0.5)"),
            variable: ("ZIGGURAT_LLM_TEMPERATURE=0.25", "Some(0.25)"),
            flag: None,
            show: |c| format!("{:?}", c.llm.temperature),
        },
        Setting {
            default: "None",
            file: ("llm: {openai_api_key: f}", "Some(\"f\")"),
            variable: ("OPENAI_API_KEY=e", "Some(\"e\")"),
            flag: None,
            show: |c| format!("{:?}", c.llm.access.keys.get(&OpenAi).map(Secret::expose)),
        },
        Setting {
            default: "None",
            file: ("knowledgebase: {database_path: /f}", "Some(\"/f\")"),
            variable: ("ZIGGURAT_KB_DATABASE_PATH=/e", "Some(\"/e\")"),
            flag: None,
            show: |c| format!("{:?}", c.knowledgebase.database_path),
        },
    ];
    settings.iter().for_each(check);
}

#[test]
fn settings_of_folders_and_built_in_things() {
    let settings = [
        Setting {
            default: "data",
            file: ("data_dir: /f", "f"),
            variable: ("ZIGGURAT_DATA_DIR=/e", "e"),
            flag: Some(("-data-dir /d", "d")),
            show: |c| last(&c.data_folder),
        },
        Setting {
            default: "[] [] [] Configured",
            file: (
                "builtins: {tools: {count_rows: false}, resources: {system_info: false}, connection_urls: false}",
                r#"["count_rows"] ["pg://system_info"] [] Off"#,
            ),
            variable: (
                "ZIGGURAT_BUILTIN_TOOL_COUNT_ROWS=true",
                r#"[] ["pg://system_info"] [] Off"#,
            ),
            flag: None,
            show: |c| {
                let b = &c.builtins;
                let lists = (&b.tools_off, &b.resources_off, &b.prompts_off);
                format!(
                    "{:?} {:?} {:?} {:?}",
                    lists.0, lists.1, lists.2, b.connection_urls
                )
            },
        },
    ];
    settings.iter().for_each(check);
}

#[test]
fn settings_come_from_different_places_at_once() {
    let case = Case::new()
        .file("http: {enabled: true, address: ':1', auth: {rate_limit_max_attempts: 3}}")
        .env(&[
            ("ZIGGURAT_HTTP_ADDRESS", ":2"),
            ("ZIGGURAT_AUTH_RATE_LIMIT_WINDOW_MINUTES", "many"),
            ("ZIGGURAT_BUILTIN_PROMPT_DESIGN_SCHEMA", "false"),
        ])
        .words("-no-auth -debug");
    let configuration = case.configuration();
    let http = configuration.http.expect("HTTP");
    assert_eq!(http.address.to_string(), "localhost:2");
    assert_eq!(configuration.auth.max_attempts.get(), 3);
    assert_eq!(configuration.auth.window.as_secs(), 900);
    assert!(!configuration.auth.is_enabled);
    assert!(configuration.debug);
    assert_eq!(configuration.builtins.prompts_off, ["design-schema"]);
}

#[test]
fn a_tilde_is_the_home_of_the_user() {
    let case = Case::new()
        .file("{data_dir: ~/data, secret_file: ~other/x, http: {auth: {user_file: '~'}}}")
        .env(&[("HOME", "/home/me")]);
    let configuration = case.configuration();
    assert_eq!(
        configuration.data_folder,
        std::path::Path::new("/home/me/data")
    );
    assert_eq!(
        configuration.auth.user_file,
        std::path::Path::new("/home/me")
    );
    let other = configuration.secret_file.expect("a path");
    assert_eq!(other, std::path::Path::new("~other/x"));
}

fn last(path: &std::path::Path) -> String {
    let name = path.file_name().expect("a name");
    name.display().to_string()
}
