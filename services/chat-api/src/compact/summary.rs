//! Summary of the removed messages of a chat.

use std::{borrow::Cow, collections::HashSet, iter, sync::LazyLock};

use serde::Serialize;
use utoipa::ToSchema;

use crate::compact::{
    message::{Message, Role},
    phrases::{Groups, Phrases},
};

const SQL: Groups = Groups::only(0);
const ERROR: Groups = Groups::only(1);

static PHRASES: LazyLock<Phrases> =
    LazyLock::new(|| Phrases::new(&[&["select", "create", "alter"], &["error"]]));

/// Words before `table` that are not names.
const KEYWORDS: [&str; 16] = [
    "select", "from", "where", "join", "inner", "outer", "left", "right", "create", "alter",
    "drop", "insert", "update", "delete", "into", "values",
];

/// Verbs of requests.
const VERBS: [&str; 20] = [
    "show", "list", "get", "fetch", "query", "create", "add", "insert", "update", "modify",
    "delete", "remove", "drop", "analyze", "explain", "search", "find", "look", "check", "view",
];

/// Maximum length of a name in PostgreSQL; longer words are not names.
const MAX_NAME: usize = 63;
const MAX_TOPIC: usize = 80;

/// Summary of the removed messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ChatSummary)]
pub(super) struct Summary {
    /// Beginnings of questions.
    topics: Vec<String>,
    /// Mentioned tables.
    tables: Vec<String>,
    /// Called tools.
    tools: Vec<String>,
    /// The whole summary in one line.
    pub(super) description: String,
}

/// Collects the summary from one message after another.
#[derive(Debug, Default)]
pub(super) struct SummaryBuilder {
    topics: DistinctTexts,
    tables: DistinctTexts,
    tools: DistinctTexts,
    more: Option<EnhancedData>,
}

/// Additional data for an enhanced summary.
#[derive(Debug, Default)]
struct EnhancedData {
    actions: DistinctTexts,
    entities: DistinctTexts,
    statements: usize,
    errors: usize,
}

/// Distinct texts in the order of their first occurrence.
#[derive(Debug, Default)]
struct DistinctTexts {
    list: Vec<String>,
    known: HashSet<String>,
}

// === impl SummaryBuilder ===

impl SummaryBuilder {
    /// Collects the data of an enhanced summary too if `enhanced` is true.
    pub(super) fn with_more(enhanced: bool) -> Self {
        Self {
            more: enhanced.then(EnhancedData::default),
            ..Self::default()
        }
    }

    pub(super) fn take(&mut self, message: &Message<'_>) {
        let text = &*message.text;
        // A tool result is not a question, even in a message of the user.
        let is_asked = message.role == Role::User && message.results.is_empty();
        if is_asked && let Some(topic) = topic(text) {
            self.topics.add(topic);
        }
        for table in tables(text) {
            let table = table.to_ascii_lowercase();
            if !KEYWORDS.contains(&&*table) {
                self.tables.add(table);
            }
        }
        for used in message.uses.iter().filter(|used| !used.name.is_empty()) {
            self.tools.add(&*used.name);
        }
        if let Some(more) = &mut self.more {
            more.take(text, is_asked);
        }
    }

    /// Formats the summary line for `gone` removed messages.
    pub(super) fn description(&self, gone: usize) -> String {
        let mut parts = Vec::new();
        match &self.more {
            None => {
                parts.push(Cow::Borrowed("[Compressed context:"));
                parts.extend(self.topics.part("Topics", 3));
                parts.extend(self.tables.part("Tables", usize::MAX));
                parts.extend(self.tools.part("Tools used", usize::MAX));
            }
            Some(more) => {
                parts.push(Cow::Borrowed("[Enhanced context:"));
                parts.extend(more.actions.part("Actions", 3));
                parts.extend(more.entities.part("Entities", 5));
                parts.extend(count(more.statements, "SQL operations"));
                parts.extend(count(more.errors, "errors encountered"));
                parts.extend(self.tables.part("Tables", usize::MAX));
                parts.extend(self.tools.part("Tools", usize::MAX));
            }
        }
        parts.push(format!("{gone} messages compressed]").into());
        parts.join(" ")
    }

    /// Returns the summary of `gone` removed messages.
    pub(super) fn summary(self, gone: usize) -> Summary {
        let description = self.description(gone);
        Summary {
            topics: self.topics.list,
            tables: self.tables.list,
            tools: self.tools.list,
            description,
        }
    }
}

// === impl EnhancedData ===

impl EnhancedData {
    fn take(&mut self, text: &str, is_asked: bool) {
        let signs = PHRASES.find(text, Groups::default());
        self.statements += usize::from(signs.has(SQL));
        self.errors += usize::from(signs.has(ERROR));
        let is_part = |character: char| character == '_' || character.is_alphanumeric();
        let mut is_named = false;
        for word in text.split(|character| !is_part(character)) {
            if word.is_empty() {
                continue;
            }
            if is_named && word.len() <= MAX_NAME {
                self.entities.add(word);
            }
            let is = |other: &str| word.eq_ignore_ascii_case(other);
            is_named = ["table", "schema", "database"].into_iter().any(is);
            if is_asked && let Some(verb) = VERBS.into_iter().find(|verb| is(verb)) {
                self.actions.add(verb);
            }
        }
    }
}

// === impl DistinctTexts ===

impl DistinctTexts {
    fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.known.contains(&text) {
            self.known.insert(text.clone());
            self.list.push(text);
        }
    }

    /// Returns up to `most` texts after a heading, if there are any.
    fn part(&self, heading: &str, most: usize) -> Option<Cow<'static, str>> {
        let shown = &self.list[..self.list.len().min(most)];
        (!shown.is_empty()).then(|| format!("{heading}: {}", shown.join(", ")).into())
    }
}

fn count(number: usize, what: &str) -> Option<Cow<'static, str>> {
    (number > 0).then(|| format!("{number} {what}").into())
}

/// Returns the beginning of a text, if it has more than two words and 20 bytes.
fn topic(text: &str) -> Option<String> {
    if text.len() <= 20 || text.split_whitespace().nth(2).is_none() {
        return None;
    }
    let words: Vec<_> = text.split_whitespace().take(5).collect();
    let mut topic = words.join(" ");
    if topic.len() > MAX_TOPIC {
        topic.truncate(topic.floor_char_boundary(MAX_TOPIC));
        topic.push_str("...");
    }
    Some(topic)
}

/// Returns the words before `table`.
fn tables(text: &str) -> impl Iterator<Item = &str> {
    const TABLE: &[u8] = b"table";
    let bytes = text.as_bytes();
    let mut at = 0;
    iter::from_fn(move || {
        loop {
            let start = at + run(&bytes[at..], |byte| !is_word(byte));
            let end = start + run(&bytes[start..], is_word);
            if start == end {
                return None;
            }
            let next = end + run(&bytes[end..], |byte| byte.is_ascii_whitespace());
            let word = bytes[next..].get(..TABLE.len());
            let is_table = next > end && word.is_some_and(|word| word.eq_ignore_ascii_case(TABLE));
            at = if is_table { next + TABLE.len() } else { end };
            if is_table && end - start <= MAX_NAME {
                return Some(&text[start..end]);
            }
        }
    })
}

/// Returns the number of leading bytes that match.
fn run(bytes: &[u8], is_it: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_it(**byte)).count()
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::RawValue};

    use super::*;

    fn summary(messages: &[(&str, Value)], enhanced: bool) -> Summary {
        let mut notes = SummaryBuilder::with_more(enhanced);
        for (role, content) in messages {
            let json = json!({"role": role, "content": content}).to_string();
            let raw = RawValue::from_string(json).expect("JSON");
            notes.take(&Message::read(&raw).expect("a message"));
        }
        notes.summary(7)
    }

    #[test]
    fn topics_are_the_beginnings_of_questions() {
        let long = "abcdefghij".repeat(3);
        let long = [&*long; 6].join(" ");
        for (role, text, topic) in [
            (
                "user",
                "How many orders are there today?",
                Some("How many orders are there"),
            ),
            (
                "user",
                "  spread   over\n the   lines  ",
                Some("spread over the lines"),
            ),
            ("user", "twenty bytes are few", None),
            ("user", "onlytwo wordshereinit", None),
            ("assistant", "How many orders are there today?", None),
        ] {
            let summary = summary(&[(role, json!(text))], false);
            assert_eq!(summary.topics.first().map(String::as_str), topic, "{text}");
        }
        let cut = summary(&[("user", json!(long))], false).topics.remove(0);
        assert_eq!(cut, format!("{}...", &long[..80]));
        let wide = format!("{}é and more words", "x".repeat(79));
        let cut = summary(&[("user", json!(wide))], false).topics.remove(0);
        assert_eq!(cut, format!("{}...", "x".repeat(79)));
        let result = json!([{"type": "tool_result", "content": "Database: main and so on"}]);
        assert_eq!(summary(&[("user", result)], false).topics, [""; 0]);
    }

    #[test]
    fn tables_are_the_words_before_the_word_table() {
        for (text, expected) in [
            (
                "the Orders TABLE and the users\n\ttables",
                &["orders", "users"][..],
            ),
            ("create table x; from table; values table", &[]),
            ("table", &[]),
            ("usertable", &[]),
            ("a table table b", &["a"]),
            ("a table b table", &["a", "b"]),
            ("a tablex table", &["a", "x"]),
            ("größe table", &["größe"]),
            ("x_1 table, x_1 table", &["x_1"]),
            ("a-b table", &["b"]),
        ] {
            let found = summary(&[("tool", json!(text))], false).tables;
            assert_eq!(found, expected, "{text}");
        }
        let long = format!("{} table", "x".repeat(64));
        assert_eq!(summary(&[("tool", json!(long))], false).tables, [""; 0]);
    }

    #[test]
    fn a_description_omits_empty_parts() {
        let call = |name: &str| json!([{"type": "tool_use", "id": "1", "name": name, "input": {}}]);
        let empty = summary(&[], false);
        let description = "[Compressed context: 7 messages compressed]";
        assert_eq!(empty.description, description);
        let many = summary(
            &[
                ("user", json!("one two three four five six")),
                ("user", json!("this is about the orders table")),
                ("user", json!("something else that matters here")),
                ("user", json!("a fourth thing we talked about")),
                ("user", json!("one two three four five seven")),
                ("assistant", call("query_database")),
                ("assistant", call("count_rows")),
                ("assistant", call("query_database")),
            ],
            false,
        );
        assert_eq!(many.topics.len(), 4, "each once");
        assert_eq!(
            many.description,
            "[Compressed context: Topics: one two three four five, this is about the orders, \
             something else that matters here Tables: orders \
             Tools used: query_database, count_rows 7 messages compressed]"
        );
    }

    #[test]
    fn an_enhanced_description_has_actions_and_counts() {
        let call = json!([{"type": "tool_use", "id": "1", "name": "query_database", "input": {}}]);
        let enhanced = summary(
            &[
                (
                    "user",
                    json!("Show me the schema sales, then list and count the table orders"),
                ),
                ("user", json!("FIND it, then drop it")),
                ("assistant", json!("SELECT 1 failed with an Error, show it")),
                (
                    "assistant",
                    json!("ALTER the database shop; the big orders table"),
                ),
                ("assistant", call),
            ],
            true,
        );
        assert_eq!(
            enhanced.description,
            "[Enhanced context: Actions: show, list, find Entities: sales, orders, shop \
             2 SQL operations 1 errors encountered Tables: the, orders Tools: query_database \
             7 messages compressed]"
        );
        let empty = summary(&[("user", json!("hello"))], true);
        assert_eq!(
            empty.description,
            "[Enhanced context: 7 messages compressed]"
        );
    }
}
