//! Disks that are full, writers that are gone, and queues that are full.

use std::fs;

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

#[tokio::test]
async fn the_trail_is_available_again_without_a_call_as_soon_as_there_is_room() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.required()).expect("opened");
    let disk = with_faults(&writer);
    let unavailable = audit.unavailable();
    let thread = thread::spawn(move || writer.run());
    whole_call(&audit, "before").await;
    assert!(!unavailable.load(SeqCst));
    disk.is_full.store(true, SeqCst);
    assert_eq!(tool_call(&audit, "x").open().await, Err(Unavailable));
    assert!(unavailable.load(SeqCst));
    disk.is_full.store(false, SeqCst);
    until("it is available", || !unavailable.load(SeqCst));
    finish((audit, thread));
    assert_eq!(trail.of_kind("gap")[0]["missed"], 1);
    trail.assert_good();
}

#[test]
fn what_is_not_required_is_available_on_a_full_disk() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.settings()).expect("opened");
    with_faults(&writer).is_full.store(true, SeqCst);
    tool_call(&audit, "lost").end(Verdict::Ok);
    let unavailable = audit.unavailable();
    finish((audit, thread::spawn(move || writer.run())));
    assert!(!unavailable.load(SeqCst));
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_wait_for_ever_for_a_writer_that_hangs() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.synced()).expect("opened");
    let call = tool_call(&audit, "waiting");
    assert_eq!(call.open().await, Err(Unavailable));
    assert!(audit.unavailable().load(SeqCst));
    call.end(Verdict::Failed);
    drop(call);
    finish((audit, thread::spawn(move || writer.run())));
    assert_eq!(trail.kinds(), ["start", "call", "stop"]);
    assert_eq!(trail.lines()[1]["verdict"], "failed");
    trail.assert_good();
}

#[test]
fn calls_that_wait_for_a_writer_that_hangs_are_limited() {
    let trail = Trail::new();
    let (audit, _writer) = Audit::open(trail.synced()).expect("opened");
    let wait = || tool_call(&audit, "waiting");
    let calls: Vec<_> = (0..MAX_LINES).map(|_| wait()).collect();
    let mut opens: Vec<_> = calls
        .iter()
        .map(|call| tokio_test::task::spawn(call.open()))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let _entered = runtime.enter();
    assert!(opens.iter_mut().all(|open| open.poll().is_pending()));
    let one_more = wait();
    let mut open = tokio_test::task::spawn(one_more.open());
    assert_eq!(open.poll(), std::task::Poll::Ready(Err(Unavailable)));
    assert_eq!(audit.counts().missed, 1);
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
    // The next start says that there may have been more.
    finish(started(trail.settings()));
    assert_eq!(trail.kinds(), ["start", "start", "gap", "stop"]);
    assert_eq!(trail.of_kind("gap")[0]["unfinished"], 1);
    finish(started(trail.settings()));
    assert_eq!(trail.of_kind("gap").len(), 1);
    trail.assert_good();
}

#[test]
fn a_last_line_that_fits_where_records_did_not_says_how_many_are_missing() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.settings()).expect("opened");
    let disk = with_faults(&writer);
    disk.is_full.store(true, SeqCst);
    disk.room.store(500, SeqCst);
    (0..20).for_each(|_| tool_call(&audit, "lost").end(Verdict::Ok));
    finish((audit, thread::spawn(move || writer.run())));
    assert_eq!(trail.kinds(), ["start", "gap", "stop"]);
    assert_eq!(trail.of_kind("gap")[0]["missed"], 20);
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
fn a_record_that_finds_the_queue_full_is_counted_at_once() {
    let trail = Trail::new();
    let (audit, writer) = Audit::open(trail.settings()).expect("opened");
    for _ in 0..MAX_LINES {
        tool_call(&audit, "kept").end(Verdict::Ok);
    }
    assert_eq!(audit.counts().missed, 0);
    let began = Instant::now();
    for _ in 0..100 {
        tool_call(&audit, "missed").end(Verdict::Ok);
    }
    assert!(began.elapsed() < Duration::from_secs(5), "it has waited");
    assert_eq!(audit.counts().missed, 100);
    finish((audit, thread::spawn(move || writer.run())));
    assert_eq!(trail.of_kind("call").len(), MAX_LINES);
    assert_eq!(trail.of_kind("gap")[0]["missed"], 100);
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
