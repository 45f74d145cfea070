//! The `WWW-Authenticate` header (RFC 6750 section 3, RFC 9728 section 5.1).

use std::{error::Error, fmt};

use bytes::Bytes;
use http::HeaderValue;

use crate::bearer::verify::Denied;

/// Parameters of the `WWW-Authenticate` header of a refusal.
///
/// ```
/// use ziggurat_layers::bearer::{BearerLayer, Challenge, Hashed};
///
/// let challenge = Challenge::new()
///     .with_realm("tools")?
///     .with_scope("read write")?
///     .with_resource_metadata("https://a.example/.well-known/oauth-protected-resource")?;
/// let layer = BearerLayer::new(Hashed::<()>::default()).with_challenge(challenge);
/// # let _ = layer;
/// # Ok::<_, ziggurat_layers::bearer::InvalidChallenge>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Challenge {
    realm: Option<String>,
    scope: Option<String>,
    resource_metadata: Option<String>,
}

/// A text that is not allowed in a challenge.
///
/// ```
/// use ziggurat_layers::bearer::Challenge;
///
/// let error = Challenge::new().with_realm("Märchen").unwrap_err();
/// assert_eq!(error.to_string(), "realm of a bearer challenge must be printable ASCII");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidChallenge {
    parameter: &'static str,
    expected: &'static str,
}

/// The reason for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BearerFault {
    Missing,
    OtherScheme,
    Malformed,
    Denied(Denied),
}

/// The header values, written once when the layer is built.
#[derive(Clone, Debug)]
pub(super) struct Challenges {
    plain: HeaderValue,
    invalid_request: HeaderValue,
    invalid_token: HeaderValue,
    insufficient_scope: HeaderValue,
}

// === impl Challenge ===

impl Challenge {
    /// Makes a challenge that is just `Bearer`.
    ///
    /// ```
    /// use ziggurat_layers::bearer::Challenge;
    ///
    /// assert_eq!(Challenge::new().to_header(), "Bearer");
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the protection space, which clients may show to users.
    ///
    /// ```
    /// use ziggurat_layers::bearer::Challenge;
    ///
    /// let challenge = Challenge::new().with_realm("the \"inner\" tools")?;
    /// assert_eq!(challenge.to_header(), r#"Bearer realm="the \"inner\" tools""#);
    /// # Ok::<_, ziggurat_layers::bearer::InvalidChallenge>(())
    /// ```
    ///
    /// # Errors
    /// Fails on anything but printable ASCII.
    pub fn with_realm(mut self, realm: impl Into<String>) -> Result<Self, InvalidChallenge> {
        let realm = realm.into();
        if !realm.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(InvalidChallenge {
                parameter: "realm",
                expected: "printable ASCII",
            });
        }
        self.realm = Some(realm);
        Ok(self)
    }

    /// Names the scopes a token needs, separated by single spaces.
    ///
    /// ```
    /// use ziggurat_layers::bearer::Challenge;
    ///
    /// let challenge = Challenge::new().with_scope("orders invoices")?;
    /// assert_eq!(challenge.to_header(), r#"Bearer scope="orders invoices""#);
    /// assert!(Challenge::new().with_scope("orders, invoices  ").is_err());
    /// # Ok::<_, ziggurat_layers::bearer::InvalidChallenge>(())
    /// ```
    ///
    /// # Errors
    /// Fails on an empty scope and on characters that RFC 6749 section 3.3 does not allow.
    pub fn with_scope(mut self, scope: impl Into<String>) -> Result<Self, InvalidChallenge> {
        let scope = scope.into();
        let is_token = |token: &str| {
            !token.is_empty()
                && token
                    .bytes()
                    .all(|byte| matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~'))
        };
        if !scope.split(' ').all(is_token) {
            return Err(InvalidChallenge {
                parameter: "scope",
                expected: "scope names separated by single spaces",
            });
        }
        self.scope = Some(scope);
        Ok(self)
    }

    /// Points to the document that says which servers issue tokens (RFC 9728).
    ///
    /// ```
    /// use ziggurat_layers::bearer::Challenge;
    ///
    /// let url = "https://api.example/.well-known/oauth-protected-resource";
    /// assert!(Challenge::new().with_resource_metadata(url).is_ok());
    /// assert!(Challenge::new().with_resource_metadata("/oauth-protected-resource").is_err());
    /// ```
    ///
    /// # Errors
    /// Fails on anything but an absolute `http` or `https` URL.
    pub fn with_resource_metadata(
        mut self,
        url: impl Into<String>,
    ) -> Result<Self, InvalidChallenge> {
        let url = url.into();
        let is_web = url
            .parse::<http::Uri>()
            .is_ok_and(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
        if !is_web {
            return Err(InvalidChallenge {
                parameter: "resource_metadata",
                expected: "an absolute http or https URL",
            });
        }
        self.resource_metadata = Some(url);
        Ok(self)
    }

    /// The header value for a request without a token, which names no error.
    ///
    /// For a service behind [`with_optional`](super::BearerLayer::with_optional) paths that does
    /// need a token.
    ///
    /// ```
    /// use ziggurat_layers::bearer::Challenge;
    ///
    /// assert_eq!(Challenge::new().to_header(), "Bearer");
    /// let challenge = Challenge::new().with_scope("read")?;
    /// assert_eq!(challenge.to_header(), r#"Bearer scope="read""#);
    /// # Ok::<_, ziggurat_layers::bearer::InvalidChallenge>(())
    /// ```
    #[must_use]
    pub fn to_header(&self) -> HeaderValue {
        self.value(None)
    }

    pub(super) fn complete(self) -> Challenges {
        Challenges {
            plain: self.to_header(),
            invalid_request: self.value(Some("invalid_request")),
            invalid_token: self.value(Some("invalid_token")),
            insufficient_scope: self.value(Some("insufficient_scope")),
        }
    }

    fn value(&self, error: Option<&str>) -> HeaderValue {
        let parameters = [
            ("realm", self.realm.as_deref()),
            ("error", error),
            ("scope", self.scope.as_deref()),
            ("resource_metadata", self.resource_metadata.as_deref()),
        ];
        let mut text = String::from("Bearer");
        let mut separator = " ";
        for (name, value) in parameters {
            let Some(value) = value else { continue };
            text.push_str(separator);
            text.push_str(name);
            text.push('=');
            push_quoted(&mut text, value);
            separator = ", ";
        }
        HeaderValue::from_maybe_shared(Bytes::from(text)).expect("every part was checked")
    }
}

/// Appends a quoted-string (RFC 9110, section 5.6.4).
fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
}

// === impl Challenges ===

impl Challenges {
    /// Returns the challenge for a fault; `None` if a better token would not help.
    ///
    /// RFC 6750 section 3.1: the challenge to a request without a token names no error.
    pub(super) fn answer_to(&self, fault: BearerFault) -> Option<HeaderValue> {
        let value = match fault {
            BearerFault::Missing | BearerFault::OtherScheme => &self.plain,
            BearerFault::Malformed => &self.invalid_request,
            BearerFault::Denied(Denied::Invalid) => &self.invalid_token,
            BearerFault::Denied(Denied::InsufficientScope) => &self.insufficient_scope,
            BearerFault::Denied(Denied::Unavailable) => return None,
        };
        Some(value.clone())
    }
}

// === impl InvalidChallenge ===

impl fmt::Display for InvalidChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            parameter,
            expected,
        } = self;
        write!(f, "{parameter} of a bearer challenge must be {expected}")
    }
}

impl Error for InvalidChallenge {}
