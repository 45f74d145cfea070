//! What a tool shows besides plain text.

use serde::Serialize;

use crate::protocol::Revision;

/// A part of what a tool shows.
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
        /// Its bytes in Base64.
        data: String,
        /// What kind of image it is.
        mime_type: String,
    },
    /// A sound; from 2025-03-26 on.
    #[serde(rename_all = "camelCase")]
    Audio {
        /// Its bytes in Base64.
        data: String,
        /// What kind of sound it is.
        mime_type: String,
    },
    /// A resource, with what it holds.
    Resource {
        /// The resource.
        resource: EmbeddedResource,
    },
    /// A resource that can be read; from 2025-06-18 on.
    #[serde(rename_all = "camelCase")]
    ResourceLink {
        /// Where it is.
        uri: String,
        /// What it is called.
        name: String,
    },
}

/// A resource in the middle of something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddedResource {
    /// Where it is.
    pub uri: String,
    /// What it is.
    pub mime_type: String,
    /// What it holds.
    pub text: String,
}

// === impl Block ===

impl Block {
    /// Makes a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The block as a revision can show it: what it has no words for becomes text.
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
    fn what_a_revision_has_no_words_for_becomes_text() {
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
