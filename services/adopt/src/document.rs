//! Writes YAML with notes behind its values.

use std::fmt::Write as _;

/// Words that YAML does not read as texts.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// A value of a document.
#[derive(Clone, Debug)]
pub(crate) enum Yaml {
    /// A text, in quotes where it needs them.
    Text(String),
    /// A number or a boolean, as it is.
    Plain(String),
    /// Values on one line.
    Row(Vec<Yaml>),
    /// Maps, one below the other.
    List(Vec<Members>),
    Map(Members),
}

/// The members of a map, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members(Vec<Member>);

#[derive(Clone, Debug)]
struct Member {
    /// A comment has no key.
    key: Option<&'static str>,
    value: Yaml,
    note: Option<String>,
}

// === impl Members ===

impl Members {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn set(&mut self, key: &'static str, value: impl Into<Yaml>) {
        self.set_noted(key, value, None);
    }

    /// Adds a member with a comment behind its value.
    pub(crate) fn set_noted(
        &mut self,
        key: &'static str,
        value: impl Into<Yaml>,
        note: Option<String>,
    ) {
        let value = value.into();
        let key = Some(key);
        self.0.push(Member { key, value, note });
    }

    /// Sets a member in place of one with the same key.
    pub(crate) fn replace(
        &mut self,
        key: &'static str,
        value: impl Into<Yaml>,
        note: Option<String>,
    ) {
        self.0.retain(|member| member.key != Some(key));
        self.set_noted(key, value, note);
    }

    pub(crate) fn set_if(&mut self, key: &'static str, value: Option<impl Into<Yaml>>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }

    /// Adds all members of another map.
    pub(crate) fn extend(&mut self, more: &Self) {
        self.0.extend(more.0.iter().cloned());
    }

    /// Adds a line with a comment.
    pub(crate) fn comment(&mut self, text: impl Into<String>) {
        self.0.push(Member {
            key: None,
            value: Yaml::Text(text.into()),
            note: None,
        });
    }

    /// Writes the document.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        self.write(0, false, &mut text);
        text
    }

    /// Writes the members; the first one goes behind a dash where `follows` is set.
    fn write(&self, depth: usize, mut follows: bool, text: &mut String) {
        for Member { key, value, note } in &self.0 {
            if !std::mem::take(&mut follows) {
                text.push_str(&"  ".repeat(depth));
            }
            match (key, value) {
                (Some(key), value) => {
                    let _ = write!(text, "{key}:");
                    value.write(depth, note.as_deref(), text);
                }
                (None, Yaml::Text(comment)) => {
                    let _ = writeln!(text, "# {}", one_line(comment));
                }
                (None, _) => {}
            }
        }
    }
}

// === impl Yaml ===

impl Yaml {
    fn write(&self, depth: usize, note: Option<&str>, text: &mut String) {
        let note = note.map(|it| format!("   # {}", one_line(it)));
        let note = note.unwrap_or_default();
        match self {
            Self::Text(value) if is_block(value) => {
                let _ = writeln!(text, " |-{note}");
                for line in value.lines() {
                    let line = format!("{}{line}", "  ".repeat(depth + 1));
                    let _ = writeln!(text, "{}", line.trim_end());
                }
            }
            Self::Map(members) if !members.is_empty() => {
                let _ = writeln!(text, "{note}");
                members.write(depth + 1, false, text);
            }
            Self::List(list) if !list.is_empty() => {
                let _ = writeln!(text, "{note}");
                for members in list {
                    let _ = write!(text, "{}- ", "  ".repeat(depth));
                    members.write(depth + 1, true, text);
                }
            }
            value => {
                let _ = writeln!(text, " {}{note}", value.inline());
            }
        }
    }

    fn inline(&self) -> String {
        match self {
            Self::Text(text) => scalar(text),
            Self::Plain(text) => text.clone(),
            Self::Row(values) => {
                let values: Vec<_> = values.iter().map(Self::inline).collect();
                format!("[{}]", values.join(", "))
            }
            Self::List(_) => "[]".to_owned(),
            Self::Map(_) => "{}".to_owned(),
        }
    }
}

impl From<&str> for Yaml {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Yaml {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Yaml {
    fn from(value: bool) -> Self {
        Self::Plain(value.to_string())
    }
}

impl From<Vec<String>> for Yaml {
    fn from(texts: Vec<String>) -> Self {
        Self::Row(texts.into_iter().map(Self::Text).collect())
    }
}

impl From<Members> for Yaml {
    fn from(members: Members) -> Self {
        Self::Map(members)
    }
}

impl From<Vec<Members>> for Yaml {
    fn from(list: Vec<Members>) -> Self {
        Self::List(list)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a text can be a block of lines, as a person would write it.
fn is_block(text: &str) -> bool {
    let is_plain = |c: char| c == '\n' || !needs_escape(c);
    text.contains('\n')
        && !text.starts_with(char::is_whitespace)
        && !text.ends_with('\n')
        && text.chars().all(is_plain)
        && text.lines().all(|line| line.trim_end() == line)
}

fn needs_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}')
}

/// Writes a text on one line, in quotes unless it is a plain word.
fn scalar(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/'))
        && text.chars().all(is_part)
        && !WORDS.contains(&&*text.to_ascii_lowercase());
    if is_word {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if needs_escape(c) => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_document_reads_as_a_person_would_write_it() {
        let mut inner = Members::default();
        inner.set("name", "orders");
        inner.set("statement", "SELECT 1\n\nFROM t");
        inner.comment("a\nb");
        inner.set_noted("host", "db.example", Some("default of HOST".to_owned()));
        inner.set("allowed", vec!["a".to_owned(), "no".to_owned()]);
        let mut document = Members::default();
        document.set("tools", vec![inner]);
        document.set("http", Members::default());
        document.set("enabled", true);
        assert_eq!(
            document.render(),
            "tools:\n- name: orders\n  statement: |-\n    SELECT 1\n\n    FROM t\n  # a b\n  \
             host: db.example   # default of HOST\n  allowed: [a, \"no\"]\nhttp: {}\nenabled: true\n"
        );
    }

    proptest! {
        #[test]
        fn every_text_is_read_as_it_was(text in "(?s).{0,20}") {
            let mut inner = Members::default();
            inner.set("text", text.as_str());
            let mut document = Members::default();
            document.set("list", vec![inner]);
            let read: serde_json::Value = serde_yaml::from_str(&document.render()).expect("YAML");
            prop_assert_eq!(read["list"][0]["text"].as_str(), Some(&*text));
        }
    }
}
