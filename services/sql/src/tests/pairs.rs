use super::*;

/// Returns a text with a list of `count` pieces.
fn list(start: &str, piece: impl Fn(usize) -> String, between: &str, count: usize) -> String {
    let pieces: Vec<_> = (0..count).map(piece).collect();
    format!("{start}{}", pieces.join(between))
}

/// Lists with a cost that is quadratic in their length: the start, a piece, and the text between
/// the pieces.
const COMPARED: &[(&str, &str, &str)] = &[
    ("SELECT 1 FROM ", "pg_class a#", ","),
    ("SELECT 1 FROM ", "(SELECT 1) \"a#\"", ", "),
    ("SELECT 1 FROM a ", "NATURAL JOIN b#", " "),
    ("SELECT 1 FROM ((a ", "CROSS JOIN b#", " "),
    ("WITH ", "a# AS (SELECT 1)", ","),
    ("WITH \"x\" AS (SELECT 1), ", "\"a#\" AS (SELECT 1)", ","),
    ("SELECT 1 AS insert INTO x FROM a values (y), ", "b#", ","),
    ("SELECT 1 FROM t WINDOW ", "a# AS (ORDER BY b)", ","),
    ("SELECT 1 FROM t GROUP BY ", "a + #", ","),
    ("SELECT 1 FROM t GROUP BY (", "a + #", ","),
    ("SELECT 1 FROM t GROUP BY CUBE (", "a + #", ","),
    ("SELECT 1 FROM t ORDER BY ", "a + #", ","),
    ("SELECT 1 FROM t ORDER BY ", "t.select + #", ","),
    ("SELECT 1 FROM t ORDER BY ", "by + #", ","),
    ("SELECT 1 FROM t ORDER BY ", "values + #", ","),
    ("SELECT 1 FROM t ORDER BY ", "a IS DISTINCT FROM #", ","),
    (
        "SELECT 1 FROM t ORDER BY ",
        "a::timestamp with time zone + #",
        ",",
    ),
    ("SELECT DISTINCT ON (", "a + #", ","),
    ("SELECT count(*) OVER (PARTITION BY ", "a + #", ","),
    ("SELECT ARRAY[", "count(*) OVER (ORDER BY a + #)", ","),
    ("SELECT XMLELEMENT(NAME a, XMLATTRIBUTES(", "1 AS a#", ","),
    ("SELECT ", "*", ","),
    ("SELECT ", "t.*", ","),
];

#[test]
fn lists_that_postgresql_compares_without_end_are_refused() {
    for &(start, piece, between) in COMPARED {
        let piece = |n: usize| piece.replace('#', &n.to_string());
        let text = list(start, piece, between, 2_500);
        for policy in [Policy::read_only(), open()] {
            assert_eq!(policy.check(&text), Err(Refusal::Lists), "{}", &text[..60]);
        }
        let text = list(start, piece, between, 150);
        assert_eq!(guard(&text), Ok(()), "{text}");
    }
    let text = list("SELECT 1 WHERE ", |n| format!("a <> {n}"), " AND ", 200_000);
    assert_eq!(guard(&text), Err(Refusal::Lists));
}

#[test]
fn lists_of_values_may_have_any_length() {
    let many: &[(&str, &str, &str)] = &[
        ("INSERT INTO t VALUES ", "(#, 'a', now())", ","),
        ("WITH a AS (SELECT 1) INSERT INTO t VALUES ", "(#)", ","),
        ("WITH a AS (SELECT 1) VALUES ", "(#)", ","),
        ("SELECT 1 FROM t UNION ALL VALUES ", "(#)", ","),
        ("SELECT 1 FROM t WHERE a IN (", "#", ","),
        ("SELECT 1 FROM t ORDER BY ARRAY[", "#", ","),
        (
            "SELECT ARRAY[",
            "'2024-01-01'::timestamp with time zone",
            ",",
        ),
        ("", "SELECT a, b FROM t, u WHERE c = # AND d", " UNION ALL "),
        ("SELECT ", "a * # + b", ","),
        ("SELECT 1 WHERE ", "a = #", " OR "),
    ];
    for &(start, piece, between) in many {
        let piece = |n: usize| piece.replace('#', &n.to_string());
        let text = list(start, piece, between, 50_000);
        let policy = Policy::writable();
        assert_eq!(policy.check(&text).map(drop), Ok(()), "{}", &text[..60]);
    }
    // A table has 1,600 columns at most, and a result 1,664.
    let columns = |n: usize| format!("a{n} timestamp with time zone");
    let text = list("CREATE TABLE t (", columns, ",", 1_600);
    assert_eq!(Policy::writable().check(&text).map(drop), Ok(()));
    let script = "SELECT 1 FROM a, b, c ORDER BY d, e; ".repeat(50_000);
    assert_eq!(Policy::writable().check(&script).map(drop), Ok(()));
}
