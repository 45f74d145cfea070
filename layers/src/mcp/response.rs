//! The response to a request for a list.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response, StatusCode, header, response::Parts};
use http_body::Body;

use crate::{
    mcp::{
        access::Access,
        lists::{self, Edited, Format},
    },
    reject::Rejection,
};

/// Response headers that describe the body of the server or its transfer.
const BODY_HEADERS: [HeaderName; 7] = [
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::TRAILER,
    header::ETAG,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
    HeaderName::from_static("digest"),
];

/// A response by its head.
pub(super) enum Received<T> {
    /// Nothing is left to be checked.
    Complete(Response<T>),
    /// The body has to be collected and filtered.
    List(Listed, T),
    Unreadable,
}

/// The head of a response with a list in its body.
pub(super) struct Listed {
    head: Parts,
    format: Format,
    access: Access,
}

/// Looks at the head of a response.
pub(super) fn receive<T: Body + From<Bytes>>(response: Response<T>, access: Access) -> Received<T> {
    if response.body().is_end_stream() {
        return Received::Complete(response);
    }
    let (mut head, body) = response.into_parts();
    if let Some(format) = format(&head.headers) {
        let listed = Listed {
            head,
            format,
            access,
        };
        return Received::List(listed, body);
    }
    if head.status.is_success() {
        return Received::Unreadable;
    }
    // The status tells the client enough, such as that its session has ended.
    remove_body_headers(&mut head.headers);
    head.headers.remove(header::CONTENT_TYPE);
    head.headers.remove(header::CONTENT_ENCODING);
    Received::Complete(Response::from_parts(head, T::from(Bytes::new())))
}

/// Describes a list that cannot be read, so that it cannot be filtered.
pub(super) fn unreadable() -> Rejection {
    Rejection::new(
        StatusCode::BAD_GATEWAY,
        "list_unreadable",
        "The list of the server cannot be read",
    )
}

/// Returns the format of a response, unless it is compressed or of another type.
fn format(headers: &HeaderMap) -> Option<Format> {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    if encodings.any(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return None;
    }
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let essence = types
        .next()?
        .as_bytes()
        .split(|&byte| byte == b';')
        .next()?;
    let essence = essence.trim_ascii();
    if types.next().is_some() {
        None
    } else if essence.eq_ignore_ascii_case(b"application/json") {
        Some(Format::Json)
    } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
        Some(Format::Events)
    } else {
        None
    }
}

fn remove_body_headers(headers: &mut HeaderMap) {
    for name in BODY_HEADERS {
        headers.remove(name);
    }
}

// === impl Listed ===

impl Listed {
    /// Returns the response without what the client may not use; `None` if it cannot be read.
    pub(super) fn filter<T: From<Bytes>>(
        mut self,
        body: Bytes,
        max_depth: u8,
    ) -> Option<Response<T>> {
        remove_body_headers(&mut self.head.headers);
        let body = if body.is_empty() {
            body
        } else {
            match lists::filter(&body, self.format, &self.access, max_depth)? {
                Edited::Same => body,
                Edited::To(text) => Bytes::from(text),
            }
        };
        Some(Response::from_parts(self.head, T::from(body)))
    }
}
