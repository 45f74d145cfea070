use proptest::prelude::*;
use ziggurat_layers::rate_limit::{Key, Policy as _, Quota, Steady};

use super::*;
use crate::limits::Refused;

fn quota(text: &str) -> Quota {
    text.parse().expect(text)
}

#[test]
fn calls_are_refused_above_the_limit_with_the_time_to_wait() {
    let (limits, clock) = limits(for_all("calls: 3 per minute"));
    for number in 1..=3 {
        assert_eq!(of(&limits, ALICE).call(), Ok(()), "{number}");
    }
    let refused = of(&limits, ALICE).call().expect_err("the fourth");
    let sentence = "Too many calls: 3 per minute. Try again in 20 s.";
    assert_eq!(refused.to_string(), sentence);
    assert_eq!(
        (refused.key(), refused.retry_after_seconds()),
        ("calls", Some(20))
    );
    clock.advance(Duration::from_millis(18_500));
    let refused = of(&limits, ALICE).call().expect_err("still the fourth");
    let sentence = "Too many calls: 3 per minute. Try again in 2 s.";
    assert_eq!(refused.to_string(), sentence);
    clock.advance(Duration::from_millis(1500));
    assert_eq!(of(&limits, ALICE).call(), Ok(()));
}

#[test]
fn callers_are_independent_and_kinds_share_no_name() {
    let (limits, _) = limits(for_all("calls: 1 per hour, rows_per_day: 10"));
    let client = |subject, client| CallerId::Client {
        subject,
        client,
        tenant: None,
        scopes: &[],
    };
    for caller in [
        ALICE,
        BOB,
        CallerId::Token {
            id: "alice",
            toolsets: &[],
        },
        client("alice", None),
        CallerId::Local,
        CallerId::User(""),
    ] {
        assert_eq!(of(&limits, caller).call(), Ok(()), "{caller:?}");
        assert_eq!(of(&limits, caller).left().rows, Some(10), "{caller:?}");
        of(&limits, caller).rows(10);
    }
    // Another client of the same subject is the same caller.
    assert!(of(&limits, client("alice", Some("bot"))).call().is_err());
}

#[test]
fn a_caller_is_flooding_beyond_twice_its_calls() {
    let (limits, clock) = limits(for_all("calls: 3 per minute"));
    for number in 1..=6 {
        assert_eq!(of(&limits, ALICE).flooding(), None, "{number}");
        assert_eq!(of(&limits, ALICE).call().is_ok(), number <= 3, "{number}");
    }
    let refused = of(&limits, ALICE).flooding().expect("the seventh");
    assert_eq!(
        (refused.key(), refused.retry_after_seconds()),
        ("calls", Some(20))
    );
    assert_eq!(of(&limits, BOB).flooding(), None);
    clock.advance(Duration::from_secs(20));
    assert_eq!(of(&limits, ALICE).flooding(), None);
    assert_eq!(of(&limits, ALICE).call(), Ok(()));
    // One more is read and refused, and those behind it are not read.
    assert_eq!(of(&limits, ALICE).flooding(), None);
    assert!(of(&limits, ALICE).call().is_err());
    assert!(of(&limits, ALICE).flooding().is_some());
}

#[test]
fn without_limit_of_calls_none_is_refused() {
    let (limits, _) = limits(for_all("rows_per_day: 1"));
    for _ in 0..1000 {
        assert_eq!(of(&limits, ALICE).call(), Ok(()));
    }
    assert_eq!(of(&limits, ALICE).flooding(), None);
}

#[test]
fn replaced_limits_keep_the_counts_and_calls_that_have_begun_keep_their_limits() {
    let (limits, _) = limits(for_all("calls: 4 per minute"));
    let begun = of(&limits, ALICE);
    for _ in 0..4 {
        assert_eq!(begun.call(), Ok(()));
    }
    // Half of a minute is used by four of eight calls.
    limits.replace(for_all("calls: 8 per 2 minutes"));
    let ok = (0..9).filter(|_| of(&limits, ALICE).call().is_ok());
    assert_eq!(ok.count(), 4);
    limits.replace(for_all("max_cost: 5"));
    assert_eq!(of(&limits, ALICE).call(), Ok(()));
    assert!(begun.call().is_err());
    limits.replace(Settings::default());
    assert!(limits.of(&ALICE).is_none());
    limits.replace(for_all("calls: 4 per minute"));
    assert!(of(&limits, ALICE).call().is_err());
    assert_eq!(of(&limits, BOB).call(), Ok(()));
}

#[test]
fn limits_with_other_settings_count_together_and_each_keeps_its_own() {
    let (old, _) = limits(for_all("calls: 4 per minute, rows_per_day: 10"));
    let new = old.with_settings(for_all("calls: 2 per minute, rows_per_day: 20"));
    for _ in 0..2 {
        assert_eq!(of(&old, ALICE).call(), Ok(()));
    }
    of(&old, ALICE).rows(3);
    // Half of a minute is used, which is one of two calls.
    assert_eq!(of(&new, ALICE).call(), Ok(()));
    assert!(of(&new, ALICE).call().is_err());
    assert_eq!(of(&new, ALICE).left().rows, Some(17));
    assert_eq!(of(&old, ALICE).left().rows, Some(7));
    assert_eq!(new.usage_since_last().len(), 1);
    let none = old.with_settings(Settings::default());
    assert!(none.of(&ALICE).is_none() && old.of(&ALICE).is_some());
}

#[test]
fn refusals_of_costs_name_the_limit_and_suggest_no_wait() {
    let (limits, _) = limits(for_all("max_cost: 500000"));
    let max = of(&limits, ALICE).max_cost().expect("a limit");
    let cost = 500_000.01;
    let refused = [Refused::MaxCost { cost, max }, Refused::UnknownCost { max }];
    let sentences = [
        "The statement was not run: its estimated cost 500000.01 is above 500000.",
        "The statement was not run: its cost is above 500000, or cannot be estimated. Send one query \
         or change at a time.",
    ];
    for (refused, sentence) in refused.iter().zip(sentences) {
        assert_eq!(refused.to_string(), sentence);
        assert_eq!(
            (refused.key(), refused.retry_after_seconds()),
            ("max_cost", None)
        );
    }
    limits.replace(for_all("calls: 1/s"));
    assert_eq!(of(&limits, ALICE).max_cost(), None);
}

#[test]
fn a_burst_limits_the_calls_at_once_and_so_those_of_any_window() {
    for (limit, at_once, in_a_minute) in [
        ("calls: 60 per minute", 60, 119),
        ("calls: 60 per minute, burst: 1", 1, 60),
        ("calls: 60 per minute, burst: 10", 10, 69),
        ("calls: 60 per minute, burst: 100", 100, 159),
    ] {
        let (limits, clock) = limits(for_all(limit));
        let admitted = || {
            let calls = (0..200).take_while(|_| of(&limits, ALICE).call().is_ok());
            calls.count()
        };
        assert_eq!(admitted(), at_once, "{limit}");
        let mut more = 0;
        for _ in 0..59 {
            clock.advance(SECOND);
            more += admitted();
        }
        assert_eq!(at_once + more, in_a_minute, "{limit}");
        clock.advance(Duration::from_millis(500));
        let refused = of(&limits, ALICE).call().expect_err("half a second");
        let sentence = "Too many calls: 60 per minute. Try again in 1 s.";
        assert_eq!(refused.to_string(), sentence);
    }
}

proptest! {
    #[test]
    fn what_is_announced_is_what_the_policy_says(
        count in 1..50_u32,
        seconds in 1..100_u64,
        pauses in prop::collection::vec(0..3_000_000_000_u64, 1..100),
    ) {
        let quota = quota(&format!("{count} per {seconds} seconds"));
        let (limits, clock) = limits(for_all(&format!("calls: {quota}")));
        let steady = Steady::new(quota).with_clock(clock.clone());
        for pause in pauses {
            clock.advance(Duration::from_nanos(pause));
            let expected = steady.admit(Key::UNKNOWN, quota);
            let allowance = of(&limits, ALICE);
            prop_assert_eq!(allowance.call().is_ok(), expected.is_ok());
            let left = allowance.counts.calls.remaining(quota, count);
            prop_assert_eq!(left.count(), expected.map_or(0, |expected| expected.count()));
            if let Ok(expected) = expected {
                prop_assert_eq!(left, expected);
            }
        }
    }
}
