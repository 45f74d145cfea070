//! The `RateLimit` and `RateLimit-Policy` header fields (draft-ietf-httpapi-ratelimit-headers, in
//! RFC 9651 syntax).

use std::{error::Error, fmt, fmt::Write as _, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Quota, Standing};

pub(super) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub(super) const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// RFC 9651, section 3.3.1: integers have at most fifteen digits.
const MAX_INTEGER: u64 = 999_999_999_999_999;

/// A name that is not allowed in a header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidName;

/// The parts of the fields that are fixed when the layer is built.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    /// Already quoted.
    name: String,
    policy: HeaderValue,
}

// === impl Fields ===

impl Fields {
    pub(super) fn new(name: &str, quota: Quota) -> Result<Self, InvalidName> {
        let name = quoted(name)?;
        let (count, window) = (quota.count(), quota.period().as_secs());
        let policy = format!("{name};q={count};w={window}");
        let policy = HeaderValue::try_from(policy).map_err(|_| InvalidName)?;
        Ok(Self { name, policy })
    }

    /// The value of `RateLimit-Policy`.
    pub(super) fn policy(&self) -> HeaderValue {
        self.policy.clone()
    }

    /// The value of `RateLimit`.
    pub(super) fn limit(&self, standing: Standing) -> HeaderValue {
        let mut text = String::with_capacity(self.name.len() + 32);
        text.push_str(&self.name);
        // Writing into a string cannot fail.
        let _ = write!(text, ";r={}", standing.remaining());
        if let Some(reset) = standing.reset() {
            let _ = write!(text, ";t={}", whole_seconds(reset));
        }
        HeaderValue::try_from(text).expect("the name has been in a header value before")
    }

    /// Adds both fields, next to those of limits further in: the fields are lists.
    pub(super) fn append_to(&self, headers: &mut HeaderMap, standing: Standing) {
        headers.append(RATE_LIMIT_POLICY, self.policy());
        headers.append(RATE_LIMIT, self.limit(standing));
    }
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
