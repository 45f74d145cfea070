//! Tests of questions on a terminal. Without `script`, which creates one, they pass without a check.

use ziggurat_black_box::in_a_terminal;

use super::home;

/// Number of runs: the password was seen in two of five.
const RUNS: u32 = 12;

#[test]
fn a_password_that_is_typed_at_once_is_never_shown() {
    let home = home();
    let program = env!("CARGO_BIN_EXE_ziggurat-tools");
    let users = home.users();
    let path = home.path().to_str().expect("text");
    let answers = [
        ("Update password? (y/N): ", &b"y\n"[..]),
        ("Enter password: ", b"hunter one\n"),
        ("Confirm password: ", b"hunter two\n"),
    ];
    for (command, answers) in [("-add-user", &answers[1..]), ("-update-user", &answers[..])] {
        let line = format!(
            "{program} -user-file {} {command} -username al",
            users.display()
        );
        for _ in 0..RUNS {
            let Some(seen) = in_a_terminal(&line, [("HOME", path)], answers) else {
                return;
            };
            assert!(seen.contains("passwords do not match"), "{seen}");
            assert!(!seen.contains("hunter"), "{seen}");
        }
    }
}
