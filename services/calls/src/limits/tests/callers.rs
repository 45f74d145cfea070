use super::*;

const USED: u64 = 7;

fn name(number: usize) -> String {
    format!("user {number}")
}

fn user(name: &str) -> CallerId<'_> {
    CallerId::User(name)
}

/// Returns limits for a few callers only.
fn small(limits_of_all: &str, max: usize) -> (Limits<ManualClock>, ManualClock) {
    let all = format!("callers: [{{for: {{everyone: true}}, {limits_of_all}}}]");
    limits(settings(&format!("{all}, max_callers: {max}")))
}

#[test]
fn names_without_end_do_not_take_more_than_their_places() {
    for max in [1, 2, 15, 100] {
        let (limits, _) = small("calls: 1 per hour", max);
        for number in 0..10_000 {
            let _ = of(&limits, user(&name(number)));
            assert!(limits.callers().len() <= max, "{number} of {max}");
        }
    }
}

#[test]
fn a_dropped_caller_comes_back_with_no_more_rows_than_before() {
    let (limits, clock) = small("rows_per_day: 10", 32);
    // As many callers again as there are places, in turns, so that each is dropped.
    for round in 0..5 {
        for number in 0..64 {
            let (name, before) = (name(number), 10 - 2 * round);
            let allowance = of(&limits, user(&name));
            let left = allowance.left().rows.expect("a limit");
            assert!(left <= before, "{left} in round {round}");
            allowance.rows(2);
        }
    }
    assert!(of(&limits, user("new")).day().is_err());
    clock.advance(DAY);
    assert_eq!(of(&limits, user("new")).left().rows, Some(10));
    assert_eq!(of(&limits, user("another")).left().rows, Some(10));
}

#[test]
fn a_dropped_caller_waits_for_its_calls_as_long_as_before() {
    let (limits, clock) = small("calls: 4 per hour", 16);
    let mut admitted = [0; 32];
    for _ in 0..20 {
        for (number, admitted) in admitted.iter_mut().enumerate() {
            *admitted += u32::from(of(&limits, user(&name(number))).call().is_ok());
        }
    }
    assert!(
        admitted.iter().all(|admitted| *admitted <= 4),
        "{admitted:?}"
    );
    clock.advance(Duration::from_hours(1));
    for number in 100..110 {
        let allowance = of(&limits, user(&name(number)));
        assert_eq!(allowance.call(), Ok(()), "{number}");
    }
}

#[test]
fn those_that_have_used_least_go_first_and_of_them_the_oldest() {
    let (limits, clock) = small("rows_per_day: 10", 16);
    of(&limits, ALICE).rows(USED);
    for number in 0..15 {
        clock.advance(SECOND);
        let _ = of(&limits, user(&name(number)));
    }
    clock.advance(SECOND);
    let _ = of(&limits, user(&name(0)));
    assert_eq!(limits.callers().len(), 16);
    assert_eq!(
        of(&limits, BOB).left().rows,
        Some(10),
        "an unused allowance went"
    );
    let has = |caller: CallerId<'_>| limits.callers().has(caller.digest());
    assert!(has(ALICE) && has(user(&name(0))) && has(user(&name(2))));
    assert!(!has(user(&name(1))));
    assert_eq!(of(&limits, ALICE).left().rows, Some(10 - USED));
}

#[test]
fn rows_that_are_not_limited_take_nothing_from_new_callers() {
    let (limits, _) = limits(settings(
        "max_callers: 4, callers: [
           {for: {users: [alice, bob]}, calls: 100/s},
           {for: {everyone: true}, rows_per_day: 10}]",
    ));
    of(&limits, ALICE).rows(1_000_000);
    for number in 0..100 {
        let _ = of(&limits, user(&name(number)));
    }
    assert_eq!(of(&limits, user("new")).left().rows, Some(10));
}

#[tokio::test]
async fn callers_with_running_calls_stay_and_new_ones_share_an_allowance() {
    let (limits, _) = small("rows_per_day: 10, concurrent: 1", 2);
    let alice = of(&limits, ALICE);
    let permit = of(&limits, BOB).statement(SECOND).await.expect("the first");
    for number in 0..10 {
        let name = name(number);
        let allowance = of(&limits, user(&name));
        assert_eq!(allowance.left().rows, Some(10 - number as u64));
        allowance.rows(1);
    }
    assert!(of(&limits, user("new")).day().is_err());
    assert!(of(&limits, BOB).statement(Duration::ZERO).await.is_err());
    alice.rows(3);
    assert_eq!(of(&limits, ALICE).left().rows, Some(7));
    drop((alice, permit));
    assert_eq!(of(&limits, user("new")).left().rows, Some(10));
}

#[test]
fn usage_of_dropped_callers_is_reported_and_that_of_replicas_bounded() {
    let (limits, _) = small("rows_per_day: 1000", 8);
    assert!(limits.usage_since_last().is_empty());
    for number in 0..12 {
        of(&limits, user(&name(number))).rows(1);
    }
    let report = limits.usage_since_last();
    assert_eq!(report.len(), 12);
    assert!(report.iter().all(|usage| usage.rows == 1));
    let (other, _) = small("rows_per_day: 1000", 8);
    other.add(report);
    assert!(other.callers().len() <= 8);
}

#[test]
fn a_lower_maximum_holds_from_the_next_new_caller_on() {
    let (limits, _) = small("calls: 1/s", 100);
    for number in 0..100 {
        let _ = of(&limits, user(&name(number)));
    }
    let all = "callers: [{for: {everyone: true}, calls: 1/s}], max_callers: 3";
    limits.replace(settings(all));
    let _ = of(&limits, user("new"));
    assert_eq!(limits.callers().len(), 3);
}
