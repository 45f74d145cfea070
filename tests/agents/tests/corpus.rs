//! Runs the commands of the program.

use std::process::Command;

/// Runs a command, and returns its output if it succeeds.
fn run(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ziggurat-agents"))
        .args(words)
        .output()
        .expect("built");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {text}{problem}");
    text
}

#[test]
fn every_statement_of_the_corpus_returns_a_row() {
    run(&["gold"]);
}
