//! Locks, modes, rotation and files that others rename.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::*;
use crate::names;

#[test]
fn a_file_is_private_and_has_one_server() {
    let trail = Trail::new();
    let running = started(trail.settings());
    let mode = fs::metadata(&trail.path)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let error = Audit::open(trail.settings()).expect_err("it is in use");
    let path = trail.path.display();
    assert_eq!(
        error.to_string(),
        format!("the audit file {path} is in use")
    );
    finish(running);
    finish(started(trail.settings()));
    assert_eq!(trail.kinds(), ["start", "stop", "start", "stop"]);
    trail.assert_good();
}

#[test]
fn a_file_that_is_no_audit_trail_is_not_written_to() {
    let trail = Trail::new();
    fs::write(&trail.path, "my shopping list\n").expect("written");
    let error = Audit::open(trail.settings()).expect_err("no record");
    assert!(error.to_string().ends_with(" is not a record"), "{error}");
    assert_eq!(trail.text(), "my shopping list\n");
}

fn archives(trail: &Trail) -> Vec<PathBuf> {
    names::archives(&trail.path).expect("a list")
}

fn all_files(trail: &Trail) -> Vec<PathBuf> {
    let mut files = archives(trail);
    files.push(trail.path.clone());
    // The order in which they are given does not count.
    files.reverse();
    files
}

#[tokio::test]
async fn a_full_file_is_renamed_after_its_records() {
    let trail = Trail::new();
    let running = started(Settings {
        max_bytes: 2000,
        ..trail.synced()
    });
    for _ in 0..30 {
        whole_call(&running.0, "x").await;
    }
    finish(running);
    let archives = archives(&trail);
    assert!(archives.len() > 3, "{archives:?}");
    let mut next = 1;
    for archive in &archives {
        let text = fs::read_to_string(archive).expect("a file");
        let read = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
        let first = read(text.lines().next().expect("a line"));
        let last = read(text.lines().last().expect("a line"));
        assert_eq!(first["seq"], next);
        assert_eq!(first["kind"], "start");
        assert_eq!(last["kind"], "rotate");
        assert_eq!(last["file"], names::of(archive));
        let numbers = format!("audit-{}-{}.jsonl", first["seq"], last["seq"]);
        assert_eq!(names::of(archive), numbers);
        next = last["seq"].as_u64().expect("a number") + 1;
    }
    assert_eq!(
        trail.lines()[0]["previous"]["file"],
        names::of(archives.last().expect("one"))
    );
    let report = verify(&all_files(&trail), None, Expected::default());
    assert!(report.is_good, "{:?}", report.lines);
    assert_eq!(report.lines.len(), archives.len() + 1);
    let again = started(trail.settings());
    finish(again);
    assert!(verify(&all_files(&trail), None, Expected::default()).is_good);
}

#[tokio::test]
async fn only_the_newest_old_files_are_kept() {
    let trail = Trail::new();
    let running = started(Settings {
        max_bytes: 1500,
        keep: 2,
        ..trail.synced()
    });
    for _ in 0..30 {
        whole_call(&running.0, "x").await;
    }
    finish(running);
    let files = all_files(&trail);
    assert_eq!(files.len(), 3);
    assert!(!names::of(&files[2]).starts_with("audit-1-"));
    let report = verify(&files, None, Expected::default());
    assert!(report.is_good, "{:?}", report.lines);
    // A file in the middle is missed.
    let report = verify(
        &[files[0].clone(), files[2].clone()],
        None,
        Expected::default(),
    );
    assert!(
        report.lines[1].ends_with(" is missing"),
        "{:?}",
        report.lines
    );
    // So is one that the server has not deleted.
    let report = verify(&files[..2], None, Expected::default());
    let last = report.lines.last().expect("a line");
    assert!(last.contains(": begins at record "), "{last}");
}

#[tokio::test]
async fn a_file_that_another_program_has_renamed_is_opened_anew() {
    let trail = Trail::new();
    let running = started(trail.synced());
    let call = tool_call(&running.0, "long");
    call.open().await.expect("written");
    // Nothing was renamed yet.
    running.0.reopen();
    whole_call(&running.0, "first").await;
    let old = trail.path.with_file_name("audit.jsonl.1");
    fs::rename(&trail.path, &old).expect("renamed");
    running.0.reopen();
    whole_call(&running.0, "second").await;
    call.end(Verdict::Ok);
    drop(call);
    finish(running);
    let start = &trail.lines()[0];
    assert_eq!(start["previous"]["file"], "audit.jsonl.1");
    assert_eq!(start["oldest_open"], 2);
    let mode = fs::metadata(&trail.path)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let report = verify(&[trail.path.clone(), old], None, Expected::default());
    assert!(report.is_good, "{:?}", report.lines);
    assert_eq!(report.lines.len(), 2);
}

#[tokio::test]
async fn a_failed_rename_does_not_stop_the_trail() {
    let trail = Trail::new();
    // The first name that a rotation would use is taken.
    for last in 2..40 {
        fs::write(names::archive(&trail.path, 1, last), "").expect("written");
    }
    fs::write(&trail.path, "").expect("written");
    let running = started(Settings {
        max_bytes: 1000,
        ..trail.synced()
    });
    for _ in 0..5 {
        whole_call(&running.0, "x").await;
    }
    assert!(running.0.counts().failures > 0);
    finish(running);
    assert_eq!(trail.of_kind("call").len(), 5);
    trail.assert_good();
}
