//! Tests of calls and their ends.

use serde_json::{Value, json};

use super::*;
use crate::{
    activity::{Begin, Reader},
    limits::{Limits, tests::for_all},
};

const STATEMENT: Target<'_> = Target {
    route: "tools/call",
    method: "tools/call",
    tool: "query_database",
    is_measured: true,
    followed: Some(Begin {
        via: "http",
        tool: "query_database",
    }),
    ..Target::none()
};

fn calls(activity: &Activity) -> Calls {
    Calls {
        activity: Some(activity.clone()),
        ..Calls::default()
    }
}

fn begin(calls: &Calls, allowance: Option<Arc<Allowance>>) -> Call {
    let (caller, facts) = (Caller::new(None), RequestFacts::default());
    let call = calls.begin(&caller, &STATEMENT, facts, allowance);
    if let Some(entry) = call.entry() {
        entry.wait("shop", "SELECT 1");
    }
    call
}

/// Returns the outcomes of the statements that have ended, the latest first.
fn outcomes(activity: &Activity) -> Vec<Value> {
    let finished = json!(activity.finished(Reader {
        caller: Caller::new(None),
        reads_all: true,
        has_texts: true,
    }));
    let finished = finished.as_array().into_iter().flatten();
    finished.map(|ended| ended["outcome"].clone()).collect()
}

#[test]
fn a_call_without_an_end_was_cancelled() {
    let activity = Activity::new(true);
    let call = begin(&calls(&activity), None);
    let clone = call.clone();
    drop(call);
    assert_eq!(outcomes(&activity), [] as [Value; 0], "a part still has it");
    drop(clone);
    assert_eq!(outcomes(&activity), ["cancelled"]);
}

#[test]
fn the_first_end_counts() {
    let activity = Activity::new(true);
    let call = begin(&calls(&activity), None);
    call.end(Verdict::Ok, "");
    call.end(Verdict::Failed, "500");
    drop(call);
    assert_eq!(outcomes(&activity), ["ok"]);
}

#[test]
fn an_error_has_the_verdict_of_its_reason() {
    let activity = Activity::new(true);
    for (reason, expected) in [
        (None, Verdict::Error),
        (Some(ErrorReason::Refused), Verdict::Refused),
        (Some(ErrorReason::Denied), Verdict::Denied),
        (Some(ErrorReason::Limited("calls")), Verdict::Limited),
        (Some(ErrorReason::Timeout), Verdict::Timeout),
    ] {
        let call = begin(&calls(&activity), None);
        if let Some(reason) = reason {
            call.set_reason(reason);
        }
        call.note_error();
        call.note(Verdict::Ok);
        assert_eq!(call.noted(), Some(expected), "{reason:?}");
    }
}

#[test]
fn nothing_is_noted_of_a_call_where_everything_is_off() {
    let call = begin(&Calls::default(), None);
    assert!(call.is_off());
    call.set_reason(ErrorReason::Denied);
    call.note_error();
    assert_eq!((call.reason(), call.noted()), (None, None));
}

#[test]
fn bytes_that_were_counted_while_they_were_sent_are_not_counted_again() {
    let activity = Activity::new(true);
    let limits = Limits::new(for_all("bytes_per_day: 100"));
    let allowance = Caller::new(None).allowance(&limits);
    let call = begin(&calls(&activity), allowance.clone());
    call.count(1, 30);
    call.end_with(Verdict::Ok, 50, "");
    let left = allowance.map(|allowance| allowance.left().bytes);
    assert_eq!(left, Some(Some(50)));
}
