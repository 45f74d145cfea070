//! The arguments of a prompt.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserializer as _,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use ziggurat_layers::json_rpc::Error;

use crate::{PromptArgument, params};

/// The arguments of a prompt request: texts by name.
///
/// Only arguments that the prompt declares are kept, so that a request cannot use more memory than
/// it sent.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PromptArguments {
    texts: BTreeMap<String, String>,
}

struct Declared<'a>(&'a [PromptArgument]);

// === impl PromptArguments ===

impl PromptArguments {
    /// Reads a JSON object of strings.
    pub(crate) fn read(json: &str, declared: &[PromptArgument]) -> Result<Self, Error> {
        serde_json::Deserializer::from_str(json)
            .deserialize_map(Declared(declared))
            .map_err(|_| params::invalid("the values of `arguments` must be strings"))
    }

    /// Returns the argument as given, even if it is blank.
    #[must_use]
    pub fn given(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// Returns the argument, unless it is missing or blank.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let text = self.texts.get(name)?;
        Some(text.as_str()).filter(|text| !text.trim().is_empty())
    }

    /// Returns whether the argument is `true`.
    #[must_use]
    pub fn is_true(&self, name: &str) -> bool {
        self.text(name)
            .is_some_and(|text| text.trim().eq_ignore_ascii_case("true"))
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for PromptArguments {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(arguments: I) -> Self {
        let arguments = arguments.into_iter();
        Self {
            texts: arguments
                .map(|(name, text)| (name.into(), text.into()))
                .collect(),
        }
    }
}

impl fmt::Debug for PromptArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The texts are left out: they are private data of the user.
        f.debug_set().entries(self.texts.keys()).finish()
    }
}

// === impl Declared ===

impl<'de> Visitor<'de> for Declared<'_> {
    type Value = PromptArguments;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PromptArguments, A::Error> {
        let mut texts = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let raw: &RawValue = map.next_value()?;
            if !raw.get().starts_with('"') {
                return Err(A::Error::custom("a value is not a string"));
            }
            if self.0.iter().any(|argument| argument.name == name) {
                let text = serde_json::from_str(raw.get()).map_err(A::Error::custom)?;
                texts.insert(name, text);
            }
        }
        Ok(PromptArguments { texts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<PromptArguments, Error> {
        let declared = ["topic", "deep"].map(|name| PromptArgument::optional(name, "About."));
        PromptArguments::read(json, &declared)
    }

    #[test]
    fn only_declared_arguments_are_kept() {
        let arguments = read(r#"{"topic":"a\"b","other":"c"}"#).expect("strings");
        assert_eq!(arguments, PromptArguments::from_iter([("topic", "a\"b")]));
    }

    #[test]
    fn every_value_has_to_be_a_string_declared_or_not() {
        for value in ["1", "true", "null", "[]", "{}"] {
            for name in ["topic", "other"] {
                let error = read(&format!(r#"{{"{name}":{value}}}"#)).expect_err("refused");
                assert_eq!(error.code(), Error::INVALID_PARAMS, "{name}: {value}");
            }
        }
    }

    #[test]
    fn a_blank_argument_counts_as_missing() {
        let arguments = PromptArguments::from_iter([("topic", " \n"), ("deep", " True ")]);
        assert_eq!(arguments.text("topic"), None);
        assert!(arguments.is_true("deep") && !arguments.is_true("topic"));
    }
}
