//! The parts of an error that a client may read.

use std::{borrow::Cow, error::Error};

use crate::sanitize::detail::with_sources;

/// Marks a response with a body written for the client.
///
/// A service puts it into the extensions of a response with the status of a server error but
/// nothing to hide in its body, such as the report of a health check.
///
/// ```
/// use http::{Response, StatusCode};
/// use ziggurat_layers::sanitize::Public;
///
/// let mut response = Response::new(r#"{"status":"unhealthy"}"#);
/// *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
/// response.extensions_mut().insert(Public);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Public;

/// Decides which parts of an error a client may read.
///
/// [`SanitizeLayer`](super::SanitizeLayer) uses it for responses. Call it directly if an error
/// reaches the client in another form. In an event of a stream that has already begun:
///
/// ```
/// use std::io;
/// use ziggurat_layers::sanitize::Sanitizer;
///
/// fn error_event(sanitizer: Sanitizer, error: &io::Error) -> String {
///     let data = sanitizer.public(error, "provider could not be reached");
///     format!("event: error\ndata: {}\n\n", data.replace('\n', " "))
/// }
///
/// let error = io::Error::other("401 for key sk-ant-0123456789");
/// assert_eq!(
///     error_event(Sanitizer::production(), &error),
///     "event: error\ndata: provider could not be reached\n\n"
/// );
/// assert_eq!(
///     error_event(Sanitizer::development(), &error),
///     "event: error\ndata: 401 for key [redacted]\n\n"
/// );
/// ```
///
/// In the `data` of a JSON-RPC error, here with the [`ErrorDetail`](super::ErrorDetail) for the
/// log:
///
/// ```
/// use ziggurat_layers::sanitize::{ErrorDetail, Sanitizer};
///
/// let detail = ErrorDetail::new("relation \"orders\" does not exist");
/// let data = Sanitizer::production().public(&detail, "the catalogue could not be read");
/// assert_eq!(data, "the catalogue could not be read");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sanitizer {
    pub(super) shows_detail: bool,
}

// === impl Sanitizer ===

impl Sanitizer {
    /// Shows only the fixed text.
    ///
    /// ```
    /// use ziggurat_layers::sanitize::Sanitizer;
    ///
    /// assert_eq!(Sanitizer::production(), Sanitizer::default());
    /// ```
    #[must_use]
    pub const fn production() -> Self {
        Self {
            shows_detail: false,
        }
    }

    /// Shows the error and its sources, as [`ErrorDetail`](super::ErrorDetail) writes them: for
    /// developers' own machines.
    ///
    /// ```
    /// use ziggurat_layers::sanitize::Sanitizer;
    ///
    /// let sanitizer =
    ///     if cfg!(debug_assertions) { Sanitizer::development() } else { Sanitizer::production() };
    /// # let _ = sanitizer;
    /// ```
    #[must_use]
    pub const fn development() -> Self {
        Self { shows_detail: true }
    }

    /// The text for the client: `fixed`, or the error itself in development.
    ///
    /// ```
    /// use std::io;
    /// use ziggurat_layers::sanitize::Sanitizer;
    ///
    /// let error = io::Error::other("401 for key sk-ant-0123456789");
    /// let fixed = "the provider could not be reached";
    /// assert_eq!(Sanitizer::production().public(&error, fixed), fixed);
    /// assert_eq!(Sanitizer::development().public(&error, fixed), "401 for key [redacted]");
    /// ```
    #[must_use]
    pub fn public(self, error: &dyn Error, fixed: &'static str) -> Cow<'static, str> {
        if self.shows_detail {
            Cow::Owned(with_sources(error))
        } else {
            Cow::Borrowed(fixed)
        }
    }
}

/// [`Sanitizer::production`].
impl Default for Sanitizer {
    fn default() -> Self {
        Self::production()
    }
}
