//! Hints for errors of syntax and grouping, where the correction is certain.

use ziggurat_postgres::name::{is_reserved, written};
use ziggurat_sql::Token;

use crate::sql_error::scope::Scope;

/// Describes the usual correction of a syntax error (42601) at a token.
pub(super) fn syntax(scope: &Scope<'_>, index: usize) -> Option<String> {
    let before = index.checked_sub(1);
    let is_before = |words: &[&str]| before.is_some_and(|index| scope.is_word(index, words));
    let Some(token) = scope.token(index) else {
        return Some(ended(scope).to_owned());
    };
    let text = match token {
        _ if scope.has(Token::Symbol(b'`')) => "Write names in double quotes, not in backticks.",
        Token::Symbol(b'[') => "Write names in double quotes, not in brackets.",
        Token::Unclosed => "A string, quoted name or comment has no end.",
        Token::Number if is_before(&["TOP"]) => "Write LIMIT at the end instead of TOP.",
        _ if is_before(&["INTERVAL"]) => "Write an interval as interval '1 day'.",
        _ if scope.is_word(index, &["FROM", "WHERE", "GROUP", "ORDER"])
            && before.is_some_and(|index| scope.is_symbol(index, b',')) =>
        {
            "Remove the comma before this word."
        }
        Token::Word(word)
            if is_before(&["FROM", "JOIN", "INTO", "UPDATE", "TABLE"])
                && is_reserved(&word.to_ascii_lowercase())
                && !scope.is_word(index, CLAUSES)
                && !scope.is_word(index + 1, &["BY"]) =>
        {
            let word = word.to_ascii_lowercase();
            return Some(format!("{word} is a reserved word: write \"{word}\"."));
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// Words that begin what should follow a missing name.
const CLAUSES: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "ON",
    "USING",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "UNION",
    "JOIN",
    "LEFT",
    "RIGHT",
    "INNER",
    "FULL",
    "CROSS",
    "NATURAL",
    "INTO",
    "WINDOW",
    "FETCH",
    "FOR",
    "EXCEPT",
    "INTERSECT",
    "WITH",
    "LATERAL",
    "ONLY",
];

fn ended(scope: &Scope<'_>) -> &'static str {
    if scope.is_open() {
        "A parenthesis is not closed."
    } else {
        "The text ends too early: something is missing at its end."
    }
}

/// Describes the correction of an aggregate or window function in the wrong place, or of a column
/// that is not grouped (42803, 42P20).
pub(super) fn grouping(scope: &Scope<'_>, index: usize) -> Option<String> {
    let names = scope.names(index);
    let end = index + (2 * names.len()).checked_sub(1)?;
    if !scope.is_symbol(end, b'(') {
        let names: Vec<_> = names.iter().map(|name| written(name)).collect();
        let name = names.join(".");
        return Some(format!(
            "Add {name} to GROUP BY, or put it into an aggregate function such as max({name})."
        ));
    }
    let mut words = scope.words_before(index);
    let clause = words.find(|word| ["WHERE", "HAVING", "ON", "BY", "SELECT"].contains(&&**word));
    let is_window = scope.is_window(end);
    Some(match clause.as_deref() {
        Some("WHERE") if !is_window => {
            "A condition on an aggregate belongs into HAVING, behind GROUP BY.".to_owned()
        }
        _ => "Compute it in a subquery or WITH query first, and use its result here.".to_owned(),
    })
}
