//! Requests of browsers.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};

use crate::pages::HOME;

pub(crate) const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Returns the way to the console for a browser that opens the address of the server without a
/// path. No other client gets it: scripts of pages cannot set these headers, and programs do not.
#[must_use]
pub fn redirect<B>(request: &Request<B>) -> Option<Response> {
    let is = |name: HeaderName, value: &str| {
        let found = request.headers().get(name);
        found.is_some_and(|found| found == value)
    };
    let opens = request.uri().path() == "/"
        && request.method() == Method::GET
        && is(FETCH_MODE, "navigate")
        && is(FETCH_DEST, "document");
    opens.then(|| {
        let headers = HeaderMap::from_iter([
            (header::LOCATION, HeaderValue::from_static(HOME)),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (
                header::VARY,
                HeaderValue::from_static("Sec-Fetch-Mode, Sec-Fetch-Dest"),
            ),
        ]);
        (StatusCode::SEE_OTHER, headers, Body::empty()).into_response()
    })
}
