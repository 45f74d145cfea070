//! The commands of the README: each names what there is.

use std::fs;

use serde_json::Value;

use crate::{cargo, root};

/// Programs of others that the README uses.
const OTHERS: [&str; 4] = ["apt", "createdb", "curl", "docker"];

/// The programs, each with the file of its flags.
const PROGRAMS: [(&str, &str); 3] = [
    ("ziggurat-tools", "bin/tools/FLAGS.txt"),
    ("ziggurat-rag", "bin/rag/FLAGS.txt"),
    ("ziggurat-platform", "bin/platform/FLAGS.txt"),
];

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).expect(file)
}

/// Returns the commands of the README, each as its words.
fn commands() -> Vec<Vec<String>> {
    let text = read("README.md");
    let lines = text.lines().filter_map(|line| line.strip_prefix("$ "));
    let commands = lines.flat_map(|line| {
        let line = line.split("  #").next().unwrap_or_default();
        line.split("&&").map(|command| {
            let words = command.trim_end_matches('&').split_whitespace();
            words.map(str::to_owned).collect()
        })
    });
    commands.collect()
}

fn assert_has(text: &str, word: &str, place: &str) {
    let is_there = text
        .split(|end: char| end.is_whitespace() || end == ',')
        .any(|it| it == word);
    assert!(is_there, "{place} does not have {word}");
}

/// Checks the packages, profiles and aliases that a command of Cargo names.
fn check_cargo(words: &[String], metadata: &Value) {
    let aliases = read(".cargo/config.toml");
    let is_alias = aliases.contains(&format!("\n{} = ", words[0]));
    let known = ["build", "test", "bench"].contains(&words[0].as_str());
    assert!(known || is_alias, "cargo {words:?}");
    let packages = metadata["packages"].as_array().expect("packages");
    let named = |kind: &str, name: &str| match kind {
        "--package" | "-p" => packages.iter().any(|package| package["name"] == name),
        "--profile" => read("Cargo.toml").contains(&format!("\n[profile.{name}]\n")),
        _ => true,
    };
    for pair in words.windows(2) {
        assert!(named(&pair[0], &pair[1]), "cargo {words:?}: {}", pair[1]);
    }
}

/// Checks the flags that a command has, and the files of the repository that it names.
fn check_program(words: &[String], flags: &str) {
    let text = read(flags);
    for word in words {
        if word.starts_with('-') {
            assert_has(&text, word, flags);
        } else if word.contains("bin/") || word.contains("docs/") {
            assert!(root().join(word).exists(), "{words:?}: {word}");
        }
    }
}

#[test]
fn each_command_of_the_readme_names_what_there_is() {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version=1"]);
    let metadata = serde_json::from_str(&metadata).expect("JSON");
    let reference = read("bin/cli/REFERENCE.md");
    let commands = commands();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        let (program, words) = command.split_first().expect("a command");
        let flags = PROGRAMS.iter().find(|(name, _)| name == program);
        match (program.as_str(), flags) {
            ("cargo", _) => check_cargo(words, &metadata),
            ("ziggurat", _) => {
                let heading = command.join(" ");
                let mut headings = reference.lines().filter(|line| line.starts_with('#'));
                let is_there = headings.any(|it| it.trim_start_matches('#').trim() == heading);
                assert!(is_there, "{command:?}");
            }
            (_, Some((_, flags))) => check_program(words, flags),
            (other, None) => assert!(OTHERS.contains(&other), "{command:?}"),
        }
    }
}

#[test]
fn each_bench_of_the_readme_is_there() {
    let manifest = read("benches/Cargo.toml");
    let text = read("README.md");
    let table = text.split("| Figure | Bench |").nth(1).expect("a table");
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let benches: Vec<_> = rows.filter_map(|row| row.split('`').rev().nth(1)).collect();
    assert!(benches.len() > 3, "{benches:?}");
    for bench in benches {
        assert!(manifest.contains(&format!("name = \"{bench}\"")), "{bench}");
    }
}
