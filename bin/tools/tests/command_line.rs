//! Tests of the program's output and exit codes.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use ziggurat_black_box::output;

/// Runs the program in an empty environment.
fn run(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ziggurat-tools"));
    output(command.args(words).env_clear().current_dir(folder))
}

fn stderr(output: &Output) -> String {
    assert!(
        output.stdout.is_empty(),
        "standard output is for the protocol"
    );
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[test]
fn help_goes_to_standard_error_and_is_a_success() {
    let folder = tempfile::tempdir().expect("a folder");
    for word in ["-h", "-help", "--help"] {
        let output = run(folder.path(), &[word]);
        assert_eq!(output.status.code(), Some(0), "{word}");
        let text = stderr(&output);
        for flag in ["-http", "-addr", "-tls", "-cert", "-key", "-chain"] {
            assert!(text.contains(&format!("\n  {flag} ")), "{flag}: {text}");
        }
    }
}

#[test]
fn an_invalid_command_line_exits_with_2_and_shows_the_usage() {
    let folder = tempfile::tempdir().expect("a folder");
    for words in [&["-htpp"][..], &["-db-port", "many"], &["-http=perhaps"]] {
        let output = run(folder.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let text = stderr(&output);
        assert!(text.starts_with("Error: "), "{text}");
        assert!(text.contains("Usage: ziggurat-tools"), "{text}");
    }
}

#[test]
fn an_error_at_the_start_exits_with_1_and_a_message() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(
        folder.path().join("twice.yaml"),
        "databases: [{name: a, user: b}, {name: a, user: b}]",
    )
    .expect("written");
    fs::write(folder.path().join("broken.yaml"), "http: [").expect("written");
    fs::write(
        folder.path().join("tls.yaml"),
        "http: {tls: {enabled: true}}",
    )
    .expect("written");
    for (words, message) in [
        (
            &["serve", "now"][..],
            "Error: unexpected arguments: serve now\n",
        ),
        (
            &["-tls"],
            "ERROR: TLS options (-tls, -cert, -key, -chain) require -http flag\n",
        ),
        (
            &["-db-host", "a", "-db-hosts", "b"],
            "ERROR: -db-host and -db-hosts exclude each other\n",
        ),
        (
            &["-config", "none.yaml"],
            "ERROR: failed to load config file none.yaml: there is no such file\n",
        ),
        (
            &["-config", "broken.yaml"],
            "ERROR: failed to load config file broken.yaml: ",
        ),
        (
            &["-config", "twice.yaml"],
            "ERROR: invalid configuration: duplicate database name: a\n",
        ),
        (
            &["-config", "tls.yaml"],
            "ERROR: invalid configuration: TLS requires HTTP mode to be enabled\n",
        ),
        (
            &["-http", "-token-file", "t"],
            "ERROR: Token file not found: t\n",
        ),
        (
            &["-http", "-no-auth", "-tls", "-cert", "c"],
            "ERROR: Certificate file not found: c\n",
        ),
    ] {
        let output = run(folder.path(), words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let text = stderr(&output);
        assert!(text.starts_with(message), "{text}");
    }
}

#[test]
fn unknown_keys_are_errors_that_suggest_the_most_similar_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "{http: {adress: ':1', enabled: true}}";
    fs::write(folder.path().join("slip.yaml"), text).expect("written");
    let output = run(folder.path(), &["-config", "slip.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("unknown key 'http.adress' in slip.yaml (did you mean 'http.address'?)"),
        "{text}"
    );
}
