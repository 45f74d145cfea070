//! Builds requests to Gemini.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    Block, Error, MAX_TOKENS, Message, Prompt, Request, Role, ToolSpec,
    completion::gemini::{SEPARATOR, method},
    conversation::in_turns,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<System<'a>>,
    contents: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
struct System<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Text {
        text: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: Call<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Response {
        function_response: FunctionResponse<'a>,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    name: &'a str,
    args: &'a RawValue,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    name: &'a str,
    response: Outcome,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Output(String),
    Error(String),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    /// A JSON Schema; `parameters` is Gemini's own format, which lacks many keywords.
    parameters_json_schema: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

/// Encodes a prompt for Gemini.
pub(crate) fn request(model: &str, prompt: &Prompt, stream: bool) -> Result<Request, Error> {
    let turns = in_turns(&prompt.messages);
    let names = names(&turns);
    let system = Some(prompt.system.as_str()).filter(|system| !system.is_empty());
    let body = Body {
        system_instruction: system.map(|text| System {
            parts: [Part::Text { text }],
        }),
        contents: turns
            .iter()
            .map(|turn| Turn {
                role: match turn.role {
                    Role::User => "user",
                    Role::Assistant => "model",
                },
                parts: turn
                    .blocks
                    .iter()
                    .map(|block| part(block, &names))
                    .collect(),
            })
            .collect(),
        tools: tools(&prompt.tools),
        generation_config: GenerationConfig {
            max_output_tokens: prompt.max_tokens.unwrap_or(MAX_TOKENS),
            temperature: prompt.temperature,
        },
    };
    let request = Request::post(&["v1beta", "models", &method(model, stream)], &body)?;
    Ok(request.with_query(stream.then_some("alt=sse")))
}

/// Maps ids of tool calls to the names of the tools: Gemini assigns a result by the name.
fn names(turns: &[Message]) -> HashMap<&str, &str> {
    let blocks = turns.iter().flat_map(|turn| &turn.blocks);
    let uses = blocks.filter_map(|block| match block {
        Block::ToolUse { id, name, .. } => Some((id.as_str(), name.as_str())),
        Block::Text { .. } | Block::ToolResult { .. } => None,
    });
    uses.collect()
}

fn part<'a>(block: &'a Block, names: &HashMap<&str, &'a str>) -> Part<'a> {
    match block {
        Block::Text { text, .. } => Part::Text { text },
        Block::ToolUse {
            id, name, input, ..
        } => Part::Call {
            function_call: Call { name, args: input },
            thought_signature: id.split_once(SEPARATOR).map(|(_, signature)| signature),
        },
        Block::ToolResult {
            tool_use_id,
            content,
            is_error,
            ..
        } => {
            let text = content.join("\n");
            Part::Response {
                function_response: FunctionResponse {
                    name: names.get(tool_use_id.as_str()).unwrap_or(&"unknown"),
                    response: if *is_error {
                        Outcome::Error(text)
                    } else {
                        Outcome::Output(text)
                    },
                },
            }
        }
    }
}

fn tools(tools: &[ToolSpec]) -> Option<[Tools<'_>; 1]> {
    let declarations = tools.iter().map(|tool| Declaration {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.schema,
    });
    let function_declarations = declarations.collect();
    (!tools.is_empty()).then_some([Tools {
        function_declarations,
    }])
}
