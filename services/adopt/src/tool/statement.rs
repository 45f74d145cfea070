//! Statements with `$1`, `$2`, written with our placeholders.

use ziggurat_sql::{Lexer, Token};

use crate::tool::Unfit;

/// Names and casts that replace the numbers, in their order.
#[derive(Debug)]
pub(super) struct Placeholders<'a> {
    pub(super) names: Vec<&'a str>,
    pub(super) casts: Vec<Option<&'a str>>,
    /// Names of parameters that stand for names in the statement, which has them already.
    pub(super) identifiers: Vec<&'a str>,
}

/// Writes a statement with names instead of numbers, outside of strings and comments. The second
/// value tells which numbers it uses.
pub(super) fn rewrite(
    statement: &str,
    placeholders: &Placeholders<'_>,
) -> Result<(String, Vec<bool>), Unfit> {
    let statement = statement.trim().trim_end_matches(';').trim_end();
    let bytes = statement.as_bytes();
    let mut used = vec![false; placeholders.names.len()];
    let (mut written, mut at) = (String::new(), 0);
    let mut lexer = Lexer::new(statement);
    while let Some(token) = lexer.next() {
        let end = lexer.position();
        match token {
            Token::Unclosed => return Err(Unfit::Unclosed),
            Token::Number => {
                let digits = bytes[..end]
                    .iter()
                    .rev()
                    .take_while(|it| it.is_ascii_digit());
                let start = end - digits.count();
                if start == 0 || bytes[start - 1] != b'$' {
                    continue;
                }
                let number: usize = statement[start..end].parse().unwrap_or(0);
                let index = number.checked_sub(1).filter(|it| *it < used.len());
                let index = index.ok_or(Unfit::Undeclared(number))?;
                used[index] = true;
                written.push_str(&statement[at..start - 1]);
                let name = placeholders.names[index];
                push(
                    &mut written,
                    &statement[end..],
                    name,
                    placeholders.casts[index],
                );
                at = end;
            }
            // In a slice such as `a[1:n]`, the colon would begin one of our placeholders.
            Token::Symbol(b':') => {
                let is_second = end >= 2 && bytes[end - 2] == b':';
                let next = statement[end..].chars().next();
                let is_name = next.is_some_and(|c| c.is_alphabetic() || c == '_');
                let is_other = next == Some('"') && !placeholders.is_identifier(&statement[end..]);
                if (is_name || is_other) && !is_second {
                    written.push_str(&statement[at..end]);
                    written.push(' ');
                    at = end;
                }
            }
            _ => {}
        }
    }
    written.push_str(&statement[at..]);
    Ok((written, used))
}

// === impl Placeholders ===

impl Placeholders<'_> {
    /// Returns whether a text begins with the name of an identifier in quotes.
    fn is_identifier(&self, text: &str) -> bool {
        let name = text
            .strip_prefix('"')
            .and_then(|rest| rest.split('"').next());
        name.is_some_and(|name| self.identifiers.contains(&name))
    }
}

/// Writes a placeholder, with its cast unless a cast follows.
fn push(written: &mut String, rest: &str, name: &str, cast: Option<&str>) {
    // Behind another colon it would not be a placeholder.
    if written.ends_with(':') {
        written.push(' ');
    }
    let rest = rest.trim_start();
    match cast {
        Some(cast) if !rest.starts_with("::") => {
            let has_subscript = rest.starts_with('[');
            let (open, close) = if has_subscript { ("(", ")") } else { ("", "") };
            written.extend([open, ":", name, "::", cast, close]);
        }
        _ => written.extend([":", name]),
    }
}
