//! Values that are found again in answers: texts from a fixed seed.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

/// Characters of a canary.
const LENGTH: usize = 24;

/// A shorter text would be found by chance.
pub(crate) const MIN_LENGTH: usize = 8;

const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";

/// A source of the same numbers for the same name.
#[derive(Clone, Debug)]
pub(crate) struct Seed(u64);

/// Values that are looked for, in all their forms.
#[derive(Debug, Default)]
pub(crate) struct Canaries(Vec<Canary>);

/// A value, and the forms in which an answer may have it.
#[derive(Debug)]
struct Canary {
    /// The value itself.
    value: String,
    /// Forms without regard to case, in lower case.
    folded: Vec<String>,
    /// Parts of Base64, which has both cases.
    encoded: Vec<String>,
}

// === impl Seed ===

impl Seed {
    /// Returns the seed of a name.
    pub(crate) fn of(name: &str) -> Self {
        // FNV-1a: the same on every machine and in every version.
        let mixed = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(mixed)
    }

    /// Returns the next number (splitmix64).
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a text of letters.
    pub(crate) fn word(&mut self) -> String {
        let letter = |_| {
            let place = usize::try_from(self.next() % 26).unwrap_or_default();
            char::from(LETTERS[place])
        };
        (0..LENGTH).map(letter).collect()
    }
}

// === impl Canaries ===

impl Canaries {
    /// Adds a value, unless it is short.
    pub(crate) fn add(&mut self, value: &str) {
        if value.chars().count() >= MIN_LENGTH && !self.0.iter().any(|known| known.value == value) {
            self.0.push(Canary::new(value));
        }
    }

    /// Returns whether there are no values.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the values.
    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|canary| &*canary.value)
    }

    /// Returns whether a text has one of the values in any form, but for those that were sent.
    pub(crate) fn are_in(&self, text: &str, sent: &[String]) -> bool {
        let folded = text.to_lowercase();
        let mut wanted = self.0.iter().filter(|it| !sent.contains(&it.value));
        wanted.any(|canary| canary.is_in(text, &folded))
    }
}

// === impl Canary ===

impl Canary {
    fn new(value: &str) -> Self {
        let lower = value.to_lowercase();
        let mut folded = vec![
            lower.chars().rev().collect(),
            hex(value),
            hex(&lower),
            hex(&value.to_uppercase()),
        ];
        // Answers are JSON, often with JSON or CSV in it.
        for text in [lower.replace('"', "\"\""), lower] {
            let in_json = escaped(&text);
            folded.extend([escaped(&in_json), in_json, text]);
        }
        folded.sort_unstable();
        folded.dedup();
        let encoded = (0..3).filter_map(|shift| encoded(value, shift)).collect();
        Self {
            value: value.to_owned(),
            folded,
            encoded,
        }
    }

    fn is_in(&self, text: &str, folded: &str) -> bool {
        self.folded.iter().any(|form| folded.contains(form))
            || self.encoded.iter().any(|form| text.contains(form))
    }
}

/// Writes a text as it stands within a string of JSON.
fn escaped(value: &str) -> String {
    let quoted = Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn hex(value: &str) -> String {
    let digits = value.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|it| char::from_digit(it.into(), 16));
    digits.collect()
}

/// Returns the characters of Base64 that the value alone decides where so many bytes stand before it.
fn encoded(value: &str, shift: usize) -> Option<String> {
    let text = [&vec![0; shift], value.as_bytes()].concat();
    let (from, to) = ((shift * 8).div_ceil(6), text.len() * 8 / 6);
    STANDARD.encode(text).get(from..to).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_words_for_the_same_name_and_others_for_another() {
        let words = |name: &str| {
            let mut seed = Seed::of(name);
            [seed.word(), seed.word()]
        };
        assert_eq!(words("B 1 orders"), words("B 1 orders"));
        assert_ne!(words("B 1 orders"), words("B 2 orders"));
        assert_eq!(words("x")[0].len(), LENGTH);
    }

    #[test]
    fn a_value_is_found_in_all_its_forms_and_not_where_it_was_sent() {
        let mut canaries = Canaries::default();
        let value = "qwertyuiopasdfghjklzxcvb";
        canaries.add(value);
        canaries.add("short");
        assert_eq!(canaries.values().count(), 1);
        let mut forms = vec![
            value.to_uppercase(),
            value.chars().rev().collect(),
            hex(value).to_uppercase(),
        ];
        for before in ["", "a", "ab", "abc"] {
            forms.push(STANDARD.encode(format!("{before}{value}{before}")));
        }
        for form in forms {
            assert!(canaries.are_in(&format!("id\n{form}\n"), &[]), "{form}");
            assert!(!canaries.are_in(&form, &[value.to_owned()]), "{form}");
        }
        assert!(!canaries.are_in(&value[1..], &[]));
    }

    #[test]
    fn a_value_with_quotes_is_found_in_json_and_csv_within_json() {
        let mut canaries = Canaries::default();
        let value = r#"O"Brien \ Söhne"#;
        canaries.add(value);
        canaries.add("äöüß");
        assert_eq!(canaries.values().count(), 1);
        let row = json!({"name": value}).to_string();
        let cell = format!("\"{}\"", value.replace('"', "\"\""));
        for answer in [
            value,
            &row,
            &json!(row).to_string(),
            &cell,
            &json!(cell).to_string(),
        ] {
            assert!(canaries.are_in(answer, &[]), "{answer}");
        }
    }
}
