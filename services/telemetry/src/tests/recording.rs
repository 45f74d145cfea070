//! Tests of values on the page.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use proptest::prelude::*;

use super::*;
use crate::table::{Kind, Metric};

#[test]
fn every_page_is_accepted_with_and_without_values() {
    for program in programs() {
        let metrics = Metrics::new(program, "1.2.3", &known());
        for _ in 0..2 {
            for format in FORMATS {
                let body = body(&metrics, format);
                let page = exposition::read(&body, format).expect("accepted");
                assert_eq!(page.len(), Metric::of(program).count());
            }
            record_everything(&metrics);
        }
    }
}

const TOOLS: &str = r#"
ziggurat_calls_total{method="tools/call",tool="query_database",database="shop",verdict="ok",caller_kind="user"} 1
ziggurat_call_duration_seconds_count{method="tools/call",tool="query_database"} 1
ziggurat_call_duration_seconds_sum{method="tools/call",tool="query_database"} 0.002
ziggurat_database_statement_seconds_sum{database="shop"} 0.002
ziggurat_database_rows_total{database="shop"} 12
ziggurat_result_bytes_total{database="shop"} 831
ziggurat_pool_wait_seconds_count{database="shop"} 1
ziggurat_connections_opened_total{database="shop"} 4
ziggurat_connections_failed_total{database="shop"} 0
ziggurat_connections_failed_total{database="läger"} 1
ziggurat_pool_connections{database="shop",state="idle"} 3
ziggurat_pool_connections{database="shop",state="busy"} 1
ziggurat_pool_connections{database="other",state="idle"} 9
ziggurat_pool_connections{database="other",state="busy"} 2"#;

const RAG: &str = r#"
ziggurat_audit_records_total 11
ziggurat_audit_missed_total 12
ziggurat_audit_failures_total 13
ziggurat_reloads_total{result="failed"} 1
ziggurat_reloads_total{result="ok"} 0
ziggurat_provider_seconds_sum{provider="openai",kind="embedding",outcome="timeout"} 0.002
ziggurat_provider_tokens_total{provider="openai",direction="input"} 30
ziggurat_provider_tokens_total{provider="openai",direction="output"} 7
ziggurat_pipeline_seconds_count{pipeline="docs",stage="rerank"} 1
ziggurat_build_info{program="ziggurat-rag",version="1.2.3"} 1"#;

const PLATFORM: &str = r#"
ziggurat_http_requests_total{endpoint="/mcp",status="4xx"} 1
ziggurat_http_requests_total{endpoint="/mcp",status="5xx"} 0
ziggurat_http_connections 9
ziggurat_refused_total{reason="token"} 1
ziggurat_refused_total{reason="host"} 0
ziggurat_limits_reached_total{limit="calls"} 1
ziggurat_trace_spans_dropped_total 14
ziggurat_sign_ins_total{way="password",result="ok"} 1
ziggurat_tokens_issued_total{grant_type="client_credentials",result="refused"} 1
ziggurat_grants{kind="device"} 19
ziggurat_accounts{kind="tenant"} 15"#;

#[test]
fn what_is_recorded_is_on_the_page() {
    let expected = [
        (Program::Tools, TOOLS),
        (Program::Rag, RAG),
        (Program::Platform, PLATFORM),
    ];
    for (program, expected) in expected {
        let metrics = Metrics::new(program, "1.2.3", &known());
        record_everything(&metrics);
        let body = body(&metrics, Format::Text);
        for line in expected.lines().skip(1) {
            assert!(body.lines().any(|found| found == line), "{line}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_process_is_on_every_page() {
    for program in programs() {
        let page = page(&Metrics::new(program, "1", &known()));
        for name in [
            "process_cpu_seconds_total",
            "process_resident_memory_bytes",
            "process_open_fds",
        ] {
            assert!(value(&page, name, &[]).is_some(), "{name}");
        }
    }
}

#[test]
fn values_that_no_part_of_the_program_reads_have_no_series() {
    let page = page(&Metrics::new(Program::Tools, "1", &known()));
    for name in ["ziggurat_audit_records_total", "ziggurat_pool_connections"] {
        assert!(page[name].samples.is_empty(), "{name}");
    }
}

#[test]
fn a_label_that_does_not_apply_is_absent() {
    let metrics = Metrics::new(Program::Tools, "1", &known());
    metrics.call_ended(&EndedCall {
        tool: "",
        database: "",
        ..call()
    });
    let labels = [
        ("caller_kind", "user"),
        ("method", "tools/call"),
        ("verdict", "ok"),
    ];
    assert_eq!(
        value(&page(&metrics), "ziggurat_calls_total", &labels),
        Some(1.0)
    );
}

#[test]
fn a_duration_is_in_the_first_bucket_that_it_does_not_exceed() {
    for (microseconds, bound, below) in [
        (0, "0.0005", None),
        (500, "0.0005", None),
        (501, "0.001", Some("0.0005")),
        (1_000, "0.001", Some("0.0005")),
        (60_000_000, "60", Some("30")),
        (60_000_001, "+Inf", Some("60")),
        (10_000_000_000, "+Inf", Some("60")),
    ] {
        let metrics = Metrics::new(Program::Tools, "1", &known());
        let waited = Duration::from_micros(microseconds);
        metrics.database("shop").connection_lent(waited);
        let page = page(&metrics);
        let bucket = |bound| {
            let labels = [("database", "shop"), ("le", bound)];
            value(&page, "ziggurat_pool_wait_seconds_bucket", &labels)
        };
        assert_eq!(bucket(bound), Some(1.0), "{microseconds}");
        assert_eq!(below.and_then(bucket), below.map(|_| 0.0), "{microseconds}");
        assert_eq!(bucket("+Inf"), Some(1.0), "{microseconds}");
    }
}

#[test]
fn the_buckets_of_every_histogram_are_those_of_the_document() {
    let expected = [
        "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1",
        "2.5", "5", "10", "30", "60", "+Inf",
    ];
    for program in programs() {
        let metrics = Metrics::new(program, "1", &known());
        record_everything(&metrics);
        let body = body(&metrics, Format::Text);
        for metric in Metric::of(program).filter(|metric| metric.kind == Kind::Histogram) {
            let start = format!("{}_bucket", metric.name);
            let lines = body.lines().filter(|line| line.starts_with(&start));
            let bounds: Vec<_> = lines
                .filter_map(|line| line.split_once("le=\"")?.1.split_once('"'))
                .map(|(bound, _)| bound)
                .collect();
            assert!(!bounds.is_empty(), "{}", metric.name);
            for series in bounds.chunks(expected.len()) {
                assert_eq!(series, expected, "{}", metric.name);
            }
        }
    }
}

#[test]
fn series_do_not_grow_with_invented_names() {
    let count = |metrics: &Metrics| -> usize {
        page(metrics)
            .values()
            .map(|family| family.samples.len())
            .sum()
    };
    let record = |metrics: &Metrics, name: &str| {
        metrics.call_ended(&EndedCall {
            method: name,
            tool: name,
            database: name,
            verdict: name,
            caller_kind: name,
            duration: Duration::ZERO,
            bytes: 1,
        });
        let database = metrics.database(name);
        database.statement(Duration::ZERO, 1);
        drop(database.connection_opened());
        database.connection_lent(Duration::ZERO);
        database.connection_failed();
        metrics.http_request(name, StatusCode::OK);
        metrics.refused(name);
        metrics.limit_reached(name);
        metrics.reload(name);
        metrics.provider(name, name, name, Duration::ZERO);
        metrics.tokens(name, 1, 1);
        metrics.pipeline(name, name, Duration::ZERO);
        metrics.token_issued(name, name);
        metrics.sign_in(name, name);
    };
    for program in programs() {
        let metrics = Metrics::new(program, "1", &known());
        record(&metrics, "invented");
        let before = count(&metrics);
        for number in 0..100_000 {
            record(&metrics, &format!("invented_{number}"));
        }
        assert_eq!(count(&metrics), before);
        let others = [("reason", "other")];
        let refused = value(&page(&metrics), "ziggurat_refused_total", &others);
        assert_eq!(refused, Some(100_001.0));
    }
}

#[test]
fn names_of_a_reload_get_series_and_old_series_stay() {
    let metrics = Metrics::new(Program::Tools, "1", &known());
    for database in ["new", "shop"] {
        drop(metrics.database(database).connection_opened());
    }
    metrics.learn(&Known::default().with(Set::Databases, ["aa", "new"]));
    for database in ["new", "shop"] {
        drop(metrics.database(database).connection_opened());
    }
    let page = page(&metrics);
    for (database, count) in [("aa", 0.0), ("new", 1.0), ("shop", 2.0), ("other", 1.0)] {
        let labels = [("database", database)];
        let found = value(&page, "ziggurat_connections_opened_total", &labels);
        assert_eq!(found, Some(count), "{database}");
    }
}

#[test]
fn a_name_that_becomes_known_counts_from_then_on() {
    let metrics = Metrics::new(Program::Tools, "1", &known());
    let database = metrics.database("new");
    let open = database.connection_opened();
    metrics.learn(&Known::default().with(Set::Databases, ["new"]));
    let _other = database.connection_opened();
    drop(open);
    let page = page(&metrics);
    for (database, count) in [("new", 1.0), ("other", 0.0)] {
        let labels = [("database", database), ("state", "busy")];
        let found = value(&page, "ziggurat_pool_connections", &labels);
        assert_eq!(found, Some(count), "{database}");
    }
}

#[test]
fn a_connection_is_counted_as_idle_or_busy_until_it_is_closed() {
    let metrics = Metrics::new(Program::Tools, "1", &known());
    let idle = Arc::new(AtomicU64::new(0));
    let read = Arc::clone(&idle);
    metrics.read_idle_connections(move || {
        let (database, count) = ("shop".to_owned(), read.load(Relaxed));
        vec![IdleCount { database, count }]
    });
    let counts = || {
        let page = page(&metrics);
        ["idle", "busy"].map(|state| {
            let labels = [("database", "shop"), ("state", state)];
            value(&page, "ziggurat_pool_connections", &labels)
        })
    };
    assert_eq!(counts(), [None, None]);
    let open = metrics.database("shop").connection_opened();
    assert_eq!(counts(), [Some(0.0), Some(1.0)]);
    idle.store(1, Relaxed);
    assert_eq!(counts(), [Some(1.0), Some(0.0)]);
    // It may be closed on another thread.
    thread::spawn(|| drop(open)).join().expect("closed");
    idle.store(0, Relaxed);
    assert_eq!(counts(), [Some(0.0), Some(0.0)]);
    drop(Metrics::off().database("shop").connection_opened());
}

#[test]
fn calls_are_recorded_while_the_page_is_being_written() {
    let metrics = Metrics::new(Program::Tools, "1", &known());
    let during = metrics.clone();
    metrics.read_http_connections(move || {
        // The other thread would wait for ever if the page held a lock of a call.
        let metrics = during.clone();
        let record = move || {
            metrics.learn(&Known::default().with(Set::Tools, ["new"]));
            metrics.call_ended(&EndedCall {
                tool: "new",
                ..call()
            });
            metrics.call_ended(&call());
        };
        thread::spawn(record).join().expect("recorded");
        1
    });
    assert_eq!(
        value(&page(&metrics), "ziggurat_http_connections", &[]),
        Some(1.0)
    );
    let labels = [("method", "tools/call"), ("tool", "new")];
    let counted = value(
        &page(&metrics),
        "ziggurat_call_duration_seconds_count",
        &labels,
    );
    assert_eq!(counted, Some(1.0));
}

#[test]
fn no_call_of_several_threads_is_lost() {
    let tools: Arc<[String]> = (0..100).map(|number| format!("tool_{number}")).collect();
    let known = known().with(Set::Tools, tools.iter().cloned());
    let metrics = Metrics::new(Program::Tools, "1", &known);
    let record = || {
        for _ in 0..20 {
            for tool in tools.iter() {
                metrics.call_ended(&EndedCall { tool, ..call() });
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(record);
        }
        page(&metrics);
    });
    let page = page(&metrics);
    let calls = &page["ziggurat_calls_total"].samples;
    assert_eq!(calls.len(), tools.len());
    assert!(calls.values().all(|count| (count - 80.0).abs() < 0.5));
}

#[test]
fn nothing_is_recorded_while_metrics_are_off() {
    let metrics = Metrics::off();
    record_everything(&metrics);
    metrics.learn(&known());
    assert!(!metrics.is_on());
    assert_eq!(
        metrics.page(&HeaderMap::new()).status(),
        StatusCode::NOT_FOUND
    );
}

proptest! {
    #[test]
    fn any_known_name_is_read_back_from_an_accepted_page(
        name in "\\PC{0,8}|[\"\\\\\n\r{}, =#]{0,8}|(?s:.{1,40})",
    ) {
        let known = Known::default().with(Set::Tools, [&*name]).with(Set::Databases, [&*name]);
        let metrics = Metrics::new(Program::Tools, &*name, &known);
        metrics.call_ended(&EndedCall { tool: &name, database: &name, ..call() });
        for format in FORMATS {
            let page = exposition::read(&body(&metrics, format), format);
            let page = page.map_err(TestCaseError::fail)?;
            let call = if name.is_empty() { None } else { Some(&name) };
            let samples = page.values().flat_map(|family| family.samples.keys());
            let mut calls = samples.filter(|(sample, _)| sample == "ziggurat_calls_total");
            let (_, labels) = calls.next().expect("one call");
            prop_assert_eq!(labels.get("tool"), call);
            prop_assert_eq!(labels.get("database"), call);
        }
    }
}
