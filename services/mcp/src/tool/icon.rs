//! Icons of tools.

use std::borrow::Cow;

use serde::Serialize;

/// An icon for the user of a client.
///
/// ```
/// use ziggurat_mcp::Icon;
///
/// let icon = Icon::new("https://example.com/echo.svg").with_mime_type("image/svg+xml");
/// assert_eq!(
///     serde_json::to_string(&icon)?,
///     r#"{"src":"https://example.com/echo.svg","mimeType":"image/svg+xml"}"#,
/// );
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct Icon {
    src: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sizes: Vec<Cow<'static, str>>,
}

// === impl Icon ===

impl Icon {
    /// Takes the URL of the image, `https:` or `data:`.
    pub fn new(src: impl Into<Cow<'static, str>>) -> Self {
        Self {
            src: src.into(),
            mime_type: None,
            sizes: Vec::new(),
        }
    }

    /// Sets the media type of the image.
    pub fn with_mime_type(mut self, mime_type: impl Into<Cow<'static, str>>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Adds a size, such as `48x48` or `any`.
    pub fn with_size(mut self, size: impl Into<Cow<'static, str>>) -> Self {
        self.sizes.push(size.into());
        self
    }
}
