//! Words in the titles and texts of conversations and of items of the library.

use serde_json::Value;

/// Maximum number of words that are looked for; further ones are ignored.
const MAX_WORDS: usize = 16;

/// Words that a conversation or an item must have, without regard to case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words(Vec<String>);

// === impl Words ===

impl Words {
    /// Takes the words of a text. Returns `None` if it has no words.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let words = text.split_whitespace().take(MAX_WORDS);
        let words: Vec<_> = words.map(str::to_lowercase).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// Returns the longest word, by which a database finds texts that may have all words.
    pub(crate) fn longest(&self) -> &str {
        let words = self.0.iter();
        words.max_by_key(|word| word.len()).map_or("", |word| word)
    }

    /// Returns whether all words are in a title and a text.
    pub(crate) fn are_in_text(&self, title: &str, text: &str) -> bool {
        let mut missing = self.all();
        remove_found(&mut missing, title);
        remove_found(&mut missing, text);
        missing.is_empty()
    }

    /// Returns whether all words are in a title and the texts of messages.
    pub(crate) fn are_in(&self, title: &str, messages: &str) -> bool {
        let mut missing = self.all();
        remove_found(&mut missing, title);
        if missing.is_empty() {
            return true;
        }
        // Messages that are not JSON have no texts.
        let messages: Value = serde_json::from_str(messages).unwrap_or_default();
        for message in messages.as_array().into_iter().flatten() {
            look_into(&mut missing, &message["content"]);
        }
        missing.is_empty()
    }

    fn all(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }
}

/// Looks for words in a text, or in a list of blocks: texts and results of tools.
fn look_into(missing: &mut Vec<&str>, content: &Value) {
    match content {
        Value::String(text) => remove_found(missing, text),
        Value::Array(blocks) => {
            for block in blocks {
                for member in ["text", "content"] {
                    look_into(missing, &block[member]);
                }
            }
        }
        _ => {}
    }
}

fn remove_found(missing: &mut Vec<&str>, text: &str) {
    if !missing.is_empty() {
        let text = text.to_lowercase();
        missing.retain(|word| !text.contains(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_must_be_in_the_title_or_in_a_text_of_a_message() {
        let messages = r#"[{"role": "user", "content": "Which FERNS \"like\" Schatten?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Über all\u0065s"},
                {"type": "tool_use", "name": "query_database", "input": {"query": "secret"}},
                {"type": "tool_result", "content": [{"type": "text", "text": "42 rows"}]}]}]"#;
        for (text, expected) in [
            ("ferns", true),
            ("  shop\tFERN ", true),
            ("ÜBER alles", true),
            ("42 rows like", true),
            ("\"like\"", true),
            ("ferns moss", false),
            ("role", false),
            ("user", false),
            ("secret", false),
            ("query_database", false),
        ] {
            let words = Words::of(text).expect("words");
            assert_eq!(words.are_in("The Shop", messages), expected, "{text}");
        }
        assert_eq!(Words::of(" \n"), None);
        assert!(Words::of("shop").is_some_and(|words| words.are_in("Shop", "no JSON")));
    }

    #[test]
    fn every_word_must_be_in_the_title_or_in_the_text() {
        for (text, expected) in [
            ("revenue", true),
            ("MONTH revenue", true),
            ("straße", true),
            ("revenue week", false),
        ] {
            let words = Words::of(text).expect("words");
            let query = "select 'STRASSE', 'STRAßE' group by month";
            assert_eq!(words.are_in_text("Revenue", query), expected, "{text}");
        }
    }
}
