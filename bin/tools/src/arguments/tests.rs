use std::path::PathBuf;

use ziggurat_runtime::committed;

use super::*;

fn parse(words: &[&str]) -> Result<Arguments, Refusal> {
    Arguments::parse(words.iter().map(OsString::from))
}

fn overrides(words: &[&str]) -> Overrides {
    parse(words).expect("understood").overrides
}

fn refused(words: &[&str]) -> Refusal {
    parse(words).expect_err("refused")
}

fn command(words: &[&str]) -> Command {
    parse(words).expect("understood").command
}

#[test]
fn flags_take_one_dash_or_two_and_values_two_ways() {
    for words in [
        &["-addr", ":1", "-http"][..],
        &["--addr", ":1", "--http"],
        &["-addr=:1", "-http=true"],
        &["--addr=:1", "--http=1"],
        &["-addr=:2", "-http=false", "-addr", ":1", "-http"],
    ] {
        let flags = overrides(words).flags;
        assert_eq!(flags.text("addr"), Some(":1"), "{words:?}");
        assert!(flags.has("http"), "{words:?}");
    }
}

#[test]
fn a_switch_can_be_switched_off_which_differs_from_leaving_it_out() {
    for (words, expected) in [
        (&["-tls=false"][..], Some("false")),
        (&["-tls=F"], Some("false")),
        (&["-tls=0"], Some("false")),
        (&[], None),
    ] {
        assert_eq!(overrides(words).flags.text("tls"), expected, "{words:?}");
    }
}

#[test]
fn a_value_may_start_with_a_dash_or_be_empty() {
    let flags = overrides(&["-db-password", "-tls", "-db-user=-x=y", "-db-name", ""]).flags;
    assert_eq!(flags.text("db-password"), Some("-tls"));
    assert_eq!(flags.text("db-user"), Some("-x=y"));
    assert_eq!(flags.text("db-name"), Some(""));
}

#[test]
fn words_that_belong_to_no_flag_are_refused() {
    for words in [
        &["-http", "serve", "-addr", ":1"][..],
        &["-http", "--", "serve", "-addr", ":1"],
        &["-http", "true", "more"],
        &["-"],
    ] {
        let refusal = refused(words);
        assert_eq!(refusal.exit_code(), 1, "{words:?}");
        let text = refusal.to_string();
        assert!(text.starts_with("Error: unexpected arguments: "), "{text}");
        assert!(text.contains("-help"), "{text}");
    }
    let text = refused(&["-http", "serve", "-addr", ":1"]).to_string();
    let first = text.lines().next();
    assert_eq!(first, Some("Error: unexpected arguments: serve -addr :1"));
}

#[test]
fn unknown_flags_and_invalid_values_are_refused_without_the_flags() {
    for (words, message) in [
        (&["-htpp"][..], "unexpected argument '-htpp'"),
        (&["-x=1"], "unexpected argument '-x'"),
        (&["-http=maybe"], "expected true or false"),
        (&["-db-port", "x"], "invalid value 'x' for '-db-port"),
        (&["-db-port", "65536"], "invalid value '65536'"),
        (&["-addr"], "a value is required for '-addr"),
        (
            &["-verify-audit", "a", "-expect-first", "all"],
            "invalid value 'all' for '-expect-first <record>': expected the number of a record",
        ),
        (&["-=x"], "bad flag syntax: -=x"),
        (&["---http"], "bad flag syntax: ---http"),
        (&["-htpp", "serve"], "unexpected argument '-htpp'"),
        (&["-htpp", "-help"], "unexpected argument '-htpp'"),
    ] {
        let refusal = refused(words);
        assert_eq!(refusal.exit_code(), 2, "{words:?}");
        let text = refusal.to_string();
        assert!(text.starts_with("Error: "), "{text}");
        assert!(text.contains(message), "{message}: {text}");
        assert!(!text.contains("-token-file <path>"), "all flags: {text}");
    }
}

#[test]
fn flags_that_exclude_each_other_are_refused_with_a_hint() {
    for (words, message) in [
        (
            &["-add-token", "-list-users"][..],
            "-add-token and -list-users exclude each other",
        ),
        (&["-token-note", "x"], "-token-note goes with -add-token"),
        (
            &["-list-users", "-password", "x"],
            "-password goes with -add-user or -update-user",
        ),
        (
            &["-username", "x"],
            "-username goes with -add-user or -update-user or -delete-user or -enable-user or \
             -disable-user or -list-grants or -revoke-grants or -reset-second-factor",
        ),
    ] {
        let refusal = refused(words);
        assert_eq!(refusal.exit_code(), 2, "{words:?}");
        assert_eq!(
            refusal.to_string(),
            format!("Error: {message}\nRun 'ziggurat-tools -help' for the flags.\n")
        );
    }
}

#[test]
fn an_error_for_a_mistyped_flag_names_the_most_similar_flag() {
    let text = refused(&["-htpp"]).to_string();
    assert!(text.contains("'-http'"), "{text}");
}

#[test]
fn help_can_be_asked_for_in_four_ways() {
    for words in [
        &["-h"][..],
        &["--h"],
        &["-help"],
        &["--help"],
        &["-http", "-h", "serve"],
        &["-help", "-htpp"],
    ] {
        assert!(matches!(command(words), Command::Help), "{words:?}");
    }
}

#[test]
fn the_usage_names_every_flag_once_with_a_line_of_its_own() {
    let usage = usage();
    let flags: Vec<_> = GROUPS.iter().flat_map(|(_, flags)| *flags).collect();
    assert_eq!(flags.len(), 110);
    for flag in flags {
        let shown = format!("\n  -{} ", flag.name);
        assert_eq!(usage.matches(&shown).count(), 1, "{shown}");
        assert!(!flag.help.is_empty(), "{shown}");
    }
    for line in usage.lines() {
        assert!(line.chars().count() <= 100, "too long: {line}");
    }
    for variable in [
        "ZIGGURAT_HTTP_ADDRESS",
        "PGPASSWORD",
        "ZIGGURAT_MCP_LOG_LEVEL",
    ] {
        assert!(usage.contains(variable), "{variable}");
    }
}

#[test]
fn tls_needs_http_on_the_command_line() {
    for words in [
        &["-tls"][..],
        &["-cert", "c"],
        &["-key", "k"],
        &["-chain", "c"],
        &["-http=false", "-tls"],
    ] {
        let refusal = refused(words);
        assert_eq!(refusal.exit_code(), 1, "{words:?}");
        let text = refusal.to_string();
        let first = text.lines().next();
        assert_eq!(
            first,
            Some("ERROR: TLS options (-tls, -cert, -key, -chain) require -http flag")
        );
        assert!(text.contains("-token-file <path>"), "no usage: {text}");
    }
    assert!(parse(&["-tls=false"]).is_ok());
    assert!(parse(&["-http", "-tls", "-cert", "c"]).is_ok());
}

#[test]
fn one_host_and_several_exclude_each_other() {
    let refusal = refused(&["-db-host", "a", "-db-hosts", "b:1,c:2"]);
    assert_eq!(refusal.exit_code(), 1);
    assert_eq!(
        refusal.to_string(),
        "ERROR: -db-host and -db-hosts exclude each other\n"
    );
}

#[test]
fn each_administration_command_is_selected_by_its_flag() {
    let of = |words: &[&str]| format!("{:?}", command(words));
    for (words, expected) in [
        (&["-http"][..], "Serve"),
        (&["-add-token=false"], "Serve"),
        (
            &["-add-token", "-token-note", "n", "-token-expiry=30d"],
            r#"Tokens(Add(TokenOptions { note: Some("n"), database: None, expiry: Some("30d"), claims: {}, toolsets: [] }))"#,
        ),
        (&["-list-tokens"], "Tokens(List)"),
        (&["-list-tokens", "-output", "json"], "Tokens(ListJson)"),
        (
            &["-remove-token", "token-1"],
            r#"Tokens(Remove("token-1"))"#,
        ),
        (&["-remove-token", ""], r#"Tokens(Remove(""))"#),
        (
            &["-add-user", "-username", "alice"],
            r#"AddUser { username: Some("alice"), given: Given { password: None, note: None }, claims: {}, is_admin: false }"#,
        ),
        (
            &["-update-user", "-user-note", ""],
            r#"UpdateUser { username: None, given: Given { password: None, note: Some("") }, claims: NewClaims([]), is_admin: None }"#,
        ),
        (
            &["-update-user"],
            "UpdateUser { username: None, given: Given { password: None, note: None }, claims: NewClaims([]), is_admin: None }",
        ),
        (
            &["-update-user", "-user-admin=false"],
            "UpdateUser { username: None, given: Given { password: None, note: None }, claims: NewClaims([]), is_admin: Some(false) }",
        ),
        (
            &["-delete-user", "-keep-state"],
            "DeleteUser { username: None, is_sure: false, keeps_state: true }",
        ),
        (&["-list-users"], "ListUsers { as_json: false }"),
        (&["-enable-user"], "EnableUser { username: None }"),
        (&["-disable-user"], "DisableUser { username: None }"),
    ] {
        assert_eq!(of(words), expected, "{words:?}");
    }
}

#[test]
fn passwords_and_claims_are_not_in_debug_output() {
    let claims = ["-user-claim", "a=marlin"];
    let words = ["-password", "swordfish", "-db-password=trout"];
    for command in ["-add-user", "-update-user"] {
        let arguments = parse(&[&[command][..], &words, &claims].concat());
        let text = format!("{:?}", arguments.expect("understood"));
        let mut secrets = ["swordfish", "trout", "marlin"].into_iter();
        assert!(!secrets.any(|secret| text.contains(secret)), "{text}");
    }
}

#[test]
fn a_path_may_be_invalid_utf_8() {
    use std::os::unix::ffi::OsStringExt as _;
    let word = OsString::from_vec(b"-config=/tmp/\xff.yaml".to_vec());
    let arguments = Arguments::parse([word]).expect("understood");
    let path = arguments.overrides.flags.path("config").expect("a path");
    assert_eq!(path.into_os_string().into_vec(), b"/tmp/\xff.yaml");
}

#[test]
fn a_flag_for_folders_can_be_repeated() {
    let words = [
        "-build-knowledgebase",
        "a",
        "-kb-project=Garden",
        "--build-knowledgebase=b",
        "-kb-version",
        "2",
    ];
    let Command::BuildKnowledgebase(BuildOptions {
        folders,
        project,
        version,
        output,
    }) = command(&words)
    else {
        panic!("another command");
    };
    assert_eq!(folders, [PathBuf::from("a"), PathBuf::from("b")]);
    assert_eq!(project.as_deref(), Some("Garden"));
    assert_eq!(version.as_deref(), Some("2"));
    assert_eq!(output, None);
}

#[test]
fn the_reference_of_the_manual_shows_every_flag() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/FLAGS.txt");
    committed::assert_current(path, &usage());
}

#[test]
fn a_proof_needs_two_callers_and_one_place() {
    let callers = ["-prove", "-as", "user:a", "-against", "client:b"];
    for (more, message) in [
        (&[][..], "-prove needs -copy or -canaries"),
        (
            &["-copy", "postgres://x", "-canaries", "f"],
            "-copy and -canaries exclude each other",
        ),
        (
            &["-copy", "x", "-as-claim", "t=1"],
            "-as-claim goes with -as client:ID",
        ),
        (&["-copy", "x", "-against-claim", "t"], "-against-claim: "),
        (
            &["-copy", "x", "-against", "user:a"],
            "-as and -against name the same caller",
        ),
        (
            &["-copy", "x", "-against", "b"],
            "invalid value 'b' for '-against <caller>'",
        ),
    ] {
        let refusal = refused(&[&callers[..], more].concat());
        assert_eq!(refusal.exit_code(), 2, "{more:?}");
        let text = refusal.to_string();
        assert!(text.starts_with(&format!("Error: {message}")), "{text}");
    }
    for (words, message) in [
        (&["-prove", "-copy", "x"][..], "-prove needs -as <caller>"),
        (
            &["-prove", "-copy", "x", "-as", "local"],
            "-prove needs -against <caller>",
        ),
        (&["-against", "local"], "-against goes with -prove"),
        (&["-rag", "rag.yaml"], "-rag goes with -prove"),
        (
            &["-as", "local"],
            "-as goes with -check-config or -verify-receipt or -prove",
        ),
        (
            &["-prove", "-check-config"],
            "-check-config and -prove exclude each other",
        ),
    ] {
        let text = refused(words).to_string();
        assert!(text.starts_with(&format!("Error: {message}\n")), "{text}");
    }
}

#[test]
fn a_proof_takes_claims_of_clients_a_database_and_pipelines() {
    let callers = ["-prove", "-as", "user:a", "-against", "client:b"];
    let words = [
        "-copy",
        "x",
        "-against-claim",
        "tenant=blue",
        "-database",
        "shop",
        "-rag",
        "rag.yaml",
    ];
    let Command::Prove(options) = command(&[&callers[..], &words].concat()) else {
        panic!("a proof");
    };
    assert_eq!(options.database.as_deref(), Some("shop"));
    assert_eq!(options.rag, Some("rag.yaml".into()));
    assert_eq!(options.other.claims.names().collect::<Vec<_>>(), ["tenant"]);
}
