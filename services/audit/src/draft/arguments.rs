//! Arguments of tools.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor},
};

/// Returns an argument that is a text. The others are skipped and not read, so a value that cannot be
/// read, such as `1e999`, does not keep a statement out of its record.
#[must_use]
pub fn text_argument<'a>(arguments: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let mut arguments = serde_json::Deserializer::from_str(arguments);
    Deserializer::deserialize_map(&mut arguments, Named(name))
        .ok()
        .flatten()
}

/// Finds the member of this name.
struct Named<'n>(&'n str);

/// Compares a name without keeping it.
struct Is<'n>(&'n str);

/// A text, which is borrowed unless it has escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

// === impl Named ===

impl<'de> Visitor<'de> for Named<'_> {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_found) = members.next_key_seed(Is(self.0))? {
            if is_found {
                found = Some(members.next_value::<Text<'_>>()?.0);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

// === impl Is ===

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_whatever_the_other_arguments_are() {
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        let others = [
            "",
            r#""limit":1e999,"#,
            &format!(r#""rest":{deep},"#),
            r#""query_text":7,"#,
        ];
        for others in others {
            for (given, expected) in [
                (r#""SELECT 1""#, Some("SELECT 1")),
                (r#""a\nb""#, Some("a\nb")),
                ("7", None),
                ("null", None),
                (r#""\ud800""#, None),
            ] {
                let arguments = format!(r#"{{{others}"\u0071uery":{given},"more":[{{}}]}}"#);
                assert_eq!(
                    text_argument(&arguments, "query").as_deref(),
                    expected,
                    "{arguments}"
                );
                assert_eq!(text_argument(&arguments, "database"), None);
            }
        }
        assert_eq!(text_argument("[1]", "query"), None);
    }
}
