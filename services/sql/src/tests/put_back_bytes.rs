use super::*;

fn put_back_bytes(text: &str) -> usize {
    let mut lexer = Lexer::new(text);
    lexer.by_ref().for_each(drop);
    lexer.put_back_bytes()
}

#[test]
fn what_stands_between_blanks_is_read_once() {
    for text in [
        "SELECT a + b - c * d / e = f FROM t WHERE g < 1 /* so */ -- ---------------",
        "SELECT 1\n-----------------\n--=============\n",
        "SELECT '/**//**/+++', \"/**/+++\", $$/**/+++$$",
        "/* /* /* */ */ */ SELECT 1",
        "/* ------------------------- */",
    ] {
        assert_eq!(put_back_bytes(text), 0, "{text}");
    }
}

#[test]
fn a_run_is_read_again_for_each_comment_and_operator_in_it() {
    for (text, bytes) in [
        ("a <= b", 1),
        ("/**/", 2),
        ("/**//**/", 6 + 2),
        ("/*/**/*/", 6 + 4),
        ("+++", 2 + 1),
        ("+/**/", 4 + 2),
        ("/*****************/", 17),
    ] {
        assert_eq!(put_back_bytes(text), bytes, "{text}");
    }
}

#[test]
fn a_text_that_postgresql_would_read_without_end_is_refused() {
    let texts = [
        "SELECT 1".to_owned() + &"/**/".repeat(40_000),
        "/*".repeat(40_000) + &"*/".repeat(40_000) + " SELECT 1",
        "SELECT 1".to_owned() + &"/**/+".repeat(40_000) + "1",
        "SELECT ".to_owned() + &"+".repeat(40_000) + "1",
        "SELECT ".to_owned() + &"+-".repeat(40_000) + "1",
        "SELECT 1 ".to_owned() + &("/**/".repeat(250) + " ").repeat(10_000),
        "/*".repeat(40_000),
    ];
    for text in texts {
        for policy in [Policy::read_only(), Policy::writable(), open()] {
            let start = &text[..40];
            assert_eq!(policy.check(&text), Err(Refusal::Operators), "{start}");
        }
    }
}

#[test]
fn a_long_text_of_ordinary_comments_and_operators_is_sent() {
    let texts = [
        "SELECT 1".to_owned() + &"/**/".repeat(1_000),
        "SELECT 1".to_owned() + &"/**/ ".repeat(2_000_000),
        "SELECT 1".to_owned() + &"/* a <= b */ + 2 <= 3".repeat(500_000),
        "/* ".repeat(1_000_000) + &"*/ ".repeat(1_000_000) + "SELECT 1",
        format!("/*{}*/ SELECT 1", "=".repeat(10_000_000)),
        format!("/*{}*/ SELECT 1", "*".repeat(10_000_000)),
        format!("--{}\nSELECT 1", "-".repeat(10_000_000)),
        format!("SELECT '{}'", "/**/".repeat(2_500_000)),
    ];
    for text in texts {
        assert_eq!(
            Policy::read_only().check(&text).map(drop),
            Ok(()),
            "{}",
            &text[..40]
        );
    }
}
