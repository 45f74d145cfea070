//! Checks of the arguments of a call against the schema of its tool.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use crate::{
    Reported,
    tool::schema::{Items, Property, Schema},
};

/// Number of characters of a wrong value that a message quotes.
const MAX_QUOTE: usize = 40;

/// Looks at the members of an object, each as it was written, and holds none.
struct EachMember<F>(F);

/// The name of a member.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Element of an array: a string, or else a number.
struct Checked<const IS_STRING: bool>;

// === impl Checked ===

impl<'de, const IS_STRING: bool> Deserialize<'de> for Checked<IS_STRING> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if IS_STRING {
            <Cow<'_, str>>::deserialize(deserializer)?;
        } else {
            f64::deserialize(deserializer)?;
        }
        Ok(Self)
    }
}

// === impl Schema ===

impl Schema {
    /// Checks the arguments of a call, a JSON object: their names, types and ranges. An argument
    /// that is `null` counts as one that is left out, and missing ones are the tool's to report. A
    /// [raw](Self::raw) schema is not checked: reading the arguments does that.
    ///
    /// The error has one line for each wrong argument, so that a model can correct all at once.
    pub(crate) fn check(&self, tool: &str, arguments: &str) -> Result<(), Reported> {
        if self.raw.is_some() {
            return Ok(());
        }
        let mut problems = Vec::new();
        let read = EachMember(|name: &str, value: &RawValue| {
            let property = self.properties.iter().find(|(it, _)| it == &name);
            problems.extend(match property {
                Some((_, property)) => property.problem(name, value.get()),
                None => Some(self.unknown(tool, name)),
            });
        });
        let mut json = serde_json::Deserializer::from_str(arguments);
        if json.deserialize_map(read).and(json.end()).is_err() {
            return Err(Reported::new("The arguments must be a JSON object."));
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(Reported::new(problems.join("\n")))
    }

    fn unknown(&self, tool: &str, name: &str) -> String {
        let mut text = format!("Unknown argument '{}'. ", shortened(name));
        let names = self.properties.iter().map(|(name, _)| *name);
        let names = names.collect::<Vec<_>>().join(", ");
        let done = if names.is_empty() {
            write!(text, "{tool} has no arguments.")
        } else {
            write!(text, "The arguments of {tool} are: {names}.")
        };
        done.expect("a string takes all that is written");
        text
    }
}

// === impl EachMember ===

impl<'de, F: FnMut(&str, &'de RawValue)> Visitor<'de> for EachMember<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some((Name(name), value)) = members.next_entry()? {
            (self.0)(&name, value);
        }
        Ok(())
    }
}

// === impl Property ===

impl Property {
    fn problem(&self, name: &str, json: &str) -> Option<String> {
        if self.takes(json) {
            return None;
        }
        let found = match json.as_bytes()[0] {
            b'"' if self.choices.is_empty() => "a string".to_owned(),
            b'[' => "an array".to_owned(),
            b'{' => "an object".to_owned(),
            _ => shortened(json).into_owned(),
        };
        Some(format!(
            "'{name}' must be {}, not {found}.",
            self.expected()
        ))
    }

    fn takes(&self, json: &str) -> bool {
        let first = json.as_bytes()[0];
        match self.kind {
            _ if json == "null" => true,
            "string" if self.choices.is_empty() || self.is_open => first == b'"',
            "string" => serde_json::from_str::<Cow<'_, str>>(json)
                .is_ok_and(|text| self.choices.contains(&text)),
            "object" => first == b'{',
            "boolean" => matches!(first, b't' | b'f'),
            "integer" | "number" => self.takes_number(json),
            "array" => match &self.items {
                // Elements that hold nothing: a long array costs no memory here.
                Some(Items::Scalars { kind: "string" }) => {
                    serde_json::from_str::<Vec<Checked<true>>>(json).is_ok()
                }
                Some(Items::Scalars { .. }) => {
                    serde_json::from_str::<Vec<Checked<false>>>(json).is_ok()
                }
                _ => first == b'[',
            },
            _ => true,
        }
    }

    fn takes_number(&self, json: &str) -> bool {
        let Ok(Value::Number(number)) = serde_json::from_str(json) else {
            return false;
        };
        let is_integer = number.is_i64() || number.is_u64();
        // Above the range of `i64` only a maximum can be missed.
        let whole = number.as_i64().unwrap_or(i64::MAX);
        let is_in_range = if is_integer {
            self.minimum.is_none_or(|least| whole >= least)
                && self.maximum.is_none_or(|most| whole <= most)
        } else {
            let value = number.as_f64().unwrap_or(f64::NAN);
            // Bounds are small integers, which a float holds exactly.
            #[expect(clippy::cast_precision_loss, reason = "bounds are small")]
            let is_above = self.minimum.is_none_or(|least| value >= least as f64);
            #[expect(clippy::cast_precision_loss, reason = "bounds are small")]
            let is_below = self.maximum.is_none_or(|most| value <= most as f64);
            is_above && is_below
        };
        is_in_range && (is_integer || self.kind == "number")
    }

    /// Returns what the argument has to be, for a message.
    fn expected(&self) -> String {
        match self.kind {
            "string" if !self.choices.is_empty() && !self.is_open => {
                format!("one of {}", self.choices.join(", "))
            }
            "string" => "a string".to_owned(),
            "boolean" => "true or false".to_owned(),
            "object" => "an object".to_owned(),
            "array" => match &self.items {
                Some(Items::Scalars { kind }) => format!("an array of {kind}s"),
                _ => "an array".to_owned(),
            },
            kind => {
                let mut text = if kind == "integer" {
                    "an integer".to_owned()
                } else {
                    "a number".to_owned()
                };
                let done = match (self.minimum, self.maximum) {
                    (Some(least), Some(most)) => write!(text, " from {least} to {most}"),
                    (Some(least), None) => write!(text, " of at least {least}"),
                    (None, Some(most)) => write!(text, " of at most {most}"),
                    (None, None) => Ok(()),
                };
                done.expect("a string takes all that is written");
                text
            }
        }
    }
}

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(arguments: &str) -> String {
        let schema = Schema::new()
            .with_required("query", Property::string("q"))
            .with_optional(
                "limit",
                Property::integer("l").with_minimum(1).with_maximum(9),
            )
            .with_optional("weight", Property::number("w").with_minimum(0))
            .with_optional("is_short", Property::boolean("b"))
            .with_optional("kinds", Property::strings("k"))
            .with_optional(
                "level",
                Property::string("v").with_choices(["names", "full"]),
            );
        let found = schema.check("search", arguments);
        found
            .err()
            .map_or_else(String::new, |it| it.as_str().to_owned())
    }

    #[test]
    fn arguments_that_fit_the_schema_pass_and_null_is_one_left_out() {
        for arguments in [
            "{}",
            r#"{"query":"\u0041","limit":9,"weight":0.5,"is_short":true,"kinds":["a","\n"],"level":"full"}"#,
            r#"{"query":null,"limit":null,"kinds":[],"weight":3}"#,
        ] {
            assert_eq!(problems(arguments), "", "{arguments}");
        }
    }

    #[test]
    fn each_wrong_argument_is_named_with_what_is_expected() {
        let cases = [
            (r#"{"query":7}"#, "'query' must be a string, not 7."),
            (
                r#"{"limit":"7"}"#,
                "'limit' must be an integer from 1 to 9, not a string.",
            ),
            (
                r#"{"limit":0}"#,
                "'limit' must be an integer from 1 to 9, not 0.",
            ),
            (
                r#"{"limit":1.5}"#,
                "'limit' must be an integer from 1 to 9, not 1.5.",
            ),
            (
                r#"{"limit":99999999999999999999}"#,
                "'limit' must be an integer from 1 to 9, not 99999999999999999999.",
            ),
            (
                r#"{"weight":-0.1}"#,
                "'weight' must be a number of at least 0, not -0.1.",
            ),
            (
                r#"{"is_short":"true"}"#,
                "'is_short' must be true or false, not a string.",
            ),
            (
                r#"{"kinds":["a",1]}"#,
                "'kinds' must be an array of strings, not an array.",
            ),
            (
                r#"{"level":"summary"}"#,
                "'level' must be one of names, full, not \"summary\".",
            ),
            (
                r#"{"limt":3,"query":{}}"#,
                "Unknown argument 'limt'. The arguments of search are: query, limit, weight, \
                 is_short, kinds, level.\n'query' must be a string, not an object.",
            ),
            ("[]", "The arguments must be a JSON object."),
        ];
        for (arguments, expected) in cases {
            assert_eq!(problems(arguments), expected, "{arguments}");
        }
    }
}
