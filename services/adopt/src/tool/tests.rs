use super::{statement::*, *};

fn rewritten(statement: &str, casts: &[Option<&str>]) -> Result<String, Unfit> {
    let names = ["a", "b_2", "c"];
    let placeholders = Placeholders {
        names: names[..casts.len()].to_vec(),
        casts: casts.to_vec(),
        identifiers: vec!["sort"],
    };
    rewrite(statement, &placeholders).map(|(text, _)| text)
}

#[test]
fn numbers_become_names_outside_of_strings_and_comments() {
    let none = [None, None];
    for (statement, expected) in [
        ("SELECT $1, $2;", "SELECT :a, :b_2"),
        (
            "SELECT '$1', \"$1\", $$ $1 $$, $x$ $2 $x$ -- $1\n, /* $1 /* $2 */ */ $1",
            "SELECT '$1', \"$1\", $$ $1 $$, $x$ $2 $x$ -- $1\n, /* $1 /* $2 */ */ :a",
        ),
        (
            "SELECT a[1:$1], a[$1:n], b[lo:hi]",
            "SELECT a[1: :a], a[:a: n], b[lo: hi]",
        ),
        (
            "SELECT x::date, $1::date, f(x := $2)",
            "SELECT x::date, :a::date, f(x := :b_2)",
        ),
        ("SELECT a$1, 10, $2+1", "SELECT a$1, 10, :b_2+1"),
        ("SELECT :\"sort\", $1", "SELECT :\"sort\", :a"),
    ] {
        assert_eq!(
            rewritten(statement, &none).as_deref(),
            Ok(expected),
            "{statement}"
        );
    }
    assert_eq!(rewritten("SELECT $3", &none), Err(Unfit::Undeclared(3)));
    assert_eq!(rewritten("SELECT $0", &none), Err(Unfit::Undeclared(0)));
    assert_eq!(rewritten("SELECT '$1", &none), Err(Unfit::Unclosed));
}

#[test]
fn a_cast_is_written_unless_one_follows() {
    let casts = [Some("order_status"), Some("integer[]")];
    for (statement, expected) in [
        ("SELECT $1", "SELECT :a::order_status"),
        ("SELECT $1 ::text", "SELECT :a ::text"),
        ("SELECT $2[1]", "SELECT (:b_2::integer[])[1]"),
    ] {
        assert_eq!(
            rewritten(statement, &casts).as_deref(),
            Ok(expected),
            "{statement}"
        );
    }
}

#[test]
fn a_statement_writes_by_its_words_or_by_the_guard() {
    for (statement, expected) in [
        ("SELECT 1;", Ok(false)),
        ("EXPLAIN SELECT 1", Ok(false)),
        ("INSERT INTO t VALUES (1)", Ok(true)),
        (
            "WITH x AS (DELETE FROM t RETURNING id) SELECT * FROM x",
            Ok(true),
        ),
        ("CALL p()", Ok(true)),
        ("SELECT 1; SELECT 2", Err(Unfit::Several)),
    ] {
        assert_eq!(writes(statement), expected, "{statement}");
    }
    assert!(matches!(
        writes("SELECT pg_read_file('x')"),
        Err(Unfit::Refused(_))
    ));
}

#[test]
fn a_limit_of_its_own_counts_if_it_is_the_last_one_and_not_above_ours() {
    for (statement, expected) in [
        ("SELECT 1 LIMIT 10", true),
        ("SELECT 1 limit 100;", true),
        ("SELECT 1 LIMIT 1000", false),
        ("SELECT 1 LIMIT $1", false),
        ("SELECT * FROM (SELECT 1 LIMIT 5) x", false),
        ("SELECT 'LIMIT 5'", false),
    ] {
        assert_eq!(limits_itself(statement), expected, "{statement}");
    }
}
