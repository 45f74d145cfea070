use super::*;

/// Returns the number of calls that a caller has, which tells the rules of these tests apart.
fn calls(settings: &Settings, caller: CallerId<'_>) -> Option<u32> {
    let rule = settings.rule_for(&caller)?;
    rule.calls.map(ziggurat_layers::rate_limit::Quota::count)
}

fn client<'a>(
    subject: &'a str,
    client: impl Into<Option<&'a str>>,
    tenant: impl Into<Option<&'a str>>,
) -> CallerId<'a> {
    CallerId::Client {
        subject,
        client: client.into(),
        tenant: tenant.into(),
        scopes: &[],
    }
}

#[test]
fn the_first_entry_that_fits_decides() {
    let settings = settings(
        "callers: [
           {for: {users: [alice, carol], tokens: [token-1]}, calls: 1/s},
           {for: {users: [alice, bob], clients: [bot]}, calls: 2/s},
           {for: {local: true}, calls: 3/s},
           {for: {users: [root]}},
           {for: {everyone: true}, calls: 4/s}]",
    );
    for (caller, expected) in [
        (ALICE, Some(1)),
        (BOB, Some(2)),
        (
            CallerId::Token {
                id: "token-1",
                toolsets: &[],
            },
            Some(1),
        ),
        (
            CallerId::Token {
                id: "alice",
                toolsets: &[],
            },
            Some(4),
        ),
        (CallerId::User("token-1"), Some(4)),
        (CallerId::User("Alice"), Some(4)),
        (client("alice", None, None), Some(4)),
        (client("x", "bot", None), Some(2)),
        (CallerId::Local, Some(3)),
        (CallerId::User("local"), Some(4)),
        // An entry without limits exempts its callers.
        (CallerId::User("root"), None),
    ] {
        assert_eq!(calls(&settings, caller), expected, "{caller:?}");
    }
}

#[test]
fn a_caller_that_no_entry_fits_or_whose_entry_is_empty_has_no_limits() {
    let (limits, _) = limits(Settings::default());
    assert!(limits.of(&ALICE).is_none());
    limits.replace(settings(
        "callers: [{for: {users: [alice]}, calls: 1/s}, {for: {users: [root]}}]",
    ));
    assert!(limits.of(&ALICE).is_some());
    assert!(limits.of(&BOB).is_none());
    assert!(limits.of(&CallerId::User("root")).is_none());
    limits.replace(settings("callers: [{for: {everyone: true}}]"));
    assert!(limits.of(&ALICE).is_none());
}

#[test]
fn clients_are_named_as_those_of_a_database() {
    for (listed, caller, is_meant) in [
        ("bot", client("s", "bot", "t"), true),
        ("client:bot", client("s", "bot", "t"), true),
        ("sub:s", client("s", "bot", "t"), true),
        ("tenant:t", client("s", "bot", "t"), true),
        // A client may have the name of a tenant or of a subject.
        ("t", client("s", "bot", "t"), false),
        ("s", client("s", "bot", "t"), false),
        ("tenant:t", client("t", "t", None), false),
        ("sub:s", client("x", "s", "s"), false),
        ("client:s", client("s", None, "s"), false),
        ("urn:bot", client("s", "urn:bot", None), true),
    ] {
        let text = format!("callers: [{{for: {{clients: ['{listed}']}}, calls: 1/s}}]");
        let found = calls(&settings(&text), caller);
        assert_eq!(found.is_some(), is_meant, "{listed} {caller:?}");
    }
}

#[test]
fn problems_name_their_place() {
    for (text, expected) in [
        (
            "callers: [{for: {everyone: true}}, {calls: 1/s}]",
            "limits.callers[1].for: names no caller",
        ),
        (
            "callers: [{for: {everyone: false, users: []}}]",
            "limits.callers[0].for: names no caller",
        ),
        (
            "callers: [{for: {everyone: true}, calls: 0 per minute}]",
            "limits.callers[0].calls: not a quota: the count must be at least 1",
        ),
        (
            "callers: [{for: {everyone: true}, concurrent: 1, burst: 5}]",
            "limits.callers[0].burst: has no effect without `calls`: add it, or remove this key",
        ),
        (
            "callers: [{for: {everyone: true}, concurrent: 0}]",
            "limits.callers[0].concurrent: must be between 1 and 1000000",
        ),
        (
            "callers: [{for: {everyone: true}, rows_per_day: 0, bytes_per_day: 1000000000000000}]",
            "limits.callers[0].rows_per_day: must be between 1 and 999999999999999; \
             limits.callers[0].bytes_per_day: must be between 1 and 999999999999999",
        ),
        (
            "callers: [{for: {everyone: true}, max_cost: -1}]",
            "limits.callers[0].max_cost: must be between 0 and 1000000000000000",
        ),
        (
            "max_callers: 0",
            "limits.max_callers: must be between 1 and 1000000",
        ),
        // A guard with a typing error is no guard.
        (
            "callers: [{for: {everyone: true}, concurent: 1}]",
            "unknown key 'limits.callers[0].concurent' in a.yaml (did you mean \
             'limits.callers[0].concurrent'?)",
        ),
        (
            "callers: [{for: {scopes: [x], everyone: true}}]",
            "unknown key 'limits.callers[0].for.scopes' in a.yaml",
        ),
    ] {
        assert_eq!(load(text).expect_err(text), expected, "{text}");
    }
    assert!(load("callers: {everyone: true}").is_err());
    assert!(load("callers: [{for: {users: alice}, calls: 1/s}]").is_err());
}

#[test]
fn an_entry_that_no_caller_reaches_is_a_warning() {
    let all = "{for: {everyone: true}, calls: 1/s}";
    let loaded = load(&format!("callers: [{all}, {{for: {{users: [alice]}}}}]"));
    let warning = "limits.callers[1] has no effect: limits.callers[0] is for all callers";
    assert_eq!(loaded.expect("good").warnings, [warning]);
}

#[test]
fn equal_configurations_are_equal_so_that_a_reload_need_not_replace_them() {
    let text = "callers: [{for: {users: [a]}, calls: 1/s, max_cost: 1.5}]";
    assert_eq!(settings(text), settings(text));
    assert_ne!(settings(text), settings(&text.replace("1.5", "2")));
    assert_ne!(settings(text), settings(&format!("{text}, max_callers: 7")));
    assert_eq!(settings("callers: []"), Settings::default());
    let limited = settings("callers: [{for: {everyone: true}, max_changed_rows: 7}]");
    assert!(limited.has_limits());
    let off = settings("callers: [{for: {everyone: true}, max_changed_rows: 0}]");
    assert!(!off.has_limits());
}

#[test]
fn scopes_of_the_token_name_callers_only_where_they_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.yaml");
    std::fs::write(&path, "for: {scopes: [shop.read]}").expect("written");
    let (sources, flags) = (ConfigSources::default(), Flags::default());
    let input = Input::new(&sources, &flags);
    let read = |file: &Section<'_>| CallerNames::read_with_scopes(&file.section("for"));
    let names = input.load(Some(&path), read).expect("valid").value;
    let with_scopes = |scopes: &[&str]| {
        let scopes: Vec<_> = scopes.iter().map(ToString::to_string).collect();
        names.fit(&CallerId::Client {
            subject: "shop.read",
            client: Some("shop.read"),
            tenant: Some("shop.read"),
            scopes: &scopes,
        })
    };
    assert!(with_scopes(&["openid", "shop.read"]));
    for scopes in [&[][..], &["shop"], &["shop.read.all"], &["SHOP.READ"]] {
        assert!(!with_scopes(scopes), "{scopes:?}");
    }
    assert!(!names.fit(&CallerId::User("shop.read")) && !names.fit(&CallerId::Local));
}
