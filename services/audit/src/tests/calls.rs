//! Records of calls.

use std::iter;

use http::Request;
use serde_json::json;

use super::*;
use crate::{CallEnd, Caller, Methods, StatementForm, StatementPlace, line::chain::Hex};

#[test]
fn a_call_may_be_shared_between_tasks() {
    fn is_shared<T: Clone + Send + Sync + 'static>() {}
    is_shared::<Record>();
    is_shared::<Audit>();
}

fn full_start() -> CallStart<'static> {
    CallStart {
        request_id: "0b7e",
        trace_id: "4bf9",
        transport: "http",
        endpoint: "/mcp",
        revision: "2026-07-28",
        caller: Caller {
            kind: "client",
            name: "acme-bot",
            token: "3f2a9c1b",
            ip: Some([192, 0, 2, 7].into()),
        },
        client_name: "claude-code",
        client_version: "2.1",
        method: "tools/call",
        tool: "query_database",
        pipeline: "",
    }
}

#[test]
fn a_record_has_the_members_and_the_order_of_the_manual() {
    let trail = Trail::new();
    let running = started(trail.settings());
    let call = running.0.begin(&full_start());
    let tool = call.clone();
    tool.database("shop");
    tool.role("tenant_acme");
    tool.statement("SELECT 1 FROM t WHERE id = 7");
    call.end(CallEnd {
        rows: Some(12),
        bytes: 831,
        code: "42501",
        ..Verdict::Error.into()
    });
    drop((call, tool));
    finish(running);

    let line = &trail.of_kind("call")[0];
    let ms = line["ms"].as_f64().expect("a number");
    let [at, instance, chain] =
        ["at", "instance", "chain"].map(|name| line[name].as_str().expect("a text"));
    let digest = Hex::digest(b"SELECT 1 FROM t WHERE id = 7");
    let digest = digest.as_str();
    let expected = format!(
        r#"{{"v":1,"seq":2,"at":"{at}","kind":"call","instance":"{instance}","request_id":"0b7e","trace_id":"4bf9","transport":"http","endpoint":"/mcp","revision":"2026-07-28","caller":{{"kind":"client","name":"acme-bot","token":"3f2a9c1b","ip":"192.0.2.7"}},"client":{{"name":"claude-code","version":"2.1"}},"method":"tools/call","tool":"query_database","database":"shop","role":"tenant_acme","statement":{{"sha256":"{digest}","text":"SELECT ? FROM t WHERE id = ?"}},"rows":12,"bytes":831,"ms":{ms:.3},"verdict":"error","code":"42501","chain":"{chain}"}}"#
    );
    assert_eq!(trail.text().lines().nth(1), Some(&*expected));
    assert_eq!(at.len(), "2026-11-22T10:00:00.123456Z".len());
    assert_eq!(instance.len(), 4);
    assert_eq!(trail.kinds(), ["start", "call", "stop"]);
    trail.assert_good();
}

#[test]
fn absent_members_are_left_out() {
    let trail = Trail::new();
    let running = started(trail.settings());
    running.0.begin(&CallStart::default()).end(Verdict::Unknown);
    finish(running);
    let line = trail.of_kind("call").remove(0);
    let names: Vec<_> = line
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    let expected = [
        "at", "chain", "instance", "kind", "ms", "seq", "v", "verdict",
    ];
    assert_eq!(names, expected);
}

#[test]
fn only_the_first_end_counts_and_a_call_without_one_is_cancelled() {
    let trail = Trail::new();
    let running = started(trail.settings());
    let call = tool_call(&running.0, "first");
    call.end(Verdict::Limited);
    call.end(CallEnd {
        rows: Some(5),
        ..Verdict::Ok.into()
    });
    drop(call);
    let call = tool_call(&running.0, "second");
    drop(call.clone());
    drop(call);
    finish(running);
    let calls = trail.of_kind("call");
    let verdicts: Vec<_> = calls.iter().map(|call| call["verdict"].clone()).collect();
    assert_eq!(verdicts, ["limited", "cancelled"]);
    assert_eq!(calls[0].get("rows"), None);
}

#[test]
fn names_are_cut_and_control_characters_escaped() {
    let trail = Trail::new();
    let running = started(trail.settings());
    let long = "é".repeat(300);
    let call = running.0.begin(&CallStart {
        client_name: &long,
        tool: "a\u{0}\n\u{7f}\u{9b}\"",
        ..CallStart::default()
    });
    call.database(&long);
    call.end(Verdict::Ok);
    drop(call);
    finish(running);
    let line = trail.of_kind("call").remove(0);
    assert_eq!(line["client"]["name"], "é".repeat(256));
    assert_eq!(line["database"], "é".repeat(256));
    assert_eq!(line["tool"], "a\u{0}\n\u{7f}\u{9b}\"");
    assert!(trail.text().contains(r#""tool":"a\u0000\n\u007f\u009b\"""#));
    let is_control = |c: char| c.is_control() && c != '\n';
    assert!(!trail.text().contains(is_control));
}

#[test]
fn of_a_question_at_most_the_digest_is_recorded() {
    for form in [
        StatementForm::Text,
        StatementForm::Normalized,
        StatementForm::None,
    ] {
        let trail = Trail::new();
        let running = started(Settings {
            statement: form,
            ..trail.settings()
        });
        let call = tool_call(&running.0, "");
        call.question("who is Ada?");
        assert!(!format!("{call:?}").contains("Ada"));
        call.end(Verdict::Ok);
        drop(call);
        finish(running);
        assert!(!trail.text().contains("Ada"));
        let line = trail.of_kind("call").remove(0);
        let is_recorded = line["statement"]["sha256"].is_string();
        assert_eq!(is_recorded, form != StatementForm::None, "{form:?}");
    }
}

#[test]
fn a_statement_is_found_in_a_text() {
    let trail = Trail::new();
    let running = started(trail.settings());
    let place = StatementPlace::Argument("sql");
    // Short texts are read by the writer, and long ones in the call.
    for other in ["", &"-".repeat(9000)] {
        let arguments = json!({"other": other, "sql": "SELECT 'Ada'"}).to_string();
        let call = tool_call(&running.0, "x");
        call.statement_in(&arguments, place);
        call.end(Verdict::Ok);
        let call = tool_call(&running.0, "x");
        call.question_in(&arguments, place);
        call.end(Verdict::Ok);
        let call = tool_call(&running.0, "x");
        call.statement_in(&json!({"other": "Ada"}).to_string(), place);
        call.end(Verdict::Ok);
    }
    finish(running);
    assert!(!trail.text().contains("Ada"));
    let calls = trail.of_kind("call");
    assert_eq!(calls.len(), 6);
    for [statement, question, none] in calls.as_chunks().0 {
        assert_eq!(statement["statement"]["text"], "SELECT ?");
        assert_eq!(question["statement"].get("text"), None);
        let digests = [statement, question].map(|call| call["statement"]["sha256"].clone());
        assert_eq!(digests, [Hex::digest(b"SELECT 'Ada'").as_str(); 2]);
        assert_eq!(none.get("statement"), None);
    }
}

#[test]
fn arguments_are_recorded_if_the_settings_ask_for_them() {
    let arguments = json!({"day": "2026-01-01\u{9b}", "org": "***"});
    let long = json!({"text": "é".repeat(9000)});
    for arguments_on in [false, true] {
        let trail = Trail::new();
        let running = started(Settings {
            arguments: arguments_on,
            ..trail.settings()
        });
        for value in [&arguments, &long] {
            let call = tool_call(&running.0, "orders");
            assert_eq!(call.has_arguments(), arguments_on);
            call.arguments(&serde_json::to_string_pretty(value).expect("JSON"));
            call.end(Verdict::Ok);
        }
        finish(running);
        let calls = trail.of_kind("call");
        if arguments_on {
            assert_eq!(calls[0]["arguments"], arguments);
            let cut = calls[1]["arguments"].as_str().expect("a text");
            assert_eq!(cut.chars().count(), 8192);
            assert!(!trail.text().contains('\u{9b}'));
        } else {
            assert!(calls.iter().all(|call| call.get("arguments").is_none()));
        }
    }
}

#[test]
fn other_requests_are_recorded_if_the_settings_ask_for_them() {
    for (methods, count) in [(Methods::Calls, 0), (Methods::All, 1)] {
        let trail = Trail::new();
        let running = started(Settings {
            methods,
            ..trail.settings()
        });
        let start = CallStart {
            method: "tools/list",
            ..CallStart::default()
        };
        if let Some(call) = running.0.begin_other(&start) {
            call.end(Verdict::Ok);
        }
        finish(running);
        assert_eq!(trail.of_kind("call").len(), count, "{methods:?}");
    }
}

#[test]
fn refused_tokens_beyond_the_tenth_in_a_second_become_one_line() {
    let trail = Trail::new();
    let running = started(trail.settings());
    let request = Request::get("/api/tables?token=secret")
        .body(())
        .expect("a request");
    let watched = running.0.watch(&request, None);
    for _ in 0..25 {
        watched.denied("7");
    }
    drop(watched);
    running.0.reload(Verdict::Failed);
    finish(running);
    let denied = trail.of_kind("denied");
    let counted = |line: &Value| line["repeated"].as_u64();
    let repeated: u64 = denied.iter().filter_map(counted).sum();
    let single = denied.iter().filter(|line| counted(line).is_none()).count();
    assert_eq!(single as u64 + repeated, 25);
    // A slow machine may need more than a second.
    assert!(
        single >= 10 && repeated > 0,
        "{single} lines, {repeated} repeated"
    );
    let first = ["transport", "method", "request_id"].map(|key| &denied[0][key]);
    assert_eq!(first, ["http", "GET /api/tables", "7"]);
    assert_eq!(trail.of_kind("reload")[0]["verdict"], "failed");
    trail.assert_good();
}

#[tokio::test]
async fn a_call_has_its_open_line_before_it_runs() {
    let trail = Trail::new();
    let running = started(trail.required());
    let call = running.0.begin(&full_start());
    call.database("shop");
    call.statement("SELECT 1");
    call.open().await.expect("written");
    assert_eq!(trail.kinds(), ["start", "open"]);
    call.clone().open().await.expect("it is written already");
    call.end(Verdict::Ok);
    drop(call);
    finish(running);
    assert_eq!(trail.kinds(), ["start", "open", "call", "stop"]);
    let [open, call] = ["open", "call"].map(|kind| trail.of_kind(kind).remove(0));
    let members = open.as_object().expect("an object");
    let expected = [
        "at",
        "caller",
        "chain",
        "database",
        "instance",
        "kind",
        "method",
        "request_id",
        "seq",
        "statement",
        "tool",
        "v",
    ];
    assert_eq!(members.keys().collect::<Vec<_>>(), expected);
    for name in ["request_id", "caller", "method", "tool", "database"] {
        assert_eq!(open[name], call[name], "{name}");
    }
    assert_eq!(open["statement"]["sha256"], call["statement"]["sha256"]);
    assert_eq!(open["statement"].get("text"), None);
    assert!(
        trail
            .text()
            .contains(r#""kind":"call","open":2,"instance":""#)
    );
    trail.assert_good();
}

#[tokio::test]
async fn without_the_requirement_a_call_runs_at_once() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.settings()).expect("opened");
    tool_call(&audit, "x")
        .open()
        .await
        .expect("no writer is needed");
    drop((audit, writer));
}

#[tokio::test]
async fn a_call_that_ends_before_its_open_line_is_written_still_has_one_record() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.synced()).expect("opened");
    let dropped = tool_call(&audit, "dropped");
    let ended = tool_call(&audit, "ended");
    for call in [&dropped, &ended] {
        let mut open = tokio_test::task::spawn(call.open());
        assert!(open.poll().is_pending());
    }
    ended.end(Verdict::Timeout);
    drop((dropped, ended));
    finish((audit, thread::spawn(move || writer.run())));
    let mut calls: Vec<_> = trail.of_kind("call");
    calls.sort_by_key(|call| call["tool"].to_string());
    let verdicts: Vec<_> = calls.iter().map(|call| call["verdict"].clone()).collect();
    assert_eq!(verdicts, ["cancelled", "timeout"]);
    // Each open line has its call.
    for open in trail.of_kind("open") {
        assert!(calls.iter().any(|call| call["open"] == open["seq"]));
    }
    trail.assert_good();
}

#[tokio::test]
async fn calls_that_open_together_share_a_write() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.synced()).expect("opened");
    let disk = with_faults(&writer);
    let calls: Vec<_> = iter::repeat_with(|| tool_call(&audit, "x"))
        .take(100)
        .collect();
    let mut opens: Vec<_> = calls
        .iter()
        .map(|call| tokio_test::task::spawn(call.open()))
        .collect();
    assert!(opens.iter_mut().all(|open| open.poll().is_pending()));
    let thread = thread::spawn(move || writer.run());
    for open in opens {
        assert_eq!(open.await, Ok(()));
    }
    assert_eq!(disk.writes.load(SeqCst), 1);
    drop(calls);
    finish((audit, thread));
    assert_eq!(trail.of_kind("call").len(), 100);
}

#[tokio::test]
async fn a_call_leaves_its_open_line_to_the_thread_that_writes() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.required()).expect("opened");
    let disk = with_faults(&writer);
    let (first, second) = (tool_call(&audit, "first"), tool_call(&audit, "second"));
    let mut waiting = tokio_test::task::spawn(first.open());
    writer.change(|_| assert!(waiting.poll().is_pending()));
    second.open().await.expect("written");
    assert!(waiting.is_woken());
    waiting.await.expect("written with the other");
    assert_eq!(disk.writes.load(SeqCst), 1);
    drop((first, second));
    finish((audit, thread::spawn(move || writer.run())));
}
