mod identity;
mod pairs;
mod planned;
mod put_back_bytes;

use proptest::prelude::*;

use super::{
    Refusal::{Forbidden, Several, Transaction},
    *,
};

const fn dangerous(call: &'static str, danger: Danger) -> Refusal {
    Refusal::Dangerous { call, danger }
}

const CREATES: Refusal = Forbidden("EXPLAIN of a statement that creates a table");
const SETTING: Refusal = Forbidden("changing that setting");

fn guard(text: &str) -> Result<(), Refusal> {
    Policy::read_only().check(text).map(drop)
}

/// Returns the policy that refuses least.
fn open() -> Policy {
    Policy::writable().with_dangerous_functions(true)
}

fn shape(text: &str) -> StatementShape<'_> {
    open().check(text).expect(text)
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    Lexer::new(text).collect()
}

#[test]
fn quoted_things_hide_what_is_in_them() {
    let hidden = [
        "'a;b'",
        "'it''s; fine'",
        r"'back\'",
        r"E'back\';slash'",
        r"e'\\'",
        "E'first'\n 'goes \\' on; here'",
        "E'first' -- why not\n '\\';'",
        "U&'d\\0061t;'",
        "N'national;'",
        "B'01'",
        "x'ff;'",
        "$$;$$",
        "$tag$ ; $$ ; $tag$",
        "$überschrift$;$überschrift$",
    ];
    for text in hidden {
        assert_eq!(tokens(text), [Token::Literal], "{text}");
    }
    assert_eq!(tokens("\"a;b\""), [Token::Quoted("a;b")]);
    assert_eq!(tokens("\"it\"\"s;\""), [Token::Quoted("it\"\"s;")]);
    assert_eq!(tokens(r#"u&"d\0061t;""#), [Token::Escaped(r"d\0061t;")]);
    let comments = [
        "-- ;",
        "/* ; */",
        "/* /* ; */ ; */",
        "-- a\r\n-- b",
        " \t\u{b}\u{c}",
    ];
    for text in comments {
        assert_eq!(tokens(text), [], "{text}");
    }
}

#[test]
fn what_looks_quoted_and_is_not_hides_nothing() {
    let semicolon = Token::Symbol(b';');
    let cases = [
        (
            "a$$;$$",
            vec![Token::Word("a$$"), semicolon, Token::Unclosed],
        ),
        ("a$b$;", vec![Token::Word("a$b$"), semicolon]),
        ("$1;", vec![Token::Number, semicolon]),
        (
            "$a;",
            vec![Token::Symbol(b'$'), Token::Word("a"), semicolon],
        ),
        (r"'back\';", vec![Token::Literal, semicolon]),
        (r"U&'back\';", vec![Token::Literal, semicolon]),
        ("'a' 'b';", vec![Token::Literal, Token::Literal, semicolon]),
        ("1e5;", vec![Token::Number, semicolon]),
        ("1.5E-5;", vec![Token::Number, semicolon]),
        ("0xFFe;", vec![Token::Number, semicolon]),
        ("1_000;", vec![Token::Number, semicolon]),
        (
            "1INTO q",
            vec![Token::Number, Token::Word("INTO"), Token::Word("q")],
        ),
        ("1e;", vec![Token::Number, Token::Word("e"), semicolon]),
        (
            "*/;",
            vec![Token::Symbol(b'*'), Token::Symbol(b'/'), semicolon],
        ),
        ("été;", vec![Token::Word("été"), semicolon]),
    ];
    for (text, expected) in cases {
        assert_eq!(tokens(text), expected, "{text}");
    }
}

#[test]
fn what_has_no_end_is_reported_as_unclosed() {
    for text in [
        "'a", "E'a\\'", "\"a", "$$a$", "$a$ $b$", "/* /* */", "U&'", "'''",
    ] {
        assert_eq!(tokens(text).last(), Some(&Token::Unclosed), "{text}");
    }
}

#[test]
fn the_shape_of_a_statement_has_what_stands_outside_of_parentheses() {
    // text, first word, is a query, limits itself, has an offset of its own
    let cases = [
        ("select 1", Some("select"), true, false, false),
        ("((SELECT 1) LIMIT 1)", Some("SELECT"), true, false, false),
        ("(SELECT 1) LIMIT 1", Some("SELECT"), true, true, false),
        (
            "SELECT * FROM (SELECT 1 LIMIT 1) t",
            Some("SELECT"),
            true,
            false,
            false,
        ),
        (
            "SELECT 'LIMIT 1' AS \"OFFSET\" -- LIMIT",
            Some("SELECT"),
            true,
            false,
            false,
        ),
        (
            "VALUES (1) offset 1 fetch first row only",
            Some("VALUES"),
            true,
            true,
            true,
        ),
        ("TABLE t OFFSET 2", Some("TABLE"), true, false, true),
        (
            "/* a */ WITH x AS (SELECT 1) TABLE x",
            Some("WITH"),
            true,
            false,
            false,
        ),
        ("SHOW all", Some("SHOW"), false, false, false),
        ("  -- nothing", None, false, false, false),
    ];
    for (text, first, is_query, limits, offsets) in cases {
        let shape = shape(text);
        assert_eq!(shape.first, first, "{text}");
        assert_eq!(shape.is_query(), is_query, "{text}");
        assert_eq!(shape.bounds().limits, limits, "{text}");
        assert_eq!(shape.bounds().offsets, offsets, "{text}");
    }
}

#[test]
fn a_limit_is_added_only_to_a_complete_query_without_one() {
    let cases = [
        ("SELECT 1", true),
        ("SELECT (1) -- )", true),
        ("WITH x AS (SELECT 1 LIMIT 1) TABLE x", true),
        ("SELECT ')' UNION (SELECT 2 OFFSET 1)", true),
        ("SELECT 1 LIMIT 1", false),
        ("SELECT 1 OFFSET 1", false),
        ("SELECT 1 FETCH FIRST ROW ONLY", false),
        ("(SELECT 1 LIMIT 1)", false),
        ("SELECT 1) UNION (SELECT 2", false),
        ("SELECT (1", false),
        ("SHOW all", false),
        ("", false),
    ];
    for (text, takes) in cases {
        assert_eq!(shape(text).takes_a_limit(), takes, "{text}");
    }
}

#[test]
fn a_query_with_bounds_of_its_own_takes_another_limit_around_it() {
    let cases = [
        ("SELECT 1 LIMIT 1", true),
        ("(SELECT 1) OFFSET 1", true),
        ("WITH x AS (SELECT 1) TABLE x FETCH FIRST ROW ONLY", true),
        ("SELECT 1", false),
        ("SELECT 1) UNION (SELECT 2) LIMIT 1", false),
        ("SELECT (1 LIMIT 1", false),
        ("SHOW all LIMIT 1", false),
    ];
    for (text, takes) in cases {
        assert_eq!(shape(text).takes_another_limit(), takes, "{text}");
    }
}

#[test]
fn the_shape_of_a_statement_names_the_command() {
    let cases = [
        ("insert into t values (1)", "INSERT"),
        ("WITH a AS (SELECT 1) DELETE FROM t", "DELETE"),
        ("CREATE TABLE t (a int)", "CREATE TABLE"),
        ("create or replace temp view v AS SELECT 1", "CREATE VIEW"),
        ("CREATE UNIQUE INDEX ON t (a)", "CREATE INDEX"),
        (
            "CREATE MATERIALIZED VIEW v AS SELECT 1",
            "CREATE MATERIALIZED VIEW",
        ),
        ("REFRESH MATERIALIZED VIEW v", "REFRESH MATERIALIZED VIEW"),
        ("TRUNCATE t", "TRUNCATE TABLE"),
        ("DROP TABLE t", "DROP TABLE"),
        ("SET a = 1", "SET"),
        ("", ""),
    ];
    for (text, command) in cases {
        assert_eq!(shape(text).command(), command, "{text}");
    }
}

#[test]
fn a_statement_that_is_not_clearly_read_only_may_write() {
    for (text, expected) in [
        ("SELECT 1", true),
        ("  (select 1);", true),
        ("WITH a AS (SELECT 1) TABLE a", true),
        ("VALUES (1)", true),
        ("EXPLAIN ANALYZE SELECT 1", true),
        ("SHOW search_path", true),
        ("SELECT 'DELETE'", true),
        ("EXPLAIN ANALYZE DELETE FROM t", false),
        ("WITH a AS (DELETE FROM t RETURNING 1) SELECT 1", false),
        ("SELECT 1 INTO t", false),
        ("DELETE FROM t", false),
        ("CREATE TABLE t ()", false),
        ("CALL p()", false),
        ("SET search_path = a", false),
        ("SELECT 1; DROP TABLE t", false),
        ("", false),
    ] {
        assert_eq!(shape(text).only_reads(), expected, "{text}");
    }
}

#[test]
fn the_guard_lets_pass_what_the_server_decides() {
    let texts = [
        "SELECT 1",
        "SELECT 1;",
        "SELECT 1 ; ; -- the end",
        "INSERT INTO t VALUES (1)",
        "SELECT 'COMMIT; DROP TABLE t'",
        "SELECT $$set_config($$",
        "SELECT \"discard\" FROM t -- DISCARD",
        "SELECT set_config FROM t",
        "SELECT a AS \"set\", transaction_read_only FROM t",
        "SHOW transaction_read_only",
        "SET search_path = a",
        "SET LOCAL \"search_path\" TO a, b",
        "SET TIME ZONE 'UTC'",
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET hnsw.ef_search = 100",
        "SET my.variable = 'a'",
        "RESET search_path",
        "EXPLAIN SELECT 1",
        "EXPLAIN (ANALYZE, VERBOSE) SELECT 1",
        "EXPLAIN INSERT INTO t SELECT 1",
        "CREATE TABLE a AS SELECT 1",
        "SELECT 1 INTO a",
        "SELECT pg_read_file FROM t",
        "SELECT pg_relation_size('t'), pg_sleep(1)",
        "SELECT txid_current_if_assigned(), pg_current_xact_id_if_assigned()",
        "SELECT 'pg_authid', $$pg_shadow$$ FROM pg_roles, pg_stat_subscription -- pg_authid",
        "SELECT t.lock, t.notify, t.load FROM t",
        "SELECT set_config FROM t",
        "SELECT U&\"d\\0061t\" FROM t",
        "SELECT U&'d!0061t' UESCAPE '!'",
        "SELECT role, program FROM t",
        "WITH a AS (SELECT 1) SELECT commit FROM a",
        "ALTER TABLE t ADD COLUMN user_id int",
        "COPY t TO STDOUT",
    ];
    for text in texts {
        assert_eq!(guard(text), Ok(()), "{text}");
    }
}

#[test]
fn the_guard_refuses_what_has_effects_beyond_its_transaction() {
    for (text, refusal) in REFUSED {
        assert_eq!(guard(text), Err(refusal.clone()), "{text}");
        assert!(
            refusal.to_string().starts_with("query rejected: "),
            "{text}"
        );
    }
}

const READ_FILE: Refusal = dangerous("pg_read_file", Danger::Files);
const COPY_FILE: Refusal = dangerous("COPY with a file", Danger::Files);
const HASHES: Refusal = dangerous("pg_authid", Danger::Secrets);
const SET_CONFIG: Refusal = dangerous("set_config", Danger::Settings);

const REFUSED: &[(&str, Refusal)] = &[
    ("SELECT 1; SELECT 2", Several),
    ("SELECT a$$; DROP TABLE t; --$$", Several),
    (r"SELECT '\'; DROP TABLE t; --'", Several),
    ("SELECT 1 /* /* */; */; DROP TABLE t", Several),
    ("SELECT 1\0", Refusal::Nul),
    ("commit", Transaction("COMMIT")),
    ("/* a */ Begin", Transaction("BEGIN")),
    ("START TRANSACTION READ WRITE", Transaction("START")),
    ("END", Transaction("END")),
    ("ROLLBACK TO a", Transaction("ROLLBACK")),
    ("ABORT", Transaction("ABORT")),
    ("SAVEPOINT a", Transaction("SAVEPOINT")),
    ("RELEASE a", Transaction("RELEASE")),
    (
        "PREPARE TRANSACTION 'a'",
        Transaction("PREPARE TRANSACTION"),
    ),
    ("DO $$ BEGIN END $$", Forbidden("DO")),
    ("SET TRANSACTION READ WRITE", Forbidden("READ WRITE")),
    ("SET TRANSACTION READ/**/WRITE", Forbidden("READ WRITE")),
    (
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        Forbidden("SESSION CHARACTERISTICS"),
    ),
    (
        "SET SESSION AUTHORIZATION a",
        Forbidden("SESSION AUTHORIZATION"),
    ),
    ("RESET ALL", Forbidden("RESET ALL")),
    ("DISCARD ALL", Forbidden("DISCARD")),
    ("SET ROLE a", Forbidden("SET ROLE")),
    ("SET LOCAL ROLE a", Forbidden("SET ROLE")),
    ("SET session role a", Forbidden("SET ROLE")),
    ("ALTER ROLE a SUPERUSER", Forbidden("ROLE")),
    ("ALTER USER a SUPERUSER", Forbidden("USER")),
    ("ALTER DATABASE a RENAME TO b", Forbidden("DATABASE")),
    (
        "COPY t TO PROGRAM 'sh'",
        dangerous("COPY PROGRAM", Danger::Files),
    ),
    (
        "COPY (SELECT 1) TO /* */ program $$sh$$",
        dangerous("COPY PROGRAM", Danger::Files),
    ),
    ("COPY t FROM '/etc/passwd'", COPY_FILE),
    ("copy t (a) to E'/tmp/a' WITH CSV", COPY_FILE),
    ("COPY BINARY \"t\" TO $$/tmp/a$$", COPY_FILE),
    ("LOAD 'auto_explain'", dangerous("LOAD", Danger::Files)),
    ("NOTIFY a", Forbidden("NOTIFY")),
    ("LISTEN a", Forbidden("LISTEN")),
    ("LOCK t", Forbidden("LOCK")),
    ("CHECKPOINT", Forbidden("CHECKPOINT")),
    ("REINDEX TABLE t", Forbidden("REINDEX")),
    ("CLUSTER t USING i", Forbidden("CLUSTER")),
    ("ANALYZE", Forbidden("ANALYZE")),
    ("PREPARE a AS SELECT 1", Forbidden("PREPARE")),
    (
        "DECLARE a CURSOR WITH HOLD FOR SELECT 1",
        Forbidden("DECLARE"),
    ),
    ("EXPLAIN ANALYZE CREATE TABLE a AS SELECT 1", CREATES),
    (
        "EXPLAIN (ANALYZE) CREATE MATERIALIZED VIEW a AS SELECT 1",
        CREATES,
    ),
    ("EXPLAIN ANALYZE SELECT 1INTO a", CREATES),
    ("EXPLAIN ANALYZE SELECT 1 AS insert INTO a", CREATES),
    ("SET \"role\" TO a", SETTING),
    (r#"SET U&"\0072ole" TO a"#, SETTING),
    ("RESET ROLE", Forbidden("SET ROLE")),
    ("SET session_authorization TO a", SETTING),
    ("SET standard_conforming_strings = off", SETTING),
    ("SET NAMES 'SJIS'", SETTING),
    ("SET client_encoding TO 'SJIS'", SETTING),
    ("SET LOCAL statement_timeout = 0", SETTING),
    ("SET work_mem = '1TB'", SETTING),
    ("RESET standard_conforming_strings", SETTING),
    ("SET pgaudit.log = 'none'", SETTING),
    ("SET \"PgAudit\" . log = 'none'", SETTING),
    (
        r#"SET U&"transaction_read_onl\0079" = off"#,
        Forbidden("changing transaction_read_only"),
    ),
    (
        "SELECT dblink('a', 'b')",
        dangerous("dblink", Danger::Network),
    ),
    (
        "SELECT dblink_exec ('a')",
        dangerous("dblink*", Danger::Network),
    ),
    ("SELECT pg_catalog.set_config('a', 'b', false)", SET_CONFIG),
    ("SELECT \"set_config\" ('a', 'b', false)", SET_CONFIG),
    ("SELECT SET_CONFIG--\n('a', 'b', false)", SET_CONFIG),
    (
        r#"SELECT U&"set\005fconf\+000069g"('a', 'b', false)"#,
        SET_CONFIG,
    ),
    (
        "SELECT U&\"set!005fconfig\" UESCAPE '!' ('a', 'b', false)",
        Refusal::Escape,
    ),
    (
        "EXPLAIN ANALYZE SELECT set_config('a', 'b', false)",
        SET_CONFIG,
    ),
    ("VALUES (1), (set_config('a', 'b', false))", SET_CONFIG),
    (
        "SELECT pg_f\u{130}le_read('a')",
        dangerous("pg_file_*", Danger::Files),
    ),
    ("SELECT pg_read_file('a')", READ_FILE),
    ("SELECT ('a'::text).pg_read_file", READ_FILE),
    (
        "SELECT t.\"pg_read_file\" FROM unnest('{a}'::text[]) t",
        READ_FILE,
    ),
    ("SELECT * FROM ROWS FROM (pg_read_file('a'))", READ_FILE),
    (
        "SELECT * FROM pg_ls_waldir()",
        dangerous("pg_ls_*", Danger::Files),
    ),
    (
        "SELECT lo_export(1, 'a')",
        dangerous("lo_export", Danger::Files),
    ),
    (
        "SELECT pg_file_write('a', 'b', true)",
        dangerous("pg_file_*", Danger::Files),
    ),
    (
        "SELECT query_to_xml('SELECT 1', true, true, '')",
        dangerous("query_to_xml", Danger::Sql),
    ),
    (
        "SELECT ts_stat('SELECT 1')",
        dangerous("ts_stat", Danger::Sql),
    ),
    (
        "SELECT pg_terminate_backend(1)",
        dangerous("pg_terminate_backend", Danger::Sessions),
    ),
    (
        "SELECT pg_advisory_lock_shared(1)",
        dangerous("pg_advisory_lock*", Danger::Outlives),
    ),
    ("SELECT rolpassword FROM pg_authid", HASHES),
    ("TABLE pg_catalog . PG_AuthID", HASHES),
    ("SELECT * FROM \"pg_authid\"", HASHES),
    (r#"SELECT * FROM U&"pg\005fauthid""#, HASHES),
    (
        "WITH a AS (SELECT 1) SELECT a FROM pg_catalog./**/pg_authid a",
        HASHES,
    ),
    (
        "SELECT passwd FROM pg_shadow",
        dangerous("pg_shadow", Danger::Secrets),
    ),
    (
        "SELECT * FROM pg_hba_file_rules()",
        dangerous("pg_hba_file_rules", Danger::Secrets),
    ),
    (
        "SELECT pg_show_all_file_settings()",
        dangerous("pg_show_all_file_settings", Danger::Secrets),
    ),
    (
        "SELECT option_value FROM information_schema.user_mapping_options",
        dangerous("user_mapping_options", Danger::Secrets),
    ),
    (
        "SELECT table_to_xml('pg_authid', true, true, '')",
        dangerous("table_to_xml", Danger::Sql),
    ),
    (
        "SELECT txid_current()",
        dangerous("txid_current", Danger::Outlives),
    ),
    (
        "SELECT pg_current_xact_id()",
        dangerous("pg_current_xact_id", Danger::Outlives),
    ),
    (
        "SELECT pg_advisory_xact_lock(1)",
        dangerous("pg_advisory_xact_lock", Danger::Locks),
    ),
    (
        "SELECT pg_try_advisory_xact_lock_shared(1)",
        dangerous("pg_try_advisory_xact_lock*", Danger::Locks),
    ),
    (
        "SET transaction_read_only = off",
        Forbidden("changing transaction_read_only"),
    ),
    (
        "SET \"default_transaction_read_only\" TO off",
        Forbidden("changing transaction_read_only"),
    ),
    (
        "RESET default_transaction_read_only",
        Forbidden("changing transaction_read_only"),
    ),
];

#[test]
fn a_writer_may_do_nothing_beyond_the_database() {
    let policy = Policy::writable();
    let allowed = [
        "INSERT INTO t VALUES (1); SELECT 1",
        "BEGIN; COMMIT",
        "DO $$ BEGIN END $$",
        "SET ROLE a",
        "SELECT set_config('a', 'b', false), lo_creat(-1), pg_advisory_xact_lock(txid_current())",
        "EXPLAIN ANALYZE CREATE TABLE a AS SELECT 1",
        "PREPARE a AS SELECT 1",
        "VACUUM t",
    ];
    for text in allowed {
        assert_eq!(policy.check(text).map(drop), Ok(()), "{text}");
    }
    let refused = [
        "SELECT pg_read_file('a')",
        "SELECT 1; SELECT pg_read_file('a')",
        "SELECT 1; COPY t TO 'a'",
        "COPY t FROM PROGRAM 'a'",
        "LOAD 'a'",
        "SELECT dblink('a', 'b')",
        "SELECT pg_reload_conf()",
        "UPDATE pg_authid SET rolsuper = true",
        "SELECT 1\0",
    ];
    for text in refused {
        assert!(policy.check(text).is_err(), "{text}");
        let open = policy.with_dangerous_functions(true).check(text);
        assert_eq!(open.is_err(), text.contains('\0'), "{text}");
    }
}

#[test]
fn allowing_dangerous_functions_does_not_break_the_read_only_guarantee() {
    let policy = Policy::read_only().with_dangerous_functions(true);
    for text in ["SELECT pg_read_file('a')", "SELECT pg_reload_conf()"] {
        assert_eq!(policy.check(text).map(drop), Ok(()), "{text}");
    }
    let refused = [
        "SELECT set_config('a', 'b', false)",
        "SELECT dblink_exec('a')",
        "SELECT lo_export(1, 'a')",
        "SELECT pg_file_unlink('a')",
        "COPY t TO PROGRAM 'a'",
        "COMMIT",
        "SET ROLE a",
    ];
    for text in refused {
        assert!(policy.check(text).is_err(), "{text}");
    }
}

/// Texts that are one token each, with arbitrary content.
fn hidden() -> impl Strategy<Value = String> {
    let any = "[a-z;'\"$*/\\\\ \n-]{0,12}";
    prop_oneof![
        any.prop_map(|text: String| format!("'{}'", text.replace('\'', "''"))),
        any.prop_map(|text: String| {
            format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
        }),
        any.prop_map(|text: String| format!("\"{}\"", text.replace('"', "\"\""))),
        any.prop_map(|text: String| format!("$q1$ {text} $q1$")),
    ]
}

proptest! {
    #[test]
    fn any_text_is_read_to_its_end(text in ".*") {
        prop_assert!(Lexer::new(&text).count() <= text.len());
        let _ = (open().check(&text).map(|shape| shape.command()), guard(&text));
    }

    #[test]
    fn any_mix_of_quotes_is_read_to_its_end(text in "[EeUu&xa1é$'\"/*;\\\\ \n-]*") {
        prop_assert!(Lexer::new(&text).count() <= text.len());
        let _ = (open().check(&text), guard(&text));
    }

    #[test]
    fn what_is_quoted_is_one_token(quoted in hidden()) {
        let text = format!("SELECT {quoted} , 1");
        let found = tokens(&text);
        prop_assert_eq!(found.len(), 4, "{}: {:?}", text, found);
        prop_assert!(!shape(&text).is_several());
    }

    #[test]
    fn statements_are_separated_whatever_is_quoted_in_them(
        quoted in proptest::collection::vec(hidden(), 1..5),
    ) {
        let text: Vec<String> = quoted.iter().map(|quoted| format!("SELECT {quoted}")).collect();
        let text = text.join(" ;-- ;\n");
        prop_assert_eq!(shape(&text).is_several(), quoted.len() > 1);
        prop_assert_eq!(guard(&text).is_err(), quoted.len() > 1);
    }

    #[test]
    fn a_comment_changes_nothing(
        comment in "[a-z;'\"$ *-]{0,12}",
        text in "SELECT 'a;b', \"c\", [$]x[$];[$]x[$] FROM t LIMIT 1",
    ) {
        let commented = text.replace(' ', &format!("/*{}*/ ", comment.replace("*/", "")));
        // A star or slash at the end would change where the comment ends.
        prop_assume!(!comment.ends_with('*') && !comment.contains("/*"));
        prop_assert_eq!(tokens(&commented), tokens(&text));
    }
}
