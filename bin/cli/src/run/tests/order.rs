//! Tests of the order of the checks, and that an invalid command line sends nothing.

use super::*;

const WRONG: &[(&str, u8, &str)] = &[
    (
        "platform tenant get nope",
        2,
        "invalid tenant ID \"nope\": invalid UUID length: 4",
    ),
    (
        "platform client update ID",
        2,
        "nothing to update — pass --name and/or --description",
    ),
    (
        "platform tenant update ID",
        2,
        "nothing to update — pass --name",
    ),
    (
        "platform client delete ID",
        2,
        "this operation is destructive; run with --force to confirm, or run interactively to \
             be prompted",
    ),
    (
        "platform client create --name= --description=x",
        2,
        "--name must not be empty",
    ),
    (
        "platform client create --name=x --description=",
        2,
        "--description must not be empty",
    ),
    (
        "platform tenant update ID --name=",
        2,
        "--name must not be empty",
    ),
    (
        "platform client list -o xml",
        2,
        "unsupported output format: \"xml\" (want text, json, yaml)",
    ),
    (
        "platform client delete ID --dry-run=true",
        2,
        "invalid --dry-run value \"true\" (want \"checks\", or just --dry-run)",
    ),
    (
        "platform client delete ID --dry-run=",
        2,
        "invalid --dry-run value \"\" (want \"checks\", or just --dry-run)",
    ),
    (
        "platform client list --timeout -1s",
        2,
        "--timeout must not be negative",
    ),
    (
        "platform client list --api-url=",
        2,
        "--api-url given an empty value: give one, or omit the flag",
    ),
    (
        "platform client list --client-id=",
        2,
        "--client-id given an empty value: give one, or omit the flag",
    ),
    (
        "platform client list --config=",
        2,
        "--config given an empty value: name a file, or omit the flag to use the default",
    ),
    (
        "platform client list --profile=",
        2,
        "--profile given an empty value: name a profile, or omit the flag to use the active \
             one",
    ),
    (
        "platform client list --profile ../x",
        2,
        "invalid profile name \"../x\": use up to 64 letters, digits, '.', '_' and '-', \
             beginning with none of '.' and '-'",
    ),
    (
        "platform client list --profile other",
        1,
        "unknown profile \"other\" — configured profiles: default",
    ),
    (
        "platform client list --retries 99",
        2,
        "--retries must be between 0 and 10",
    ),
    (
        "platform client list --fields id,nam",
        2,
        "--fields: unknown field \"nam\" (want some of id, name, description, credential_id, \
             role, created_at, updated_at)",
    ),
    (
        "platform client create --name=x --description=y --role=owner",
        2,
        "invalid argument \"owner\" for \"--role\" flag: want admin or reader",
    ),
    (
        "platform client list --jq .[",
        2,
        "--jq \".[\" is not a jq program",
    ),
];

#[test]
fn a_wrong_command_line_sends_nothing() {
    let platform = fake(|_| (200, "[]"));
    let fixture = Fixture::signed_in(&platform);
    for (line, exit, message) in WRONG {
        let done = fixture.run(&line.replace("ID", ID));
        assert_eq!(done.exit, *exit, "{line}: {}", done.stderr);
        assert_eq!(done.stdout, "", "{line}");
        let first = format!("Error: {message}\n");
        assert!(done.stderr.starts_with(&first), "{line}: {}", done.stderr);
    }
    let done = fixture.run(&format!("platform client delete {ID} --dry-run=server"));
    assert!(
        done.stderr
            .starts_with("Error: --dry-run=server is not available:"),
        "{}",
        done.stderr
    );
    assert_eq!(platform.lines(), [""; 0]);
}

#[test]
fn the_first_failing_check_is_reported() {
    let broken = Fixture::new().with_config("broken: [");
    for (line, exit) in [
        ("platform tenat", 2),
        ("platform tenant get --bogus", 2),
        ("platform tenant get", 2),
        ("platform tenant get nope", 1),
        ("platform client create", 1),
        ("platform tenant get nope --help", 0),
    ] {
        assert_eq!(broken.run(line).exit, exit, "{line}");
    }
    let fine = Fixture::new();
    for (line, message) in [
        // The profile is checked after required flags, and before the action of the command.
        (
            "platform client create --profile x",
            "required flag(s) \"name\" not set",
        ),
        (
            "platform tenant get nope --profile x",
            "unknown profile \"x\" — no profiles are configured; run 'ziggurat platform auth login \
             --profile x' to create one",
        ),
        (
            "platform client create -o xml",
            "unsupported output format: \"xml\" (want text, json, yaml)",
        ),
    ] {
        let said = fine.run(line).stderr;
        assert!(
            said.starts_with(&format!("Error: {message}\n")),
            "{line}: {said}"
        );
    }
}

#[test]
fn a_user_gets_the_usage_of_the_command() {
    let fixture = Fixture::new();
    for (line, said) in [
        (
            "platform tenant get",
            "Error: accepts 1 arg(s), received 0\nUsage: ziggurat platform tenant get <tenant_id> \
             [flags] (see --help)\n",
        ),
        (
            "platform client create --description x",
            "Error: required flag(s) \"name\" not set\nUsage: ziggurat platform client \
             create [flags] (see --help)\n",
        ),
        (
            "platform client list --nmae x",
            "Error: unknown flag: --nmae\nSee 'ziggurat platform client list --help'.\n",
        ),
        (
            "platform tenant get nope",
            "Error: invalid tenant ID \"nope\": invalid UUID length: 4\nAn ID has 32 hexadecimal \
             digits in groups of 8-4-4-4-12; see 'ziggurat platform tenant list'.\n",
        ),
    ] {
        let done = fixture.run(line);
        assert_eq!((done.exit, done.stderr.as_str()), (2, said), "{line}");
    }
}

#[test]
fn a_build_without_a_commit_does_not_print_one() {
    let done = Fixture::new().run("version");
    assert!(!done.stdout.contains("unknown"), "{}", done.stdout);
    let is_known = option_env!("ZIGGURAT_GIT_COMMIT").is_some();
    assert_eq!(done.stdout.contains("commit:"), is_known);
    let done = Fixture::new().run("version -o json");
    assert_eq!(done.stdout.contains("\"commit\""), is_known);
}

#[test]
fn errors_are_one_line_of_json_for_a_script() {
    let fixture = Fixture::new();
    let done = fixture.run("platform tenant get nope -o json");
    assert_eq!(done.exit, 2);
    assert_eq!(
        done.stderr,
        "{\"error\":{\"code\":\"usage\",\"exit_code\":2,\"message\":\"invalid tenant ID \
         \\\"nope\\\": invalid UUID length: 4\"}}\n"
    );
    let done = fixture.run("platform tenant get nope -o yaml");
    assert!(
        done.stderr.starts_with("error:\n    code: usage\n"),
        "{}",
        done.stderr
    );
    // The format of the file counts as well, and an empty -o counts as unset.
    let fixture = fixture.with_config("output:\n  format: json\n");
    for line in ["platform tenant get nope", "platform tenant get nope -o ="] {
        let done = fixture.words(&line.replace("-o =", "-o=").split(' ').collect::<Vec<_>>());
        assert!(done.stderr.starts_with('{'), "{line}: {}", done.stderr);
    }
    let done = fixture.run("platform tenant get nope -o table");
    assert!(done.stderr.starts_with("Error: "), "{}", done.stderr);
}

#[test]
fn variables_rank_between_flags_and_the_file() {
    let platform = fake(|_| (200, "[]"));
    let fixture = Fixture::signed_in(&platform)
        .with("ZIGGURAT_PROFILE", "elsewhere")
        .with("ZIGGURAT_API_URL", "http://127.0.0.1:9");
    assert!(
        fixture
            .run("platform client list")
            .stderr
            .contains("unknown profile \"elsewhere\"")
    );
    let line = format!(
        "platform client list --profile default --api-url {}",
        platform.url()
    );
    let done = fixture.run(&line);
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let named = Fixture::new().with("ZIGGURAT_CONFIG", "/nowhere/config.yaml");
    assert!(
        named
            .run("profile list")
            .stderr
            .starts_with("Error: config: /nowhere/config.yaml does not exist")
    );
}
