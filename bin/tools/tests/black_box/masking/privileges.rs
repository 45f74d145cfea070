//! Masked columns that PostgreSQL lets no role of a caller read.

use serde_json::{Value, json};

use crate::{
    doctor,
    masking::{PEOPLE, TOOLSETS, export, is_hidden, query, rows},
    support::{Client, Home, Postgres, Program, records},
};

const NOT_READY: &str =
    "query rejected: the database is not ready, its masked columns are not known yet";

const DENIED: &str = "public.person.ssn is masked; readable here: id, name, email";

/// A database with a login and three roles for callers.
struct Shop {
    postgres: Postgres,
    roles: [String; 4],
    home: Home,
}

impl Shop {
    /// Makes the database, without roles for callers.
    fn new(grants: &str) -> Self {
        Self::with("", "", grants)
    }

    /// Makes the database with a section of it and rules for callers of masks.
    fn with(identity: &str, unless: &str, grants: &str) -> Self {
        let mut postgres = Postgres::with(PEOPLE);
        let roles = [(); 4].map(|()| postgres.role());
        let home = Home::new();
        let shop = Self {
            postgres,
            roles,
            home,
        };
        shop.run(
            "REVOKE ALL ON SCHEMA public FROM PUBLIC; GRANT USAGE ON SCHEMA public TO PUBLIC;",
        );
        shop.run(grants);
        let entry = shop.postgres.entry_as("shop", &shop.roles[0]);
        let identity = shop.named(identity);
        shop.home.configure(&format!(
            "databases:\n{entry}{identity}{TOOLSETS}\
             masking:\n  enforce: privileges\n  databases:\n    shop:\n    \
             - {{column: public.person.ssn, mask: fixed{unless}}}\n    \
             - {{column: public.note.body, patterns: [card]}}\n"
        ));
        let claim = |role: &str| shop.named(&format!("claims: {{role: {role}}}"));
        let tokens = [(1, claim("ONE")), (2, claim("TWO")), (9, claim("BOSS"))];
        let tokens = tokens.map(|(number, claims)| {
            records::token(number, &format!("secret-{number}"), &[&claims])
        });
        shop.home
            .replace(&shop.home.tokens(), &records::tokens(&tokens));
        shop
    }

    /// Puts the names of the roles in place of words.
    fn named(&self, text: &str) -> String {
        let words = ["LOGIN", "ONE", "TWO", "BOSS"].into_iter().zip(&self.roles);
        words.fold(text.to_owned(), |text, (word, role)| {
            text.replace(word, role)
        })
    }

    fn run(&self, sql: &str) {
        self.postgres.run(&self.named(sql));
    }

    fn serve(&self) -> (Program, Client) {
        self.home.serve(&[])
    }

    /// Returns the exit code of a check, and what it says about the database.
    fn check(&self) -> (Option<i32>, String) {
        let ran = self.home.ran_before(&["-check-config", "-connect"]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        let lines = said.lines().filter(|line| line.contains("shop: "));
        let (_, diagnosed) = doctor::found(&self.home, &[]);
        let is_told = |it: &Value| {
            let finding = it["finding"].as_str().expect("a sentence");
            it["id"] != "db.masks" || said.contains(&format!("shop: {finding}"))
        };
        assert!(diagnosed.iter().all(is_told), "{diagnosed:?} of {said}");
        let count = diagnosed.iter().filter(|it| it["id"] == "db.masks").count();
        assert_eq!(count, lines.clone().count(), "both checks find the same");
        (ran.code, lines.collect::<Vec<_>>().join("\n"))
    }
}

/// Rights on the columns without masks, and on a view of them.
const GRANTS: &str = "
    CREATE VIEW names AS SELECT id, name FROM person;
    GRANT SELECT (id, name, email) ON person TO LOGIN;
    GRANT SELECT ON note, names TO LOGIN;";

fn one(client: &Client) -> Client {
    client.bearing("secret-1")
}

#[test]
fn postgresql_refuses_masked_columns_at_every_entrance() {
    let shop = Shop::new(GRANTS);
    assert_eq!(shop.check(), (Some(0), String::new()));
    let (_program, client) = shop.serve();
    let client = one(&client);
    for sql in [
        "SELECT ssn FROM person",
        "SELECT id FROM person WHERE ssn = 'sec-1'",
        "SELECT * FROM public.person",
        "SELECT to_json(p) FROM person p",
        "SELECT name FROM person ORDER BY ssn",
        "EXPLAIN SELECT upper(ssn) FROM person",
    ] {
        let text = query(&client, sql).0;
        assert!(
            text.contains(&format!("ERROR: {DENIED} (SQLSTATE 42501)")),
            "{sql}: {text}"
        );
        for answer in [text, export(&client, sql, "csv"), rows(&client, sql)] {
            assert!(answer.contains(DENIED), "{sql}: {answer}");
            assert!(!answer.contains("HINT") && is_hidden(&answer), "{answer}");
        }
    }
    for (tool, arguments) in [
        (
            "count_rows",
            json!({"table": "person", "where": "ssn = 'sec-1'"}),
        ),
        (
            "execute_explain",
            json!({"query": "SELECT ssn FROM person"}),
        ),
    ] {
        let (text, is_error) = client.tool(tool, &arguments);
        assert!(
            is_error && text.contains("is masked; readable here: "),
            "{text}"
        );
    }
    for sql in [
        "SELECT id, upper(name), email FROM person WHERE email LIKE 'sec%' ORDER BY name",
        "SELECT name FROM names WHERE id = 1",
        "SELECT body FROM note",
    ] {
        let (text, is_error) = query(&client, sql);
        assert!(!is_error && !text.contains("4111"), "{sql}: {text}");
    }
    // A right that no mask is about.
    let (text, _) = query(&client, "SELECT * FROM shown");
    assert!(text.contains("permission denied for view shown"), "{text}");
    let (text, _) = query(&client, "SELECT nme FROM person");
    assert!(text.contains("column \"nme\" does not exist"), "{text}");
    let (text, _) = query(&client, "SELECT name::int FROM person");
    assert!(
        text.contains("ERROR: the statement failed (SQLSTATE 22P02)"),
        "{text}"
    );
}

/// Grants with which the login may read a masked column, and what the log says of each.
const WEAK: &[(&str, &str)] = &[
    (
        "GRANT SELECT ON person TO LOGIN",
        "role LOGIN may read masked columns of public.person: ssn; run: REVOKE SELECT ON \
         public.person FROM LOGIN; GRANT SELECT (id, name, email) ON public.person TO LOGIN;",
    ),
    (
        "GRANT SELECT (id, ssn) ON person TO LOGIN",
        "run: REVOKE SELECT ON public.person FROM LOGIN; GRANT SELECT (id, name, email) ON \
         public.person TO LOGIN;",
    ),
    (
        "GRANT SELECT ON person TO PUBLIC",
        "run: REVOKE SELECT ON public.person FROM PUBLIC; GRANT SELECT (id, name, email) ON \
         public.person TO PUBLIC;",
    ),
    (
        "GRANT SELECT ON person TO ONE; GRANT ONE TO LOGIN; ALTER ROLE LOGIN NOINHERIT",
        "run: REVOKE SELECT ON public.person FROM ONE; GRANT SELECT (id, name, email) ON \
         public.person TO ONE;",
    ),
    (
        "GRANT SELECT ON shown TO LOGIN",
        "role LOGIN may read masked columns of public.shown: number, large; run: REVOKE SELECT ON \
         public.shown FROM LOGIN; GRANT SELECT (id) ON public.shown TO LOGIN;",
    ),
    (
        "ALTER TABLE person OWNER TO LOGIN",
        "run: REVOKE SELECT ON public.person FROM LOGIN;",
    ),
    (
        "GRANT pg_read_all_data TO LOGIN",
        "it is, or can become, a superuser or a member of pg_read_all_data",
    ),
];

#[test]
fn nothing_is_answered_while_a_role_may_read_a_masked_column() {
    for (grants, expected) in WEAK {
        let shop = Shop::new(grants);
        let expected = shop.named(expected);
        let (code, said) = shop.check();
        assert_eq!(code, Some(1), "{grants}");
        assert!(said.contains(&expected), "{grants}: {said}");
        let (program, client) = shop.serve();
        let client = one(&client);
        for sql in ["SELECT 1", "SELECT ssn FROM person"] {
            let (text, is_error) = query(&client, sql);
            assert!(is_error && text.contains(NOT_READY), "{grants}: {text}");
            assert!(rows(&client, sql).contains(NOT_READY), "{grants}");
        }
        let said = program.wait_for("may read masked columns of");
        let said = said.replace("\\\"", "\"");
        assert!(said.contains(&expected), "{grants}: {said}");
        // What it says works.
        let fixes = said
            .split("run: ")
            .nth(1)
            .and_then(|rest| rest.rsplit_once(';'));
        match fixes {
            Some((fixes, _)) => shop.run(fixes),
            None => shop.run("REVOKE pg_read_all_data FROM LOGIN"),
        }
        let (text, is_error) = query(&client, "SELECT 1");
        assert!(!is_error, "{grants}: {text}");
        // The role is dropped before the database is.
        shop.run("REASSIGN OWNED BY LOGIN TO CURRENT_USER");
    }
}

/// Callers with roles: rules name two, and a claim gives them.
const SET_ROLE: &str = "    identity:
      mode: set_role
      strict: false
      roles: [{token: token-2, role: TWO}, {claim: role, match: '^.*$', role: '{}'}]\n";

/// Rights of two roles, and of one for whom nothing is masked.
const ROLES: &str = "
    ALTER ROLE LOGIN NOINHERIT; GRANT ONE, TWO, BOSS TO LOGIN;
    GRANT SELECT (id, name) ON person TO ONE, TWO;
    GRANT SELECT ON person TO BOSS;";

#[test]
fn the_role_of_each_caller_is_checked_before_its_first_statement() {
    let shop = Shop::with(SET_ROLE, ", unless: {tokens: [token-9]}", ROLES);
    let (program, client) = shop.serve();
    let [first, second, boss] = [1, 2, 9].map(|it| client.bearing(&format!("secret-{it}")));
    for caller in [&first, &second] {
        let (text, _) = query(caller, "SELECT ssn FROM person");
        assert!(
            text.contains("public.person.ssn is masked; readable here: id, name"),
            "{text}"
        );
    }
    let (text, _) = query(&boss, "SELECT ssn FROM person WHERE id = 1");
    assert!(text.ends_with("sec-1"), "{text}");
    shop.run("CREATE ROLE TWO_group; GRANT SELECT ON person TO TWO_group");
    shop.run("GRANT TWO_group TO TWO");
    let (program_two, client) = shop.serve();
    let (text, _) = query(&one(&client), "SELECT 1");
    assert!(!text.contains(NOT_READY), "not seen yet: {text}");
    let (text, is_error) = query(&client.bearing("secret-2"), "SELECT 1");
    assert!(is_error && text.contains(NOT_READY), "{text}");
    let (text, is_error) = query(&one(&client), "SELECT 1");
    assert!(is_error && text.contains(NOT_READY), "all callers: {text}");
    program_two.wait_for(&shop.named("REVOKE SELECT ON public.person FROM TWO_group"));
    assert!(!program.log().contains("may read masked columns"));
    shop.run("DROP OWNED BY TWO_group; DROP ROLE TWO_group");
    let (text, is_error) = query(&one(&client), "SELECT 1");
    assert!(!is_error, "{text}");
}

#[test]
fn roles_that_rules_name_are_checked_before_a_caller_comes() {
    let shop = Shop::with(SET_ROLE, "", ROLES);
    let (code, said) = shop.check();
    let boss = shop.named("role BOSS may read masked columns of public.person: ssn");
    assert!(code == Some(1) && said.contains(&boss), "{said}");
    shop.run("REVOKE SELECT ON person FROM BOSS; GRANT SELECT ON person TO TWO");
    let (_program, client) = shop.serve();
    let (text, is_error) = query(&one(&client), "SELECT 1");
    assert!(is_error && text.contains(NOT_READY), "{text}");
}

#[test]
fn a_check_names_masked_columns_that_do_not_exist_or_that_policies_use() {
    let shop = Shop::new(GRANTS);
    shop.run(
        "ALTER TABLE person ENABLE ROW LEVEL SECURITY;
         CREATE POLICY own ON person USING (ssn <> 'x');
         ALTER TABLE note DROP COLUMN body",
    );
    let (code, said) = shop.check();
    assert_eq!(code, Some(0), "{said}");
    for expected in [
        "shop: masking: public.note.body does not exist",
        "shop: masking: public.person.ssn is used by policy own, so with enforce: plan all queries \
         on the table are refused",
    ] {
        assert!(said.contains(expected), "{said}");
    }
}
