//! Parsing of values.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use ziggurat_postgres::database::Password;
use ziggurat_rag_service::retrieval::{FilterColumns, Fusion, Method, TableFilter};

use super::{Case, PIPELINE};

#[test]
fn variables_may_stand_for_texts_and_numbers() {
    let case = Case::changed(&[(
        "host: db.example, database: docs",
        "host: '${DB_HOST}', port: '${DB_PORT}', password: 'a$b$${c}', database: docs",
    )]);
    let case = case.env(&[("DB_HOST", "db.internal"), ("DB_PORT", "6543")]);
    let pipeline = case.pipeline();
    let settings = pipeline.database.settings();
    assert_eq!((&*settings.host, settings.port), ("db.internal", 6543));
    let Password::Given(password) = &settings.password else {
        panic!("a password");
    };
    assert_eq!(password.expose_secret(), "a$b${c}");
}

#[test]
fn a_variable_that_is_not_set_is_the_one_problem_of_its_key() {
    let case = Case::changed(&[
        ("host: db.example", "host: '${A}', port: '${B}'"),
        ("table: documents", "table: a, filter: 'x = ''${C}'''"),
        (
            "provider: ollama",
            "provider: ollama, headers: {X-Key: '${D}'}",
        ),
    ]);
    assert_eq!(
        case.error(),
        "invalid configuration: \
         pipelines[0].database.host: environment variable not set: A; \
         pipelines[0].database.port: environment variable not set: B; \
         pipelines[0].tables[0].filter: environment variable not set: C; \
         pipelines[0].embedding_llm.headers.X-Key: environment variable not set: D"
    );
}

#[test]
fn a_value_of_the_wrong_type_is_reported_like_invalid_yaml() {
    for (old, new, reason) in [
        (
            "provider: ollama",
            "provider: ollama, request_timeout: soon",
            "invalid duration \"soon\": ",
        ),
        (
            "provider: ollama",
            "provider: ollama, request_timeout: 5",
            "invalid duration \"5\": ",
        ),
        (
            "host: db.example",
            "host: a, port: many",
            "invalid number \"many\": ",
        ),
        (
            "name: docs",
            "name: docs\n  top_n: 1.5",
            "invalid number \"1.5\": ",
        ),
        (
            "name: docs",
            "name: docs\n  allow_include_sources: perhaps",
            "invalid boolean \"perhaps\": ",
        ),
        (
            "table: documents",
            "table: a, filter: [1]",
            "filter must be a string or structured filter object",
        ),
        (
            "table: documents",
            "table: a, filter: 5",
            "filter must be a string or structured filter object",
        ),
        (
            "name: docs",
            "name: [docs]",
            "pipelines[0].name: must be a text",
        ),
        ("name: docs", "name: 'docs", ""),
    ] {
        let error = Case::changed(&[(old, new)]).error();
        let start = format!("failed to parse config file: {reason}");
        assert!(error.starts_with(&start), "{new}: {error}");
    }
    let error = Case::changed(&[("host: db.example", "host: a, port: x")]).error();
    assert!(error.ends_with(" at pipelines[0].database.port"), "{error}");
}

#[test]
fn filters_are_sql_or_conditions() {
    let filter = |text: &str| {
        let new = format!("table: a, filter: {text}");
        let case = Case::changed(&[("table: documents", &new)]);
        let case = case.env(&[("TENANT", "acme")]);
        case.pipeline().tables.remove(0).filter
    };
    for nothing in ["''", "~", "{}", "{conditions: []}"] {
        assert_eq!(filter(nothing), None, "{nothing}");
    }
    let sql = filter("\"tenant = '${TENANT}'\"").expect("a filter");
    assert!(format!("{sql:?}").contains("tenant = 'acme'"), "{sql:?}");
    assert!(matches!(sql, TableFilter::Raw(_)));
    let one = filter("{conditions: [{column: tenant, operator: '=', value: '${TENANT}'}]}");
    let same = filter("{logic: or, conditions: [{column: tenant, operator: '=', value: acme}]}");
    assert!(matches!(one, Some(TableFilter::Structured(_))));
    assert!(matches!(same, Some(TableFilter::Structured(_))));
    assert!(format!("{one:?}").contains("acme"), "{one:?}");
}

#[test]
fn filter_columns_are_the_listed_ones_or_all_or_those_in_answers() {
    let columns = |yaml: &str| {
        let case = Case::changed(&[("table: documents", &format!("table: a{yaml}"))]);
        case.pipeline().tables.remove(0).filter_columns
    };
    let listed = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        FilterColumns::Listed(names.collect())
    };
    assert_eq!(columns(""), FilterColumns::Shown);
    assert_eq!(columns(", filter_columns: []"), listed(&[]));
    let two = ", filter_columns: [lang, 'Odd Name']";
    assert_eq!(columns(two), listed(&["lang", "Odd Name"]));
    assert_eq!(columns(", filter_columns: ['*']"), FilterColumns::All);
    let empty = Case::changed(&[("table: documents", "table: a, filter_columns: ['']")]);
    assert_eq!(
        empty.error(),
        "invalid configuration: pipelines[0].tables[0].filter_columns[0]: required"
    );
}

#[test]
fn a_table_has_titles_and_addresses_if_their_columns_are_named() {
    let columns = |yaml: &str| {
        let case = Case::changed(&[("table: documents", &format!("table: a{yaml}"))]);
        let table = case.pipeline().tables.remove(0);
        (table.title, table.url)
    };
    assert_eq!(columns(""), (None, None));
    let named = (Some("head".to_owned()), Some("link".to_owned()));
    assert_eq!(columns(", title_column: head, url_column: link"), named);
}

#[test]
fn defaults_are_as_documented() {
    let configuration = Case::changed(&[]).configuration();
    let server = &configuration.server;
    assert_eq!((&*server.listen_address, server.port), ("localhost", 8080));
    assert_eq!((server.tls.as_ref(), server.cors.as_ref()), (None, None));
    assert_eq!(server.body_timeout, Duration::from_secs(30));
    assert_eq!(server.request_timeout, Duration::from_secs(50));
    assert_eq!(server.stream_idle_timeout, Duration::from_mins(1));
    assert_eq!(server.stream_max_duration, Duration::from_mins(15));
    assert_eq!(server.stream_keep_alive, None);
    assert_eq!(server.ping_timeout, Duration::from_secs(3));
    assert_eq!(server.shutdown_timeout, Duration::from_secs(30));
    assert!(!server.retrieval_error_codes);
    assert_eq!(server.max_query_bytes, 65_536);
    let pipeline = &configuration.pipelines[0];
    assert_eq!((pipeline.token_budget, pipeline.top_n), (4000, 10));
    assert_eq!((pipeline.max_tokens, pipeline.temperature), (4096, None));
    assert!(!pipeline.allow_include_sources && !pipeline.allow_debug);
    assert_eq!((pipeline.min_score, &pipeline.no_answer), (None, &None));
    assert_eq!(pipeline.rewriter, None);
    assert!(!server.openai_compatible && server.console);
    assert_eq!(
        (&*pipeline.description, &pipeline.system_prompt),
        ("", &None)
    );
    let search = pipeline.search;
    assert!(search.hybrid);
    assert_eq!(search.fusion, Fusion::default());
    assert_eq!(search.candidates, 100);
    assert_eq!((search.min_similarity, search.max_scanned), (None, 10_000));
    let model = &pipeline.completion;
    assert_eq!(model.timeouts.call, Duration::from_mins(2));
    assert_eq!(model.timeouts.attempt, None);
    let settings = pipeline.database.settings();
    assert_eq!(settings.max_connections, 10);
    assert_eq!(settings.connect_timeout, Duration::from_secs(5));
    assert_eq!(settings.lease_timeout, Duration::from_secs(5));
    assert_eq!(settings.query_timeout, Duration::from_secs(30));
    assert_eq!(settings.target_session_attrs.as_str(), "any");
    let several = Case::changed(&[("host: db.example", "hosts: [{host: a}]")]);
    let pipeline = several.pipeline();
    let settings = pipeline.database.settings();
    assert_eq!(settings.target_session_attrs.as_str(), "prefer-standby");
}

#[test]
fn fusion_has_a_method_and_two_weights() {
    let fusion = |search: &str| {
        let new = format!("name: docs\n  search: {search}");
        Case::changed(&[("name: docs", &new)])
            .pipeline()
            .search
            .fusion
    };
    let (rrf, sum) = (Method::ReciprocalRank(60.0), Method::WeightedSum);
    for (search, method, weight) in [
        ("{}", sum, 0.48),
        ("{vector_weight: 0.7}", sum, 0.7),
        ("{fusion: {vector: 0.7}}", sum, 0.7),
        ("{fusion: {keyword: 0.25}}", sum, 0.75),
        ("{fusion: {vector: 0.9, keyword: 0.3}}", sum, 0.75),
        ("{fusion: {method: rrf}}", rrf, 0.5),
        ("{fusion: {k: 20}}", Method::ReciprocalRank(20.0), 0.5),
        (
            "{fusion: {method: rrf, k: 10}, vector_weight: 0}",
            Method::ReciprocalRank(10.0),
            0.0,
        ),
        (
            "{fusion: {method: weighted, vector: 1}}",
            Method::WeightedSum,
            1.0,
        ),
    ] {
        let fusion = fusion(search);
        assert_eq!(fusion.method, method, "{search}");
        assert!((fusion.vector_weight - weight).abs() < 1e-9, "{search}");
    }
}

#[test]
fn vectors_of_the_server_itself_weigh_less_unless_a_weight_is_set() {
    let weight = |search: &str| {
        let new = format!("name: docs\n  search: {search}");
        let case = Case::changed(&[
            ("name: docs", &new),
            ("{provider: ollama, model: nomic}", "{provider: local}"),
        ]);
        case.pipeline().search.fusion.vector_weight
    };
    assert!((weight("{}") - 0.2).abs() < 1e-9);
    assert!((weight("{vector_weight: 0.5}") - 0.5).abs() < 1e-9);
    assert!((weight("{fusion: {keyword: 0.1}}") - 0.9).abs() < 1e-9);
}

#[test]
fn settings_of_answers_are_read() {
    let read = |yaml: &str| {
        let case = Case::changed(&[("name: docs", &format!("name: docs\n  {yaml}"))]);
        case.pipeline()
    };
    let pipeline = read("allow_debug: true\n  min_score: 0.6\n  no_answer: Ask Ann.");
    assert!(pipeline.allow_debug);
    assert_eq!(pipeline.min_score, Some(0.6));
    assert_eq!(pipeline.no_answer.as_deref(), Some("Ask Ann."));
    for (yaml, rewriter) in [
        ("query_rewrite: {enabled: true}", Some("")),
        (
            "query_rewrite: {enabled: true, model: small}",
            Some("small"),
        ),
        ("query_rewrite: {model: small}", None),
    ] {
        assert_eq!(read(yaml).rewriter.as_deref(), rewriter, "{yaml}");
    }
    let server = Case::changed(&[(
        "pipelines:",
        "server: {openai_compatible: true}\npipelines:",
    )]);
    assert!(server.configuration().server.openai_compatible);
}

#[test]
fn settings_of_the_server_are_read() {
    let text = "server:
  listen_address: '[::1]'
  port: 1234
  cors: {enabled: true, allowed_origins: ['https://a.example', '*']}
  body_timeout: 20s
  request_timeout: 1m30s
  stream_keep_alive: 15s
  shutdown_timeout: 0s
  retrieval_error_codes: true
  max_query_bytes: 1048576
  console: false
";
    let server = Case::new(&format!("{text}pipelines:{PIPELINE}"));
    let server = server.configuration().server;
    assert_eq!((&*server.listen_address, server.port), ("::1", 1234));
    let origins = server.cors.as_deref().expect("on");
    assert_eq!(origins, ["https://a.example", "*"]);
    assert_eq!(server.body_timeout, Duration::from_secs(20));
    assert_eq!(server.request_timeout, Duration::from_secs(90));
    assert_eq!(server.stream_keep_alive, Some(Duration::from_secs(15)));
    assert_eq!(server.shutdown_timeout, Duration::ZERO);
    assert!(server.retrieval_error_codes && !server.console);
    assert_eq!(server.max_query_bytes, 1_048_576);
    let default = Case::changed(&[]).configuration().server;
    assert_eq!(
        server.differences(&default),
        [
            "listen_address",
            "port",
            "cors",
            "body_timeout",
            "request_timeout",
            "stream_keep_alive",
            "shutdown_timeout",
            "retrieval_error_codes",
            "max_query_bytes",
            "console"
        ]
    );
    assert_eq!(server.differences(&server), [""; 0]);
}

#[test]
fn the_user_and_the_password_may_come_from_the_environment() {
    let no_user = [("username: reader", "username: ''")];
    for (variables, user) in [
        (&[("PGUSER", "pg"), ("USER", "me")][..], "pg"),
        (&[("USER", "me")], "me"),
    ] {
        let pipeline = Case::changed(&no_user).env(variables).pipeline();
        assert_eq!(pipeline.database.settings().user, user);
    }
    let named = Case::changed(&[]).env(&[("PGUSER", "pg"), ("PGPASSWORD", "swordfish")]);
    let pipeline = named.pipeline();
    let settings = pipeline.database.settings();
    assert_eq!(settings.user, "reader");
    assert!(
        matches!(&settings.password, Password::Given(text) if text.expose_secret() == "swordfish")
    );
    let pipeline = Case::changed(&[]).pipeline();
    assert!(matches!(
        pipeline.database.settings().password,
        Password::PasswordFile
    ));
}

#[test]
fn debug_output_hides_all_secrets() {
    let case = Case::changed(&[
        ("username: reader", "username: reader, password: swordfish1"),
        (
            "provider: ollama",
            "provider: ollama, headers: {X-Key: swordfish2}",
        ),
    ]);
    let shown = format!("{:?}", case.load().expect("good"));
    assert!(!shown.contains("swordfish"), "{shown}");
}
