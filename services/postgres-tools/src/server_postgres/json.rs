//! JSON as JavaScript writes it.

use std::collections::HashMap;

use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeStruct as _},
};
use serde_json::value::RawValue;

/// Limit on the depth of a document that is written again. A deeper one is copied.
const MAX_DEPTH: usize = 100;

/// A value of JavaScript.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    /// The content of a `Buffer`.
    Bytes(Vec<u8>),
    List(Vec<Self>),
    /// Its members, in the order of [`ordered`].
    Object(Vec<(String, Self)>),
    /// A document as it is.
    Raw(String),
}

/// Reads a document that PostgreSQL has checked.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

// === impl Json ===

impl Json {
    /// Reads a document of PostgreSQL, with the numbers of JavaScript. It is copied if JavaScript has
    /// texts in it that are not Unicode, and if it is deep.
    pub(super) fn document(text: &str) -> Self {
        let mut reader = Reader { text, at: 0 };
        let read = reader.value(0);
        read.unwrap_or_else(|| Self::Raw(text.trim().to_owned()))
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = |text: String| RawValue::from_string(text).map_err(S::Error::custom);
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(is_true) => serializer.serialize_bool(*is_true),
            Self::Number(number) => raw(written(*number))?.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => {
                let mut buffer = serializer.serialize_struct("Buffer", 2)?;
                buffer.serialize_field("type", "Buffer")?;
                buffer.serialize_field("data", bytes)?;
                buffer.end()
            }
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
            }
            Self::Raw(document) => raw(document.clone())?.serialize(serializer),
        }
    }
}

// === impl Reader ===

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.next()? {
            b'{' => {
                let mut members = Vec::new();
                self.at += 1;
                while self.next()? != b'}' {
                    let name = self.string()?;
                    self.skip(b':')?;
                    members.push((name, self.value(depth + 1)?));
                    self.skip(b',');
                }
                self.at += 1;
                Some(Json::Object(ordered(members)))
            }
            b'[' => {
                let mut items = Vec::new();
                self.at += 1;
                while self.next()? != b']' {
                    items.push(self.value(depth + 1)?);
                    self.skip(b',');
                }
                self.at += 1;
                Some(Json::List(items))
            }
            b'"' => self.string().map(Json::Text),
            _ => {
                let rest = &self.text[self.at..];
                let end = rest.find(|c: char| ",]}".contains(c) || c.is_ascii_whitespace());
                let word = &rest[..end.unwrap_or(rest.len())];
                self.at += word.len();
                match word {
                    "null" => Some(Json::Null),
                    "true" | "false" => Some(Json::Bool(word == "true")),
                    number => number.parse().ok().map(Json::Number),
                }
            }
        }
    }

    /// Returns the next byte that is not white space.
    fn next(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let at = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.at += at;
        Some(rest[at])
    }

    fn skip(&mut self, mark: u8) -> Option<()> {
        let is_there = self.next()? == mark;
        self.at += usize::from(is_there);
        is_there.then_some(())
    }

    fn string(&mut self) -> Option<String> {
        self.next()?;
        let bytes = self.text.as_bytes();
        let mut end = self.at + 1;
        while *bytes.get(end)? != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let text = self.text.get(self.at..=end)?;
        self.at = end + 1;
        serde_json::from_str(text).ok()
    }
}

/// Puts the members of an object into the order of JavaScript: of equal names the last value at the
/// place of the first, and indexes of arrays before other names.
pub(super) fn ordered<T>(members: impl IntoIterator<Item = (String, T)>) -> Vec<(String, T)> {
    let mut places = HashMap::new();
    let mut found: Vec<(String, T)> = Vec::new();
    for (name, value) in members {
        if let Some(place) = places.get(&name) {
            found[*place] = (name, value);
        } else {
            places.insert(name.clone(), found.len());
            found.push((name, value));
        }
    }
    found.sort_by_key(|(name, _)| {
        let index = name.parse::<u32>().ok();
        // It is an index only in its shortest form, and the largest is not an index.
        let index = index.filter(|index| *index < u32::MAX && index.to_string() == *name);
        index.map_or(u64::MAX, u64::from)
    });
    found
}

/// Writes a value with an indent of two spaces.
pub(super) fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("texts and numbers are JSON")
}

/// Writes a number as JavaScript does.
fn written(number: f64) -> String {
    if !number.is_finite() {
        return "null".to_owned();
    }
    let scientific = format!("{number:e}");
    match scientific.split_once('e') {
        _ if number == 0.0 => "0".to_owned(),
        Some((digits, exponent)) => match exponent.parse::<i32>() {
            Ok(exponent @ 21..) => format!("{digits}e+{exponent}"),
            Ok(..-6) => scientific,
            _ => number.to_string(),
        },
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        for (number, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
            (1e20, "100000000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (-1.25e300, "-1.25e+300"),
            (5e-324, "5e-324"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (f64::NAN, "null"),
            (f64::NEG_INFINITY, "null"),
        ] {
            assert_eq!(written(number), expected);
        }
    }

    #[test]
    fn a_document_has_the_members_and_numbers_of_javascript() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        for (document, expected) in [
            (r#"{"b": 1.0, "a": [], "b": {}}"#, r#"{"b":{},"a":[]}"#),
            (
                r#"{"x":1,"10":2,"9":3,"01":4}"#,
                r#"{"9":3,"10":2,"x":1,"01":4}"#,
            ),
            (
                r#"{"4294967295":1,"4294967294":2}"#,
                r#"{"4294967294":2,"4294967295":1}"#,
            ),
            (
                " [ 1e400 , true,false, null,\"a\\u00e9\\n\" ] ",
                "[null,true,false,null,\"aé\\n\"]",
            ),
            ("12345678901234567890", "12345678901234567000"),
            (r#""\ud800""#, r#""\ud800""#),
            (&deep, &deep),
        ] {
            let written = serde_json::to_string(&Json::document(document)).expect("JSON");
            assert_eq!(written, expected, "{document}");
        }
    }
}
