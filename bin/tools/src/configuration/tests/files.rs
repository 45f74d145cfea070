//! Tests of the choice of the file, and of unusual files.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::configuration::fixture::Case;

#[test]
fn without_any_file_there_are_defaults_and_no_warnings() {
    let loaded = Case::new().load().expect("defaults");
    assert!(loaded.path.ends_with("binary/ziggurat-tools.yaml"));
    assert_eq!(loaded.warnings, [""; 0]);
    let configuration = loaded.value;
    assert!(configuration.http.is_none());
    assert!(configuration.auth.is_enabled);
    assert!(configuration.databases.is_empty());
    let token_file = &configuration.auth.token_file;
    assert!(token_file.ends_with("binary/ziggurat-tools-tokens.yaml"));
    let user_file = &configuration.auth.user_file;
    assert!(user_file.ends_with("binary/ziggurat-tools-users.yaml"));
    assert!(configuration.data_folder.ends_with("binary/data"));
}

#[test]
fn account_files_are_next_to_the_program_or_where_they_were_with_a_warning() {
    for (name, key) in [
        ("ziggurat-tools-tokens.yaml", "http.auth.token_file"),
        ("ziggurat-tools-users.yaml", "http.auth.user_file"),
    ] {
        let case = Case::new();
        let found = || {
            let auth = case.configuration().auth;
            [auth.token_file, auth.user_file]
        };
        let place = case.path("binary").join(name);
        assert!(found().contains(&place));
        let older = case.path("binary/data").join(name);
        fs::create_dir(case.path("binary/data")).expect("created");
        fs::write(&older, "").expect("written");
        assert!(found().contains(&older), "it is still read");
        let told = format!(
            "binary/data/{name} is read, and belongs to binary/{name}: move it, or set {key}"
        );
        assert_eq!(case.warnings(), [told]);
        fs::write(&place, "").expect("written");
        let both = format!(
            "{key}: there are binary/data/{name} and binary/{name}: remove one of them, or set \
             {key}"
        );
        assert_eq!(case.problems(), [both]);
        fs::remove_file(&older).expect("removed");
        assert!(found().contains(&place));
        assert_eq!(case.warnings(), [""; 0]);
    }
}

#[test]
fn a_named_data_folder_has_the_account_files_or_they_are_where_they_were() {
    let tokens = "ziggurat-tools-tokens.yaml";
    let case = Case::new();
    let data = case.path("state");
    let case = case.file(&format!("data_dir: {}", data.display()));
    let found = || case.configuration().auth.token_file;
    assert_eq!(found(), data.join(tokens));
    assert_eq!(case.warnings(), [""; 0]);

    let older = case.path("binary").join(tokens);
    fs::write(&older, "tokens: []").expect("written");
    assert_eq!(found(), older, "it is still read");
    let key = "http.auth.token_file";
    let moved =
        format!("binary/{tokens} is read, and belongs to state/{tokens}: move it, or set {key}");
    assert_eq!(case.warnings(), [moved]);

    fs::create_dir(&data).expect("created");
    fs::write(data.join(tokens), "tokens: []").expect("written");
    assert_eq!(found(), data.join(tokens));
    let both = format!(
        "binary/{tokens} is not read, because there is state/{tokens}; remove one of them, or set \
         {key}"
    );
    assert_eq!(case.warnings(), [both]);
    let named = case.words("-token-file /named.yaml");
    assert_eq!(
        named.configuration().auth.token_file,
        Path::new("/named.yaml")
    );
    assert_eq!(named.warnings(), [""; 0]);
}

#[test]
fn the_file_of_the_system_comes_before_the_one_next_to_the_program() {
    let case = Case::new();
    for (folder, rows) in [("binary", 1), ("system", 2)] {
        fs::create_dir_all(case.path(folder)).expect("created");
        let text = format!("databases: [{{name: a, user: b, row_limit: {rows}}}]");
        fs::write(case.path(folder).join("ziggurat-tools.yaml"), text).expect("written");
        let loaded = case.load().expect("good");
        assert!(loaded.path.starts_with(case.path(folder)));
        assert_eq!(
            loaded.value.databases[0].database.settings().row_limit,
            rows
        );
    }
}

#[test]
fn a_file_named_with_config_must_exist_and_be_yaml() {
    let case = Case::new();
    let missing = case.path("missing.yaml");
    let case = case.words(&format!("-config {}", missing.display()));
    assert_eq!(
        case.error(),
        "failed to load config file missing.yaml: there is no such file"
    );

    for (text, reason) in [
        ("http: [", "did not find expected node content"),
        ("http: {address: [1]}", "http.address: must be a text"),
        (
            "http:\n  enabled: maybe",
            "http.enabled: must be true or false",
        ),
        ("- a", "the file: must be a section with keys"),
        ("just words", "the file: must be a section with keys"),
        (
            "databases: [{port: many, hosts: x}]",
            "databases[0].port: must be a whole number from 0 to 65535; databases[0].hosts: must be \
             a list",
        ),
        (
            "databases: [{port: 65536}]",
            "databases[0].port: must be a whole number from 0 to 65535",
        ),
        ("http: {}\nhttp: {}", "duplicate"),
        ("a: 1\n---\nb: 2", "more than one document"),
    ] {
        let error = Case::new().file(text).error();
        assert!(
            error.starts_with("failed to load config file test.yaml: "),
            "{error}"
        );
        assert!(error.contains(reason), "{text:?}: {error}");
    }
}

#[test]
fn a_default_file_that_is_broken_is_not_skipped() {
    let case = Case::new();
    for folder in ["binary", "system"] {
        fs::create_dir_all(case.path(folder)).expect("created");
        fs::write(case.path(folder).join("ziggurat-tools.yaml"), "http: [").expect("written");
        let error = case.error();
        let start = format!("failed to load config file {folder}/ziggurat-tools.yaml: ");
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn empty_files_and_sections_have_no_effect() {
    for text in [
        "",
        "\n",
        "# only a comment\n",
        "~",
        "---\n",
        "{}",
        "http:\n",
        "http:\n  auth:\n",
        "databases:\n",
    ] {
        let case = Case::new().file(text);
        assert_eq!(case.warnings(), [""; 0], "{text:?}");
        let configuration = case.configuration();
        assert!(configuration.auth.is_enabled, "{text:?}");
    }
}

#[test]
fn a_boolean_that_is_left_out_keeps_its_default() {
    let text = "http: {enabled: true, auth: {token_file: t}}\ndatabases: [{name: a, user: b}]";
    let configuration = Case::new().file(text).configuration();
    assert!(configuration.auth.is_enabled);
    assert!(!configuration.databases[0].database.settings().allow_writes);
    let configuration = Case::new()
        .file("http: {auth: {enabled: false}}")
        .configuration();
    assert!(!configuration.auth.is_enabled);
}

#[test]
fn unknown_keys_are_errors_that_suggest_similar_keys() {
    let text = "
http:
  adress: ':1'
  auth: {token_flie: x, nonsense: {address: 1, deeper: [2]}}
databases:
  - {name: a, user: b}
  - {name: b, user: b, hots: c, allow_write: true}
htpp: {}
query_timeout: 1s
zebra: 1
";
    let case = Case::new().file(text);
    assert_eq!(
        case.problems(),
        [
            "unknown key 'http.adress' in test.yaml (did you mean 'http.address'?)",
            "unknown key 'http.auth.token_flie' in test.yaml (did you mean 'http.auth.token_file'?)",
            "unknown key 'http.auth.nonsense' in test.yaml",
            "unknown key 'databases[1].hots' in test.yaml (did you mean 'databases[1].host'?)",
            "unknown key 'databases[1].allow_write' in test.yaml (did you mean 'databases[1].allow_writes'?)",
            "unknown key 'htpp' in test.yaml (did you mean 'http'?)",
            "unknown key 'query_timeout' in test.yaml (did you mean 'databases[].query_timeout'?)",
            "unknown key 'zebra' in test.yaml",
        ]
    );
}

#[test]
fn a_misspelt_required_key_and_the_missing_key_are_both_reported() {
    let case = Case::new().file("databases: [{name: a, usr: b, sslmod: require}]\nlimts: {}");
    let problems = case.problems();
    assert_eq!(
        problems[..3],
        [
            "unknown key 'databases[0].usr' in test.yaml (did you mean 'databases[0].user'?)",
            "unknown key 'databases[0].sslmod' in test.yaml (did you mean 'databases[0].sslmode'?)",
            "unknown key 'limts' in test.yaml (did you mean 'limits'?)",
        ]
    );
    assert!(problems[3].starts_with("database 'a': user is required "));
}

#[test]
fn every_invalid_section_is_reported() {
    let case = Case::new().file(
        "{http: {address: '8080'}, llm: {provider: x}, log: {level: loud, format: xml},
          databases: [{name: a}, {user: b}, {name: c, user: d, sslmode: on}]}",
    );
    let problems = case.problems();
    let starts = [
        "http.address: ",
        "database 'a': user is required",
        "database at index 1: name is required",
        "database 'c': sslmode 'on' is none of",
        "llm.provider: ",
        "log.level: is none of",
        "log.format: is none of",
    ];
    assert_eq!(problems.len(), starts.len(), "{problems:?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}");
    }
}

#[test]
fn keys_of_the_reference_implementation_are_warnings() {
    let case = Case::new()
        .file("trace_file: t\ndatabases: [{name: a, user: b, pool_health_check_period: 1m}]");
    assert_eq!(
        case.warnings(),
        [
            "the key 'trace_file' in test.yaml has no effect here",
            "the key 'databases[0].pool_health_check_period' in test.yaml has no effect here"
        ]
    );
}

#[test]
fn a_file_of_unknown_keys_does_not_flood_the_log() {
    let mut text = String::new();
    for number in 0..1000 {
        let _ = writeln!(text, "strange{number}: 1");
    }
    let problems = Case::new().file(&text).problems();
    assert_eq!(problems.len(), 21);
    assert_eq!(problems[20], "980 more unknown keys in test.yaml");
}

#[test]
fn a_key_cannot_forge_lines_of_the_log() {
    let problems = Case::new().file("\"a\\nERROR: b\": 1").problems();
    assert_eq!(problems, ["unknown key 'a\\nERROR: b' in test.yaml"]);
}

/// YAML with nine levels of ten aliases each.
fn bomb(key: &str) -> String {
    let mut text = String::from("l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let below = format!("*l{}", level - 1);
        let list = [below.as_str(); 10].join(", ");
        let _ = writeln!(text, "l{level}: &l{level} [{list}]");
    }
    let _ = writeln!(text, "{key}: *l9");
    text
}

#[test]
fn aliases_that_expand_too_far_are_refused_fast() {
    // Padding raises the limit of the library, which grows with the document.
    let padding = vec!["x"; 200_000].join(",");
    let names = vec!["*n"; 20_000].join(",");
    let entries = vec!["*e"; 2000].join(",");
    let long = "y".repeat(500_000);
    for text in [
        bomb("databases"),
        format!("pad: [{padding}]\n{}", bomb("zebra")),
        format!("pad: [{padding}]\n{}", bomb("databases")),
        // One long text, many times, in a list of texts.
        format!("n: &n {long}\ndatabases: [{{name: a, user: b, available_to_users: [{names}]}}]"),
        // One long entry, many times.
        format!("e: &e {{name: a, user: b, zebra: [{padding}]}}\ndatabases: [{entries}]"),
    ] {
        assert!(text.len() < 1 << 20, "the cap comes first");
        let start = Instant::now();
        let error = Case::new().file(&text).error();
        // Far longer than needed, far shorter than without the limit.
        assert!(start.elapsed() < Duration::from_mins(1), "{error}");
        assert!(
            error.contains("aliases expand to more") || error.contains("repetition limit"),
            "{error}"
        );
    }
}

#[test]
fn ordinary_aliases_are_fine() {
    let text = "
databases:
  - {name: a, user: &user reader, available_to_users: &users [alice, bob]}
  - {name: b, user: *user, available_to_users: *users}
";
    let case = Case::new().file(text);
    assert_eq!(case.warnings(), [""; 0]);
    let second = &case.configuration().databases[1];
    assert_eq!(second.database.settings().user, "reader");
    assert_eq!(second.users, ["alice", "bob"]);
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let text = format!("# {}", "x".repeat(1 << 20));
    assert_eq!(
        Case::new().file(&text).error(),
        "failed to load config file test.yaml: it is larger than 1 MiB"
    );
}

#[test]
fn deep_nesting_is_refused() {
    let text = format!("zebra: {}", "[".repeat(10_000));
    let error = Case::new().file(&text).error();
    assert!(
        error.starts_with("failed to load config file test.yaml: "),
        "{error}"
    );
}

#[test]
fn a_number_is_accepted_where_a_text_is_expected() {
    let text = "databases: [{name: 1, user: 007, password: 0123, query_timeout: 0}]";
    let configuration = Case::new().file(text).configuration();
    let settings = configuration.databases[0].database.settings();
    assert_eq!(settings.name, "1");
    assert_eq!(settings.user, "007");
    assert_eq!(settings.query_timeout, Duration::ZERO);
}
