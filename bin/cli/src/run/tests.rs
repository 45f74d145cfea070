use std::fs;

use super::fixture::{Asked, Fake, Fixture};
use crate::tree::{self, Takes, parser::full_name};

mod keychain;
mod order;
mod profiles;
mod records;

const ID: &str = "b0c1d2e3-f4a5-6789-bcde-890123456789";

const CLIENT: &str = r#"{"id":"b0c1d2e3-f4a5-6789-bcde-890123456789","name":"ci","description":"CI runner","auth0_id":"Zk3","created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-03T03:04:05Z","quota":12345678901234567890123}"#;

fn fake(answer: impl Fn(&Asked) -> (u16, &'static str) + Send + 'static) -> Fake {
    Fake::new(move |asked| {
        let (status, body) = answer(asked);
        (status, body.to_owned())
    })
}

/// Returns a command line of the command with everything it requires.
fn line_of(path: &[&str], command: &tree::Command) -> String {
    let mut line = path.join(" ");
    for argument in command.arguments {
        let word = match argument.name {
            "method" => "POST",
            "path" => "/account/v1/clients",
            name if name.ends_with("_id") => ID,
            _ if argument.takes == Takes::One => "default",
            _ => continue,
        };
        line.push(' ');
        line.push_str(word);
    }
    for flag in command.flags.iter().filter(|flag| flag.is_required) {
        line.extend([" --", flag.name, " x"]);
    }
    if path.last() == Some(&"update") {
        line.push_str(" --name x");
    }
    line
}

#[test]
fn every_command_and_group_prints_its_help_without_configuration_or_network() {
    let fixture = Fixture::new().with_config("broken: [");
    for (path, command) in tree::commands() {
        for flag in ["--help", "-h", "--help=true"] {
            let done = fixture.run(&format!("{} {flag}", path.join(" ")));
            assert_eq!(done.exit, 0, "{path:?}: {}", done.stderr);
            assert_eq!(done.stderr, "", "{path:?}");
            assert!(done.stdout.starts_with(command.summary), "{path:?}");
        }
        let done = fixture.run(&format!("help {}", path.join(" ")));
        assert!(done.stdout.starts_with(command.summary), "{path:?}");
        if command.is_group() {
            let done = fixture.run(&path.join(" "));
            assert_eq!(done.exit, 0, "{path:?}");
            assert!(done.stdout.starts_with(command.summary), "{path:?}");
        }
    }
}

#[test]
fn every_command_that_writes_can_be_tried_without_writing() {
    for (path, command) in tree::leaves() {
        let name = full_name(&path);
        let changes = ["accept", "api", "create", "delete", "update"];
        let is_change = path[0] == "platform" && changes.contains(&command.name);
        assert_eq!(command.writes(), is_change, "{name}");
        if !is_change {
            continue;
        }
        let platform = fake(|_| (200, "{}"));
        let fixture = Fixture::signed_in(&platform);
        for flags in [
            "--dry-run",
            "--dry-run -o json",
            "--dry-run=checks -o yaml --debug",
        ] {
            let line = format!("{} {flags}", line_of(&path, command));
            let done = fixture.run(&line);
            let written: Vec<_> = platform
                .asked()
                .into_iter()
                .filter(|asked| asked.method != "GET")
                .collect();
            assert!(written.is_empty(), "{line} sent {written:?}");
            assert_eq!(done.exit, 0, "{line}: {}", done.stderr);
            assert!(
                done.stdout.contains("account/v1"),
                "{line}: {}",
                done.stdout
            );
        }
    }
}

#[test]
fn commands_about_the_tree_work_without_configuration() {
    let fixture = Fixture::new().with_config("broken: [");
    for line in [
        "version",
        "--version",
        "-V",
        "commands -o json",
        "llms",
        "llms platform client create",
        "man",
        "man platform client",
        "completion bash",
        "completion zsh",
        "completion fish",
        "completion powershell",
        "__complete -- platform cl",
        "version -o json",
        "version -o yaml",
    ] {
        let done = fixture.run(line);
        assert_eq!((done.exit, done.stderr.as_str()), (0, ""), "{line}");
        assert!(!done.stdout.is_empty(), "{line}");
    }
    let version: serde_json::Value =
        serde_json::from_str(&fixture.run("version -o json").stdout).expect("JSON");
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn unknown_pages_and_topics_are_refused() {
    let fixture = Fixture::new();
    let done = fixture.run("help platform nothing");
    assert_eq!(done.exit, 2);
    assert_eq!(
        done.stderr,
        "Error: unknown help topic \"platform nothing\" — run 'ziggurat help' for the command \
         list\n"
    );
    assert_eq!(fixture.run("llms nothing").exit, 2);
    assert_eq!(fixture.run("man nothing").exit, 2);
    assert_eq!(fixture.run("llms __complete").exit, 2);
}

#[test]
fn completion_offers_only_words_that_fit() {
    let fixture = Fixture::new().with_config("profiles:\n  staging: {}\n  default: {}\n");
    for (line, offers) in [
        ("pl", "platform\tManage the account on a platform\n"),
        ("platform client c", "create\tCreate an API client\n"),
        ("platform client list -o ", "text\njson\nyaml\n"),
        ("platform client list --output=j", "--output=json\n"),
        ("platform client list --profile s", "staging\n"),
        ("profile use ", "default\nstaging\n"),
        ("platform api P", "POST\nPUT\nPATCH\n"),
        ("platform api GET ", ""),
        (
            "platform client delete x --fo",
            "--force\tdo not ask for confirmation\n",
        ),
        ("completion install --shell z", "zsh\n"),
        ("nothing ", ""),
    ] {
        let mut words = vec!["__complete", "--"];
        words.extend(line.split(' '));
        let done = fixture.words(&words);
        assert_eq!((done.exit, done.stderr.as_str()), (0, ""), "{line}");
        assert_eq!(done.stdout, offers, "{line}");
    }
}

#[test]
fn completion_is_installed_once_and_removed_again() {
    let fixture = Fixture::new().with("SHELL", "/bin/zsh");
    let script = fixture.home().join(".zsh/completions/_ziggurat");
    let startup = fixture.home().join(".zshrc");
    fs::write(&startup, "export A=1").expect("a file");
    for _ in 0..2 {
        let done = fixture.run("completion install --write-rc");
        assert_eq!(
            (done.exit, done.stdout.as_str()),
            (0, ""),
            "{}",
            done.stderr
        );
    }
    let content = fs::read_to_string(&startup).expect("a file");
    assert!(content.starts_with("export A=1\nfpath="), "{content}");
    assert_eq!(
        content
            .matches("# Added by 'ziggurat completion install'")
            .count(),
        1
    );
    fs::write(&script, "mine").expect("a file");
    assert_eq!(fixture.run("completion install").exit, 1);
    assert_eq!(fixture.run("completion uninstall").exit, 1);
    assert_eq!(fs::read_to_string(&script).expect("a file"), "mine");
    assert_eq!(fixture.run("completion install --force").exit, 0);
    assert_eq!(fixture.run("completion uninstall").exit, 0);
    assert!(!script.exists());
    assert_eq!(
        fs::read_to_string(&startup).expect("a file"),
        "export A=1\n"
    );
    assert_eq!(fixture.run("completion install --shell tcsh").exit, 2);
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let line = "platform tenant get nope";
    let typed = || Fixture::new().typing("");
    assert!(
        typed()
            .run(line)
            .stderr
            .starts_with("\u{1b}[31mError:\u{1b}[0m invalid")
    );
    for fixture in [
        Fixture::new(),
        typed().with("NO_COLOR", "1"),
        typed().with("TERM", "dumb"),
    ] {
        assert!(fixture.run(line).stderr.starts_with("Error: invalid"));
    }
    let done = typed().run(&format!("{line} --no-color"));
    assert!(done.stderr.starts_with("Error: invalid"));
    let done = typed().run(&format!("{line} -o json"));
    assert!(done.stderr.starts_with("{\"error\""));
}

#[test]
fn the_installation_is_checked_without_failing() {
    let platform = fake(|_| (404, "{}"));
    let fixture = Fixture::signed_in(&platform).with("SHELL", "/bin/bash");
    let done = fixture.run("doctor --no-version-check");
    assert_eq!((done.exit, done.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert!(lines[0].starts_with("CHECK "), "{}", done.stdout);
    assert!(
        lines[6].starts_with("Connection      ok       default: http://127.0.0.1:"),
        "{}",
        done.stdout
    );
    let report: serde_json::Value =
        serde_json::from_str(&fixture.run("doctor -o json").stdout).expect("JSON");
    assert_eq!(report["config"]["config_exists"], true);
    assert_eq!(report["connections"][0]["has_credentials"], true);
    assert_eq!(report["shell"]["shell"], "bash");
    let nowhere = Fixture::new()
        .with_config("profiles:\n  default:\n    platform:\n      api_url: http://127.0.0.1:1\n");
    assert_eq!(nowhere.run("doctor").exit, 0);
    assert_eq!(nowhere.run("doctor --strict").exit, 1);
}

#[test]
fn ids_are_completed_while_a_token_is_cached() {
    let platform = fake(|asked| match asked.path.as_str() {
        "/account/v1/clients" => (
            200,
            r#"[{"id":"b0c1","name":"ci\tx"},{"id":"c0d1","name":"b"}]"#,
        ),
        _ => (200, r#"[{"id":"t1","name":"Acme"}]"#),
    });
    let fixture = Fixture::signed_in(&platform);
    let complete = ["__complete", "--", "platform", "client", "get", ""];
    let done = fixture.words(&complete);
    assert_eq!(
        (done.exit, done.stdout.as_str(), done.stderr.as_str()),
        (0, "", "")
    );
    assert_eq!(
        platform.lines(),
        [""; 0],
        "no token is minted for a completion"
    );
    assert_eq!(fixture.run("platform tenant list").exit, 0);
    assert_eq!(fixture.words(&complete).stdout, "b0c1\tci\\tx\nc0d1\tb\n");
    let complete = [
        "__complete",
        "--",
        "-v",
        "platform",
        "client",
        "delete",
        "--force",
        "c",
    ];
    let done = fixture.words(&complete);
    assert_eq!(
        (done.stdout.as_str(), done.stderr.as_str()),
        ("c0d1\tb\n", "")
    );
    // A second argument is not an id.
    let complete = ["__complete", "--", "platform", "client", "get", "b0c1", ""];
    assert_eq!(fixture.words(&complete).stdout, "");
}

#[test]
fn members_are_chosen_in_text_too() {
    let fixture = Fixture::new();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        fixture.run("version --fields version").stdout,
        format!("VERSION\n{version}\n")
    );
    let done = fixture.run("commands --fields path,writes");
    assert!(done.stdout.starts_with("COMMAND  "), "{}", done.stdout);
    let done = fixture.run("commands --fields path,exit_codes");
    assert!(done.stdout.starts_with("PATH  "), "{}", done.stdout);
    assert!(done.stdout.contains("[0,1,2]\n"), "{}", done.stdout);
}

#[test]
fn a_closed_pipe_gets_no_message() {
    let platform = fake(|_| (200, "[{\"id\":\"1\"}]"));
    let fixture = Fixture::signed_in(&platform).unread();
    for line in [
        "commands",
        "platform tenant list",
        "version -o json",
        "--help",
    ] {
        let done = fixture.run(line);
        assert_eq!((done.exit, done.stderr.as_str()), (141, ""), "{line}");
    }
}

#[test]
fn without_a_home_nothing_is_read_from_the_working_directory() {
    for home in ["", ".", "relative"] {
        let fixture = Fixture::new().with("HOME", home);
        assert_eq!(fixture.run("profile list").exit, 0);
        let config = fixture.run("doctor --fields config -o json").stdout;
        assert!(config.contains("/dev/null/.ziggurat"), "{config}");
        let named = fixture.with_config("profiles:\n  a: {}\n");
        assert_eq!(
            named.run("profile use a").stderr,
            "Error: unknown profile \"a\" — no profiles are configured; run 'ziggurat platform \
             auth login --profile a' to create one\n"
        );
    }
}
