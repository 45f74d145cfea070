//! Parameters in the file.

use std::collections::HashSet;

use serde_json::Value;
use serde_yaml::Value as Yaml;
use ziggurat_tokens::is_claim_name;

use crate::{
    definition::{
        Problems, is_name,
        kinds::{self, json, short},
        raw::RawParameter,
    },
    kind::{Kind, holds_nul},
    parameter::{Filling, Parameter, Source},
};

const INVALID_FROM: &str = "invalid from: write user, client, token, caller or {claim: name}";

/// Limit on the characters of a description.
const MAX_DESCRIPTION: usize = 500;

/// Reads all parameters of a tool, or reports the problem of each.
pub(super) fn read(entries: Vec<Yaml>, problems: &mut Problems) -> Option<Vec<Parameter>> {
    let count = entries.len();
    let mut seen = HashSet::new();
    let mut parameters = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let named = entry.get("name").and_then(Yaml::as_str).map(str::to_owned);
        let parameter = parameter(entry).and_then(|parameter| {
            if seen.insert(parameter.name.clone()) {
                Ok(parameter)
            } else {
                Err("there is another of this name".to_owned())
            }
        });
        match parameter {
            Ok(parameter) => parameters.push(parameter),
            Err(problem) => {
                let name = named.unwrap_or_else(|| index.to_string());
                let problem = format!("parameter '{name}': {problem}");
                problems.0.push((Some(index), problem));
            }
        }
    }
    (parameters.len() == count).then_some(parameters)
}

fn parameter(entry: Yaml) -> Result<Parameter, String> {
    let mut raw: RawParameter = serde_yaml::from_value(entry).map_err(|error| error.to_string())?;
    let name = raw.name.take().ok_or("name is required")?;
    if !is_name(&name) {
        return Err("invalid name".to_owned());
    }
    let too_long = |text: &String| text.chars().count() > MAX_DESCRIPTION;
    if raw.description.as_ref().is_some_and(too_long) {
        return Err(format!(
            "description is longer than {MAX_DESCRIPTION} characters"
        ));
    }
    let kind = raw.kind.take().ok_or("type is required")?;
    let keys = raw.keys();
    let takes_more =
        raw.default.is_some() || raw.required.is_some() || keys.get("allowed").is_some();
    if raw.from.is_some() && takes_more {
        return Err("a bound parameter takes no default, allowed or required".to_owned());
    }
    let kind = kinds::read(&kind, &keys)?;
    let is_sensitive = raw.sensitive.unwrap_or(false);
    let filling = filling(&raw, &kind)?;
    if matches!((&filling, &kind), (Filling::Optional, Kind::Identifier(_))) {
        return Err("an identifier is required or has a default".to_owned());
    }
    Ok(Parameter {
        name,
        description: raw.description,
        kind,
        filling,
        is_sensitive,
    })
}

fn filling(raw: &RawParameter, kind: &Kind) -> Result<Filling, String> {
    if let Some(from) = &raw.from {
        return source(from, kind).map(Filling::Bound);
    }
    match (&raw.default, raw.required) {
        (Some(_), Some(true)) => Err("a required parameter takes no default".to_owned()),
        (Some(default), _) => {
            let json = json(default);
            let value: Value = serde_json::from_str(&json).unwrap_or_default();
            if holds_nul(&json) {
                return Err("default holds a NUL character".to_owned());
            }
            let checked = kind.check(&json).map_err(|wrong| {
                let item = wrong.item.map(|item| format!(" (item {item})"));
                let item = item.unwrap_or_default();
                format!("default is not {}{item}", short(&wrong.expected))
            })?;
            Ok(Filling::Default(checked, value))
        }
        (None, Some(false)) => Ok(Filling::Optional),
        (None, _) => Ok(Filling::Required),
    }
}

fn source(from: &Yaml, kind: &Kind) -> Result<Source, String> {
    if from.is_mapping() {
        return claim(from);
    }
    match from.as_str() {
        Some("role") => Err(
            "from: role needs databases[].identity, which this version does not have".to_owned(),
        ),
        Some(name) => {
            let source = Source::read(name).ok_or_else(|| format!("invalid from: {name}"))?;
            match kind {
                Kind::List(_) => Err(format!("from: {name} does not apply to array")),
                _ => Ok(source),
            }
        }
        None => Err(INVALID_FROM.to_owned()),
    }
}

fn claim(from: &Yaml) -> Result<Source, String> {
    let members = from.as_mapping().filter(|members| members.len() == 1);
    let name = members.and_then(|members| members.get("claim"));
    let name = name.and_then(Yaml::as_str).ok_or(INVALID_FROM)?;
    if !is_claim_name(name) {
        return Err(format!(
            "from: invalid name of a claim: {}",
            name.escape_debug()
        ));
    }
    Ok(Source::Claim(name.into()))
}
