//! The id that matches an answer to its call.

use std::{
    fmt,
    hash::{Hash, Hasher},
};

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use crate::json_rpc::text::{Span, Text, unescape};

/// The id of a call: a string, a number or `null`, as the client wrote it.
///
/// Numbers keep their digits: nothing is rounded and `1` is not `1.0`. Strings are equal if their
/// text is equal, however its characters are escaped. So an id can be the key of a map of running
/// calls, and the id in the params of a cancellation can be looked up in it.
///
/// An id shares the buffer of its message and keeps it alive.
///
/// ```
/// use std::collections::HashSet;
/// use ziggurat_layers::json_rpc::Id;
///
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Cancelled {
///     request_id: Id,
/// }
///
/// let running: HashSet<Id> = HashSet::from([serde_json::from_str(r#""a/7""#)?]);
/// let cancelled: Cancelled = serde_json::from_str(r#"{"requestId":"a\/7"}"#)?;
/// assert!(running.contains(&cancelled.request_id));
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct Id {
    /// JSON.
    raw: Text,
    /// The text of a string with escapes.
    unescaped: Option<Box<str>>,
}

// === impl Id ===

impl Id {
    /// Makes an id of the value at `span`, unless it is of another type.
    pub(super) fn of_value(document: &Bytes, span: Span) -> Option<Self> {
        Self::new(Text::of_value(document, span))
    }

    fn new(raw: Text) -> Option<Self> {
        let text = raw.as_str();
        let unescaped = match text.as_bytes().first()? {
            b'"' if text.contains('\\') => Some(unescape(between_quotes(text)).into()),
            b'"' | b'-' | b'0'..=b'9' | b'n' => None,
            _ => return None,
        };
        Some(Self { raw, unescaped })
    }

    /// The id as JSON, byte for byte what the client sent.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Id;
    ///
    /// let id: Id = serde_json::from_str("1.50")?;
    /// assert_eq!(id.as_json(), "1.50");
    /// # Ok::<_, serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.raw.as_str()
    }

    /// The text of the id, if it is a string.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Id;
    ///
    /// let id: Id = serde_json::from_str(r#""a\/7""#)?;
    /// assert_eq!(id.as_str(), Some("a/7"));
    /// let number: Id = serde_json::from_str("7")?;
    /// assert_eq!(number.as_str(), None);
    /// # Ok::<_, serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        let raw = self.as_json();
        match &self.unescaped {
            Some(text) => Some(text),
            None => raw.starts_with('"').then(|| between_quotes(raw)),
        }
    }

    /// Returns whether the id is `null`.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Id;
    ///
    /// let id: Id = serde_json::from_str("null")?;
    /// assert!(id.is_null());
    /// # Ok::<_, serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.raw.as_bytes() == b"null"
    }

    /// Returns whether the id is a number without a fraction and without an exponent.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::Id;
    ///
    /// for (json, is_integer) in [("-7", true), ("7.0", false), (r#""7""#, false)] {
    ///     let id: Id = serde_json::from_str(json)?;
    ///     assert_eq!(id.is_integer(), is_integer, "{json}");
    /// }
    /// # Ok::<_, serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn is_integer(&self) -> bool {
        let digits = self.raw.as_bytes();
        let digits = digits.strip_prefix(b"-").unwrap_or(digits);
        digits.iter().all(u8::is_ascii_digit)
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        match (self.as_str(), other.as_str()) {
            (Some(a), Some(b)) => a == b,
            (None, None) => self.as_json() == other.as_json(),
            _ => false,
        }
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // A string and a number may have the same hash; `==` tells them apart.
        self.as_str().unwrap_or_else(|| self.as_json()).hash(state);
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_json())
    }
}

/// Reads an id with all its digits; needs `serde_json`, which keeps them.
impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let raw = String::from(Box::<str>::from(raw));
        Self::new(Text::from(raw))
            .ok_or_else(|| de::Error::custom("an id is a string, a number or null"))
    }
}

/// Writes the id with all its digits; needs `serde_json`, which keeps them.
impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.as_json()).expect("an id is JSON");
        raw.serialize(serializer)
    }
}

fn between_quotes(json: &str) -> &str {
    &json[1..json.len() - 1]
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hasher as _};

    use proptest::prelude::*;

    use super::*;

    fn id(json: &str) -> Id {
        serde_json::from_str(json).expect("an id")
    }

    fn hash(id: &Id) -> u64 {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn ids_are_equal_if_their_text_is_equal() {
        let cases = [
            ("1", "1", true),
            ("1", "1.0", false),
            ("1", r#""1""#, false),
            ("null", r#""null""#, false),
            (r#""a/b""#, r#""a\/b""#, true),
            (r#""\ud83d\ude00""#, "\"\u{1F600}\"", true),
            (r#""a""#, r#""A""#, false),
            ("9007199254740993", "9007199254740992", false),
        ];
        for (a, b, same) in cases {
            assert_eq!(id(a) == id(b), same, "{a} and {b}");
            assert!(!same || hash(&id(a)) == hash(&id(b)), "{a} and {b} hash");
        }
    }

    #[test]
    fn the_types_of_ids_are_distinguished() {
        let cases = [
            ("1", None, true, false),
            ("-0", None, true, false),
            ("1.5", None, false, false),
            ("1e3", None, false, false),
            ("null", None, false, true),
            (r#""7""#, Some("7"), false, false),
            (r#""""#, Some(""), false, false),
            (r#""\n""#, Some("\n"), false, false),
        ];
        for (json, text, is_integer, is_null) in cases {
            let id = id(json);
            assert_eq!(id.as_str(), text, "{json}");
            assert_eq!(id.is_integer(), is_integer, "{json}");
            assert_eq!(id.is_null(), is_null, "{json}");
            assert_eq!(id.to_string(), json, "{json}");
        }
    }

    #[test]
    fn other_types_are_no_ids() {
        for json in ["true", "false", "[]", "{}"] {
            assert!(serde_json::from_str::<Id>(json).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn a_number_survives_digit_for_digit(digits in "-?(0|[1-9][0-9]{0,60})(\\.[0-9]{1,40})?([eE][+-]?[0-9]{1,8})?") {
            let id = id(&digits);
            prop_assert_eq!(serde_json::to_string(&id).expect("JSON"), digits);
        }

        #[test]
        fn a_string_is_read_back(text: String) {
            let json = serde_json::to_string(&text).expect("JSON");
            let id = id(&json);
            prop_assert_eq!(id.as_str(), Some(&*text));
            prop_assert_eq!(serde_json::to_string(&id).expect("JSON"), json);
        }
    }
}
