//! The headers of a request over HTTP.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};
use ziggurat_layers::mcp::routing;
use ziggurat_mcp::protocol::Revision;

use crate::outgoing::Outgoing;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

const OPENING: &str = "=?base64?";
const CLOSING: &str = "?=";

/// An argument of a tool that is repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepeatedArgument {
    path: Vec<String>,
    header: HeaderName,
}

/// Adds the headers of all messages.
pub(crate) fn add_common(headers: &mut HeaderMap, revision: Option<Revision>) {
    for (name, value) in [
        (header::CONTENT_TYPE, "application/json"),
        (header::ACCEPT, "application/json, text/event-stream"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(revision) = revision {
        let revision = HeaderValue::from_static(revision.as_str());
        headers.insert(routing::PROTOCOL_VERSION, revision);
    }
}

/// Adds the headers of a request, which in the modern revision repeat parts of it.
pub(crate) fn add_routing(headers: &mut HeaderMap, request: &Outgoing<'_>) {
    if !request.revision.is_some_and(Revision::is_modern) {
        return;
    }
    headers.insert(routing::METHOD, encode(request.method));
    if let Some(subject) = request.subject {
        headers.insert(routing::NAME, encode(subject));
    }
    headers.extend(request.headers.clone());
}

/// Returns a text as the value of a header, in Base64 if it would not arrive as it is.
fn encode(text: &str) -> HeaderValue {
    let is_marked = text.starts_with(OPENING) && text.ends_with(CLOSING);
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let literal = (is_plain && !is_marked && text.trim_ascii() == text)
        .then(|| HeaderValue::from_str(text).ok())
        .flatten();
    literal.unwrap_or_else(|| {
        let encoded = format!("{OPENING}{}{CLOSING}", STANDARD.encode(text));
        encoded.try_into().expect("Base64 is visible ASCII")
    })
}

/// Returns the arguments that a tool wants repeated in headers (`x-mcp-header` in its schema).
pub(crate) fn repeated_arguments(schema: &RawValue) -> Vec<RepeatedArgument> {
    #[derive(Deserialize)]
    struct Schema {
        #[serde(default)]
        properties: Map<String, Value>,
    }

    let mut found = Vec::new();
    if let Ok(schema) = serde_json::from_str::<Schema>(schema.get()) {
        collect(&schema.properties, &mut Vec::new(), &mut found);
    }
    found
}

/// Finds annotated properties. The schema was parsed, so its depth is bounded.
fn collect(
    properties: &Map<String, Value>,
    path: &mut Vec<String>,
    found: &mut Vec<RepeatedArgument>,
) {
    for (name, property) in properties {
        path.push(name.clone());
        let header = property.get("x-mcp-header").and_then(Value::as_str);
        if let Some(header) = header.and_then(|it| format!("mcp-param-{it}").parse().ok()) {
            let path = path.clone();
            found.push(RepeatedArgument { path, header });
        }
        if let Some(Value::Object(properties)) = property.get("properties") {
            collect(properties, path, found);
        }
        path.pop();
    }
}

/// Returns the headers that repeat arguments.
pub(crate) fn repeat(repeated: &[RepeatedArgument], arguments: Option<&RawValue>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let arguments: Option<Value> = arguments.and_then(|it| serde_json::from_str(it.get()).ok());
    for RepeatedArgument { path, header } in repeated {
        let mut names = path.iter();
        let value = names.try_fold(arguments.as_ref(), |value, name| Some(value?.get(name)));
        let value = match value.flatten() {
            Some(Value::String(text)) => encode(text),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => encode(&value.to_string()),
            _ => continue,
        };
        headers.insert(header, value);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_decodes_every_name_that_the_client_encodes() {
        for name in [
            "query",
            "a b",
            "",
            " led",
            "trailed ",
            "äöü",
            "a\nb",
            "\u{7f}",
            "=?base64?YQ==?=",
            "=?base64?",
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(routing::NAME, encode(name));
            let decoded = routing::decoded(&headers, &routing::NAME).expect("well encoded");
            assert_eq!(decoded.as_deref(), Some(name.as_bytes()), "{name}");
        }
        assert_eq!(encode("a b"), "a b");
    }

    #[test]
    fn annotated_arguments_are_repeated_however_deep_they_are() {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).expect("JSON");
        let schema = raw(r#"{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "page":{"type":"object","properties":{"size":{"type":"integer","x-mcp-header":"Size"}}},
            "bad":{"type":"string","x-mcp-header":"not a name"},
            "gone":{"type":"boolean","x-mcp-header":"Gone"}}}"#);
        let repeated = repeated_arguments(&schema);
        let arguments = raw(r#"{"region":"süd","page":{"size":20},"bad":"b","gone":null}"#);
        let headers = repeat(&repeated, Some(&arguments));
        assert_eq!(headers["mcp-param-region"], "=?base64?c8O8ZA==?=");
        assert_eq!(headers["mcp-param-size"], "20");
        assert_eq!(headers.len(), 2);
        assert!(repeat(&repeated, None).is_empty());
        assert!(repeated_arguments(&raw("[1]")).is_empty());
    }
}
