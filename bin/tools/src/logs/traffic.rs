//! Logs requests and responses, for `-debug`.
//!
//! Bodies are never logged: they contain passwords, tokens and data of databases. Of the headers
//! only the presence of `Authorization` is logged, not its value.

use std::time::Instant;

use http::{HeaderMap, Request, Response, header};
use http_body::Body;
use tracing::debug;
use ziggurat_layers::sanitize::RequestId;

/// Maximum length of a path in the log, in bytes.
const LONGEST: usize = 200;

/// Logs a request and its response, under an id that it adds to the request.
pub(crate) fn log_traffic<B: Body, C: Body>(
    request: &mut Request<B>,
) -> impl FnOnce(Response<C>) -> Response<C> + use<B, C> {
    let id = RequestId::generate();
    let path = request.uri().path();
    debug!(
        request_id = id.as_str(),
        method = request.method().as_str(),
        path = &path[..path.floor_char_boundary(LONGEST)],
        authorization = authorization(request.headers()),
        size = request.body().size_hint().exact(),
        "http request"
    );
    request.extensions_mut().insert(id.clone());
    let began = Instant::now();
    move |response| {
        debug!(
            request_id = id.as_str(),
            status = response.status().as_u16(),
            duration_ms = began.elapsed().as_secs_f64() * 1e3,
            // The size of a streamed response is not known yet.
            size = response.body().size_hint().exact(),
            "http response"
        );
        response
    }
}

/// Returns the `Authorization` header with its value masked.
fn authorization(headers: &HeaderMap) -> Option<&'static str> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let scheme = value.split(|byte| *byte == b' ').next()?;
    let is_bearer = scheme.eq_ignore_ascii_case(b"bearer") && scheme.len() < value.len();
    Some(if is_bearer { "Bearer ***" } else { "***" })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_value_of_an_authorization_is_masked() {
        let cases = [
            ("Bearer s3cret", "Bearer ***"),
            ("bEARER s3cret", "Bearer ***"),
            ("Basic czNjcmV0", "***"),
            ("s3cret", "***"),
            ("bearer", "***"),
        ];
        for (value, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            assert_eq!(authorization(&headers), Some(expected), "{value}");
        }
        assert_eq!(authorization(&HeaderMap::new()), None);
    }
}
