//! JSON values with unchanged numbers.
//!
//! Numbers keep their digits, so an identifier of twenty digits is printed as it was sent. Members
//! are sorted, as in all printed results of the API.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// A JSON value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Node {
    /// Members by name.
    Object(BTreeMap<String, Node>),
    /// Values in order.
    Array(Vec<Node>),
    /// Text.
    String(String),
    /// `null`, `true`, `false` or a number, as written.
    Literal(String),
}

/// Maximum nesting of a document.
const MAX_DEPTH: usize = 100;

// === impl Node ===

impl Node {
    /// `null`.
    pub(crate) fn null() -> Self {
        Self::Literal("null".to_owned())
    }

    /// Parses a document. Returns `None` if it is not JSON, or nested too deeply.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let raw: &RawValue = serde_json::from_slice(text).ok()?;
        Self::of(raw.get(), MAX_DEPTH)
    }

    fn of(text: &str, depth: usize) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        Some(match text.as_bytes().first()? {
            b'{' => Self::Object(
                serde_json::from_str::<BTreeMap<String, &RawValue>>(text)
                    .ok()?
                    .into_iter()
                    .map(|(name, value)| Some((name, Self::of(value.get(), depth)?)))
                    .collect::<Option<_>>()?,
            ),
            b'[' => Self::Array(
                serde_json::from_str::<Vec<&RawValue>>(text)
                    .ok()?
                    .into_iter()
                    .map(|value| Self::of(value.get(), depth))
                    .collect::<Option<_>>()?,
            ),
            b'"' => Self::String(serde_json::from_str(text).ok()?),
            _ => Self::Literal(text.to_owned()),
        })
    }

    /// Returns a member of an object.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.get(name),
            _ => None,
        }
    }

    /// Returns the text of a member that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match self.member(name)? {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns it on one line, without spaces.
    pub(crate) fn to_json(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        match self {
            Self::Object(members) => {
                text.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    text.push_str(&quoted(name));
                    text.push(':');
                    value.write(text);
                }
                text.push('}');
            }
            Self::Array(values) => {
                text.push('[');
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    value.write(text);
                }
                text.push(']');
            }
            Self::String(value) => text.push_str(&quoted(value)),
            Self::Literal(literal) => text.push_str(literal),
        }
    }
}

/// Returns a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

/// Indents a JSON document by two spaces, with unchanged order of members and digits of numbers.
///
/// Returns `None` if it is not JSON.
pub(crate) fn pretty(document: &[u8]) -> Option<String> {
    let raw: &RawValue = serde_json::from_slice(document).ok()?;
    let mut text = String::new();
    let mut depth = 0;
    let mut characters = raw.get().chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                text.push('"');
                copy_string(&mut characters, &mut text);
            }
            '{' | '[' => {
                text.push(character);
                while characters.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    text.push(end);
                } else {
                    depth += 1;
                    new_line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth -= 1;
                new_line(&mut text, depth);
                text.push(character);
            }
            ',' => {
                text.push(',');
                new_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            ' ' | '\n' | '\r' | '\t' => {}
            _ => text.push(character),
        }
    }
    Some(text)
}

fn copy_string(characters: &mut impl Iterator<Item = char>, text: &mut String) {
    while let Some(character) = characters.next() {
        text.push(character);
        match character {
            '"' => return,
            '\\' => text.extend(characters.next()),
            _ => {}
        }
    }
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_sorted_and_digits_are_kept() {
        let document = br#"{"z":12345678901234567890123,"a":{"c":1.10,"b":[true,null,"\u00e9"]}}"#;
        let node = Node::read(document).expect("JSON");
        assert_eq!(
            node.to_json(),
            r#"{"a":{"b":[true,null,"é"],"c":1.10},"z":12345678901234567890123}"#
        );
    }

    #[test]
    fn text_that_is_no_json_is_none() {
        for text in ["", "{", "<html>", "{} {}", "nul"] {
            assert_eq!(Node::read(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn absurd_depth_is_refused() {
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        assert_eq!(Node::read(deep.as_bytes()), None);
    }

    #[test]
    fn indenting_keeps_order_digits_and_text() {
        assert_eq!(
            pretty(br#"{"z":1.0, "a":[ ],"s":"a\"{,:b","l":[1,{"x":{}}]}"#).as_deref(),
            Some(
                "{\n  \"z\": 1.0,\n  \"a\": [],\n  \"s\": \"a\\\"{,:b\",\n  \"l\": [\n    1,\n    \
                 {\n      \"x\": {}\n    }\n  ]\n}"
            )
        );
    }
}
