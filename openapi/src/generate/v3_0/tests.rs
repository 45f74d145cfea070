use super::*;

fn lowered(schema: &Value) -> Result<Value, Unknown> {
    let document = json!({"openapi": "3.1.0", "components": {"schemas": {"It": schema}}});
    Ok(lower(document)?["components"]["schemas"]["It"].take())
}

#[test]
fn keywords_of_3_1_are_translated() {
    let reference = json!({"$ref": "#/components/schemas/A"});
    for (schema, expected) in [
        (
            json!({"type": ["string", "null"]}),
            json!({"type": "string", "nullable": true}),
        ),
        (
            json!({"type": ["null"]}),
            json!({"enum": [null], "nullable": true}),
        ),
        (
            json!({"type": "null"}),
            json!({"enum": [null], "nullable": true}),
        ),
        (
            json!({"oneOf": [{"type": "null"}, reference]}),
            json!({"allOf": [reference], "nullable": true}),
        ),
        (
            json!({"oneOf": [{"type": "null"}, {"type": "object", "description": "a"}],
                "description": "b"}),
            json!({"type": "object", "nullable": true, "description": "b"}),
        ),
        (
            json!({"anyOf": [reference, {"type": "null"}, {"type": "string"}]}),
            json!({"anyOf": [reference, {"type": "string"}], "nullable": true}),
        ),
        (
            json!({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}),
            json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true,
                "maximum": 9, "exclusiveMaximum": true}),
        ),
        (json!({"const": "a"}), json!({"enum": ["a"]})),
        (json!({"examples": [1, 2]}), json!({"example": 1})),
    ] {
        assert_eq!(lowered(&schema), Ok(expected), "{schema}");
    }
}

#[test]
fn schemas_within_schemas_are_translated_too() {
    let reference = json!({"$ref": "#/components/schemas/A"});
    for (schema, expected) in [
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, true]}),
            json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {}]},
                "minItems": 2, "maxItems": 2}),
        ),
        (json!(true), json!({})),
        (json!(false), json!({"not": {}})),
        (reference.clone(), reference.clone()),
        (
            json!({"$ref": "#/x", "description": "d"}),
            json!({"allOf": [{"$ref": "#/x"}], "description": "d"}),
        ),
        (
            json!({"type": "object", "propertyNames": {"pattern": "a"},
                "additionalProperties": {"type": ["integer", "null"]}}),
            json!({"type": "object",
                "additionalProperties": {"type": "integer", "nullable": true}}),
        ),
        (
            json!({"properties": {"const": {"type": ["string", "null"]}, "type": {"const": 1}}}),
            json!({"properties": {"const": {"type": "string", "nullable": true},
                "type": {"enum": [1]}}}),
        ),
        (
            json!({"allOf": [{"items": {"not": {"const": 1}}}], "x-ours": {"const": 1}}),
            json!({"allOf": [{"items": {"not": {"enum": [1]}}}], "x-ours": {"const": 1}}),
        ),
    ] {
        assert_eq!(lowered(&schema), Ok(expected), "{schema}");
    }
}

#[test]
fn unknown_keywords_are_refused() {
    for schema in [
        json!({"if": {}}),
        json!({"unevaluatedProperties": false}),
        json!({"properties": {"a": {"items": {"dependentRequired": {}}}}}),
        json!({"type": ["string", "integer"]}),
        json!({"oneOf": {}}),
        json!({"exclusiveMinimum": true}),
        json!("text"),
    ] {
        assert!(lowered(&schema).is_err(), "{schema}");
    }
}

#[test]
fn schemas_are_found_where_they_are_and_examples_are_left_alone() {
    let document = json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "x",
        "webhooks": {},
        "info": {"title": "t", "version": "1", "summary": "s",
            "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": {"/a": {"get": {"parameters": [{"schema": {"const": 1}}],
            "responses": {"200": {"content": {"application/json": {
                "schema": {"const": 2}, "example": {"schema": {"const": 3}}}}}}}}},
    });
    let expected = json!({
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1", "license": {"name": "MIT"}},
        "paths": {"/a": {"get": {"parameters": [{"schema": {"enum": [1]}}],
            "responses": {"200": {"content": {"application/json": {
                "schema": {"enum": [2]}, "example": {"schema": {"const": 3}}}}}}}}},
    });
    assert_eq!(lower(document), Ok(expected));
}
