//! A link and the syntax of its parts.

use std::{error::Error, fmt};

/// A link to another resource, as one member of a `Link` header.
///
/// Every part is checked when it is set, so a link always has a valid header value.
///
/// ```
/// use ziggurat_layers::link::LinkValue;
///
/// let link = LinkValue::new("/v1/answers?page=2", "next")?.with_param("title", "page \"two\"")?;
/// assert_eq!(
///     link.to_string(),
///     r#"</v1/answers?page=2>; rel="next"; title="page \"two\"""#
/// );
/// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct LinkValue {
    target: String,
    /// Relations with one space between them.
    rel: String,
    /// Names in lower case, in the order they were added.
    params: Vec<(String, String)>,
}

/// A part of a link that RFC 8288 does not allow.
///
/// ```
/// use ziggurat_layers::link::LinkValue;
///
/// let error = LinkValue::new("", "next").unwrap_err();
/// assert!(error.to_string().starts_with("a link needs a target"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidLink {
    reason: &'static str,
    text: String,
}

// === impl LinkValue ===

impl LinkValue {
    /// Links to `target`, which has the relation `rel` to the response.
    ///
    /// The target is a URI or a reference relative to the request's, such as `/v1/openapi.json`;
    /// characters not allowed in a URI must be percent-encoded. An empty target would mean the
    /// response itself. It is refused, because it is usually a forgotten setting.
    ///
    /// ```
    /// use ziggurat_layers::link::LinkValue;
    ///
    /// let next = LinkValue::new("/orders?page=2", "next")?;
    /// assert_eq!(next.to_string(), r#"</orders?page=2>; rel="next""#);
    /// assert!(LinkValue::new("/orders?name=müller", "next").is_err());
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub fn new(target: impl Into<String>, rel: &str) -> Result<Self, InvalidLink> {
        let target = target.into();
        if target.is_empty() {
            return Err(InvalidLink::because("a link needs a target", ""));
        }
        if !is_uri_reference(&target) {
            let reason = "a link target may only hold what a URI allows, the rest percent-encoded";
            return Err(InvalidLink::because(reason, &target));
        }
        let link = Self {
            target,
            rel: String::new(),
            params: Vec::new(),
        };
        link.with_rel(rel)
    }

    /// Links to a description of the service for programs, such as an OpenAPI document
    /// (RFC 8631, `service-desc`).
    ///
    /// ```
    /// use ziggurat_layers::link::LinkValue;
    ///
    /// let link = LinkValue::service_desc("/openapi.json")?;
    /// assert_eq!(link.to_string(), r#"</openapi.json>; rel="service-desc""#);
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub fn service_desc(target: impl Into<String>) -> Result<Self, InvalidLink> {
        Self::new(target, "service-desc")
    }

    /// Links to documentation of the service for people (RFC 8631, `service-doc`).
    ///
    /// ```
    /// use ziggurat_layers::link::LinkValue;
    ///
    /// let link = LinkValue::service_doc("https://docs.example/api")?.with_param("type", "text/html")?;
    /// assert_eq!(
    ///     link.to_string(),
    ///     r#"<https://docs.example/api>; rel="service-doc"; type="text/html""#
    /// );
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub fn service_doc(target: impl Into<String>) -> Result<Self, InvalidLink> {
        Self::new(target, "service-doc")
    }

    /// Links to metadata about the service, for programs (RFC 8631, `service-meta`).
    ///
    /// ```
    /// use ziggurat_layers::link::LinkValue;
    ///
    /// let link = LinkValue::service_meta("/about.json")?;
    /// assert_eq!(link.relations().collect::<Vec<_>>(), ["service-meta"]);
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub fn service_meta(target: impl Into<String>) -> Result<Self, InvalidLink> {
        Self::new(target, "service-meta")
    }

    /// Links to the current status of the service (RFC 8631, `status`).
    ///
    /// ```
    /// use ziggurat_layers::link::LinkValue;
    ///
    /// assert_eq!(LinkValue::status("/health")?.to_string(), r#"</health>; rel="status""#);
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub fn status(target: impl Into<String>) -> Result<Self, InvalidLink> {
        Self::new(target, "status")
    }

    /// Adds a relation to the same target.
    ///
    /// A relation is a registered name in lower case (`next`) or an absolute URI.
    ///
    /// ```
    /// use ziggurat_layers::link::LinkValue;
    ///
    /// let link = LinkValue::service_doc("/docs")?.with_rel("help")?;
    /// assert_eq!(link.to_string(), r#"</docs>; rel="service-doc help""#);
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub fn with_rel(mut self, rel: &str) -> Result<Self, InvalidLink> {
        if !is_relation(rel) {
            let reason = "a relation is a name in lower case or an absolute URI";
            return Err(InvalidLink::because(reason, rel));
        }
        if self.relations().all(|other| other != rel) {
            if !self.rel.is_empty() {
                self.rel.push(' ');
            }
            self.rel.push_str(rel);
        }
        Ok(self)
    }

    /// Adds a parameter, such as `type` or `title`.
    ///
    /// Refuses `rel`, which has [`with_rel`](Self::with_rel); `rev`, which RFC 8288 deprecates;
    /// names that end in `*`, because their values need an encoding (RFC 8187); a second
    /// parameter of the same name, except `hreflang`; a value that is not printable ASCII; a `type`
    /// that is not a media type; and an `anchor` that is not a URI reference.
    ///
    /// ```
    /// use ziggurat_layers::link::LinkValue;
    ///
    /// let link = LinkValue::new("/de/docs", "alternate")?.with_param("hreflang", "de")?;
    /// assert_eq!(link.to_string(), r#"</de/docs>; rel="alternate"; hreflang=de"#);
    /// assert!(link.with_param("rel", "next").is_err());
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub fn with_param(mut self, name: &str, value: &str) -> Result<Self, InvalidLink> {
        let name = name.to_ascii_lowercase();
        let repeated = name != "hreflang" && self.params.iter().any(|(given, _)| *given == name);
        let reason = match name.as_str() {
            "rel" => Some("relations are added with `with_rel`"),
            "rev" => Some("`rev` is obsolete, link the other way with a relation"),
            encoded if encoded.ends_with('*') => Some("encoded parameters are not supported"),
            name if !is_token(name) => Some("the name of a parameter is a token"),
            _ if repeated => Some("a parameter is given once"),
            "type" if !is_media_type(value) => Some("`type` is a media type without parameters"),
            "anchor" if !is_uri_reference(value) => Some("`anchor` is a URI reference"),
            _ => None,
        };
        if let Some(reason) = reason {
            return Err(InvalidLink::because(reason, &name));
        }
        if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            let reason = "the value of a parameter is printable ASCII";
            return Err(InvalidLink::because(reason, value));
        }
        self.params.push((name, value.to_owned()));
        Ok(self)
    }

    /// The target of the link.
    ///
    /// ```
    /// use ziggurat_layers::link::LinkValue;
    ///
    /// assert_eq!(LinkValue::status("/health")?.target(), "/health");
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The relations of the target to the response.
    ///
    /// ```
    /// use ziggurat_layers::link::LinkValue;
    ///
    /// let link = LinkValue::new("/orders", "first")?.with_rel("prev")?;
    /// assert!(link.relations().eq(["first", "prev"]));
    /// # Ok::<_, ziggurat_layers::link::InvalidLink>(())
    /// ```
    pub fn relations(&self) -> impl Iterator<Item = &str> {
        self.rel.split_ascii_whitespace()
    }
}

/// Writes the link as one member of a `Link` header.
impl fmt::Display for LinkValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>; rel=\"{}\"", self.target, self.rel)?;
        for (name, value) in &self.params {
            // Before RFC 8288 the grammar required quotes around these, even for tokens.
            let quoted = matches!(name.as_str(), "anchor" | "media" | "title" | "type");
            if is_token(value) && !quoted {
                write!(f, "; {name}={value}")?;
            } else {
                let value = value.replace('\\', r"\\").replace('"', r#"\""#);
                write!(f, "; {name}=\"{value}\"")?;
            }
        }
        Ok(())
    }
}

// === impl InvalidLink ===

impl InvalidLink {
    fn because(reason: &'static str, text: &str) -> Self {
        Self {
            reason,
            text: text.to_owned(),
        }
    }
}

impl fmt::Display for InvalidLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.reason, self.text)
    }
}

impl Error for InvalidLink {}

/// RFC 3986, appendix A, checked by character only.
fn is_uri_reference(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let allowed = match byte {
            b'%' => {
                let mut hex = || bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit());
                hex() && hex()
            }
            other => other.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&other),
        };
        if !allowed {
            return false;
        }
    }
    true
}

/// RFC 8288, section 3.3: a registered name, or an absolute URI.
fn is_relation(text: &str) -> bool {
    let is_name = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-')
            })
    };
    match text.split_once(':') {
        None => is_name(text),
        Some((scheme, _)) => {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && !scheme.contains('/')
                && is_uri_reference(text)
        }
    }
}

fn is_media_type(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.')
                || matches!(byte, b'^' | b'_' | b'`' | b'|' | b'~')
        })
}
