//! A database that knows its callers: each has a role of its own there.

use std::{fs, os::unix::fs::PermissionsExt as _};

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Client, Home, Postgres, Program, records, until};

const NOT_OPEN: &str = "This database is not open to you.";

/// A table of two tenants with row security.
const ORDERS: &str = "
    CREATE TABLE orders (id int, owner name, note text);
    ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON orders USING (owner = current_user);
    GRANT SELECT, INSERT ON orders TO PUBLIC;
    CREATE TABLE wide (id int); INSERT INTO wide VALUES (7); GRANT SELECT ON wide TO PUBLIC;";

const TOOLS: &str = "tools:
- {name: own_orders, description: Orders, database: shop, statement: SELECT id FROM orders, result: value}
";

/// A server for callers with a role each: two tenants, one who bypasses row security, and one role
/// without a password. A fifth caller has no role.
struct Shop {
    _postgres: Postgres,
    home: Home,
    roles: [String; 4],
}

impl Shop {
    fn new(more: &str) -> Self {
        let mut postgres = Postgres::with(ORDERS);
        let roles = [(); 4].map(|()| postgres.role());
        let [one, two, boss, _] = &roles;
        postgres.run(&format!(
            "INSERT INTO orders VALUES (1, '{one}', 'red'), (2, '{two}', 'blue');
             ALTER ROLE \"{boss}\" BYPASSRLS"
        ));
        let home = Home::new();
        let folder = home.file("roles");
        fs::create_dir(&folder).expect("made");
        for role in [one, two, boss] {
            let file = folder.join(format!("{role}.password"));
            fs::write(&file, role).expect("written");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("private");
        }
        let entry = postgres.entry("shop");
        home.configure(&format!(
            "databases:\n{entry}    allow_writes: true\n    identity:\n      mode: connect_as\n      \
             credentials: roles\n      roles:\n      - {{token: token-9, role: {boss}}}\n      \
             - {{claim: role, match: '^[a-z0-9_]+$', role: '{{}}'}}\n\
             custom_definitions_path: own.yaml\n{more}"
        ));
        fs::write(home.file("own.yaml"), TOOLS).expect("written");
        let claim = |role: &str| format!("claims: {{role: {role}}}");
        let token = |number: u32, claims: &str| {
            records::token(number, &format!("secret-{number}"), &[claims])
        };
        let [_, _, _, bare] = &roles;
        let tokens = [
            token(1, &claim(one)),
            token(2, &claim(two)),
            token(3, "claims: {other: x}"),
            token(4, &claim(bare)),
            token(9, "claims: {}"),
        ];
        home.replace(&home.tokens(), &records::tokens(&tokens));
        Self {
            _postgres: postgres,
            home,
            roles,
        }
    }

    fn serve(&self) -> (Program, Client) {
        self.home.serve(&[])
    }
}

fn query(client: &Client, sql: &str) -> (String, bool) {
    client.tool("query_database", &json!({"query": sql}))
}

#[test]
fn each_caller_sees_the_rows_of_its_role_at_every_entrance() {
    let shop = Shop::new("");
    let (_program, client) = shop.serve();
    let callers = [1, 2].map(|number| client.bearing(&format!("secret-{number}")));
    for (caller, own) in callers.iter().zip(["1", "2"]) {
        let (text, is_error) = query(caller, "SELECT id FROM orders");
        assert!(
            !is_error && text.trim_end().ends_with(&format!("\n{own}")),
            "{text}"
        );
        let (text, _) = caller.tool("count_rows", &json!({"table": "orders"}));
        assert!(text.contains('1') && !text.contains('2'), "{text}");
        let (text, _) = caller.tool("own_orders", &json!({}));
        assert_eq!(text, own);
        let body = json!({"sql": "SELECT id FROM orders"}).to_string();
        let rows = caller.post("/api/query", &body).body;
        assert!(rows.contains(&format!("{{\"rows\":[[{own}]]}}")), "{rows}");
        let (text, is_error) = query(caller, "SELECT current_user, session_user");
        assert!(
            !is_error && text.contains(&shop.roles[usize::from(own == "2")]),
            "{text}"
        );
        // Nothing leads back to another role.
        for sql in ["RESET ROLE", "SET ROLE NONE", "RESET SESSION AUTHORIZATION"] {
            query(caller, sql);
            let (text, _) = query(caller, "SELECT count(*) FROM orders");
            assert!(text.trim_end().ends_with('1'), "{sql}: {text}");
        }
    }
    // A caller may write where its role may.
    let insert = "INSERT INTO orders VALUES (3, current_user, 'new')";
    let (text, is_error) = query(&callers[0], insert);
    assert!(!is_error, "{text}");
    let (text, _) = query(&callers[1], "SELECT count(*) FROM orders");
    assert!(text.trim_end().ends_with('1'), "{text}");
}

#[test]
fn a_caller_without_a_good_role_is_told_nothing_but_that() {
    let shop = Shop::new("");
    let (program, client) = shop.serve();
    for (number, why) in [
        (3, "no rule fits the caller"),
        (4, "credentials"),
        (9, "BYPASSRLS"),
    ] {
        let caller = client.bearing(&format!("secret-{number}"));
        let (text, is_error) = query(&caller, "SELECT id FROM wide");
        assert!(is_error, "{number}: {text}");
        assert!(text.ends_with(NOT_OPEN), "{number}: {text}");
        let body = json!({"sql": "SELECT 1"}).to_string();
        let answer = caller.post("/api/query", &body);
        assert_eq!(answer.status, 403, "{number}: {answer:?}");
        assert!(answer.body.contains(NOT_OPEN), "{answer:?}");
        program.wait_for(why);
    }
}

#[test]
fn a_role_works_once_its_password_is_there_and_a_reload_reads_a_new_one() {
    let shop = Shop::new("");
    let (program, client) = shop.serve();
    let caller = client.bearing("secret-4");
    assert!(query(&caller, "SELECT 1").1, "there is no file");
    let role = &shop.roles[3];
    let file = shop.home.file("roles").join(format!("{role}.password"));
    let write = |password: &str| {
        fs::write(&file, password).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("private");
    };
    write("wrong");
    let (text, is_error) = query(&caller, "SELECT 1");
    assert!(is_error && text.ends_with(NOT_OPEN), "{text}");
    write(role);
    program.signal(Signal::HUP);
    until("the new password", || !query(&caller, "SELECT 1").1);
}

#[test]
fn a_section_that_guards_nothing_is_refused() {
    let postgres = Postgres::new();
    let entry = postgres.entry("shop");
    for (section, problem) in [
        ("identity:", "identity.mode: required"),
        ("identity: {mode: set_role}", "mode set_role is not built"),
        ("identity: {mode: oauth}", "mode oauth is not built"),
        (
            "identity: {mode: connect_as}",
            "needs roles, or a role in otherwise",
        ),
        (
            "identity: {mode: connect_as, otherwise: a, settings: []}",
            "unknown key",
        ),
        (
            "identity: {mode: connect_as, roles: [{claim: t, role: 't_{}'}]}",
            "match: required, since the role has {} in it",
        ),
        (
            "identity: {mode: connect_as, roles: [{claim: t, match: 'a|b$', role: '{}'}]}",
            "match: must begin with ^ and end with $",
        ),
        (
            "identity: {mode: connect_as, roles: [{claim: t, match: '^a)|(b$', role: '{}'}]}",
            "match: invalid pattern",
        ),
        (
            "identity: {mode: connect_as, roles: [{user: a, role: '{}'}]}",
            "has {} in it, and the rule has no claim",
        ),
        (
            "identity: {mode: connect_as, roles: [{role: a}]}",
            "names no caller",
        ),
        (
            "identity: {mode: connect_as, otherwise: a}\n    allow_dangerous_functions: true",
            "identity and allow_dangerous_functions exclude each other",
        ),
    ] {
        let home = Home::new();
        home.configure(&format!("databases:\n{entry}    {section}\n"));
        let ran = home.ran_before(&["-check-config"]);
        assert_eq!(ran.code, Some(1), "{section}: {ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(problem), "{section}: {said}");
    }
}
