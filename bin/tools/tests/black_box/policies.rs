//! Weaknesses of row security, each in a database that has this one and no other.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::Value;

use crate::{
    doctor,
    support::{Home, Postgres},
};

/// A table of tenants without a weakness.
const SOUND: &str = "
    CREATE TABLE orders (id int, tenant text);
    ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
    CREATE POLICY tenant_rows ON orders
        USING (tenant = nullif(current_setting('app.tenant', true), ''));
    GRANT SELECT ON orders TO \"ONE\", \"TWO\", \"OUTER\";
    ALTER ROLE \"LOGIN\" NOINHERIT;
    GRANT \"ONE\", \"TWO\" TO \"LOGIN\";";

const SET_ROLE: &str = "mode: set_role
      roles: [{claim: tenant, match: '^(ONE|TWO)$', role: '{}'}]
      settings: [{name: app.tenant, from: {claim: tenant}}]";

const CONNECT_AS: &str = "mode: connect_as
      credentials: roles
      roles: [{claim: tenant, match: '^(ONE|TWO)$', role: '{}'}]";

/// A database of two tenants, a role that is no caller's, and a login.
struct Shop {
    postgres: Postgres,
    names: [(&'static str, String); 4],
}

impl Shop {
    fn new(more: &str) -> Self {
        let mut postgres = Postgres::new();
        let names = ["ONE", "TWO", "OUTER", "LOGIN"].map(|name| (name, postgres.role()));
        let shop = Self { postgres, names };
        shop.postgres.run(&shop.named(SOUND));
        shop.postgres.run(&shop.named(more));
        shop
    }

    fn named(&self, text: &str) -> String {
        let names = self.names.iter();
        names.fold(text.to_owned(), |text, (name, role)| {
            text.replace(name, role)
        })
    }

    /// Returns a folder with a server for this database.
    fn home(&self, identity: &str) -> Home {
        let (_, login) = &self.names[3];
        let entry = self.postgres.entry_as("shop", login);
        let home = Home::new();
        let identity = self.named(identity);
        home.configure(&format!(
            "databases:\n{entry}    identity:\n      {identity}\n"
        ));
        home
    }

    /// Returns the exit code of the check, and its sentences about the database.
    fn check(&self, identity: &str) -> (Option<i32>, Vec<String>) {
        let home = self.home(identity);
        let ran = home.ran_before(&["-check-config", "-connect"]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        let lines = said.lines().filter_map(|line| line.split_once("shop: "));
        let lines = lines.map(|(_, finding)| finding.replace('"', ""));
        let lines = lines.collect();
        assert_eq!(diagnosed(&home), lines, "both checks find the same");
        (ran.code, lines)
    }
}

/// Returns the sentences about row security that `-doctor` prints, each with an advice.
fn diagnosed(home: &Home) -> Vec<String> {
    let (_, findings) = doctor::found(home, &[]);
    let findings = findings.iter().filter(|it| it["id"] == "db.policies");
    let sentence = |it: &Value| {
        let fix = it["fix"].as_str().unwrap_or_default();
        assert!(!fix.is_empty() && it["database"] == "shop", "{it}");
        it["finding"].as_str().unwrap_or_default().replace('"', "")
    };
    findings.map(sentence).collect()
}

/// Asserts that these statements are the only weakness, and return the sentence about it.
fn assert_weak(is_problem: bool, more: &str, expected: &str) {
    let shop = Shop::new(more);
    let expected = vec![shop.named(expected)];
    let code = Some(i32::from(is_problem));
    assert_eq!(shop.check(SET_ROLE), (code, expected), "{more}");
}

#[test]
fn a_sound_database_has_no_finding() {
    let sound = Shop::new(
        "CREATE TABLE items (id int, tenant text);
         ALTER TABLE items ENABLE ROW LEVEL SECURITY;
         ALTER TABLE items FORCE ROW LEVEL SECURITY;
         ALTER TABLE items OWNER TO \"ONE\";
         CREATE POLICY casts ON items USING (id = nullif(current_setting('app.id', true), '')::int);
         CREATE POLICY narrows ON items AS RESTRICTIVE USING (true);
         CREATE POLICY of_others ON items TO \"OUTER\" USING (true);
         CREATE TABLE open (id int);
         ALTER TABLE open ENABLE ROW LEVEL SECURITY;
         CREATE POLICY for_all ON open USING (true);
         CREATE TABLE owned (id int);
         ALTER TABLE owned OWNER TO \"OUTER\";
         CREATE VIEW closed AS SELECT * FROM orders;
         CREATE VIEW plain AS SELECT * FROM owned;
         GRANT SELECT ON plain TO PUBLIC;
         CREATE VIEW under AS SELECT * FROM orders;
         ALTER VIEW under OWNER TO \"OUTER\";
         GRANT SELECT ON under TO PUBLIC;
         CREATE MATERIALIZED VIEW stored AS SELECT * FROM orders;
         CREATE FUNCTION definer() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';
         REVOKE EXECUTE ON FUNCTION definer() FROM PUBLIC;
         CREATE FUNCTION of_other() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';
         ALTER FUNCTION of_other() OWNER TO \"OUTER\";
         CREATE FUNCTION writes() RETURNS void LANGUAGE sql AS 'UPDATE owned SET id = 1';",
    );
    assert_eq!(sound.check(SET_ROLE), (Some(0), Vec::new()));
    assert_eq!(sound.check(CONNECT_AS), (Some(0), Vec::new()));
    // Its owner is dropped before the database is.
    sound.postgres.run("DROP TABLE owned CASCADE");
}

/// Designs of row security without a weakness, each beside the one of [`SOUND`].
pub(crate) const SOUND_SCHEMAS: [&str; 10] = [
    "CREATE TABLE t (owner name); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
     CREATE POLICY p ON t USING (owner = current_user);",
    "CREATE TABLE t (tenant uuid); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
     CREATE POLICY p ON t
         USING (tenant = (SELECT nullif(current_setting('app.tenant', true), '')::uuid));",
    "CREATE TABLE member (org int, login name); ALTER TABLE member ENABLE ROW LEVEL SECURITY;
     CREATE POLICY p ON member USING (login = current_user);
     CREATE TABLE t (org int); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
     CREATE POLICY p ON t USING (org IN (SELECT org FROM member));",
    "CREATE TABLE t (owner name); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
     ALTER TABLE t FORCE ROW LEVEL SECURITY; ALTER TABLE t OWNER TO \"OUTER\";
     CREATE POLICY p ON t USING (owner = current_user) WITH CHECK (owner = current_user);",
    "CREATE TABLE t (owner name, day int) PARTITION BY RANGE (day);
     CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (1) TO (2);
     ALTER TABLE t ENABLE ROW LEVEL SECURITY; ALTER TABLE t_1 ENABLE ROW LEVEL SECURITY;
     CREATE POLICY p ON t USING (owner = current_user);",
    "CREATE TABLE t (owner name, is_open bool); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
     CREATE POLICY p ON t USING (owner = current_user OR is_open);
     CREATE POLICY narrow ON t AS RESTRICTIVE FOR DELETE USING (owner = current_user);",
    "CREATE TABLE t (owner name); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
     CREATE POLICY reads ON t FOR SELECT USING (owner = current_user);
     CREATE POLICY adds ON t FOR INSERT WITH CHECK (owner = current_user);
     CREATE POLICY changes ON t FOR UPDATE USING (owner = current_user);
     CREATE POLICY drops ON t FOR DELETE USING (false);",
    "CREATE FUNCTION tenant() RETURNS text LANGUAGE sql STABLE
         AS $$SELECT nullif(current_setting('app.tenant', true), '')$$;
     CREATE TABLE t (tenant text); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
     CREATE POLICY p ON t USING (tenant = tenant());",
    "CREATE TABLE t (owner name); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
     CREATE POLICY p ON t TO \"ONE\", \"TWO\" USING (owner = current_user);
     CREATE POLICY keeps ON t TO \"OUTER\" USING (true);
     CREATE FUNCTION set_day(day int) RETURNS int LANGUAGE sql SET work_mem = '8MB'
         AS 'SELECT count(*)::int FROM t -- the set of a day';",
    "CREATE TABLE word (text text); GRANT SELECT ON word TO PUBLIC;
     CREATE VIEW words AS SELECT lower(text) FROM word; GRANT SELECT ON words TO PUBLIC;
     CREATE MATERIALIZED VIEW word_count AS SELECT count(*) FROM word;
     GRANT SELECT ON word_count TO PUBLIC;
     CREATE FUNCTION upper_words() RETURNS SETOF text LANGUAGE sql SECURITY DEFINER
         AS 'SELECT upper(text) FROM word';
     ALTER FUNCTION upper_words() OWNER TO \"OUTER\";",
];

#[test]
fn ten_sound_schemas_have_no_finding() {
    for schema in SOUND_SCHEMAS {
        let shop = Shop::new(schema);
        assert_eq!(shop.check(SET_ROLE), (Some(0), Vec::new()), "{schema}");
        shop.postgres
            .run("DROP TABLE IF EXISTS t CASCADE; DROP FUNCTION IF EXISTS upper_words");
    }
}

#[test]
fn a_database_of_seals_has_no_finding() {
    let shop = Shop::new("DROP POLICY tenant_rows ON orders");
    let home =
        shop.home("settings: [{name: app.tenant, from: user}]\n      seal_key_file: seal.key");
    let key = home.file("seal.key");
    fs::write(&key, [7; 32]).expect("written");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("set");
    shop.postgres
        .run(&home.ran_before(&["-print-seal-sql", "shop"]).stdout);
    shop.postgres.run(
        "CREATE POLICY tenant_rows ON orders
             USING (tenant = (SELECT ziggurat.claim('app.tenant')))",
    );
    let ran = home.ran_before(&["-check-config", "-connect"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ran.code == Some(0) && !said.contains("shop: "), "{said}");
}

#[test]
fn a_policy_that_fails_or_is_open_where_the_setting_is_empty_is_a_warning() {
    let table = |using: &str| {
        format!(
            "CREATE TABLE items (id int, tenant text); ALTER TABLE items ENABLE ROW LEVEL SECURITY;
             CREATE POLICY weak ON items USING ({using})"
        )
    };
    let empty = "public.items: policy weak: current_setting without nullif(…, '')";
    assert_weak(
        false,
        &table("tenant = current_setting('app.tenant', true)"),
        empty,
    );
    let cast =
        "public.items: policy weak: a cast of current_setting fails where the setting is empty";
    assert_weak(
        false,
        &table("id = current_setting('app.id', true)::int"),
        cast,
    );
}

#[test]
fn an_owner_without_force_and_a_policy_for_all_rows_are_problems() {
    assert_weak(
        true,
        "ALTER TABLE orders OWNER TO \"TWO\"",
        "public.orders: role TWO owns the table, and row security is not forced",
    );
    assert_weak(
        true,
        "CREATE POLICY open ON orders FOR SELECT USING (true)",
        "public.orders: policy open: lets all rows pass beside a policy of tenants",
    );
    assert_weak(
        true,
        "CREATE POLICY open ON orders FOR SELECT TO \"ONE\" USING (true)",
        "public.orders: policy open: lets all rows pass beside a policy of tenants",
    );
}

#[test]
fn a_view_that_callers_may_read_and_that_shows_all_rows_is_a_warning() {
    let finding = "the view shows all rows, since its owner is not under row security";
    assert_weak(
        false,
        "CREATE VIEW all_orders AS SELECT * FROM orders; GRANT SELECT ON all_orders TO \"ONE\"",
        &format!("public.all_orders: {finding}"),
    );
    // The inner one is closed to callers.
    assert_weak(
        false,
        "CREATE VIEW inner_orders AS SELECT * FROM orders;
         CREATE VIEW outer_orders AS SELECT * FROM inner_orders;
         GRANT SELECT ON outer_orders TO PUBLIC",
        &format!("public.outer_orders: {finding}"),
    );
    assert_weak(
        false,
        "CREATE MATERIALIZED VIEW stored AS SELECT * FROM orders; GRANT SELECT ON stored TO PUBLIC",
        "public.stored: the materialized view holds rows of all",
    );
    let version = "SELECT current_setting('server_version_num')::bigint / 10000";
    let shop = Shop::new("");
    if shop.postgres.count(version) >= 15 {
        shop.postgres.run(
            "CREATE VIEW own_orders WITH (security_invoker = true) AS SELECT * FROM orders;
             GRANT SELECT ON own_orders TO PUBLIC",
        );
        assert_eq!(shop.check(SET_ROLE), (Some(0), Vec::new()));
    }
}

#[test]
fn a_function_that_sees_all_rows_or_changes_the_caller_is_a_warning() {
    assert_weak(
        false,
        "CREATE FUNCTION sees() RETURNS bigint LANGUAGE sql SECURITY DEFINER
             AS 'SELECT count(*) FROM orders'",
        "public.sees(): SECURITY DEFINER of an owner that is not under row security",
    );
    let function =
        |more: &str| format!("CREATE FUNCTION runs(sql text) RETURNS void LANGUAGE plpgsql {more}");
    let finding = "public.runs(sql text): the function may change the role or a setting";
    for more in [
        "AS 'BEGIN EXECUTE sql; END'",
        "AS 'BEGIN SET LOCAL app.tenant = 1; END'",
        "AS 'BEGIN PERFORM 1; set role none; END'",
        "AS 'BEGIN PERFORM set_config(sql, sql, true); END'",
        "SET role = none AS 'BEGIN END'",
    ] {
        assert_weak(false, &function(more), finding);
        // A caller that logs in as its role stays it.
        let shop = Shop::new(&function(more));
        assert_eq!(shop.check(CONNECT_AS), (Some(0), Vec::new()), "{more}");
    }
}

#[test]
fn a_login_role_that_is_more_than_its_callers_is_a_problem() {
    assert_weak(
        true,
        "CREATE TABLE items (id int); ALTER TABLE items OWNER TO \"LOGIN\"",
        "public.items: the login role LOGIN owns the table",
    );
    assert_weak(
        true,
        "GRANT \"OUTER\" TO \"LOGIN\"",
        "role LOGIN: it is a member of OUTER, which no rule gives to a caller",
    );
}

#[test]
fn an_old_version_with_known_holes_is_a_warning_at_the_start() {
    let shop = Shop::new("");
    let version = "SELECT current_setting('server_version_num')::bigint";
    let version = shop.postgres.count(version);
    let closed = [150_019, 160_015, 170_011, 180_006];
    let is_old = closed.map(|it| (it / 10_000 * 10_000..it).contains(&version));
    let (program, _client) = shop.home(SET_ROLE).serve(&["-no-auth"]);
    if is_old.contains(&true) || version < 150_000 {
        program.wait_for("a database that knows its callers: PostgreSQL ");
    }
}
