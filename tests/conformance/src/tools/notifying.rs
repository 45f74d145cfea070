//! Tools that send messages before they answer.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use ziggurat_mcp::{Error, Property, Reported, Schema, ToolRequest, ToolResult, Tools};

use super::{Act, add};
use crate::client_requests::ClientRequests;

const PAUSE: Duration = Duration::from_millis(50);

type Outcome = Result<ToolResult, Error>;

async fn progress(request: ToolRequest) -> Outcome {
    let progress = request.caller().context().progress();
    for percent in [0.0, 50.0, 100.0] {
        if let Some(progress) = progress {
            progress.report(percent, Some(100.0), None);
        }
        sleep(PAUSE).await;
    }
    Ok(ToolResult::text("Progress was reported."))
}

async fn log(request: ToolRequest) -> Outcome {
    let context = request.caller().context();
    let wants_log = context.wants_log() || !context.revision().is_modern();
    let notifier = context.notifier().filter(|_| wants_log);
    for text in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        if let Some(notifier) = notifier {
            let params = json!({"level": "info", "logger": "fixture", "data": text});
            notifier.notify("notifications/message", &params);
        }
        sleep(PAUSE).await;
    }
    Ok(ToolResult::text("Messages were logged."))
}

/// Asks a legacy client to fill in a form.
async fn elicit(
    client: ClientRequests,
    request: ToolRequest,
    message: String,
    schema: Value,
) -> Outcome {
    let params = json!({"message": message, "requestedSchema": schema});
    let answer = client.ask(&request, "elicitation/create", params).await?;
    let (action, content) = (
        answer["action"].as_str().unwrap_or("none"),
        &answer["content"],
    );
    let text = format!("Elicitation completed: action={action}, content={content}");
    Ok(ToolResult::text(text))
}

fn text(request: &ToolRequest, name: &str) -> Result<String, Error> {
    let arguments: Value = request.arguments()?;
    let text = arguments[name].as_str();
    Ok(text
        .ok_or_else(|| Reported::new("an argument is missing"))?
        .to_owned())
}

async fn sample(client: ClientRequests, request: ToolRequest) -> Outcome {
    let prompt = text(&request, "prompt")?;
    let content = json!({"type": "text", "text": prompt});
    let params = json!({"messages": [{"role": "user", "content": content}], "maxTokens": 100});
    let answer = client
        .ask(&request, "sampling/createMessage", params)
        .await?;
    let said = answer["content"]["text"].as_str().unwrap_or_default();
    Ok(ToolResult::text(format!("LLM response: {said}")))
}

fn user() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }})
}

fn enums() -> Value {
    let plain = ["option1", "option2", "option3"];
    let titled = |title: &str| -> Vec<_> {
        let numbers = [
            ("value1", "First"),
            ("value2", "Second"),
            ("value3", "Third"),
        ];
        let choices = numbers.iter();
        choices
            .map(|(value, number)| json!({"const": value, "title": format!("{number} {title}")}))
            .collect()
    };
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    }})
}

pub(super) fn add_to(tools: Tools, client: &ClientRequests) -> Tools {
    let tools = add(tools, "test_tool_with_progress", progress);
    let tools = add(tools, "test_tool_with_logging", log);
    let tools = add(tools, "test_logging_tool", log);
    let form = |message: &'static str, schema: Value| {
        let client = client.clone();
        move |request| elicit(client.clone(), request, message.to_owned(), schema.clone())
    };
    let name = "test_elicitation_sep1034_defaults";
    let tools = add(tools, name, form("Is this right?", defaults()));
    let name = "test_elicitation_sep1330_enums";
    let tools = add(tools, name, form("Which of these?", enums()));
    let (asks, samples) = (client.clone(), client.clone());
    tools
        .with(Act {
            name: "test_elicitation",
            schema: Schema::new().with_required("message", Property::string("What to ask.")),
            function: move |request: ToolRequest| {
                let client = asks.clone();
                async move {
                    let message = text(&request, "message")?;
                    elicit(client, request, message, user()).await
                }
            },
        })
        .with(Act {
            name: "test_sampling",
            schema: Schema::new().with_required("prompt", Property::string("What to say.")),
            function: move |request| sample(samples.clone(), request),
        })
}
