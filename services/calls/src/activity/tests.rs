//! Tests of calls from their beginning to the list of those that have ended.

use std::task::{Context, Poll, Waker};

use axum::{Router, body::Body};
use http::Request;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_tokens::{Holder, Identity};

use super::*;
use crate::{Caller, activity::Reader};

const ALICE: Caller<'_> = Caller {
    identity: None,
    kind: "user",
    name: "alice",
    account: "alice",
    address: None,
};

const BOB: Caller<'_> = Caller {
    identity: None,
    kind: "user",
    name: "bob",
    account: "bob",
    address: None,
};

const OK: End<'_> = End {
    outcome: "ok",
    code: None,
    rows: None,
    bytes: 0,
};

fn begin(activity: &Activity, caller: Caller<'_>) -> FollowedCall {
    let begin = Begin {
        via: "http",
        tool: "query_database",
    };
    activity.begin(&caller, &begin).expect("a place")
}

/// Begins a call that runs a statement.
fn run(activity: &Activity, caller: Caller<'_>, statement: &str) -> FollowedCall {
    let call = begin(activity, caller);
    call.entry().wait("shop", statement);
    call.entry().run();
    call
}

/// Returns a reader of the statements of one caller, or of all.
fn reader(caller: Option<Caller<'_>>) -> Reader<'_> {
    Reader {
        caller: caller.unwrap_or(BOB),
        reads_all: caller.is_none(),
        has_texts: false,
    }
}

fn running(activity: &Activity, caller: Option<Caller<'_>>) -> Value {
    json!(activity.running(reader(caller)))
}

fn finished(activity: &Activity, caller: Option<Caller<'_>>) -> Value {
    json!(activity.finished(reader(caller)))
}

fn poll(call: &FollowedCall) -> Poll<CancelledBy> {
    call.entry()
        .poll_cancelled(&Context::from_waker(Waker::noop()))
}

#[test]
fn a_statement_is_listed_from_its_wait_to_its_end() {
    let activity = Activity::new(true);
    let call = begin(&activity, ALICE);
    assert_eq!(running(&activity, None), json!([]), "it has no statement");
    let entry = call.entry();
    for (state, step) in [
        (
            "waiting",
            Box::new(|| entry.wait("shop", "SELECT 1")) as Box<dyn Fn()>,
        ),
        ("running", Box::new(|| entry.run())),
        ("sending", Box::new(|| entry.count(2, 30))),
    ] {
        step();
        let list = running(&activity, Some(ALICE));
        assert_eq!(list[0]["state"], state);
        assert_eq!(list[0]["id"], json!(entry.id()));
    }
    let list = running(&activity, None);
    assert_eq!(list[0]["caller"], json!({"kind": "user", "name": "alice"}));
    assert_eq!(
        (&list[0]["rows"], &list[0]["bytes"]),
        (&json!(2), &json!(30))
    );
    assert_eq!(running(&activity, Some(BOB)), json!([]));
    call.end(&End {
        outcome: "error",
        code: Some("42P01"),
        bytes: 31,
        ..OK
    });
    assert_eq!(running(&activity, None), json!([]));
    let list = finished(&activity, Some(ALICE));
    for (name, value) in [
        ("tool", json!("query_database")),
        ("database", json!("shop")),
        ("statement", json!("SELECT 1")),
        ("rows", json!(2)),
        ("bytes", json!(31)),
        ("outcome", json!("error")),
        ("code", json!("42P01")),
    ] {
        assert_eq!(list[0][name], value, "{name}");
    }
    assert_eq!(finished(&activity, Some(BOB)), json!([]));
    for (caller, errors) in [
        (None, json!(1)),
        (Some(ALICE), json!(1)),
        (Some(BOB), json!(null)),
    ] {
        let latency = json!(activity.latency(caller));
        assert_eq!(latency[0]["errors"], errors, "{caller:?}: {latency}");
    }
}

#[test]
fn calls_without_a_statement_and_questions_leave_nothing() {
    let activity = Activity::new(true);
    begin(&activity, ALICE).end(&OK);
    let call = run(&activity, ALICE, "DROP TABLE t");
    call.end(&End {
        outcome: "asked",
        ..OK
    });
    assert_eq!(finished(&activity, None), json!([]));
    assert_eq!(json!(activity.latency(None)), json!([]));
}

#[test]
fn a_place_serves_the_next_call_and_not_the_entry_of_the_last_one() {
    let activity = Activity::new(true);
    let first = run(&activity, ALICE, "SELECT 1");
    let (entry, id) = (first.entry(), first.entry().id().expect("an id"));
    first.end(&OK);
    let second = run(&activity, BOB, "SELECT 2");
    assert_ne!(second.entry().id(), Some(id.clone()));
    entry.wait("other", "SELECT 3");
    entry.count(100, 100);
    assert!(!activity.cancel(&id, ALICE, true), "it has ended");
    let list = running(&activity, None);
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&list[0]["statement"], &list[0]["rows"]),
        (&json!("SELECT 2"), &json!(0))
    );
    assert_eq!(poll(&second), Poll::Pending);
}

#[test]
fn the_caller_and_administrators_cancel_a_statement() {
    let activity = Activity::new(true);
    for (caller, is_admin, by) in [
        (ALICE, false, Some(CancelledBy::Caller)),
        (ALICE, true, Some(CancelledBy::Caller)),
        (BOB, true, Some(CancelledBy::Administrator)),
        (BOB, false, None),
    ] {
        let call = run(&activity, ALICE, "SELECT 1");
        let id = call.entry().id().expect("an id");
        assert_eq!(activity.cancel(&id, caller, is_admin), by.is_some());
        assert_eq!(poll(&call), by.map_or(Poll::Pending, Poll::Ready));
        if by.is_some() {
            call.entry().run();
            assert_eq!(running(&activity, None)[0]["state"], "cancelling");
            assert!(activity.cancel(&id, caller, is_admin), "once more");
        }
        drop(call);
        assert_eq!(finished(&activity, None)[0]["outcome"], "cancelled");
    }
    // Calls without a statement cannot be cancelled: they are in no list.
    let call = begin(&activity, ALICE);
    let id = call.entry().id().expect("an id");
    assert!(!activity.cancel(&id, ALICE, true));
    for wrong in ["", "x", "0", "+000000000000001", &id[1..]] {
        assert!(!activity.cancel(wrong, ALICE, true), "{wrong}");
    }
}

#[test]
fn statements_of_all_threads_are_in_one_list() {
    let activity = Activity::new(true);
    let on_a_thread = |number: usize| {
        let begin = || run(&activity, ALICE, &format!("SELECT {number}"));
        std::thread::scope(|scope| scope.spawn(begin).join().expect("no panic"))
    };
    let calls: Vec<_> = (0..10).map(on_a_thread).collect();
    let ids: std::collections::BTreeSet<_> = calls.iter().map(|it| it.entry().id()).collect();
    assert_eq!(ids.len(), 10);
    assert_eq!(activity.running(reader(Some(ALICE))).len(), 10);
    assert_eq!(activity.waiting("shop"), 0);
    let last = calls[9].entry().id().expect("an id");
    assert!(activity.cancel(&last, ALICE, false));
    for call in calls {
        call.end(&OK);
    }
    assert_eq!(activity.running(reader(None)).len(), 0);
    let ended = finished(&activity, None);
    let texts: Vec<_> = (0..10).map(|it| &ended[it]["statement"]).collect();
    let expected: Vec<_> = (0..10).rev().map(|it| format!("SELECT {it}")).collect();
    assert_eq!(json!(texts), json!(expected), "the latest first");
    for caller in [None, Some(ALICE)] {
        assert_eq!(json!(activity.latency(caller))[0]["count"], 10);
    }
}

#[test]
fn memory_is_bounded() {
    let activity = Activity::new(true);
    let long = "é".repeat(100_000);
    for _ in 0..500 {
        run(&activity, ALICE, &long).end(&OK);
    }
    let list = activity.finished(reader(None));
    assert_eq!(list.len(), 200);
    let text = json!(list[0])["statement"].as_str().map(str::len);
    assert_eq!(text, Some(8 << 10));
    let calls: Vec<_> = std::iter::from_fn(|| {
        let begin = Begin {
            via: "http",
            tool: "x",
        };
        activity.begin(&BOB, &begin)
    })
    .collect();
    assert_eq!(calls.len(), 10_000);
}

#[test]
fn texts_are_kept_only_if_they_are_shown() {
    let activity = Activity::new(false);
    let call = run(&activity, ALICE, "SELECT 'secret'");
    assert_eq!(running(&activity, None)[0]["statement"], Value::Null);
    call.end(&OK);
    assert_eq!(finished(&activity, None)[0]["statement"], Value::Null);
}

fn identity(name: &str, is_admin: bool) -> Identity {
    let holder = Holder::User {
        name: name.into(),
        databases: [].into(),
    };
    Identity::new(TokenHash::of(name), holder).with_admin(is_admin)
}

async fn status(api: &Router, method: &str, path: &str, identity: Option<Identity>) -> u16 {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(identity) = identity {
        request = request.extension(identity);
    }
    let request = request.body(Body::empty()).expect("valid parts");
    let response = api.clone().oneshot(request).await.expect("infallible");
    response.status().as_u16()
}

#[tokio::test]
async fn callers_reach_their_own_statements_only() {
    let activity = Activity::new(true);
    let [lists, cancels] = routes(ActivityApi::new(activity.clone(), "a:1", |_| Vec::new()));
    let api = lists.merge(cancels);
    let call = run(&activity, ALICE, "SELECT 1");
    let path = format!("/api/activity/{}/cancel", call.entry().id().expect("an id"));
    let all = "/api/activity?scope=all";
    for (method, path, caller, expected) in [
        ("GET", "/api/activity", None, 200),
        (
            "GET",
            "/api/activity?scope=own",
            Some(identity("bob", false)),
            200,
        ),
        (
            "GET",
            "/api/activity?scope=mine",
            Some(identity("bob", true)),
            400,
        ),
        ("GET", all, None, 403),
        ("GET", all, Some(identity("bob", false)), 403),
        ("GET", all, Some(identity("bob", true)), 200),
        ("POST", &path, None, 404),
        ("POST", &path, Some(identity("bob", false)), 404),
        ("POST", &path, Some(identity("alice", false)), 202),
    ] {
        let found = status(&api, method, path, caller.clone()).await;
        assert_eq!(found, expected, "{method} {path} {caller:?}");
    }
    assert_eq!(poll(&call), Poll::Ready(CancelledBy::Caller));
}

#[test]
fn the_text_of_the_operator_is_for_administrators_and_others_get_the_name_of_the_tool() {
    let activity = Activity::new(true);
    let call = begin(&activity, ALICE);
    call.entry().conceal();
    call.entry().wait("shop", "SELECT secret FROM internals");
    assert_eq!(
        running(&activity, Some(ALICE))[0]["statement"],
        "query_database"
    );
    let seen = json!(activity.running(Reader {
        has_texts: true,
        ..reader(None)
    }));
    assert_eq!(seen[0]["statement"], "SELECT secret FROM internals");
    call.end(&OK);
    assert_eq!(
        finished(&activity, Some(ALICE))[0]["statement"],
        "query_database"
    );
    // The next call in the same place has a statement of its own.
    run(&activity, ALICE, "SELECT 1").end(&OK);
    assert_eq!(finished(&activity, Some(ALICE))[0]["statement"], "SELECT 1");
}

#[test]
fn literals_of_others_are_hidden_from_the_moment_that_it_is_set() {
    let activity = Activity::new(true);
    let call = run(&activity, ALICE, "SELECT 'sec' FROM t WHERE id = 7");
    run(&activity, ALICE, "SELECT $$sec").end(&OK);
    activity.hide_literals(true);
    let text = |list: Value| list[0]["statement"].as_str().map(str::to_owned);
    let hidden = "SELECT ? FROM t WHERE id = ?";
    assert_eq!(text(running(&activity, None)).as_deref(), Some(hidden));
    assert_eq!(text(finished(&activity, None)).as_deref(), Some("SELECT ?"));
    let own = text(running(&activity, Some(ALICE)));
    assert!(own.is_some_and(|own| own.contains("'sec'")));
    activity.hide_literals(false);
    assert!(text(running(&activity, None)).is_some_and(|it| it.contains("'sec'")));
    call.end(&OK);
}
