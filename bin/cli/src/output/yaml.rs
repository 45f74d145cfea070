//! Writes a value as YAML, with sorted members, unchanged numbers, and quotes around text that
//! could be read as another type.

use std::fmt::Write as _;

use ziggurat_runtime::escape::is_printable;

use crate::output::node::Node;

/// Returns a YAML document of the value; nested parts are indented by `indent`.
pub(crate) fn yaml_of(node: &Node, indent: usize) -> String {
    let mut text = String::new();
    write(&mut text, node, 0, indent);
    text
}

/// Writes the value at the start of a line.
fn write(text: &mut String, node: &Node, depth: usize, indent: usize) {
    match node {
        Node::Object(members) if !members.is_empty() => {
            for (at, (name, value)) in members.iter().enumerate() {
                // The first member of an item follows its dash.
                if at > 0 || !text.ends_with("- ") {
                    pad(text, depth);
                }
                text.push_str(&scalar(name));
                text.push(':');
                member(text, value, depth, indent);
            }
        }
        Node::Array(items) if !items.is_empty() => {
            for item in items {
                pad(text, depth);
                text.push_str("- ");
                match item {
                    Node::Object(members) if !members.is_empty() => {
                        write(text, item, depth + 2, indent);
                    }
                    Node::Array(items) if !items.is_empty() => {
                        text.pop();
                        text.push('\n');
                        write(text, item, depth + 2, indent);
                    }
                    _ => write(text, item, 0, indent),
                }
            }
        }
        _ => {
            text.push_str(&flat(node));
            text.push('\n');
        }
    }
}

fn member(text: &mut String, value: &Node, depth: usize, indent: usize) {
    let is_nested = match value {
        Node::Object(members) => !members.is_empty(),
        Node::Array(items) => !items.is_empty(),
        _ => false,
    };
    if is_nested {
        text.push('\n');
        write(text, value, depth + indent, indent);
    } else {
        text.push(' ');
        text.push_str(&flat(value));
        text.push('\n');
    }
}

fn flat(node: &Node) -> String {
    match node {
        Node::Object(_) => "{}".to_owned(),
        Node::Array(_) => "[]".to_owned(),
        Node::String(value) => scalar(value),
        Node::Literal(literal) => literal.clone(),
    }
}

fn pad(text: &mut String, depth: usize) {
    text.extend(std::iter::repeat_n(' ', depth));
}

/// Returns text without quotes if it cannot be misread.
pub(crate) fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Returns text in double quotes. Invisible characters are escaped: YAML allows few of them, and
/// some count as newlines.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            _ if is_printable(character) => quoted.push(character),
            _ => {
                let _ = match u32::from(character) {
                    code @ ..=0xff => write!(quoted, "\\x{code:02x}"),
                    code @ ..=0xffff => write!(quoted, "\\u{code:04x}"),
                    code => write!(quoted, "\\U{code:08x}"),
                };
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Returns whether text begins with a letter and contains nothing with a meaning in YAML.
fn is_plain(text: &str) -> bool {
    let mut characters = text.chars();
    let begins = characters
        .next()
        .is_some_and(|first| first.is_alphabetic() || matches!(first, '/' | '_'));
    begins
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && text.chars().all(|c| {
            c.is_alphanumeric()
                || matches!(
                    c,
                    ' ' | '_' | '-' | '.' | '/' | ':' | '@' | '+' | '(' | ')' | ',' | '#'
                )
        })
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Words that some YAML parser reads as a boolean, null or a number.
const WORDS: [&str; 13] = [
    "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nil", "inf", "nan", "infinity",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(json: &str, indent: usize) -> String {
        yaml_of(&Node::read(json.as_bytes()).expect("JSON"), indent)
    }

    #[test]
    fn members_are_sorted_and_moved_in_by_four() {
        assert_eq!(
            yaml(
                r#"{"request":{"method":"PATCH","body":{"name":"acme"}},"dry_run":true,"checks":[]}"#,
                4
            ),
            "checks: []\ndry_run: true\nrequest:\n    body:\n        name: acme\n    method: PATCH\n"
        );
    }

    #[test]
    fn a_list_of_records_has_a_dash_before_each() {
        assert_eq!(
            yaml(
                r#"[{"name":"a","tags":["x","y"]},{"name":"b"},[1,[2]],{}]"#,
                4
            ),
            "- name: a\n  tags:\n      - x\n      - \"y\"\n- name: b\n-\n  - 1\n  -\n    - 2\n- {}\n"
        );
    }

    #[test]
    fn text_that_could_be_something_else_is_quoted() {
        for text in [
            "",
            "true",
            "Yes",
            "no",
            "null",
            "~",
            "12",
            "1e3",
            "0x1f",
            ".5",
            "-",
            "- a",
            "a: b",
            "a #b",
            "2026-01-02T03:04:05Z",
            "tail ",
            "a:",
            "*a",
            "&a",
            "!a",
            "{a",
            "[a",
            "\"",
            "'",
            "two\nlines",
            "\u{1b}[0m",
            "NaN",
            "inf",
            "=",
            "@a",
            "%a",
            "`a",
        ] {
            let node = Node::String(text.to_owned());
            let written = yaml_of(&node, 4);
            assert!(written.starts_with('"'), "{text:?} became {written}");
        }
        for text in [
            "acme",
            "https://api.example.com/x",
            "Ada Lovelace",
            "ada@example.com",
            "Zoë",
        ] {
            assert_eq!(
                yaml_of(&Node::String(text.to_owned()), 4),
                format!("{text}\n")
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn a_reader_gets_back_what_was_written(texts in proptest::collection::vec(".*", 0..6)) {
            let node = Node::Array(texts.iter().cloned().map(Node::String).collect());
            let read: Vec<String> = serde_yaml::from_str(&yaml_of(&node, 4)).expect("YAML");
            proptest::prop_assert_eq!(read, texts);
        }
    }
}
