//! The arguments of a call, checked and turned into values for PostgreSQL.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use ziggurat_mcp::Reported;
use ziggurat_postgres::single_round_trip::Value;
use ziggurat_tokens::{CallerFacts, Identity};

use crate::{
    definition::Definition,
    kind::{Checked, Kind, holds_nul},
    parameter::{Filling, Parameter},
};

/// Limit on the characters of an unknown name that an error repeats.
const MAX_NAME: usize = 64;

/// The OIDs of the types `text` and `text[]`.
const TEXT: u32 = 25;
const TEXT_ARRAY: u32 = 1009;

/// The members of the arguments, in their order, each as it was written.
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// The reason why a call does not run.
#[derive(Debug)]
pub(crate) enum ArgumentError {
    /// The arguments are wrong.
    Wrong(Reported),
    /// The caller lacks a fact that a parameter is filled with.
    NotFilled,
}

/// Checks the arguments, and returns the values of the parameters in their order; `None` is NULL.
pub(crate) fn read(
    definition: &Definition,
    members: &Members<'_>,
    identity: Option<&Identity>,
    role: Option<&str>,
) -> Result<Vec<Option<Checked>>, ArgumentError> {
    let parameters = &definition.parameters;
    let is_open = |name: &str| parameters.iter().any(|it| it.is_open() && it.name == name);
    if let Some((name, _)) = members.0.iter().find(|(name, _)| !is_open(name)) {
        let shown: String = name.chars().take(MAX_NAME).collect();
        let more = if shown.len() < name.len() { "…" } else { "" };
        return Err(ArgumentError::wrong(format!(
            "Unknown argument: {shown}{more}"
        )));
    }
    let is_missing = |parameter: &&Parameter| {
        matches!(parameter.filling, Filling::Required) && members.get(&parameter.name).is_none()
    };
    if let Some(missing) = parameters.iter().find(is_missing) {
        let name = &missing.name;
        return Err(ArgumentError::wrong(format!("Missing argument: {name}")));
    }
    let facts = CallerFacts {
        identity,
        local: &definition.local,
        role,
    };
    let each = parameters.iter().map(|it| value(it, members, facts));
    each.collect()
}

fn value(
    parameter: &Parameter,
    members: &Members<'_>,
    facts: CallerFacts<'_>,
) -> Result<Option<Checked>, ArgumentError> {
    let json = members.get(&parameter.name);
    // An optional argument that is null counts as one that is left out.
    let sent = json.filter(|json| *json != "null");
    match (&parameter.filling, sent) {
        (Filling::Bound(source), _) => {
            let bound = parameter.bound(source, facts);
            bound.map(Some).ok_or(ArgumentError::NotFilled)
        }
        (Filling::Default(value, _), None) => Ok(Some(value.clone())),
        (Filling::Optional, None) => Ok(None),
        (Filling::Required, None) => check(parameter, json.unwrap_or("null")).map(Some),
        (_, Some(json)) => check(parameter, json).map(Some),
    }
}

fn check(parameter: &Parameter, json: &str) -> Result<Checked, ArgumentError> {
    let name = &parameter.name;
    if holds_nul(json) {
        let text = format!("Invalid argument '{name}': must not hold a NUL character");
        return Err(ArgumentError::wrong(text));
    }
    parameter.kind.check(json).map_err(|wrong| {
        let item = wrong.item.map(|item| format!(" (item {item})"));
        let item = item.unwrap_or_default();
        let expected = wrong.expected;
        ArgumentError::wrong(format!(
            "Invalid argument '{name}': must be {expected}{item}"
        ))
    })
}

/// Returns the values for `$1`, `$2` and so on.
pub(crate) fn bound(definition: &Definition, values: Vec<Option<Checked>>) -> Vec<Value> {
    let each = definition.parameters.iter().zip(values);
    each.filter_map(|(parameter, value)| match (value, &parameter.kind) {
        (_, Kind::Identifier(_)) | (Some(Checked::Name(_)), _) => None,
        (Some(Checked::Text(text)), _) => Some(Value::Text(text)),
        (Some(Checked::Texts(texts)), _) => Some(Value::Texts(texts)),
        (None, Kind::Scalar(_)) => Some(Value::Null(TEXT)),
        (None, Kind::List(_)) => Some(Value::Null(TEXT_ARRAY)),
    })
    .collect()
}

// === impl Members ===

impl<'a> Members<'a> {
    /// Takes a member out.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        let at = self.0.iter().position(|(it, _)| it == name)?;
        Some(self.0.remove(at).1)
    }

    /// Takes a member out that is a text.
    pub(crate) fn take_text(&mut self, name: &str) -> Option<String> {
        serde_json::from_str(self.take(name)?.get()).ok()
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).map(RawValue::get)
    }

    /// Returns an argument as it was written.
    pub(crate) fn raw(&self, name: &str) -> Option<&RawValue> {
        let found = self.0.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| *value)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

        struct AnyMembers;

        impl<'de> Visitor<'de> for AnyMembers {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(AnyMembers)
    }
}

// === impl ArgumentError ===

impl ArgumentError {
    fn wrong(text: String) -> Self {
        Self::Wrong(Reported::new(text))
    }
}
