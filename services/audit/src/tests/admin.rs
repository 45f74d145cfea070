//! Records of administrative commands.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::*;
use crate::{AdminAudit, OpenError, names};

fn admin_trail(trail: &Trail) -> Trail {
    Trail {
        folder: tempfile::tempdir().expect("a folder"),
        path: names::admin(&trail.path),
    }
}

#[test]
fn a_command_has_a_record_beside_a_running_server() {
    let trail = Trail::new();
    let running = started(trail.settings());
    let admin = AdminAudit::new(trail.settings());
    let mut command = admin
        .begin("-add-token", "root")
        .expect("nothing is written yet");
    command.database("shop");
    command.end(Verdict::Ok).expect("written");
    drop(
        admin
            .begin("-remove-token", "root")
            .expect("nothing is written yet"),
    );
    finish(running);
    let commands = admin_trail(&trail);
    let lines = commands.lines();
    assert_eq!(lines[0]["method"], "-add-token");
    assert_eq!(lines[0]["caller"]["kind"], "admin");
    assert_eq!(lines[0]["caller"]["name"], "root");
    assert_eq!(lines[0]["seq"], 1);
    assert_eq!(lines[1]["verdict"], "cancelled");
    let mode = fs::metadata(&commands.path)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    commands.assert_good();
    // Both are good in one report.
    let report = verify(
        &[commands.path.clone(), trail.path.clone()],
        None,
        Expected::default(),
    );
    assert!(
        report.is_good && report.lines.len() == 2,
        "{:?}",
        report.lines
    );
}

#[test]
fn commands_at_the_same_time_share_one_chain() {
    let trail = Trail::new();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let admin = AdminAudit::new(trail.required());
            thread::spawn(move || {
                for _ in 0..5 {
                    let command = admin.begin("-list-tokens", "root").expect("written");
                    command.end(Verdict::Ok).expect("written");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("ended");
    }
    let commands = admin_trail(&trail);
    assert_eq!(commands.lines().len(), 80);
    for call in commands.of_kind("call") {
        let opens = commands.of_kind("open");
        assert!(opens.iter().any(|open| open["seq"] == call["open"]));
    }
    commands.assert_good();
}

#[test]
fn a_required_record_that_cannot_be_written_stops_the_command_before_it_runs() {
    let trail = Trail::new();
    fs::create_dir(names::admin(&trail.path)).expect("a folder in its place");
    let required = AdminAudit::new(trail.required());
    let error = required.begin("-add-token", "root").expect_err("no file");
    assert!(matches!(error, OpenError::File(..)), "{error:?}");
    let optional = AdminAudit::new(trail.settings());
    let command = optional.begin("-add-token", "root").expect("it may run");
    command.end(Verdict::Ok).expect_err("the program can warn");
}

#[test]
fn an_incomplete_line_of_a_command_is_moved() {
    let trail = Trail::new();
    let admin = AdminAudit::new(trail.settings());
    let run = || {
        let command = admin
            .begin("-add-user", "root")
            .expect("nothing is written yet");
        command.end(Verdict::Ok).expect("written");
    };
    run();
    let commands = admin_trail(&trail);
    commands.append(b"{\"v\":1,\"se");
    run();
    assert_eq!(commands.kinds(), ["call", "gap", "call"]);
    commands.assert_good();
}
