//! Forms in which statements are recorded.

use ziggurat_runtime::redact::Redactor;
use ziggurat_sql::{Lexer, Token};

use crate::{StatementForm, chain::Hex, line};

/// Maximum number of characters of a statement in a record.
const MAX_CHARACTERS: usize = 8192;

/// Size above which a text is hashed and normalized at once: records that wait for the writer must
/// not hold much memory.
const MAX_WAITING_BYTES: usize = 16 * 1024;

/// A statement of a record.
pub(crate) struct Statement {
    digest: Option<Hex>,
    text: String,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Only the digest is recorded.
    Digest,
    /// The text has yet to be normalized.
    Original,
    /// The text is recorded as it is.
    Final,
}

// === impl Statement ===

impl Statement {
    /// Copies a text into a buffer; most are hashed and normalized later, by the writer.
    pub(crate) fn new(form: StatementForm, text: &str, mut buffer: String) -> Option<Self> {
        let form = match form {
            StatementForm::None => return None,
            StatementForm::Digest => Form::Digest,
            StatementForm::Normalized => Form::Original,
            StatementForm::Text => Form::Final,
        };
        if text.len() <= MAX_WAITING_BYTES {
            buffer.push_str(text);
            return Some(Self {
                digest: None,
                text: buffer,
                form,
            });
        }
        let digest = Some(Hex::digest(text.as_bytes()));
        let (text, form) = match form {
            Form::Digest => (String::new(), form),
            Form::Original => (normalized(text), Form::Final),
            Form::Final => (line::cut(text, MAX_CHARACTERS).to_owned(), form),
        };
        Some(Self { digest, text, form })
    }

    /// Returns the buffer of the text.
    pub(crate) fn into_buffer(self) -> String {
        self.text
    }

    pub(crate) fn capacity(&self) -> usize {
        self.text.capacity()
    }

    /// Appends the member `statement` with the digest only.
    pub(crate) fn write_digest(&mut self, out: &mut Vec<u8>) {
        let digest = *self.digest();
        out.extend_from_slice(b",\"statement\":{\"sha256\":\"");
        out.extend_from_slice(digest.as_bytes());
        out.extend_from_slice(b"\"}");
    }

    /// Appends the member `statement`.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) {
        self.write_digest(out);
        // A text may name its connection by a URL with a password.
        if self.text.contains("://") {
            self.text = Redactor::default().redact(&self.text);
        }
        if self.form == Form::Original {
            self.text = normalized(&self.text);
            self.form = Form::Final;
        }
        if self.form == Form::Final {
            out.pop();
            out.extend_from_slice(b",\"text\":");
            line::string(out, line::cut(&self.text, MAX_CHARACTERS));
            out.push(b'}');
        }
    }

    fn digest(&mut self) -> &Hex {
        self.digest
            .get_or_insert_with(|| Hex::digest(self.text.as_bytes()))
    }
}

/// Writes `?` for literals, and one blank for white space and comments.
///
/// Stops after more characters than a record holds, and at a literal that has no end.
fn normalized(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_CHARACTERS));
    let mut lexer = Lexer::new(text);
    let mut end = 0;
    // A character has at most four bytes.
    while out.len() <= 4 * MAX_CHARACTERS {
        let Some(token) = lexer.next() else { break };
        let piece = text.get(end..lexer.position()).unwrap_or_default();
        if !out.is_empty() && starts_blank(piece) {
            out.push(' ');
        }
        end = lexer.position();
        match token {
            Token::Word(word) => out.push_str(word),
            Token::Quoted(name) => push_all(&mut out, ["\"", name, "\""]),
            Token::Escaped(name) => push_all(&mut out, ["U&\"", name, "\""]),
            Token::Symbol(symbol) => out.push(char::from(symbol)),
            Token::Number => out.push_str(parameter(piece).unwrap_or("?")),
            Token::Literal => out.push('?'),
            // A token of an unknown kind may be a literal.
            _ => {
                out.push('?');
                break;
            }
        }
    }
    out
}

fn push_all(out: &mut String, pieces: [&str; 3]) {
    for piece in pieces {
        out.push_str(piece);
    }
}

/// Returns whether white space or a comment stands before the token of a piece.
fn starts_blank(piece: &str) -> bool {
    piece.starts_with([' ', '\t', '\n', '\r', '\u{b}', '\u{c}'])
        || piece.starts_with("--")
        || piece.starts_with("/*")
}

/// Returns the parameter, such as `$1`, with which a piece ends.
fn parameter(piece: &str) -> Option<&str> {
    let at = piece.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    piece
        .get(at.checked_sub(1)?..)
        .filter(|it| it.starts_with('$'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(form: StatementForm, text: &str) -> String {
        let mut out = Vec::new();
        if let Some(mut statement) = Statement::new(form, text, String::new()) {
            statement.write(&mut out);
        }
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn literals_become_question_marks_and_comments_blanks() {
        for (text, expected) in [
            ("SELECT 1", "SELECT ?"),
            ("SELECT a FROM t WHERE id=42", "SELECT a FROM t WHERE id=?"),
            ("  SELECT\n\t'it''s' -- Ada's\n, 2.5e-3", "SELECT ? , ?"),
            (
                "SELECT $tag$secret$tag$||E'\\'s' /* x /* y */ z */",
                "SELECT ?||?",
            ),
            ("/* first */SELECT/**/x", "SELECT x"),
            (
                "select U&'s' , U&\"n\\0041\", \"Na\"\"me\"",
                "select ? , U&\"n\\0041\", \"Na\"\"me\"",
            ),
            ("SELECT $1, $23 + 0x1F - 1_000", "SELECT $1, $23 + ? - ?"),
            ("SELECT b'01', x'ff', N'n' 'm'", "SELECT ?, ?, ? ?"),
            ("SELECT 'a'\n'b'", "SELECT ?"),
            ("SELECT 'never closed", "SELECT ?"),
            ("SELECT 1 /* never closed 'x'", "SELECT ? ?"),
            ("SELECT \"never closed", "SELECT ?"),
            ("SELECT é FROM größe -- ß", "SELECT é FROM größe"),
            ("", ""),
        ] {
            assert_eq!(normalized(text), expected, "{text}");
        }
    }

    #[test]
    fn each_form_has_what_it_says() {
        let text = "SELECT 'Ada'";
        let digest = Hex::digest(text.as_bytes());
        let digest = digest.as_str();
        assert_eq!(written(StatementForm::None, text), "");
        let expected = format!(",\"statement\":{{\"sha256\":\"{digest}\"}}");
        assert_eq!(written(StatementForm::Digest, text), expected);
        let expected = format!(",\"statement\":{{\"sha256\":\"{digest}\",\"text\":\"SELECT ?\"}}");
        assert_eq!(written(StatementForm::Normalized, text), expected);
        let expected =
            format!(",\"statement\":{{\"sha256\":\"{digest}\",\"text\":\"SELECT 'Ada'\"}}");
        assert_eq!(written(StatementForm::Text, text), expected);
    }

    #[test]
    fn the_password_of_a_url_is_left_out() {
        let url = "postgres://ada:open-sesame-7@db.example/shop";
        for (form, length) in [
            (StatementForm::Normalized, 0),
            (StatementForm::Text, 20_000),
        ] {
            let text = format!("connect to {url} and SELECT {}", "a".repeat(length));
            let line = written(form, &text);
            assert!(
                !line.contains("sesame") && line.contains("db.example"),
                "{line}"
            );
            assert!(
                line.contains(Hex::digest(text.as_bytes()).as_str()),
                "{line}"
            );
        }
    }

    #[test]
    fn a_long_text_is_hashed_whole_and_cut() {
        for length in [9_000, 20_000] {
            let long = format!("SELECT {}", "é".repeat(length));
            let cut = "é".repeat(MAX_CHARACTERS - 7);
            for form in [StatementForm::Normalized, StatementForm::Text] {
                let line = written(form, &long);
                let digest = Hex::digest(long.as_bytes());
                assert!(line.contains(digest.as_str()));
                assert!(
                    line.ends_with(&format!("\"SELECT {cut}\"}}")),
                    "{form:?} of {length}"
                );
            }
            let line = written(StatementForm::Digest, &long);
            assert_eq!(line.len(), ",\"statement\":{\"sha256\":\"\"}".len() + 64);
        }
    }

    proptest! {
        #[test]
        fn no_literal_is_left(secret in "[a-z\u{e9} ]{8,20}", number in 1000_u32..) {
            let forms = [
                format!("'{secret}'"), format!("E'{secret}'"), format!("$${secret}$$"),
                format!("$q${secret}$q$"), format!("U&'{secret}'"), format!("/*{secret}*/"),
                format!("--{secret}\n"), number.to_string(), format!("-{number}.5"),
            ];
            for literal in forms {
                let out = normalized(&format!("SELECT {literal}, a FROM t WHERE b = {literal} AND c"));
                prop_assert!(!out.contains(&secret), "{}", out);
                prop_assert!(!out.contains(&number.to_string()), "{}", out);
            }
        }

        #[test]
        fn any_text_is_normalized(text in "[a-z0-9'\"$&UE/*\\-\n\\\\é ]{0,80}") {
            normalized(&text);
        }
    }
}
