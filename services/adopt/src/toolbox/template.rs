//! Places in a statement where MCP Toolbox puts text: `{{.name}}`.

use ziggurat_sql::{Lexer, Token};

use crate::tool::{Unfit, parameter::Parameter};

/// Words that are not names where they may stand in such a place.
const KEYWORDS: [&str; 22] = [
    "all", "and", "asc", "by", "desc", "distinct", "false", "first", "from", "group", "last",
    "limit", "not", "null", "nulls", "offset", "on", "or", "order", "select", "true", "where",
];

/// Writes `:"name"` for each place of a parameter, if its allowed values are names.
pub(super) fn identifiers(statement: &str, parameters: &[Parameter]) -> Result<String, Unfit> {
    let mut written = statement.to_owned();
    for parameter in parameters {
        let unfit = || Unfit::Template(parameter.original.clone());
        let is_list = !parameter.allowed.is_empty() && parameter.pattern.is_none();
        if !is_list || !parameter.allowed.iter().all(|it| is_name(it)) {
            return Err(unfit());
        }
        written = replace(&written, parameter).ok_or_else(unfit)?;
    }
    // The rest is in a string, a list, or not declared.
    match written.find("{{") {
        Some(_) => Err(Unfit::Template("a template in the statement".to_owned())),
        None => Ok(written),
    }
}

/// Returns whether PostgreSQL reads a word as the same name with and without quotes.
fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && text.chars().all(is_part)
        && !KEYWORDS.contains(&text)
}

/// Replaces the places outside of strings and comments; `None` if there are no places.
fn replace(statement: &str, parameter: &Parameter) -> Option<String> {
    let ours = format!(":\"{}\"", parameter.name);
    let place = format!("{{{{.{}}}}}", parameter.original);
    let spaced = format!("{{{{ .{} }}}}", parameter.original);
    let (mut written, mut at) = (String::new(), 0);
    let mut lexer = Lexer::new(statement);
    while let Some(token) = lexer.next() {
        let end = lexer.position();
        let (start, length) = match token {
            Token::Symbol(b'{') => {
                let rest = &statement[end - 1..];
                let found = [&place, &spaced]
                    .into_iter()
                    .find(|it| rest.starts_with(&***it));
                let Some(found) = found else {
                    continue;
                };
                (end - 1, found.len())
            }
            Token::Quoted(name) if name == place || name == spaced => {
                (end - name.len() - 2, name.len() + 2)
            }
            _ => continue,
        };
        written.push_str(&statement[at..start]);
        written.push_str(&ours);
        at = start + length;
        lexer.go_to(at);
    }
    written.push_str(&statement[at..]);
    (at > 0).then_some(written)
}
