use super::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn parsed(line: &str) -> Matches {
    parse(&words(line)).unwrap_or_else(|failure| panic!("{line}: {failure}"))
}

fn refusal(line: &str) -> String {
    let failure = parse(&words(line))
        .and_then(|matches| count(&matches).and_then(|()| require(&matches)))
        .expect_err(line);
    assert_eq!(failure.exit(), 2, "{line}");
    failure.to_string()
}

#[test]
fn flags_stand_anywhere_in_any_spelling() {
    for line in [
        "platform client list -o json -v",
        "-o json platform -v client list",
        "platform client list -vo json",
        "platform client list -vojson",
        "platform client list -v -o=json",
        "platform --output json client list --verbose",
        "platform --output=json clients list --verbose=true",
        "platform client list -o yaml -v -o json",
    ] {
        let matches = parsed(line);
        assert_eq!(matches.path, ["platform", "client", "list"], "{line}");
        assert_eq!(matches.value("output"), Some("json"), "{line}");
        assert!(matches.is_on("verbose"), "{line}");
    }
}

#[test]
fn a_value_may_look_like_a_flag_or_a_command() {
    let matches = parsed("platform client create --name client --description -x");
    assert_eq!(matches.path, ["platform", "client", "create"]);
    assert_eq!(matches.value("name"), Some("client"));
    assert_eq!(matches.value("description"), Some("-x"));
    let matches = parsed("--name platform platform client create");
    assert_eq!(matches.path, ["platform", "client", "create"]);
    let matches = parsed("platform client delete -- -x");
    assert_eq!(matches.arguments, ["-x"]);
    let matches = parsed("platform client delete -");
    assert_eq!(matches.arguments, ["-"]);
}

#[test]
fn connection_flags_stand_before_the_group_too() {
    let matches = parsed("--api-url http://a platform tenant get x --client-id c");
    assert_eq!(matches.value("api-url"), Some("http://a"));
    assert_eq!(matches.arguments, ["x"]);
}

#[test]
fn a_bare_dry_run_takes_no_word() {
    let matches = parsed("platform client delete --dry-run checks");
    assert_eq!(matches.value("dry-run"), Some("checks"));
    assert_eq!(matches.arguments, ["checks"]);
    let matches = parsed("platform client delete x --dry-run=server");
    assert_eq!(matches.value("dry-run"), Some("server"));
    assert_eq!(matches.arguments, ["x"]);
}

#[test]
fn switches_take_a_truth() {
    assert!(!parsed("platform client delete x --force=false").is_on("force"));
    assert!(parsed("platform client delete x --force").is_on("force"));
    assert!(!parsed("platform client delete x --force --force=false").is_on("force"));
}

#[test]
fn repeatable_flags_keep_their_order() {
    let matches = parsed("platform api GET /x --query b=1 -H a:b --query a=2");
    assert_eq!(matches.values("query").collect::<Vec<_>>(), ["b=1", "a=2"]);
}

const WRONG: &[(&str, &str)] = &[
    (
        "platform tenat",
        "unknown command \"tenat\" for \"ziggurat platform\"\n\nDid you mean this?\n\ttenant\n",
    ),
    (
        "plat",
        "unknown command \"plat\" for \"ziggurat\"\n\nDid you mean this?\n\tplatform\n",
    ),
    (
        "platform client GTE",
        "unknown command \"GTE\" for \"ziggurat platform client\"\n\nDid you mean this?\n\tget\n",
    ),
    ("zzzzzz", "unknown command \"zzzzzz\" for \"ziggurat\""),
    (
        "platform client nothing --help",
        "unknown command \"nothing\" for \"ziggurat platform client\"",
    ),
    (
        "platform --help client nothing",
        "unknown command \"nothing\" for \"ziggurat platform client\"",
    ),
    (
        "platform CLIENT",
        "unknown command \"CLIENT\" for \"ziggurat platform\"\n\nDid you mean this?\n\tclient\n",
    ),
    (
        "platform -- client",
        "unknown command \"client\" for \"ziggurat platform\"",
    ),
    ("platform tenant list --x", "unknown flag: --x"),
    ("platform tenant list --limit=5", "unknown flag: --limit"),
    ("platform tenant list --dry-run", "unknown flag: --dry-run"),
    ("platform tenant list --outpu json", "unknown flag: --outpu"),
    (
        "platform tenant list -z",
        "unknown shorthand flag: 'z' in -z",
    ),
    (
        "platform tenant list -vz",
        "unknown shorthand flag: 'z' in -z",
    ),
    (
        "platform tenant update x --name",
        "flag needs an argument: --name",
    ),
    (
        "platform tenant list -o",
        "flag needs an argument: 'o' in -o",
    ),
    ("platform tenant list ---x", "bad flag syntax: ---x"),
    ("platform tenant list --=x", "bad flag syntax: --=x"),
    (
        "platform client create",
        "required flag(s) \"name\" not set",
    ),
    ("platform tenant get", "accepts 1 arg(s), received 0"),
    ("platform tenant get a b", "accepts 1 arg(s), received 2"),
    ("platform tenant list a", "accepts 0 arg(s), received 1"),
    ("platform api GET", "accepts 2 arg(s), received 1"),
    ("profile show a b", "accepts at most 1 arg(s), received 2"),
    (
        "platform tenant list --timeout 30",
        "invalid argument \"30\" for \"--timeout\" flag: time: missing unit in duration \"30\"",
    ),
    (
        "platform invite create --expiration x",
        "invalid argument \"x\" for \"--expiration\" flag: want a whole number",
    ),
    (
        "platform tenant list -v=maybe",
        "invalid argument \"maybe\" for \"-v, --verbose\" flag: want true or false",
    ),
];

#[test]
fn errors_have_the_messages_of_go_programs() {
    for (line, message) in WRONG {
        assert_eq!(refusal(line), *message, "{line}");
    }
}

#[test]
fn the_subtrees_that_are_not_here_say_so() {
    for word in ["byoc", "managed"] {
        let message = refusal(&format!("platform {word} clusters list"));
        assert!(
            message.starts_with(&format!(
                "unknown command \"{word}\" for \"ziggurat platform\": this program manages accounts"
            )),
            "{message}"
        );
    }
}

#[test]
fn plurals_lead_to_the_same_command() {
    for (plural, singular) in [
        ("clients", "client"),
        ("invites", "invite"),
        ("memberships", "membership"),
        ("tenants", "tenant"),
    ] {
        assert_eq!(
            parsed(&format!("platform {plural} list")).path,
            ["platform", singular, "list"]
        );
    }
    assert_eq!(parsed("profiles list").path, ["profile", "list"]);
}

proptest::proptest! {
    #[test]
    fn no_command_line_is_a_panic(words in proptest::collection::vec("[-a-z=]{0,8}|platform|client|list|--name|-o|--", 0..8)) {
        let _ = parse(&words);
    }
}
