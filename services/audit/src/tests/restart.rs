//! Starts after a crash.

use std::fs;

use super::*;
use crate::names;

#[test]
fn an_incomplete_last_line_is_moved_and_noted() {
    let zeros = vec![0; 300_000];
    for bytes in [&b"{\"v\":1,\"se"[..], &zeros] {
        let trail = Trail::new();
        finish(started(trail.settings()));
        trail.append(bytes);
        assert!(!trail.verify().is_good);
        finish(started(trail.settings()));
        assert_eq!(trail.kinds(), ["start", "stop", "start", "gap", "stop"]);
        assert_eq!(trail.of_kind("gap")[0]["torn"], "audit.jsonl.torn");
        let torn = fs::read(names::torn(&trail.path)).expect("a file");
        assert_eq!(torn, [bytes, b"\n"].concat());
        trail.assert_good();
    }
}

#[test]
fn a_file_of_nothing_but_an_incomplete_line_begins_anew() {
    let trail = Trail::new();
    fs::write(&trail.path, "{\"v\":1").expect("written");
    finish(started(trail.settings()));
    assert_eq!(trail.kinds(), ["start", "gap", "stop"]);
    trail.assert_good();
}

#[tokio::test]
async fn a_call_that_a_crash_has_ended_is_lost() {
    let trail = Trail::new();
    let running = started(trail.synced());
    whole_call(&running.0, "whole").await;
    let call = tool_call(&running.0, "crashed");
    call.database("shop");
    call.statement("SELECT 1");
    call.open().await.expect("written");
    let crashed = trail.after_a_crash();
    drop(call);
    finish(running);

    finish(started(crashed.required()));
    let find = |kind: &str, tool: &str| {
        let mut lines = crashed.of_kind(kind);
        lines.retain(|line| line["tool"] == tool);
        lines.remove(0)
    };
    let (open, lost) = (find("open", "crashed"), find("call", "crashed"));
    assert_eq!(lost["verdict"], "lost");
    assert_eq!(lost["open"], open["seq"]);
    assert_eq!(find("call", "whole")["verdict"], "ok");
    for name in ["tool", "database", "statement", "method", "instance"] {
        assert_eq!(lost[name], open[name], "{name}");
    }
    // It is lost only once.
    finish(started(crashed.required()));
    assert_eq!(crashed.of_kind("call").len(), 2);
    crashed.assert_good();
}

#[tokio::test]
async fn a_call_that_began_in_an_old_file_is_lost_too() {
    let trail = Trail::new();
    let settings = Settings {
        max_bytes: 1000,
        ..trail.synced()
    };
    let running = started(settings);
    let call = tool_call(&running.0, "crashed");
    call.open().await.expect("written");
    for _ in 0..10 {
        whole_call(&running.0, "whole").await;
    }
    let crashed = trail.after_a_crash();
    drop(call);
    finish(running);
    assert!(!crashed.text().contains("crashed"));
    finish(started(crashed.required()));
    let mut lost = crashed.of_kind("call");
    lost.retain(|call| call["verdict"] == "lost" && call["tool"] == "crashed");
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0]["open"], 2);
}

#[tokio::test]
async fn a_crash_between_two_files_does_not_break_the_chain() {
    let trail = Trail::new();
    let running = started(trail.required());
    let call = tool_call(&running.0, "crashed");
    call.open().await.expect("written");
    let crashed = trail.after_a_crash();
    drop(call);
    finish(running);
    let old = names::archive(&crashed.path, 1, 2);
    fs::rename(&crashed.path, &old).expect("renamed");

    finish(started(crashed.required()));
    assert_eq!(crashed.kinds(), ["start", "gap", "call", "stop"]);
    assert_eq!(crashed.lines()[0]["previous"]["file"], "audit-1-2.jsonl");
    assert_eq!(crashed.lines()[1]["unfinished"], 2);
    assert_eq!(crashed.lines()[2]["verdict"], "lost");
    let report = verify(&[crashed.path.clone(), old], None, Expected::default());
    assert!(report.is_good, "{:?}", report.lines);
}

#[tokio::test]
async fn without_the_requirement_no_call_is_looked_for() {
    let trail = Trail::new();
    let running = started(trail.required());
    let call = tool_call(&running.0, "crashed");
    call.open().await.expect("written");
    let crashed = trail.after_a_crash();
    drop(call);
    finish(running);
    finish(started(crashed.settings()));
    assert_eq!(crashed.of_kind("call").len(), 0);
    finish(started(crashed.required()));
    assert_eq!(crashed.of_kind("call").len(), 1);
    crashed.assert_good();
}
