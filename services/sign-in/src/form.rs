//! Parameters of queries and forms, each at most once.

use std::collections::BTreeMap;

use http::{HeaderMap, header::CONTENT_TYPE};
use ziggurat_text::percent;

/// Parameters by name.
#[derive(Debug, Default)]
pub(crate) struct Form(BTreeMap<String, String>);

/// Parameters that cannot be read, or one of them twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

// === impl Form ===

impl Form {
    /// Returns whether a body is `application/x-www-form-urlencoded`.
    pub(crate) fn is_in(headers: &HeaderMap) -> bool {
        let media_type = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let media_type = media_type.and_then(|it| it.split(';').next());
        media_type.is_some_and(|it| {
            let it = it.trim();
            it.eq_ignore_ascii_case("application/x-www-form-urlencoded")
        })
    }

    /// Reads `application/x-www-form-urlencoded`.
    pub(crate) fn read(text: &str) -> Result<Self, Malformed> {
        let mut form = BTreeMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if form.insert(decoded(name)?, decoded(value)?).is_some() {
                return Err(Malformed);
            }
        }
        Ok(Self(form))
    }

    /// Returns a parameter. An empty one counts as absent (RFC 6749, section 3.1).
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    /// Returns a parameter, also if it is empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the ends of the names that begin so, for boxes that are ticked.
    pub(crate) fn ticked<'a>(&'a self, beginning: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .keys()
            .filter_map(move |name| name.strip_prefix(beginning))
    }
}

/// Decodes a part of a form.
pub(crate) fn decoded(text: &str) -> Result<String, Malformed> {
    let text = text.replace('+', " ");
    let decoded = percent::decode(&text).ok_or(Malformed)?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_twice_or_a_wrong_escape_is_malformed() {
        let form = Form::read("a=1+2&b=%C3%A4&c&d=").expect("a form");
        assert_eq!(form.get("a"), Some("1 2"));
        assert_eq!(form.get("b"), Some("ä"));
        assert_eq!(form.get("c"), None);
        assert_eq!(form.given("d"), Some(""));
        for text in ["a=1&a=1", "a=1&%61=2", "a=%", "a=%ff"] {
            assert!(Form::read(text).is_err(), "{text}");
        }
    }
}
