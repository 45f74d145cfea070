use ziggurat_layers::bearer::TokenHash;
use ziggurat_tokens::Local;

use super::*;

fn claims(json: &str) -> ziggurat_tokens::Claims {
    let json = serde_json::from_str(json).expect(json);
    ziggurat_tokens::Claims::of_file(json).expect("good claims")
}

fn user(name: &str, json: &str) -> Identity {
    let databases = Arc::default();
    let holder = Holder::User {
        name: name.into(),
        databases,
    };
    Identity::new(TokenHash::of(name), holder).with_claims(claims(json))
}

fn client(json: &str) -> Identity {
    let holder = Holder::Client {
        subject: "7".into(),
        client: None,
        tenant: None,
        scopes: Arc::default(),
        databases: Arc::default(),
    };
    Identity::new(TokenHash::of("client"), holder).with_claims(claims(json))
}

fn by_claim(name: &str, pattern: Option<&str>, role: &str) -> RoleRule {
    let pattern = pattern.map(|text| Regex::new(text).expect(text));
    RoleRule {
        who: Who::Claim(name.to_owned(), pattern),
        role: role.to_owned(),
    }
}

fn callers(roles: Vec<RoleRule>) -> Callers {
    Callers {
        way: Some(Way::SetRole),
        roles,
        ..Callers::default()
    }
}

/// Returns the role of a caller, or why it is refused.
fn role_of(callers: &Callers, identity: Option<&Identity>) -> Result<String, String> {
    let acting = callers.resolve(identity);
    let acting = acting.map_err(|refused| refused.to_string())?;
    Ok(acting.role().expect("a role").to_owned())
}

#[test]
fn the_first_rule_that_fits_gives_the_role() {
    let tenant = by_claim("tenant", Some("^(?:[a-z]+)$"), "tenant_{}");
    let rules = callers(vec![tenant, by_claim("level", None, "leveled")]);
    for (json, expected) in [
        ("{\"tenant\": \"acme\", \"level\": 7}", Ok("tenant_acme")),
        ("{\"tenant\": \"ACME\", \"level\": 7}", Ok("leveled")),
        ("{\"tenant\": [\"acme\", \"B\"]}", Ok("tenant_acme")),
        (
            "{\"tenant\": [\"acme\", \"other\"], \"level\": 7}",
            Err("several values of claim tenant fit a rule"),
        ),
        ("{}", Err("no rule fits the caller")),
    ] {
        let found = role_of(&rules, Some(&user("alice", json)));
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(found, expected, "{json}");
    }
    let otherwise = Callers {
        otherwise: Some("guest".to_owned()),
        ..rules
    };
    let found = role_of(&otherwise, Some(&user("alice", "{}")));
    assert_eq!(found.as_deref(), Ok("guest"));
}

#[test]
fn a_claim_cannot_become_a_role_of_postgres_or_a_cut_name() {
    let rules = callers(vec![by_claim("role", Some("^(?s:.*)$"), "{}")]);
    let long = format!("{{\"role\": \"{}\"}}", "x".repeat(64));
    for json in [
        "{\"role\": \"postgres\"}",
        "{\"role\": \"pg_monitor\"}",
        "{\"role\": \"\"}",
        &long,
    ] {
        let found = role_of(&rules, Some(&user("alice", json)));
        assert!(found.is_err(), "{json}: {found:?}");
    }
}

#[test]
fn a_mail_address_of_an_issuer_counts_only_if_it_is_verified() {
    let rules = callers(vec![by_claim("email", Some("^(?:.+)$"), "{}")]);
    for (json, is_good) in [
        ("{\"email\": \"a@b\"}", false),
        ("{\"email\": \"a@b\", \"email_verified\": false}", false),
        ("{\"email\": \"a@b\", \"email_verified\": \"true\"}", false),
        ("{\"email\": \"a@b\", \"email_verified\": true}", true),
    ] {
        let found = role_of(&rules, Some(&client(json)));
        assert_eq!(found.is_ok(), is_good, "{json}");
    }
    // The operator wrote the claims of this one.
    let own = role_of(&rules, Some(&user("alice", "{\"email\": \"a@b\"}")));
    assert_eq!(own.as_deref(), Ok("a@b"));
}

#[test]
fn a_setting_has_one_value_or_the_caller_is_refused() {
    let setting = |is_required| SettingRule {
        name: "app.tenant".to_owned(),
        from: Fact::Claim("tenant".into()),
        is_required,
    };
    let value_of = |is_required, json| {
        let rules = Callers {
            settings: vec![setting(is_required)],
            ..Callers::default()
        };
        let acting = rules.resolve(Some(&user("alice", json)));
        let value = acting.map(|acting| acting.settings()[0].1.clone());
        value.map_err(|refused| refused.to_string())
    };
    assert_eq!(value_of(true, "{\"tenant\": \"a\"}").as_deref(), Ok("a"));
    assert_eq!(value_of(true, "{\"tenant\": 7}").as_deref(), Ok("7"));
    for json in ["{}", "{\"tenant\": [\"a\"]}"] {
        let missing = "setting app.tenant needs a fact that is missing".to_owned();
        assert_eq!(value_of(true, json), Err(missing), "{json}");
        assert_eq!(value_of(false, json).as_deref(), Ok(""), "{json}");
    }
}

#[test]
fn without_a_caller_a_database_is_tried_with_the_first_role_of_all_callers_of_a_rule() {
    let tenant = by_claim("tenant", Some("^(?:[a-z]+)$"), "tenant_{}");
    let leveled = by_claim("level", None, "leveled");
    let setting = SettingRule {
        name: "app.tenant".to_owned(),
        from: Fact::Claim("tenant".into()),
        is_required: true,
    };
    for (roles, otherwise, expected) in [
        (
            vec![tenant.clone(), leveled.clone()],
            Some("guest"),
            Some("leveled"),
        ),
        (vec![tenant.clone()], Some("guest"), Some("guest")),
        (vec![tenant.clone()], None, None),
    ] {
        let rules = Callers {
            otherwise: otherwise.map(str::to_owned),
            settings: vec![setting.clone()],
            ..callers(roles)
        };
        let acting = rules.sample().expect("usable");
        assert_eq!(acting.role(), expected);
        let mut settings = acting.settings().iter();
        assert!(settings.any(|(name, value)| name == "app.tenant" && !value.is_empty()));
    }
    // Without a role and settings of its own there would be nothing to ask for.
    assert_eq!(
        callers(vec![tenant])
            .sample()
            .expect("usable")
            .settings()
            .len(),
        1
    );
}

#[test]
fn a_caller_that_has_proved_nothing_is_not_the_local_one() {
    let local = |is_anonymous| Callers {
        local: LocalCaller::new(Local {
            is_anonymous,
            claims: claims("{\"tenant\": \"acme\"}"),
            ..Local::default()
        }),
        ..callers(vec![by_claim("tenant", Some("^(?:acme)$"), "{}")])
    };
    assert_eq!(role_of(&local(false), None).as_deref(), Ok("acme"));
    assert!(role_of(&local(true), None).is_err());
}
