use crate::{Refusal, keep_identity};

const SETTING: &str = "changing that setting";

fn check(text: &str) -> Result<(), Refusal> {
    keep_identity(text, |name| name.eq_ignore_ascii_case("app.tenant"))
}

#[test]
fn another_role_or_setting_is_refused_in_every_spelling() {
    let refused = [
        ("SET ROLE other", "SET ROLE"),
        ("set local role none", "SET ROLE"),
        ("SET SESSION ROLE other", "SET ROLE"),
        ("SET /* a */ \"Role\" = 'other'", "SET ROLE"),
        (r#"SET U&"\0072ole" TO other"#, "SET ROLE"),
        (r#"SET u&"r\+00006Fle" TO other"#, "SET ROLE"),
        ("RESET ROLE", "SET ROLE"),
        ("SELECT 1; RESET ROLE", "SET ROLE"),
        (";;RESET role;", "SET ROLE"),
        (
            "SET SESSION AUTHORIZATION other",
            "SET SESSION AUTHORIZATION",
        ),
        (
            "SET LOCAL SESSION AUTHORIZATION DEFAULT",
            "SET SESSION AUTHORIZATION",
        ),
        (
            "SET SESSION SESSION AUTHORIZATION other",
            "SET SESSION AUTHORIZATION",
        ),
        ("RESET SESSION AUTHORIZATION", "SET SESSION AUTHORIZATION"),
        ("SET session_authorization = other", SETTING),
        ("RESET ALL", "RESET ALL"),
        ("SET app.tenant = '7'", SETTING),
        ("SET LOCAL APP . \"TENANT\" TO '7'", SETTING),
        ("SET SESSION \"app.tenant\" TO '7'", SETTING),
        (r#"SET U&"app\002Etenant" TO '7'"#, SETTING),
        ("SET app.tenant FROM CURRENT", SETTING),
        ("RESET app.tenant", SETTING),
        ("SET standard_conforming_strings = off", SETTING),
        ("SET client_encoding = 'SJIS'", SETTING),
        ("SET NAMES 'SJIS'", SETTING),
        ("DISCARD ALL", "DISCARD"),
        ("SELECT set_config('role', 'other', true)", "set_config"),
        (
            "SELECT pg_catalog.\"set_config\"('role', 'other', true)",
            "set_config",
        ),
        (
            r#"SELECT u&"set\005fconfig"('role', 'other', true)"#,
            "set_config",
        ),
        ("SELECT ('role'::text).set_config", "set_config"),
        (
            "UPDATE pg_settings SET setting = 'x' WHERE name = 'role'",
            "UPDATE of pg_settings",
        ),
        (
            "WITH x AS (UPDATE ONLY \"pg_catalog\".\"pg_settings\" SET setting = '') SELECT 1",
            "UPDATE of pg_settings",
        ),
    ];
    for (text, what) in refused {
        assert_eq!(check(text), Err(Refusal::Identity(what)), "{text}");
    }
}

#[test]
fn the_end_of_the_transaction_and_hidden_code_are_refused() {
    let refused = [
        ("BEGIN", "BEGIN"),
        ("START TRANSACTION", "START"),
        ("SELECT 1; COMMIT; SELECT 2", "COMMIT"),
        ("end", "END"),
        ("ROLLBACK TO a", "ROLLBACK"),
        ("ABORT", "ABORT"),
        ("SAVEPOINT a", "SAVEPOINT"),
        ("RELEASE a", "RELEASE"),
        ("DO $$ BEGIN END $$", "DO"),
        ("CALL p()", "CALL"),
        ("PREPARE p AS SELECT 1", "PREPARE"),
        ("EXECUTE p", "EXECUTE"),
        (
            "SELECT query_to_xml('SET ROLE x', true, true, '')",
            "query_to_xml",
        ),
        ("SELECT public.ts_stat ('SELECT 1')", "ts_stat"),
        ("SELECT ('a'::text).crosstab", "crosstab"),
    ];
    for (text, what) in refused {
        assert_eq!(check(text), Err(Refusal::Identity(what)), "{text}");
    }
    let objects = [
        "CREATE OR REPLACE FUNCTION",
        "CREATE PROCEDURE",
        "CREATE AGGREGATE",
        "CREATE OPERATOR CLASS",
        "CREATE CAST (a AS b) WITH INOUT",
        "CREATE OR REPLACE RULE",
        "CREATE OR REPLACE CONSTRAINT TRIGGER",
        "CREATE EVENT TRIGGER",
        "CREATE EXTENSION",
        "CREATE TRUSTED PROCEDURAL LANGUAGE",
        "CREATE ROLE",
        "CREATE USER",
        "CREATE DATABASE",
        "ALTER ROUTINE",
        "ALTER FUNCTION",
        "ALTER /* */ ROLE ALL SET",
        "ALTER GROUP",
        "alter system set role",
        "CREATE SCHEMA a CREATE TABLE b (c int) CREATE TRIGGER",
        "SELECT 1; CREATE FUNCTION",
    ];
    for text in objects {
        let refusal = check(&format!("{text} x")).expect_err(text);
        assert!(matches!(refusal, Refusal::Identity(_)), "{text}: {refusal}");
    }
}

#[test]
fn honest_texts_pass() {
    let texts = [
        "SELECT current_setting('app.tenant'), 'set_config(1)', $$SET ROLE x$$ -- RESET ROLE",
        "SELECT role, \"session_authorization\" FROM set_of_roles WHERE begin < 1 AND do = 2",
        "SET search_path = app, tenant",
        "SET LOCAL search_path TO role",
        "SET app.other = 'tenant'",
        "SET LOCAL TIME ZONE 'UTC'",
        "SET TRANSACTION READ ONLY",
        "RESET search_path",
        "UPDATE role SET tenant = 1",
        "SELECT * FROM pg_settings",
        "CREATE TABLE role (function int, \"user\" text)",
        "CREATE TABLE IF NOT EXISTS a.trigger AS SELECT 1",
        "CREATE UNIQUE INDEX trigger ON t (language)",
        "CREATE TEMP VIEW rule AS SELECT 1",
        "CREATE SCHEMA a CREATE TABLE b (c int) CREATE VIEW role AS SELECT 1",
        "ALTER TABLE t ENABLE TRIGGER ALL",
        "INSERT INTO t VALUES (1); DELETE FROM t",
        "EXPLAIN SELECT 1",
        "",
    ];
    for text in texts {
        assert_eq!(check(text), Ok(()), "{text}");
    }
}
