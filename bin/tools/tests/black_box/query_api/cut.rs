//! Tests of answers of which a client gets a part only.

use serde_json::{Value, json};

use super::ask;
use crate::support::{Home, Postgres};

/// Returns the kind of a line of an answer, if it is a whole one.
fn kind(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    let members = line.as_object().expect("an object");
    assert_eq!(members.len(), 1, "{line}");
    members.keys().next().cloned()
}

#[test]
fn an_answer_cut_at_any_byte_has_its_end_only_if_nothing_is_missing() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (_program, client) = home.serve(&["-no-auth"]);
    let hostile = r#"'x' || chr(10) || '{"done":{"rows":1}}' || chr(10) || '{"error":{}}'"#;
    let rows =
        |more: &str| format!("SELECT n, {hostile} AS t, {more} FROM generate_series(1, 520) n");
    for (sql, end) in [
        (format!("SELECT {hostile} AS t"), "done"),
        (rows("n * 2"), "done"),
        (rows("1 / (510 - n)"), "error"),
    ] {
        let body = ask(&client, &sql, &json!({"max_rows": 2000})).body;
        let (mut whole, mut begin) = (Vec::new(), 0);
        for (at, byte) in body.bytes().enumerate() {
            let rest = &body.as_bytes()[begin..=at];
            if byte == b'\n' {
                let line = str::from_utf8(rest).expect("text");
                whole.push(kind(line).expect("a line of JSON"));
                begin = at + 1;
            } else if byte == b'}' && body.as_bytes()[at + 1] != b'\n' {
                // Only here could a piece of a line be a whole object.
                let piece = str::from_utf8(rest).expect("text");
                assert_eq!(kind(piece), None, "{piece}");
            }
            let ends = whole
                .iter()
                .filter(|kind| ["done", "error"].contains(&&***kind));
            let is_whole = at + 1 == body.len();
            assert_eq!(ends.count(), usize::from(is_whole), "{sql} {at}");
        }
        assert_eq!(begin, body.len(), "{sql}");
        assert_eq!(whole[..2], ["started", "columns"], "{sql}");
        assert_eq!(whole.last().map(String::as_str), Some(end), "{sql}");
    }
}
