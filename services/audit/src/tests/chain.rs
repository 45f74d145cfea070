//! Changes of a file that [`verify`] finds.

use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;
use crate::{CallEnd, Key};

/// Returns the lines of a good trail.
fn good_lines() -> &'static [String] {
    static LINES: OnceLock<Vec<String>> = OnceLock::new();
    LINES.get_or_init(|| {
        let trail = Trail::new();
        let running = started(trail.settings());
        for number in 0..12 {
            let call = tool_call(&running.0, "query_database");
            call.statement("SELECT 'é'");
            call.end(CallEnd {
                rows: Some(number),
                ..Verdict::Ok.into()
            });
        }
        finish(running);
        let text = trail.text();
        text.split_inclusive('\n').map(str::to_owned).collect()
    })
}

fn report(bytes: &[u8], expect_last: Option<&str>) -> Report {
    let trail = Trail::new();
    fs::write(&trail.path, bytes).expect("written");
    let last = expect_last;
    verify(
        std::slice::from_ref(&trail.path),
        None,
        Expected { first: None, last },
    )
}

fn last_link(lines: &[String]) -> String {
    let last: Value = serde_json::from_str(&lines[lines.len() - 1]).expect("JSON");
    last["chain"].as_str().expect("a link").to_owned()
}

proptest! {
    #[test]
    fn a_changed_removed_or_added_byte_is_found(at: prop::sample::Index, new: u8, edit in 0..3) {
        let good = good_lines().concat().into_bytes();
        let mut bytes = good.clone();
        let at = at.index(bytes.len());
        match edit {
            0 => bytes[at] = new,
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, new),
        }
        prop_assert_eq!(report(&bytes, None).is_good, bytes == good);
    }

    #[test]
    fn a_removed_moved_or_repeated_line_is_found(
        from: prop::sample::Index,
        to: prop::sample::Index,
        edit in 0..3,
    ) {
        let good = good_lines();
        let mut lines = good.to_vec();
        let (from, to) = (from.index(good.len()), to.index(good.len()));
        let line = if edit == 0 { lines[from].clone() } else { lines.remove(from) };
        if edit < 2 {
            lines.insert(to, line);
        }
        let last = last_link(good);
        let report = report(lines.concat().as_bytes(), Some(&last));
        prop_assert_eq!(report.is_good, lines == good, "{:?}", report.lines);
    }
}

#[test]
fn the_report_names_the_file_the_line_and_the_record() {
    let lines = good_lines();
    let last = last_link(lines);
    let path = |report: &Report| {
        let line = report.lines[0].clone();
        line.rsplit('/').next().expect("a name").to_owned()
    };
    let good = report(lines.concat().as_bytes(), Some(&last));
    let expected = format!("audit.jsonl: 14 records, 1 to 14, last {last}, good");
    assert_eq!(path(&good), expected);

    let changed = lines.concat().replace("\"rows\":3,", "\"rows\":4,");
    let changed = report(changed.as_bytes(), None);
    assert_eq!(path(&changed), "audit.jsonl:5: the chain is broken");

    let mut removed = lines.to_vec();
    removed.remove(4);
    let removed = report(removed.concat().as_bytes(), None);
    assert_eq!(path(&removed), "audit.jsonl:5: record 5 is missing");

    let cut = lines[..10].concat();
    assert!(report(cut.as_bytes(), None).is_good);
    let cut = report(cut.as_bytes(), Some(&last));
    assert_eq!(path(&cut), "audit.jsonl:11: the end is missing");
    assert!(!cut.is_good);

    assert_eq!(
        path(&report(b"", None)),
        "audit.jsonl:1: record 1 is missing"
    );
}

#[test]
fn with_a_key_a_chain_without_it_is_broken() {
    let trail = Trail::new();
    let key = Key::new(b"swordfish");
    let key_file = trail.path.with_file_name("key");
    fs::write(&key_file, "swordfish").expect("written");
    finish(started(Settings {
        key_file: Some(key_file),
        ..trail.settings()
    }));
    let files = [trail.path.clone()];
    assert!(verify(&files, Some(&key), Expected::default()).is_good);
    assert!(!verify(&files, None, Expected::default()).is_good);
    assert!(!verify(&files, Some(&Key::new(b"other")), Expected::default()).is_good);
    // A chain that was made anew without the key.
    let forged = Trail::new();
    finish(started(forged.settings()));
    assert!(
        !verify(
            std::slice::from_ref(&forged.path),
            Some(&key),
            Expected::default()
        )
        .is_good
    );
}
