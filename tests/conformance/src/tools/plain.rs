//! Tools that answer without asking.

use serde::Deserialize;
use serde_json::json;
use ziggurat_mcp::{
    Block, EmbeddedResource, Error, Property, Reported, Schema, ToolRequest, ToolResult, Tools,
};

use super::{Act, add};
use crate::resources::PNG;

/// An empty sound.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

type Outcome = Result<ToolResult, Error>;

pub(crate) fn image() -> Block {
    Block::Image {
        data: PNG.to_owned(),
        mime_type: "image/png".to_owned(),
    }
}

pub(crate) fn resource(uri: &str, mime_type: &str, text: &str) -> Block {
    Block::Resource {
        resource: EmbeddedResource {
            uri: uri.to_owned(),
            mime_type: Some(mime_type.to_owned()),
            text: text.to_owned(),
        },
    }
}

async fn simple_text(_: ToolRequest) -> Outcome {
    Ok(ToolResult::text(
        "This is a simple text response for testing.",
    ))
}

async fn image_content(_: ToolRequest) -> Outcome {
    Ok(ToolResult::blocks([image()]))
}

async fn audio_content(_: ToolRequest) -> Outcome {
    Ok(ToolResult::blocks([Block::Audio {
        data: WAV.to_owned(),
        mime_type: "audio/wav".to_owned(),
    }]))
}

async fn embedded_resource(_: ToolRequest) -> Outcome {
    Ok(ToolResult::blocks([resource(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    )]))
}

async fn several(_: ToolRequest) -> Outcome {
    Ok(ToolResult::blocks([
        Block::text("Multiple content types test:"),
        image(),
        resource(
            "test://mixed-content-resource",
            "application/json",
            r#"{"test":"data","value":123}"#,
        ),
    ]))
}

async fn failing(_: ToolRequest) -> Outcome {
    Err(Reported::new("This tool intentionally returns an error for testing").into())
}

async fn echo(request: ToolRequest) -> Outcome {
    #[derive(Deserialize)]
    struct Arguments {
        region: String,
    }

    let arguments: Arguments = request.arguments()?;
    Ok(ToolResult::text(arguments.region))
}

/// Keywords of JSON Schema that some clients do not know.
fn vocabulary() -> Schema {
    Schema::raw(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "anyOf": [{"required": ["phone"]}, {"required": ["email"]}],
        "if": {
            "properties": {"contactMethod": {"const": "phone"}},
            "required": ["contactMethod"],
        },
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    }))
}

pub(super) fn add_to(tools: Tools) -> Tools {
    let tools = add(tools, "test_simple_text", simple_text);
    let tools = add(tools, "test_image_content", image_content);
    let tools = add(tools, "test_audio_content", audio_content);
    let tools = add(tools, "test_embedded_resource", embedded_resource);
    let tools = add(tools, "test_multiple_content_types", several);
    let tools = add(tools, "test_error_handling", failing);
    let region = Property::string("Where.").with_header("Region");
    tools
        .with(Act {
            name: "test_custom_header",
            schema: Schema::new().with_required("region", region),
            function: echo,
        })
        .with(Act {
            name: "json_schema_2020_12_tool",
            schema: vocabulary(),
            function: simple_text,
        })
}
