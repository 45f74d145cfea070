//! Texts of statements without their literals.

use crate::{Lexer, Token};

/// Appends a text with `?` for literals, and one blank for white space and comments.
///
/// Stops after this number of bytes, and at a literal that has no end.
///
/// ```
/// let mut out = Vec::new();
/// ziggurat_sql::normalize("SELECT 'x' -- why\nFROM t WHERE id = 7", 100, &mut out);
/// assert_eq!(out, b"SELECT ? FROM t WHERE id = ?");
/// ```
pub fn normalize(text: &str, max_bytes: usize, out: &mut Vec<u8>) {
    let start = out.len();
    let mut lexer = Lexer::new(text);
    let mut end = 0;
    while out.len() - start <= max_bytes {
        let Some(token) = lexer.next() else { break };
        let piece = text.get(end..lexer.position()).unwrap_or_default();
        if end > 0 && starts_blank(piece) {
            out.push(b' ');
        }
        end = lexer.position();
        match token {
            Token::Word(word) => out.extend_from_slice(word.as_bytes()),
            Token::Quoted(name) => push_all(out, ["\"", name, "\""]),
            Token::Escaped(name) => push_all(out, ["U&\"", name, "\""]),
            Token::Symbol(symbol) => out.push(symbol),
            Token::Number => push_all(out, [parameter(piece).unwrap_or("?")]),
            Token::Literal => out.push(b'?'),
            // A token of an unknown kind may be a literal.
            _ => {
                out.push(b'?');
                break;
            }
        }
    }
}

fn push_all<const N: usize>(out: &mut Vec<u8>, pieces: [&str; N]) {
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
}

/// Returns whether white space or a comment stands before the token of a piece.
fn starts_blank(piece: &str) -> bool {
    matches!(
        piece.as_bytes(),
        [b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c, ..] | [b'-', b'-', ..] | [b'/', b'*', ..]
    )
}

/// Returns the parameter, such as `$1`, with which a piece ends.
fn parameter(piece: &str) -> Option<&str> {
    let at = piece.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    piece
        .get(at.checked_sub(1)?..)
        .filter(|it| it.starts_with('$'))
}

/// Returns a text with `?` for literals, as [`normalize`] writes it.
///
/// ```
/// assert_eq!(ziggurat_sql::normalized("SELECT 1 WHERE a = $1"), "SELECT ? WHERE a = $1");
/// ```
#[must_use]
pub fn normalized(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    normalize(text, usize::MAX, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
