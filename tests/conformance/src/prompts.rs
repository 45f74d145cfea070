//! The prompts of the suite.

use serde_json::json;
use ziggurat_mcp::{
    Elicitation, Inputs, Message, PromptArgument, PromptArguments, PromptDescriptor, PromptHandler,
    Prompts, Question, Rendered, Role,
};

use crate::tools::plain;

struct Simple;
struct WithArguments;
struct WithResource;
struct WithImage;
struct Eliciting;

impl PromptHandler for Simple {
    fn describe(&self) -> PromptDescriptor {
        PromptDescriptor::new("test_simple_prompt", "A prompt without arguments.")
    }

    fn render(&self, _: &PromptArguments) -> Rendered {
        Rendered::new("Simple").with_user_text("This is a simple prompt for testing.")
    }
}

impl PromptHandler for WithArguments {
    fn describe(&self) -> PromptDescriptor {
        PromptDescriptor::new("test_prompt_with_arguments", "A prompt with arguments.")
            .with_argument(PromptArgument::required("arg1", "The first."))
            .with_argument(PromptArgument::required("arg2", "The second."))
    }

    fn render(&self, arguments: &PromptArguments) -> Rendered {
        let [first, second] = ["arg1", "arg2"].map(|name| arguments.given(name).unwrap_or("?"));
        let text = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
        Rendered::new("With arguments").with_user_text(text)
    }
}

impl PromptHandler for WithResource {
    fn describe(&self) -> PromptDescriptor {
        let uri = PromptArgument::required("resourceUri", "The resource to show.");
        PromptDescriptor::new("test_prompt_with_embedded_resource", "Shows a resource.")
            .with_argument(uri)
    }

    fn render(&self, arguments: &PromptArguments) -> Rendered {
        let uri = arguments.given("resourceUri").unwrap_or("test://nothing");
        let text = "Embedded resource content for testing.";
        let resource = plain::resource(uri, "text/plain", text);
        Rendered::new("With a resource")
            .with_message(Message::new(Role::User, resource))
            .with_user_text("Please process the embedded resource above.")
    }
}

impl PromptHandler for WithImage {
    fn describe(&self) -> PromptDescriptor {
        PromptDescriptor::new("test_prompt_with_image", "Shows an image.")
    }

    fn render(&self, _: &PromptArguments) -> Rendered {
        Rendered::new("With an image")
            .with_message(Message::new(Role::User, plain::image()))
            .with_user_text("Please analyze the image above.")
    }
}

impl PromptHandler for Eliciting {
    fn describe(&self) -> PromptDescriptor {
        PromptDescriptor::new("test_input_required_result_prompt", "Asks for a context.")
    }

    fn render(&self, _: &PromptArguments) -> Rendered {
        Rendered::new("Without a context").with_user_text("There is no context.")
    }

    fn ask(&self, _: &PromptArguments, inputs: &Inputs) -> Option<Elicitation> {
        if inputs.form("user_context").is_some() {
            return None;
        }
        let schema = json!({
            "type": "object",
            "properties": {"context": {"type": "string"}},
            "required": ["context"],
        });
        let question = Question::form("What context should the prompt use?", schema);
        Some(Elicitation::new().with("user_context", question))
    }

    fn render_with(&self, _: &PromptArguments, inputs: &Inputs) -> Rendered {
        let form = inputs.form("user_context");
        let context = form.and_then(|form| form.get("context")?.as_str());
        let text = format!("Use this context: {}", context.unwrap_or("none"));
        Rendered::new("With a context").with_user_text(text)
    }
}

pub(crate) fn all() -> Prompts {
    Prompts::new()
        .with(Simple)
        .with(WithArguments)
        .with(WithResource)
        .with(WithImage)
        .with(Eliciting)
}
