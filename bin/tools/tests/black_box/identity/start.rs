//! The probe of a database at the start, and of the command `-check-config -connect`.

use crate::{
    identity::{STRICT, Shop},
    support::Home,
};

const REFUSED: &str = "a database is not open to its callers";

/// Returns the exit code of the check and its text.
fn check(home: &Home) -> (Option<i32>, String) {
    let ran = home.ran_before(&["-check-config", "-connect"]);
    (ran.code, format!("{}{}", ran.stdout, ran.stderr))
}

#[test]
fn a_database_that_lets_no_caller_in_is_named_at_the_start() {
    let role = "mode: set_role\n      otherwise: no_such_role";
    for (section, why) in [
        (role, "role no_such_role: "),
        (
            "settings: [{name: app.tenant, from: user}]",
            "run: REVOKE EXECUTE ON FUNCTION",
        ),
    ] {
        let shop = Shop::new(section, "strict: true", "");
        let (code, said) = check(&shop.home);
        let sentence = said
            .lines()
            .find(|line| line.starts_with("database 'shop': "));
        let sentence = sentence.unwrap_or_else(|| panic!("{said}"));
        assert!(code == Some(1) && sentence.contains(why), "{said}");
        let (program, _client) = shop.serve();
        let line = program.wait_for(REFUSED);
        assert!(line.contains(why), "{line}");
    }
}

#[test]
fn a_database_that_lets_callers_in_is_not_named() {
    // Where roles come from claims, the connection has the database's own user.
    let by_claim = "roles: [{claim: role, match: '^[a-z0-9_]+$', role: '{}'}]";
    let settings = "settings: [{name: app.tenant, from: {claim: role}}]";
    let shops = [
        Shop::new("mode: set_role", by_claim, ""),
        Shop::new("strict: true", settings, ""),
        Shop::new(
            "mode: connect_as\n      credentials: roles",
            "otherwise: TWO",
            "",
        ),
        Shop::new(
            "mode: set_role",
            &format!("otherwise: TWO\n      {by_claim}"),
            "",
        ),
    ];
    for shop in shops {
        shop.postgres.run(STRICT);
        let (code, said) = check(&shop.home);
        assert_eq!(code, Some(0), "{said}");
        let (program, client) = shop.serve();
        assert_eq!(client.get("/health").status, 200);
        assert!(!program.log().contains(REFUSED), "{}", program.log());
    }
}

#[test]
fn a_database_that_is_away_does_not_stop_the_start() {
    let home = Home::new();
    home.configure(
        "databases:
- {name: shop, host: 127.0.0.1, port: 1, user: reader, password: x,
   identity: {mode: set_role, otherwise: guest}}
",
    );
    let (program, client) = home.serve(&["-no-auth"]);
    assert_eq!(client.get("/health").status, 200);
    assert!(!program.log().contains(REFUSED), "{}", program.log());
}
