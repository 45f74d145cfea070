//! Prompts made from closures, and from types that implement [`PromptHandler`].

use std::{borrow::Cow, fmt, sync::Arc};

use crate::{
    Elicitation, Inputs, PromptArgument, PromptArguments, PromptDescriptor, PromptHandler, Rendered,
};

/// A text that a user requests by name, to start a conversation.
///
/// It is made from a closure, or from a type that implements [`PromptHandler`].
///
/// ```
/// use ziggurat_mcp::{Prompt, PromptArgument, PromptArguments, Rendered};
///
/// let review = Prompt::new("review", "Reviews a file.", |arguments: &PromptArguments| {
///     let path = arguments.text("path").unwrap_or("the file");
///     Rendered::new("A review").with_user_text(format!("Review {path}, and be kind."))
/// });
/// let review = review
///     .with_argument(PromptArgument::required("path", "The file to review."))
///     .with_completion(|_, begun| {
///         let files = ["src/lib.rs", "src/main.rs"].into_iter().map(str::to_owned);
///         files.filter(|file| file.starts_with(begun)).collect()
///     });
/// # let _ = review;
/// ```
#[derive(Clone)]
#[must_use]
pub struct Prompt {
    pub(super) descriptor: PromptDescriptor,
    pub(super) handler: Arc<dyn PromptHandler>,
}

/// A closure as a handler. Its description is in the [`Prompt`].
struct Closure<C>(C);

/// A prompt with the values of its arguments.
struct Completed<C> {
    prompt: Arc<dyn PromptHandler>,
    complete: C,
}

// === impl Closure ===

impl<C> PromptHandler for Closure<C>
where
    C: Fn(&PromptArguments) -> Rendered + Send + Sync + 'static,
{
    fn describe(&self) -> PromptDescriptor {
        PromptDescriptor::new("", "")
    }

    fn render(&self, arguments: &PromptArguments) -> Rendered {
        (self.0)(arguments)
    }
}

// === impl Completed ===

impl<C> PromptHandler for Completed<C>
where
    C: Fn(&str, &str) -> Vec<String> + Send + Sync + 'static,
{
    fn describe(&self) -> PromptDescriptor {
        self.prompt.describe()
    }

    fn render(&self, arguments: &PromptArguments) -> Rendered {
        self.prompt.render(arguments)
    }

    fn complete(&self, argument: &str, value: &str) -> Option<Vec<String>> {
        Some((self.complete)(argument, value))
    }

    fn ask(&self, arguments: &PromptArguments, inputs: &Inputs) -> Option<Elicitation> {
        self.prompt.ask(arguments, inputs)
    }

    fn render_with(&self, arguments: &PromptArguments, inputs: &Inputs) -> Rendered {
        self.prompt.render_with(arguments, inputs)
    }
}

// === impl Prompt ===

impl Prompt {
    /// Makes a prompt from a closure that writes the messages.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
        render: impl Fn(&PromptArguments) -> Rendered + Send + Sync + 'static,
    ) -> Self {
        Self {
            descriptor: PromptDescriptor::new(name, description),
            handler: Arc::new(Closure(render)),
        }
    }

    /// Adds an argument.
    pub fn with_argument(mut self, argument: PromptArgument) -> Self {
        self.descriptor = self.descriptor.with_argument(argument);
        self
    }

    /// Adds a title for display.
    pub fn with_title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.descriptor = self.descriptor.with_title(title);
        self
    }

    /// Sets the values for an argument, by its name and the text so far.
    pub fn with_completion(
        mut self,
        complete: impl Fn(&str, &str) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        let prompt = self.handler;
        self.handler = Arc::new(Completed { prompt, complete });
        self
    }
}

impl<T: PromptHandler> From<T> for Prompt {
    fn from(handler: T) -> Self {
        Self {
            descriptor: handler.describe(),
            handler: Arc::new(handler),
        }
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prompt")
            .field(&self.descriptor.name)
            .finish()
    }
}
