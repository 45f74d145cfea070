//! Converts OpenAPI 3.1, which utoipa writes, to 3.0.3, which clients read.
//!
//! Only Schema Objects differ in ways that matter here. Each is converted keyword by keyword: what
//! 3.0 has stays, what it expresses differently is translated, annotations are removed. Any other
//! keyword is an [`Unknown`], so that no new one is missed.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use thiserror::Error;

/// A keyword that cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{keyword}` cannot be said in OpenAPI 3.0: {found}")]
pub(super) struct Unknown {
    keyword: String,
    found: String,
}

/// Members that are the same in both versions, and whose values are not schemas.
const SAME: [&str; 22] = [
    "default",
    "deprecated",
    "description",
    "discriminator",
    "enum",
    "example",
    "externalDocs",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "readOnly",
    "required",
    "title",
    "uniqueItems",
];

/// Annotations, and members without a counterpart in 3.0.
const REMARKS: [&str; 4] = [
    "$comment",
    "contentEncoding",
    "contentMediaType",
    "propertyNames",
];

/// Members of the document that are new in 3.1.
const NEW_MEMBERS: [&str; 2] = ["jsonSchemaDialect", "webhooks"];

/// Converts a 3.1 document to 3.0.3.
///
/// # Errors
/// Fails if a schema has an unknown keyword.
pub(super) fn lower(document: Value) -> Result<Value, Unknown> {
    let mut document = members(document)?;
    document.insert("openapi".into(), "3.0.3".into());
    document.retain(|name, _| !NEW_MEMBERS.contains(&&**name));
    if let Some(Value::Object(info)) = document.get_mut("info") {
        info.remove("summary");
        if let Some(Value::Object(license)) = info.get_mut("license") {
            license.remove("identifier");
        }
    }
    let mut document = Value::Object(document);
    walk(&mut document)?;
    Ok(document)
}

/// Finds all schemas, but does not look into examples.
fn walk(value: &mut Value) -> Result<(), Unknown> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(walk),
        Value::Object(members) => members.iter_mut().try_for_each(|(name, value)| {
            match &**name {
                "example" | "examples" | "default" | "enum" => Ok(()),
                "schema" => replace(value),
                // A property of this name would be inside a schema, which is not searched here.
                "schemas" => match value {
                    Value::Object(schemas) => schemas.values_mut().try_for_each(replace),
                    _ => Ok(()),
                },
                _ => walk(value),
            }
        }),
        _ => Ok(()),
    }
}

fn replace(value: &mut Value) -> Result<(), Unknown> {
    *value = schema(value.take())?;
    Ok(())
}

/// Converts one schema, and those within it, the innermost first.
fn schema(value: Value) -> Result<Value, Unknown> {
    let members = match value {
        Value::Bool(true) => return Ok(json!({})),
        Value::Bool(false) => return Ok(json!({"not": {}})),
        value => members(value)?,
    };
    let mut lowered = Map::new();
    let mut reference = None;
    for (name, value) in members {
        match &*name {
            "$ref" => reference = Some(value),
            "type" => kind(value, &mut lowered)?,
            "properties" => {
                lowered.insert(name, each_member(value)?);
            }
            "additionalProperties" if value.is_boolean() => {
                lowered.insert(name, value);
            }
            "items" | "not" | "additionalProperties" => {
                lowered.insert(name, schema(value)?);
            }
            "allOf" => {
                lowered.insert(name, each(value)?);
            }
            "oneOf" | "anyOf" => choice(name, value, &mut lowered)?,
            "prefixItems" => tuple(value, &mut lowered)?,
            "const" => {
                lowered.insert("enum".into(), json!([value]));
            }
            "examples" => {
                let first = value.as_array().and_then(|list| list.first());
                lowered.extend(first.map(|first| ("example".to_owned(), first.clone())));
            }
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_number() => {
                let bound = if name == "exclusiveMinimum" {
                    "minimum"
                } else {
                    "maximum"
                };
                lowered.insert(bound.into(), value);
                lowered.insert(name, true.into());
            }
            name if SAME.contains(&name) || name.starts_with("x-") || name == "writeOnly" => {
                lowered.insert(name.to_owned(), value);
            }
            name if REMARKS.contains(&name) => {}
            _ => return Err(Unknown::new(&name, &value)),
        }
    }
    Ok(Value::Object(with_reference(reference, lowered)))
}

/// In 3.0 members next to a reference are ignored.
fn with_reference(reference: Option<Value>, mut others: Map<String, Value>) -> Map<String, Value> {
    let Some(reference) = reference else {
        return others;
    };
    let reference = json!({"$ref": reference});
    if others.is_empty() {
        return Map::from_iter([("$ref".to_owned(), reference["$ref"].clone())]);
    }
    match others.get_mut("allOf") {
        Some(Value::Array(all)) => all.insert(0, reference),
        _ => {
            others.insert("allOf".into(), json!([reference]));
        }
    }
    others
}

/// A type, or several, one of which is `null`.
fn kind(value: Value, lowered: &mut Map<String, Value>) -> Result<(), Unknown> {
    let mut kinds = match value {
        Value::Array(kinds) => kinds,
        one => vec![one],
    };
    let count = kinds.len();
    kinds.retain(|kind| kind != "null");
    if kinds.len() < count {
        lowered.insert("nullable".into(), true.into());
    }
    match &kinds[..] {
        // Only `null`.
        [] => {
            lowered.insert("enum".into(), json!([null]));
        }
        [one] => {
            lowered.insert("type".into(), one.clone());
        }
        _ => return Err(Unknown::new("type", &Value::Array(kinds))),
    }
    Ok(())
}

/// One of several schemas, one of which may be `null`.
fn choice(name: String, value: Value, lowered: &mut Map<String, Value>) -> Result<(), Unknown> {
    let mut choices = list(value)?;
    let count = choices.len();
    choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
    let is_nullable = choices.len() < count;
    let choices = choices.into_iter().map(schema);
    let mut choices: Vec<_> = choices.collect::<Result<_, _>>()?;
    if is_nullable {
        lowered.insert("nullable".into(), true.into());
    }
    if !is_nullable || choices.len() != 1 {
        lowered.insert(name, Value::Array(choices));
    } else if choices[0].get("$ref").is_some() {
        lowered.insert("allOf".into(), Value::Array(choices));
    } else {
        // Next to `allOf`, `nullable` has no effect; inside its one member it has.
        for (name, value) in members(choices.remove(0))? {
            lowered.entry(name).or_insert(value);
        }
    }
    Ok(())
}

/// A list whose items differ by position: 3.0 can only give their number and kinds.
fn tuple(value: Value, lowered: &mut Map<String, Value>) -> Result<(), Unknown> {
    let items = each(value)?;
    let count = items.as_array().map_or(0, Vec::len);
    lowered.insert("minItems".into(), count.into());
    lowered.insert("maxItems".into(), count.into());
    lowered.insert("items".into(), json!({"anyOf": items}));
    Ok(())
}

fn each(value: Value) -> Result<Value, Unknown> {
    let schemas = list(value)?.into_iter().map(schema);
    schemas.collect::<Result<Vec<_>, _>>().map(Value::Array)
}

fn each_member(value: Value) -> Result<Value, Unknown> {
    let schemas = members(value)?.into_iter();
    let schemas = schemas.map(|(name, value)| Ok((name, schema(value)?)));
    schemas.collect::<Result<Map<_, _>, _>>().map(Value::Object)
}

fn list(value: Value) -> Result<Vec<Value>, Unknown> {
    match value {
        Value::Array(list) => Ok(list),
        other => Err(Unknown::new("a list", &other)),
    }
}

fn members(value: Value) -> Result<Map<String, Value>, Unknown> {
    match value {
        Value::Object(members) => Ok(members),
        other => Err(Unknown::new("an object", &other)),
    }
}

// === impl Unknown ===

impl Unknown {
    fn new(keyword: &str, found: &Value) -> Self {
        Self {
            keyword: keyword.to_owned(),
            found: found.to_string(),
        }
    }
}
