//! The document of the retrieval server.

use serde_json::{Value, json};
use utoipa::OpenApi as _;
use ziggurat_rag_service::Description;

use crate::generate::{
    document_path, members,
    v3_0::{self, Unknown},
};

/// Builds the document.
///
/// # Errors
/// Fails if a handler uses a schema that OpenAPI 3.0 cannot express.
///
/// # Panics
/// Panics if utoipa writes an invalid document.
pub(super) fn document() -> Result<Value, Unknown> {
    let mut described = json!(Description::openapi());
    let mut paths = members(described["paths"].take());
    let itself = document_path("getOpenAPI", "System");
    paths.insert("/openapi.json".to_owned(), json!({"get": itself}));
    for path in ["/live", "/openapi.json"] {
        paths[path]["get"]["security"] = json!([]);
    }
    paths["/health"]["get"]["security"] = json!([{"bearer": []}, {}]);
    for methods in paths.values_mut() {
        for operation in methods.as_object_mut().expect("methods").values_mut() {
            complete(operation);
        }
    }
    let mut schemas = described["components"]["schemas"].take();
    // utoipa cannot declare a default together with an enumeration.
    schemas["Filter"]["properties"]["logic"]["default"] = "AND".into();
    v3_0::lower(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ziggurat-rag API",
            "description": "Answers questions from tables of PostgreSQL with a language model. \
                Servers with `server.auth` ask callers for bearer tokens, and a pipeline that is \
                not for a caller does not exist for it.",
            "version": "1.0.0",
            "license": {"name": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "/v1", "description": "Descriptions of the server"}],
        "tags": [
            {"name": "Pipelines", "description": "Pipelines and questions"},
            {"name": "OpenAI", "description": "The pipelines as models of the chat completions API, \
                with `server.openai_compatible`"},
            {"name": "System", "description": "Health and token usage"},
        ],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"bearer": {
                "type": "http",
                "scheme": "bearer",
                "description": "An API token, or a token of the issuer. Servers without \
                    authentication ask for none.",
            }},
        },
    }))
}

/// Adds the common part of every response: the link to the description.
fn complete(operation: &mut Value) {
    let link = json!({
        "description": "Link to the description of this interface (RFC 8631). Missing in event \
            streams.",
        "schema": {"type": "string"},
        "example": "</v1/openapi.json>; rel=\"service-desc\"",
    });
    let responses = operation["responses"].as_object_mut().expect("responses");
    for (status, response) in responses {
        response["headers"]["Link"] = link.clone();
        if status == "405" {
            response["headers"]["Allow"] = json!({
                "description": "The allowed methods",
                "schema": {"type": "string"},
            });
        }
        if status == "401" {
            response["headers"]["WWW-Authenticate"] = json!({
                "description": "`Bearer`, with the address of the metadata if a server issues \
                    tokens",
                "schema": {"type": "string"},
            });
        }
        if status == "429" {
            response["headers"]["Retry-After"] = json!({
                "description": "Seconds to wait before the next attempt",
                "schema": {"type": "integer", "minimum": 1},
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operations_have_the_names_that_clients_expect() {
        let document = document().expect("nothing unknown");
        let names: Vec<_> = document["paths"]
            .as_object()
            .expect("paths")
            .iter()
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().expect("methods").iter();
                methods.map(move |(method, operation)| {
                    let name = operation["operationId"].as_str().expect("a name");
                    let tag = operation["tags"][0].as_str().expect("a tag");
                    (path.as_str(), method.as_str(), name, tag)
                })
            })
            .collect();
        let expected = [
            (
                "/chat/completions",
                "post",
                "createChatCompletion",
                "OpenAI",
            ),
            ("/console", "get", "getConsole", "Pipelines"),
            ("/health", "get", "getHealth", "System"),
            ("/live", "get", "getLive", "System"),
            ("/models", "get", "listModels", "OpenAI"),
            ("/models/{model}", "get", "retrieveModel", "OpenAI"),
            ("/openapi.json", "get", "getOpenAPI", "System"),
            ("/pipelines", "get", "listPipelines", "Pipelines"),
            ("/pipelines/{name}", "post", "queryPipeline", "Pipelines"),
            ("/stats", "get", "getStats", "System"),
        ];
        assert_eq!(names, expected);
        let query = &document["paths"]["/pipelines/{name}"]["post"];
        let statuses: Vec<_> = query["responses"]
            .as_object()
            .expect("them")
            .keys()
            .collect();
        assert_eq!(
            statuses,
            [
                "200", "400", "401", "403", "404", "405", "413", "415", "429", "500", "503", "504"
            ]
        );
        assert_eq!(query["requestBody"]["required"], true);
        let content = &query["responses"]["200"]["content"];
        let answer = &content["application/json"]["schema"]["$ref"];
        assert_eq!(answer, "#/components/schemas/QueryResponse");
        assert_eq!(content["text/event-stream"]["schema"]["type"], "string");
    }

    /// The schemas, each with its required members and the others.
    const MEMBERS: [(&str, &str, &str); 26] = [
        ("LiveResponse", "status", ""),
        ("HealthResponse", "status", "pipelines"),
        ("PipelineHealth", "completion embedding name", "search sync"),
        ("SearchHealth", "by_meaning error", ""),
        (
            "SyncHealth",
            "table working",
            "backlog failed oldest_seconds",
        ),
        ("ProviderHealth", "reachable", "error"),
        ("PipelinesResponse", "pipelines", ""),
        ("PipelineInfo", "name", "description"),
        ("ConsoleResponse", "mcp pipelines version", ""),
        (
            "ConsolePipeline",
            "description hybrid keyless name sources top_n",
            "",
        ),
        ("StatsResponse", "pipelines", ""),
        ("PipelineUsage", "completion embedding name", "description"),
        (
            "TokenUsage",
            "completion_tokens prompt_tokens total_tokens",
            "cache_creation_input_tokens cache_read_input_tokens",
        ),
        ("Message", "content role", ""),
        (
            "QueryRequest",
            "query",
            "citations debug disable_hybrid filter include_sources messages stream stream_sources top_n",
        ),
        (
            "QueryResponse",
            "answer tokens_used",
            "citations debug dropped_citations notice sources",
        ),
        (
            "Citation",
            "end marker quote start",
            "id supported title url",
        ),
        (
            "DebugDetails",
            "candidates dropped_passages milliseconds",
            "prompt rewritten_query",
        ),
        ("DebugCandidates", "fused keyword vector", "reranked"),
        ("DebugCandidate", "rank score", "id table"),
        ("PromptSize", "bytes documents tokens", ""),
        ("Source", "content score", "id title url"),
        ("Filter", "conditions", "logic"),
        ("FilterCondition", "column operator", "value"),
        ("ErrorResponse", "error", ""),
        ("ErrorDetail", "code message", ""),
    ];

    #[test]
    fn the_schemas_have_the_names_and_members_that_clients_expect() {
        let document = document().expect("nothing unknown");
        let schemas = &document["components"]["schemas"];
        for (name, required, optional) in MEMBERS {
            let schema = &schemas[name];
            let mut named: Vec<_> = schema["required"]
                .as_array()
                .expect(name)
                .iter()
                .map(|member| member.as_str().expect("a name"))
                .collect();
            named.sort_unstable();
            assert_eq!(named.join(" "), required, "{name}");
            let members = schema["properties"].as_object().expect(name).keys();
            let others: Vec<_> = members
                .map(String::as_str)
                .filter(|member| !named.contains(member))
                .collect();
            assert_eq!(others.join(" "), optional, "{name}");
        }
    }

    #[test]
    fn the_schemas_declare_their_limits() {
        let document = document().expect("nothing unknown");
        let schemas = &document["components"]["schemas"];
        assert!(schemas["StreamEvent"]["oneOf"].is_array(), "{schemas}");
        let condition = &schemas["FilterCondition"]["properties"];
        assert_eq!(
            condition["operator"]["enum"].as_array().map(Vec::len),
            Some(12)
        );
        assert_eq!(condition["value"].get("type"), None);
        assert_eq!(
            schemas["Filter"]["properties"]["conditions"]["maxItems"],
            50
        );
        // A client may send `null`; the server omits empty members, except in the API of OpenAI.
        let schemas = schemas.as_object().expect("schemas").iter();
        let is_strict = |name: &str| name != "QueryRequest" && !name.starts_with("Chat");
        for (name, schema) in schemas.filter(|(name, _)| is_strict(name)) {
            assert!(!schema.to_string().contains("nullable"), "{name}: {schema}");
        }
    }
}
