use std::fs;

use tempfile::TempDir;

use super::*;

struct TestAccounts {
    _folder: TempDir,
    users: UserFile,
}

impl TestAccounts {
    fn with(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("users.yaml");
        fs::write(&path, text).expect("written");
        Self {
            users: UserFile::new(path).with_cost(4),
            _folder: folder,
        }
    }

    fn one(&self) -> UserRecord {
        let mut found = self.users.list().expect("read");
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.users.path()).expect("a file")
    }
}

fn now() -> Timestamp {
    "2024-10-30T10:15:30.5Z".parse().expect("a date")
}

const ALICE: &str = r#"users:
  alice:
    username: alice
    password_hash: $2a$12$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcdu
    created_at: "2024-10-30T10:15:30Z"
    last_login: null
    enabled: true
    annotation: Developer
    failed_attempts: 3
    available_databases:
    - production
    shoe_size: 42
motto: hello
"#;

#[test]
fn a_name_with_markup_or_hidden_characters_is_refused() {
    let setup = TestAccounts::with("");
    let password = SecretString::from("correct horse");
    for (name, bad) in [
        ("<img src=x>", '<'),
        ("al>ice", '>'),
        ("al\u{202e}ice", '\u{202e}'),
        ("alice\u{200b}", '\u{200b}'),
        ("alice\u{3164}", '\u{3164}'),
        ("\u{feff}alice", '\u{feff}'),
        ("al\nice", '\n'),
        ("al\u{1b}ice", '\u{1b}'),
    ] {
        let refused = setup.users.add(NewUser::new(name, &password), now());
        let is_named = matches!(refused, Err(UserError::BadName(found)) if found == bad);
        assert!(is_named, "{name:?}: {refused:?}");
    }
    for name in [
        "ada.lovelace@example.com",
        "Иван Петров",
        "علي\u{200c}رضا",
        "王小明 🙂",
    ] {
        let added = setup.users.add(NewUser::new(name, &password), now());
        assert!(added.is_ok(), "{name}: {added:?}");
    }
}

#[test]
fn an_account_is_written_with_all_its_members() {
    let setup = TestAccounts::with("");
    setup
        .users
        .add(
            NewUser {
                note: "Developer",
                ..NewUser::new("alice", &"correct horse".into())
            },
            now(),
        )
        .expect("added");
    let text = setup.text();
    let UserRecord {
        id,
        password_hash: hash,
        ..
    } = setup.one();
    let digits = id.strip_prefix("account_").expect("the prefix");
    assert!(digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    assert_eq!(
        text,
        format!(
            "users:\n  alice:\n    username: alice\n    password_hash: {hash}\n    \
             created_at: \"2024-10-30T10:15:30Z\"\n    last_login: null\n    enabled: true\n    \
             annotation: Developer\n    failed_attempts: 0\n    id: {id}\n"
        )
    );
    assert!(Passwords::with_cost(4).is_right(&"correct horse".into(), Some(&hash)));
}

#[test]
fn changes_keep_the_rest_of_the_file() {
    let setup = TestAccounts::with(ALICE);
    let alice = setup.one();
    assert_eq!(alice.databases, ["production"]);
    assert_eq!(alice.failed_attempts, 3);
    setup.users.disable("alice").expect("disabled");
    let expected = ALICE.replace("enabled: true", "enabled: false");
    let rest = "motto: hello\n";
    let expected = format!("{rest}{}", expected.replace(rest, ""));
    // An account of before gets its name as id, which it keeps under another name.
    assert_eq!(alice.id, "alice");
    assert_eq!(setup.text(), format!("{expected}    id: alice\n"));
    let renamed = setup.text().replacen("  alice:", "  alicia:", 1);
    assert_eq!(TestAccounts::with(&renamed).one().id, "alice");
}

#[test]
fn two_accounts_with_the_same_id_are_refused() {
    let bob = ALICE
        .replace("alice", "bob")
        .replace("users:\n", "")
        .replace("motto: hello\n", "");
    for id in ["", "    id: one\n", "    id: bob\n"] {
        let alice = ALICE.replace("    shoe_size: 42\n", id);
        let other = bob.replace(
            "    shoe_size: 42\n",
            if id.ends_with("one\n") { id } else { "" },
        );
        let text = alice.replace("motto: hello\n", &other);
        let listed = TestAccounts::with(&text).users.list();
        let message = listed
            .map(|users| users.len())
            .map_err(|error| error.to_string());
        match (id, message) {
            ("", Ok(2)) => {}
            (_, Err(message)) => assert!(
                message.ends_with("users.bob.id: expected another text than that of user 'alice'"),
                "{id}: {message}"
            ),
            (_, listed) => panic!("{id}: {listed:?}"),
        }
    }
}

#[test]
fn enabling_an_account_clears_its_failed_logins() {
    let setup = TestAccounts::with(&ALICE.replace("enabled: true", "enabled: false"));
    assert!(!setup.one().is_enabled);
    setup.users.enable("alice").expect("enabled");
    let alice = setup.one();
    assert!(alice.is_enabled);
    assert_eq!(alice.failed_attempts, 0);
}

#[test]
fn only_the_given_values_are_updated() {
    let setup = TestAccounts::with(ALICE);
    let before = setup.one();
    setup
        .users
        .update(
            "alice",
            &UserChanges {
                note: Some(""),
                ..UserChanges::default()
            },
        )
        .expect("updated");
    let after = setup.one();
    assert_eq!(after.note, "");
    assert_eq!(after.password_hash, before.password_hash);
    setup
        .users
        .update(
            "alice",
            &UserChanges {
                password: Some(&"twelve chars".into()),
                ..UserChanges::default()
            },
        )
        .expect("updated");
    let hash = setup.one().password_hash;
    assert!(Passwords::with_cost(4).is_right(&"twelve chars".into(), Some(&hash)));
}

#[test]
fn an_account_that_is_deleted_is_gone() {
    let setup = TestAccounts::with(ALICE);
    setup.users.delete("alice").expect("deleted");
    assert!(setup.users.list().expect("read").is_empty());
    assert_eq!(setup.text(), "motto: hello\nusers: {}\n");
}

#[test]
fn operations_that_fail_return_the_reason() {
    let setup = TestAccounts::with(ALICE);
    let users = &setup.users;
    let password = "correct horse".into();
    // Eleven characters, but more than twelve bytes.
    let short = "äöüäöüäöüäö".into();
    let long = "x".repeat(73).into();
    let cases = [
        (
            users.add(NewUser::new("alice", &password), now()),
            "user 'alice' already exists",
        ),
        (
            users.add(NewUser::new("", &password), now()),
            "username is required",
        ),
        (
            users.add(NewUser::new("bob", &"".into()), now()),
            "password is required",
        ),
        (
            users.add(NewUser::new("bob", &short), now()),
            "password must have at least 12 characters",
        ),
        (
            users.update(
                "alice",
                &UserChanges {
                    password: Some(&short),
                    ..UserChanges::default()
                },
            ),
            "password must have at least 12 characters",
        ),
        (
            users.add(NewUser::new("bob", &long), now()),
            "password must not be longer than 72 bytes",
        ),
        (
            users.update(
                "bob",
                &UserChanges {
                    note: Some("x"),
                    ..UserChanges::default()
                },
            ),
            "user 'bob' not found",
        ),
        (users.enable("bob"), "user 'bob' not found"),
        (users.disable("Alice"), "user 'Alice' not found"),
        (users.delete("bob").map(drop), "user 'bob' not found"),
    ];
    for (result, expected) in cases {
        assert_eq!(result.expect_err(expected).to_string(), expected);
    }
    assert_eq!(setup.text(), ALICE, "nothing was written");
}

#[test]
fn an_invalid_user_file_is_refused_with_a_reason() {
    let cases = [
        ("[]", "document: expected a map with `users`"),
        ("users: []", "users: expected a map"),
        ("users: {alice: 1}", "users.alice: expected a map"),
        (
            "users: {alice: {}}",
            "users.alice.password_hash: expected a text",
        ),
        (
            "users: {alice: {password_hash: x, enabled: maybe}}",
            "users.alice.enabled: expected true or false",
        ),
        (
            "users: {alice: {password_hash: x, failed_attempts: -1}}",
            "users.alice.failed_attempts: expected a number, not below zero",
        ),
        (
            "users: {alice: {password_hash: x, available_databases: [[]]}}",
            "users.alice.available_databases: expected a list of texts",
        ),
    ];
    for (text, reason) in cases {
        let error = TestAccounts::with(text)
            .users
            .list()
            .expect_err(text)
            .to_string();
        assert!(error.ends_with(reason), "{text}: {error}");
    }
}

#[test]
fn debug_output_of_a_record_has_no_hash() {
    let alice = TestAccounts::with(ALICE).one();
    assert!(!format!("{alice:?}").contains("$2a$"));
}

#[test]
fn failures_are_counted_up_to_the_limit_and_no_further() {
    let setup = TestAccounts::with(ALICE);
    let mut users = setup.users.file.read().expect("read");
    for (expected, failed) in [(false, 4), (true, 5)] {
        let Change::Write(is_locked) = users.note_failure("alice", 5) else {
            panic!("counted");
        };
        assert_eq!(is_locked, expected);
        assert_eq!(users.find("alice").expect("there").failed_attempts, failed);
    }
    assert!(!users.find("alice").expect("there").is_enabled);
    assert!(matches!(
        users.note_failure("alice", 5),
        Change::Leave(false)
    ));
    assert!(matches!(users.note_failure("bob", 5), Change::Leave(false)));
}

#[test]
fn the_minimum_length_of_new_passwords_is_configurable() {
    let setup = TestAccounts::with("");
    let TestAccounts { users, _folder } = setup;
    let users = users.with_min_length(3);
    users
        .add(NewUser::new("bob", &"abc".into()), now())
        .expect("long enough");
    let error = users.add(NewUser::new("cyd", &"ab".into()), now());
    let error = error.expect_err("too short").to_string();
    assert_eq!(error, "password must have at least 3 characters");
}

#[test]
fn databases_are_changed_and_an_empty_list_leaves_no_member() {
    let setup = TestAccounts::with(ALICE);
    let change = |databases: &[String]| {
        let changes = UserChanges {
            databases: Some(databases),
            ..UserChanges::default()
        };
        setup.users.update("alice", &changes).expect("updated");
        setup.one().databases
    };
    assert_eq!(change(&["shop".to_owned()]), ["shop"]);
    assert!(setup.text().contains("- shop\n"), "{}", setup.text());
    assert_eq!(change(&[]), [""; 0]);
    assert!(!setup.text().contains("available_databases"));
}

#[test]
fn an_account_is_enabled_and_disabled_with_other_changes() {
    let setup = TestAccounts::with(ALICE);
    for is_enabled in [false, true] {
        let changes = UserChanges {
            note: Some("changed"),
            is_enabled: Some(is_enabled),
            ..UserChanges::default()
        };
        setup.users.update("alice", &changes).expect("updated");
        assert_eq!(setup.one().is_enabled, is_enabled);
    }
    assert_eq!(setup.one().failed_attempts, 0);
    assert_eq!(setup.one().note, "changed");
}

#[test]
fn the_last_enabled_administrator_is_kept_where_that_is_asked_for() {
    let setup = TestAccounts::with(ALICE);
    let path = setup.users.path().to_owned();
    let kept = UserFile::new(path).with_cost(4).with_administrator_kept();
    // There was no administrator before, so no administrator has to be left.
    kept.disable("alice").expect("disabled");
    let changes = UserChanges {
        is_admin: Some(true),
        is_enabled: Some(true),
        ..UserChanges::default()
    };
    kept.update("alice", &changes).expect("updated");
    let text = setup.text();
    let revoke = UserChanges {
        is_admin: Some(false),
        ..UserChanges::default()
    };
    for refused in [
        kept.disable("alice"),
        kept.delete("alice").map(drop),
        kept.update("alice", &revoke),
    ] {
        assert_eq!(
            refused.expect_err("the last one").to_string(),
            "user 'alice' is the only enabled administrator: make another one first"
        );
    }
    assert_eq!(setup.text(), text, "nothing was written");
    setup.users.delete("alice").expect("a command may");
}
