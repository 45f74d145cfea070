//! Content of results other than plain text.

use serde::Serialize;

use crate::protocol::Revision;

/// A block of content in a result of a tool or in a message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// The image, in Base64.
        data: String,
        /// The media type of the image.
        mime_type: String,
    },
    /// Audio, from revision 2025-03-26 on.
    #[serde(rename_all = "camelCase")]
    Audio {
        /// The audio, in Base64.
        data: String,
        /// The media type of the audio.
        mime_type: String,
    },
    /// A resource with its content.
    Resource {
        /// The resource.
        resource: EmbeddedResource,
    },
    /// A link to a resource, from revision 2025-06-18 on.
    #[serde(rename_all = "camelCase")]
    ResourceLink {
        /// The URI of the resource.
        uri: String,
        /// The name of the resource.
        name: String,
    },
}

/// A resource embedded in other content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddedResource {
    /// The URI of the resource.
    pub uri: String,
    /// The media type of the resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text of the resource.
    pub text: String,
}

// === impl Block ===

impl Block {
    /// Makes a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Converts the block for a revision: a kind that the revision does not support becomes text.
    pub(super) fn in_revision(self, revision: Revision) -> Self {
        match self {
            Self::Audio { mime_type, .. } if revision < Revision::V2025_03_26 => {
                Self::text(format!("[a sound of type {mime_type}]"))
            }
            Self::ResourceLink { uri, name } if revision < Revision::V2025_06_18 => {
                Self::text(format!("{name}: {uri}"))
            }
            block => block,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_a_revision_does_not_support_becomes_text() {
        let link = Block::ResourceLink {
            uri: "a://b".to_owned(),
            name: "B".to_owned(),
        };
        let sound = Block::Audio {
            data: String::new(),
            mime_type: "audio/wav".to_owned(),
        };
        for (block, first, text) in [
            (link, Revision::V2025_06_18, "B: a://b"),
            (sound, Revision::V2025_03_26, "[a sound of type audio/wav]"),
        ] {
            for revision in Revision::ALL {
                let expected = if revision < first {
                    Block::text(text)
                } else {
                    block.clone()
                };
                assert_eq!(block.clone().in_revision(revision), expected, "{revision}");
            }
        }
    }
}
