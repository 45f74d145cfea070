//! Tests of `-add-user`, `-list-users`, `-update-user`, `-enable-user`, `-disable-user`,
//! `-delete-user`.

use std::fs;

use super::{assert_failed, done, home, value};
use crate::support::{Home, Ran, records};

/// Creates a folder with these users.
fn with(users: &[String]) -> Home {
    let home = home();
    home.replace(&home.users(), &records::users(users));
    home
}

fn alice() -> String {
    records::user("alice", &[])
}

/// Runs a command for the user alice.
fn of_alice(home: &Home, command: &str, more: &[&str], input: &str) -> Ran {
    home.ran(&[&[command, "-username", "alice"], more].concat(), input)
}

fn file(home: &Home) -> String {
    fs::read_to_string(home.users()).expect("written")
}

#[test]
fn a_user_is_created_from_flags_alone() {
    let home = home();
    let words = ["-password", "correct horse", "-user-note", "Developer"];
    let ran = of_alice(&home, "-add-user", &words, "");
    let announced = format!("Creating new user file: {}\n", home.users().display());
    assert_eq!((ran.code, &*ran.stderr), (Some(0), &*announced));
    for line in [
        "User created successfully!",
        "Username: alice",
        "Note:     Developer",
        "Status:   Enabled",
    ] {
        assert!(ran.stdout.contains(&format!("{line}\n")), "{ran:?}");
    }
    let file = file(&home);
    assert!(!file.contains("correct horse"), "{file}");
    let hash = value(&file, "    password_hash: ").trim_matches(['"', '\'']);
    let spelling = hash.get(..7).unwrap_or_default();
    assert!(
        ["$2a$12$", "$2b$12$", "$2y$12$"].contains(&spelling),
        "{file}"
    );
    for part in [
        "alice:",
        "username: alice",
        "enabled: true",
        "last_login: null",
    ] {
        assert!(file.contains(part), "{part}: {file}");
    }
}

#[test]
fn invalid_users_are_not_created() {
    const MISSING: &str = "because standard input is not a terminal";
    let home = with(&[alice()]);
    let before = file(&home);
    for (words, message) in [
        (
            &[][..],
            format!("username is required: give -username, {MISSING}"),
        ),
        (&["-username", ""], "username is required".to_owned()),
        (
            &["-username", "bob"],
            format!("password is required: give -password, {MISSING}"),
        ),
        (
            &["-username", "bob", "-password", ""],
            "password is required".to_owned(),
        ),
        (
            &["-username", "alice", "-password", "correct horse"],
            "failed to add user: user 'alice' already exists".to_owned(),
        ),
    ] {
        // Answers are no flags: they may be lines of a loop around the command.
        let ran = home.ran(&[&["-add-user"], words].concat(), "bob\nhorse\nhorse\n\n");
        assert_failed(&ran, &message);
    }
    assert_eq!(file(&home), before);
    let ran = home.ran(&["-update-user", "-username", "alice"], "y\none\none\n");
    assert_failed(&ran, "no updates specified");
    assert_eq!(file(&home), before);
}

#[test]
fn a_password_is_read_from_standard_input_where_the_flag_says_so() {
    let home = with(&[alice()]);
    let words = ["-password", "-"];
    done(of_alice(&home, "-update-user", &words, " correct horse \n"));
    home.replace(&home.tokens(), &records::tokens(&[]));
    let (_program, client) = home.serve(&[]);
    client.logged_in("alice", " correct horse ");
    let ran = of_alice(&home, "-update-user", &words, "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("\"-password -\""), "{ran:?}");
}

#[test]
fn a_password_that_bcrypt_would_truncate_is_refused() {
    let home = with(&[alice()]);
    let before = file(&home);
    let long = "x".repeat(73);
    let words = [
        "-add-user",
        "-username",
        "bob",
        "-password",
        &long,
        "-user-note",
        "",
    ];
    let message = "failed to add user: password must not be longer than 72 bytes";
    assert_failed(&home.ran(&words, ""), message);
    assert_eq!(file(&home), before);
}

#[test]
fn the_list_is_a_table() {
    let home = home();
    assert_eq!(done(home.ran(&["-list-users"], "")), "No users found.\n");
    let charlie = records::user(
        "charlie",
        &["enabled: false", "annotation: Former, and somewhat long"],
    );
    let alice = records::user(
        "alice",
        &["last_login: 2024-11-14T09:30:59Z", "annotation: Developer"],
    );
    home.replace(&home.users(), &records::users(&[charlie, alice]));
    let (thick, thin) = ("=".repeat(90), "-".repeat(90));
    let expected = format!(
        "\nUsers:\n{thick}\n\
         Username             Created                   Last Login           Status     Annotation\n\
         {thin}\n\
         alice                2026-01-01 00:00          2024-11-14 09:30     Enabled    Developer\n\
         charlie              2026-01-01 00:00          Never                DISABLED   Former, and somew...\n\
         {thick}\n"
    );
    assert_eq!(done(home.ran(&["-list-users"], "")), expected);
    let list = done(home.ran(&["-list-users", "-output", "json"], ""));
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(list[0]["username"], "alice");
    assert_eq!(list[0]["last_login"], "2024-11-14T09:30:59Z");
    assert_eq!(list[1]["enabled"], false);
    assert_eq!(list[1]["note"], "Former, and somewhat long");
    assert!(!list.to_string().contains("password"), "{list}");
    for words in [
        &["-list-users", "-output", "yaml"][..],
        &["-output", "json"],
    ] {
        assert_eq!(home.ran(words, "").code, Some(2), "{words:?}");
    }
}

#[test]
fn a_user_is_changed_by_flags() {
    let home = with(&[records::user(
        "alice",
        &["annotation: before", "team: blue"],
    )]);
    let text = done(of_alice(
        &home,
        "-update-user",
        &["-user-note", "after"],
        "",
    ));
    assert_eq!(text, "User 'alice' updated successfully\n");
    let changed = file(&home);
    assert!(changed.contains("annotation: after"), "{changed}");
    assert!(
        changed.contains("team: blue"),
        "what is unknown stays: {changed}"
    );
    assert!(changed.contains("$2b$04$"), "the password stays: {changed}");

    done(of_alice(
        &home,
        "-update-user",
        &["-password", "battery staple"],
        "",
    ));
    let changed = file(&home);
    assert!(!changed.contains("$2b$04$"), "{changed}");
    assert!(changed.contains("annotation: after"), "{changed}");

    done(of_alice(&home, "-update-user", &["-user-note", ""], ""));
    assert!(!file(&home).contains("after"), "an empty note clears it");
}

#[test]
fn a_user_is_disabled_and_enabled() {
    let home = with(&[records::user("alice", &["failed_attempts: 4"])]);
    let text = done(of_alice(&home, "-disable-user", &[], ""));
    assert_eq!(text, "User 'alice' disabled successfully\n");
    assert!(file(&home).contains("enabled: false"));
    let text = done(of_alice(&home, "-enable-user", &[], ""));
    assert_eq!(text, "User 'alice' enabled successfully\n");
    assert!(file(&home).contains("enabled: true"));
    assert!(file(&home).contains("failed_attempts: 0"));
}

#[test]
fn a_user_is_deleted_after_a_confirmation() {
    let home = with(&[alice(), records::user("bob", &[])]);
    let question = "Are you sure you want to delete user 'alice'? (y/N): ";
    let before = file(&home);
    let ran = of_alice(&home, "-delete-user", &[], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("give y, or -yes"), "{ran:?}");
    for input in ["\n", "n\n", "yep\n"] {
        let text = done(of_alice(&home, "-delete-user", &[], input));
        assert_eq!(text, format!("{question}Deletion canceled\n"), "{input:?}");
    }
    assert_eq!(file(&home), before);
    let text = done(of_alice(&home, "-delete-user", &[], "Y\n"));
    assert_eq!(
        text,
        format!("{question}User 'alice' deleted successfully\n")
    );
    let after = file(&home);
    assert!(!after.contains("alice") && after.contains("bob"), "{after}");
    let words = ["-delete-user", "-yes", "-username", "bob"];
    let text = done(home.ran(&words, ""));
    assert_eq!(text, "User 'bob' deleted successfully\n");
}

#[test]
fn a_user_who_does_not_exist_cannot_be_changed() {
    let home = with(&[alice()]);
    for (command, more, input, verb) in [
        ("-update-user", &["-user-note", "x"][..], "", "update"),
        (
            "-update-user",
            &["-password", "correct horse"],
            "",
            "update",
        ),
        ("-enable-user", &[], "", "enable"),
        ("-disable-user", &[], "", "disable"),
        ("-delete-user", &[], "y\n", "delete"),
    ] {
        let words = [&[command, "-username", "bob"], more].concat();
        let ran = home.ran(&words, input);
        assert_failed(
            &ran,
            &format!("failed to {verb} user: user 'bob' not found"),
        );
    }
}

#[test]
fn the_minimum_length_of_passwords_is_configured_and_older_ones_stay_valid() {
    let home = with(&[alice()]);
    home.configure("http: {auth: {min_password_length: 4}}\n");
    let short = ["-password", "four"];
    done(of_alice(&home, "-update-user", &short, ""));
    let ran = of_alice(&home, "-update-user", &["-password", "thr"], "");
    let message = "failed to update user: password must have at least 4 characters";
    assert_failed(&ran, message);
    // Where the file sets none, a short password is a warning.
    home.configure("databases: [{name: main, user: reader}]\n");
    let ran = of_alice(&home, "-update-user", &short, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "WARN",
        "fewer than 12 characters",
        "http.auth.min_password_length",
    ] {
        assert!(ran.stderr.contains(part), "{ran:?}");
    }
    home.replace(&home.tokens(), &records::tokens(&[]));
    done(of_alice(&home, "-update-user", &["-user-note", "x"], ""));
    let (_program, client) = home.serve(&[]);
    client.logged_in("alice", "four");
}
