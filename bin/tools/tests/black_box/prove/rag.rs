//! Questions to pipelines. A script stands for `ziggurat-rag`; `tests/prove` asks the program itself.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use crate::{
    prove::shop::{SOUND, Shop},
    support::Ran,
};

/// The program finds the question itself for each caller that a pattern fits, and nothing for others.
const SCRIPT: &str = r#"#!/bin/sh
read -r task
echo "$0 $* $task" >"$HOME/started"
echo '{"version": "VERSION", "pipelines": [{"name": "docs", "tables": [["orders", "note"]]}]}'
while read -r line; do
  case $line in
  PATTERN) echo "\"$(echo "$line" | tr -d '"')\"" ;;
  *) echo '"{}"' ;;
  esac
done
echo ended >>"$HOME/started"
"#;

/// Runs the command with this script in place of `ziggurat-rag`.
fn ran(shop: &Shop, script: Option<&str>, more: &[&str]) -> Ran {
    let folder = shop.home.file("programs");
    fs::create_dir_all(&folder).expect("made");
    let program = folder.join("ziggurat-tools");
    let own = env!("CARGO_BIN_EXE_ziggurat-tools");
    if !program.exists() && fs::hard_link(own, &program).is_err() {
        fs::copy(own, &program).expect("copied");
    }
    if let Some(script) = script {
        let path = folder.join("ziggurat-rag");
        let text = script.replace("VERSION", env!("CARGO_PKG_VERSION"));
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("ours");
    }
    let usual = shop.command(&[&["-rag", "rag.yaml"], more].concat());
    let mut command = Command::new(program);
    command.args(usual.get_args()).env_clear();
    let values = usual.get_envs();
    command.envs(values.filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(shop.home.path());
    let output = command.env("PATH", "/usr/bin:/bin").output();
    Ran::from(output.expect("a program"))
}

#[test]
fn rows_of_b_that_a_pipeline_finds_for_a_are_an_error() {
    let shop = Shop::new(SOUND);
    let url = shop.copy.url();
    let password = shop.copy.password();
    for (pattern, code) in [("*", 3), ("*token-2*", 0)] {
        let script = SCRIPT.replace("PATTERN", pattern);
        let ran = ran(&shop, Some(&script), &["-copy", &url]);
        assert_eq!(ran.code, Some(code), "{pattern} {ran:?}");
        let line = "pg://shop/public/orders pipeline docs: error row: a row of B came back (ziggurat-rag, case ";
        assert_eq!(ran.stdout.contains(line), code == 3, "{ran:?}");
        let started = fs::read_to_string(shop.home.file("started")).expect("written");
        assert!(
            started.contains("ziggurat-rag prove-questions -config rag.yaml "),
            "{started}"
        );
        for name in [shop.real.name(), shop.copy.name()] {
            assert!(
                started.contains(&format!("\"name\":\"{name}\"")),
                "{started}"
            );
        }
        assert!(!started.contains(&password), "{started}");
        assert!(started.ends_with("\nended\n"), "{started}");
        assert_eq!(shop.bytes(), 0);
    }
}

#[test]
fn a_pipeline_that_finds_no_row_of_b_for_b_is_inconclusive() {
    let shop = Shop::new(SOUND);
    let script = SCRIPT.replace("PATTERN", "nothing");
    let ran = ran(&shop, Some(&script), &["-copy", &shop.copy.url()]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let line = "pg://shop/public/orders: inconclusive: no row of B came back to B through the pipeline docs: {}\n";
    assert!(ran.stdout.contains(line), "{ran:?}");
}

#[test]
fn known_values_are_looked_for_in_answers_of_pipelines() {
    let shop = Shop::new("");
    shop.run_in_real(SOUND);
    fs::write(shop.home.file("values.txt"), "Umbra-secret-7\n").expect("written");
    for (pattern, code) in [("*Umbra*", 3), ("nothing", 0)] {
        let script = SCRIPT.replace("PATTERN", pattern);
        let ran = ran(&shop, Some(&script), &["-canaries", "values.txt"]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert_eq!(
            ran.stdout.contains("pipeline docs: error row"),
            code == 3,
            "{ran:?}"
        );
    }
    let failing = SCRIPT
        .replace("PATTERN", "none")
        .replace("\"{}\"", r#""{\\"error\\":{}}""#);
    let ran = ran(&shop, Some(&failing), &["-canaries", "values.txt"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
}

#[test]
fn a_program_that_is_missing_or_does_not_answer_is_an_error() {
    let shop = Shop::new(SOUND);
    let other_version = SCRIPT.replace("\"VERSION\"", "\"0.0.7\"");
    let silent = SCRIPT.replace("while read -r line", "while false");
    let cases = [
        (
            None,
            "ziggurat-rag is neither beside this program nor on PATH",
        ),
        (
            Some("#!/bin/sh\necho 'no such file' >&2\nexit 1\n"),
            "ziggurat-rag did not start: it has ended",
        ),
        (Some(&*other_version), "has version 0.0.7, not "),
        (Some(&*silent), "ziggurat-rag: it has ended"),
    ];
    for (script, why) in cases {
        let ran = ran(&shop, script, &["-copy", &shop.copy.url()]);
        assert_eq!(ran.code, Some(1), "{why} {ran:?}");
        assert!(ran.stderr.contains(why), "{why} {ran:?}");
        assert_eq!(ran.stdout, "");
        assert_eq!(shop.bytes(), 0);
    }
}
