//! Values of a filter, as they are written.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use ziggurat_postgres::tsv;

/// The name under which `serde_json` passes the text of a value instead of the value.
///
/// If `serde_json` renames it, numbers beyond 64 bits lose digits, as in YAML; a test detects that.
const RAW: &str = "$serde_json::private::RawValue";

/// A value of JSON, or its counterpart in YAML.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// A number, with the digits it was written with.
    Number(String),
    Text(String),
    List(Vec<Self>),
    /// An object as compact JSON; a list inside a list is also kept like this.
    Object(String),
}

/// Visitor that accepts any value.
struct Any;

// === impl Value ===

impl Value {
    /// Returns the JSON name of the type.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }

    pub(super) fn into_list(self) -> Option<Vec<Self>> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns the text to compare with; `None` for null.
    pub(super) fn into_text(self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Text(text) => Some(text),
            other => Some(other.into_json()),
        }
    }

    fn into_json(self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) | Self::Object(text) => text,
            Self::Text(text) => serde_json::Value::String(text).to_string(),
            Self::List(list) => {
                let list: Vec<_> = list.into_iter().map(Self::into_json).collect();
                format!("[{}]", list.join(","))
            }
        }
    }

    /// Parses a JSON value.
    fn from_json(json: &str) -> serde_json::Result<Self> {
        let json = json.trim();
        if !json.starts_with('[') {
            return Self::from_element(json);
        }
        let list: Vec<&RawValue> = serde_json::from_str(json)?;
        let list = list
            .into_iter()
            .map(|value| Self::from_element(value.get()));
        list.collect::<Result<_, _>>().map(Self::List)
    }

    /// Parses a value inside a list. Nested values stay text, so that their depth does not matter.
    fn from_element(json: &str) -> serde_json::Result<Self> {
        Ok(match json.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't' | b'f') => Self::Bool(json == "true"),
            Some(b'"') => Self::Text(serde_json::from_str(json)?),
            Some(b'[' | b'{') => Self::Object(tsv::compact_json(json)),
            _ => Self::Number(json.to_owned()),
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(RAW, Any)
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of values")
    }

    /// Handles other formats than JSON, which describe the type themselves.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
        inner.deserialize_any(self)
    }

    /// Handles JSON. Its text arrives in one piece.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        match map.next_entry::<String, String>()? {
            Some((key, json)) if key == RAW => Value::from_json(&json).map_err(Error::custom),
            _ => Err(Error::custom(
                "a mapping has to be written as a string of JSON",
            )),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }
}
