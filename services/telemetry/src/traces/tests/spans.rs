//! Tests of spans as a collector gets them.

use opentelemetry_proto::tonic::trace::v1::{span::SpanKind, status::StatusCode};

use super::*;

fn id_of(parent: Option<TraceParent>) -> String {
    parent.expect("on").span_id.to_string()
}

/// Exports a call with a statement and a request to a provider, and returns the ids of their spans.
fn exported_call() -> (ExportTraceServiceRequest, [String; 3]) {
    let mut ids = Default::default();
    let export = exported(everything(), |tracer| {
        let incoming = Incoming::default().with_meta(Some(SENT), Some("a=1"));
        let mut call = tracer.begin("tools/call", incoming, true);
        call.set_tool("query_database");
        call.set_mcp("2026-07-28", Some("4711"));
        call.set_transport(Transport::Tcp);
        let trace = call.trace().clone();
        let statement = trace.statement("shop", "  select 'secret' FROM t");
        let provider = trace.provider("openai");
        ids = [
            id_of(statement.traceparent()),
            id_of(provider.sent().map(|(parent, _)| parent)),
            id_of(trace.traceparent()),
        ];
        drop((statement, provider));
        call.set_database("shop");
        call.set_rows(11);
        call.set_rows(12);
        call.set_verdict("ok");
    });
    (export, ids)
}

#[test]
fn the_spans_of_a_statement_and_a_provider_are_below_that_of_the_call() {
    let (export, ids) = exported_call();
    let [statement, provider, call] = spans(&export) else {
        panic!("three spans: {export:?}");
    };
    for (span, id) in [statement, provider, call].into_iter().zip(&ids) {
        assert_eq!(hex(&span.trace_id), TRACE);
        assert_eq!(hex(&span.span_id), *id);
        assert_eq!(span.trace_state, "a=1");
        assert_eq!(span.status, None);
        assert!(span.links.is_empty());
    }
    assert_eq!(hex(&call.parent_span_id), SENT[36..52]);
    assert_eq!(hex(&statement.parent_span_id), ids[2]);
    assert_eq!(hex(&provider.parent_span_id), ids[2]);
}

#[test]
fn a_span_has_the_name_the_kind_and_the_attributes_of_its_type() {
    let (export, _) = exported_call();
    let call = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "query_database"),
        ("jsonrpc.request.id", "4711"),
        ("mcp.method.name", "tools/call"),
        ("mcp.protocol.version", "2026-07-28"),
        ("network.transport", "tcp"),
        ("ziggurat.database", "shop"),
        ("ziggurat.rows", "12"),
        ("ziggurat.verdict", "ok"),
    ];
    let statement = [
        ("db.namespace", "shop"),
        ("db.query.summary", "SELECT"),
        ("db.system.name", "postgresql"),
    ];
    let expected = [
        ("shop", SpanKind::Client, &statement[..]),
        ("provider openai", SpanKind::Client, &[]),
        ("tools/call query_database", SpanKind::Server, &call),
    ];
    assert_eq!(spans(&export).len(), expected.len());
    for (span, (name, kind, expected)) in spans(&export).iter().zip(expected) {
        assert_eq!(span.name, name);
        assert_eq!(span.kind(), kind);
        let mut found = attributes(&span.attributes);
        found.sort_unstable();
        let found: Vec<_> = found.iter().map(|(key, value)| (*key, &**value)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn an_export_names_the_program() {
    let (export, _) = exported_call();
    let resource = export.resource_spans[0].resource.as_ref().expect("one");
    let expected = [
        ("service.name", "ziggurat-tools".to_owned()),
        ("service.version", "1.2.3".to_owned()),
        ("service.instance.id", "9f3c".to_owned()),
    ];
    assert_eq!(attributes(&resource.attributes), expected);
}

#[test]
fn a_span_that_failed_says_so() {
    let export = exported(everything(), |tracer| {
        let mut call = tracer.begin("tools/call", Incoming::default(), false);
        let mut statement = call.trace().statement("shop", "SELECT 1");
        statement.set_status_code("57014");
        drop(statement);
        let mut statement = call.trace().statement("shop", "SELECT 1");
        statement.set_error("timeout");
        drop(statement);
        let mut provider = call.trace().provider("openai");
        provider.set_error("503");
        drop(provider);
        call.set_error("tool_error");
    });
    let expected = [
        ("db.response.status_code", "57014"),
        ("error.type", "timeout"),
        ("error.type", "503"),
        ("error.type", "tool_error"),
    ];
    for (span, (key, value)) in spans(&export).iter().zip(expected) {
        let status = span.status.as_ref().expect("a status");
        assert_eq!(status.code(), StatusCode::Error);
        let attributes = attributes(&span.attributes);
        assert!(attributes.contains(&(key, value.to_owned())), "{key}");
    }
    assert_eq!(spans(&export)[3].parent_span_id, b"");
}

#[test]
fn with_two_contexts_the_one_of_the_message_is_the_parent_and_the_other_a_link() {
    let headers = http::HeaderMap::from_iter(
        [
            (http::HeaderName::from_static("traceparent"), OTHER),
            (http::HeaderName::from_static("tracestate"), "b=2"),
        ]
        .map(|(name, value)| (name, http::HeaderValue::from_static(value))),
    );
    let header = || Incoming::default().with_headers(&headers);
    let export = exported(everything(), |tracer| {
        for incoming in [
            header().with_meta(Some(SENT), Some("a=1")),
            header().with_meta(Some("malformed"), Some("a=1")),
            header(),
        ] {
            drop(tracer.begin("ping", incoming, false));
        }
    });
    let [both, malformed, only] = spans(&export) else {
        panic!("three spans: {export:?}");
    };
    assert_eq!(hex(&both.trace_id), TRACE);
    assert_eq!(both.trace_state, "a=1");
    let [link] = &*both.links else {
        panic!("one link: {both:?}");
    };
    assert_eq!(hex(&link.trace_id), OTHER[3..35]);
    assert_eq!(hex(&link.span_id), OTHER[36..52]);
    assert_eq!(link.trace_state, "b=2");
    for span in [malformed, only] {
        assert_eq!(hex(&span.trace_id), OTHER[3..35]);
        assert_eq!(hex(&span.parent_span_id), OTHER[36..52]);
        assert_eq!(span.trace_state, "b=2");
        assert!(span.links.is_empty());
    }
}

#[test]
fn a_span_lasts_until_it_is_dropped() {
    let now = || {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time");
        u64::try_from(now.as_nanos()).expect("before the year 2500")
    };
    let before = now();
    let export = exported(everything(), |tracer| {
        let call = tracer.begin("ping", Incoming::default(), false);
        drop(call.trace().provider("openai"));
    });
    let after = now();
    let [provider, call] = spans(&export) else {
        panic!("two spans: {export:?}");
    };
    let second = 1_000_000_000;
    assert!(call.start_time_unix_nano + second > before);
    assert!(call.start_time_unix_nano <= provider.start_time_unix_nano);
    assert!(provider.start_time_unix_nano <= provider.end_time_unix_nano);
    assert!(provider.end_time_unix_nano <= call.end_time_unix_nano);
    assert!(call.end_time_unix_nano <= after + second);
}

#[test]
fn names_that_clients_make_up_are_cut() {
    let long = "ü".repeat(300);
    let export = exported(everything(), |tracer| {
        let mut call = tracer.begin(&long, Incoming::default(), false);
        call.set_mcp(&long, Some(&long));
        call.set_tool(&long);
        drop(call.trace().provider(&long));
        drop(call.trace().statement(&long, &long));
    });
    for span in spans(&export) {
        assert!(span.name.chars().count() <= 513, "{}", span.name);
        for (key, value) in attributes(&span.attributes) {
            assert!(value.chars().count() <= 256, "{key}");
        }
    }
}

#[test]
fn of_a_statement_only_its_first_word_is_exported() {
    let cases = [
        ("SELECT 'secret'", Some("SELECT")),
        ("\n\tWITH secret AS (SELECT 1) TABLE secret", Some("WITH")),
        ("EXPLAIN(ANALYZE) secret", Some("EXPLAIN")),
        ("SELECT'secret'", Some("SELECT")),
        ("-- secret\nSELECT 1", None),
        ("/* secret */ SELECT 1", None),
        ("'secret'", None),
        ("$1", None),
        ("", None),
        ("select 1", Some("SELECT")),
        ("(SELECT 1)", None),
        ("secret", None),
        ("SELECTsecret", None),
        ("SELECT2", None),
        ("SELECT_secret", None),
        ("sk-secret", None),
    ];
    let export = exported(everything(), |tracer| {
        let call = tracer.begin("ping", Incoming::default(), false);
        for (statement, _) in cases {
            drop(call.trace().statement("shop", statement));
        }
    });
    for (span, (statement, expected)) in spans(&export).iter().zip(cases) {
        let attributes = attributes(&span.attributes);
        let found = attributes
            .iter()
            .find(|(key, _)| *key == "db.query.summary");
        let found = found.map(|(_, word)| word.as_str());
        assert_eq!(found, expected, "{statement}");
    }
    assert!(!format!("{export:?}").contains("secret"));
}

#[test]
fn the_spans_of_a_call_can_end_after_it_and_on_other_threads() {
    let export = exported(everything(), |tracer| {
        let call = tracer.begin("ping", Incoming::default(), false);
        let trace = call.trace().clone();
        drop(call);
        let thread = std::thread::spawn(move || drop(trace.provider("openai")));
        thread.join().expect("no panic");
    });
    let [call, provider] = spans(&export) else {
        panic!("two spans: {export:?}");
    };
    assert_eq!(provider.parent_span_id, call.span_id);
}
