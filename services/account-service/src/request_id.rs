//! A request id for every request, for the log and the client.

use http::{HeaderName, HeaderValue, Request, Response};
use ziggurat_layers::sanitize::RequestId;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives a request a [`RequestId`] and sends it in the response.
///
/// The request id layers of tower-http accept the id of a client, and set an extension of another
/// type, which the layers for errors and logs do not read.
pub fn add_request_id<B, C>(
    request: &mut Request<B>,
) -> impl FnOnce(Response<C>) -> Response<C> + use<B, C> {
    let id = RequestId::generate();
    request.extensions_mut().insert(id.clone());
    move |mut response| {
        // An id is visible ASCII, so it is always a value.
        if let Ok(id) = HeaderValue::from_str(id.as_str()) {
            response.headers_mut().insert(X_REQUEST_ID, id);
        }
        response
    }
}
