//! A database that knows its callers: each has a role of its own there.

mod entrances;
mod plans;
mod start;

use std::{fs, os::unix::fs::PermissionsExt as _};

use rustix::process::Signal;
use serde_json::{Value, json};

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
- {name: own_role, description: Who, database: shop, statement: 'SELECT :who', result: value,
   parameters: [{name: who, type: string, from: role}]}
- {name: own_orders, description: Orders, database: shop, statement: SELECT id FROM orders, result: value}
resources:
- {uri: 'custom://orders', name: orders, type: sql, sql: 'SELECT id, note FROM orders'}
";

/// The columns of [`ORDERS`] that the rows of a tenant are found by, with a setting.
const BY_SETTING: &str = "
    ALTER TABLE orders ADD COLUMN tenant text;
    CREATE POLICY tenant ON orders USING (tenant = nullif(current_setting('app.tenant', true), ''));";

/// The database's own user may do no more than a caller.
const STRICT: &str =
    "REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC";

const ROLES: &str = "roles:
      - {token: token-9, role: BOSS}
      - {claim: role, match: '^[a-z0-9_]+$', role: '{}'}";

const SETTINGS: &str = "settings: [{name: app.tenant, from: {claim: role}}]";

/// A server for callers with a role each: two tenants, one who bypasses row security, and one role
/// without a password. A fifth caller has no role.
struct Shop {
    postgres: Postgres,
    home: Home,
    roles: [String; 4],
}

impl Shop {
    fn connect_as(more: &str) -> Self {
        Self::new("mode: connect_as\n      credentials: roles", ROLES, more)
    }

    fn set_role(more: &str) -> Self {
        let shop = Self::new("mode: set_role", ROLES, more);
        shop.postgres.run(STRICT);
        shop
    }

    fn by_setting() -> Self {
        Self::by_setting_with("")
    }

    fn by_setting_with(more: &str) -> Self {
        let shop = Self::new("strict: true", SETTINGS, more);
        shop.postgres.run(STRICT);
        shop.postgres.run(BY_SETTING);
        shop.postgres.run("UPDATE orders SET tenant = owner");
        shop
    }

    fn new(way: &str, section: &str, rest: &str) -> Self {
        let mut postgres = Postgres::with(ORDERS);
        let roles = [(); 4].map(|()| postgres.role());
        let login = postgres.role();
        let [one, two, boss, bare] = &roles;
        postgres.run(&format!(
            "INSERT INTO orders VALUES (1, '{one}', 'red'), (2, '{two}', 'blue');
             ALTER ROLE \"{boss}\" BYPASSRLS;
             ALTER ROLE \"{login}\" NOINHERIT;
             GRANT \"{one}\", \"{two}\", \"{boss}\" TO \"{login}\""
        ));
        let home = Home::new();
        let folder = home.file("roles");
        fs::create_dir(&folder).expect("made");
        for role in [one, two, boss] {
            let file = folder.join(format!("{role}.password"));
            fs::write(&file, role).expect("written");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("private");
        }
        let entry = postgres.entry_as("shop", &login);
        let section = section.replace("BOSS", boss).replace("TWO", two);
        home.configure(&format!(
            "databases:\n{entry}    allow_writes: true\n    identity:\n      {way}\n      {section}\n\
             custom_definitions_path: own.yaml\n{rest}"
        ));
        fs::write(home.file("own.yaml"), TOOLS).expect("written");
        let claim = |role: &str| format!("claims: {{role: {role}}}");
        let token = |number: u32, claims: &str| {
            records::token(number, &format!("secret-{number}"), &[claims])
        };
        let tokens = [
            token(1, &claim(one)),
            token(2, &claim(two)),
            token(3, "claims: {other: x}"),
            token(4, &claim(bare)),
            token(9, "claims: {}"),
        ];
        home.replace(&home.tokens(), &records::tokens(&tokens));
        Self {
            postgres,
            home,
            roles,
        }
    }

    /// Runs SQL with the names of both tenants in it.
    fn run(&self, sql: &str) {
        let [one, two, ..] = &self.roles;
        let sql = sql.replace("'ONE'", &format!("'{one}'"));
        self.postgres
            .run(&sql.replace("'TWO'", &format!("'{two}'")));
    }

    fn serve(&self) -> (Program, Client) {
        self.home.serve(&[])
    }
}

fn query(client: &Client, sql: &str) -> (String, bool) {
    client.tool("query_database", &json!({"query": sql}))
}

#[test]
fn each_caller_that_logs_in_sees_the_rows_of_its_role_at_every_entrance() {
    let shop = Shop::connect_as("");
    let (_program, client) = shop.serve();
    for (number, caller) in sees_its_rows(&client) {
        let (text, is_error) = query(&caller, "SELECT current_user, session_user");
        let role = &shop.roles[number - 1];
        assert_eq!(text.matches(&**role).count(), 2, "{text}");
        has_its_role(&caller, role);
        assert!(!is_error);
        // Nothing leads back to another role.
        for sql in ["RESET ROLE", "SET ROLE NONE", "RESET SESSION AUTHORIZATION"] {
            query(&caller, sql);
            sees_one_row(&caller, sql);
        }
    }
    // A caller may write where its role may.
    let [one, two] = [1, 2].map(|number| client.bearing(&format!("secret-{number}")));
    let insert = "INSERT INTO orders VALUES (3, current_user, 'new')";
    let (text, is_error) = query(&one, insert);
    assert!(!is_error, "{text}");
    sees_one_row(&two, insert);
}

#[test]
fn each_caller_with_a_set_role_sees_its_rows_at_every_entrance() {
    let shop = Shop::set_role("");
    let (_program, client) = shop.serve();
    let [one, two, ..] = &shop.roles;
    for (number, caller) in sees_its_rows(&client) {
        let (text, _) = query(&caller, "SELECT current_user");
        assert!(text.contains(&*shop.roles[number - 1]), "{text}");
        has_its_role(&caller, &shop.roles[number - 1]);
        stays_itself(&caller, &[one, two]);
    }
}

#[test]
fn each_caller_with_a_setting_sees_its_rows_at_every_entrance() {
    let shop = Shop::by_setting();
    let (program, client) = shop.serve();
    let [one, two, ..] = &shop.roles;
    for (_, caller) in sees_its_rows(&client) {
        stays_itself(&caller, &[one, two]);
    }
    let (text, is_error) = query(&client.bearing("secret-3"), "SELECT 1");
    assert!(is_error && text.ends_with(NOT_OPEN), "{text}");
    program.wait_for("setting app.tenant needs a fact that is missing");
}

#[test]
fn sealed_settings_need_no_guard_and_no_other_connection_can_use_them() {
    let settings = format!("{SETTINGS}\n      seal_key_file: seal.key");
    let shop = Shop::new("strict: true", &settings, "");
    let ran = shop.home.ran_before(&["-print-seal-sql", "shop"]);
    assert_eq!(ran.code, Some(1), "without its file: {ran:?}");
    assert!(
        ran.stderr
            .contains("seal_key_file: must name a file of 32 bytes"),
        "{ran:?}"
    );
    let key = shop.home.file("seal.key");
    fs::write(&key, [7; 32]).expect("written");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("set");
    let ran = shop.home.ran_before(&["-print-seal-sql", "shop"]);
    assert!(
        ran.stderr.contains("must be readable by its owner only"),
        "{ran:?}"
    );
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("set");
    let ran = shop.home.ran_before(&["-print-seal-sql", "shop"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    shop.postgres.run(&ran.stdout);
    shop.postgres.run(&BY_SETTING.replace(
        "nullif(current_setting('app.tenant', true), '')",
        "(SELECT ziggurat.claim('app.tenant'))",
    ));
    shop.postgres.run("UPDATE orders SET tenant = owner");
    let (_program, client) = shop.serve();
    let callers = sees_its_rows(&client);
    let read =
        "SELECT current_setting('ziggurat.claims') || '#' || current_setting('ziggurat.seal')";
    let (stolen, _) = query(&callers[0].1, read);
    let stolen = stolen.lines().last().expect("a row").to_owned();
    let (claims, seal) = stolen.split_once('#').expect("both");
    for (_, caller) in &callers {
        for sql in [
            "SET app.tenant = 'other'".to_owned(),
            "SELECT set_config('ziggurat.claims', '', false)".to_owned(),
            format!("SET ziggurat.claims = '{claims}'; SET ziggurat.seal = '{seal}'"),
        ] {
            query(caller, &sql);
            sees_one_row(caller, &sql);
        }
    }
    // Another one's seal within one statement.
    let (text, is_error) = query(
        &callers[1].1,
        &format!(
            "SET LOCAL ziggurat.claims = '{claims}'; SET LOCAL ziggurat.seal = '{seal}'; \
             SELECT id FROM orders"
        ),
    );
    assert!(
        is_error && text.contains("the caller is not known"),
        "{text}"
    );
}

#[test]
fn a_caller_sees_the_names_of_its_tables_only() {
    for shop in [Shop::connect_as(""), Shop::set_role("")] {
        let [one, ..] = &shop.roles;
        shop.postgres.run(&format!(
            "CREATE TABLE ledger (id int PRIMARY KEY, amount int);
             ALTER TABLE wide ADD COLUMN entry int REFERENCES ledger;
             GRANT SELECT (id) ON ledger TO \"{one}\""
        ));
        let (_program, client) = shop.serve();
        for (number, sees) in [(1, true), (2, false), (1, true)] {
            let caller = client.bearing(&format!("secret-{number}"));
            for (tool, arguments) in [
                ("get_schema_info", json!({})),
                (
                    "get_schema_info",
                    json!({"schema_name": "public", "table_name": "wide"}),
                ),
                ("get_schema_info", json!({"schema_name": "public"})),
                ("query_database", json!({"query": "SELECT * FROM ledgers"})),
                (
                    "query_database",
                    json!({"query": "SELECT amounts FROM ledger"}),
                ),
            ] {
                let (text, _) = caller.tool(tool, &arguments);
                let asked = arguments["query"].as_str().unwrap_or("");
                let told = text.replace(asked, "").replace("\"ledgers\"", "");
                let told = told.replace("table ledger", "");
                let is_told = told.contains("ledger");
                // An error of a statement may be without a hint.
                let is_right = is_told == sees || tool == "query_database" && sees;
                assert!(is_right, "{tool} {arguments}: {text}");
            }
            let schema = caller.get("/api/schema").body;
            assert!(schema.contains("wide"), "{schema}");
            assert_eq!(schema.contains("ledger"), sees, "{schema}");
        }
    }
}

#[test]
fn records_have_the_role_and_one_mark_for_each_role_and_its_settings() {
    let shop = Shop::set_role("secret_file: secret\naudit: {file: audit.jsonl}\n");
    fs::write(shop.home.file("secret"), "a secret of several servers").expect("written");
    for _ in 0..2 {
        let (mut program, client) = shop.serve();
        for number in [1, 2, 1] {
            query(&client.bearing(&format!("secret-{number}")), "SELECT 1");
        }
        program.signal(Signal::TERM);
        program.ended();
    }
    let lines = fs::read_to_string(shop.home.file("audit.jsonl")).expect("a trail");
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let calls = lines.filter(|line| line["kind"] == "call");
    let seen: Vec<_> = calls
        .map(|line| ["role", "identity"].map(|key| line[key].as_str().unwrap_or("").to_owned()))
        .collect();
    let [one, two, ..] = &shop.roles;
    let roles: Vec<_> = seen.iter().map(|[role, _]| role).collect();
    assert_eq!(roles, [one, two, one, one, two, one]);
    let marks: Vec<_> = seen.iter().map(|[_, mark]| mark).collect();
    assert_eq!(marks[0].len(), 16, "{marks:?}");
    assert!(
        [2, 3, 5].iter().all(|at| marks[*at] == marks[0]),
        "{marks:?}"
    );
    assert!(marks[1] != marks[0] && marks[4] == marks[1], "{marks:?}");
}

#[test]
fn a_text_that_could_call_set_config_keeps_all_out() {
    let shop = Shop::set_role("");
    shop.postgres
        .run(&STRICT.replace("REVOKE", "GRANT").replace("FROM", "TO"));
    let (program, client) = shop.serve();
    let (text, is_error) = query(&client.bearing("secret-1"), "SELECT 1");
    assert!(is_error && text.ends_with(NOT_OPEN), "{text}");
    program.wait_for("run: REVOKE EXECUTE ON FUNCTION");
}

/// Returns the callers of two tenants, who see their own rows at each entrance.
fn sees_its_rows(client: &Client) -> [(usize, Client); 2] {
    [1, 2].map(|number: usize| {
        let caller = client.bearing(&format!("secret-{number}"));
        let (text, is_error) = query(&caller, "SELECT id FROM orders");
        assert!(!is_error, "{text}");
        assert!(text.trim_end().ends_with(&format!("\n{number}")), "{text}");
        sees_one_row(&caller, "");
        let (text, _) = caller.tool("count_rows", &json!({"table": "orders"}));
        assert!(text.contains('1') && !text.contains('2'), "{text}");
        let (text, _) = caller.tool("own_orders", &json!({}));
        assert_eq!(text, number.to_string());
        let body = json!({"sql": "SELECT id FROM orders"}).to_string();
        let rows = caller.post("/api/query", &body).body;
        let expected = format!("{{\"rows\":[[{number}]]}}");
        assert!(rows.contains(&expected), "{rows}");
        (number, caller)
    })
}

/// Checks that a tool of the operator gets the role of its caller.
fn has_its_role(caller: &Client, role: &str) {
    let (text, _) = caller.tool("own_role", &json!({}));
    assert_eq!(text, role);
}

fn sees_one_row(caller: &Client, after: &str) {
    let (text, _) = query(caller, "SELECT count(*) FROM orders");
    assert!(text.trim_end().ends_with('1'), "{after}: {text}");
}

/// Tries to become another caller.
fn stays_itself(caller: &Client, others: &[&String]) {
    let mut texts = vec![
        "RESET ROLE".to_owned(),
        "SELECT 1; RESET ALL".to_owned(),
        "COMMIT; SELECT id FROM orders".to_owned(),
        "DISCARD ALL".to_owned(),
        "DO $$ BEGIN RESET ROLE; END $$".to_owned(),
        "SET standard_conforming_strings = off".to_owned(),
        "UPDATE pg_settings SET setting = 'none' WHERE name = 'role'".to_owned(),
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql SET role = 'none' AS 'SELECT 1'".to_owned(),
    ];
    for other in others {
        texts.extend([
            format!("SET ROLE {other}; SELECT id FROM orders"),
            format!("SET SESSION AUTHORIZATION {other}"),
            format!("SELECT set_config('role', '{other}', false)"),
            format!("SET LOCAL app.tenant TO '{other}'; SELECT id FROM orders"),
        ]);
    }
    for text in &texts {
        let (said, is_error) = query(caller, text);
        // One without a role has no setting to keep, and may read its own.
        if text.contains("app.tenant") && !is_error {
            assert!(
                !said.contains("\n1\n") || !said.contains("\n2\n"),
                "{text}: {said}"
            );
        } else {
            assert!(
                is_error && said.contains("query rejected: "),
                "{text}: {said}"
            );
        }
        sees_one_row(caller, text);
        let body = json!({"sql": text}).to_string();
        caller.post("/api/query", &body);
        sees_one_row(caller, text);
    }
}

#[test]
fn a_caller_without_a_good_role_is_told_nothing_but_that() {
    let shop = Shop::connect_as("");
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
    let shop = Shop::connect_as("");
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

/// Sections of a database, and the problem of each.
const WRONG: &[(&str, &str)] = &[
    ("identity:", "identity.mode: required"),
    (
        "identity: {mode: set_role, otherwise: a, credentials: roles}",
        "credentials: is for mode connect_as",
    ),
    ("identity: {otherwise: a}", "identity.mode: required"),
    (
        "identity: {settings: [{name: work_mem, from: user}]}",
        "name: must be two words with a dot between them",
    ),
    (
        "identity: {settings: [{name: app.tenant, from: {claims: tenant}}]}",
        "from: must be user, client, token, caller or {claim: <name>}",
    ),
    (
        "identity: {settings: [{name: app.tenant}]}",
        "from: required",
    ),
    ("identity: {mode: oauth}", "mode oauth is not built"),
    (
        "identity: {mode: connect_as}",
        "needs roles, or a role in otherwise",
    ),
    (
        "identity: {mode: connect_as, otherwise: a, setting: []}",
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
        "identity: {mode: connect_as, roles: [{claim: email, match: '^.*$', role: '{}'}]}",
        "database 'shop': identity: email needs email_verified",
    ),
    (
        "identity: {mode: connect_as, otherwise: a}\n    allow_dangerous_functions: true",
        "identity and allow_dangerous_functions exclude each other",
    ),
];

#[test]
fn a_section_that_guards_nothing_is_refused() {
    let postgres = Postgres::new();
    let entry = postgres.entry("shop");
    for (section, problem) in WRONG {
        let home = Home::new();
        let claims = "identity: {claims: [email]}";
        home.configure(&format!("databases:\n{entry}    {section}\n{claims}\n"));
        let ran = home.ran_before(&["-check-config"]);
        assert_eq!(ran.code, Some(1), "{section}: {ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(problem), "{section}: {said}");
    }
}
