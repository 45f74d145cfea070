//! JSON of clients, which allows comments and commas behind the last value.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{
    AdoptError,
    tree::{Lines, Node, Value},
};

/// Limit on the values within each other.
const MAX_DEPTH: usize = 64;

/// Reads a text. The error has the line only.
pub(crate) fn read(text: &str) -> Result<Node, AdoptError> {
    let plain = plain(text.strip_prefix('\u{feff}').unwrap_or(text));
    let raw: &RawValue = serde_json::from_str(&plain).map_err(|error| wrong(error.line()))?;
    Source::new(&plain).node(raw, 0)
}

fn wrong(line: usize) -> AdoptError {
    AdoptError::Syntax {
        language: "JSON",
        line,
    }
}

/// Replaces comments and needless commas by blanks, so that every line stays where it is.
fn plain(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    while let Some(&byte) = bytes.get(at) {
        let length = match (byte, bytes.get(at + 1)) {
            (b'"', _) => string(&bytes[at..]),
            (b'/', Some(b'/')) => comment(&mut bytes[at..], b"\n", 0),
            (b'/', Some(b'*')) => comment(&mut bytes[at..], b"*/", 2),
            _ => 1,
        };
        match byte {
            b',' => comma = Some(at),
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            b'/' | b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => comma = None,
        }
        at += length.max(1);
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Returns the length of a string in quotes.
fn string(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    at
}

/// Blanks a comment, and returns its length.
fn comment(bytes: &mut [u8], end: &[u8], kept: usize) -> usize {
    let rest = bytes.get(2..).unwrap_or_default();
    let found = rest.windows(end.len()).position(|part| part == end);
    let length = found.map_or(bytes.len(), |at| 2 + at + kept);
    for byte in bytes.iter_mut().take(length).filter(|it| **it != b'\n') {
        *byte = b' ';
    }
    length
}

/// A text with the positions of its lines.
struct Source<'a> {
    text: &'a str,
    lines: Lines,
}

/// Members of a map, in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

// === impl Source ===

impl<'a> Source<'a> {
    fn new(text: &'a str) -> Self {
        let lines = Lines::new(text);
        Self { text, lines }
    }

    fn node(&self, raw: &'a RawValue, depth: usize) -> Result<Node, AdoptError> {
        let text = raw.get();
        let at = text.as_ptr().addr() - self.text.as_ptr().addr();
        let line = self.lines.at(at);
        if depth > MAX_DEPTH {
            return Err(wrong(line));
        }
        let failed = |_| wrong(line);
        let value = match text.as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::from_str(text).map_err(failed)?;
                let members = members.into_iter().map(|(name, raw)| {
                    let node = self.node(raw, depth + 1)?;
                    Ok((name, node))
                });
                Value::Map(members.collect::<Result<_, AdoptError>>()?)
            }
            Some(b'[') => {
                let list: Vec<&RawValue> = serde_json::from_str(text).map_err(failed)?;
                let list = list.into_iter().map(|raw| self.node(raw, depth + 1));
                Value::List(list.collect::<Result<_, _>>()?)
            }
            Some(b'"') => Value::Text(serde_json::from_str(text).map_err(failed)?),
            Some(b't' | b'f') => Value::Boolean(text == "true"),
            Some(b'n') => Value::Null,
            _ => Value::Number(text.to_owned()),
        };
        Ok(Node::new(line, value))
    }
}

// === impl Members ===

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_and_last_commas_are_allowed_and_lines_stay() {
        let text = "\u{feff}{ // here\n  /* \"b\": 1,\n  */ \"a\": [1, \"//x,\", ], // ]\n  \"c\": {\n    \
                    \"d\": null,\n  },\n}\n";
        let node = read(text).expect("JSON");
        let a = node.find("a").expect("a");
        assert_eq!((a.line, a.texts()), (3, vec!["1".into(), "//x,".into()]));
        assert_eq!(node.find("c").map(|it| it.line), Some(4));
        assert_eq!(node.find("b"), None);
    }

    #[test]
    fn a_wrong_text_is_refused_with_its_line_only() {
        let deep = "[".repeat(100) + &"]".repeat(100);
        for (text, line) in [("{\n\"a\": swordfish}", 2), ("{", 1), (&*deep, 1), ("", 0)] {
            let error = read(text).expect_err(text).to_string();
            let expected = format!("line {line} is not JSON");
            assert!(error == expected || line == 0, "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[]\\[{}\",:/* \\\\na1\n]{0,40}") {
            let _ = read(&text);
        }
    }
}
