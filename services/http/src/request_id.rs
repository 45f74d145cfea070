//! Ids of requests, in logs, records and responses.

use http::{HeaderName, HeaderValue, Request, Response};
use ziggurat_layers::sanitize::RequestId;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives a request an id, unless it has one, and its response a header with it; the function of an
/// [`AroundLayer`](crate::AroundLayer).
///
/// The request id layers of tower-http accept the id of a client, and set an extension of another
/// type, which the layers for errors and logs do not read.
pub(crate) fn add_request_id<B, C>(
    request: &mut Request<B>,
) -> impl FnOnce(Response<C>) -> Response<C> + use<B, C> {
    let id = request_id(request);
    move |mut response| {
        send_request_id(&mut response, &id);
        response
    }
}

/// Returns the id of a request, which gets one if it has none.
pub fn request_id<B>(request: &mut Request<B>) -> RequestId {
    let extensions = request.extensions_mut();
    extensions.get_or_insert_with(RequestId::generate).clone()
}

/// Gives a response the header with the id of its request.
pub fn send_request_id<B>(response: &mut Response<B>, id: &RequestId) {
    // An id is visible ASCII, so it is always a value.
    if let Ok(id) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(X_REQUEST_ID, id);
    }
}
