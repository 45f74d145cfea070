//! Parses the file into the parts that this program uses.
//!
//! An error never quotes the file, because it may contain a secret.

use serde::Deserialize as _;
use serde_yaml::{Mapping, Value};
use ziggurat_runtime::{Problem, Secret, yaml};

use crate::config::{Content, Profile};

/// Reads the configuration.
pub(super) fn content(text: &str) -> Result<Content, Problem> {
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
        Some(_) => return Err(Problem::MustBe("keychain".to_owned(), "true or false")),
    };
    let Some(profiles) = member(root, "profiles") else {
        return Ok(content);
    };
    for (name, section) in mapping(profiles, "profiles")?.into_iter().flatten() {
        let Value::String(name) = name else {
            return Err(Problem::MustBe("the name of a profile".to_owned(), "text"));
        };
        content
            .profiles
            .insert(name.clone(), profile(name, section)?);
    }
    Ok(content)
}

/// Parses YAML; an error has the position, but no text of the file.
pub(super) fn parse(text: &str) -> Result<Value, Problem> {
    let parsed = yaml::reader(text).and_then(Value::deserialize);
    parsed.map_err(|error| match error.location() {
        Some(at) => {
            let (line, column) = (at.line(), at.column());
            format!("not valid YAML at line {line}, column {column}").into()
        }
        None => "not valid YAML".into(),
    })
}

fn profile(name: &str, section: &Value) -> Result<Profile, Problem> {
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
        auth: text_of(platform, "auth", &place)?,
        web_url: text_of(platform, "web_url", &place)?,
    })
}

fn mapping<'a>(value: &'a Value, place: &str) -> Result<Option<&'a Mapping>, Problem> {
    match value {
        Value::Null => Ok(None),
        Value::Mapping(mapping) => Ok(Some(mapping)),
        _ => Err(no_mapping(place)),
    }
}

/// Returns the problem of a value that is not a mapping.
pub(super) fn no_mapping(place: &str) -> Problem {
    Problem::MustBe(place.to_owned(), "a mapping of keys and values")
}

fn member<'a>(mapping: &'a Mapping, name: &str) -> Option<&'a Value> {
    mapping.get(name)
}

fn text_of(mapping: &Mapping, name: &str, place: &str) -> Result<Option<String>, Problem> {
    match member(mapping, name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Problem::MustBe(format!("{place}{name}"), "text")),
    }
}
