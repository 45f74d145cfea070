//! The example of the manual, run as it is written.

use crate::support::{Home, Postgres};

const MANUAL: &str = include_str!("../../../../../docs/src/prove.md");

/// Returns the first text between fences of a language.
fn snippet(language: &str) -> &'static str {
    let begin = format!("```{language}\n");
    let (_, rest) = MANUAL.split_once(&*begin).expect(language);
    rest.split("```").next().expect("an end")
}

#[test]
fn the_example_of_the_manual_finds_the_view() {
    let (mut real, mut copy) = (Postgres::new(), Postgres::new());
    // All databases of a server share roles, so these get names of their own.
    let login = real.future_role();
    let [acme, blue] = [copy.future_role(), copy.future_role()];
    let prefix = format!("{}_", copy.name());
    let named = |text: &str| {
        text.replace("shop_server", &login)
            .replace("tenant_acme", &acme)
            .replace("tenant_blue", &blue)
    };
    copy.run(&named(snippet("sql")));
    let name = copy.name().to_owned();
    let mark = "SET ziggurat.throw_away = 'yes'";
    assert!(MANUAL.contains(mark));
    copy.run(&format!("ALTER DATABASE \"{name}\" {mark}"));
    let home = Home::new();
    let entry = real.entry_as("shop", &login);
    let place = |key: &str| {
        entry
            .lines()
            .map(str::trim)
            .find(|it| it.starts_with(key))
            .expect(key)
    };
    let yaml = named(snippet("yaml"))
        .replace("tenant_{}", &format!("{prefix}{{}}"))
        .replace("^[a-z]{1,40}$", "^[0-9]$")
        .replace("host: localhost", place("host:"))
        .replace("port: 5432", place("port:"))
        .replace("database: shop", place("database:"));
    home.configure(&yaml);
    let ids = ["0", "1"].map(|tenant| {
        let claim = format!("tenant={tenant}");
        let words = ["-add-token", "-token-note", "x", "-token-claim", &claim];
        let ran = home.ran_before(&words);
        let id = ran
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix("ID: "));
        format!("token:{}", id.unwrap_or_else(|| panic!("{ran:?}")).trim())
    });
    let url = copy.url();
    let prove = || home.ran_before(&["-prove", "-as", &ids[0], "-against", &ids[1], "-copy", &url]);
    let ran = prove();
    assert_eq!(ran.stdout, snippet("text"), "{ran:?}");
    assert_eq!(ran.code, Some(3));
    let version = "SELECT current_setting('server_version_num')::bigint / 10000";
    if copy.count(version) >= 15 {
        copy.run("ALTER VIEW latest SET (security_invoker = true)");
        assert_eq!(prove().code, Some(0));
    }
}
