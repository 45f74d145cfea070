//! What can go wrong with a provider, and what may be said about it.

use std::{fmt, time::Duration};

use http::StatusCode;
use serde_json::Value;
use ziggurat_runtime::redact::Redactor;

use super::Provider;

/// How much of the body of a refusal is kept, in bytes.
const LONGEST: usize = 4 << 10;

/// Why a provider gave no answer.
///
/// `Display` is for the log, and for users of the tool server who are told what the provider
/// said; no key of the client is in it. What strangers may read is the [`Class`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It answered with a status that is no success.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// It was not reached, or the connection broke.
    #[error("{0}")]
    Unreachable(String),
    /// Its answer ends before its end.
    #[error("failed to read response: {0}")]
    Incomplete(String),
    /// Its answer makes no sense.
    #[error("failed to decode response: {0}")]
    Malformed(String),
    /// It sent no answer to choose from.
    #[error("no choices in response")]
    NoChoices,
    /// It sent a vector with nothing in it.
    #[error("received empty embedding from API")]
    Empty,
    /// It reported an error in the middle of an answer that had begun.
    #[error("the provider reported an error: {message}")]
    Reported {
        /// What kind of error it is.
        class: Class,
        /// What it said, without keys.
        message: String,
    },
    /// It took longer than it is given.
    #[error("the provider took too long to answer")]
    Slow,
    /// The time of the request it was asked for is over.
    #[error("the time for the request is over")]
    Late,
    /// It does not do such things.
    #[error("{0}")]
    Unsupported(String),
    /// The request could not be written.
    #[error("the request cannot be sent: {0}")]
    Invalid(String),
}

/// An answer that is no success.
#[derive(Clone, Debug)]
pub struct Refusal {
    status: StatusCode,
    class: Class,
    body: String,
    message: Option<String>,
    retry_after: Option<Duration>,
}

/// What strangers are told about an error: one of a few fixed sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The key is wrong, or may not do this.
    Credentials,
    /// Too many requests.
    RateLimit,
    /// The request makes no sense to the provider.
    Invalid,
    /// The provider has no such operation.
    Unsupported,
    /// Anything else the provider got wrong.
    Provider,
    /// The provider was not reached.
    Unreachable,
    /// It took too long.
    Timeout,
    /// Something of ours.
    Internal,
}

// === impl Error ===

impl Error {
    /// What strangers may be told.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Refused(refusal) => refusal.class,
            Self::Unreachable(_) => Class::Unreachable,
            Self::Incomplete(_) | Self::Malformed(_) | Self::NoChoices | Self::Empty => {
                Class::Provider
            }
            Self::Reported { class, .. } => *class,
            Self::Slow | Self::Late => Class::Timeout,
            Self::Unsupported(_) => Class::Unsupported,
            Self::Invalid(_) => Class::Internal,
        }
    }

    /// The refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Whether the same request may fare better.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Refused(refusal) => matches!(
                refusal.status.as_u16(),
                408 | 429 | 500 | 502 | 503 | 504 | 529
            ),
            Self::Unreachable(_) | Self::Incomplete(_) | Self::Slow => true,
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

    /// What strangers may be told.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// The status of the answer.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The beginning of its body, without keys.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// What the provider says is wrong, without keys; its whole body if that cannot be read.
    #[must_use]
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or(&self.body)
    }

    /// How long the provider wants to be left alone.
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
    /// The sentence, word for word.
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
            // Gemini has no status of its own for a key it does not know.
            400 if provider == Provider::Gemini && has_reason(body, "API_KEY_INVALID") => {
                Self::Credentials
            }
            400 => Self::Invalid,
            _ => Self::Provider,
        }
    }
}

/// The sentence.
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

/// What a provider says is wrong, in whichever of their forms it says it.
pub(super) fn message(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    // Gemini answers some requests with an array of one.
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

/// The beginning of a text that may be long.
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
    fn a_key_gemini_does_not_know_is_a_matter_of_credentials() {
        let body = r#"{"error":{"code":400,"message":"API key not valid.","status":
            "INVALID_ARGUMENT","details":[{"@type":"x"},{"reason":"API_KEY_INVALID"}]}}"#;
        let class = |provider| refusal(provider, 400, body).class;
        assert_eq!(class(Provider::Gemini), Class::Credentials);
        assert_eq!(class(Provider::OpenAi), Class::Invalid);
        let other = body.replace("API_KEY_INVALID", "FIELD_INVALID");
        assert_eq!(refusal(Provider::Gemini, 400, &other).class, Class::Invalid);
    }

    #[test]
    fn what_the_provider_says_is_found_in_each_of_their_forms() {
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
    fn the_text_says_the_status_and_the_body_without_the_key() {
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
    fn no_more_is_kept_of_a_body_than_anybody_reads() {
        let refusal = refusal(Provider::OpenAi, 500, &"ä".repeat(40_000));
        assert!(refusal.body().len() <= LONGEST + '…'.len_utf8());
        assert!(refusal.body().ends_with("ä…"));
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for status in [408, 429, 500, 502, 503, 504, 529] {
            let refusal = refusal(Provider::Voyage, status, "");
            assert!(Error::Refused(Box::new(refusal)).is_passing(), "{status}");
        }
        for status in [301, 400, 401, 403, 404, 413, 422, 501] {
            let refusal = refusal(Provider::Voyage, status, "");
            assert!(!Error::Refused(Box::new(refusal)).is_passing(), "{status}");
        }
        assert!(Error::Unreachable(String::new()).is_passing());
        assert!(Error::Slow.is_passing());
        assert!(!Error::Late.is_passing());
        assert!(!Error::Empty.is_passing());
        assert!(!Error::Malformed(String::new()).is_passing());
    }
}
