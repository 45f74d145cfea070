//! The paths of MCP, and those with the metadata for authorization.

use serde_json::{Value, json};

/// The negotiated revisions, and the one without negotiation.
const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

/// Maximum number of messages in a batch.
const MAX_BATCH: usize = 32;

pub(super) fn paths() -> [(String, Value); 4] {
    let metadata = ["", "/mcp"].map(|path| {
        let operation = metadata(path);
        let path = format!("/.well-known/oauth-protected-resource{path}");
        (path, json!({"get": operation}))
    });
    let [root, own] = metadata;
    [
        ("/mcp".to_owned(), json!({"post": negotiated()})),
        ("/mcp/v1".to_owned(), json!({"post": exact()})),
        root,
        own,
    ]
}

/// The schemas of the messages.
pub(super) fn schemas() -> [(String, Value); 3] {
    let version = json!({"type": "string", "enum": ["2.0"]});
    let id = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
    let call = json!({
        "type": "object",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": version,
            "id": id,
            "method": {"type": "string"},
            "params": {"description": "An object. Invalid members are named in the response."},
        },
        "description": "A request, or a notification if it has no `id`; notifications are not \
            answered",
    });
    let result = json!({
        "type": "object",
        "required": ["jsonrpc", "id", "result"],
        "properties": {"jsonrpc": version, "id": id, "result": {"type": "object"}},
    });
    let error = json!({
        "type": "object",
        "required": ["jsonrpc", "error"],
        "properties": {
            "jsonrpc": version,
            "id": {"allOf": [id], "description": "Absent if the id of the request is unknown"},
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {
                    "code": {"type": "integer"},
                    "message": {"type": "string"},
                    "data": {"description": "Details of the error"},
                },
            },
        },
    });
    [
        ("RpcCall".to_owned(), call),
        ("RpcResult".to_owned(), result),
        ("RpcError".to_owned(), error),
    ]
}

fn schema(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn exact() -> Value {
    json!({
        "operationId": "mcp",
        "tags": ["MCP"],
        "summary": "Calls a method of MCP in revision 2024-11-05",
        "description": "JSON-RPC 2.0, revision 2024-11-05 of the protocol. Errors of calls are \
            part of the response, with status 200. A call of `authenticate_user` needs no \
            token.",
        "requestBody": {
            // Any body gets an answer.
            "required": false,
            "content": {"application/json": {
                "schema": {"anyOf": [schema("RpcCall"), {}]},
                "example": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
            }},
        },
        "responses": {
            "200": {
                "description": "The responses to the calls",
                "content": {"application/json": {"schema": {}}},
            },
            "202": {"description": "The messages were notifications only"},
            "400": {"description": "The body is incomplete"},
            "429": {"description": "Too many failed logins from this address"},
        },
    })
}

fn negotiated() -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let arguments = json!({"query": "SELECT 1"});
    let params = json!({"name": "query_database", "arguments": arguments, "_meta": meta});
    let batch = json!({
        "type": "array",
        "items": {},
        "minItems": 1,
        "maxItems": MAX_BATCH,
        "description": "A batch of messages; only in revision 2025-03-26 or without the header",
    });
    json!({
        "operationId": "negotiatedMcp",
        "tags": ["MCP"],
        "summary": "Calls a method of MCP in the revision of the client",
        "description": "JSON-RPC 2.0, in the revisions 2024-11-05 to 2026-07-28 of the protocol \
            (Streamable HTTP without sessions). Up to 2025-11-25 a client opens with \
            `initialize` and names the revision in `MCP-Protocol-Version`; errors of calls come \
            with status 200. In 2026-07-28 every request names revision and capabilities in \
            `params._meta`, the headers repeat what the body says, and errors have a status of \
            their own. Every request needs a token.",
        "parameters": headers(),
        "requestBody": {
            "required": true,
            "content": {"application/json": {
                "schema": {"anyOf": [schema("RpcCall"), batch]},
                "examples": {
                    "2025-11-25": {"value": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}},
                    "2026-07-28": {"value": {
                        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params,
                    }},
                },
            }},
        },
        "responses": responses(),
    })
}

fn headers() -> Value {
    let header = |name: &str, description: &str, schema: Value| json!({"name": name, "in": "header", "description": description, "schema": schema});
    let text = json!({"type": "string"});
    json!([
        header(
            "MCP-Protocol-Version",
            "The protocol revision; 2025-03-26 if absent and the body names none",
            json!({"type": "string", "enum": REVISIONS}),
        ),
        header(
            "Mcp-Method",
            "The method of the body; required in 2026-07-28",
            text.clone(),
        ),
        header(
            "Mcp-Name",
            "The name or the URI in the params of the body; required in 2026-07-28 if there \
             is one",
            text,
        ),
    ])
}

fn responses() -> Value {
    let [result, error, refusal] = ["RpcResult", "RpcError", "Refusal"].map(schema);
    let answer = json!({"anyOf": [result, error]});
    let answers = json!({"anyOf": [result, error, {"type": "array", "items": answer}]});
    let no_message = json!({"anyOf": [error, refusal]});
    let json = |schema: &Value| json!({"application/json": {"schema": schema}});
    let mut answered = json(&answers);
    answered["text/event-stream"] = json!({"schema": {
        "type": "string",
        "description": "Server-sent events: notifications, then the response. Sent if \
            `Accept` allows it and there are notifications.",
    }});
    json!({
        "200": {"description": "The response to the request or to the batch", "content": answered},
        "202": {"description": "The message is a notification or a response, which is not \
            answered"},
        "400": {
            "description": "The body is malformed or incomplete; in 2026-07-28 also a request \
                whose headers contradict its body or whose params are invalid",
            "content": json(&no_message),
        },
        "404": {
            "description": "The method does not exist; only in 2026-07-28",
            "content": json(&error),
        },
        "405": {
            "description": "The method is not POST",
            "headers": {"Allow": {"schema": {"type": "string", "enum": ["POST"]}}},
        },
        "415": {"description": "The content type is not `application/json`"},
    })
}

/// RFC 9728.
fn metadata(path: &str) -> Value {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let schema = json!({
        "type": "object",
        "required": [
            "resource",
            "authorization_servers",
            "scopes_supported",
            "bearer_methods_supported",
        ],
        "properties": {
            "resource": {"type": "string", "description": "The resource that tokens must name as \
                their audience"},
            "authorization_servers": list,
            "scopes_supported": list,
            "bearer_methods_supported": {
                "type": "array",
                "items": {"type": "string", "enum": ["header"]},
            },
        },
    });
    json!({
        "operationId": if path.is_empty() { "resourceMetadata" } else { "mcpResourceMetadata" },
        "tags": ["MCP"],
        "summary": "Returns where clients get tokens",
        "description": "Available if the server accepts the tokens of an OAuth authorization \
            server (RFC 9728).",
        "security": [],
        "responses": {
            "200": {
                "description": "The authorization servers that issue tokens",
                "content": {"application/json": {"schema": schema}},
            },
            "404": {"description": "No server issues tokens: they come from the operator"},
        },
    })
}
