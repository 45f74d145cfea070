//! What a tool does to the world, for hosts that ask their user first.

use serde::Serialize;

/// Hints about a tool; what is not known is not said.
///
/// ```
/// use ziggurat_mcp::Annotations;
///
/// let annotations = Annotations::reading();
/// assert_eq!(
///     serde_json::to_string(&annotations)?,
///     r#"{"readOnlyHint":true,"openWorldHint":false}"#,
/// );
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[must_use]
pub struct Annotations {
    /// It changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may remove or overwrite something. Says nothing about a tool that only reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Doing it twice is the same as doing it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond this server and its databases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

// === impl Annotations ===

impl Annotations {
    /// A tool that reads what is here.
    pub const fn reading() -> Self {
        Self {
            read_only_hint: Some(true),
            destructive_hint: None,
            idempotent_hint: None,
            open_world_hint: Some(false),
        }
    }

    /// A tool that reads what is here, and asks somebody elsewhere.
    pub const fn asking() -> Self {
        Self {
            open_world_hint: Some(true),
            ..Self::reading()
        }
    }

    /// A tool that may change what is here, beyond recall.
    pub const fn writing() -> Self {
        Self {
            read_only_hint: Some(false),
            destructive_hint: Some(true),
            ..Self::reading()
        }
    }
}
