//! Prompts from a definitions file.

use ziggurat_mcp::{
    Block, EmbeddedResource, Message, PromptArgument, PromptArguments, PromptDescriptor,
    PromptHandler, Rendered, Role, Template,
};

/// Messages with placeholders for arguments.
#[derive(Clone, Debug)]
pub(super) struct CustomPrompt {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) arguments: Vec<PromptArgument>,
    pub(super) messages: Vec<(Role, Content)>,
}

/// Content of a message.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Text(Template),
    Image {
        data: String,
        mime_type: String,
    },
    Resource {
        uri: Template,
        mime_type: Option<String>,
        text: Template,
    },
}

// === impl CustomPrompt ===

impl PromptHandler for CustomPrompt {
    fn describe(&self) -> PromptDescriptor {
        let about = PromptDescriptor::new(self.name.clone(), self.description.clone());
        self.arguments
            .iter()
            .cloned()
            .fold(about, PromptDescriptor::with_argument)
    }

    fn render(&self, arguments: &PromptArguments) -> Rendered {
        let fill = |template: &Template| template.fill(|name| arguments.given(name));
        let about = Rendered::new(self.description.clone());
        self.messages
            .iter()
            .fold(about, |rendered, (role, content)| {
                let content = match content {
                    Content::Text(text) => Block::text(fill(text)),
                    Content::Image { data, mime_type } => Block::Image {
                        data: data.clone(),
                        mime_type: mime_type.clone(),
                    },
                    Content::Resource {
                        uri,
                        mime_type,
                        text,
                    } => Block::Resource {
                        resource: EmbeddedResource {
                            uri: fill(uri),
                            mime_type: mime_type.clone(),
                            text: fill(text),
                        },
                    },
                };
                rendered.with_message(Message::new(*role, content))
            })
    }
}

// === impl Content ===

impl Content {
    /// Returns the templates of the content.
    pub(super) fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Text(text) => vec![text],
            Self::Image { .. } => Vec::new(),
            Self::Resource { uri, text, .. } => vec![uri, text],
        }
    }
}
