//! Tools that ask the client before they answer, in the revisions without `initialize`.

use serde_json::json;
use ziggurat_mcp::{Elicitation, Error, Question, Reported, ToolRequest, ToolResult, Tools};

use super::add;

type Outcome = Result<ToolResult, Error>;

fn form(message: &str, field: &str, kind: &str) -> Question {
    let schema = json!({
        "type": "object",
        "properties": {field: {"type": kind}},
        "required": [field],
    });
    Question::form(message, schema)
}

fn sample(text: &str, max_tokens: u32) -> Question {
    let content = json!({"type": "text", "text": text});
    let messages = json!([{"role": "user", "content": content}]);
    Question::Sample(json!({"messages": messages, "maxTokens": max_tokens}))
}

fn name() -> Question {
    form("What is your name?", "name", "string")
}

async fn elicitation(request: ToolRequest) -> Outcome {
    let form = request.inputs().form("user_name");
    match form.and_then(|form| form.get("name")?.as_str()) {
        Some(name) => Ok(ToolResult::text(format!("Hello, {name}!"))),
        None => request.ask(Elicitation::new().with("user_name", name())),
    }
}

async fn sampling(request: ToolRequest) -> Outcome {
    let Some(answer) = request.inputs().response("capital_question") else {
        let question = sample("What is the capital of France?", 100);
        return request.ask(Elicitation::new().with("capital_question", question));
    };
    let content = answer.get("content").cloned().unwrap_or_default();
    let text = format!("The model says: {}", content["text"]);
    Ok(ToolResult::text(text))
}

async fn roots(request: ToolRequest) -> Outcome {
    match request.inputs().response("client_roots") {
        Some(answer) => {
            let roots = answer.get("roots").cloned().unwrap_or_default();
            Ok(ToolResult::text(format!("The roots are {roots}")))
        }
        None => request.ask(Elicitation::new().with("client_roots", Question::Roots)),
    }
}

/// Asks for a confirmation, with a state that the client sends back.
async fn state(request: ToolRequest) -> Outcome {
    let inputs = request.inputs();
    if inputs.response("confirm").is_some() && inputs.state() == Some("confirming") {
        return Ok(ToolResult::text("state-ok"));
    }
    let question = form("Please confirm", "ok", "boolean");
    request.ask(
        Elicitation::new()
            .with("confirm", question)
            .with_state("confirming"),
    )
}

async fn several(request: ToolRequest) -> Outcome {
    let inputs = request.inputs();
    let keys = ["user_name", "greeting", "client_roots"];
    if keys.iter().all(|key| inputs.response(key).is_some()) {
        return Ok(ToolResult::text("All questions are answered."));
    }
    let ask = Elicitation::new()
        .with("user_name", name())
        .with("greeting", sample("Generate a greeting", 50))
        .with("client_roots", Question::Roots);
    request.ask(ask.with_state("several"))
}

async fn rounds(request: ToolRequest) -> Outcome {
    let inputs = request.inputs();
    let ask = match inputs.state() {
        Some("second") if inputs.form("step2").is_some() => {
            return Ok(ToolResult::text("Both steps are done."));
        }
        Some("first") if inputs.form("step1").is_some() => {
            let question = form("Step 2: What is your favorite color?", "color", "string");
            Elicitation::new()
                .with("step2", question)
                .with_state("second")
        }
        _ => {
            let question = form("Step 1: What is your name?", "name", "string");
            Elicitation::new()
                .with("step1", question)
                .with_state("first")
        }
    };
    request.ask(ask)
}

/// Asks only for what the client can answer.
async fn capabilities(request: ToolRequest) -> Outcome {
    let able = request.caller().context().capabilities();
    let mut ask = Elicitation::new();
    if able.elicitation {
        ask = ask.with("user_name", name());
    }
    if able.sampling {
        ask = ask.with("greeting", sample("Generate a greeting", 50));
    }
    if !able.elicitation && !able.sampling {
        return Err(Reported::new("there is nothing to ask").into());
    }
    request.ask(ask)
}

async fn missing(request: ToolRequest) -> Outcome {
    match request.inputs().response("greeting") {
        Some(_) => Ok(ToolResult::text("Nothing was missing.")),
        None => request.ask(Elicitation::new().with("greeting", sample("Say hello", 10))),
    }
}

pub(super) fn add_to(tools: Tools) -> Tools {
    let tools = add(tools, "test_input_required_result_elicitation", elicitation);
    let tools = add(tools, "test_input_required_result_sampling", sampling);
    let tools = add(tools, "test_input_required_result_list_roots", roots);
    let tools = add(tools, "test_input_required_result_request_state", state);
    let tools = add(tools, "test_input_required_result_tampered_state", state);
    let tools = add(tools, "test_input_required_result_multiple_inputs", several);
    let tools = add(tools, "test_input_required_result_multi_round", rounds);
    let tools = add(
        tools,
        "test_input_required_result_capabilities",
        capabilities,
    );
    let tools = add(tools, "test_streaming_elicitation", elicitation);
    add(tools, "test_missing_capability", missing)
}
