//! Disks that are full, writers that are gone, and queues that are full.

use std::{fs, time::Duration};

use super::*;
use crate::{OpenError, Unavailable, queue::MAX_LINES};

#[tokio::test]
async fn on_a_full_disk_no_required_call_runs_until_there_is_room() {
    for cannot_cut in [false, true] {
        let trail = Trail::new();
        let (audit, writer) = Audit::open(trail.required()).expect("opened");
        let disk = with_faults(&writer);
        let thread = thread::spawn(move || writer.run());
        let under_way = tool_call(&audit, "under_way");
        under_way.open().await.expect("written");

        disk.is_full.store(true, SeqCst);
        disk.cannot_cut.store(cannot_cut, SeqCst);
        for _ in 0..3 {
            let call = tool_call(&audit, "refused");
            assert_eq!(call.open().await, Err(Unavailable));
            assert_eq!(call.open().await, Err(Unavailable));
            call.end(Verdict::Failed);
        }
        // The end of a call that runs must not be lost.
        under_way.end(Verdict::Ok);
        assert!(audit.counts().failures >= 3);
        assert_eq!(audit.counts().missed, 3);

        disk.is_full.store(false, SeqCst);
        disk.cannot_cut.store(false, SeqCst);
        whole_call(&audit, "after").await;
        drop(under_way);
        finish((audit, thread));
        let count = |kind| trail.of_kind(kind).len();
        assert_eq!(["open", "call", "gap", "stop"].map(count), [2, 2, 1, 1]);
        assert_eq!(trail.of_kind("gap")[0]["missed"], 3);
        assert!(!trail.text().contains("refused"));
        trail.assert_good();
    }
}

#[test]
fn records_that_cannot_be_written_before_the_end_are_missed() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.settings()).expect("opened");
    let disk = with_faults(&writer);
    disk.is_full.store(true, SeqCst);
    tool_call(&audit, "lost").end(Verdict::Ok);
    audit.close();
    writer.run();
    assert_eq!(audit.counts().records, 0);
    assert!(audit.counts().failures > 0);
    assert_eq!(audit.counts().missed, 1);
    assert_eq!(trail.kinds(), ["start"]);
    trail.assert_good();
}

#[tokio::test]
async fn a_line_that_cannot_be_synced_counts_as_not_written() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.synced()).expect("opened");
    let disk = with_faults(&writer);
    let thread = thread::spawn(move || writer.run());
    whole_call(&audit, "synced").await;
    assert!(disk.syncs.load(SeqCst) >= 1);
    disk.cannot_sync.store(true, SeqCst);
    assert_eq!(tool_call(&audit, "x").open().await, Err(Unavailable));
    disk.cannot_sync.store(false, SeqCst);
    whole_call(&audit, "again").await;
    finish((audit, thread));
    let count = |kind| trail.of_kind(kind).len();
    assert_eq!(["open", "call", "gap"].map(count), [2, 2, 1]);
    trail.assert_good();
}

#[test]
fn a_full_queue_is_waited_for_and_then_counted() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.settings()).expect("opened");
    for _ in 0..MAX_LINES {
        tool_call(&audit, "kept").end(Verdict::Ok);
    }
    assert_eq!(audit.counts().missed, 0);
    tool_call(&audit, "missed").end(Verdict::Ok);
    assert_eq!(audit.counts().missed, 1);
    // A call that waits gets the room that the writer makes.
    let late = audit.clone();
    let late = thread::spawn(move || tool_call(&late, "late").end(Verdict::Ok));
    let thread = thread::spawn(move || writer.run());
    late.join().expect("ended");
    finish((audit, thread));
    let missed: u64 = trail
        .of_kind("gap")
        .iter()
        .filter_map(|gap| gap["missed"].as_u64())
        .sum();
    let calls = trail.of_kind("call").len() as u64;
    assert_eq!(calls + missed, MAX_LINES as u64 + 2);
    assert!(missed >= 1);
    trail.assert_good();
}

#[tokio::test]
async fn a_call_fails_when_the_writer_is_gone() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.synced()).expect("opened");
    let call = tool_call(&audit, "waiting");
    let mut open = tokio_test::task::spawn(call.open());
    assert!(open.poll().is_pending());
    drop(writer);
    assert_eq!(open.await, Err(Unavailable));
    assert_eq!(tool_call(&audit, "late").open().await, Err(Unavailable));
}

#[tokio::test]
async fn a_writer_that_is_told_to_close_writes_what_is_queued() {
    let trail = Trail::new();
    let (audit, thread) = started(trail.settings());
    let call = tool_call(&audit, "under_way");
    tool_call(&audit, "queued").end(Verdict::Ok);
    audit.close();
    thread.join().expect("the writer ends");
    call.end(Verdict::Ok);
    assert_eq!(trail.kinds(), ["start", "call", "stop"]);
    assert_eq!(audit.counts().missed, 1);
}

#[test]
fn a_file_is_synced_when_its_time_has_come() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(Settings {
        fsync: Fsync::Every(Duration::from_millis(1)),
        ..trail.settings()
    })
    .expect("opened");
    let disk = with_faults(&writer);
    tool_call(&audit, "x").end(Verdict::Ok);
    finish((audit, thread::spawn(move || writer.run())));
    assert!(disk.syncs.load(SeqCst) >= 1);
}

#[test]
fn a_server_does_not_start_when_its_first_line_cannot_be_written() {
    if !fs::exists("/dev/full").expect("a folder") {
        return;
    }
    let settings = Settings::new(Destination::File("/dev/full".into()));
    let error = Audit::open(settings).expect_err("it is full");
    assert!(matches!(error, OpenError::Write(_)), "{error:?}");
}
