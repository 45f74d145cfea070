//! Parses the file into the parts that this program uses.
//!
//! An error never quotes the file, because it may contain a secret.

use serde::Deserialize as _;
use serde_yaml::{Mapping, Value};
use ziggurat_runtime::{Secret, yaml};

use crate::config::{Content, Profile};

/// Reads the configuration.
pub(super) fn content(text: &str) -> Result<Content, String> {
    let root = parse(text)?;
    let Some(root) = mapping(&root, "the document")? else {
        return Ok(Content::default());
    };
    let mut content = Content {
        current: text_of(root, "current_profile", "")?,
        ..Content::default()
    };
    if let Some(output) = member(root, "output")
        && let Some(output) = mapping(output, "output")?
    {
        content.output = text_of(output, "format", "output.")?;
    }
    content.keychain = match member(root, "keychain") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(wanted)) => Some(*wanted),
        Some(_) => return Err("keychain must be true or false".to_owned()),
    };
    let Some(profiles) = member(root, "profiles") else {
        return Ok(content);
    };
    for (name, section) in mapping(profiles, "profiles")?.into_iter().flatten() {
        let Value::String(name) = name else {
            return Err("the name of a profile must be text".to_owned());
        };
        content
            .profiles
            .insert(name.clone(), profile(name, section)?);
    }
    Ok(content)
}

/// Parses YAML; an error has the position, but no text of the file.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let parsed = yaml::reader(text).and_then(Value::deserialize);
    parsed.map_err(|error| match error.location() {
        Some(at) => format!(
            "not valid YAML at line {}, column {}",
            at.line(),
            at.column()
        ),
        None => "not valid YAML".to_owned(),
    })
}

fn profile(name: &str, section: &Value) -> Result<Profile, String> {
    let place = format!("profiles.{name}");
    let Some(section) = mapping(section, &place)? else {
        return Ok(Profile::default());
    };
    let place = format!("{place}.platform");
    let platform = member(section, "platform").unwrap_or(&Value::Null);
    let Some(platform) = mapping(platform, &place)? else {
        return Ok(Profile::default());
    };
    let place = format!("{place}.");
    Ok(Profile {
        api_url: text_of(platform, "api_url", &place)?,
        client_id: text_of(platform, "client_id", &place)?,
        client_secret: text_of(platform, "client_secret", &place)?.map(Secret::from),
        login_id: text_of(platform, "login_id", &place)?,
        web_url: text_of(platform, "web_url", &place)?,
    })
}

fn mapping<'a>(value: &'a Value, place: &str) -> Result<Option<&'a Mapping>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Mapping(mapping) => Ok(Some(mapping)),
        _ => Err(format!("{place} must be a mapping of keys and values")),
    }
}

fn member<'a>(mapping: &'a Mapping, name: &str) -> Option<&'a Value> {
    mapping.get(name)
}

fn text_of(mapping: &Mapping, name: &str, place: &str) -> Result<Option<String>, String> {
    match member(mapping, name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{place}{name} must be text")),
    }
}
