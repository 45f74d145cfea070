use proptest::prelude::*;

use super::{
    Refusal::{Forbidden, Several, Transaction},
    *,
};

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
    let names = ["\"a;b\"", "\"it\"\"s;\"", "U&\"d\\0061t;\""];
    for text in names {
        assert!(
            matches!(tokens(text)[..], [Token::Quoted(_)]),
            "{text}: {:?}",
            tokens(text)
        );
    }
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
fn what_has_no_end_is_said_to_have_none() {
    for text in [
        "'a", "E'a\\'", "\"a", "$$a$", "$a$ $b$", "/* /* */", "U&'", "'''",
    ] {
        assert_eq!(tokens(text).last(), Some(&Token::Unclosed), "{text}");
    }
}

#[test]
fn a_sketch_sees_what_stands_outside_of_parentheses() {
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
        let sketch = Sketch::new(text);
        assert_eq!(sketch.first_word(), first, "{text}");
        assert_eq!(sketch.is_query(), is_query, "{text}");
        assert_eq!(sketch.limits_itself(), limits, "{text}");
        assert_eq!(sketch.offsets_itself(), offsets, "{text}");
    }
}

#[test]
fn a_sketch_names_the_command() {
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
        assert_eq!(Sketch::new(text).command(), command, "{text}");
    }
}

#[test]
fn the_guard_lets_pass_what_the_server_judges() {
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
        "EXPLAIN SELECT 1",
        "EXPLAIN INSERT INTO t VALUES (1)",
        "PREPARE a AS SELECT 1",
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
fn the_guard_refuses_what_reaches_beyond_its_transaction() {
    for &(text, refusal) in REFUSED {
        assert_eq!(guard(text), Err(refusal), "{text}");
        assert!(
            refusal.to_string().starts_with("query rejected: "),
            "{text}"
        );
    }
}

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
    ("COPY t TO PROGRAM 'sh'", Forbidden("COPY PROGRAM")),
    (
        "EXPLAIN (ANALYZE) CREATE TABLE t AS SELECT 1",
        Forbidden("EXPLAIN of a statement that creates a table"),
    ),
    (
        "EXPLAIN ANALYZE SELECT 1 INTO t",
        Forbidden("EXPLAIN of a statement that creates a table"),
    ),
    ("SELECT dblink('a', 'b')", Forbidden("dblink")),
    ("SELECT dblink_exec ('a')", Forbidden("dblink")),
    (
        "SELECT pg_catalog.set_config('a', 'b', false)",
        Forbidden("set_config"),
    ),
    (
        "SELECT \"set_config\" ('a', 'b', false)",
        Forbidden("set_config"),
    ),
    (
        "SELECT SET_CONFIG--\n('a', 'b', false)",
        Forbidden("set_config"),
    ),
    ("SELECT lo_export(1, 'a')", Forbidden("lo_export")),
    (
        "SELECT pg_file_write('a', 'b', true)",
        Forbidden("pg_file_write"),
    ),
    ("SELECT pg_file_unlink('a')", Forbidden("pg_file_unlink")),
    (
        "SELECT pg_file_rename('a', 'b')",
        Forbidden("pg_file_rename"),
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

/// Texts that are one token each, and what they hide.
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
        let _ = (Sketch::new(&text).command(), guard(&text));
    }

    #[test]
    fn any_soup_of_quotes_is_read_to_its_end(text in "[EeUu&xa1é$'\"/*;\\\\ \n-]*") {
        prop_assert!(Lexer::new(&text).count() <= text.len());
        let _ = (Sketch::new(&text), guard(&text));
    }

    #[test]
    fn what_is_quoted_is_one_token(quoted in hidden()) {
        let text = format!("SELECT {quoted} , 1");
        let found = tokens(&text);
        prop_assert_eq!(found.len(), 4, "{}: {:?}", text, found);
        prop_assert!(!Sketch::new(&text).is_several());
    }

    #[test]
    fn statements_are_told_apart_whatever_is_quoted_in_them(
        quoted in proptest::collection::vec(hidden(), 1..5),
    ) {
        let text: Vec<String> = quoted.iter().map(|quoted| format!("SELECT {quoted}")).collect();
        let text = text.join(" ;-- ;\n");
        prop_assert_eq!(Sketch::new(&text).is_several(), quoted.len() > 1);
        prop_assert_eq!(guard(&text).is_err(), quoted.len() > 1);
    }

    #[test]
    fn a_comment_changes_nothing(
        comment in "[a-z;'\"$ *-]{0,12}",
        text in "SELECT 'a;b', \"c\", [$]x[$];[$]x[$] FROM t LIMIT 1",
    ) {
        let commented = text.replace(' ', &format!("/*{}*/ ", comment.replace("*/", "")));
        // The end of the comment may not be what its last star makes of it.
        prop_assume!(!comment.ends_with('*') && !comment.contains("/*"));
        prop_assert_eq!(tokens(&commented), tokens(&text));
    }
}
