//! The id of a request in the log.

use std::{
    collections::hash_map::RandomState,
    error::Error,
    fmt,
    hash::BuildHasher as _,
    str::FromStr,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use http::{HeaderValue, Request};

/// Maximum length of an id that is accepted.
const LONGEST: usize = 128;

/// Set once any id was made. Until then requests are not searched for one, because the search would
/// take longer than the rest of the layer.
static ANY: AtomicBool = AtomicBool::new(false);

/// The id of a request, in the log and for the client.
///
/// The accept loop may put one into the extensions of a request; a layer that needs one and finds
/// none makes one. It has 1 to 128 characters out of ASCII letters, digits and `-._~:=+/`, so it
/// needs no escaping in a header, a log line or a page. Clones share the text.
///
/// It is not a secret and can be guessed: do not use it for access.
///
/// ```
/// use http::Request;
/// use ziggurat_layers::sanitize::RequestId;
///
/// let mut request = Request::new(());
/// let id: RequestId = "01JD2Z5W-7".parse()?;
/// request.extensions_mut().insert(id);
/// # Ok::<_, ziggurat_layers::sanitize::InvalidRequestId>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Arc<str>);

/// A text that is not a valid [`RequestId`].
///
/// ```
/// use ziggurat_layers::sanitize::{InvalidRequestId, RequestId};
///
/// assert_eq!("a\nb".parse::<RequestId>(), Err(InvalidRequestId));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidRequestId;

// === impl RequestId ===

impl RequestId {
    /// Makes an id that is unique within this process.
    ///
    /// A random part, drawn once per process, distinguishes replicas and restarts; the rest is a
    /// counter.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::sanitize::RequestId;
    ///
    /// /// Keeps the id of a trusted proxy, or assigns one.
    /// fn assign<B>(request: &mut Request<B>) {
    ///     let given = request.headers().get("x-request-id").and_then(|id| id.try_into().ok());
    ///     request.extensions_mut().insert(given.unwrap_or_else(RequestId::generate));
    /// }
    /// let mut request = Request::new(());
    /// assign(&mut request);
    /// assert!(request.extensions().get::<RequestId>().is_some());
    /// ```
    #[must_use]
    pub fn generate() -> Self {
        // The random part, with a place for the counter.
        static START: LazyLock<[u8; 33]> = LazyLock::new(|| {
            let mut text = [b'-'; 33];
            write_hex(RandomState::new().hash_one(0), &mut text[..16]);
            text
        });
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Written without `format!`, which takes several times as long.
        let mut text = *START;
        let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(1) as usize;
        write_hex(number, &mut text[17..17 + digits]);
        // Digits are ASCII.
        Self::new(str::from_utf8(&text[..17 + digits]).unwrap_or_default())
    }

    fn new(text: &str) -> Self {
        // Written only once, since processors can share a cache line that does not change.
        if !ANY.load(Ordering::Relaxed) {
            ANY.store(true, Ordering::Relaxed);
        }
        Self(text.into())
    }

    /// Returns the id of a request, if the accept loop set one.
    #[inline]
    pub(crate) fn of<B>(request: &Request<B>) -> Option<Self> {
        if ANY.load(Ordering::Relaxed) {
            request.extensions().get().cloned()
        } else {
            None
        }
    }

    /// The text.
    ///
    /// ```
    /// use ziggurat_layers::sanitize::RequestId;
    ///
    /// let id: RequestId = "01JD2Z5W-7".parse()?;
    /// assert_eq!(id.as_str(), "01JD2Z5W-7");
    /// # Ok::<_, ziggurat_layers::sanitize::InvalidRequestId>(())
    /// ```
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn to_header_value(&self) -> HeaderValue {
        HeaderValue::from_str(self.as_str()).expect("checked to be visible ASCII")
    }
}

/// Fills a text with the last hexadecimal digits of a number.
fn write_hex(mut number: u64, text: &mut [u8]) {
    for digit in text.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 15) as usize];
        number >>= 4;
    }
}

impl FromStr for RequestId {
    type Err = InvalidRequestId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:=+/".contains(&byte);
        if text.is_empty() || text.len() > LONGEST || !text.bytes().all(allowed) {
            return Err(InvalidRequestId);
        }
        Ok(Self::new(text))
    }
}

/// Takes the id that a trusted proxy assigned.
impl TryFrom<&HeaderValue> for RequestId {
    type Error = InvalidRequestId;

    fn try_from(value: &HeaderValue) -> Result<Self, Self::Error> {
        value.to_str().map_err(|_| InvalidRequestId)?.parse()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

// === impl InvalidRequestId ===

impl fmt::Display for InvalidRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a request id is 1 to {LONGEST} ASCII letters, digits and -._~:=+/"
        )
    }
}

impl Error for InvalidRequestId {}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn generated_ids_differ_and_are_valid() {
        let ids: HashSet<_> = (0..1000).map(|_| RequestId::generate()).collect();
        assert_eq!(ids.len(), 1000);
        for id in ids {
            assert_eq!(id.as_str().parse(), Ok(id.clone()));
        }
    }

    #[test]
    fn only_short_plain_text_is_an_id() {
        let long = "a".repeat(LONGEST);
        for text in ["a", "0", "Root=1-67891233-abcdef01", "a.b_c~d:e+f/g", &long] {
            assert_eq!(text.parse().as_ref().map(RequestId::as_str), Ok(text));
        }
        let longer = "a".repeat(LONGEST + 1);
        for text in [
            "", " ", "a b", "a\nb", "a\"b", "<b>", "é", "a,b", "a%20b", &longer,
        ] {
            assert_eq!(text.parse::<RequestId>(), Err(InvalidRequestId), "{text:?}");
            if let Ok(value) = HeaderValue::from_str(text) {
                let id = RequestId::try_from(&value);
                assert_eq!(id, Err(InvalidRequestId), "{text:?}");
            }
        }
    }
}
