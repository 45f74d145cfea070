use super::*;
use crate::{calls::request::Request, report::Place};

fn case(rule: Rule, is_table: bool) -> Case {
    Case {
        rule,
        place: Place::default(),
        entrance: String::new(),
        is_table,
        request: Request::get("/"),
        sent: Vec::new(),
    }
}

/// Returns the name of the rule that two answers break, where both canaries are `canary-of-b`.
fn found(rule: Rule, is_table: bool, answers: [&str; 2]) -> Option<String> {
    let mut canaries = Canaries::default();
    canaries.add("canary-of-b");
    let broken = broken(&case(rule, is_table), answers, [&canaries, &canaries]);
    broken.map(|rule| rule.name().to_owned())
}

#[test]
fn answers_break_the_rule_of_what_came_back() {
    use Rule::{Count, ErrorText, Plan, Row, Size, Statistics, Value};
    let failure = r#"{"error":{"message":"division by zero"}}"#;
    for (rule, is_table, answers, expected) in [
        (Row, true, ["same", "same"], None),
        (Row, true, ["1", "2"], Some("row")),
        (Row, false, ["1", "2"], Some("count")),
        (Row, true, ["x", "CANARY-OF-B"], Some("row")),
        (Row, false, ["canary-of-b", "canary-of-b"], Some("row")),
        (Value, true, ["1", "2"], Some("value")),
        (Count, true, ["1", "2"], Some("count")),
        (Count, true, ["canary-of-b", "2"], Some("value")),
        (ErrorText, true, ["1", "2"], Some("count")),
        (Row, true, ["1", failure], Some("error-text")),
        (Count, true, [failure, "1"], Some("error-text")),
        (Plan, true, ["rows=5", "rows=6"], Some("plan")),
        (Statistics, true, ["a", "b"], Some("statistics")),
        (Statistics, true, ["~5 rows", "~9 rows"], None),
        (Size, true, ["8192", "16384"], Some("size")),
        (Size, true, ["canary-of-b", "1"], Some("value")),
    ] {
        let found = found(rule.clone(), is_table, answers);
        assert_eq!(
            found.as_deref(),
            expected,
            "{rule:?} {is_table} {answers:?}"
        );
    }
}

#[test]
fn only_times_of_calls_and_their_ids_may_differ() {
    let row = |answers| found(Rule::Row, true, answers);
    for answers in [
        ["at 2026-01-02T03:04:05.678Z", "at 2026-01-02 03:04:06+00"],
        [r#"{"ms": 1.5}"#, r#"{"ms": 22}"#],
        ["Execution Time: 0.05 ms", "Execution Time: 11.1 ms"],
        ["<data 1a2b>", "<data ff>"],
    ] {
        assert_eq!(row(answers), None, "{answers:?}");
    }
    for answers in [
        // The planted times of two worlds.
        ["2028-01-02T00:00:00Z", "2028-01-03T00:00:00Z"],
        ["2028-01-02", "2028-01-03"],
        [r#"{"total": 1}"#, r#"{"total": 2}"#],
    ] {
        assert!(row(answers).is_some(), "{answers:?}");
    }
}
