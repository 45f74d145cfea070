//! The filter of a table.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_yaml::Value;
use ziggurat_rag_service::{
    filter::{Filter, RawFilter},
    retrieval::TableFilter,
};

use super::{
    findings::Place,
    written::{Reader, Written},
};

/// Known keys of a filter and of its conditions.
const KEYS: [&str; 2] = ["conditions", "logic"];
const CONDITION_KEYS: [&str; 3] = ["column", "operator", "value"];

/// The raw value of the key.
#[derive(Debug, Default)]
pub(super) enum RawTableFilter {
    #[default]
    Nothing,
    Sql(Written),
    Structured(Value),
    Something,
}

struct Any;

// === impl RawTableFilter ===

impl<'de> Deserialize<'de> for RawTableFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

impl<'de> Visitor<'de> for Any {
    type Value = RawTableFilter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or structured filter object")
    }

    fn visit_unit<E>(self) -> Result<RawTableFilter, E> {
        Ok(RawTableFilter::Nothing)
    }

    fn visit_str<E>(self, text: &str) -> Result<RawTableFilter, E> {
        Ok(RawTableFilter::Sql(text.to_owned().into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawTableFilter, A::Error> {
        let value = Value::deserialize(MapAccessDeserializer::new(map))?;
        Ok(RawTableFilter::Structured(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RawTableFilter, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(RawTableFilter::Something)
    }

    fn visit_bool<E>(self, _: bool) -> Result<RawTableFilter, E> {
        Ok(RawTableFilter::Something)
    }

    fn visit_i64<E>(self, _: i64) -> Result<RawTableFilter, E> {
        Ok(RawTableFilter::Something)
    }

    fn visit_u64<E>(self, _: u64) -> Result<RawTableFilter, E> {
        Ok(RawTableFilter::Something)
    }

    fn visit_f64<E>(self, _: f64) -> Result<RawTableFilter, E> {
        Ok(RawTableFilter::Something)
    }
}

impl RawTableFilter {
    pub(super) fn check(self, reader: &mut Reader<'_>, place: &Place) -> Option<TableFilter> {
        match self {
            Self::Nothing => None,
            Self::Sql(written) => {
                let sql = reader.text(place, Some(written))?;
                let checked = RawFilter::new(sql);
                let checked = checked.map_err(|error| reader.problem(place, &error));
                checked.ok().map(TableFilter::Raw)
            }
            Self::Structured(value) => structured(value, reader, place),
            Self::Something => {
                let message = "filter must be a string or structured filter object";
                reader.findings.unreadable(place, message);
                None
            }
        }
    }
}

fn structured(mut value: Value, reader: &mut Reader<'_>, place: &Place) -> Option<TableFilter> {
    expand(&mut value, reader, place);
    look_for_strangers(&value, reader, place);
    let filter = match Filter::deserialize(value) {
        Ok(filter) => filter,
        Err(error) => {
            let message = format!("invalid filter: {error}");
            reader.findings.unreadable(place, &message);
            return None;
        }
    };
    let checked = filter
        .check()
        .map_err(|error| reader.problem(place, &error));
    checked.ok().flatten().map(TableFilter::Structured)
}

/// Expands the environment variables in every text.
fn expand(value: &mut Value, reader: &mut Reader<'_>, place: &Place) {
    match value {
        Value::String(text) => {
            let written = Written::from(std::mem::take(text));
            *text = reader.expanded(place, written);
        }
        Value::Sequence(list) => {
            for (index, value) in list.iter_mut().enumerate() {
                expand(value, reader, &place.element(index));
            }
        }
        Value::Mapping(map) => {
            for (key, value) in map.iter_mut() {
                expand(value, reader, &place.key(key.as_str().unwrap_or("?")));
            }
        }
        _ => {}
    }
}

/// Reports unknown keys.
fn look_for_strangers(filter: &Value, reader: &mut Reader<'_>, place: &Place) {
    point_out(filter, &KEYS, reader, place);
    let conditions = filter.get("conditions").and_then(Value::as_sequence);
    let place = place.key("conditions");
    for (index, condition) in conditions.into_iter().flatten().enumerate() {
        point_out(condition, &CONDITION_KEYS, reader, &place.element(index));
    }
}

fn point_out(value: &Value, known: &[&str], reader: &mut Reader<'_>, place: &Place) {
    let keys = value.as_mapping().into_iter().flat_map(|map| map.keys());
    for key in keys.filter_map(Value::as_str) {
        if !known.contains(&key) {
            let key = place.key(key).to_string();
            let sentence = format!("unknown key '{}'", key.escape_debug());
            reader.findings.unknown_key(sentence);
        }
    }
}
