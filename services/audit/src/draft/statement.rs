//! Forms in which statements are recorded.

use std::borrow::Cow;

use ziggurat_runtime::redact::Redactor;
use ziggurat_sql::normalize;

use crate::{
    StatementForm,
    draft::arguments::text_argument,
    line::{self, chain::Sha},
};

/// Maximum number of characters of a statement in a record.
const MAX_CHARACTERS: usize = 8192;

/// Begins the text after the digest.
const TEXT: &[u8] = b"\",\"text\":\"";

/// Place of a statement in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementPlace {
    /// The text is the statement.
    Whole,
    /// The argument with this name, unless it is empty. The text is the arguments of a tool.
    Argument(&'static str),
    /// The argument with this name, which may be missing or empty.
    OptionalArgument(&'static str),
}

/// A statement of a record, next to the text that the record keeps for it.
#[derive(Clone, Copy)]
pub(crate) enum Statement {
    /// Nothing.
    None,
    /// The text has the statement, which is read when the line is written.
    Kept(StatementForm, StatementPlace),
    /// The text is what will be written of the statement, once it gets this form.
    Read(StatementForm, Sha),
}

// === impl StatementPlace ===

impl StatementPlace {
    fn read(self, text: &str) -> Option<Cow<'_, str>> {
        match self {
            Self::Whole => Some(text.into()),
            Self::Argument(name) => text_argument(text, name).filter(|found| !found.is_empty()),
            Self::OptionalArgument(name) => text_argument(text, name).or(Some("".into())),
        }
    }
}

// === impl Statement ===

impl Statement {
    /// Keeps a text for a statement in it, which is read when the line is written.
    ///
    /// Of a long text, and if two lines need the statement, it is read at once.
    pub(crate) fn keep(
        form: StatementForm,
        text: &str,
        place: StatementPlace,
        has_two_lines: bool,
    ) -> (Self, Cow<'_, str>) {
        if form == StatementForm::None {
            (Self::None, "".into())
        } else if text.len() <= MAX_CHARACTERS && !has_two_lines {
            (Self::Kept(form, place), text.into())
        } else {
            place
                .read(text)
                .map_or((Self::None, "".into()), |text| Self::read(form, text))
        }
    }

    /// Keeps what will be written of a statement; a short one stays as it is until then.
    fn read(form: StatementForm, text: Cow<'_, str>) -> (Self, Cow<'_, str>) {
        let digest = Sha::digest(text.as_bytes());
        let (form, text) = match form {
            StatementForm::None | StatementForm::Digest => (form, "".into()),
            _ if text.len() <= MAX_CHARACTERS => (form, text),
            StatementForm::Normalized => {
                let mut out = Vec::new();
                normalize(&redacted(&text), 4 * MAX_CHARACTERS, &mut out);
                let text = String::from_utf8_lossy(&out);
                let text = line::cut(&text, MAX_CHARACTERS).to_owned();
                (StatementForm::Text, text.into())
            }
            StatementForm::Text => {
                let text = line::cut(&redacted(&text), MAX_CHARACTERS).to_owned();
                (form, text.into())
            }
        };
        (Self::Read(form, digest), text)
    }

    /// Appends the member `statement`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, kept: &str) {
        match *self {
            Self::None => {}
            Self::Kept(form, place) => {
                if let Some(text) = place.read(kept) {
                    write(out, &Sha::digest(text.as_bytes()), form, &text);
                }
            }
            Self::Read(form, digest) => write(out, &digest, form, kept),
        }
    }

    /// Appends the member `statement` without a text.
    pub(crate) fn write_digest(&self, out: &mut Vec<u8>, kept: &str) {
        match *self {
            Self::None => {}
            Self::Kept(_, place) => Self::Kept(StatementForm::Digest, place).write(out, kept),
            Self::Read(_, digest) => write(out, &digest, StatementForm::Digest, ""),
        }
    }
}

fn write(out: &mut Vec<u8>, digest: &Sha, form: StatementForm, text: &str) {
    out.extend_from_slice(b",\"statement\":{\"sha256\":\"");
    out.extend_from_slice(digest.hex().as_bytes());
    match form {
        StatementForm::None | StatementForm::Digest => {}
        StatementForm::Normalized => {
            out.extend_from_slice(TEXT);
            let start = out.len();
            normalize(&redacted(text), 4 * MAX_CHARACTERS, out);
            line::finish_text(out, start, MAX_CHARACTERS);
        }
        StatementForm::Text => {
            out.extend_from_slice(TEXT);
            line::text(out, line::cut(&redacted(text), MAX_CHARACTERS));
        }
    }
    out.extend_from_slice(b"\"}");
}

/// Removes passwords: a text may name its connection by a URL.
fn redacted(text: &str) -> Cow<'_, str> {
    // Most statements have no colon, and a search for one character is faster.
    if text.contains(':') && text.contains("://") {
        Redactor::default().redact(text).into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::line::chain::Hex;

    fn normalized(text: &str) -> String {
        let mut out = Vec::new();
        normalize(text, 4 * MAX_CHARACTERS, &mut out);
        String::from_utf8(out).expect("text")
    }

    fn written(form: StatementForm, text: &str) -> String {
        let lines = [false, true].map(|has_two_lines| {
            let mut out = Vec::new();
            let place = StatementPlace::Whole;
            let (statement, kept) = Statement::keep(form, text, place, has_two_lines);
            statement.write(&mut out, &kept);
            String::from_utf8(out).expect("text")
        });
        let [line, of_two] = lines;
        assert_eq!(line, of_two);
        line
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
    fn a_text_that_gets_longer_without_its_password_is_cut() {
        let url = "postgres://ada:x@db ";
        let text = url.to_owned() + &"a".repeat(MAX_CHARACTERS - url.len());
        for form in [StatementForm::Normalized, StatementForm::Text] {
            let line = written(form, &text);
            let (_, kept) = line.split_once("\"text\":\"").expect("a text");
            assert_eq!(kept.len(), MAX_CHARACTERS + "\"}".len(), "{form:?}");
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
