//! The `RateLimit` and `RateLimit-Policy` header fields (draft-ietf-httpapi-ratelimit-headers, in
//! RFC 9651 syntax).

use std::{error::Error, fmt, fmt::Write as _, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::rate_limit::{Announcement, Remaining};

pub(super) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub(super) const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// RFC 9651, section 3.3.1: integers have at most fifteen digits.
const MAX_INTEGER: u64 = 999_999_999_999_999;

/// A name that is not allowed in a header field.
///
/// ```
/// use ziggurat_layers::rate_limit::{InvalidName, RateLimitLayer, Steady};
///
/// let layer = RateLimitLayer::new(Steady::new("5/s".parse()?)).with_name("für alle");
/// assert_eq!(layer.unwrap_err().to_string(), "the name of a rate limit must be printable ASCII");
/// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidName;

/// The parts of the fields that are fixed when the layer is built.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    /// Already quoted.
    name: String,
}

// === impl Fields ===

impl Fields {
    pub(super) fn new(name: &str) -> Result<Self, InvalidName> {
        let name = quoted(name)?;
        Ok(Self { name })
    }

    /// The value of `RateLimit-Policy`.
    pub(super) fn policy(&self, limit: Announcement) -> HeaderValue {
        let (name, count) = (&self.name, limit.count);
        value(match limit.window {
            Some(window) => format!("{name};q={count};w={}", whole_seconds(window)),
            None => format!(r#"{name};q={count};qu="concurrent-requests""#),
        })
    }

    /// The value of `RateLimit`.
    pub(super) fn limit(&self, remaining: Remaining) -> HeaderValue {
        let mut text = String::with_capacity(self.name.len() + 32);
        text.push_str(&self.name);
        // Writing into a string cannot fail.
        let _ = write!(text, ";r={}", remaining.count());
        if let Some(reset) = remaining.reset() {
            let _ = write!(text, ";t={}", whole_seconds(reset));
        }
        value(text)
    }

    /// Adds both fields, next to the fields of limits further in: the fields are lists.
    pub(super) fn append_to(
        &self,
        headers: &mut HeaderMap,
        limit: Announcement,
        remaining: Remaining,
    ) {
        headers.append(RATE_LIMIT_POLICY, self.policy(limit));
        headers.append(RATE_LIMIT, self.limit(remaining));
    }
}

fn value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("the name is printable ASCII")
}

// === impl InvalidName ===

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a rate limit must be printable ASCII")
    }
}

impl Error for InvalidName {}

/// Rounds up: a client that comes back a moment early would be refused again.
pub(super) fn whole_seconds(duration: Duration) -> u64 {
    let part = u64::from(duration.subsec_nanos() > 0);
    duration.as_secs().saturating_add(part).min(MAX_INTEGER)
}

/// RFC 9651, section 3.3.3.
fn quoted(text: &str) -> Result<String, InvalidName> {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='~' => quoted.push(character),
            _ => return Err(InvalidName),
        }
    }
    quoted.push('"');
    Ok(quoted)
}
