//! Tests of programs that connections to a database need.

use std::fs;

use crate::support::{Home, Postgres};

/// Returns the entry of a database with a program in place of the password.
fn entry(postgres: &Postgres, keys: &str) -> String {
    let entry = postgres.entry("main");
    let lines = entry.lines();
    let without = lines.filter(|line| !line.trim().starts_with("password:"));
    let without: Vec<_> = without.collect();
    format!("databases:\n{}\n{keys}", without.join("\n"))
}

#[test]
fn a_program_prints_the_password_and_no_log_at_any_level_has_it() {
    let mut postgres = Postgres::new();
    let role = postgres.role();
    let mut home = Home::new();
    home.set("RUST_LOG", "trace");
    home.set("ZIGGURAT_DB_USER", &*role);
    // The password of the role is long enough to be looked for.
    fs::write(home.file("secret"), &role).expect("written");
    let script = "echo asked as $ZIGGURAT_DB_USER for $(cat secret) >&2; cat secret";
    let keys = format!("    password_command: [/bin/sh, -c, '{script}']\n");
    home.configure(&entry(&postgres, &keys));
    let token = home.token("main");
    let (mut program, client) = home.serve(&["-debug"]);
    let text = client.bearing(&token).query("SELECT 1 AS one");
    assert!(text.ends_with("\n1"), "{text}");
    program.signal(rustix::process::Signal::TERM);
    assert!(program.ended().success());
    let log = program.log();
    let line = log
        .lines()
        .find(|line| line.contains("password_command has ended"));
    let line = line.expect("standard error is logged");
    assert!(
        line.contains("asked as") && line.contains("exit status 0"),
        "{line}"
    );
    assert!(!line.contains(&format!("for {role}")), "{line}");
}

#[test]
fn the_state_of_replicas_is_reached_by_a_service_and_by_programs() {
    let postgres = Postgres::new();
    let mut home = Home::with(&postgres);
    let [(_, host), (_, port), (_, name), (_, user), (_, password)] = postgres.environment();
    let service = format!("[state]\nhost={host}\nport={port}\ndbname={name}\nuser={user}\n");
    fs::write(home.file("services"), service).expect("written");
    fs::write(home.file("secret"), password).expect("written");
    let services = home.file("services").display().to_string();
    home.set("PGSERVICEFILE", services);
    let secret = home.file("secret").display().to_string();
    for (keys, code, expected) in [
        (format!("password_command: [cat, {secret}]"), 0, ""),
        (
            "password_command: [/bin/sh, -c, 'exit 3']".to_owned(),
            1,
            "state.service: password_command of 'state' failed: exit status 3\n",
        ),
        (
            "connect_command: [/bin/sh, -c, 'exit 7']".to_owned(),
            1,
            "state.service: connect_command of 'state' did not connect: exit status 7\n",
        ),
    ] {
        let entry = postgres.entry("main");
        home.configure(&format!(
            "databases:\n{entry}\nstate: {{service: state, {keys}}}\n"
        ));
        let ran = home.ran(&["-check-config", "-connect"], "");
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stdout.ends_with(expected), "{ran:?}");
    }
}

#[test]
fn a_check_says_how_the_program_ended() {
    let postgres = Postgres::new();
    let home = Home::new();
    let keys = "    password_command: [/bin/sh, -c, 'echo swordfish; echo trout >&2; exit 3']\n";
    home.configure(&entry(&postgres, keys));
    let ran = home.ran(&["-check-config", "-connect"], "");
    let expected = "database 'main': password_command of 'main' failed: exit status 3\n";
    assert_eq!((ran.code, &*ran.stdout), (Some(1), expected));
    assert!(!ran.stderr.contains("swordfish"), "{}", ran.stderr);
}
