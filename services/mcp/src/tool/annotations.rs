//! Hints about the effects of a tool, for clients that ask their user first.

use serde::Serialize;

/// Hints about a tool; unknown ones are left out.
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
    /// The tool changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may remove or overwrite data. Only meaningful for a tool that writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// A second call with the same arguments has no further effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool uses services other than this server and its databases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

// === impl Annotations ===

impl Annotations {
    /// Describes a tool that reads from this server and its databases.
    pub const fn reading() -> Self {
        Self {
            read_only_hint: Some(true),
            destructive_hint: None,
            idempotent_hint: None,
            open_world_hint: Some(false),
        }
    }

    /// Describes a tool that reads and also calls an external service.
    pub const fn asking() -> Self {
        Self {
            open_world_hint: Some(true),
            ..Self::reading()
        }
    }

    /// Describes a tool that may change data irreversibly.
    pub const fn writing() -> Self {
        Self {
            read_only_hint: Some(false),
            destructive_hint: Some(true),
            ..Self::reading()
        }
    }
}
