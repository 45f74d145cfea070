//! The members of a JSON object that another program signed.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The members of an object, each once and not parsed yet.
///
/// An object with a member twice is refused, because two readers could use different ones.
///
/// ```
/// use ziggurat_layers::access_token::Members;
///
/// let members = Members::parse(br#"{"jti": "1", "exp": 9}"#).expect("an object");
/// assert_eq!(members.get("exp"), Ok(Some(9)));
/// assert!(Members::parse(br#"{"jti": "1", "jti": "2"}"#).is_none());
/// ```
#[derive(Debug)]
pub struct Members<'a>(BTreeMap<Cow<'a, str>, &'a RawValue>);

/// A member that is not of the expected type.
///
/// ```
/// use ziggurat_layers::access_token::{Members, WrongType};
///
/// let members = Members::parse(br#"{"exp": "soon"}"#).expect("an object");
/// assert_eq!(members.get::<u64>("exp"), Err(WrongType));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongType;

impl<'a> Members<'a> {
    /// Parses an object; returns `None` for other documents, and for one with a member twice.
    ///
    /// ```
    /// use ziggurat_layers::access_token::Members;
    ///
    /// assert!(Members::parse(b"{}").is_some());
    /// assert!(Members::parse(b"[]").is_none());
    /// ```
    #[must_use]
    pub fn parse(document: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(document).ok()
    }

    /// Returns whether a member is there, with any value.
    ///
    /// ```
    /// use ziggurat_layers::access_token::Members;
    ///
    /// let members = Members::parse(br#"{"crit": null}"#).expect("an object");
    /// assert!(members.has("crit"));
    /// ```
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the JSON text of a member.
    ///
    /// ```
    /// use ziggurat_layers::access_token::Members;
    ///
    /// let members = Members::parse(br#"{"keys": [ ]}"#).expect("an object");
    /// assert_eq!(members.raw("keys"), Some("[ ]"));
    /// ```
    #[must_use]
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|value| value.get())
    }

    /// Reads a member, if it is there. `null` is a value of the wrong type, but for an `Option`.
    ///
    /// ```
    /// use ziggurat_layers::access_token::Members;
    ///
    /// let members = Members::parse(br#"{"aud": ["a", "b"]}"#).expect("an object");
    /// assert_eq!(members.get("aud"), Ok(Some(vec!["a".to_owned(), "b".to_owned()])));
    /// assert_eq!(members.get::<String>("iss"), Ok(None));
    /// ```
    ///
    /// # Errors
    /// Fails on a value of another type.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, WrongType> {
        let Some(raw) = self.raw(name) else {
            return Ok(None);
        };
        serde_json::from_str(raw).map(Some).map_err(|_| WrongType)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// A name that borrows from the document where it has no escapes.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = BTreeMap::new();
        while let Some(Name(name)) = map.next_key()? {
            if members.insert(name, map.next_value()?).is_some() {
                return Err(A::Error::custom("a member is there twice"));
            }
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_there_twice_is_refused_in_any_spelling() {
        for document in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"b":2,"a":1}"#,
            r#"{"iss":1,"i\u0073s":1}"#,
            r#"{"":1,"":2}"#,
            "[]",
            "1",
            "",
            r#"{"a":1}x"#,
        ] {
            assert!(Members::parse(document.as_bytes()).is_none(), "{document}");
        }
        let nested = Members::parse(br#"{"a":{"x":1},"b":{"x":1}}"#);
        assert_eq!(nested.expect("each once").raw("b"), Some(r#"{"x":1}"#));
    }

    #[test]
    fn a_member_of_the_wrong_type_is_not_a_missing_one() {
        let members = Members::parse(br#"{"a":null,"b":1.5,"c":3}"#).expect("an object");
        assert_eq!(members.get::<String>("a"), Err(WrongType));
        assert_eq!(members.get::<u64>("b"), Err(WrongType));
        assert_eq!(members.get::<u64>("c"), Ok(Some(3)));
        assert_eq!(members.get::<u64>("d"), Ok(None));
    }
}
