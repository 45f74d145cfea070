//! Documents of the issuer.

use std::{error::Error, fmt, time::Duration};

use http::StatusCode;

type BoxError = Box<dyn Error + Send + Sync>;

/// Fetches documents of the issuer, and waits: all that this module needs of a runtime.
///
/// `ReqwestFetch`, of the feature `access-token-reqwest`, does both for Tokio. An implementation
/// must not follow redirects, because only the issuer itself may publish its keys, must limit the
/// time of a request, and must stop reading after `max_bytes`.
///
/// ```
/// use std::time::Duration;
/// use ziggurat_layers::access_token::{Fetch, FetchError, FetchRequest, Fetched};
///
/// /// Reads documents from a map, for a test.
/// struct Documents(std::collections::HashMap<String, Vec<u8>>);
///
/// impl Fetch for Documents {
///     async fn fetch(&self, request: FetchRequest<'_>) -> Result<Fetched, FetchError> {
///         match self.0.get(request.url()) {
///             Some(body) => Ok(Fetched::new(body.clone())),
///             None => Err(FetchError::status(http::StatusCode::NOT_FOUND)),
///         }
///     }
///
///     async fn sleep(&self, _: Duration) {
///         std::future::pending().await
///     }
/// }
/// ```
pub trait Fetch: Send + Sync + 'static {
    /// Fetches a document with `GET`. Any status but 200 is an error, except 304 for a request with
    /// an entity tag.
    ///
    /// ```
    /// use ziggurat_layers::access_token::{Fetch, FetchError, FetchRequest, Fetched};
    ///
    /// /// Tries a second time if the first fails.
    /// async fn fetch_twice(
    ///     fetch: &impl Fetch,
    ///     request: FetchRequest<'_>,
    /// ) -> Result<Fetched, FetchError> {
    ///     match fetch.fetch(request).await {
    ///         Ok(fetched) => Ok(fetched),
    ///         Err(_) => fetch.fetch(request).await,
    ///     }
    /// }
    /// ```
    fn fetch(
        &self,
        request: FetchRequest<'_>,
    ) -> impl Future<Output = Result<Fetched, FetchError>> + Send;

    /// Ends after this time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_layers::access_token::Fetch;
    ///
    /// async fn once_per_minute(fetch: impl Fetch, mut report: impl FnMut()) {
    ///     loop {
    ///         report();
    ///         fetch.sleep(Duration::from_secs(60)).await;
    ///     }
    /// }
    /// ```
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
}

/// A document to fetch.
///
/// ```
/// use ziggurat_layers::access_token::FetchRequest;
///
/// fn describe(request: FetchRequest<'_>) -> String {
///     format!("at most {} bytes of {}", request.max_bytes(), request.url())
/// }
/// # let _ = describe;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest<'a> {
    pub(super) url: &'a str,
    pub(super) tag: Option<&'a str>,
    pub(super) max_bytes: usize,
}

/// A fetched document.
///
/// ```
/// use ziggurat_layers::access_token::Fetched;
///
/// let document = Fetched::new("{}").with_tag(r#""v1""#);
/// let same = Fetched::not_modified();
/// # let _ = (document, same);
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct Fetched {
    /// `None`: not modified.
    pub(super) body: Option<Vec<u8>>,
    pub(super) tag: Option<String>,
}

/// The reason why a document could not be fetched. For the log.
///
/// ```
/// use ziggurat_layers::access_token::FetchError;
///
/// let error = FetchError::new("connection refused");
/// assert_eq!(error.to_string(), "it cannot be reached");
/// let error = FetchError::status(http::StatusCode::NOT_FOUND);
/// assert_eq!(error.to_string(), "the status is 404 Not Found");
/// ```
#[derive(Debug)]
pub struct FetchError(FetchErrorKind);

#[derive(Debug)]
enum FetchErrorKind {
    Unreachable(BoxError),
    Status(StatusCode),
    TooLarge,
    Malformed(&'static str),
}

// === impl FetchRequest ===

impl<'a> FetchRequest<'a> {
    /// The URL of the document.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::FetchRequest;
    /// # fn show(request: FetchRequest<'_>) {
    /// println!("GET {}", request.url());
    /// # }
    /// ```
    #[must_use]
    pub fn url(&self) -> &'a str {
        self.url
    }

    /// The entity tag to send as `If-None-Match`.
    ///
    /// ```
    /// # use ziggurat_layers::access_token::FetchRequest;
    /// # fn show(request: FetchRequest<'_>) {
    /// if let Some(tag) = request.tag() {
    ///     println!("If-None-Match: {tag}");
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn tag(&self) -> Option<&'a str> {
        self.tag
    }

    /// The size at which reading stops with [`FetchError::too_large`].
    ///
    /// ```
    /// # use ziggurat_layers::access_token::{FetchError, FetchRequest};
    /// fn check(request: FetchRequest<'_>, body: &[u8]) -> Result<(), FetchError> {
    ///     if body.len() > request.max_bytes() { Err(FetchError::too_large()) } else { Ok(()) }
    /// }
    /// # let _ = check;
    /// ```
    #[must_use]
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }
}

// === impl Fetched ===

impl Fetched {
    /// A new document.
    ///
    /// ```
    /// let document = ziggurat_layers::access_token::Fetched::new(r#"{"keys":[]}"#);
    /// # let _ = document;
    /// ```
    pub fn new(body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: Some(body.into()),
            tag: None,
        }
    }

    /// The answer that the document still has the tag of the request.
    ///
    /// ```
    /// let same = ziggurat_layers::access_token::Fetched::not_modified();
    /// # let _ = same;
    /// ```
    pub fn not_modified() -> Self {
        Self {
            body: None,
            tag: None,
        }
    }

    /// Adds the entity tag of the document, for the next request.
    ///
    /// ```
    /// let document = ziggurat_layers::access_token::Fetched::new("{}").with_tag(r#""v1""#);
    /// # let _ = document;
    /// ```
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched")
            .field("bytes", &self.body.as_ref().map(Vec::len))
            .field("tag", &self.tag)
            .finish()
    }
}

// === impl FetchError ===

impl FetchError {
    /// The issuer cannot be reached, for this reason.
    ///
    /// ```
    /// use std::error::Error as _;
    /// use ziggurat_layers::access_token::FetchError;
    ///
    /// let error = FetchError::new("connection refused");
    /// assert_eq!(error.source().unwrap().to_string(), "connection refused");
    /// ```
    pub fn new(source: impl Into<BoxError>) -> Self {
        Self(FetchErrorKind::Unreachable(source.into()))
    }

    /// The issuer answered with this status.
    ///
    /// ```
    /// let error = ziggurat_layers::access_token::FetchError::status(http::StatusCode::BAD_GATEWAY);
    /// assert_eq!(error.to_string(), "the status is 502 Bad Gateway");
    /// ```
    #[must_use]
    pub fn status(status: StatusCode) -> Self {
        Self(FetchErrorKind::Status(status))
    }

    /// The document is larger than the maximum.
    ///
    /// ```
    /// let error = ziggurat_layers::access_token::FetchError::too_large();
    /// assert_eq!(error.to_string(), "the document is too large");
    /// ```
    #[must_use]
    pub fn too_large() -> Self {
        Self(FetchErrorKind::TooLarge)
    }

    pub(super) fn malformed(reason: &'static str) -> Self {
        Self(FetchErrorKind::Malformed(reason))
    }

    /// Returns whether another URL may have the document.
    pub(super) fn is_status(&self) -> bool {
        matches!(self.0, FetchErrorKind::Status(_))
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            FetchErrorKind::Unreachable(_) => f.write_str("it cannot be reached"),
            FetchErrorKind::Status(status) => write!(f, "the status is {status}"),
            FetchErrorKind::TooLarge => f.write_str("the document is too large"),
            FetchErrorKind::Malformed(reason) => f.write_str(reason),
        }
    }
}

impl Error for FetchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            FetchErrorKind::Unreachable(source) => Some(&**source),
            _ => None,
        }
    }
}
