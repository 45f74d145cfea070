//! Parameters in the file.

use std::collections::HashSet;

use serde_json::Value;
use serde_yaml::Value as Yaml;
use ziggurat_runtime::{Problem, causes};
use ziggurat_tokens::{Fact, is_claim_name};

use crate::{
    definition::{
        Problems, is_name,
        kinds::{self, json, short},
        raw::RawParameter,
    },
    kind::{Kind, holds_nul},
    parameter::{Filling, Parameter},
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
                Err("there is another of this name".into())
            }
        });
        match parameter {
            Ok(parameter) => parameters.push(parameter),
            Err(problem) => {
                let name = named.unwrap_or_else(|| index.to_string());
                let problem = causes(&problem.within(format!("parameter '{name}'")));
                problems.0.push((Some(index), problem));
            }
        }
    }
    (parameters.len() == count).then_some(parameters)
}

fn parameter(entry: Yaml) -> Result<Parameter, Problem> {
    let mut raw: RawParameter = serde_yaml::from_value(entry)?;
    let name = raw.name.take().ok_or(Problem::Missing("name"))?;
    if !is_name(&name) {
        return Err("invalid name".into());
    }
    let too_long = |text: &String| text.chars().count() > MAX_DESCRIPTION;
    if raw.description.as_ref().is_some_and(too_long) {
        return Err(Problem::TooLong("description", MAX_DESCRIPTION));
    }
    let kind = raw.kind.take().ok_or(Problem::Missing("type"))?;
    let keys = raw.keys();
    let takes_more =
        raw.default.is_some() || raw.required.is_some() || keys.get("allowed").is_some();
    if raw.from.is_some() && takes_more {
        return Err("a bound parameter takes no default, allowed or required".into());
    }
    let kind = kinds::read(&kind, &keys)?;
    let is_sensitive = raw.sensitive.unwrap_or(false);
    let filling = filling(&raw, &kind)?;
    if matches!((&filling, &kind), (Filling::Optional, Kind::Identifier(_))) {
        return Err("an identifier is required or has a default".into());
    }
    Ok(Parameter {
        name,
        description: raw.description,
        kind,
        filling,
        is_sensitive,
    })
}

fn filling(raw: &RawParameter, kind: &Kind) -> Result<Filling, Problem> {
    if let Some(from) = &raw.from {
        return source(from, kind).map(Filling::Bound);
    }
    match (&raw.default, raw.required) {
        (Some(_), Some(true)) => Err("a required parameter takes no default".into()),
        (Some(default), _) => {
            let json = json(default);
            let value: Value = serde_json::from_str(&json).unwrap_or_default();
            if holds_nul(&json) {
                return Err("default holds a NUL character".into());
            }
            let checked = kind.check(&json).map_err(|wrong| {
                let item = wrong.item.map(|item| format!(" (item {item})"));
                let item = item.unwrap_or_default();
                Problem::IsNot(
                    "default".to_owned(),
                    short(&wrong.expected).to_owned() + &item,
                )
            })?;
            Ok(Filling::Default(checked, value))
        }
        (None, Some(false)) => Ok(Filling::Optional),
        (None, _) => Ok(Filling::Required),
    }
}

fn source(from: &Yaml, kind: &Kind) -> Result<Fact, Problem> {
    if from.is_mapping() {
        return claim(from);
    }
    match from.as_str() {
        Some(name) => {
            let source = match name {
                "role" => Fact::Role,
                name => {
                    Fact::read(name).ok_or_else(|| Problem::Invalid("from", name.to_owned()))?
                }
            };
            match kind {
                Kind::List(_) => Err(format!("from: {name} does not apply to array").into()),
                _ => Ok(source),
            }
        }
        None => Err(INVALID_FROM.into()),
    }
}

fn claim(from: &Yaml) -> Result<Fact, Problem> {
    let members = from.as_mapping().filter(|members| members.len() == 1);
    let name = members.and_then(|members| members.get("claim"));
    let name = name.and_then(Yaml::as_str).ok_or(INVALID_FROM)?;
    if !is_claim_name(name) {
        let name = name.escape_debug();
        return Err(format!("from: invalid name of a claim: {name}").into());
    }
    Ok(Fact::Claim(name.into()))
}
