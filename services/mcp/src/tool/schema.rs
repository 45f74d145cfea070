//! The arguments and the results of a tool, as JSON Schema.

mod check;

use std::borrow::Cow;

#[cfg(feature = "schemars")]
use schemars::generate::SchemaSettings;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
#[cfg(feature = "schemars")]
use serde_json::Map;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// The arguments of a tool, or its results, in a form that every client understands: an object and
/// its properties.
///
/// Combinators and references are not supported, because they make some clients drop the whole list
/// of tools.
///
/// ```
/// use ziggurat_mcp::{Property, Schema};
///
/// let schema = Schema::new()
///     .with_required("query", Property::string("A SQL statement."))
///     .with_optional("limit", Property::integer("Rows.").with_default(100).with_minimum(1));
/// assert_eq!(
///     serde_json::to_string(&schema)?,
///     r#"{"type":"object","properties":{"query":{"type":"string","description":"A SQL statement."},"limit":{"type":"integer","description":"Rows.","default":100,"minimum":1}},"required":["query"]}"#,
/// );
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Schema {
    properties: Vec<(&'static str, Property)>,
    required: Vec<&'static str>,
    /// The complete schema, which replaces all other members.
    raw: Option<Complete>,
}

/// A complete schema.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Complete {
    Value(Value),
    /// Keeps the order of its members.
    Ordered(Box<RawValue>),
}

/// One argument of a tool, or one member of its results.
#[derive(Clone, Debug, Serialize)]
#[must_use]
pub struct Property {
    #[serde(rename = "type")]
    kind: &'static str,
    description: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum: Option<i64>,
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    choices: Vec<Cow<'static, str>>,
    /// Set if the tool itself refuses other texts.
    #[serde(skip)]
    is_open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Items>,
    #[serde(rename = "x-mcp-header", skip_serializing_if = "Option::is_none")]
    header: Option<&'static str>,
}

/// The elements of an array.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Items {
    Scalars {
        #[serde(rename = "type")]
        kind: &'static str,
    },
    Rows {
        #[serde(rename = "type")]
        kind: &'static str,
        items: Values,
    },
    Objects(Schema),
}

/// The types of the values in a row.
#[derive(Clone, Copy, Debug, Serialize)]
struct Values {
    #[serde(rename = "type")]
    kinds: [&'static str; 4],
}

// === impl Schema ===

impl Schema {
    /// Describes a tool without arguments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a complete schema, for a tool that need not work with every client.
    pub fn raw(schema: Value) -> Self {
        Self {
            raw: Some(Complete::Value(schema)),
            ..Self::default()
        }
    }

    /// Takes a complete schema that keeps the order of its members, for a tool with arguments that
    /// are known only when the program runs.
    ///
    /// # Errors
    ///
    /// Returns an error if JSON cannot represent it: a map with keys that are not texts.
    pub fn raw_of(schema: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self {
            raw: Some(Complete::Ordered(to_raw_value(schema)?)),
            ..Self::default()
        })
    }

    /// Returns the schema of a type. Its documentation becomes the descriptions, and types inside
    /// it are written in place, because some clients do not follow references.
    #[cfg(feature = "schemars")]
    pub fn of<T: schemars::JsonSchema>() -> Self {
        Self::generated::<T>(SchemaSettings::draft2020_12())
    }

    /// Returns the schema of the JSON that a type is written as.
    #[cfg(feature = "schemars")]
    pub(super) fn of_output<T: schemars::JsonSchema>() -> Self {
        Self::generated::<T>(SchemaSettings::draft2020_12().for_serialize())
    }

    #[cfg(feature = "schemars")]
    fn generated<T: schemars::JsonSchema>(settings: SchemaSettings) -> Self {
        let settings = settings.with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let mut schema = settings.into_generator().into_root_schema_for::<T>();
        // The name of a Rust type tells a model nothing.
        schema.remove("title");
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        if is_object && schema.get("properties").is_none() {
            schema.insert("properties".to_owned(), Value::Object(Map::new()));
        }
        Self::raw(schema.into())
    }

    /// Returns whether it describes an object. Before revision 2026-07-28, clients refuse the whole
    /// list of tools for the schema of a result that does not.
    pub(crate) fn is_object(&self) -> bool {
        match &self.raw {
            Some(Complete::Value(schema)) => schema["type"] == "object",
            _ => true,
        }
    }

    /// Returns the arguments that are repeated in headers, with the names of both.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let properties = self.properties.iter();
        properties.filter_map(|(name, property)| Some((*name, property.header?)))
    }

    /// Adds a required argument.
    pub fn with_required(mut self, name: &'static str, property: Property) -> Self {
        self.required.push(name);
        self.with_optional(name, property)
    }

    /// Adds an optional argument.
    pub fn with_optional(mut self, name: &'static str, property: Property) -> Self {
        self.properties.push((name, property));
        self
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Properties<'a>(&'a [(&'static str, Property)]);

        impl Serialize for Properties<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(name, property)| (name, property)))
            }
        }

        if let Some(raw) = &self.raw {
            return raw.serialize(serializer);
        }
        let mut schema = serializer.serialize_map(None)?;
        schema.serialize_entry("type", "object")?;
        schema.serialize_entry("properties", &Properties(&self.properties))?;
        // Written even if it is empty, because some clients expect the list.
        schema.serialize_entry("required", &self.required)?;
        schema.end()
    }
}

// === impl Property ===

impl Property {
    /// Describes a text.
    pub fn string(description: impl Into<Cow<'static, str>>) -> Self {
        Self::of("string", description.into())
    }

    /// Describes an integer.
    pub fn integer(description: impl Into<Cow<'static, str>>) -> Self {
        Self::of("integer", description.into())
    }

    /// Describes a number.
    pub fn number(description: impl Into<Cow<'static, str>>) -> Self {
        Self::of("number", description.into())
    }

    /// Describes a boolean.
    pub fn boolean(description: impl Into<Cow<'static, str>>) -> Self {
        Self::of("boolean", description.into())
    }

    /// Describes an object; the description says which members it has.
    pub fn object(description: impl Into<Cow<'static, str>>) -> Self {
        Self::of("object", description.into())
    }

    /// Describes a list of texts.
    pub fn strings(description: impl Into<Cow<'static, str>>) -> Self {
        Self::list(description.into(), Items::Scalars { kind: "string" })
    }

    /// Describes a list of numbers.
    pub fn numbers(description: impl Into<Cow<'static, str>>) -> Self {
        Self::list(description.into(), Items::Scalars { kind: "number" })
    }

    /// Describes a list of objects with this schema.
    pub fn objects(description: impl Into<Cow<'static, str>>, schema: Schema) -> Self {
        Self::list(description.into(), Items::Objects(schema))
    }

    /// Describes a list of rows: lists of texts, numbers, booleans and nulls.
    pub fn rows(description: impl Into<Cow<'static, str>>) -> Self {
        let items = Values {
            kinds: ["string", "number", "boolean", "null"],
        };
        let kind = "array";
        Self::list(description.into(), Items::Rows { kind, items })
    }

    fn list(description: Cow<'static, str>, items: Items) -> Self {
        Self {
            items: Some(items),
            ..Self::of("array", description)
        }
    }

    fn of(kind: &'static str, description: Cow<'static, str>) -> Self {
        Self {
            kind,
            description,
            default: None,
            minimum: None,
            maximum: None,
            choices: Vec::new(),
            is_open: false,
            items: None,
            header: None,
        }
    }

    /// Sets the default value.
    pub fn with_default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// Sets the smallest number.
    pub fn with_minimum(mut self, minimum: i64) -> Self {
        self.minimum = Some(minimum);
        self
    }

    /// Sets the largest number.
    pub fn with_maximum(mut self, maximum: i64) -> Self {
        self.maximum = Some(maximum);
        self
    }

    /// Makes clients of revision 2026-07-28 repeat the argument in the header `Mcp-Param-` of this
    /// name, for proxies to read. Not for secrets.
    pub fn with_header(mut self, name: &'static str) -> Self {
        self.header = Some(name);
        self
    }

    /// Sets the texts to choose from.
    pub fn with_choices<T>(mut self, choices: impl IntoIterator<Item = T>) -> Self
    where
        T: Into<Cow<'static, str>>,
    {
        self.choices = choices.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the names to choose from, of which the tool itself refuses others, in its own words.
    pub fn with_names<T>(mut self, names: impl IntoIterator<Item = T>) -> Self
    where
        T: Into<Cow<'static, str>>,
    {
        self.is_open = true;
        self.with_choices(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_contains_only_the_members_that_are_set() {
        let cases = [
            (
                Property::number("n").with_maximum(9),
                r#"{"type":"number","description":"n","maximum":9}"#,
            ),
            (
                Property::boolean("b").with_default(true),
                r#"{"type":"boolean","description":"b","default":true}"#,
            ),
            (
                Property::string("s").with_choices(["text", "json"]),
                r#"{"type":"string","description":"s","enum":["text","json"]}"#,
            ),
            (
                Property::strings("l"),
                r#"{"type":"array","description":"l","items":{"type":"string"}}"#,
            ),
            (
                Property::rows("r"),
                r#"{"type":"array","description":"r","items":{"type":"array","items":{"type":["string","number","boolean","null"]}}}"#,
            ),
            (
                Property::objects(
                    "o",
                    Schema::new().with_required("n", Property::numbers("l")),
                ),
                r#"{"type":"array","description":"o","items":{"type":"object","properties":{"n":{"type":"array","description":"l","items":{"type":"number"}}},"required":["n"]}}"#,
            ),
        ];
        for (property, json) in cases {
            assert_eq!(serde_json::to_string(&property).expect("JSON"), json);
        }
    }

    #[cfg(feature = "schemars")]
    #[test]
    fn the_schema_of_a_type_has_its_documentation_and_no_references() {
        /// The arguments.
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Arguments {
            /// The place to look.
            place: Place,
            /// The limit.
            limit: Option<u8>,
        }

        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Place {
            name: String,
        }

        #[derive(schemars::JsonSchema)]
        struct Nothing {}

        let json = serde_json::to_value(Schema::of::<Arguments>()).expect("JSON");
        assert_eq!(
            json,
            serde_json::json!({
                "type": "object",
                "description": "The arguments.",
                "properties": {
                    "place": {
                        "type": "object",
                        "description": "The place to look.",
                        "properties": {"name": {"type": "string"}},
                        "required": ["name"],
                    },
                    "limit": {
                        "type": ["integer", "null"],
                        "description": "The limit.",
                        "format": "uint8",
                        "minimum": 0,
                        "maximum": 255,
                    },
                },
                "required": ["place"],
            })
        );
        let json = serde_json::to_value(Schema::of::<Nothing>()).expect("JSON");
        assert_eq!(
            json,
            serde_json::json!({"type": "object", "properties": {}})
        );
    }

    #[test]
    fn a_schema_without_required_arguments_has_an_empty_list_of_them() {
        let schema = Schema::new();
        assert_eq!(
            serde_json::to_string(&schema).expect("JSON"),
            r#"{"type":"object","properties":{},"required":[]}"#
        );
    }
}
