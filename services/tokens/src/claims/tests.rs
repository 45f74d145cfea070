use serde_json::json;

use super::*;

fn read(claims: Value) -> Result<Claims, String> {
    Claims::of_file(claims).map_err(|error| error.to_string())
}

#[test]
fn names_of_objects_within_objects_are_joined_by_dots() {
    let claims = read(json!({
        "tenant": "acme", "level": 7, "rate": 1.5, "is_staff": true, "gone": null,
        "realm_access": {"roles": ["a", "b"], "more": {"deep": "x"}},
        "https://acme.example/org": "o1", "none": {},
    }));
    let claims = claims.expect("valid");
    let text = |text: &str| Some(Claim::Text(text.into()));
    for (name, expected) in [
        ("tenant", text("acme")),
        ("level", Some(Claim::Number("7".into()))),
        ("rate", Some(Claim::Number("1.5".into()))),
        ("is_staff", Some(Claim::Boolean(true))),
        (
            "realm_access.roles",
            Some(Claim::Texts(["a".into(), "b".into()].into())),
        ),
        ("realm_access.more.deep", text("x")),
        ("https://acme.example/org", text("o1")),
        ("gone", None),
        ("realm_access", None),
        ("none", None),
    ] {
        assert_eq!(claims.find(name).cloned(), expected, "{name}");
    }
    let shown = format!("{claims:?} {:?}", claims.find("tenant"));
    assert!(
        shown.contains("tenant") && !shown.contains("acme\""),
        "{shown}"
    );
    assert_eq!(read(Value::Null), Ok(Claims::default()));
    assert_eq!(read(json!({})), Ok(Claims::default()));
}

#[test]
fn claims_of_a_file_that_are_not_valid_are_refused_without_their_values() {
    let long = "s".repeat(MAX_VALUE + 1);
    let many = (0..=MAX_CLAIMS).map(|it| (format!("c{it}"), json!("secret")));
    for (claims, expected) in [
        (json!(["secret"]), "expected a map of claims"),
        (
            json!({"a": ["secret", 1]}),
            "claim 'a' is not a text, a number, true, false or a list of texts",
        ),
        (
            json!({"a": [["secret"]]}),
            "claim 'a' is not a text, a number, true, false or a list of texts",
        ),
        (json!({"a": long}), "claim 'a' has more than 1024 bytes"),
        (
            json!({"a": [long[1..], ""]}),
            "claim 'a' has more than 1024 bytes",
        ),
        (json!({"": "secret"}), "invalid name of a claim: "),
        (
            json!({"a": {"b c": "secret"}}),
            "invalid name of a claim: a.b c",
        ),
        (json!({"a..b": "secret"}), "invalid name of a claim: a..b"),
        (json!({"a\nb": "secret"}), "invalid name of a claim: a\\nb"),
        (
            json!({"a.b": "secret", "a": {"b": "secret"}}),
            "claim 'a.b' is given twice",
        ),
        (many.collect(), "more than 32 claims"),
    ] {
        assert_eq!(read(claims), Err(expected.to_owned()));
    }
    assert!(read(json!({"a": long[1..]})).is_ok());
    let most = (0..MAX_CLAIMS).map(|it| (format!("c{it}"), json!(it)));
    assert!(read(most.collect()).is_ok());
}

#[test]
fn claims_on_a_command_line_are_a_name_and_a_value() {
    let new = |words: &[&str]| NewClaims::read(words.iter().copied());
    let claims = new(&["tenant=acme", "note=a=b c"]).and_then(NewClaims::into_claims);
    let claims = claims.expect("valid");
    assert_eq!(claims.find("note"), Some(&Claim::Text("a=b c".into())));
    let long = format!("a={}", "s".repeat(MAX_VALUE + 1));
    for (words, expected) in [
        (&["secret"][..], "a claim is written as name=value"),
        (&["=secret"], "invalid name of a claim: "),
        (&["a b=secret"], "invalid name of a claim: a b"),
        (&["a.=secret"], "invalid name of a claim: a."),
        (&["a=secret", "a=secret"], "claim 'a' is given twice"),
        (&["a="], "claim 'a' has no value"),
        (&[&*long], "claim 'a' has more than 1024 bytes"),
    ] {
        let error = new(words)
            .and_then(NewClaims::into_claims)
            .expect_err("wrong");
        assert_eq!(error.to_string(), expected);
    }
    let changed = new(&["tenant=", "level=7"]).and_then(|new| new.applied_to(&claims));
    let changed = changed.expect("valid");
    assert_eq!(changed.names().collect::<Vec<_>>(), ["note", "level"]);
    let many: Vec<_> = (0..MAX_CLAIMS).map(|it| format!("c{it}=x")).collect();
    let many = NewClaims::read(many.iter().map(String::as_str)).expect("few enough");
    assert_eq!(many.applied_to(&claims), Err(ClaimError::TooMany));
}

#[test]
fn a_dot_leads_into_the_objects_of_a_token() {
    let members = |name: &str| match name {
        "tenant" => Some(r#""acme""#),
        "id" => Some("12345678901234567890123.10"),
        "realm" => {
            Some(r#"{"roles": ["a"], "x.y": "dotted", "x": {"y": {"z": true}}, "odd": [1]}"#)
        }
        "https://acme.example/org" => Some(r#""o1""#),
        "list" => Some(r#"["a", {"b": 1}]"#),
        "null" => Some("null"),
        _ => None,
    };
    let names = [
        "tenant",
        "id",
        "realm",
        "realm.roles",
        "realm.x.y",
        "realm.x.y.z",
        "realm.odd",
        "list",
        "https://acme.example/org",
        "null",
        "tenant.x",
        "absent",
        "absent.x",
    ];
    let claims = Claims::of_token(&names.map(str::to_owned), members);
    let found: Vec<_> = claims.names().collect();
    let expected = [
        "tenant",
        "id",
        "realm.roles",
        "realm.x.y",
        "realm.x.y.z",
        "https://acme.example/org",
    ];
    assert_eq!(found, expected);
    let digits = Claim::Number("12345678901234567890123.10".into());
    assert_eq!(claims.find("id"), Some(&digits));
    let long = format!("{:?}", "s".repeat(MAX_VALUE + 1));
    let too_long = Claims::of_token(&["a".to_owned()], |_| Some(&long));
    assert_eq!(too_long, Claims::default());
}
