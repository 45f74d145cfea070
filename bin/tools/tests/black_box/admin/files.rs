//! Tests of the location, permissions and content of the account files.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    thread,
};

use super::{done, home};
use crate::support::{Home, Ran, output};

const TOKEN: [&str; 7] = [
    "-add-token",
    "-token-note",
    "n",
    "-token-database",
    "main",
    "-token-expiry",
    "never",
];

const USER: [&str; 7] = [
    "-add-user",
    "-username",
    "alice",
    "-password",
    "correct horse",
    "-user-note",
    "",
];

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

/// Runs the program with a configuration, without flags for files.
fn bare(home: &Home, words: &[&str]) -> Ran {
    let mut command = home.bare(words);
    command.arg("-config").arg(home.file("ziggurat-tools.yaml"));
    Ran::from(output(&mut command))
}

#[test]
fn new_files_and_their_folders_are_for_their_owner() {
    let home = home();
    let (tokens, users) = (home.file("a/b/tokens.yaml"), home.file("c/users.yaml"));
    for (words, flag, path) in [
        (TOKEN, "-token-file", &tokens),
        (USER, "-user-file", &users),
    ] {
        let path = path.to_str().expect("text");
        let ran = bare(&home, &[&words[..], &[flag, path]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    for file in [&tokens, &users] {
        assert_eq!(mode(file), 0o600, "{}", file.display());
        assert_eq!(mode(file.parent().expect("a folder")), 0o700);
    }
    assert_eq!(mode(&home.file("a")), 0o700);
}

#[test]
fn a_file_that_others_can_read_is_a_warning_and_made_private() {
    let home = home();
    home.ran(&TOKEN, "");
    fs::set_permissions(home.tokens(), Permissions::from_mode(0o644)).expect("ours");
    let ran = home.ran(&["-list-tokens"], "");
    assert_eq!(ran.code, Some(0));
    let path = home.tokens().display().to_string();
    assert!(
        ran.stderr.contains("WARN") && ran.stderr.contains(&path),
        "{ran:?}"
    );
    assert_eq!(mode(&home.tokens()), 0o644, "reading changes nothing");
    home.ran(&TOKEN, "");
    assert_eq!(mode(&home.tokens()), 0o600);
}

#[test]
fn the_configuration_sets_the_files_unless_a_flag_does() {
    let home = home();
    let (tokens, users) = (home.file("t.yaml"), home.file("u.yaml"));
    home.configure(&format!(
        "databases: [{{name: main, user: a}}]\nhttp: {{auth: {{token_file: {}, user_file: {}}}}}\n",
        tokens.display(),
        users.display()
    ));
    for words in [TOKEN, USER] {
        assert_eq!(bare(&home, &words).code, Some(0));
    }
    assert!(tokens.exists() && users.exists());
    home.ran(&TOKEN, "");
    assert!(home.tokens().exists(), "the flag goes first");
    let list = done(bare(&home, &["-list-tokens"]));
    assert!(list.ends_with("Total tokens: 1\n"), "{list}");
}

#[test]
fn a_file_that_is_not_yaml_is_not_changed() {
    let home = home();
    for (path, commands) in [
        (home.tokens(), [&TOKEN[..], &["-list-tokens"]]),
        (home.users(), [&USER[..], &["-list-users"]]),
    ] {
        home.replace(&path, "tokens: [\n");
        for words in commands {
            let ran = home.ran(words, "");
            assert_eq!(ran.code, Some(1), "{words:?}");
            let expected = path.display().to_string();
            assert!(ran.stderr.starts_with("ERROR: "), "{ran:?}");
            assert!(ran.stderr.contains(&expected), "{ran:?}");
            assert_eq!(ran.stdout, "", "no token that is not kept: {ran:?}");
        }
        assert_eq!(fs::read_to_string(&path).expect("there"), "tokens: [\n");
    }
}

#[test]
fn commands_at_the_same_time_do_not_lose_each_others_changes() {
    let home = home();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(home.ran(&TOKEN, "").code, Some(0)));
        }
    });
    let list = done(home.ran(&["-list-tokens"], ""));
    assert!(list.ends_with("Total tokens: 8\n"), "{list}");
}

#[test]
fn two_commands_at_once_are_refused() {
    let home = home();
    let ran = home.ran(&["-list-tokens", "-list-users"], "");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = home.ran(&["-token-note", "x"], "");
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
