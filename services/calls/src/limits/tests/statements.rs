use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{task::JoinSet, time::Instant};
use tokio_test::{assert_pending, assert_ready, task};

use super::*;

const LEASE: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn a_statement_above_the_limit_waits_and_is_refused_after_the_timeout() {
    let (limits, _) = limits(for_all("concurrent: 2"));
    let first = of(&limits, ALICE).statement(LEASE).await.expect("one");
    let _second = of(&limits, ALICE).statement(LEASE).await.expect("two");
    let _other = of(&limits, BOB).statement(LEASE).await.expect("of Bob");
    let began = Instant::now();
    let refused = of(&limits, ALICE)
        .statement(LEASE)
        .await
        .expect_err("three");
    assert_eq!(began.elapsed(), LEASE);
    assert_eq!(refused.to_string(), "Too many statements at once: 2.");
    assert_eq!(
        (refused.key(), refused.retry_after_seconds()),
        ("concurrent", Some(1))
    );
    assert!(of(&limits, ALICE).statement(Duration::ZERO).await.is_err());
    drop(first);
    assert!(of(&limits, ALICE).statement(Duration::ZERO).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn statements_get_their_turn_in_order_and_one_that_is_dropped_gives_up_its_place() {
    let (limits, _) = limits(for_all("concurrent: 1"));
    let running = of(&limits, ALICE)
        .statement(LEASE)
        .await
        .expect("the first");
    let mut waiting: Vec<_> = (0..3)
        .map(|_| task::spawn(of(&limits, ALICE).statement(LEASE)))
        .collect();
    for statement in &mut waiting {
        assert_pending!(statement.poll());
    }
    drop(waiting.remove(0));
    assert_pending!(waiting[0].poll());
    drop(running);
    // A new one does not overtake those that wait.
    let mut late = task::spawn(of(&limits, ALICE).statement(LEASE));
    assert_pending!(late.poll());
    assert_pending!(waiting[1].poll());
    assert!(waiting[0].is_woken());
    let second = assert_ready!(waiting[0].poll()).expect("its turn");
    drop(second);
    // A permit that was granted to a statement that is gone goes to the next.
    drop(waiting.remove(1));
    drop(assert_ready!(late.poll()).expect("its turn"));
    assert!(of(&limits, ALICE).statement(Duration::ZERO).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_never_run_more_statements_than_the_limit() {
    let (limits, _) = limits(for_all("concurrent: 3"));
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = JoinSet::new();
    for number in 0..400 {
        let (limits, running, most) = (limits.clone(), Arc::clone(&running), Arc::clone(&most));
        tasks.spawn(async move {
            let patience = Duration::from_mins(1);
            let statement = of(&limits, ALICE).statement(patience);
            if number % 7 == 0 {
                // Cancelled before its turn or at once after it.
                tokio::select! {
                    biased;
                    () = tokio::task::yield_now() => {}
                    _ = statement => {}
                }
                return;
            }
            let _permit = statement.await.expect("its turn");
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
        });
    }
    tasks.join_all().await;
    assert!((1..=3).contains(&most.load(Ordering::SeqCst)), "{most:?}");
    // All permits are back.
    let mut permits = Vec::new();
    for _ in 0..3 {
        permits.push(
            of(&limits, ALICE)
                .statement(Duration::ZERO)
                .await
                .expect("free"),
        );
    }
    assert!(of(&limits, ALICE).statement(Duration::ZERO).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_replaced_limit_counts_the_statements_that_run() {
    let (limits, _) = limits(for_all("concurrent: 3"));
    let now = || {
        let allowance = of(&limits, ALICE);
        async move { allowance.statement(Duration::ZERO).await }
    };
    let mut running = Vec::new();
    for _ in 0..3 {
        running.push(now().await.expect("one of three"));
    }
    limits.replace(for_all("concurrent: 1"));
    for left in [2, 1] {
        assert!(now().await.is_err(), "{left}");
        running.pop();
    }
    assert!(now().await.is_err(), "one still runs");
    limits.replace(for_all("concurrent: 2"));
    running.push(now().await.expect("two of two"));
    assert!(now().await.is_err());
    // A lowered limit that is raised again while more statements run.
    limits.replace(for_all("concurrent: 1"));
    assert!(now().await.is_err());
    limits.replace(for_all("concurrent: 4"));
    for _ in 0..2 {
        running.push(now().await.expect("four of four"));
    }
    assert!(now().await.is_err());
    // Without a limit all run, and those that have begun are still counted.
    limits.replace(for_all("calls: 1/s"));
    assert!(now().await.is_ok());
    limits.replace(for_all("concurrent: 4"));
    assert!(now().await.is_err());
    running.clear();
    for _ in 0..4 {
        running.push(now().await.expect("free again"));
    }
    assert!(now().await.is_err());
}
