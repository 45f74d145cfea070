//! Facts about callers in the section `identity`.

use ziggurat_tokens::Claim;

use crate::configuration::fixture::Case;

#[test]
fn claims_of_the_local_caller_are_those_of_the_file() {
    let identities = Case::new()
        .file(
            "identity: {claims: [tenant, realm.roles], local: {name: laptop, claims: \
             {tenant: acme, realm: {roles: [a, b], level: 7}}}}",
        )
        .configuration()
        .identities;
    assert_eq!(**identities.claims.names(), ["tenant", "realm.roles"]);
    let local = identities.local.get();
    assert_eq!(local.name.as_deref(), Some("laptop"));
    let found = |name: &str| local.claims.find(name).cloned();
    assert_eq!(found("tenant"), Some(Claim::Text("acme".into())));
    let roles = ["a".into(), "b".into()].into();
    assert_eq!(found("realm.roles"), Some(Claim::Texts(roles)));
    assert_eq!(found("realm.level"), Some(Claim::Number("7".into())));
    assert_eq!(found("realm"), None);
}

#[test]
fn facts_are_replaced_for_all_that_share_them() {
    let of = |yaml: &str| {
        let case = Case::new().file(&format!("identity: {yaml}"));
        case.configuration().identities
    };
    let running = of("{claims: [a], local: {name: b}}");
    let shared = running.clone();
    for yaml in [
        "{claims: [a], local: {name: b}}",
        "{claims: [a, c], local: {name: b}}",
        "{claims: [a], local: {name: c}}",
        "{claims: [a], local: {name: b, claims: {d: e}}}",
    ] {
        running.replace(&of(yaml));
        assert_eq!(shared, of(yaml), "{yaml}");
    }
}

#[test]
fn claims_that_are_not_valid_are_refused_without_their_values() {
    let long = "x".repeat(1025);
    let many: Vec<_> = (0..33).map(|it| format!("c{it}")).collect();
    let many = many.join(", ");
    for (yaml, expected) in [
        ("{claims: [a, b.]}", "claims: invalid name of a claim: b."),
        ("{claims: [a, a]}", "claims: claim 'a' is given twice"),
        (
            &*format!("{{claims: [{many}]}}"),
            "claims: more than 32 claims",
        ),
        (
            "{local: {claims: {a: [1]}}}",
            "local.claims: claim 'a' is not a text, a number, true, false or a list of texts",
        ),
        (
            &*format!("{{local: {{claims: {{a: {long}}}}}}}"),
            "local.claims: claim 'a' has more than 1024 bytes",
        ),
        (
            "{local: {claims: [a]}}",
            "local.claims: expected a map of claims",
        ),
        (
            "{local: {name: \"a\\nb\"}}",
            "local.name: must be a line of at most 256 characters",
        ),
    ] {
        let error = Case::new().file(&format!("identity: {yaml}")).error();
        let expected = format!("invalid configuration: identity.{expected}");
        assert_eq!(error, expected, "{yaml}");
    }
    let error = Case::new().file("identity: {roles: []}").error();
    assert!(error.contains("unknown key 'identity.roles'"), "{error}");
}
