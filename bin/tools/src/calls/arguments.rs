//! Arguments of tools in records.

use std::{borrow::Cow, ops::Deref};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use ziggurat_text::scan;

/// The arguments of a tool that stand in the record of its call. Those of another type are left out.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Arguments<'a> {
    #[serde(borrow)]
    pub(super) query: Text<'a>,
    #[serde(borrow, rename = "where")]
    pub(super) condition: Text<'a>,
    #[serde(borrow)]
    pub(super) query_text: Text<'a>,
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) database: Text<'a>,
}

/// A text; a value of another type is an empty one.
#[derive(Default)]
pub(super) struct Text<'a>(Cow<'a, str>);

// === impl Text ===

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        let text = match scan::unescaped(json) {
            Some(text) => Cow::Borrowed(text),
            None => serde_json::from_str(json)
                .map(Cow::Owned)
                .unwrap_or_default(),
        };
        Ok(Self(text))
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}
