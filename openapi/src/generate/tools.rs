//! The document of the tool server.

mod mcp;

use serde_json::{Map, Value, json};
use utoipa::OpenApi as _;
use ziggurat_admin_api::{
    audit, configuration, databases as admin_databases, grants, tokens, users,
};
use ziggurat_calls::activity;
use ziggurat_chat_api::{compact, conversations, databases, library, llm, user};
use ziggurat_console::session;
use ziggurat_query_api::{exports, query, schema};

use crate::generate::{
    members, sign_in,
    v3_0::{self, Unknown},
};

/// Statuses that any request can get before it reaches a handler, with and without a body.
const ALWAYS: [(&str, &str); 5] = [
    ("401", "The token is missing or invalid"),
    (
        "403",
        "The origin or the host is not allowed, or the caller lacks permission",
    ),
    ("413", "The body exceeds the size limit"),
    ("500", "An internal error"),
    ("503", "Tokens cannot be validated at the moment; try again"),
];

/// Builds the document.
///
/// # Errors
/// Fails if a handler uses a schema that OpenAPI 3.0 cannot express.
///
/// # Panics
/// Panics if utoipa writes an invalid document.
pub(super) fn document() -> Result<Value, Unknown> {
    let mut paths = Map::from_iter([health(), ready()]);
    paths.extend(mcp::paths());
    paths.extend(sign_in::paths());
    let mut schemas = Map::from_iter(refusals());
    schemas.extend(mcp::schemas());
    schemas.extend(sign_in::schemas());
    for mut area in areas().into_iter().map(|area| json!(area)) {
        paths.append(&mut members(area["paths"].take()));
        schemas.append(&mut members(area["components"]["schemas"].take()));
    }
    complete(&mut paths);
    v3_0::lower(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ziggurat-tools",
            "description": "An MCP server for PostgreSQL, with a REST API for clients.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "/", "description": "Descriptions of the server"}],
        "tags": tags(),
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "An API token, or the session token of a login. Servers without \
                    authentication ask for none.",
            }},
        },
    }))
}

/// Returns the descriptions of the areas that handlers serve.
fn areas() -> Vec<utoipa::openapi::OpenApi> {
    vec![
        databases::Description::openapi(),
        query::Description::openapi(),
        schema::Description::openapi(),
        exports::Description::openapi(),
        user::Description::openapi(),
        conversations::Description::openapi(),
        library::Description::openapi(),
        compact::Description::openapi(),
        llm::Description::openapi(),
        session::Description::openapi(),
        activity::Description::openapi(),
        tokens::Description::openapi(),
        audit::Description::openapi(),
        users::Description::openapi(),
        grants::Description::openapi(),
        admin_databases::Description::openapi(),
        configuration::Description::openapi(),
    ]
}

/// The groups of operations.
fn tags() -> Value {
    json!([
        {"name": "MCP", "description": "The Model Context Protocol"},
        {"name": "Databases", "description": "Databases, and the selected one"},
        {"name": "Query", "description": "Tables and statements, with rows as they come"},
        {"name": "Activity", "description": "Statements that run, and their cancellation"},
        {"name": "User", "description": "The caller"},
        {"name": "Conversations", "description": "Stored conversations of users. \
            API tokens have none, and neither have servers without authentication."},
        {"name": "Library", "description": "Stored queries and prompts of users, and those \
            that others share. API tokens have none, and neither have servers without \
            authentication."},
        {"name": "Chat", "description": "Chats with models"},
        {"name": "LLM", "description": "Models of the configured providers, if the model \
            proxy is enabled"},
        {"name": "Console", "description": "Signing in with a browser. Its requests have a \
            cookie, and its other half in the header `Ziggurat-Console`."},
        {"name": "Administration", "description": "For users who are administrators. Changes \
            need a sign-in within the last 15 minutes. Servers without authentication have \
            none of it."},
        sign_in::tag("http.auth.oauth"),
        {"name": "Health", "description": "Probes; any host may ask, without a token"},
    ])
}

fn health() -> (String, Value) {
    let schema = json!({
        "type": "object",
        "required": ["status", "server", "version"],
        "properties": {
            "status": {"type": "string", "enum": ["ok"]},
            "server": {"type": "string"},
            "version": {"type": "string"},
        },
    });
    let operation = json!({
        "operationId": "health",
        "tags": ["Health"],
        "summary": "Reports whether the server is running",
        "security": [],
        "responses": {"200": {
            "description": "The server is running; databases are not checked",
            "content": {"application/json": {"schema": schema}},
        }},
    });
    ("/health".to_owned(), json!({"get": operation}))
}

fn ready() -> (String, Value) {
    let report = |statuses: &[&str], description: &str| {
        let schema = json!({
            "type": "object",
            "required": ["status", "unavailable"],
            "properties": {
                "status": {"type": "string", "enum": statuses},
                "unavailable": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "The number of unavailable databases; the log names them",
                },
            },
        });
        json!({
            "description": description,
            "content": {"application/json": {"schema": schema}},
        })
    };
    let others = [
        "starting",
        "stopping",
        "audit unavailable",
        "state unreachable",
        "unavailable",
    ];
    let operation = json!({
        "operationId": "ready",
        "tags": ["Health"],
        "summary": "Reports whether at least one database is available",
        "security": [],
        "responses": {
            "200": report(&["ready"], "At least one database is available"),
            "503": report(&others, "No database is available, the server is starting or \
                stopping, or no call can be recorded"),
        },
    });
    ("/ready".to_owned(), json!({"get": operation}))
}

/// The schemas of refusals.
fn refusals() -> [(String, Value); 2] {
    let refusal = json!({
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string", "description": "The reason, for people"}},
    });
    let of_databases = json!({
        "type": "object",
        "required": ["success", "error"],
        "properties": {
            "success": {"type": "boolean", "enum": [false]},
            "error": {"type": "string", "description": "The reason, for people"},
        },
    });
    [
        ("Refusal".to_owned(), refusal),
        ("DatabaseRefusal".to_owned(), of_databases),
    ]
}

/// Adds the common parts of every operation: the statuses before its handler, and the bodies of
/// refusals.
fn complete(paths: &mut Map<String, Value>) {
    for (path, methods) in paths {
        let of_databases = path.starts_with("/api/databases");
        for operation in methods.as_object_mut().expect("methods").values_mut() {
            let is_open = operation.get("security") == Some(&json!([]));
            let has_body = operation.get("requestBody").is_some();
            let responses = operation["responses"].as_object_mut().expect("responses");
            for (status, description) in ALWAYS {
                let is_possible = match status {
                    "401" | "503" => !is_open,
                    "413" => has_body,
                    _ => true,
                };
                if is_possible && !responses.contains_key(status) {
                    responses.insert(status.to_owned(), json!({"description": description}));
                }
            }
            for (status, response) in responses {
                let is_bare = response.get("content").is_none();
                if is_bare && status.as_str() >= "400" {
                    // Outer layers answer in the same format on all paths.
                    let is_inner = of_databases && !["413", "500"].contains(&&**status);
                    response["content"] =
                        json!({"application/json": {"schema": refusal(is_inner)}});
                }
                if status == "401" {
                    response["headers"]["WWW-Authenticate"] = json!({
                        "description": "`Bearer`, with the address of the metadata if a server \
                            issues \
                            tokens",
                        "schema": {"type": "string"},
                    });
                }
            }
        }
    }
}

fn refusal(of_databases: bool) -> Value {
    let plain = json!({"$ref": "#/components/schemas/Refusal"});
    if of_databases {
        let own = json!({"$ref": "#/components/schemas/DatabaseRefusal"});
        return json!({"anyOf": [own, plain]});
    }
    plain
}
