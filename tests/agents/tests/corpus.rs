//! Runs the commands of the program.

use std::process::Command;

/// Runs a command, and fails with its output if it fails.
fn run(words: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_ziggurat-agents"))
        .args(words)
        .output()
        .expect("built");
    let text = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {text}{problem}");
}

#[test]
fn every_statement_of_the_corpus_returns_a_row() {
    run(&["gold"]);
}

#[test]
fn nine_of_ten_errors_of_statements_with_a_mistake_name_what_is_right() {
    run(&["mutations", "--missed"]);
}

#[test]
fn three_answers_of_search_schema_say_all_that_the_statements_need() {
    run(&["check"]);
}
