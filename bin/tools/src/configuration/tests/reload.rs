//! Tests of the changes that a reload finds.

use crate::configuration::{Configuration, SqlCommentKind, changes::Changes, fixture::Case};

const OLD: &str = "{http: {enabled: true}, databases: [{name: a, user: u, password: one}]}";

#[test]
fn each_section_that_changed_is_named() {
    for (new, databases, need_restart) in [
        (OLD, false, &[][..]),
        (
            "{http: {enabled: false}, databases: [{name: a, user: u, password: one}]}",
            false,
            &["http.enabled"],
        ),
        (
            "{http: {enabled: true, address: ':1', tls: {enabled: true}}, databases: [{name: a, user: u, password: one}]}",
            false,
            &["http.address", "http.tls"],
        ),
        (
            "{http: {enabled: true, auth: {rate_limit_max_attempts: 9}, allowed_hosts: [a]}, databases: [{name: a, user: u, password: one}], limits: {max_connections: 9}, llm: {model: m}}",
            false,
            &["http.auth", "http.allowed_hosts", "llm", "limits"],
        ),
        (
            "{http: {enabled: true}, databases: [{name: a, user: u, password: two}]}",
            true,
            &[],
        ),
        (
            "{http: {enabled: true}, databases: [{name: a, user: u, password: one, metadata_ttl: 1s}]}",
            true,
            &[],
        ),
        (
            "{http: {enabled: true}, databases: [{name: a, user: u, password: one, available_to_users: [alice]}]}",
            true,
            &[],
        ),
        (
            "{http: {enabled: true}, databases: [{name: b, user: u}, {name: a, user: u, password: one}]}",
            true,
            &[],
        ),
        ("{http: {enabled: true}}", true, &[]),
    ] {
        // With -debug both transports tell the causes of failures.
        let running = Case::new().file(OLD).words("-debug");
        let folder = running.folder().display().to_string();
        let mut configured = Case::new().file(new).words("-debug").configuration();
        // Different folders of the program give different default paths.
        let running = running.configuration();
        configured
            .auth
            .token_file
            .clone_from(&running.auth.token_file);
        configured
            .auth
            .user_file
            .clone_from(&running.auth.user_file);
        configured.data_folder.clone_from(&running.data_folder);
        let changes = Changes::between(&running, configured);
        assert_eq!(changes.databases, databases, "{new} {folder}");
        assert_eq!(changes.need_restart, need_restart, "{new}");
    }
}

#[test]
fn a_reload_that_turns_http_off_does_not_tell_its_clients_the_causes_of_failures() {
    let case = Case::new().file(&OLD.replace("true", "false"));
    let shows_causes = |tells_causes| {
        let configuration = case.load_with(tells_causes).expect("good").value;
        configuration.databases[0].database.settings().shows_causes
    };
    assert!(shows_causes(None), "over standard input and output");
    assert!(!shows_causes(Some(false)));
}

#[test]
fn the_command_line_survives_a_reload() {
    let case = Case::new().file(OLD).words("-addr :1 -db-user root");
    let running = case.configuration();
    let case = case.file("{http: {enabled: true, address: ':2'}, databases: [{name: b, user: c}]}");
    let configured = case.configuration();
    assert_eq!(configured.databases[0].database.settings().user, "root");
    let changes = Changes::between(&running, configured);
    assert!(changes.databases);
    assert_eq!(changes.need_restart, [""; 0]);
}

#[test]
fn a_changed_limit_on_requests_needs_a_restart() {
    let of = |rate| {
        let text = format!("http: {{enabled: true, rate_limit: {rate}}}");
        Case::new().file(&text).configuration()
    };
    let running = of("5/s");
    let mut configured = of("6/s");
    configured.auth.clone_from(&running.auth);
    configured.data_folder.clone_from(&running.data_folder);
    let changes = Changes::between(&running, configured);
    assert_eq!(changes.need_restart, ["http.rate_limit"]);
}

#[test]
fn of_the_audit_trail_and_telemetry_only_files_and_addresses_need_a_restart() {
    let of = |audit: &str, telemetry: &str| {
        let text = format!("audit: {{file: /a{audit}}}\ntelemetry: {{{telemetry}}}");
        Case::new().file(&text).configuration()
    };
    let running = of("", "");
    let compare = |mut configured: Configuration| {
        configured.auth.clone_from(&running.auth);
        configured.data_folder.clone_from(&running.data_folder);
        Changes::between(&running, configured)
    };
    let all = ", required: true, statement: text, arguments: true, methods: all, fsync: always, \
               max_bytes: 5, keep: 6";
    let changes = compare(of(all, "sql_comment: trace, propagate_to_providers: true"));
    assert_eq!(changes.need_restart, [""; 0]);
    let trail = running.audit.as_ref().expect("a trail");
    let expected = of(all, "").audit.map(|it| it.in_trail_of(trail));
    assert_eq!(changes.next.audit, expected);
    assert_eq!(changes.next.sql_comment, SqlCommentKind::Trace);
    assert!(changes.next.telemetry.propagate_to_providers);
    let otlp = "metrics: {address: '127.0.0.1:1'}, otlp: {url: 'http://127.0.0.1:1/'}";
    let changes = compare(of("b, keep: 6, key_file: /key", otlp));
    let sections = [
        "audit.file",
        "audit.key_file",
        "telemetry.metrics.address",
        "telemetry.otlp",
    ];
    assert_eq!(changes.need_restart, sections);
    let trail = changes.next.audit.expect("a trail");
    assert_eq!((trail.keep, trail.key_file), (6, None));
    assert_eq!(
        Some(trail.destination),
        running.audit.clone().map(|it| it.destination)
    );
    assert!(changes.next.telemetry.otlp.is_none());
    let none = compare(Case::new().configuration());
    assert_eq!(none.need_restart, ["audit.file"]);
    assert_eq!(none.next.audit, running.audit);
}

#[test]
fn what_calls_see_needs_no_restart() {
    let running = Case::new().file(OLD).configuration();
    let new = "{http: {enabled: true}, databases: [{name: a, user: u, password: one}], builtins: \
               {tools: {count_rows: false}}, schema: {max_tokens: 900}, dba: {enabled: true}, results: {fence: true}, mcp: \
               {structured_output: true}, custom_definitions_path: own.yaml, toolsets: [{name: t, for: \
               {local: true}}], limits: {callers: [{for: {local: true}, concurrent: 4}]}}";
    let mut configured = Case::new().file(new).configuration();
    configured.auth.clone_from(&running.auth);
    configured.data_folder.clone_from(&running.data_folder);
    let changes = Changes::between(&running, configured.clone());
    assert_eq!(changes.need_restart, [""; 0]);
    let next = changes.next;
    assert_eq!(next.builtins.tools_off, ["count_rows"]);
    assert!(next.schema.max_tokens == 900 && next.dba);
    assert!(next.results.is_fenced && next.protocol.structured_output);
    assert!(next.toolsets.is_some() && next.callers != running.callers);
    assert_eq!(next.custom_definitions, configured.custom_definitions);
}
