//! Results of calls.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use ziggurat_mcp::protocol::Revision;

/// The server of a client, as it describes itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerDescription {
    /// The name of the server.
    pub name: String,
    /// The version of the server.
    pub version: String,
    /// Instructions for the model that uses the server.
    pub instructions: Option<String>,
    /// The capabilities of the server, as JSON.
    pub capabilities: Box<RawValue>,
    /// The revision of the calls.
    pub revision: Revision,
}

// === impl ServerDescription ===

impl ServerDescription {
    /// Returns whether the server announces a capability, such as `tools`, `resources` or
    /// `prompts`. Many servers refuse the methods of the others.
    #[must_use]
    pub fn has(&self, capability: &str) -> bool {
        let announced: Option<BTreeMap<String, &RawValue>> =
            serde_json::from_str(self.capabilities.get()).ok();
        announced.is_some_and(|announced| announced.contains_key(capability))
    }
}

/// An entry in the list of tools.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListedTool {
    /// The name of the tool.
    pub name: String,
    /// The title for display.
    pub title: Option<String>,
    /// A sentence for the model.
    pub description: Option<String>,
    /// The arguments, as a JSON Schema.
    pub input_schema: Box<RawValue>,
    /// The structure of the results, as a JSON Schema.
    pub output_schema: Option<Box<RawValue>>,
    /// Hints about the effects of the tool, as JSON.
    pub annotations: Option<Box<RawValue>>,
}

/// An entry in the list of resources.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListedResource {
    /// The URI of the resource.
    pub uri: String,
    /// The name of the resource.
    pub name: String,
    /// The title for display.
    pub title: Option<String>,
    /// A sentence for the model.
    pub description: Option<String>,
    /// The media type of the resource.
    pub mime_type: Option<String>,
}

/// An entry in the list of templates of resources.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListedTemplate {
    /// The URI with its placeholders.
    pub uri_template: String,
    /// The name of the template.
    pub name: String,
    /// The title for display.
    pub title: Option<String>,
    /// A sentence for the model.
    pub description: Option<String>,
    /// The media type of the resources.
    pub mime_type: Option<String>,
}

/// An entry in the list of prompts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ListedPrompt {
    /// The name of the prompt.
    pub name: String,
    /// The title for display.
    pub title: Option<String>,
    /// A sentence for the user.
    pub description: Option<String>,
    /// The arguments of the prompt.
    #[serde(default)]
    pub arguments: Vec<ListedArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ListedArgument {
    /// The name of the argument.
    pub name: String,
    /// A sentence for the user.
    pub description: Option<String>,
    /// True if the prompt needs the argument.
    #[serde(default)]
    pub required: bool,
}

/// The result of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallResult {
    /// The content for the model.
    #[serde(default)]
    pub content: Vec<Content>,
    /// The content for programs, as JSON.
    pub structured_content: Option<Box<RawValue>>,
    /// True if the tool reports a failure.
    #[serde(default)]
    pub is_error: bool,
}

/// A piece of content.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
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
    /// Audio.
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
        resource: ResourceContent,
    },
    /// A link to a resource.
    ResourceLink {
        /// The URI of the resource.
        uri: String,
        /// The name of the resource.
        name: String,
    },
    /// A kind of content that the client does not know.
    #[serde(other)]
    Other,
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceContent {
    /// The URI of the resource.
    pub uri: String,
    /// The media type of the resource.
    pub mime_type: Option<String>,
    /// The text, if the resource is one.
    pub text: Option<String>,
    /// The bytes in Base64, if the resource is not a text.
    pub blob: Option<String>,
}

/// The messages of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct PromptResult {
    /// A sentence for the user.
    pub description: Option<String>,
    /// The messages for the model.
    pub messages: Vec<PromptMessage>,
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// The author of the message: `user` or `assistant`.
    pub role: String,
    /// The content of the message.
    pub content: Content,
}

/// Values for an argument that the user has begun to type.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The values, at most 100.
    pub values: Vec<String>,
    /// The number of all values, if the server knows it.
    pub total: Option<u64>,
    /// True if there are more values.
    #[serde(default)]
    pub has_more: bool,
}

/// A page of a list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page<T> {
    #[serde(
        alias = "tools",
        alias = "resources",
        alias = "resourceTemplates",
        alias = "prompts"
    )]
    pub(crate) entries: Vec<T>,
    pub(crate) next_cursor: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct ReadResult {
    pub(crate) contents: Vec<ResourceContent>,
}

#[derive(Deserialize)]
pub(crate) struct CompleteResult {
    pub(crate) completion: Completion,
}

/// A result without members that the client reads.
#[derive(Deserialize)]
pub(crate) struct EmptyResult {}

// === impl CallResult ===

impl CallResult {
    /// Returns the texts of the content, joined by line feeds.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.content.iter().filter_map(Content::text).collect();
        texts.join("\n")
    }

    /// Returns the content for programs as a value of a type; `None` without such content.
    ///
    /// # Errors
    ///
    /// Returns an error if the content is not of this type.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        let structured = self.structured_content.as_deref();
        structured
            .map(|json| serde_json::from_str(json.get()))
            .transpose()
    }
}

// === impl Content ===

impl Content {
    /// Returns the text of the content, if it is text or a resource with a text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Resource { resource } => resource.text.as_deref(),
            _ => None,
        }
    }
}
