//! Header fields that announce limits (draft-ietf-httpapi-ratelimit-headers), as lists of RFC 9651.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use ziggurat_layers::rate_limit::{Quota, Remaining};

use crate::limits::refused::whole_seconds;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Names of the limits of a day with their units; without them the counts would be of requests.
const DAYS: [(&str, &str); 2] = [("rows_per_day", "rows"), ("bytes_per_day", "content-bytes")];

const ASCII: &str = "names and numbers are ASCII";

/// Returns the value of `RateLimit-Policy` for a limit on calls and the limits of a day; `None` if
/// there are no such limits.
pub(crate) fn policy(calls: Option<Quota>, days: [Option<u64>; 2]) -> Option<HeaderValue> {
    let calls = calls.map(|quota| {
        let window = quota.period().as_secs();
        format!(r#""calls";q={};w={window}"#, quota.count())
    });
    let days = DAYS.iter().zip(days).filter_map(|((name, unit), limit)| {
        let limit = limit?;
        Some(format!(r#""{name}";q={limit};qu="{unit}";w=86400"#))
    });
    let members: Vec<_> = calls.into_iter().chain(days).collect();
    (!members.is_empty()).then(|| HeaderValue::try_from(members.join(", ")).expect(ASCII))
}

/// Adds the fields: the policy, and the rest of its limits.
pub(crate) fn append(
    headers: &mut HeaderMap,
    policy: &HeaderValue,
    calls: Option<Remaining>,
    days: [Option<u64>; 2],
    until_midnight: Duration,
) {
    // Written without `format!`, which took a tenth of the time of a small call.
    let (mut text, mut digits) = (String::with_capacity(96), itoa::Buffer::new());
    if let Some(left) = calls {
        text.push_str(r#""calls";r="#);
        text.push_str(digits.format(left.count()));
        if let Some(reset) = left.reset() {
            text.push_str(";t=");
            text.push_str(digits.format(whole_seconds(reset)));
        }
    }
    for ((name, _), left) in DAYS.iter().zip(days) {
        let Some(left) = left else { continue };
        text.push_str(if text.is_empty() { "\"" } else { ", \"" });
        text.push_str(name);
        text.push_str("\";r=");
        text.push_str(digits.format(left));
        text.push_str(";t=");
        text.push_str(digits.format(whole_seconds(until_midnight)));
    }
    headers.append(RATE_LIMIT_POLICY, policy.clone());
    headers.append(RATE_LIMIT, HeaderValue::try_from(text).expect(ASCII));
}
