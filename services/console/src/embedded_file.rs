//! Files that are part of the program.

use std::{
    fmt,
    future::{Ready, ready},
    io::Read as _,
    sync::{Arc, OnceLock},
};

use axum::{extract::Request, handler::Handler, response::Response};
use flate2::read::GzDecoder;
use http::{HeaderMap, HeaderValue, header};
use ziggurat_http::Document;

/// The files of `ziggurat-tools`, sorted by path.
#[cfg(feature = "tools")]
pub(crate) const TOOLS_FILES: &[StoredFile] = include!(concat!(env!("OUT_DIR"), "/tools.rs"));

/// The files of `ziggurat-rag`, sorted by path.
#[cfg(feature = "rag")]
pub(crate) const RAG_FILES: &[StoredFile] = include!(concat!(env!("OUT_DIR"), "/rag.rs"));

/// Name of a page in its folder.
pub(crate) const PAGE: &str = "index.html";

/// Folder of the files with names that change with their content.
pub(crate) const ASSETS: &str = "assets/";

/// Browsers ask again each time, and mostly learn that nothing has changed.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

/// A new version has new names.
const KEEP: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// A file as it is embedded: compressed only.
pub(crate) struct StoredFile {
    /// Path below the folder of its program.
    pub(crate) path: &'static str,
    content_type: &'static str,
    pub(crate) gzip: &'static [u8],
}

/// A file that is part of the program. It is the handler of its path.
///
/// Clients that do not accept gzip get the file inflated, which is done once and kept. Clones are
/// cheap: a router clones the handler for each request.
#[derive(Clone)]
pub struct EmbeddedFile(Arc<Forms>);

struct Forms {
    file: &'static StoredFile,
    headers: HeaderMap,
    gzip: Document,
    plain: OnceLock<Document>,
}

// === impl EmbeddedFile ===

impl EmbeddedFile {
    /// Serves a page with these headers. Browsers ask each time if it has changed.
    pub(crate) fn page(file: &'static StoredFile, headers: HeaderMap) -> Self {
        Self::new(file, headers, ASK_AGAIN)
    }

    /// Serves a file with these headers. Its name changes with its content.
    pub(crate) fn asset(file: &'static StoredFile, headers: HeaderMap) -> Self {
        Self::new(file, headers, KEEP)
    }

    fn new(file: &'static StoredFile, mut headers: HeaderMap, cache_control: HeaderValue) -> Self {
        headers.insert(header::CACHE_CONTROL, cache_control);
        let by_encoding = HeaderValue::from_static("Accept-Encoding");
        headers.insert(header::VARY, by_encoding);
        let gzip = Document::new(file.content_type, file.gzip);
        let gzip = with_headers(gzip, &headers);
        let encoding = HeaderValue::from_static("gzip");
        Self(Arc::new(Forms {
            file,
            headers,
            gzip: gzip.with_header(header::CONTENT_ENCODING, encoding),
            plain: OnceLock::new(),
        }))
    }

    fn response(&self, request: &HeaderMap) -> Response {
        if accepts_gzip(request) {
            self.0.gzip.response(request)
        } else {
            self.plain().response(request)
        }
    }

    fn plain(&self) -> &Document {
        let Forms { file, headers, .. } = &*self.0;
        self.0.plain.get_or_init(|| {
            let mut bytes = Vec::new();
            let inflated = GzDecoder::new(file.gzip).read_to_end(&mut bytes);
            inflated.expect("the build compressed it");
            with_headers(Document::new(file.content_type, bytes), headers)
        })
    }
}

impl<S> Handler<(), S> for EmbeddedFile {
    type Future = Ready<Response>;

    fn call(self, request: Request, _: S) -> Self::Future {
        ready(self.response(request.headers()))
    }
}

impl fmt::Debug for EmbeddedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EmbeddedFile")
            .field(&self.0.file.path)
            .finish()
    }
}

fn with_headers(document: Document, headers: &HeaderMap) -> Document {
    headers.iter().fold(document, |document, (name, value)| {
        document.with_header(name.clone(), value.clone())
    })
}

/// Returns whether the client names gzip, or any encoding, with a weight above zero (RFC 9110,
/// section 12.5.3).
fn accepts_gzip(request: &HeaderMap) -> bool {
    let values = request.get_all(header::ACCEPT_ENCODING).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    let mut any = false;
    for item in values.flat_map(|value| value.split(',')) {
        let (name, parameter) = item.split_once(';').unwrap_or((item, ""));
        let weight = parameter.trim().strip_prefix("q=");
        let is_accepted = weight.is_none_or(|weight| weight.parse().is_ok_and(|it: f32| it > 0.0));
        match name.trim() {
            name if name.eq_ignore_ascii_case("gzip") => return is_accepted,
            "*" => any = is_accepted,
            _ => {}
        }
    }
    any
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use axum::body::{Body, to_bytes};

    use super::*;

    async fn sent(accepted: Option<&str>, tag: Option<&str>) -> (Response<()>, Vec<u8>) {
        let page = TOOLS_FILES.iter().find(|file| file.path == PAGE);
        let file = EmbeddedFile::page(page.expect("the page"), HeaderMap::new());
        let mut request = Request::builder();
        for (name, value) in [("accept-encoding", accepted), ("if-none-match", tag)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let request = request.body(Body::empty()).expect("valid parts");
        let (head, body) = Handler::<_, ()>::call(file, request, ()).await.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("whole");
        (Response::from_parts(head, ()), body.to_vec())
    }

    #[tokio::test]
    async fn both_forms_hold_the_same_file_and_have_tags_of_their_own() {
        let (compressed, gzip) = sent(Some("br, gzip"), None).await;
        let (inflated, plain) = sent(None, None).await;
        assert_eq!(compressed.headers()["content-encoding"], "gzip");
        assert_eq!(inflated.headers().get("content-encoding"), None);
        let mut again = Vec::new();
        GzDecoder::new(&*gzip)
            .read_to_end(&mut again)
            .expect("compressed");
        assert_eq!(again, plain);
        assert!(plain.starts_with(b"<!doctype html>"));
        assert_ne!(compressed.headers()["etag"], inflated.headers()["etag"]);
        for (response, accepted) in [(&compressed, Some("gzip")), (&inflated, None)] {
            assert_eq!(response.headers()["vary"], "Accept-Encoding");
            let tag = response.headers()["etag"].to_str().expect("text");
            let (known, body) = sent(accepted, Some(tag)).await;
            assert_eq!((known.status().as_u16(), &*body), (304, &b""[..]));
            assert_eq!(known.headers()["vary"], "Accept-Encoding");
            assert_eq!(known.headers().get("content-encoding"), None);
        }
    }

    #[test]
    fn gzip_is_sent_to_clients_that_accept_it() {
        for (accepted, expected) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0, *", false),
            ("*;q=0", false),
            ("br", false),
            ("gzip;q=many", false),
            ("", false),
        ] {
            let value = HeaderValue::from_static(accepted);
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]);
            assert_eq!(accepts_gzip(&headers), expected, "{accepted}");
        }
    }
}
