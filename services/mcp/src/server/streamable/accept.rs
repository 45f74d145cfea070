//! Media types that a client accepts.

use http::{HeaderMap, header};

/// Returns whether a client accepts a stream of events; without an `Accept` header it does not.
pub(super) fn takes_events(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    let mut ranges = values.flat_map(|value| value.as_bytes().split(|&byte| byte == b','));
    ranges.any(|range| {
        let mut parts = range.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let is_it = parts.next().is_some_and(|range| {
            ["text/event-stream", "text/*", "*/*"]
                .iter()
                .any(|wanted| range.eq_ignore_ascii_case(wanted.as_bytes()))
        });
        is_it && !parts.any(is_refusal)
    })
}

/// Returns whether a parameter is `q=0`, which excludes the media type.
fn is_refusal(parameter: &[u8]) -> bool {
    let Some((b'q' | b'Q', weight)) = parameter.split_first() else {
        return false;
    };
    let Some(weight) = weight.trim_ascii().strip_prefix(b"=") else {
        return false;
    };
    let weight = weight.trim_ascii();
    !weight.is_empty() && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn events_are_sent_only_to_clients_that_accept_them() {
        for (value, expected) in [
            ("application/json, text/event-stream", true),
            ("*/*", true),
            ("text/*;q=0.5", true),
            ("TEXT/Event-Stream", true),
            ("application/json", false),
            ("text/event-stream;q=0", false),
            ("text/event-stream; Q = 0.000, application/json", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(value));
            assert_eq!(takes_events(&headers), expected, "{value}");
        }
        assert!(!takes_events(&HeaderMap::new()));
    }
}
