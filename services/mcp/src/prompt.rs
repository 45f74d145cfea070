//! Prompts.

mod arguments;
mod closure;
mod template;

use std::{borrow::Cow, fmt};

use serde::Serialize;

use crate::{Block, Caller, Elicitation, EntryKind, Inputs, SetupError, sorted_list::SortedList};

pub use self::{arguments::PromptArguments, closure::Prompt, template::Template};

/// A prompt as a type; see [`Prompt`] for closures.
///
/// ```
/// use ziggurat_mcp::{
///     PromptHandler, PromptArgument, PromptArguments, PromptDescriptor, Prompts, Rendered, Template,
/// };
///
/// struct AnalyseTable;
///
/// impl PromptHandler for AnalyseTable {
///     fn describe(&self) -> PromptDescriptor {
///         let table = PromptArgument::required("table", "The table to look at.");
///         PromptDescriptor::new("analyse-table", "Analyses one table.").with_argument(table)
///     }
///
///     fn render(&self, arguments: &PromptArguments) -> Rendered {
///         let text = Template::new("Look at {{table}}.").fill(|name| arguments.text(name));
///         Rendered::new("Analysis of one table").with_user_text(text)
///     }
/// }
///
/// let prompts = Prompts::new().with(AnalyseTable);
/// # let _ = prompts;
/// ```
pub trait PromptHandler: Send + Sync + 'static {
    /// Returns the name and the arguments of the prompt; called once.
    fn describe(&self) -> PromptDescriptor;

    /// Writes the messages.
    ///
    /// A required argument may still be missing: then a placeholder names it.
    fn render(&self, arguments: &PromptArguments) -> Rendered;

    /// Returns values for an argument that begin with `value`, the likeliest first. By default the
    /// [choices](PromptArgument::with_choices) of the argument are offered.
    fn complete(&self, _argument: &str, _value: &str) -> Option<Vec<String>> {
        None
    }

    /// Returns the questions to ask the client first, if any; with the answers the prompt is
    /// rendered by [`render_with`](Self::render_with).
    fn ask(&self, _: &PromptArguments, _: &Inputs) -> Option<Elicitation> {
        None
    }

    /// Writes the messages, with the answers of the client.
    fn render_with(&self, arguments: &PromptArguments, _: &Inputs) -> Rendered {
        self.render(arguments)
    }
}

/// Description of a prompt for clients.
#[derive(Clone, Debug)]
#[must_use]
pub struct PromptDescriptor {
    pub(super) name: Cow<'static, str>,
    pub(super) title: Option<Cow<'static, str>>,
    pub(super) description: Cow<'static, str>,
    pub(super) arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug)]
#[must_use]
pub struct PromptArgument {
    /// The name of the argument.
    pub name: Cow<'static, str>,
    pub(super) description: Cow<'static, str>,
    pub(super) is_required: bool,
    pub(super) is_boolean: bool,
    pub(super) choices: &'static [&'static str],
}

/// The messages of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Rendered {
    description: String,
    messages: Vec<Message>,
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use]
pub struct Message {
    role: Role,
    content: Block,
}

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The program that set up the conversation.
    System,
}

/// The prompts of a server.
#[derive(Clone, Default)]
#[must_use]
pub struct Prompts {
    prompts: SortedList<Prompt>,
}

// === impl PromptDescriptor ===

impl PromptDescriptor {
    /// Describes a prompt without arguments.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            arguments: Vec::new(),
        }
    }

    /// Adds a title for display.
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Adds an argument.
    pub fn with_argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }
}

// === impl PromptArgument ===

impl PromptArgument {
    /// Describes an argument that the prompt needs.
    pub fn required(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            is_required: true,
            ..Self::optional(name, description)
        }
    }

    /// Describes an argument that may be left out.
    pub fn optional(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            is_required: false,
            is_boolean: false,
            choices: &[],
        }
    }

    /// Makes the argument a boolean, written `true` or `false`.
    pub fn boolean(mut self) -> Self {
        self.is_boolean = true;
        self.with_choices(&["true", "false"])
    }

    /// Sets the values to choose from, for clients that complete user input.
    pub fn with_choices(mut self, choices: &'static [&'static str]) -> Self {
        self.choices = choices;
        self
    }
}

// === impl Rendered ===

impl Rendered {
    /// Makes a prompt with a description and no messages.
    pub fn new(description: impl Into<String>) -> Self {
        Self {
            description: description.into(),
            messages: Vec::new(),
        }
    }

    /// Adds a message of the user.
    pub fn with_user_text(self, text: impl Into<String>) -> Self {
        self.with_message(Message::new(Role::User, Block::text(text)))
    }

    /// Adds a message.
    pub fn with_message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }
}

// === impl Message ===

impl Message {
    /// Makes a message.
    pub fn new(role: Role, content: Block) -> Self {
        Self { role, content }
    }
}

// === impl Prompts ===

impl Prompts {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a prompt.
    pub fn with(mut self, prompt: impl Into<Prompt>) -> Self {
        let prompt = prompt.into();
        let name = prompt.descriptor.name.clone();
        self.prompts.insert(name, prompt);
        self
    }

    /// Removes prompts: a client that requests one gets an error that it does not exist.
    pub fn without(mut self, names: impl IntoIterator<Item = &'static str>) -> Self {
        for name in names {
            self.prompts.remove(name);
        }
        self
    }

    pub(super) fn find(&self, name: &str) -> Option<(&PromptDescriptor, &dyn PromptHandler)> {
        let entry = self.prompts.find(name)?;
        Some((&entry.descriptor, &*entry.handler))
    }

    /// Returns whether there is no prompt.
    pub(super) fn is_empty(&self) -> bool {
        self.prompts.iter().next().is_none()
    }

    /// Returns all prompts, by name.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = &PromptDescriptor> {
        self.prompts.iter().map(|entry| &entry.descriptor)
    }

    /// Returns the message for a name that is unknown to a caller.
    pub(super) fn unknown(&self, name: &str, caller: &Caller) -> String {
        let names = self.prompts.names();
        let names: Vec<_> = names
            .filter(|name| caller.sees(EntryKind::Prompt, name))
            .collect();
        let names = names.join(" ");
        format!("prompt \"{name}\" not found. Available prompts: [{names}]")
    }

    /// Returns the values of an argument that begin with `value`, or `None` for an unknown prompt.
    pub(super) fn complete(&self, name: &str, argument: &str, value: &str) -> Option<Vec<String>> {
        let (descriptor, handler) = self.find(name)?;
        if let Some(values) = handler.complete(argument, value) {
            return Some(values);
        }
        let mut arguments = descriptor.arguments.iter();
        let choices = arguments
            .find(|declared| declared.name == argument)
            .map_or(&[][..], |declared| declared.choices);
        let fitting = choices.iter().filter(|choice| choice.starts_with(value));
        Some(fitting.map(|choice| (*choice).to_owned()).collect())
    }

    pub(super) fn check(&self) -> Result<(), SetupError> {
        match self.prompts.duplicate() {
            Some(name) => Err(SetupError::DuplicatePrompt(name.to_owned())),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Prompts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prompts").field(&self.prompts).finish()
    }
}
