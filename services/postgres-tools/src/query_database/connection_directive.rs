//! Connection directives: a URL in a text that names the connection for it.
//!
//! Only the words of the text are searched. Strings, comments and quoted names are never directives,
//! and neither is a URL without an introducing word.

use ziggurat_postgres::url::{SCHEMES, after_scheme};
use ziggurat_sql::{Lexer, Token};

/// The connection directive of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Directive<'a> {
    /// The text has no directive.
    Absent,
    /// Makes this URL the default of the session. The text has no SQL.
    Default(&'a str),
    /// Uses this URL for one call; the rest of the text is the statement.
    Once { url: &'a str, rest: String },
}

/// A URL and the word before it.
#[derive(Clone, Copy)]
struct FoundUrl<'a> {
    url: &'a str,
    start: usize,
    /// The position of the word before it, if only white space is between.
    introduction: Option<(usize, &'a str)>,
    /// Set if that word is the first of the text.
    is_first: bool,
}

/// Pairs of words that make a URL the default.
const DEFAULTS: [(&str, &str); 3] = [("set", "default"), ("use", "database"), ("switch", "to")];

/// Words that introduce a URL for one call at any position.
const PREPOSITIONS: [&str; 5] = ["at", "from", "on", "for", "in"];

/// Words that introduce a URL at the start of the text.
const FIRST_WORDS: [&str; 2] = ["database", "db"];

// === impl Directive ===

impl<'a> Directive<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        // Only a text with a URL is split into words, and few texts have one.
        if !SCHEMES.iter().any(|scheme| text.contains(scheme)) {
            return Self::Absent;
        }
        let mut words = Scanner::new(text);
        let mut urls = Vec::new();
        let mut is_default = false;
        let mut previous = "";
        while let Some(step) = words.next() {
            match step {
                Item::Word(word) => {
                    is_default |= DEFAULTS.iter().any(|(one, two)| {
                        previous.eq_ignore_ascii_case(one) && word.eq_ignore_ascii_case(two)
                    });
                    previous = word;
                }
                Item::Url(found) => {
                    urls.push(found);
                    previous = "";
                }
                Item::Other => previous = "",
            }
        }
        let Some(first) = urls.first() else {
            return Self::Absent;
        };
        if is_default {
            return Self::Default(first.url);
        }
        let introduced = urls.iter().find_map(|found| found.cut(text, &PREPOSITIONS));
        let introduced = introduced.or_else(|| {
            let leading = first.is_first.then(|| first.cut(text, &FIRST_WORDS));
            leading.flatten()
        });
        introduced.unwrap_or(Self::Absent)
    }
}

// === impl FoundUrl ===

impl<'a> FoundUrl<'a> {
    /// Removes the phrase from the text, if one of these words introduces the URL.
    fn cut(&self, text: &str, words: &[&str]) -> Option<Directive<'a>> {
        let (start, word) = self.introduction?;
        if !words.iter().any(|known| word.eq_ignore_ascii_case(known)) {
            return None;
        }
        let before = text[..start].trim_end();
        let after = &text[self.start + self.url.len()..];
        let between = if before.is_empty() {
            ""
        } else if text[before.len()..start].contains(['\n', '\r']) {
            // The line break may end a comment.
            "\n"
        } else if after.starts_with(|c: char| c.is_whitespace() || c == ';') {
            ""
        } else {
            // The words on both sides must not become one word.
            " "
        };
        Some(Directive::Once {
            url: self.url,
            rest: format!("{before}{between}{after}"),
        })
    }
}

/// The words and URLs of a text.
struct Scanner<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// Number of tokens so far.
    tokens: usize,
    /// The last token, if it was a word, with its position.
    last: Option<(usize, &'a str)>,
}

enum Item<'a> {
    Word(&'a str),
    Url(FoundUrl<'a>),
    Other,
}

// === impl Scanner ===

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            lexer: Lexer::new(text),
            tokens: 0,
            last: None,
        }
    }

    fn next(&mut self) -> Option<Item<'a>> {
        let token = self.lexer.next()?;
        self.tokens += 1;
        let Token::Word(word) = token else {
            self.last = None;
            return Some(Item::Other);
        };
        let start = self.lexer.position() - word.len();
        let last = self.last.replace((start, word));
        let Some(url) = url(&self.text[start..]) else {
            return Some(Item::Word(word));
        };
        self.lexer.go_to(start + url.len());
        self.last = None;
        Some(Item::Url(FoundUrl {
            url,
            start,
            introduction: last.filter(|&(at, word)| self.introduces(at, word, start)),
            is_first: self.tokens == 2,
        }))
    }

    /// Returns whether a word is separate, with only white space between it and the URL.
    fn introduces(&self, at: usize, word: &str, url: usize) -> bool {
        let between = &self.text[at + word.len()..url];
        let before = self.text[..at].chars().next_back();
        !between.is_empty()
            && between.chars().all(char::is_whitespace)
            && before.is_none_or(char::is_whitespace)
    }
}

/// Returns the URL at the start of a text, up to white space or a quote. A `;` at its end belongs
/// to the SQL.
fn url(text: &str) -> Option<&str> {
    after_scheme(text)?;
    let is_end = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`');
    let (url, _) = text.split_once(is_end).unwrap_or((text, ""));
    Some(url.trim_end_matches(';'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn once<'a>(url: &'a str, rest: &str) -> Directive<'a> {
        let rest = rest.to_owned();
        Directive::Once { url, rest }
    }

    #[test]
    fn a_url_is_a_phrase_only_after_an_introducing_word() {
        const URL: &str = "postgres://me:it--s/*odd$$@host:5432/db?sslmode=require";
        let url = once;
        let cases = [
            ("SELECT 1 at URL", url(URL, "SELECT 1 ")),
            ("SELECT 1\n\tFROM  URL;", url(URL, "SELECT 1\n;")),
            ("SELECT a on URL where b", url(URL, "SELECT a where b")),
            (
                "SELECT 1 -- one\n at URL + 1",
                url(URL, "SELECT 1 -- one\n + 1"),
            ),
            ("at URL SELECT 1", url(URL, " SELECT 1")),
            ("Database URL SELECT 1", url(URL, " SELECT 1")),
            ("/* so */ db URL SELECT 1", url(URL, "/* so */ SELECT 1")),
            ("db URL", url(URL, "")),
            ("set default URL", Directive::Default(URL)),
            ("please Use  Database: URL;", Directive::Default(URL)),
            ("URL is what to switch to", Directive::Default(URL)),
            // With two phrases the default takes precedence, else the first.
            ("switch to x in URL", Directive::Default(URL)),
            (
                "SELECT 1 in URL at postgresql://b",
                url(URL, "SELECT 1 at postgresql://b"),
            ),
            // No phrase.
            ("SELECT URL", Directive::Absent),
            ("SELECT 1 db URL", Directive::Absent),
            ("SELECT 1 at/**/URL", Directive::Absent),
            ("SELECT 1 (at URL)", Directive::Absent),
            ("SELECT 1 at xURL", Directive::Absent),
            ("SELECT 1 at mysql://host/db", Directive::Absent),
            ("ALTER TABLE t ALTER c SET DEFAULT 1", Directive::Absent),
            ("SELECT postgres at postgresql", Directive::Absent),
            // Strings, comments and quoted names.
            ("SELECT ' at URL'", Directive::Absent),
            ("SELECT 'set default URL'", Directive::Absent),
            ("SELECT $$ at URL $$, E'\\' at URL'", Directive::Absent),
            ("SELECT 1 -- at URL", Directive::Absent),
            ("SELECT 1 /* at /* URL */ at URL */", Directive::Absent),
            ("SELECT 1 AS \" at URL\"", Directive::Absent),
            ("SELECT 'no end at URL", Directive::Absent),
            ("set default 'URL'", Directive::Absent),
            // Words in a string, the URL outside of it.
            (
                "SELECT 'set default' at URL",
                url(URL, "SELECT 'set default' "),
            ),
        ];
        for (pattern, expected) in cases {
            let text = pattern.replace("URL", URL);
            assert_eq!(Directive::read(&text), expected, "{text}");
        }
    }

    #[test]
    fn a_quote_ends_a_url_and_starts_a_string() {
        let text = "SELECT 1 at postgres://host/db' at postgres://other/db'";
        let rest = "SELECT 1 ' at postgres://other/db'";
        assert_eq!(Directive::read(text), once("postgres://host/db", rest));
    }

    fn fragment() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("postgres://u:p@h/d".to_owned()),
            Just("postgresql://".to_owned()),
            "(at|from|set|default|use database|switch to|db|SELECT|postgres|:|//| |\n|;|'|\"|--|/\\*|\\*/|\\$\\$|\\$a\\$|\\(|\\))",
            "\\PC{0,4}",
        ]
    }

    proptest! {
        #[test]
        fn a_text_without_a_url_has_no_phrase(text: String) {
            prop_assume!(!text.contains("postgres://") && !text.contains("postgresql://"));
            prop_assert_eq!(Directive::read(&text), Directive::Absent);
        }

        #[test]
        fn a_phrase_removes_only_its_word_and_its_url(pieces in prop::collection::vec(fragment(), 0..12)) {
            let text = pieces.concat();
            if let Directive::Once { url, rest } = Directive::read(&text) {
                let is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
                prop_assert!(is_url && !url.contains(char::is_whitespace));
                let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
                let word = letters(&text) - letters(&rest) - letters(url);
                prop_assert!((2..=8).contains(&word));
            }
        }

        #[test]
        fn a_string_or_comment_contains_no_phrase(inside in "[^']{0,20}") {
            for word in ["at", "set default", "db"] {
                let text = format!("SELECT ' {word} postgres://u@h/d {inside}'");
                prop_assert_eq!(Directive::read(&text), Directive::Absent);
                let text = format!("SELECT 1 -- {word} postgres://u@h/d");
                prop_assert_eq!(Directive::read(&text), Directive::Absent);
            }
        }
    }
}
