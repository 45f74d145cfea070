//! Header fields that announce limits (draft-ietf-httpapi-ratelimit-headers), as lists of RFC 9651.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use ziggurat_layers::rate_limit::{Quota, Remaining};

use crate::refused::whole_seconds;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Name, unit, limit and rest of a limit of the day.
type DayLimit = (&'static str, &'static str, Option<u64>, Option<u64>);

/// Adds the fields, unless no limit is announced.
pub(crate) fn append(
    headers: &mut HeaderMap,
    calls: Option<(Quota, Remaining)>,
    days: [DayLimit; 2],
    until_midnight: Duration,
) {
    let (mut policies, mut rests) = (Vec::new(), Vec::new());
    if let Some((quota, left)) = calls {
        let window = quota.period().as_secs();
        policies.push(format!(r#""calls";q={};w={window}"#, quota.count()));
        let reset = left.reset().map(whole_seconds);
        let reset = reset.map_or_else(String::new, |seconds| format!(";t={seconds}"));
        rests.push(format!(r#""calls";r={}{reset}"#, left.count()));
    }
    let reset = whole_seconds(until_midnight);
    for (name, unit, limit, left) in days {
        if let (Some(limit), Some(left)) = (limit, left) {
            policies.push(format!(r#""{name}";q={limit};qu="{unit}";w=86400"#));
            rests.push(format!(r#""{name}";r={left};t={reset}"#));
        }
    }
    for (name, members) in [(RATE_LIMIT_POLICY, policies), (RATE_LIMIT, rests)] {
        if !members.is_empty() {
            let value = HeaderValue::try_from(members.join(", "));
            headers.append(name, value.expect("names and numbers are ASCII"));
        }
    }
}
