//! The id of the trace of a request in the log.

use std::sync::Arc;

/// The id of the trace of a request, in the log only.
///
/// The service that begins the trace puts it into the extensions of its response.
///
/// ```
/// use http::Response;
/// use ziggurat_layers::sanitize::TraceId;
///
/// let id = TraceId::new("4bf92f3577b34da6a3ce929d0e0e4736");
/// let mut response = Response::new(());
/// response.extensions_mut().insert(id);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceId(Arc<str>);

// === impl TraceId ===

impl TraceId {
    /// Takes an id as text.
    ///
    /// ```
    /// use ziggurat_layers::sanitize::TraceId;
    ///
    /// let id = TraceId::new("4bf92f3577b34da6a3ce929d0e0e4736");
    /// assert_eq!(id.clone(), id);
    /// ```
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Returns it as text.
    ///
    /// ```
    /// use ziggurat_layers::sanitize::TraceId;
    ///
    /// let id = TraceId::new("4bf92f3577b34da6a3ce929d0e0e4736");
    /// assert_eq!(id.as_str(), "4bf92f3577b34da6a3ce929d0e0e4736");
    /// ```
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
