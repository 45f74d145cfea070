//! Validator of the part of JSON Schema that the tools use.

use serde_json::Value;

/// Supported keywords; any other would not be checked.
const KNOWN: [&str; 7] = [
    "type",
    "description",
    "properties",
    "required",
    "items",
    "enum",
    "minimum",
];

/// Checks that a schema uses only supported keywords.
#[track_caller]
pub(crate) fn assert_plain(schema: &Value) {
    assert_eq!(schema["type"], "object", "{schema}");
    assert!(schema["properties"].is_object(), "{schema}");
    assert_known(schema);
}

/// Checks that a value conforms to a schema.
#[track_caller]
pub(crate) fn assert_conforms(value: &Value, schema: &Value) {
    if let Err(problem) = check(value, schema) {
        panic!("{problem}\n{value}\n{schema}");
    }
}

#[track_caller]
fn assert_known(schema: &Value) {
    let members = schema.as_object().expect("a schema is an object");
    for name in members.keys() {
        assert!(KNOWN.contains(&name.as_str()), "{name} in {schema}");
    }
    let properties = schema["properties"].as_object();
    for property in properties.into_iter().flat_map(|all| all.values()) {
        assert!(property["description"].is_string(), "{property}");
        assert_known(property);
    }
    if schema["type"] == "array" {
        assert_known(&schema["items"]);
    }
    let required = schema["required"].as_array();
    for name in required.into_iter().flatten() {
        let name = name.as_str().expect("a name");
        assert!(schema["properties"].get(name).is_some(), "{name}");
    }
}

fn check(value: &Value, schema: &Value) -> Result<(), String> {
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    if !kinds.iter().any(|kind| is_a(value, kind)) {
        return Err(format!("{value} is none of {kinds:?}"));
    }
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        return Err(format!("{value} is none of {choices:?}"));
    }
    if let (Some(number), Some(minimum)) = (value.as_f64(), schema["minimum"].as_f64())
        && number < minimum
    {
        return Err(format!("{value} is less than {minimum}"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().expect("a name");
        if value.get(name).is_none() {
            return Err(format!("{name} is missing"));
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        // The schema must declare each member.
        let property = schema["properties"].get(name);
        let property = property.ok_or_else(|| format!("{name} is not declared"))?;
        check(member, property).map_err(|problem| format!("{name}: {problem}"))?;
    }
    for element in value.as_array().into_iter().flatten() {
        check(element, &schema["items"])?;
    }
    Ok(())
}

fn is_a(value: &Value, kind: &Value) -> bool {
    match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => panic!("{kind} is no type"),
    }
}
