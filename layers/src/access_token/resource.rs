//! The metadata of a protected resource (RFC 9728).

use bytes::Bytes;
use serde_json::Value;

/// The metadata of a protected resource: which issuers' tokens a server takes (RFC 9728).
///
/// Clients find it at the well-known path, or by the challenge of a refusal.
///
/// ```
/// use ziggurat_layers::access_token::ProtectedResource;
///
/// let resource = ProtectedResource::new("https://api.example/mcp", "https://accounts.example")
///     .with_scopes(["read"]);
/// assert_eq!(
///     resource.url().as_deref(),
///     Some("https://api.example/.well-known/oauth-protected-resource/mcp"),
/// );
/// assert!(resource.to_json().starts_with(br#"{"resource":"https://api.example/mcp""#));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ProtectedResource {
    resource: String,
    issuer: String,
    scopes: Vec<String>,
}

impl ProtectedResource {
    /// Describes the resource with this URL, which takes tokens of this issuer.
    ///
    /// ```
    /// use ziggurat_layers::access_token::ProtectedResource;
    ///
    /// let resource = ProtectedResource::new("https://api.example", "https://accounts.example");
    /// # let _ = resource;
    /// ```
    pub fn new(resource: impl Into<String>, issuer: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            issuer: issuer.into(),
            scopes: Vec::new(),
        }
    }

    /// Names the scopes that clients may ask for.
    ///
    /// ```
    /// use ziggurat_layers::access_token::ProtectedResource;
    ///
    /// let resource = ProtectedResource::new("https://api.example", "https://accounts.example")
    ///     .with_scopes(["read", "write"]);
    /// # let _ = resource;
    /// ```
    pub fn with_scopes<T: Into<String>>(mut self, scopes: impl IntoIterator<Item = T>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// The URL at which clients look for the document: the well-known name is between the host and
    /// the path (RFC 9728, section 3.1). `None` if the resource is not an absolute URL.
    ///
    /// ```
    /// use ziggurat_layers::access_token::ProtectedResource;
    ///
    /// let resource = ProtectedResource::new("https://api.example", "https://accounts.example");
    /// let expected = "https://api.example/.well-known/oauth-protected-resource";
    /// assert_eq!(resource.url().as_deref(), Some(expected));
    /// ```
    #[must_use]
    pub fn url(&self) -> Option<String> {
        let (scheme, rest) = self.resource.split_once("://")?;
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let path = path.trim_end_matches('/');
        Some(format!(
            "{scheme}://{host}/.well-known/oauth-protected-resource{path}"
        ))
    }

    /// The document, of the type `application/json`.
    ///
    /// ```
    /// use ziggurat_layers::access_token::ProtectedResource;
    ///
    /// let resource = ProtectedResource::new("https://api.example", "https://accounts.example");
    /// assert_eq!(
    ///     resource.to_json(),
    ///     r#"{"resource":"https://api.example","authorization_servers":["https://accounts.example"],"bearer_methods_supported":["header"]}"#,
    /// );
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Bytes {
        let text = |text: &str| Value::from(text).to_string();
        let scopes: Vec<_> = self.scopes.iter().map(|scope| text(scope)).collect();
        let scopes = match scopes.as_slice() {
            [] => String::new(),
            scopes => format!(r#","scopes_supported":[{}]"#, scopes.join(",")),
        };
        let document = format!(
            r#"{{"resource":{},"authorization_servers":[{}]{scopes},"bearer_methods_supported":["header"]}}"#,
            text(&self.resource),
            text(&self.issuer),
        );
        document.into()
    }
}
