//! Errors of providers, and the messages about them.

use std::{fmt, time::Duration};

use http::StatusCode;
use serde_json::Value;
use ziggurat_runtime::redact::Redactor;

use crate::Provider;

/// Maximum number of bytes of an error body that are kept.
const LONGEST: usize = 4 << 10;

/// Reason why a provider gave no result.
///
/// `Display` is for the log, and for users of the tool server, who see the message of the provider;
/// it contains no key of the client. Text for untrusted clients is in the [`Class`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The response has an error status.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The provider is unreachable, or the connection broke.
    #[error("{0}")]
    Unreachable(String),
    /// The response ends too early.
    #[error("failed to read response: {0}")]
    Incomplete(String),
    /// The response is invalid.
    #[error("failed to decode response: {0}")]
    Malformed(String),
    /// The response has no choices.
    #[error("no choices in response")]
    NoChoices,
    /// The response has an empty vector.
    #[error("received empty embedding from API")]
    Empty,
    /// The provider reported an error in the middle of a response.
    #[error("the provider reported an error: {message}")]
    Reported {
        /// Class of the error.
        class: Class,
        /// The provider's message, without keys.
        message: String,
    },
    /// Other answers of providers use all the memory for them.
    #[error("other answers use all the memory for answers of providers, try again later")]
    NoRoom,
    /// The provider took longer than its timeout.
    #[error("the provider did not answer in time")]
    Slow,
    /// The deadline of the caller's request has passed.
    #[error("the request timed out")]
    Late,
    /// The provider does not support the operation.
    #[error("{0}")]
    Unsupported(String),
    /// The request could not be encoded.
    #[error("the request cannot be sent: {0}")]
    Invalid(String),
}

/// A response with an error status.
#[derive(Clone, Debug)]
pub struct Refusal {
    status: StatusCode,
    class: Class,
    body: String,
    message: Option<String>,
    retry_after: Option<Duration>,
}

/// Class of an error, with one of a few fixed sentences for untrusted clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The key is wrong, or lacks a permission.
    Credentials,
    /// Too many requests.
    RateLimit,
    /// The provider rejects the request as invalid.
    Invalid,
    /// The provider has no such operation.
    Unsupported,
    /// Any other error of the provider.
    Provider,
    /// The provider is unreachable.
    Unreachable,
    /// The provider took too long.
    Timeout,
    /// An error of this program.
    Internal,
}

// === impl Error ===

impl Error {
    /// Returns the class, which untrusted clients may see.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Refused(refusal) => refusal.class,
            Self::Unreachable(_) => Class::Unreachable,
            Self::NoRoom => Class::RateLimit,
            Self::Incomplete(_) | Self::Malformed(_) | Self::NoChoices | Self::Empty => {
                Class::Provider
            }
            Self::Reported { class, .. } => *class,
            Self::Slow | Self::Late => Class::Timeout,
            Self::Unsupported(_) => Class::Unsupported,
            Self::Invalid(_) => Class::Internal,
        }
    }

    /// Returns the error response, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Returns whether the provider refuses the texts of the request: too many, too long, or invalid.
    #[must_use]
    pub fn refuses_input(&self) -> bool {
        let status = self.refusal().map(|refusal| refusal.status.as_u16());
        matches!(status, Some(400 | 413 | 422)) && self.class() != Class::Credentials
    }

    /// Returns whether a retry of the same request may succeed.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Refused(refusal) => matches!(
                refusal.status.as_u16(),
                408 | 429 | 500 | 502 | 503 | 504 | 529
            ),
            Self::Unreachable(_) | Self::Incomplete(_) | Self::NoRoom | Self::Slow => true,
            _ => false,
        }
    }
}

// === impl Refusal ===

impl Refusal {
    pub(super) fn new(
        provider: Provider,
        status: StatusCode,
        body: &[u8],
        retry_after: Option<Duration>,
        redactor: &Redactor,
    ) -> Self {
        let message = message(body).map(|message| cut(redactor.redact(&message)));
        let text = redactor.redact(String::from_utf8_lossy(body).trim());
        Self {
            status,
            class: Class::of(provider, status, body),
            body: cut(text),
            message,
            retry_after,
        }
    }

    /// Returns the class, which untrusted clients may see.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// Returns the status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the status as text.
    pub(super) fn status_text(&self) -> &str {
        self.status.as_str()
    }

    /// Returns the beginning of the body, without keys.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the provider's message, without keys; the whole body if it cannot be parsed.
    #[must_use]
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.body)
    }

    /// Returns the time that the provider asks clients to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, body, .. } = self;
        write!(f, "API request failed with status {}", status.as_u16())?;
        if body.is_empty() {
            return Ok(());
        }
        write!(f, ": {body}")
    }
}

// === impl Class ===

impl Class {
    /// Returns the fixed sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Credentials => "the configured provider rejected the server's credentials",
            Self::RateLimit => "the provider rate limit was exceeded; retry later",
            Self::Invalid => "the provider rejected the request as invalid",
            Self::Unsupported => {
                "the requested operation is not supported by the configured provider"
            }
            Self::Provider => "the provider returned an error",
            Self::Unreachable => "the provider could not be reached",
            Self::Timeout => "the request took too long to process",
            Self::Internal => "an internal error occurred",
        }
    }

    fn of(provider: Provider, status: StatusCode, body: &[u8]) -> Self {
        match status.as_u16() {
            401 | 403 => Self::Credentials,
            429 => Self::RateLimit,
            // Gemini has no specific status for an unknown key.
            400 if provider == Provider::Gemini && has_reason(body, "API_KEY_INVALID") => {
                Self::Credentials
            }
            400 => Self::Invalid,
            _ => Self::Provider,
        }
    }
}

/// Writes the fixed sentence.
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// Finds the message in an error body, in the formats of all providers.
pub(super) fn message(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    // Gemini answers some requests with an array of one element.
    let body = body.get(0).unwrap_or(&body);
    [
        &body["error"]["message"],
        &body["error"],
        &body["detail"],
        &body["message"],
    ]
    .into_iter()
    .find_map(Value::as_str)
    .map(|message| message.trim().to_owned())
    .filter(|message| !message.is_empty())
}

fn has_reason(body: &[u8], reason: &str) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let details = body["error"]["details"].as_array();
    details
        .into_iter()
        .flatten()
        .any(|detail| detail["reason"] == reason)
}

/// Cuts a long text.
pub(super) fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(provider: Provider, status: u16, body: &str) -> Refusal {
        let status = StatusCode::from_u16(status).expect("a status");
        let mut redactor = Redactor::default();
        redactor.add(b"wq8JkLmN2pRs7TuV");
        Refusal::new(provider, status, body.as_bytes(), None, &redactor)
    }

    #[test]
    fn every_status_has_its_class() {
        for (status, class) in [
            (401, Class::Credentials),
            (403, Class::Credentials),
            (429, Class::RateLimit),
            (400, Class::Invalid),
            (302, Class::Provider),
            (404, Class::Provider),
            (409, Class::Provider),
            (413, Class::Provider),
            (422, Class::Provider),
            (500, Class::Provider),
            (503, Class::Provider),
            (529, Class::Provider),
        ] {
            for provider in Provider::ALL {
                let refusal = refusal(provider, status, "{}");
                assert_eq!(refusal.class, class, "{status} {provider:?}");
            }
        }
    }

    #[test]
    fn an_unknown_key_of_gemini_has_the_class_credentials() {
        let body = r#"{"error":{"code":400,"message":"API key not valid.","status":
            "INVALID_ARGUMENT","details":[{"@type":"x"},{"reason":"API_KEY_INVALID"}]}}"#;
        let class = |provider| refusal(provider, 400, body).class;
        assert_eq!(class(Provider::Gemini), Class::Credentials);
        assert_eq!(class(Provider::OpenAi), Class::Invalid);
        let other = body.replace("API_KEY_INVALID", "FIELD_INVALID");
        assert_eq!(refusal(Provider::Gemini, 400, &other).class, Class::Invalid);
    }

    #[test]
    fn the_message_of_a_provider_is_found_in_all_formats() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"no such model","type":"x"}}"#,
                "no such model",
            ),
            (
                r#"[{"error":{"message":"no such model"}}]"#,
                "no such model",
            ),
            (r#"{"error":"no such model"}"#, "no such model"),
            (r#"{"detail":"no such model"}"#, "no such model"),
            (r#"{"message":"no such model"}"#, "no such model"),
            (
                r#"{"error":{"message":" "}}"#,
                r#"{"error":{"message":" "}}"#,
            ),
            (" <html>Bad gateway</html>\n", "<html>Bad gateway</html>"),
            ("", ""),
        ] {
            let refusal = refusal(Provider::OpenAi, 404, body);
            assert_eq!(refusal.message(), expected, "{body}");
        }
    }

    #[test]
    fn the_text_has_the_status_and_the_body_without_the_key() {
        let body = r#"{"error":{"message":"Incorrect key: wq8JkLmN****"}}"#;
        let error = Error::Refused(Box::new(refusal(Provider::OpenAi, 401, body)));
        assert_eq!(
            error.to_string(),
            r#"API request failed with status 401: {"error":{"message":"Incorrect key: [redacted]****"}}"#
        );
        let refusal = error.refusal().expect("one");
        assert_eq!(refusal.message(), "Incorrect key: [redacted]****");
        assert!(!format!("{error:?}").contains("wq8J"), "{error:?}");
    }

    #[test]
    fn only_the_beginning_of_a_body_is_kept() {
        let refusal = refusal(Provider::OpenAi, 500, &"ä".repeat(40_000));
        assert!(refusal.body().len() <= LONGEST + '…'.len_utf8());
        assert!(refusal.body().ends_with("ä…"));
    }

    #[test]
    fn only_transient_errors_are_retried() {
        for status in [408, 429, 500, 502, 503, 504, 529] {
            let refusal = refusal(Provider::Voyage, status, "");
            assert!(Error::Refused(Box::new(refusal)).is_transient(), "{status}");
        }
        for status in [301, 400, 401, 403, 404, 413, 422, 501] {
            let refusal = refusal(Provider::Voyage, status, "");
            assert!(
                !Error::Refused(Box::new(refusal)).is_transient(),
                "{status}"
            );
        }
        assert!(Error::Unreachable(String::new()).is_transient());
        assert!(Error::Slow.is_transient());
        assert!(!Error::Late.is_transient());
        assert!(!Error::Empty.is_transient());
        assert!(!Error::Malformed(String::new()).is_transient());
    }
}
