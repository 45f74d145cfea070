//! The content type of a request.

use http::{HeaderMap, header};

/// Returns whether the headers of a request announce a JSON body. Parameters do not matter.
#[must_use]
pub fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return false;
    };
    let essence = value.as_bytes().split(|&byte| byte == b';').next();
    essence.is_some_and(|essence| {
        essence
            .trim_ascii()
            .eq_ignore_ascii_case(b"application/json")
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn json_may_have_parameters_and_nothing_else_is_json() {
        for (value, expected) in [
            ("application/json", true),
            ("Application/JSON ; charset=utf-8", true),
            ("application/json-patch+json", false),
            ("text/plain", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(value));
            assert_eq!(is_json(&headers), expected, "{value}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
