use proptest::prelude::*;

use super::*;
use crate::limits::{Refused, Usage};

/// Returns the usage of Alice on a day of the clock.
fn usage(day: u64, rows: u64, bytes: u64) -> Usage {
    Usage {
        caller: ALICE.digest(),
        day,
        rows,
        bytes,
    }
}

#[test]
fn rows_of_a_day_are_refused_at_the_limit() {
    let (limits, _) = limits(for_all("rows_per_day: 100"));
    let allowance = of(&limits, ALICE);
    for (rows, left) in [(0, 100), (99, 1)] {
        allowance.rows(rows);
        assert_eq!(allowance.day(), Ok(()), "{rows}");
        assert_eq!(of(&limits, ALICE).left().rows, Some(left));
    }
    for rows in [1, 5] {
        allowance.rows(rows);
        assert_eq!(of(&limits, ALICE).left().rows, Some(0));
        let refused = of(&limits, ALICE).day().expect_err("used up");
        let sentence = "The allowance of rows for today is used up. It starts anew at 00:00 UTC.";
        assert_eq!(refused.to_string(), sentence);
        assert_eq!(refused.key(), "rows_per_day");
        assert_eq!(refused.retry_after_seconds(), Some(86_399));
    }
    assert_eq!(of(&limits, BOB).day(), Ok(()));
}

#[test]
fn bytes_of_a_day_are_refused_at_the_limit() {
    let (limits, _) = limits(for_all("bytes_per_day: 100, rows_per_day: 1000"));
    let allowance = of(&limits, ALICE);
    allowance.bytes(99);
    allowance.rows(200);
    assert_eq!((allowance.day(), allowance.left().bytes), (Ok(()), Some(1)));
    allowance.bytes(1);
    let refused = of(&limits, ALICE).day().expect_err("used up");
    let sentence = "The allowance of bytes for today is used up. It starts anew at 00:00 UTC.";
    assert_eq!(refused.to_string(), sentence);
    assert_eq!(refused.key(), "bytes_per_day");
    // With both used up, the rows are named.
    allowance.rows(800);
    assert!(matches!(allowance.day(), Err(Refused::RowsPerDay { .. })));
}

#[test]
fn a_day_ends_at_midnight_also_for_calls_that_run() {
    let (limits, clock) = limits(for_all("rows_per_day: 10, bytes_per_day: 10"));
    let running = of(&limits, ALICE);
    running.rows(10);
    // The day is a second old.
    clock.advance(Duration::from_nanos(86_398_999_999_999));
    let refused = running.day().expect_err("a nanosecond before midnight");
    assert_eq!(refused.retry_after_seconds(), Some(1));
    clock.advance(Duration::from_nanos(1));
    assert_eq!((running.day(), running.left().rows), (Ok(()), Some(10)));
    running.rows(4);
    running.bytes(7);
    assert_eq!(of(&limits, ALICE).left().rows, Some(6));
    assert_eq!(of(&limits, ALICE).left().bytes, Some(3));
    clock.advance(DAY);
    assert_eq!(of(&limits, ALICE).left().bytes, Some(10));
}

#[test]
fn replaced_limits_keep_the_rows_of_the_day() {
    let (limits, _) = limits(for_all("rows_per_day: 10"));
    of(&limits, ALICE).rows(10);
    of(&limits, ALICE).bytes(50);
    limits.replace(for_all("rows_per_day: 20, bytes_per_day: 60"));
    assert_eq!(of(&limits, ALICE).left().rows, Some(10));
    assert_eq!(of(&limits, ALICE).left().bytes, Some(10));
    limits.replace(for_all("rows_per_day: 5"));
    assert!(of(&limits, ALICE).day().is_err());
}

#[test]
fn replicas_add_up_what_they_have_sent() {
    let (one, clock) = limits(for_all("rows_per_day: 100, bytes_per_day: 100"));
    let two = Limits::with_clock(
        for_all("rows_per_day: 100, bytes_per_day: 100"),
        clock.clone(),
    );
    of(&one, ALICE).rows(30);
    of(&one, ALICE).bytes(40);
    of(&two, BOB);
    let report = one.usage_since_last();
    assert_eq!(report, [usage(20_000, 30, 40)]);
    two.add(report);
    assert_eq!(of(&two, ALICE).left().rows, Some(70));
    of(&two, ALICE).rows(70);
    // What another replica has sent is not reported again.
    let report = two.usage_since_last();
    assert_eq!(report, [usage(20_000, 70, 0)]);
    one.add(report);
    assert!(of(&one, ALICE).day().is_err());
    assert_eq!(of(&one, ALICE).left().bytes, Some(60));
    assert_eq!(
        (one.usage_since_last(), two.usage_since_last()),
        (vec![], vec![])
    );
    clock.advance(DAY);
    of(&one, ALICE).rows(10);
    // A report that comes after midnight, and one of a clock that is fast.
    one.add([usage(20_000, 50, 50), usage(20_002, 50, 50)]);
    assert_eq!(of(&one, ALICE).left().rows, Some(90));
    one.add([usage(20_001, 50, 50)]);
    assert_eq!(of(&one, ALICE).left().rows, Some(40));
}

#[test]
fn counts_do_not_overflow() {
    let (limits, _) = limits(for_all("rows_per_day: 999999999999999"));
    for _ in 0..3 {
        of(&limits, ALICE).rows(u64::MAX);
    }
    limits.add([usage(20_000, u64::MAX, u64::MAX)]);
    assert!(of(&limits, ALICE).day().is_err());
}

proptest! {
    #[test]
    fn a_day_is_exceeded_by_one_answer_at_most(
        limit in 1..2000_u64,
        answers in prop::collection::vec((0..300_u64, 0..300_u64), 0..60),
    ) {
        let text = format!("rows_per_day: {limit}, bytes_per_day: {limit}");
        let (limits, _) = limits(for_all(&text));
        let (mut rows, mut bytes, mut largest) = (0, 0, 0);
        for answer in answers {
            let allowance = of(&limits, ALICE);
            let may_run = rows < limit && bytes < limit;
            prop_assert_eq!(allowance.day().is_ok(), may_run);
            if may_run {
                allowance.rows(answer.0);
                allowance.bytes(answer.1);
                rows += answer.0;
                bytes += answer.1;
                largest = largest.max(answer.0).max(answer.1);
            }
            prop_assert_eq!(allowance.left().rows, Some(limit.saturating_sub(rows)));
            prop_assert!(rows.max(bytes) < limit + largest.max(1));
        }
    }

    #[test]
    fn an_answer_that_ends_when_nothing_is_left_exceeds_a_day_by_no_row(
        limit in 1..500_u64,
        answers in prop::collection::vec(0..300_u64, 0..20),
    ) {
        let (limits, _) = limits(for_all(&format!("rows_per_day: {limit}")));
        let mut sent = 0;
        for answer in answers {
            let allowance = of(&limits, ALICE);
            for _ in 0..answer {
                if allowance.left().rows == Some(0) {
                    break;
                }
                allowance.rows(1);
                sent += 1;
            }
        }
        prop_assert!(sent <= limit);
    }
}
