use ziggurat_tokens::CallerDigest;

use super::*;
use crate::limits::LeaseRequest;

/// Makes calls, and returns how many were admitted.
fn admitted(limits: &Limits<ManualClock>, calls: u32) -> u32 {
    let admitted = (0..calls).filter(|_| of(limits, ALICE).call().is_ok());
    admitted.count().try_into().expect("few")
}

fn alice() -> CallerDigest {
    ALICE.digest()
}

#[test]
fn a_replica_that_does_not_share_admits_the_whole_window() {
    let (limits, _) = limits(for_all("calls: 40 per minute"));
    assert_eq!(admitted(&limits, 50), 40);
    limits.share_calls(true);
    limits.share_calls(false);
    assert_eq!(admitted(&limits, 1), 0);
}

#[tokio::test]
async fn a_replica_that_shares_admits_a_block_and_what_it_leases() {
    let (limits, _) = limits(for_all("calls: 40 per minute"));
    limits.share_calls(true);
    assert_eq!(admitted(&limits, 50), 10, "a block");
    let refused = of(&limits, ALICE).call().expect_err("used up");
    assert_eq!(refused.retry_after_seconds(), Some(2), "60 s / 40");
    let request = LeaseRequest {
        caller: alice(),
        interval: Duration::from_millis(1500),
        burst: 40,
        calls: 10,
    };
    assert_eq!(limits.wanted_leases().await, [request]);
    limits.grant(alice(), 7);
    assert_eq!(admitted(&limits, 50), 7);
    assert_eq!(limits.wanted_leases().await, [request], "asked again");
    // The window of this replica holds, whatever it leases.
    for _ in 0..10 {
        limits.grant(alice(), 10);
        admitted(&limits, 50);
    }
    assert_eq!(
        of(&limits, ALICE).call().map_err(|it| it.key()),
        Err("calls")
    );
    let left: u32 = 40 - 17 - 23;
    limits.grant(alice(), 10);
    assert_eq!(admitted(&limits, 50), left);
}

#[tokio::test]
async fn calls_that_others_have_used_do_not_count_in_the_window_of_a_replica() {
    let (limits, _) = limits(for_all("calls: 8 per minute"));
    limits.share_calls(true);
    assert_eq!(admitted(&limits, 100), 2);
    limits.share_calls(false);
    assert_eq!(admitted(&limits, 100), 6, "it counts alone");
}

#[tokio::test]
async fn a_burst_of_one_has_a_block_of_one() {
    let (limits, clock) = limits(for_all("calls: 60 per minute, burst: 1"));
    limits.share_calls(true);
    assert_eq!(admitted(&limits, 3), 1);
    assert_eq!(limits.wanted_leases().await.len(), 1);
    clock.advance(SECOND);
    assert_eq!(admitted(&limits, 3), 0, "not leased yet");
    limits.grant(alice(), 1);
    assert_eq!(admitted(&limits, 3), 1);
}
