//! The data of a static resource.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};

/// A value in the file. A map keeps the order of its entries.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

struct AnyData;

/// The name of an entry: the text of any scalar.
struct Key(String);

// === impl Data ===

impl Data {
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("the names of its entries are texts")
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyData)
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(values) => serializer.collect_seq(values),
            Self::Map(entries) => {
                serializer.collect_map(entries.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

// === impl AnyData ===

impl<'de> Visitor<'de> for AnyData {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scalar, a list or a map")
    }

    fn visit_unit<E: Error>(self) -> Result<Data, E> {
        Ok(Data::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Data, E> {
        Ok(Data::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Data, E> {
        Ok(Data::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Data, E> {
        Ok(Data::Unsigned(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Data, E> {
        if value.is_finite() {
            Ok(Data::Float(value))
        } else {
            Err(E::custom("JSON has no such number"))
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Data, E> {
        Ok(Data::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Data, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Data::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Data, A::Error> {
        let mut names = HashSet::new();
        let mut map = Vec::new();
        while let Some(Key(name)) = entries.next_key()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format_args!("duplicate entry `{name}`")));
            }
            map.push((name, entries.next_value()?));
        }
        Ok(Data::Map(map))
    }
}

// === impl Key ===

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Data::deserialize(deserializer)? {
            Data::Text(name) => Ok(Self(name)),
            Data::List(_) | Data::Map(_) => {
                Err(D::Error::custom("a list or a map cannot be a name"))
            }
            scalar => Ok(Self(scalar.to_json())),
        }
    }
}
