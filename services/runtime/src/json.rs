//! JSON with objects that contain each member name once.
//!
//! Of a repeated member some programs take the first value and others the last, so that a check of
//! one value says nothing about the other.
//!
//! ```
//! use ziggurat_runtime::json::{self, Fault};
//!
//! assert_eq!(json::value(br#"{"a":[{"b":1}]}"#)?["a"][0]["b"], 1);
//! assert_eq!(json::value(br#"[{"b":1,"\u0062":2}]"#), Err(Fault::Twice("b".to_owned())));
//! # Ok::<_, Fault>(())
//! ```

use std::{cell::RefCell, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};
use thiserror::Error;

/// Maximum length of a member name in an error, in characters.
const LONGEST_NAME: usize = 64;

/// Reasons to refuse a document.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The document is not JSON.
    #[error("not JSON")]
    NotJson,
    /// An object has this member twice.
    #[error("the member {0:?} is there twice")]
    Twice(String),
}

/// Reads a document and refuses repeated members at any depth.
///
/// # Errors
/// Fails on other documents, and names the first member that is repeated.
pub fn value(document: &[u8]) -> Result<Value, Fault> {
    let twice = RefCell::new(None);
    let mut json = serde_json::Deserializer::from_slice(document);
    let read = Unique(&twice).deserialize(&mut json);
    let read = read.and_then(|value| json.end().map(|()| value));
    match (twice.into_inner(), read) {
        (Some(name), _) => Err(Fault::Twice(name)),
        (None, Ok(value)) => Ok(value),
        (None, Err(_)) => Err(Fault::NotJson),
    }
}

/// Builds a value and records the first repeated member.
#[derive(Clone, Copy)]
struct Unique<'a>(&'a RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if all.contains_key(&name) {
                let name = name.chars().take(LONGEST_NAME).collect();
                self.0.replace(Some(name));
                return Err(A::Error::custom("a member occurs twice"));
            }
            let value = members.next_value_seed(self)?;
            all.insert(name, value);
        }
        Ok(all.into())
    }
}
