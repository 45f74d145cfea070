//! Allocations of calls that are followed for the list of running statements.

use std::task::{Context, Waker};

use ziggurat_calls::{
    Caller,
    activity::{Activity, Begin, End},
};

/// Calls after which each place and each text has its memory.
const WARM_UP: u32 = 1_000;

const ALICE: Caller<'_> = Caller {
    identity: None,
    kind: "user",
    name: "alice",
    account: "alice",
    address: None,
};

const BEGIN: Begin<'_> = Begin {
    via: "http",
    tool: "query_database",
};

const END: End<'_> = End {
    outcome: "ok",
    code: None,
    rows: Some(1),
    bytes: 20,
};

/// Follows a call, with a statement or without.
fn follow(activity: &Activity, statement: Option<&str>) {
    let call = activity.begin(&ALICE, &BEGIN).expect("a place");
    let entry = call.entry();
    if let Some(statement) = statement {
        entry.wait("shop", statement);
        entry.run();
        entry.count(1, 20);
        let polled = entry.poll_cancelled(&Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "nothing cancels it");
    }
    call.end(&END);
}

/// Checks that calls use the memory of those before them.
pub(crate) fn assert_followed_calls_allocate_nothing() {
    let activity = Activity::new(true);
    let statement = Some("SELECT name FROM customers WHERE id = 7");
    for statement in [None, statement] {
        for _ in 0..WARM_UP {
            follow(&activity, statement);
        }
        let counts = (0..5).map(|_| {
            let before = dhat::HeapStats::get().total_blocks;
            follow(&activity, statement);
            dhat::HeapStats::get().total_blocks - before
        });
        // The watchdog thread of the test allocates at times.
        assert_eq!(counts.min(), Some(0), "{statement:?}");
    }
}
