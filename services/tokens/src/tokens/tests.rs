use std::{fs, os::unix::fs::PermissionsExt as _};

use tempfile::TempDir;

use super::*;

struct TestAccounts {
    folder: TempDir,
    file: TokenFile,
}

impl TestAccounts {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = TokenFile::new(folder.path().join("tokens.yaml"));
        Self { folder, file }
    }

    fn with(text: &str) -> Self {
        let setup = Self::new();
        fs::write(setup.file.path(), text).expect("written");
        setup
    }

    /// Sets a smaller limit, so that a test need not write 64 MiB.
    fn up_to(mut self, bytes: usize) -> Self {
        let file = TableFile::new(self.file.path().to_owned());
        self.file.file = file.with_max_bytes(bytes);
        self
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file.path()).expect("a file")
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().expect(text)
}

fn now() -> Timestamp {
    at("2024-10-30T10:15:30.9Z")
}

const HASH: &str = "b3f805a4c2e7d9f1a8b6c3e2d5f4a1b9c8e7d6f5a4b3c2e1d9f8a7b6c5e4d3f2";

#[test]
fn a_token_is_written_as_a_record_in_a_list() {
    let setup = TestAccounts::new();
    let claims = serde_json::json!({"level": 7, "rate": 0.5, "roles": ["a", "b"], "staff": true});
    let new = NewToken {
        note: "Production API".into(),
        database: Some("staging".into()),
        expires_at: Some(at("2025-10-30T10:15:30.9Z")),
        toolsets: vec!["analyst".into(), "keeper".into()],
        claims: Claims::of_file(claims).expect("valid"),
    };
    let made = setup.file.add(new, now()).expect("added");
    assert_eq!(made.record.hash, TokenHash::of(made.token.expose_secret()));
    assert_eq!(
        setup.text(),
        format!(
            "tokens:\n- id: token-1730283330\n  hash: {}\n  note: Production API\n  \
             created_at: \"2024-10-30T10:15:30Z\"\n  expires_at: \"2025-10-30T10:15:30Z\"\n  \
             database: staging\n  toolsets:\n  - analyst\n  - keeper\n  claims:\n    level: 7\n    rate: 0.5\n    roles:\n    - a\n    - \
             b\n    staff: true\n",
            made.record.hash
        )
    );
    assert!(!setup.text().contains(made.token.expose_secret()));
    assert_eq!(setup.file.list().expect("read"), [made.record]);
}

#[test]
fn a_second_token_of_the_same_second_gets_the_next_number() {
    let setup = TestAccounts::new();
    let ids = [0; 3].map(|_| {
        let made = setup.file.add(NewToken::default(), now()).expect("added");
        made.record.id
    });
    assert_eq!(
        ids,
        ["token-1730283330", "token-1730283331", "token-1730283332"]
    );
}

#[test]
fn both_forms_are_read_and_unknown_members_are_kept() {
    let record = format!("hash: {HASH}, owner: {{team: [a, 1]}}");
    let list = format!(
        "version: 2\ntokens:\n- {{id: token-1, note: n, {record}, created_at: \"2024-10-30T10:15:30Z\"}}\n"
    );
    let map = format!(
        "version: 2\ntokens:\n  token-1: {{annotation: n, {record}, expires_at: null, \
         created_at: 2024-10-30T10:15:30.123456789Z}}\n"
    );
    for text in [list, map] {
        let setup = TestAccounts::with(&text);
        let found = setup.file.list().expect("read");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].id, "token-1");
        assert_eq!(found[0].note, "n");
        assert_eq!(found[0].hash.to_string(), HASH);
        assert_eq!(found[0].expires_at, None);
        assert_eq!(found[0].database, None);

        setup.file.add(NewToken::default(), now()).expect("added");
        let text = setup.text();
        assert!(text.starts_with("version: 2\ntokens:\n- "), "{text}");
        assert!(text.contains("  note: n\n"), "{text}");
        assert!(
            text.contains("owner:\n    team:\n    - a\n    - 1\n"),
            "{text}"
        );
        assert_eq!(setup.file.list().expect("read").len(), 2);
    }
}

#[test]
fn tokens_are_listed_by_the_time_they_were_made() {
    let setup = TestAccounts::new();
    for (note, made) in [("b", "2024-02-01T00:00:00Z"), ("a", "2024-01-01T00:00:00Z")] {
        let note = note.to_owned();
        let new = NewToken {
            note,
            ..NewToken::default()
        };
        setup.file.add(new, at(made)).expect("added");
    }
    let notes = setup
        .file
        .list()
        .expect("read")
        .into_iter()
        .map(|found| found.note);
    assert_eq!(notes.collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_token_is_removed_by_its_id_or_a_prefix_of_its_hash() {
    let two = format!(
        "tokens:\n- {{id: token-1, hash: {HASH}}}\n- {{id: token-2, hash: {}}}\n\
         - {{id: b3f805a4c2e7, hash: {}}}\n",
        HASH.replace("b9c8", "0000"),
        "1".repeat(64)
    );
    let cases = [
        ("token-1", Ok("token-1")),
        // An id has priority over a hash prefix.
        ("b3f805a4c2e7", Ok("b3f805a4c2e7")),
        ("11111111", Ok("b3f805a4c2e7")),
        (HASH, Ok("token-1")),
        (&HASH.to_uppercase(), Ok("token-1")),
        ("b3f805a4", Err("several tokens match: b3f805a4")),
        ("1111111", Err("token not found: 1111111")),
        ("token-3", Err("token not found: token-3")),
        ("", Err("token not found: ")),
        (
            &format!("{HASH}0"),
            Err(&*format!("token not found: {HASH}0")),
        ),
    ];
    for (identifier, expected) in cases {
        let setup = TestAccounts::with(&two);
        let removed = setup.file.remove(identifier);
        let removed = removed
            .map(|record| record.id)
            .map_err(|error| error.to_string());
        let removed = removed.as_deref().map_err(|error| &**error);
        assert_eq!(removed, expected, "{identifier}");
        let left = 3 - usize::from(removed.is_ok());
        assert_eq!(setup.file.list().expect("read").len(), left, "{identifier}");
    }
}

#[test]
fn an_invalid_token_file_is_refused_with_its_path_and_a_reason() {
    let cases = [
        ("tokens: [", "did not find expected node content"),
        ("- a", ": document: expected a map with `tokens`"),
        ("tokens: 5", ": tokens: expected a list"),
        ("tokens: [5]", ": tokens[0]: expected a map"),
        ("tokens: [{hash: x}]", ": tokens[0].id: expected a text"),
        (
            "tokens: {t: {hash: x}}",
            ": tokens.t.hash: expected 64 hexadecimal digits",
        ),
        (
            &format!("tokens: {{t: {{hash: {HASH}, expires_at: soon}}}}"),
            ": tokens.t.expires_at: expected a date such as 2026-11-21T10:15:30Z",
        ),
        (
            &format!("tokens: {{t: {{hash: {HASH}, database: [x]}}}}"),
            ": tokens.t.database: expected a text",
        ),
        (&"#".repeat((1 << 20) + 1), ": larger than 1048576 bytes"),
    ];
    for (text, reason) in cases {
        let setup = TestAccounts::with(text).up_to(1 << 20);
        let error = setup.file.list().expect_err("no token file").to_string();
        let path = setup.file.path().display().to_string();
        let what = &text[..text.len().min(60)];
        assert!(
            error.starts_with(&path) && error.contains(reason),
            "{what}: {error}"
        );
        // The file is not overwritten either.
        assert!(setup.file.add(NewToken::default(), now()).is_err());
        assert_eq!(setup.text(), text);
    }
}

#[test]
fn only_the_owner_can_read_the_file_and_no_other_file_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let new = folder.path().join("etc/accounts");
    let file = TokenFile::new(new.join("tokens.yaml"));
    file.add(NewToken::default(), now()).expect("added");
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).expect("opened up");
    // The file of a killed writer does not disturb later ones.
    fs::write(new.join(".tokens.yaml.new"), "tok").expect("written");
    file.add(NewToken::default(), now()).expect("added");

    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&new), 0o700);
    assert_eq!(mode(file.path()), 0o600);
    let entries = fs::read_dir(&new).expect("a folder");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".tokens.yaml.lock", "tokens.yaml"]);
}

#[test]
fn a_link_still_leads_to_the_replaced_file() {
    let setup = TestAccounts::with("");
    let link = setup.folder.path().join("link.yaml");
    std::os::unix::fs::symlink("tokens.yaml", &link).expect("linked");
    TokenFile::new(&link)
        .add(NewToken::default(), now())
        .expect("added");
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(setup.file.list().expect("read").len(), 1);
}

#[test]
fn concurrent_writers_lose_no_token() {
    const WRITERS: usize = 8;
    const TOKENS: usize = 10;
    let setup = TestAccounts::new();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let path = setup.file.path();
            scope.spawn(move || {
                // A separate instance, as another process has.
                let file = TokenFile::new(path);
                for _ in 0..TOKENS {
                    let note = writer.to_string();
                    let new = NewToken {
                        note,
                        ..NewToken::default()
                    };
                    file.add(new, now()).expect("added");
                    file.list().expect("whole at any time");
                }
            });
        }
    });
    let found = setup.file.list().expect("read");
    assert_eq!(found.len(), WRITERS * TOKENS);
    let ids: std::collections::HashSet<_> = found.into_iter().map(|found| found.id).collect();
    assert_eq!(ids.len(), WRITERS * TOKENS, "every id is taken once");
}

#[test]
fn a_file_that_would_be_too_large_to_read_is_not_written() {
    let setup = TestAccounts::new();
    let setup = setup.up_to(1 << 20);
    let note = "x".repeat(1 << 20);
    let new = NewToken {
        note,
        ..NewToken::default()
    };
    let error = setup.file.add(new, now()).expect_err("too large");
    assert!(
        error.to_string().ends_with("larger than 1048576 bytes"),
        "{error}"
    );
    assert!(!setup.file.path().exists());
}

#[test]
fn ten_thousand_tokens_are_read_and_written() {
    use std::fmt::Write as _;

    let mut text = "tokens:\n".to_owned();
    for number in 0..10_000 {
        writeln!(
            text,
            "- id: token-{number}\n  hash: {number:064}\n  note: one of many, each of which says \
             what it is for\n  created_at: \"2024-10-30T10:15:30Z\""
        )
        .expect("a string takes it");
    }
    assert!(text.len() > 3 << 19, "more than was read before");
    let setup = TestAccounts::with(&text);
    setup.file.add(NewToken::default(), now()).expect("added");
    assert_eq!(setup.file.list().expect("read").len(), 10_001);
}
