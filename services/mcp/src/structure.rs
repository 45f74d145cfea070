//! The structured part of a result, for programs.

use std::fmt;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{Text, protocol::Revision};

/// The result of a tool as JSON, for programs.
///
/// It has the schema that the tool declares with
/// [`ToolDescriptor::with_output`](crate::ToolDescriptor::with_output). Revisions that do not
/// support it leave it out, and so does a result that is an error.
///
/// ```
/// use serde::Serialize;
/// use ziggurat_mcp::{Structure, ToolResult};
///
/// #[derive(Serialize)]
/// struct Counted {
///     count: u64,
/// }
///
/// let structure = Structure::new(&Counted { count: 7 })?;
/// let result = ToolResult::text("There are 7.").with_structure(Some(structure));
/// # let _ = result;
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct Structure {
    json: Bytes,
}

// === impl Structure ===

impl Structure {
    /// Serializes a value.
    ///
    /// # Errors
    ///
    /// Returns an error if JSON cannot represent it: a map with keys that are not texts.
    pub fn new(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        let json = serde_json::to_vec(value)?.into();
        Ok(Self { json })
    }

    /// Takes a complete JSON text.
    pub fn from_json(json: Text) -> Self {
        let json = json.into_bytes();
        Self { json }
    }

    /// Returns the JSON text.
    pub(super) fn as_json(&self) -> &str {
        str::from_utf8(&self.json).expect("JSON is text")
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn into_json(self) -> Bytes {
        self.json
    }

    pub(super) fn into_raw(self) -> Box<RawValue> {
        let json = String::from_utf8(self.json.into()).expect("JSON is text");
        RawValue::from_string(json).expect("it is JSON")
    }

    /// Returns the structure if the revision supports it: before 2026-07-28 it has to be an object.
    pub(super) fn in_revision(self, revision: Revision) -> Option<Self> {
        let is_fit = revision.is_modern() || self.json.starts_with(b"{");
        (revision.has_structure() && is_fit).then_some(self)
    }
}

impl fmt::Debug for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The JSON is left out: it contains rows.
        let length = self.json.len();
        f.debug_struct("Structure")
            .field("length", &length)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_gets_only_structures_that_it_supports() {
        let of = |json: &str| {
            let value: serde_json::Value = serde_json::from_str(json).expect(json);
            Structure::new(&value).expect(json)
        };
        for (json, first) in [
            (r#"{"a":1}"#, Revision::V2025_06_18),
            ("[1]", Revision::V2026_07_28),
            ("null", Revision::V2026_07_28),
        ] {
            for revision in Revision::ALL {
                let found = of(json).in_revision(revision).map(Structure::into_json);
                let expected = (revision >= first).then(|| json.as_bytes().into());
                assert_eq!(found, expected, "{json} {revision}");
            }
        }
    }

    #[test]
    fn a_structure_is_not_written_to_a_log() {
        let structure = Structure::new(&"hunter2").expect("a text");
        assert_eq!(format!("{structure:?}"), "Structure { length: 9, .. }");
    }
}
