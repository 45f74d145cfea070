//! Types of parameters in the file.

use std::fmt::Display;

use serde_yaml::Value as Yaml;
use ziggurat_runtime::Problem;

use crate::{
    definition::raw::{Keys, RawItems},
    kind::{Kind, List, MAX_JSON_BYTES, Pattern, Range, Scalar, TextRules},
};

/// Limit on the values of an `enum`.
const MAX_ENUM: usize = 200;

/// Reads a type with its keys.
pub(super) fn read(kind: &str, keys: &Keys) -> Result<Kind, Problem> {
    match kind {
        "array" => {
            keys.only(kind, &["items", "min_items", "max_items"])?;
            let read = keys.get("items").ok_or(Problem::Missing("items"))?;
            let items = items(read).map_err(|problem| problem.within("items"))?;
            let length = range(keys, "min_items", "max_items", size, "a number of values")?;
            Ok(Kind::List(List { items, length }))
        }
        "identifier" => {
            keys.only(kind, &["allowed"])?;
            let allowed = strings(keys)?.ok_or(Problem::Missing("allowed"))?;
            if allowed.iter().any(|it| it.is_empty() || it.contains('\0')) {
                return Err("allowed holds what is no name".into());
            }
            Ok(Kind::Identifier(allowed))
        }
        kind => scalar(kind, keys).map(Kind::Scalar),
    }
}

fn items(items: &Yaml) -> Result<Scalar, Problem> {
    let mut items: RawItems = serde_yaml::from_value(items.clone())?;
    let kind = items.kind.take().ok_or(Problem::Missing("type"))?;
    scalar(&kind, &items.keys())
}

fn scalar(kind: &str, keys: &Keys) -> Result<Scalar, Problem> {
    let only = |known: &[&str]| keys.only(kind, known);
    match kind {
        "string" => {
            only(&["min_length", "max_length", "pattern", "allowed"])?;
            text_rules(keys).map(Scalar::Text)
        }
        "integer" => {
            only(&["min", "max", "allowed"])?;
            let allowed = list(keys, Yaml::as_i64, "integers")?;
            Ok(Scalar::Integer {
                range: range(keys, "min", "max", Yaml::as_i64, "an integer")?,
                allowed: allowed.unwrap_or_default(),
            })
        }
        "number" => {
            only(&["min", "max"])?;
            let range = checked_range(keys, &Scalar::Number(Range::default()))?;
            Ok(Scalar::Number(range))
        }
        "boolean" => only(&[]).map(|()| Scalar::Boolean),
        "enum" => {
            only(&["allowed"])?;
            let allowed = strings(keys)?.ok_or(Problem::Missing("allowed"))?;
            if allowed.len() > MAX_ENUM {
                return Err(format!("allowed has more than {MAX_ENUM} values").into());
            }
            Ok(Scalar::Enum(allowed))
        }
        "date" => {
            only(&["min", "max"])?;
            let range = checked_range(keys, &Scalar::Date(Range::default()))?;
            Ok(Scalar::Date(range))
        }
        "timestamp" => {
            only(&["min", "max"])?;
            let range = checked_range(keys, &Scalar::Timestamp(Range::default()))?;
            Ok(Scalar::Timestamp(range))
        }
        "uuid" => only(&[]).map(|()| Scalar::Uuid),
        "json" => {
            only(&["max_length"])?;
            let range = range(keys, "min_length", "max_length", size, "a number of bytes")?;
            Ok(Scalar::Json {
                max_bytes: range.max.unwrap_or(MAX_JSON_BYTES),
            })
        }
        _ => Err(format!("unknown type: {kind}").into()),
    }
}

fn text_rules(keys: &Keys) -> Result<TextRules, Problem> {
    let expected = "a number of characters";
    let length = range(keys, "min_length", "max_length", size, expected)?;
    let pattern = keys.get("pattern").map(|yaml| {
        let written = yaml.as_str().ok_or("pattern is not a string")?;
        Pattern::new(written)
    });
    Ok(TextRules {
        length,
        pattern: pattern.transpose()?,
        allowed: strings(keys)?.unwrap_or_default(),
    })
}

/// A type of which a range can be read from the text that passes the checks of a value.
trait FromChecked: Sized {
    fn from_checked(text: &str) -> Option<Self>;
}

impl FromChecked for crate::decimal::Decimal {
    fn from_checked(text: &str) -> Option<Self> {
        Self::read(text)
    }
}

impl FromChecked for jiff::civil::Date {
    fn from_checked(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl FromChecked for jiff::Timestamp {
    fn from_checked(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// Reads the range of a type, with values of the type as its ends.
fn checked_range<T>(keys: &Keys, scalar: &Scalar) -> Result<Range<T>, Problem>
where
    T: FromChecked + PartialOrd + Display,
{
    let read = |yaml: &Yaml| T::from_checked(&scalar.check(&json(yaml)).ok()?);
    let expected = scalar.check("{}").err().map(|wrong| wrong.expected);
    let expected = expected.unwrap_or_default();
    range(keys, "min", "max", read, short(&expected))
}

fn range<T: PartialOrd + Display>(
    keys: &Keys,
    min_key: &str,
    max_key: &str,
    read: impl Fn(&Yaml) -> Option<T>,
    expected: &str,
) -> Result<Range<T>, Problem> {
    let end = |key: &str| {
        let wrong = || Problem::IsNot(key.to_owned(), expected.to_owned());
        let end = keys.get(key).map(|yaml| read(yaml).ok_or_else(wrong));
        end.transpose()
    };
    let (min, max) = (end(min_key)?, end(max_key)?);
    if min
        .as_ref()
        .zip(max.as_ref())
        .is_some_and(|(min, max)| min > max)
    {
        return Err(format!("{min_key} is above {max_key}").into());
    }
    Ok(Range { min, max })
}

fn size(yaml: &Yaml) -> Option<usize> {
    yaml.as_u64()?.try_into().ok()
}

fn strings(keys: &Keys) -> Result<Option<Vec<String>>, Problem> {
    list(keys, |yaml| yaml.as_str().map(str::to_owned), "strings")
}

/// Reads the allowed values; an empty list counts as absent.
fn list<T>(
    keys: &Keys,
    read: impl Fn(&Yaml) -> Option<T>,
    expected: &str,
) -> Result<Option<Vec<T>>, Problem> {
    let Some(yaml) = keys.get("allowed") else {
        return Ok(None);
    };
    let values = yaml
        .as_sequence()
        .and_then(|values| values.iter().map(read).collect());
    let wrong = || Problem::IsNot("allowed".to_owned(), format!("a list of {expected}"));
    let values: Vec<T> = values.ok_or_else(wrong)?;
    Ok((!values.is_empty()).then_some(values))
}

/// Returns a value of the file in JSON.
pub(super) fn json(yaml: &Yaml) -> String {
    serde_json::to_string(yaml).unwrap_or_default()
}

/// Returns what a value must be, without an example.
pub(super) fn short(expected: &str) -> &str {
    expected.split(" such as ").next().unwrap_or(expected)
}
