//! The arguments of a tool as JSON Schema.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use ziggurat_answers::client;
use ziggurat_mcp::Schema;

use crate::{
    kind::{Kind, MAX_CHARACTERS, Range, Scalar},
    parameter::{Filling, Parameter},
};

/// Name of the argument with the approval of a client.
pub(crate) const APPROVE: &str = "approve";

/// The properties in the order of the file.
struct Properties<'a>(Vec<(&'a str, Map<String, Value>)>);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InputSchema<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    properties: Properties<'a>,
    required: Vec<&'a str>,
    additional_properties: bool,
}

/// Describes the parameters that callers can send, and the approval of a client.
pub(crate) fn of(parameters: &[Parameter], takes_approval: bool) -> Schema {
    let open = || parameters.iter().filter(|it| it.is_open());
    let required = open().filter(|it| matches!(it.filling, Filling::Required));
    let mut properties: Vec<_> = open().map(|it| (&*it.name, property(it))).collect();
    if takes_approval {
        let mut approve = typed("string");
        approve.insert("description".to_owned(), client::APPROVE.into());
        properties.push((APPROVE, approve));
    }
    let schema = InputSchema {
        kind: "object",
        properties: Properties(properties),
        required: required.map(|it| &*it.name).collect(),
        additional_properties: false,
    };
    Schema::raw_of(&schema).expect("its names are texts")
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, property)| (name, property)))
    }
}

fn property(parameter: &Parameter) -> Map<String, Value> {
    let mut property = match &parameter.kind {
        Kind::Scalar(scalar) => of_scalar(scalar),
        Kind::List(list) => {
            let (min, max) = list.extent();
            let mut property = typed("array");
            property.insert("items".to_owned(), of_scalar(&list.items).into());
            if min > 0 {
                property.insert("minItems".to_owned(), min.into());
            }
            property.insert("maxItems".to_owned(), max.into());
            property
        }
        Kind::Identifier(allowed) => choices(typed("string"), allowed),
    };
    if let Some(description) = &parameter.description {
        property.insert("description".to_owned(), description.clone().into());
    }
    if let Filling::Default(_, value) = &parameter.filling
        && !parameter.is_sensitive
    {
        property.insert("default".to_owned(), value.clone());
    }
    property
}

fn of_scalar(scalar: &Scalar) -> Map<String, Value> {
    match scalar {
        Scalar::Text(rules) => {
            let mut property = choices(typed("string"), &rules.allowed);
            if let Some(min) = rules.length.min {
                property.insert("minLength".to_owned(), min.into());
            }
            let max = rules.length.max.unwrap_or(MAX_CHARACTERS);
            property.insert("maxLength".to_owned(), max.into());
            if let Some(pattern) = &rules.pattern {
                property.insert("pattern".to_owned(), pattern.anchored.as_str().into());
            }
            property
        }
        Scalar::Integer { range, allowed } => choices(bounded(typed("integer"), range), allowed),
        Scalar::Number(range) => {
            let end = |end: &Option<crate::decimal::Decimal>| {
                let number = end.as_ref()?.to_string();
                serde_json::from_str::<serde_json::Number>(&number).ok()
            };
            let (min, max) = (end(&range.min), end(&range.max));
            bounded(typed("number"), &Range { min, max })
        }
        Scalar::Boolean => typed("boolean"),
        Scalar::Enum(allowed) => choices(typed("string"), allowed),
        Scalar::Date(_) => formatted("date"),
        Scalar::Timestamp(_) => formatted("date-time"),
        Scalar::Uuid => formatted("uuid"),
        // Any value.
        Scalar::Json { .. } => Map::new(),
    }
}

fn typed(kind: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!(kind))])
}

fn formatted(format: &str) -> Map<String, Value> {
    let mut property = typed("string");
    property.insert("format".to_owned(), format.into());
    property
}

fn choices<T: Clone + Into<Value>>(
    mut property: Map<String, Value>,
    allowed: &[T],
) -> Map<String, Value> {
    if !allowed.is_empty() {
        property.insert("enum".to_owned(), allowed.to_vec().into());
    }
    property
}

fn bounded<T: Clone + Into<Value>>(
    mut property: Map<String, Value>,
    range: &Range<T>,
) -> Map<String, Value> {
    for (key, end) in [("minimum", &range.min), ("maximum", &range.max)] {
        if let Some(end) = end {
            property.insert(key.to_owned(), end.clone().into());
        }
    }
    property
}
