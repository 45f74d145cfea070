//! Records that were removed from the start or from the end of a trail.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::*;
use crate::{ChainState, Search, names};

impl Trail {
    /// Writes a start, calls of these tools, and a stop, which are synced.
    fn with_calls(tools: &[&str]) -> Self {
        let trail = Self::new();
        let running = started(trail.settings());
        for tool in tools {
            tool_call(&running.0, tool).end(Verdict::Ok);
        }
        finish(running);
        trail
    }

    /// Keeps the first lines only.
    fn cut(&self, lines: usize) {
        let text = self.text();
        let kept: Vec<_> = text.split_inclusive('\n').take(lines).collect();
        fs::write(&self.path, kept.concat()).expect("written");
    }

    /// Returns the last line of the report about the file, without the folder.
    fn verdict(&self) -> String {
        let report = self.verify();
        let last = report.lines.last().expect("a line");
        last.rsplit('/').next().expect("a name").to_owned()
    }
}

fn chain(audit: &Audit) -> ChainState {
    let search = Search {
        limit: 1,
        ..Search::default()
    };
    let page = audit.search(&search).expect("read").expect("a file");
    page.chain
}

#[test]
fn a_removed_end_is_noticed_while_the_server_runs() {
    let trail = Trail::new();
    let running = started(trail.settings());
    tool_call(&running.0, "x").end(Verdict::Ok);
    until("the call is written", || trail.kinds().len() == 2);
    assert_eq!(chain(&running.0), ChainState::Intact);
    let whole = trail.text();
    trail.cut(1);
    assert_eq!(chain(&running.0), ChainState::Broken);
    // So is another end that continues the chain.
    let other = Trail::new();
    fs::write(&other.path, trail.text()).expect("written");
    finish(started(other.settings()));
    fs::write(&trail.path, other.text()).expect("written");
    assert!(trail.verify().is_good);
    assert_eq!(chain(&running.0), ChainState::Broken);
    fs::write(&trail.path, whole).expect("written");
    assert_eq!(chain(&running.0), ChainState::Intact);
    finish(running);
    trail.assert_good();
}

#[test]
fn a_removed_end_is_noticed_at_the_next_start_and_for_ever() {
    let trail = Trail::with_calls(&["a", "b", "c"]);
    trail.cut(2);
    assert!(trail.verify().is_good);
    let running = started(trail.settings());
    assert_eq!(chain(&running.0), ChainState::Broken);
    finish(running);
    assert_eq!(trail.of_kind("gap")[0]["removed"], 3);
    assert_eq!(trail.lines()[2]["seq"], 6);
    assert_eq!(trail.verdict(), "audit.jsonl:3: record 3 is missing");
    finish(started(trail.settings()));
    assert_eq!(trail.verdict(), "audit.jsonl:3: record 3 is missing");
    assert_eq!(trail.of_kind("gap").len(), 2, "{:?}", trail.of_kind("gap"));
}

#[test]
fn a_replaced_end_is_noticed_at_the_next_start() {
    let trail = Trail::with_calls(&["a", "b"]);
    let other = Trail::new();
    trail.cut(2);
    fs::write(&other.path, trail.text()).expect("written");
    for _ in 0..2 {
        finish(started(other.settings()));
        fs::write(&trail.path, other.text()).expect("written");
        assert!(trail.verify().is_good);
        let copy = trail.after_a_crash();
        finish(started(copy.settings()));
        assert!(copy.verdict().ends_with(": the chain is broken"));
        assert_eq!(copy.of_kind("gap").last().expect("one")["removed"], 0);
    }
}

#[test]
fn an_emptied_trail_is_noticed_after_a_restart() {
    let trail = Trail::with_calls(&["a", "b", "c"]);
    fs::write(&trail.path, "").expect("written");
    let running = started(trail.settings());
    assert_eq!(chain(&running.0), ChainState::Broken);
    finish(running);
    let said = "audit.jsonl: begins at record 6: earlier records are not in these files; if they are \
                kept elsewhere, add -expect-first 6";
    assert_eq!(trail.verdict(), said);
    fs::remove_file(&trail.path).expect("removed");
    finish(started(trail.settings()));
    assert!(
        trail
            .verdict()
            .starts_with("audit.jsonl: begins at record 9: ")
    );
}

#[test]
fn the_position_of_the_last_record_is_private_and_can_be_in_another_folder() {
    let trail = Trail::with_calls(&["a"]);
    let beside = names::last(&trail.path);
    let mode = |path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&beside), 0o600);
    let text = fs::read_to_string(&beside).expect("text");
    let last = trail.lines()[2]["chain"].as_str().expect("text").to_owned();
    assert_eq!(text, format!("00000000000000000003 {last}\n"));

    let trail = Trail::new();
    let state = trail.folder.path().join("new").join("state");
    let settings = || Settings {
        state_folder: Some(state.clone()),
        ..trail.settings()
    };
    finish(started(settings()));
    assert!(!names::last(&trail.path).exists());
    let files: Vec<_> = fs::read_dir(&state).expect("a folder").collect();
    assert_eq!((files.len(), mode(&state)), (1, 0o700));
    // All of it is gone but the position.
    fs::remove_file(&trail.path).expect("removed");
    finish(started(settings()));
    assert_eq!(trail.lines()[0]["seq"], 3);
}

#[test]
fn a_trail_goes_on_where_no_position_can_be_kept() {
    let trail = Trail::new();
    let file = trail.folder.path().join("file");
    fs::write(&file, "").expect("written");
    let settings = Settings {
        state_folder: Some(file),
        ..trail.settings()
    };
    finish(started(settings));
    fs::write(names::last(&trail.path), "of another program").expect("written");
    finish(started(trail.settings()));
    trail.assert_good();
}

#[tokio::test]
async fn an_old_file_that_was_removed_whole_is_missed() {
    let trail = Trail::new();
    let settings = Settings {
        max_bytes: 1500,
        ..trail.synced()
    };
    let running = started(settings);
    for _ in 0..20 {
        whole_call(&running.0, "x").await;
    }
    let mut files = names::archives(&trail.path).expect("a list");
    assert!(files.len() > 2, "{files:?}");
    assert_eq!(chain(&running.0), ChainState::Intact);
    fs::remove_file(files.remove(0)).expect("removed");
    assert_eq!(chain(&running.0), ChainState::Broken);
    finish(running);
    files.push(trail.path.clone());
    let report = verify(&files, None, Expected::default());
    let name = names::of(&files[0]);
    let first: u64 = name
        .split('-')
        .nth(1)
        .and_then(|it| it.parse().ok())
        .expect("a number");
    let said = format!("{name}: begins at record {first}: earlier records are not in these files");
    let last = report.lines.last().expect("a line");
    assert!(!report.is_good && last.contains(&said), "{last}");
    for (expected, is_good) in [(first - 1, false), (first, true), (first + 1, true)] {
        let (first, last) = (Some(expected), None);
        let report = verify(&files, None, Expected { first, last });
        assert_eq!(report.is_good, is_good, "{expected}");
    }
}

#[tokio::test]
async fn files_that_another_program_keeps_are_not_missed_by_the_search() {
    let trail = Trail::new();
    let running = started(trail.synced());
    whole_call(&running.0, "first").await;
    let elsewhere = tempfile::tempdir_in(&trail.folder).expect("a folder");
    for old in [
        trail.path.with_file_name("audit.jsonl.1"),
        elsewhere.path().join("audit.jsonl"),
    ] {
        fs::rename(&trail.path, old).expect("renamed");
        running.0.reopen();
        whole_call(&running.0, "second").await;
        until("the file is opened anew", || trail.path.exists());
        assert_eq!(chain(&running.0), ChainState::Intact);
    }
    finish(running);
    assert!(!trail.verify().is_good);
}

#[tokio::test]
async fn a_deleted_file_is_replaced_before_the_next_call_runs() {
    let trail = Trail::new();
    let running = started(trail.required());
    whole_call(&running.0, "before").await;
    until("all is written", || {
        trail.kinds() == ["start", "open", "call"]
    });
    fs::remove_file(&trail.path).expect("removed");
    let call = tool_call(&running.0, "after");
    call.open().await.expect("written");
    assert_eq!(trail.kinds(), ["start", "open"]);
    assert_eq!(trail.of_kind("open")[0]["tool"], "after");
    assert_eq!(chain(&running.0), ChainState::Broken);
    call.end(Verdict::Ok);
    drop(call);
    finish(running);
    assert!(
        trail
            .verdict()
            .starts_with("audit.jsonl: begins at record 4: ")
    );
    // Without its folder nothing can be recorded.
    let trail = Trail::new();
    let running = started(trail.required());
    fs::remove_dir_all(trail.folder.path()).expect("removed");
    let call = tool_call(&running.0, "refused");
    assert_eq!(call.open().await, Err(crate::Unavailable));
}
