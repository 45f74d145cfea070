//! Names as they are written in a statement.

use crate::quoted;

/// Words that name a table or column only in double quotes: the reserved words of PostgreSQL 14 to
/// 18, and those reserved for functions and types.
const RESERVED: &str = "all analyse analyze and any array as asc asymmetric authorization binary \
    both case cast check collate collation column concurrently constraint create cross \
    current_catalog current_date current_role current_schema current_time current_timestamp \
    current_user default deferrable desc distinct do else end except false fetch for foreign \
    freeze from full grant group having ilike in initially inner intersect into is isnull join \
    lateral leading left like limit localtime localtimestamp natural not notnull null offset on \
    only or order outer overlaps placing primary references returning right select session_user \
    similar some symmetric system_user table tablesample then to trailing true union unique user \
    using variadic verbose when where window with";

/// Returns whether a name in lower case can be written only in double quotes.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    RESERVED.split(' ').any(|word| word == name)
}

/// Returns a name as it must be written: in quotes if PostgreSQL would read it as something else
/// without them.
#[must_use]
pub fn written(name: &str) -> String {
    // A database with an encoding of one byte reads capital letters outside of ASCII as small ones.
    let is_small = |c: char| c == '_' || c.is_alphabetic() && !c.is_uppercase();
    let mut rest = name.chars();
    let is_plain = rest.next().is_some_and(is_small)
        && rest.all(|c| is_small(c) || c == '$' || c.is_ascii_digit());
    if is_plain && !is_reserved(name) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_name_is_quoted_where_postgresql_would_read_another() {
        let cases = [
            ("orders", "orders"),
            ("_1$", "_1$"),
            ("größe", "größe"),
            ("Kunden", "\"Kunden\""),
            ("order", "\"order\""),
            ("two words", "\"two words\""),
            ("1st", "\"1st\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
            ("", "\"\""),
        ];
        for (name, expected) in cases {
            assert_eq!(written(name), expected);
        }
    }

    #[tokio::test]
    async fn the_reserved_words_are_those_of_postgresql() {
        let mut fixture = Fixture::new().await;
        let sql = format!(
            "SELECT count(*) FROM pg_get_keywords()
             WHERE catcode IN ('R', 'T') AND word <> ALL (string_to_array('{RESERVED}', ' '))"
        );
        assert_eq!(fixture.count(&sql).await, 0);
    }
}
