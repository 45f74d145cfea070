//! The `Retry-After` header field (RFC 9110, section 10.2.3).
//!
//! ```
//! use std::time::Duration;
//! use http::{HeaderMap, HeaderValue, header::RETRY_AFTER};
//! use ziggurat_runtime::retry_after;
//!
//! let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("7"))]);
//! let now = jiff::Timestamp::now();
//! assert_eq!(retry_after::read(&headers, now), Some(Duration::from_secs(7)));
//! ```

use std::time::Duration;

use http::{HeaderMap, header::RETRY_AFTER};
use jiff::{Timestamp, fmt::rfc2822};

/// Reads `Retry-After`: seconds, or a date. A date in the past gives zero.
#[must_use]
pub fn read(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(date.duration_since(now).try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_wait_is_seconds_or_a_date() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        for (text, expected) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("Sun, 01 Mar 2026 12:00:30 GMT", Some(30)),
            ("Sun, 01 Mar 2026 11:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(text));
            let expected = expected.map(Duration::from_secs);
            assert_eq!(read(&headers, now), expected, "{text:?}");
        }
        assert_eq!(read(&HeaderMap::new(), now), None);
    }
}
