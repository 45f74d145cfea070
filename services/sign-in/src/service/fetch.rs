//! Fetches documents that clients publish.

use std::{
    collections::HashMap,
    error::Error,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use tokio::sync::Mutex as Turn;

use crate::store::Seconds;

/// Longest document.
const LONGEST: usize = 64 << 10;

/// Shortest and longest time for which a document is kept.
const LIFETIMES: [Seconds; 2] = [300, 86_400];

/// Time for which a document is kept if its host says nothing.
const LIFETIME: Seconds = 3600;

type BoxError = Box<dyn Error + Send + Sync>;

// Boxed: one per fetch, not per request.
type Fetching = Pin<Box<dyn Future<Output = Result<Response<Bytes>, BoxError>> + Send>>;

/// Fetches the documents of clients, each at an address of https that a stranger chose.
///
/// An implementation sends `GET` with `Accept: application/json`, without cookies, and returns the
/// answer, whatever its status is. It does not follow redirects and uses no proxy. It resolves the
/// name once, connects to that address, and fails if the address is not a public one. It reads at
/// most 64 KiB and takes at most 5 seconds in all.
///
/// ```
/// use std::error::Error;
/// use bytes::Bytes;
/// use http::Response;
/// use ziggurat_mcp_auth::FetchDocument;
///
/// /// Knows one document, for a test.
/// struct Only(&'static str, &'static str);
///
/// impl FetchDocument for Only {
///     async fn fetch(&self, url: &str) -> Result<Response<Bytes>, Box<dyn Error + Send + Sync>> {
///         let (status, body) = if url == self.0 { (200, self.1) } else { (404, "") };
///         let answer = Response::builder().status(status);
///         Ok(answer.header("content-type", "application/json").body(Bytes::from(body))?)
///     }
/// }
/// ```
pub trait FetchDocument: Send + Sync + 'static {
    /// Fetches the document at an address.
    fn fetch(
        &self,
        url: &str,
    ) -> impl Future<Output = Result<Response<Bytes>, Box<dyn Error + Send + Sync>>> + Send;
}

/// The fetcher, and the addresses that it fetches now.
#[derive(Default)]
pub(crate) struct Fetches {
    fetch: OnceLock<Box<dyn Fn(String) -> Fetching + Send + Sync>>,
    /// One lock for each address that is fetched now.
    turns: Mutex<HashMap<String, Weak<Turn<()>>>>,
}

/// A document that was fetched.
pub(crate) struct Fetched {
    pub(crate) text: String,
    /// The time for which it is kept.
    pub(crate) lifetime: Seconds,
}

// === impl Fetches ===

impl Fetches {
    /// Fetches with this, unless there is a fetcher.
    pub(crate) fn set(&self, fetch: impl FetchDocument) {
        let fetch = Arc::new(fetch);
        let boxed = move |url: String| -> Fetching {
            let fetch = Arc::clone(&fetch);
            Box::pin(async move { fetch.fetch(&url).await })
        };
        let _ = self.fetch.set(Box::new(boxed));
    }

    /// Returns whether there is a fetcher.
    pub(crate) fn is_set(&self) -> bool {
        self.fetch.get().is_some()
    }

    /// Returns the lock that the one request holds that fetches an address.
    pub(crate) fn turn(&self, url: &str) -> Arc<Turn<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = turns.get(url).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::new(Turn::new(()));
        turns.insert(url.to_owned(), Arc::downgrade(&turn));
        turn
    }

    /// Fetches a document.
    pub(crate) async fn fetched(&self, url: &str) -> Result<Fetched, BoxError> {
        let fetch = self.fetch.get().ok_or("there is no fetcher")?;
        let (parts, body) = fetch(url.to_owned()).await?.into_parts();
        if parts.status != StatusCode::OK {
            return Err(format!("the status is {}", parts.status).into());
        }
        if !parts.headers.get(CONTENT_TYPE).is_some_and(is_json) {
            return Err("the media type is not JSON".into());
        }
        if body.len() > LONGEST {
            return Err("the document has more than 64 KiB".into());
        }
        let [shortest, longest] = LIFETIMES;
        Ok(Fetched {
            text: String::from_utf8(body.to_vec())?,
            lifetime: lifetime(&parts.headers).clamp(shortest, longest),
        })
    }
}

impl fmt::Debug for Fetches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetches").finish_non_exhaustive()
    }
}

/// Returns whether a media type is one of JSON.
fn is_json(media_type: &HeaderValue) -> bool {
    let text = media_type.to_str().unwrap_or_default();
    let text = text.split(';').next().unwrap_or_default().trim();
    let text = text.to_ascii_lowercase();
    text == "application/json" || text.starts_with("application/") && text.ends_with("+json")
}

/// Returns the time for which a host lets a document be kept.
fn lifetime(headers: &HeaderMap) -> Seconds {
    let texts = headers.get_all(CACHE_CONTROL).into_iter();
    let texts = texts.filter_map(|text| text.to_str().ok());
    let directive = |text: &str| {
        let text = text.trim().to_ascii_lowercase();
        match text.split_once('=') {
            Some(("max-age", age)) => age.trim_matches('"').parse().ok(),
            None if text == "no-store" || text == "no-cache" => Some(0),
            _ => None,
        }
    };
    let ages = texts.flat_map(|text| text.split(',')).filter_map(directive);
    ages.min().unwrap_or(LIFETIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_kept_as_long_as_its_host_says() {
        for (text, expected) in [
            ("max-age=600", 600),
            ("public, Max-Age=\"7200\", immutable", 7200),
            ("max-age=60, max-age=90", 60),
            ("no-store", 0),
            ("no-cache, max-age=600", 0),
            ("private", 3600),
            ("max-age=soon", 3600),
            ("", 3600),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static(text));
            assert_eq!(lifetime(&headers), expected, "{text}");
        }
        assert_eq!(lifetime(&HeaderMap::new()), 3600);
    }

    #[test]
    fn only_media_types_of_json_are_read() {
        for (text, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/client+json", true),
            ("text/json", false),
            ("text/html", false),
            ("application/jsonp", false),
            ("image/svg+json", false),
            ("", false),
        ] {
            assert_eq!(is_json(&HeaderValue::from_static(text)), expected, "{text}");
        }
    }
}
