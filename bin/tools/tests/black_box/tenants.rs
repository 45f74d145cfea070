//! The example of the manual with two tenants, run as it is written.

use serde_json::json;

use crate::support::{Home, Postgres};

const MANUAL: &str = include_str!("../../../../docs/src/tenants.md");

/// Returns the texts between the fences of a language.
fn snippets<'a>(language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    let rest: Vec<_> = MANUAL.split(&*begin).skip(1).collect();
    let end = |text: &'a str| text.split("```").next();
    rest.into_iter().filter_map(end).collect()
}

/// Makes the database and the server of the manual, and the tokens of both tenants and of a caller
/// without one.
fn shop() -> (Postgres, Home, Vec<String>) {
    let mut postgres = Postgres::new();
    // All databases of a server share roles, so these get names of their own.
    let roles = [(); 3].map(|()| postgres.future_role());
    let [login, acme, blue] = &roles;
    let prefix = format!("{}_", postgres.name());
    let named = |text: &str| {
        text.replace("shop_server", login)
            .replace("tenant_acme", acme)
            .replace("tenant_blue", blue)
    };
    for sql in snippets("sql") {
        postgres.run(&named(sql));
    }
    let [yaml] = snippets("yaml")[..] else {
        panic!("one configuration");
    };
    let home = Home::new();
    // The roles here end with a number and not with the name of a tenant.
    let yaml = named(yaml).replace("tenant_{}", &format!("{prefix}{{}}"));
    let yaml = yaml.replace("^[a-z]{1,40}$", "^[0-9]$");
    let entry = postgres.entry_as("shop", login);
    let place = |key: &str| {
        let line = entry
            .lines()
            .find(|line| line.trim_start().starts_with(key));
        line.expect(key).trim().to_owned()
    };
    let yaml = yaml.replace("host: localhost", &place("host:"));
    let yaml = yaml.replace("port: 5432", &place("port:"));
    home.configure(&yaml.replace("database: shop", &place("database:")));
    let [add, check] = ["-add-token", "-check-config"].map(|command| {
        let lines = snippets("console").concat();
        let lines = lines.lines().filter(|line| line.contains(command));
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    let mut tokens = Vec::new();
    assert_eq!(add.len(), 2);
    let add = add
        .iter()
        .filter_map(|line| line.split("shop.yaml ").nth(1));
    for words in add.chain(["-add-token -token-note bare"]) {
        let words = words.replace("=acme", "=1").replace("=blue", "=2");
        let words: Vec<_> = words.split(' ').collect();
        let ran = home.ran_before(&words);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let token = ran
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix("Token: "));
        tokens.push(token.expect("a token").to_owned());
    }
    assert_eq!(check.len(), 1);
    let ran = home.ran_before(&["-check-config", "-connect"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    (postgres, home, tokens)
}

#[test]
fn the_shop_of_the_manual_shows_each_tenant_its_own_masked_rows() {
    let (_postgres, home, tokens) = shop();
    let (_program, client) = home.serve(&[]);
    let query = |token: &str, sql: &str| {
        let caller = client.bearing(token);
        caller.tool("query_database", &json!({"query": sql})).0
    };
    let shown: Vec<_> = snippets("text")
        .iter()
        .map(|text| text.trim_end())
        .collect();
    let [row, masked, role, closed] = shown[..] else {
        panic!("four answers");
    };
    let all = "SELECT id, name, email FROM customer";
    let seen = query(&tokens[0], all);
    assert!(
        seen.trim_end().ends_with(row) && !seen.contains("Bo"),
        "{seen}"
    );
    let seen = query(&tokens[1], all);
    assert!(
        seen.contains("Bo\tb***@blue.example") && !seen.contains("Ada"),
        "{seen}"
    );
    let condition = "SELECT id FROM customer WHERE email LIKE 'a%'";
    assert!(MANUAL.replace('\n', " ").contains(condition));
    for (sql, said) in [(condition, masked), ("SET ROLE tenant_blue", role)] {
        let answer = query(&tokens[0], sql);
        assert!(answer.contains(said), "{sql}: {answer}");
    }
    let answer = query(&tokens[2], "SELECT 1");
    assert!(answer.ends_with(closed), "{answer}");
}
