//! Schemas with one hole each, and schemas without one.

use std::collections::BTreeMap;

use crate::{policies::SOUND_SCHEMAS, prove::shop::Shop};

/// A table of both callers, with row security and no policy yet.
const TABLE: &str = "CREATE TABLE t (id int PRIMARY KEY, owner name, note text);
    ALTER TABLE t ENABLE ROW LEVEL SECURITY; GRANT SELECT ON t TO PUBLIC;";

/// The same with the policy that it needs.
const SOUND: &str = "CREATE TABLE t (id int PRIMARY KEY, owner name, note text);
    ALTER TABLE t ENABLE ROW LEVEL SECURITY; GRANT SELECT ON t TO PUBLIC;
    CREATE POLICY own ON t USING (owner = current_user);";

/// The same by a setting.
const BY_SETTING: &str = "CREATE TABLE t (id int PRIMARY KEY, tenant text, note text);
    ALTER TABLE t ENABLE ROW LEVEL SECURITY; GRANT SELECT ON t TO PUBLIC;
    CREATE POLICY own ON t USING (tenant = nullif(current_setting('app.tenant', true), ''));";

/// The beginning of a schema, the hole, and the findings: objects with their levels and rules.
type Hole = (&'static str, &'static str, &'static [&'static str]);

const TABLES: [Hole; 14] = [
    (
        "",
        "CREATE TABLE t (id int, owner name, note text); GRANT SELECT ON t TO PUBLIC",
        &["t error row"],
    ),
    (
        TABLE,
        "CREATE POLICY own ON t USING (owner = current_user OR note IS NOT NULL)",
        &["t error row"],
    ),
    (
        TABLE,
        "CREATE POLICY own ON t USING (owner <> '')",
        &["t error row"],
    ),
    (
        TABLE,
        "CREATE POLICY own ON t USING (current_user LIKE '%')",
        &["t error row"],
    ),
    (
        TABLE,
        "CREATE POLICY own ON t USING (owner LIKE left(current_user, 20) || '%')",
        &["t error row"],
    ),
    (
        SOUND,
        "ALTER TABLE t DISABLE ROW LEVEL SECURITY",
        &["t error row"],
    ),
    (
        SOUND,
        "CREATE POLICY all_rows ON t USING (true)",
        &["t error policy-true", "t error row"],
    ),
    (
        SOUND,
        "CREATE POLICY all_rows ON t FOR SELECT TO \"ONE\" USING (true)",
        &["t error policy-true", "t error row"],
    ),
    (
        SOUND,
        "CREATE POLICY old ON t USING (id > 0)",
        &["t error row"],
    ),
    (
        SOUND,
        "ALTER TABLE t OWNER TO \"ONE\"",
        &["t error row", "t warning policy-force"],
    ),
    (
        "",
        "CREATE TABLE t (id int, owner name, note text); GRANT SELECT (note) ON t TO PUBLIC",
        &["t error value"],
    ),
    (
        "",
        "CREATE TABLE t (id int, owner name, note text); GRANT SELECT (id) ON t TO PUBLIC",
        &["t error value"],
    ),
    (
        "",
        "CREATE TABLE t (owner name, day int) PARTITION BY RANGE (day);
        CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (9000);
        ALTER TABLE t ENABLE ROW LEVEL SECURITY; GRANT SELECT ON t, t_1 TO PUBLIC;
        CREATE POLICY own ON t USING (owner = current_user)",
        &["t_1 error row"],
    ),
    (
        "",
        "CREATE TABLE member (org int, login name); GRANT SELECT ON member TO PUBLIC;
        CREATE TABLE t (org int, note text); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
        GRANT SELECT ON t TO PUBLIC;
        CREATE POLICY own ON t USING (org IN (SELECT org FROM member))",
        &["member error row", "t error row"],
    ),
];

const VIEWS: [Hole; 13] = [
    (SOUND, "CREATE VIEW v AS SELECT * FROM t; GRANT SELECT ON v TO PUBLIC",
        &["v error row", "v warning policy-view"]),
    (SOUND, "CREATE VIEW v AS SELECT upper(note) FROM t; GRANT SELECT ON v TO PUBLIC",
        &["v error row", "v warning policy-view"]),
    (SOUND, "CREATE VIEW v AS SELECT reverse(note) FROM t; GRANT SELECT ON v TO PUBLIC",
        &["v error row", "v warning policy-view"]),
    (SOUND, "CREATE VIEW v AS SELECT encode(note::bytea, 'hex') FROM t; GRANT SELECT ON v TO PUBLIC",
        &["v error row", "v warning policy-view"]),
    (SOUND, "CREATE VIEW v AS SELECT encode(note::bytea, 'base64') FROM t; GRANT SELECT ON v TO PUBLIC",
        &["v error row", "v warning policy-view"]),
    (SOUND, "CREATE VIEW v AS SELECT jsonb_agg(t) FROM t; GRANT SELECT ON v TO PUBLIC",
        &["v error row", "v warning policy-view"]),
    (SOUND, "CREATE VIEW v AS SELECT count(*) FROM t; GRANT SELECT ON v TO PUBLIC",
        &["v error count", "v warning policy-view"]),
    (SOUND, "CREATE VIEW v AS SELECT max(id) > 2500 AS late FROM t; GRANT SELECT ON v TO PUBLIC",
        &["v error count", "v warning policy-view"]),
    (SOUND, "CREATE MATERIALIZED VIEW m AS SELECT * FROM t; GRANT SELECT ON m TO PUBLIC",
        &["m error row", "m warning policy-stored"]),
    (SOUND, "CREATE MATERIALIZED VIEW m AS SELECT owner, count(*) FROM t GROUP BY 1;
        GRANT SELECT ON m TO PUBLIC", &["m error count", "m warning policy-stored"]),
    ("", "CREATE TABLE t (id int, owner name, note text);
        CREATE VIEW v AS SELECT note FROM t WHERE owner <> current_user; GRANT SELECT ON v TO PUBLIC",
        &["v error row"]),
    ("", "CREATE TABLE t (id int, owner name, note text);
        CREATE FUNCTION is_own(o name) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RETURN o = current_user; END';
        CREATE VIEW v AS SELECT note FROM t WHERE is_own(owner);
        GRANT SELECT ON v TO PUBLIC", &["v error error-text"]),
    (SOUND, "CREATE VIEW v AS SELECT CASE WHEN count(*) > 9 THEN pg_sleep(0.06)::text ELSE '' END AS x FROM t;
        GRANT SELECT ON v TO PUBLIC", &["v note timing", "v warning policy-view"]),
];

const FUNCTIONS: [Hole; 13] = [
    (SOUND, "CREATE FUNCTION f() RETURNS SETOF t LANGUAGE sql SECURITY DEFINER AS 'SELECT * FROM SCHEMA.t'",
        &["f() error row", "f() warning policy-definer"]),
    (SOUND, "CREATE FUNCTION f() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM SCHEMA.t'",
        &["f() error count", "f() warning policy-definer"]),
    (SOUND, "CREATE FUNCTION f(i int) RETURNS text LANGUAGE sql SECURITY DEFINER
        AS 'SELECT note FROM SCHEMA.t WHERE id = i'", &["f(i integer) error row", "f(i integer) warning policy-definer"]),
    (SOUND, "CREATE FUNCTION f(w text) RETURNS bool LANGUAGE sql SECURITY DEFINER
        AS 'SELECT EXISTS (SELECT FROM SCHEMA.t WHERE id = 2006 AND w IS NOT NULL)'",
        &["f(w text) error count", "f(w text) warning policy-definer"]),
    (SOUND, "CREATE FUNCTION f(w text) RETURNS SETOF text LANGUAGE sql SECURITY DEFINER
        AS 'SELECT note FROM SCHEMA.t WHERE owner = w'", &["f(w text) error row", "f(w text) warning policy-definer"]),
    (SOUND, "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
        AS $$BEGIN RAISE EXCEPTION 'last: %', (SELECT max(note) FROM SCHEMA.t WHERE id > 2000); END$$",
        &["f() error error-text", "f() warning policy-definer"]),
    (SOUND, "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql SECURITY DEFINER
        AS $$BEGIN RETURN 1 / ((SELECT count(*) FROM SCHEMA.t) - 11); END$$",
        &["f() error error-text", "f() warning policy-definer"]),
    (SOUND, "CREATE FUNCTION f() RETURNS json LANGUAGE sql SECURITY DEFINER
        AS 'SELECT json_agg(t) FROM SCHEMA.t'", &["f() error row", "f() warning policy-definer"]),
    (SOUND, "CREATE FUNCTION f() RETURNS text LANGUAGE sql SECURITY DEFINER
        AS $$SELECT encode(string_agg(note, ',')::bytea, 'base64') FROM SCHEMA.t$$",
        &["f() error row", "f() warning policy-definer"]),
    (SOUND, "CREATE FUNCTION f() RETURNS text LANGUAGE sql SECURITY DEFINER
        AS 'SELECT md5(string_agg(note, '''' ORDER BY id)) FROM SCHEMA.t'",
        &["f() error count", "f() warning policy-definer"]),
    (SOUND, "CREATE FUNCTION f(q text) RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER
        AS $$BEGIN RETURN QUERY EXECUTE format('SELECT x::text FROM (%s) x', q); END$$",
        &["f(q text) error row", "f(q text) warning policy-definer", "f(q text) warning policy-function"]),
    (BY_SETTING, "CREATE FUNCTION f(who text) RETURNS SETOF t LANGUAGE plpgsql
        AS $$BEGIN EXECUTE format('SET LOCAL app.tenant = %L', who); RETURN QUERY SELECT * FROM SCHEMA.t; END$$",
        &["f(who text) error row", "f(who text) warning policy-function"]),
    (SOUND, "CREATE TABLE t_log (line text); GRANT SELECT ON t_log TO PUBLIC;
        CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql
        AS $$BEGIN INSERT INTO SCHEMA.t_log VALUES (new.note); RETURN new; END$$;
        CREATE TRIGGER keeps AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION kept()",
        &["t_log error row"]),
];

/// Puts each schema into a schema of PostgreSQL.
fn schemas<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let schema = |(number, (start, hole)): (usize, (&str, &str))| {
        let name = format!("s{number}");
        let text = format!(
            "CREATE SCHEMA {name}; GRANT USAGE ON SCHEMA {name} TO PUBLIC; SET search_path = {name};
             {start}; {hole};"
        );
        text.replace("SCHEMA.t", &format!("{name}.t"))
    };
    texts.into_iter().enumerate().map(schema).collect()
}

/// Returns the errors, warnings and times by schema.
fn found(lines: &str) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines.lines().filter_map(|it| it.strip_prefix("pg://shop/")) {
        let (place, rest) = line.split_once(": ").expect(line);
        let (schema, object) = place.split_once('/').expect(line);
        let object = object.split(" policy ").next().unwrap_or_default();
        let kind = rest.split(':').next().unwrap_or_default();
        if !kind.starts_with("note") || kind == "note timing" {
            found
                .entry(schema.to_owned())
                .or_default()
                .push(format!("{object} {kind}"));
        }
    }
    for list in found.values_mut() {
        list.sort();
    }
    found
}

/// Asserts that each hole is found by its rule, and nothing else is found.
fn assert_found(holes: &[Hole]) {
    let texts = holes.iter().map(|(start, hole, _)| (*start, *hole));
    let shop = Shop::new(&schemas(texts));
    let ran = shop.prove(&[]);
    let mut found = found(&ran.stdout);
    let mut wrong = Vec::new();
    for (number, (_, hole, expected)) in holes.iter().enumerate() {
        let found = found.remove(&format!("s{number}")).unwrap_or_default();
        if found != *expected {
            wrong.push(format!("{hole}\n  {found:?}\n  instead of {expected:?}"));
        }
    }
    // A role that owns a table cannot be dropped.
    shop.run("REASSIGN OWNED BY \"ONE\" TO CURRENT_USER");
    let text = format!("{}\n{}", ran.stdout, ran.stderr);
    assert!(wrong.is_empty(), "{}\n{text}", wrong.join("\n"));
    assert!(found.is_empty(), "{found:?}\n{text}");
    assert_eq!(ran.code, Some(3), "{text}");
    assert_eq!(shop.bytes(), 0, "rows were left");
}

#[test]
fn holes_of_tables_are_found_by_their_rules() {
    assert_found(&TABLES);
}

#[test]
fn holes_of_views_are_found_by_their_rules() {
    assert_found(&VIEWS);
}

#[test]
fn holes_of_functions_are_found_by_their_rules() {
    assert_found(&FUNCTIONS);
}

#[test]
fn sound_schemas_have_notes_alone_and_two_runs_are_equal() {
    let grants: Vec<_> = (0..SOUND_SCHEMAS.len())
        .map(|number| format!("GRANT SELECT ON ALL TABLES IN SCHEMA s{number} TO PUBLIC"))
        .collect();
    let texts = SOUND_SCHEMAS.iter().zip(&grants);
    let shop = Shop::new(&schemas(texts.map(|(schema, grant)| (*schema, &**grant))));
    let sarif = ["one.sarif", "two.sarif"].map(|name| shop.home.file(name));
    let [one, two] = sarif
        .each_ref()
        .map(|path| shop.prove(&["-sarif", path.to_str().expect("text")]));
    assert!(
        found(&one.stdout).is_empty(),
        "{}{}",
        one.stdout,
        one.stderr
    );
    assert_eq!(one.code, Some(0), "{}{}", one.stdout, one.stderr);
    assert_eq!(one.stdout, two.stdout);
    let texts = sarif.map(|path| std::fs::read_to_string(path).expect("written"));
    assert_eq!(texts[0], texts[1]);
    shop.run("REASSIGN OWNED BY \"OUTER\" TO CURRENT_USER");
}
