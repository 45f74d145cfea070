//! The headers that repeat parts of a message, so that proxies need not parse it.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName};
use ziggurat_layers::json_rpc::{Call, Error};

use crate::protocol::{envelope::Envelope, error::mismatch};

/// Header with the revision.
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The methods that name a tool, prompt or resource.
const SUBJECTS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

const OPENING: &[u8] = b"=?base64?";
const CLOSING: &[u8] = b"?=";

/// Returns the only value of a header, without surrounding blanks.
pub(crate) fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a [u8]>, Error> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(mismatch(&format!("the header {name} is repeated")));
    }
    Ok(Some(value.as_bytes().trim_ascii()))
}

/// Checks second that the headers of a modern request match the message.
pub(super) fn check(call: &Call, envelope: &Envelope<'_>) -> Result<(), Error> {
    let headers = &call.head().headers;
    let version = envelope.version();
    check_header(headers, &VERSION, version.as_deref().map(str::as_bytes))?;
    check_header(headers, &METHOD, Some(call.method().as_bytes()))?;
    let method = call.method();
    if !SUBJECTS.contains(&method) {
        return Ok(());
    }
    let subject = envelope.subject(method);
    let found = required(headers, &NAME)?;
    let found = decoded(found).ok_or_else(|| unreadable(&NAME))?;
    check_equal(&NAME, &found, subject.as_deref().map(str::as_bytes))
}

/// Decodes a header value that may be encoded; `None` if the encoding is invalid.
pub(crate) fn decoded(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    let encoded = value
        .strip_prefix(OPENING)
        .and_then(|rest| rest.strip_suffix(CLOSING));
    let Some(encoded) = encoded else {
        return Some(Cow::Borrowed(value));
    };
    // Strict about padding and leftover bits.
    let text = STANDARD.decode(encoded).ok()?;
    str::from_utf8(&text).ok()?;
    Some(Cow::Owned(text))
}

pub(crate) fn unreadable(name: &HeaderName) -> Error {
    mismatch(&format!("the header {name} has an invalid encoding"))
}

fn check_header(
    headers: &HeaderMap,
    name: &HeaderName,
    expected: Option<&[u8]>,
) -> Result<(), Error> {
    check_equal(name, required(headers, name)?, expected)
}

fn required<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a [u8], Error> {
    single(headers, name)?.ok_or_else(|| mismatch(&format!("the header {name} is missing")))
}

fn check_equal(name: &HeaderName, found: &[u8], expected: Option<&[u8]>) -> Result<(), Error> {
    if expected == Some(found) {
        Ok(())
    } else {
        let problem = format!("the header {name} does not match the message");
        Err(mismatch(&problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_literal_unless_both_markers_are_there() {
        let cases: [(&str, Option<&str>); 12] = [
            ("query_database", Some("query_database")),
            ("", Some("")),
            ("=?base64?w6TDtsO8?=", Some("äöü")),
            ("=?base64??=", Some("")),
            ("=?base64?w6TDtsO8", Some("=?base64?w6TDtsO8")),
            ("=?BASE64?w6TDtsO8?=", Some("=?BASE64?w6TDtsO8?=")),
            ("w6TDtsO8?=", Some("w6TDtsO8?=")),
            ("=?base64?YQ==?=", Some("a")),
            ("=?base64?YQ?=", None),
            ("=?base64?YR==?=", None),
            ("=?base64?Y-_=?=", None),
            ("=?base64?/w==?=", None),
        ];
        for (value, expected) in cases {
            let found = decoded(value.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{value}");
        }
    }
}
