//! Statements with placeholders: `:name` for a value, `:"name"` for a name.

use ziggurat_postgres::quoted;
use ziggurat_sql::{Lexer, Token};

use crate::parameter::Parameter;

/// A statement in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    /// A name, by the position of its parameter.
    Name(usize),
}

/// A placeholder in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placeholder<'a> {
    /// The position of its colon, and of its end.
    start: usize,
    end: usize,
    name: &'a str,
    is_quoted: bool,
}

// === impl Template ===

impl Template {
    /// Reads a statement. Returns the errors of all its placeholders, and of parameters that it
    /// does not use, each with the position of the parameter if there is one.
    pub(crate) fn read(
        text: &str,
        parameters: &[Parameter],
    ) -> Result<Self, Vec<(Option<usize>, String)>> {
        let mut problems = Vec::new();
        let mut used = vec![false; parameters.len()];
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        for found in placeholders(text) {
            plain.push_str(&text[at..found.start]);
            at = found.end;
            let name = found.name;
            let Some(index) = parameters.iter().position(|it| it.name == name) else {
                problems.push((None, format!("statement uses undeclared parameter: {name}")));
                continue;
            };
            used[index] = true;
            match (parameters[index].kind.cast(), found.is_quoted) {
                (Some(cast), false) => {
                    let number = number(parameters, index);
                    // Without the blank, a word before it would go on.
                    let has_subscript = text[at..].trim_start().starts_with('[');
                    let (open, close) = if has_subscript { ("(", ")") } else { ("", "") };
                    plain.extend([" ", open, "$", &number.to_string(), &cast, close]);
                }
                (None, true) => {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    pieces.push(Piece::Name(index));
                }
                (Some(_), true) => {
                    let problem = format!("parameter '{name}': write :{name} in the statement");
                    problems.push((Some(index), problem));
                }
                (None, false) => {
                    let problem = format!("parameter '{name}': write :\"{name}\" in the statement");
                    problems.push((Some(index), problem));
                }
            }
        }
        plain.push_str(&text[at..]);
        pieces.push(Piece::Text(plain));
        for (index, used) in used.into_iter().enumerate() {
            if !used {
                let name = &parameters[index].name;
                problems.push((Some(index), format!("parameter '{name}' is not used")));
            }
        }
        if problems.is_empty() {
            Ok(Self { pieces })
        } else {
            Err(problems)
        }
    }

    /// Writes the statement. `name` returns the name for a parameter, by its position.
    pub(crate) fn render<'a>(&self, name: impl Fn(usize) -> &'a str) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Name(index) => {
                    text.push(' ');
                    text.push_str(&quoted(name(*index)));
                }
            }
        }
        text
    }
}

/// Returns the number of a parameter among the parameters that are sent as values.
fn number(parameters: &[Parameter], index: usize) -> usize {
    let before = parameters[..index].iter();
    1 + before.filter(|it| it.kind.cast().is_some()).count()
}

/// Finds the placeholders: a name directly after a single colon, outside of strings, comments and
/// quoted names.
fn placeholders(text: &str) -> Vec<Placeholder<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut lexer = Lexer::new(text);
    let mut colon = None;
    while let Some(token) = lexer.next() {
        let end = lexer.position();
        let start = colon.take();
        let (name, is_quoted) = match token {
            Token::Symbol(b':') => {
                let is_first = end < 2 || bytes[end - 2] != b':';
                colon = is_first.then_some(end - 1);
                continue;
            }
            Token::Word(name) => (name, false),
            Token::Quoted(name) => (name, true),
            _ => continue,
        };
        let length = name.len() + if is_quoted { 2 } else { 0 };
        if let Some(start) = start
            && start + 1 + length == end
        {
            found.push(Placeholder {
                start,
                end,
                name,
                is_quoted,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let found = placeholders(text).into_iter();
        let name = |it: Placeholder<'_>| {
            let name = it.name;
            if it.is_quoted {
                format!("\"{name}\"")
            } else {
                name.to_owned()
            }
        };
        found.map(name).collect()
    }

    #[test]
    fn a_placeholder_is_a_name_directly_after_one_colon() {
        let cases: [(&str, &[&str]); 16] = [
            ("SELECT :a", &["a"]),
            ("SELECT :a+:b_2", &["a", "b_2"]),
            ("SELECT a::date, :a::text", &["a"]),
            ("ORDER BY :\"sort\" DESC", &["\"sort\""]),
            ("SELECT ':a', E'\\':b', \":c\", $$:d$$, $x$:e$x$", &[]),
            ("SELECT 1 -- :a\n, /* :b /* :c */ :d */ :e", &["e"]),
            ("SELECT a[1: n], a[:n], a[1:m]", &["n", "m"]),
            ("SELECT a[1::n]", &[]),
            ("SELECT :/**/a, : a", &[]),
            ("SELECT :E'x', :U&\"a\", :1, :$1", &[]),
            ("SELECT x := :a", &["a"]),
            ("LIMIT:n", &["n"]),
            ("SELECT :a:b", &["a", "b"]),
            ("SELECT :é", &["é"]),
            ("SELECT 'open :a", &[]),
            (":a", &["a"]),
        ];
        for (text, expected) in cases {
            assert_eq!(names(text), expected, "{text}");
        }
    }
}
