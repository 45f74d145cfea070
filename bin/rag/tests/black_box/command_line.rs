//! The command line.

mod adopt;

use serde_json::Value;
use ziggurat_black_box::{Ran, output};

use crate::support::{Home, nowhere, server};

fn bare(words: &[&str]) -> Ran {
    Ran::from(output(&mut Home::new().bare(words)))
}

#[test]
fn the_usage_names_every_flag() {
    for word in ["-h", "-help", "--help"] {
        let ran = bare(&[word, "-version", "-openapi"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(0), ""), "{word}");
        for flag in [
            "config",
            "check-config",
            "verify-audit",
            "openapi",
            "version",
            "help",
        ] {
            let found = ran.stderr.contains(&format!("\n  -{flag}"));
            assert!(found, "{flag}: {}", ran.stderr);
        }
    }
}

#[test]
fn an_invalid_command_line_exits_with_2_and_prints_the_usage() {
    for words in [&["-unknown"][..], &["-config"], &["---help"], &["serve"]] {
        let ran = bare(words);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{words:?}");
        assert!(ran.stderr.contains("\n  -config "), "{}", ran.stderr);
    }
    let first = bare(&["-unknown"]).stderr;
    assert!(
        first.starts_with("flag provided but not defined: -unknown\n"),
        "{first}"
    );
}

#[test]
fn the_version_has_the_product_and_three_values() {
    let ran = bare(&["--version", "-openapi"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    for (line, start) in
        lines[1..]
            .iter()
            .zip(["  Version:    ", "  Build Time: ", "  Git Commit: "])
    {
        let fact = line.strip_prefix(start);
        assert!(fact.is_some_and(|fact| !fact.is_empty()), "{line}");
    }
}

#[test]
fn the_printed_document_is_the_served_one() {
    let ran = bare(&["-openapi"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let home = Home::with(&format!(
        "{}pipelines:\n{}",
        server(""),
        nowhere("docs", "")
    ));
    let (_program, client) = home.serve();
    let served = client.get("/v1/openapi.json");
    assert_eq!(served.status, 200);
    assert_eq!(served.json(), printed);
    assert!(ran.stdout.starts_with("{\n  \""), "two spaces");
}

#[test]
fn a_failed_start_logs_one_line_and_exits_with_1() {
    let ran = bare(&["-config", "none.yaml"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""));
    let lines: Vec<_> = ran.stdout.lines().collect();
    let [line] = lines.as_slice() else {
        panic!("one line: {lines:?}");
    };
    assert!(
        line.ends_with(
            "level=ERROR msg=\"server failed\" error=\"failed to locate configuration file: \
             config file not found: none.yaml\""
        ),
        "{line}"
    );
    let line = bare(&[]).stdout;
    let expected = "failed to locate configuration file: no configuration file found; searched: \
                    [/etc/ziggurat/ziggurat-rag.yaml ";
    assert!(line.contains(expected), "{line}");
}
