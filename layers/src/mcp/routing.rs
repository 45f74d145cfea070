//! The headers that repeat parts of a message, so that proxies need not parse it (Streamable HTTP,
//! revision 2026-07-28 of the Model Context Protocol).
//!
//! A server can use these functions to check its requests itself:
//!
//! ```
//! use http::{HeaderMap, HeaderValue};
//! use ziggurat_layers::mcp::routing;
//!
//! let mut headers = HeaderMap::new();
//! for (name, value) in [
//!     (routing::PROTOCOL_VERSION, "2026-07-28"),
//!     (routing::METHOD, "tools/call"),
//!     (routing::NAME, "search"),
//! ] {
//!     headers.insert(name, HeaderValue::from_static(value));
//! }
//! let checked = |name| routing::check(&headers, "tools/call", Some("2026-07-28"), Some(name));
//! assert!(checked("search").is_ok());
//! assert_eq!(checked("drop_all").unwrap_err().code(), routing::HEADER_MISMATCH);
//! ```

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, StatusCode};

use crate::json_rpc::Error;

/// Header with the revision of the protocol.
///
/// ```
/// assert_eq!(ziggurat_layers::mcp::routing::PROTOCOL_VERSION, "mcp-protocol-version");
/// ```
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Header with the method of the message.
///
/// ```
/// assert_eq!(ziggurat_layers::mcp::routing::METHOD, "mcp-method");
/// ```
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// Header with the tool, the prompt or the URI of the resource.
///
/// ```
/// assert_eq!(ziggurat_layers::mcp::routing::NAME, "mcp-name");
/// ```
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Code of the error for a header that does not match the message.
///
/// ```
/// assert_eq!(ziggurat_layers::mcp::routing::HEADER_MISMATCH, -32020);
/// ```
pub const HEADER_MISMATCH: i64 = -32020;

/// Codes with a meaning in the revision 2026-07-28: a header does not match, the client lacks a
/// capability, the revision is not supported.
const MODERN_CODES: [i64; 3] = [HEADER_MISMATCH, -32021, -32022];

/// The revisions that start with `initialize`.
const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The methods with a header that repeats their tool, prompt or resource.
const SUBJECTS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

const OPENING: &[u8] = b"=?base64?";
const CLOSING: &[u8] = b"?=";

/// Checks that the headers of a request of revision 2026-07-28 are present and match the message.
///
/// `version` is the revision in the `_meta` of the message, and `subject` is the tool, the prompt
/// or the URI of the resource; it is read only for methods that have one.
///
/// ```
/// use http::HeaderMap;
/// use ziggurat_layers::mcp::routing;
///
/// let error = routing::check(&HeaderMap::new(), "ping", Some("2026-07-28"), None).unwrap_err();
/// assert_eq!(error.data(), Some(r#""the header mcp-protocol-version is missing""#));
/// ```
///
/// # Errors
/// [`HEADER_MISMATCH`], its data naming the header.
pub fn check(
    headers: &HeaderMap,
    method: &str,
    version: Option<&str>,
    subject: Option<&str>,
) -> Result<(), Error> {
    for (name, expected) in [(&PROTOCOL_VERSION, version), (&METHOD, Some(method))] {
        let found = single(headers, name)?.ok_or_else(|| missing(name))?;
        check_equal(name, found, expected)?;
    }
    if SUBJECTS.contains(&method) {
        let found = decoded(headers, &NAME)?.ok_or_else(|| missing(&NAME))?;
        check_equal(&NAME, &found, subject)?;
    }
    Ok(())
}

/// Checks that the method and the subject in the headers, if present, match the message.
pub(super) fn check_present(
    headers: &HeaderMap,
    method: &str,
    subject: Option<&str>,
) -> Result<(), Error> {
    if let Some(found) = single(headers, &METHOD)? {
        check_equal(&METHOD, found, Some(method))?;
    }
    match decoded(headers, &NAME)? {
        Some(found) if SUBJECTS.contains(&method) => check_equal(&NAME, &found, subject),
        _ => Ok(()),
    }
}

/// Returns the value of a header, decoded if it is in base64 (`=?base64?…?=`); `None` if absent.
///
/// For [`NAME`], and for the headers that repeat an argument of a tool.
///
/// ```
/// use http::{HeaderMap, HeaderValue};
/// use ziggurat_layers::mcp::routing;
///
/// let mut headers = HeaderMap::new();
/// headers.insert(routing::NAME, HeaderValue::from_static("=?base64?w6TDtsO8?="));
/// let name = routing::decoded(&headers, &routing::NAME)?.expect("there is one");
/// assert_eq!(*name, *"äöü".as_bytes());
/// # Ok::<_, ziggurat_layers::json_rpc::Error>(())
/// ```
///
/// # Errors
/// [`HEADER_MISMATCH`] if the header is repeated or its encoding is invalid.
pub fn decoded<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<Cow<'a, [u8]>>, Error> {
    let Some(value) = single(headers, name)? else {
        return Ok(None);
    };
    let text = decode(value);
    let unreadable = || mismatch(&format!("the header {name} has an invalid encoding"));
    text.map(Some).ok_or_else(unreadable)
}

/// Makes the error for a header that does not match the message.
///
/// ```
/// use ziggurat_layers::mcp::routing;
///
/// let error = routing::mismatch("the header mcp-param-id does not match the argument");
/// assert_eq!((error.code(), error.message()), (-32020, "Header mismatch"));
/// ```
#[must_use]
pub fn mismatch(problem: &str) -> Error {
    Error::new(HEADER_MISMATCH, "Header mismatch").with_data(problem)
}

/// Returns the HTTP status of an error in the revision 2026-07-28.
///
/// ```
/// use ziggurat_layers::{json_rpc::Error, mcp::routing};
///
/// assert_eq!(routing::status(&Error::method_not_found()), 404);
/// ```
#[must_use]
pub fn status(error: &Error) -> StatusCode {
    match error.code() {
        Error::PARSE_ERROR | Error::INVALID_REQUEST | Error::INVALID_PARAMS => {
            StatusCode::BAD_REQUEST
        }
        code if MODERN_CODES.contains(&code) => StatusCode::BAD_REQUEST,
        Error::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// Returns whether the headers name a revision in which each request stands alone: 2026-07-28, or
/// one that is not known.
pub(super) fn is_modern(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(PROTOCOL_VERSION).iter();
    values.next().is_some_and(|first| {
        let is_legacy = LEGACY
            .iter()
            .any(|it| it.as_bytes() == first.as_bytes().trim_ascii());
        // Two different values are left to the later checks, which refuse them.
        !is_legacy || values.any(|other| other != first)
    })
}

/// Returns the only value of a header, without surrounding blanks.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a [u8]>, Error> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(mismatch(&format!("the header {name} is repeated")));
    }
    Ok(Some(value.as_bytes().trim_ascii()))
}

/// Decodes a value that may be encoded; `None` if the encoding is invalid.
fn decode(value: &[u8]) -> Option<Cow<'_, [u8]>> {
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

fn check_equal(name: &HeaderName, found: &[u8], expected: Option<&str>) -> Result<(), Error> {
    if expected.map(str::as_bytes) == Some(found) {
        return Ok(());
    }
    Err(mismatch(&format!(
        "the header {name} does not match the message"
    )))
}

fn missing(name: &HeaderName) -> Error {
    mismatch(&format!("the header {name} is missing"))
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
            let found = decode(value.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{value}");
        }
    }
}
