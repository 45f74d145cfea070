//! The content of a definitions file, and its validation.

use std::collections::HashSet;

use serde::Deserialize;
use serde_yaml::Value as Yaml;
use ziggurat_mcp::{PromptArgument, ResourceDescriptor, Role, Template};
use ziggurat_runtime::Problem;
use ziggurat_schema_tools::{Glossary, GlossaryEntry};

use crate::custom::{
    Definitions,
    data::Data,
    prompt::{Content, CustomPrompt},
    resource::{CustomResource, TextSource},
};

/// A file as written. All fields are optional, so that the checks can report missing ones with a
/// clear message.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct File {
    prompts: Option<Vec<RawPrompt>>,
    resources: Option<Vec<RawResource>>,
    glossary: Option<Vec<GlossaryEntry>>,
    pub(super) tools: Option<Vec<Yaml>>,
    pub(super) include: Option<Vec<String>>,
}

/// Contents of several files together.
#[derive(Default)]
pub(super) struct Sections {
    names: HashSet<String>,
    prompts: Vec<CustomPrompt>,
    uris: HashSet<String>,
    resources: Vec<CustomResource>,
    glossary: Vec<GlossaryEntry>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawPrompt {
    name: Option<String>,
    description: Option<String>,
    arguments: Option<Vec<RawArgument>>,
    messages: Option<Vec<RawMessage>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawArgument {
    name: Option<String>,
    description: Option<String>,
    required: Option<bool>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawMessage {
    role: Option<String>,
    content: Option<RawContent>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct RawContent {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    uri: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct RawResource {
    uri: Option<String>,
    name: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    sql: Option<String>,
    data: Option<Data>,
}

// === impl File ===

impl File {
    /// Adds the prompts, the resources and the glossary of the file, or returns the position and
    /// description of the first error.
    pub(super) fn check(self, sections: &mut Sections) -> Result<(), Problem> {
        for (index, raw) in self.prompts.unwrap_or_default().into_iter().enumerate() {
            let prompt = raw.check(&mut sections.names);
            let prompt = prompt.map_err(|problem| problem.within(format!("prompt {index}")));
            sections.prompts.push(prompt?);
        }
        for (index, raw) in self.resources.unwrap_or_default().into_iter().enumerate() {
            let resource = raw.check(&mut sections.uris);
            let resource = resource.map_err(|problem| problem.within(format!("resource {index}")));
            sections.resources.push(resource?);
        }
        sections.glossary.extend(self.glossary.unwrap_or_default());
        Ok(())
    }
}

// === impl Sections ===

impl Sections {
    /// Makes the definitions without their tools.
    pub(super) fn finish(self) -> Result<Definitions, Problem> {
        Ok(Definitions {
            prompts: self.prompts,
            resources: self.resources,
            glossary: Glossary::read(self.glossary)?,
            ..Definitions::default()
        })
    }
}

// === impl RawPrompt ===

impl RawPrompt {
    fn check(self, names: &mut HashSet<String>) -> Result<CustomPrompt, Problem> {
        let name = non_blank(self.name).ok_or(Problem::Missing("name"))?;
        if !names.insert(name.clone()) {
            return Err(Problem::Duplicate("prompt name", name));
        }
        let arguments = self.arguments.unwrap_or_default().into_iter();
        let arguments: Vec<_> = arguments
            .map(RawArgument::check)
            .collect::<Result<_, _>>()?;
        let messages = self.messages.unwrap_or_default();
        if messages.is_empty() {
            return Err(Problem::Missing("at least one message"));
        }
        let messages = messages.into_iter().enumerate();
        let messages: Vec<_> = messages
            .map(|(index, message)| message.check(index))
            .collect::<Result<_, _>>()?;
        for template in messages.iter().flat_map(|(_, content)| content.templates()) {
            let is_declared = |name: &&str| arguments.iter().any(|known| known.name == *name);
            let mut names = template.names().filter(|name| is_name(name));
            if let Some(name) = names.find(|name| !is_declared(name)) {
                return Err(format!("template references undefined argument: {name}").into());
            }
        }
        Ok(CustomPrompt {
            name,
            description: self.description.unwrap_or_default(),
            arguments,
            messages,
        })
    }
}

/// Returns whether the text in braces is an argument; other text in braces stays text.
fn is_name(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

// === impl RawArgument ===

impl RawArgument {
    fn check(self) -> Result<PromptArgument, Problem> {
        let name = non_blank(self.name).ok_or(Problem::Missing("argument name"))?;
        let description = self.description.unwrap_or_default();
        let argument = if self.required.unwrap_or_default() {
            PromptArgument::required(name, description)
        } else {
            PromptArgument::optional(name, description)
        };
        match self.kind.as_deref() {
            None | Some("string") => Ok(argument),
            Some("boolean") => Ok(argument.boolean()),
            Some(kind) => Err(
                Problem::NotListed("type", kind.to_owned(), "string or boolean")
                    .within(format!("argument {}", argument.name)),
            ),
        }
    }
}

// === impl RawMessage ===

impl RawMessage {
    fn check(self, index: usize) -> Result<(Role, Content), Problem> {
        let role = match self.role.as_deref().unwrap_or_default() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" => Role::System,
            role => {
                let roles = "user, assistant, or system";
                let problem = Problem::NotListed("role", role.to_owned(), roles);
                return Err(problem.within(format!("message {index}")));
            }
        };
        let content = self.content.unwrap_or_default().check(index)?;
        Ok((role, content))
    }
}

// === impl RawContent ===

impl RawContent {
    fn check(self, index: usize) -> Result<Content, Problem> {
        match self.kind.as_deref().unwrap_or_default() {
            "text" => {
                let text = non_blank(self.text).ok_or("text content requires 'text' field")?;
                Ok(Content::Text(Template::new(text)))
            }
            "image" => Ok(Content::Image {
                data: non_blank(self.data).ok_or("image content requires 'data' field")?,
                mime_type: non_blank(self.mime_type)
                    .ok_or("image content requires 'mimeType' field")?,
            }),
            "resource" => {
                let uri = non_blank(self.uri).ok_or("resource content requires 'uri' field")?;
                Ok(Content::Resource {
                    uri: Template::new(uri),
                    mime_type: self.mime_type,
                    text: Template::new(self.text.unwrap_or_default()),
                })
            }
            kind => {
                let kinds = "text, image, or resource";
                let problem = Problem::NotListed("content type", kind.to_owned(), kinds);
                Err(problem.within(format!("message {index}")))
            }
        }
    }
}

// === impl RawResource ===

impl RawResource {
    fn check(self, uris: &mut HashSet<String>) -> Result<CustomResource, Problem> {
        let uri = non_blank(self.uri).ok_or(Problem::Missing("uri"))?;
        let name = non_blank(self.name).ok_or(Problem::Missing("name"))?;
        let kind = non_blank(self.kind).ok_or(Problem::Missing("type"))?;
        if !uris.insert(uri.clone()) {
            return Err(Problem::Duplicate("resource URI", uri));
        }
        let (source, mime_type) = match kind.as_str() {
            "sql" => {
                let sql = non_blank(self.sql).ok_or("sql type requires 'sql' field")?;
                // Rows always have this media type, even if the file names another one.
                (TextSource::Sql(sql), "text/tab-separated-values".to_owned())
            }
            "static" => {
                let data = self.data.ok_or("static type requires 'data' field")?;
                let mime_type = non_blank(self.mime_type);
                let mime_type = mime_type.unwrap_or_else(|| "application/json".to_owned());
                (TextSource::Json(data.to_json()), mime_type)
            }
            _ => return Err(Problem::NotListed("type", kind, "sql or static")),
        };
        let description = self.description.unwrap_or_default();
        let about = ResourceDescriptor::new(uri, name, description).with_mime_type(mime_type);
        Ok(CustomResource { about, source })
    }
}

/// Returns the text, unless it is blank.
fn non_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}
