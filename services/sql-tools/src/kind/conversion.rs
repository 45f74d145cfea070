//! Conversion of facts about a caller into values of parameters.

use serde_json::Value as Json;
use ziggurat_tokens::Claim;

use crate::kind::{Checked, Kind, List, Scalar};

// === impl Kind ===

impl Kind {
    /// Converts a fact about a caller, if the rules of the type admit it. A list takes a list.
    pub(crate) fn convert(&self, fact: &Claim) -> Option<Checked> {
        match (self, fact) {
            (Self::Scalar(scalar), Claim::Text(text)) => scalar.convert_text(text),
            (Self::Scalar(scalar), Claim::Number(digits)) => scalar.convert(digits),
            (Self::Scalar(scalar), Claim::Boolean(value)) => scalar.convert(&value.to_string()),
            (Self::List(list), Claim::Texts(texts)) => {
                return list.convert(texts).map(Checked::Texts);
            }
            (Self::List(_) | Self::Identifier(_), _) | (Self::Scalar(_), Claim::Texts(_)) => None,
        }
        .map(Checked::Text)
    }
}

// === impl List ===

impl List {
    fn convert(&self, texts: &[Box<str>]) -> Option<Vec<String>> {
        let converted = texts.iter().map(|text| self.items.convert_text(text));
        self.length
            .holds(&texts.len())
            .then(|| converted.collect())?
    }
}

// === impl Scalar ===

impl Scalar {
    /// Converts a text: a string stays one, and `7` is a number.
    fn convert_text(&self, text: &str) -> Option<String> {
        let string = self.check(&Json::from(text).to_string());
        let converted = string.or_else(|_| self.check(text)).ok();
        converted.filter(|_| !text.contains('\0'))
    }

    /// Converts a number or a boolean, of which its text is a string.
    fn convert(&self, json: &str) -> Option<String> {
        let quoted = || self.check(&Json::from(json).to_string());
        self.check(json).or_else(|_| quoted()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::*, *};

    fn list(items: Scalar) -> Kind {
        let length = Range {
            min: Some(1),
            max: Some(2),
        };
        Kind::List(List { items, length })
    }

    #[test]
    fn facts_are_converted_by_the_rules_of_the_type() {
        let text = |text: &str| Claim::Text(text.into());
        let number = |digits: &str| Claim::Number(digits.into());
        let texts = |texts: &[&str]| Claim::Texts(texts.iter().map(|&it| it.into()).collect());
        let integer = || Scalar::Integer {
            range: Range {
                min: Some(0),
                max: None,
            },
            allowed: Vec::new(),
        };
        let string = || Scalar::Text(TextRules::default());
        let json = || Scalar::Json { max_bytes: 20 };
        let of = |scalar: Scalar| Kind::Scalar(scalar);
        for (kind, fact, expected) in [
            (of(string()), text("a\"b"), Some("a\"b")),
            (of(string()), number("1.50"), Some("1.50")),
            (of(string()), Claim::Boolean(true), Some("true")),
            (of(string()), texts(&["a"]), None),
            (of(string()), text("a\0b"), None),
            (of(string()), text(&"x".repeat(MAX_CHARACTERS + 1)), None),
            (of(integer()), text("7"), Some("7")),
            (of(integer()), number("7"), Some("7")),
            (of(integer()), number("-7"), None),
            (of(integer()), number("7.5"), None),
            (of(integer()), text("seven"), None),
            (of(integer()), Claim::Boolean(true), None),
            (of(Scalar::Boolean), Claim::Boolean(false), Some("false")),
            (of(Scalar::Boolean), text("true"), Some("true")),
            (of(Scalar::Boolean), text("yes"), None),
            (of(json()), text("{}"), Some("\"{}\"")),
            (of(json()), number("7"), Some("7")),
            (of(json()), texts(&["a"]), None),
            (list(string()), text("[\"a\"]"), None),
            (list(string()), number("7"), None),
            (Kind::Identifier(vec!["a".to_owned()]), text("a"), None),
        ] {
            let expected = expected.map(|it| Checked::Text(it.to_owned()));
            assert_eq!(kind.convert(&fact), expected, "{kind:?} {fact:?}");
        }
        for (kind, fact, expected) in [
            (list(string()), texts(&["a", "7"]), Some(&["a", "7"][..])),
            (list(integer()), texts(&["1", "7"]), Some(&["1", "7"])),
            (list(integer()), texts(&["1", "x"]), None),
            (list(string()), texts(&["a\0"]), None),
            (list(string()), texts(&[]), None),
            (list(string()), texts(&["a", "b", "c"]), None),
        ] {
            let expected =
                expected.map(|it| Checked::Texts(it.iter().map(|&it| it.to_owned()).collect()));
            assert_eq!(kind.convert(&fact), expected, "{kind:?} {fact:?}");
        }
    }
}
