//! Estimates the number of tokens of a text.

use std::sync::LazyLock;

use crate::compact::phrases::{Groups, Phrases};

const SQL: Groups = Groups::only(0);
const CODE: Groups = Groups::only(1);

static PHRASES: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        &[
            "select ",
            "from ",
            "where ",
            "join ",
            "create table",
            "alter table",
            "drop table",
            "insert into",
            "update ",
            "delete from",
            "group by",
            "order by",
            "having ",
        ],
        &[
            "```",
            "function ",
            "const ",
            "let ",
            "var ",
            "def ",
            "class ",
            "import ",
            "package ",
        ],
    ])
});

/// Provider that the number of tokens is estimated for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Counter {
    #[default]
    Generic,
    OpenAi,
    Anthropic,
    Ollama,
}

/// Kind of content of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentKind {
    Sql,
    Json,
    Code,
    Prose,
}

/// Ratios of a counter. Integers, so that exact results are not rounded down by one token.
struct Ratio {
    /// Bytes per ten tokens.
    bytes: u64,
    /// Additional tokens per message.
    overhead: u64,
    /// Additional tokens of SQL, JSON and code, in percent of prose.
    natures: [u64; 3],
}

// === impl Counter ===

impl Counter {
    /// Returns the counter with this name, or the generic one.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "openai" => Self::OpenAi,
            "anthropic" => Self::Anthropic,
            "ollama" => Self::Ollama,
            _ => Self::Generic,
        }
    }

    /// Returns the number of tokens of a message with this text.
    pub(super) fn tokens(self, text: &str, nature: ContentKind) -> u64 {
        let ratio = self.ratio();
        let [sql, json, code] = ratio.natures;
        let nature = match nature {
            ContentKind::Sql => sql,
            ContentKind::Json => json,
            ContentKind::Code => code,
            ContentKind::Prose => 100,
        };
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let tokens = bytes.saturating_mul(10 * nature * self.adjustment(text));
        tokens / (ratio.bytes * 100 * 100) + ratio.overhead
    }

    fn ratio(self) -> Ratio {
        let (bytes, overhead, natures) = match self {
            Self::Generic => (40, 10, [120, 115, 110]),
            Self::OpenAi => (40, 4, [115, 110, 105]),
            Self::Anthropic => (38, 5, [120, 115, 110]),
            Self::Ollama => (45, 3, [110, 110, 105]),
        };
        Ratio {
            bytes,
            overhead,
            natures,
        }
    }

    /// Returns the factor for this text, in percent.
    fn adjustment(self, text: &str) -> u64 {
        match self {
            Self::OpenAi if text.matches("  ").count() > text.len() / 100 => 105,
            Self::Anthropic if is_language(text) => 95,
            Self::Ollama => 110,
            _ => 100,
        }
    }
}

// === impl ContentKind ===

impl ContentKind {
    pub(super) fn of(text: &str) -> Self {
        let signs = PHRASES.find(text, SQL);
        if signs.has(SQL) {
            return Self::Sql;
        }
        let trimmed = text.trim();
        let is_within = |open, close| trimmed.starts_with(open) && trimmed.ends_with(close);
        if is_within('{', '}') || is_within('[', ']') {
            return Self::Json;
        }
        if signs.has(CODE) {
            return Self::Code;
        }
        Self::Prose
    }
}

/// Returns whether a text has sentences of the length of natural language.
fn is_language(text: &str) -> bool {
    let words = text.split_whitespace().count();
    let is_end = |byte: &u8| matches!(byte, b'.' | b'!' | b'?');
    let sentences = text.as_bytes().iter().filter(|byte| is_end(byte)).count();
    let sentences = sentences.max(1);
    (5 * sentences..=30 * sentences).contains(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nature_of_a_text_is_the_first_match() {
        for (text, nature) in [
            ("", ContentKind::Prose),
            ("Selecting is easy", ContentKind::Prose),
            ("SELECT 1", ContentKind::Sql),
            ("where\nit is", ContentKind::Prose),
            ("a letter from home", ContentKind::Sql),
            (r#"{"select ": 1}"#, ContentKind::Sql),
            (" {\"a\": 1}\n", ContentKind::Json),
            ("[]", ContentKind::Json),
            ("{]", ContentKind::Prose),
            ("{\"class \": 1}", ContentKind::Json),
            ("Class A", ContentKind::Code),
            ("classes", ContentKind::Prose),
            ("```\nx\n```", ContentKind::Code),
        ] {
            assert_eq!(ContentKind::of(text), nature, "{text}");
        }
        for keyword in [
            "join ",
            "create table",
            "alter table",
            "drop table",
            "insert into",
        ]
        .into_iter()
        .chain(["update ", "delete from", "group by", "order by", "having "])
        {
            assert_eq!(ContentKind::of(keyword), ContentKind::Sql, "{keyword}");
        }
        for keyword in [
            "function ",
            "const ",
            "let ",
            "var ",
            "def ",
            "import ",
            "package ",
        ] {
            assert_eq!(ContentKind::of(keyword), ContentKind::Code, "{keyword}");
        }
    }

    #[test]
    fn every_counter_has_its_own_ratios() {
        let prose = "abc-".repeat(100);
        let sql = format!("select {}", "abc-".repeat(98) + "z");
        let json = format!("{{{}}}", "abc-".repeat(99) + "zz");
        let code = format!("const {}", "abc-".repeat(98) + "zz");
        for (counter, expected) in [
            ("generic", [110, 130, 125, 120]),
            ("nonsense", [110, 130, 125, 120]),
            ("openai", [104, 119, 114, 109]),
            ("anthropic", [110, 131, 126, 120]),
            ("ollama", [100, 110, 110, 105]),
        ] {
            let counted = [&prose, &sql, &json, &code].map(|text| {
                assert_eq!(text.len(), 400);
                Counter::named(counter).tokens(text, ContentKind::of(text))
            });
            assert_eq!(counted, expected, "{counter}");
        }
    }

    #[test]
    fn properties_of_a_text_adjust_the_count() {
        let spaced = format!("{}{}", "ab  ".repeat(2), "abcd".repeat(40));
        assert_eq!(spaced.len(), 168);
        let tokens = |counter: Counter, text: &str| counter.tokens(text, ContentKind::Prose);
        // 2 double spaces in 168 bytes are more than one percent.
        assert_eq!(tokens(Counter::OpenAi, &spaced), 44 + 4);
        let longer = format!("{spaced}{}", "abcd".repeat(10));
        assert_eq!(tokens(Counter::OpenAi, &longer), 52 + 4);
        // Five words per sentence count as natural language, four do not.
        let sentence = "aaa bbb ccc ddd eee. ";
        assert_eq!(tokens(Counter::Anthropic, &sentence.repeat(19)), 99 + 5);
        let short = "aaaa bbbb ccc ddddd. ";
        assert_eq!(tokens(Counter::Anthropic, &short.repeat(19)), 105 + 5);
        let endless = "aa ".repeat(31);
        assert_eq!(tokens(Counter::Anthropic, &endless), 24 + 5);
        assert_eq!(tokens(Counter::Anthropic, &endless[3..]), 22 + 5);
    }

    #[test]
    fn an_empty_message_has_tokens() {
        let overheads = [
            Counter::Generic,
            Counter::OpenAi,
            Counter::Anthropic,
            Counter::Ollama,
        ]
        .map(|counter| counter.tokens("", ContentKind::Prose));
        assert_eq!(overheads, [10, 4, 5, 3]);
    }
}
