//! The document of the account service.

use serde_json::{Value, json};
use ziggurat_account_service as platform;

use crate::generate::{
    document_path, members,
    v3_0::{self, Unknown},
};

/// Statuses that any request can get before it reaches a handler.
const ALWAYS: [(&str, &str); 6] = [
    ("400", "The request is invalid"),
    ("401", "The token is missing or invalid"),
    ("413", "The body exceeds the size limit"),
    ("415", "The content type is not JSON"),
    ("500", "An internal error"),
    ("503", "Tokens cannot be validated at the moment"),
];

/// Builds the document.
///
/// # Errors
/// Fails if a handler uses a schema that OpenAPI 3.0 cannot express.
///
/// # Panics
/// Panics if utoipa writes an invalid document.
pub(super) fn document() -> Result<Value, Unknown> {
    let mut described = json!(platform::description());
    let mut paths = members(described["paths"].take());
    let mut open = document_path("getOpenAPI", "documents");
    open["security"] = json!([]);
    let guarded = document_path("getOpenAPIWithToken", "documents");
    for (path, operation) in [("/openapi.json", open), ("/open-api", guarded)] {
        paths.insert(path.to_owned(), json!({"get": operation}));
    }
    for (path, methods) in &mut paths {
        for operation in methods.as_object_mut().expect("methods").values_mut() {
            complete(path, operation);
        }
    }
    v3_0::lower(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ziggurat-platform account API",
            "description": "Tenants, their members, and the clients that act for them.",
            "version": "1.0.0",
            "license": {"name": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "/account/v1", "description": "Descriptions of the service"}],
        "tags": [
            {"name": "auth", "description": "Access tokens"},
            {"name": "clients", "description": "Programs that may use the API"},
            {"name": "invites", "description": "Pending invitations to a tenant"},
            {"name": "memberships", "description": "Members of the tenant"},
            {"name": "tenants", "description": "The customer that a token belongs to"},
            {"name": "users", "description": "The person that a token belongs to"},
            {"name": "documents", "description": "This document"},
        ],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": described["components"]["schemas"].take(),
            "securitySchemes": {"bearer": {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "JWT",
                "description": "An access token of `/oauth/token`",
            }},
        },
    }))
}

/// Adds the common parts of every operation: early statuses, the format of errors, and the request
/// id.
fn complete(path: &str, operation: &mut Value) {
    // An empty alternative means that no sign-in is needed.
    if operation.get("security") == Some(&json!([{}])) {
        operation["security"] = json!([]);
    }
    let is_open = operation.get("security") == Some(&json!([]));
    let has_body = operation.get("requestBody").is_some();
    let has_id = path.contains('{');
    let responses = operation["responses"].as_object_mut().expect("responses");
    for (status, description) in ALWAYS {
        let is_possible = match status {
            "400" => has_id || has_body,
            "401" | "503" => !is_open,
            "413" | "415" => has_body,
            _ => true,
        };
        if is_possible && !responses.contains_key(status) {
            responses.insert(status.to_owned(), json!({"description": description}));
        }
    }
    for (status, response) in responses {
        if status.as_str() >= "400" {
            let error = json!({"$ref": "#/components/schemas/Error"});
            response["content"] = json!({"application/json": {"schema": error}});
        }
        if status == "429" {
            response["headers"]["Retry-After"] = json!({
                "description": "Seconds to wait before the next attempt",
                "schema": {"type": "integer", "minimum": 1},
            });
        }
        if response.get("content").is_some() {
            response["headers"]["Link"] = json!({
                "description": "Link to this OpenAPI document (RFC 8631)",
                "schema": {"type": "string"},
                "example": "</account/v1/openapi.json>; rel=\"service-desc\"",
            });
        }
        response["headers"]["X-Request-Id"] = json!({
            "description": "Id of the request, as the log of the service names it",
            "schema": {"type": "string"},
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_specification_is_there() {
        let document = document().expect("nothing unknown");
        let found: Vec<_> = document["paths"]
            .as_object()
            .expect("paths")
            .iter()
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().expect("methods").keys();
                methods.map(move |method| format!("{method} {path}"))
            })
            .collect();
        let expected = [
            "get /clients",
            "post /clients",
            "delete /clients/{id}",
            "get /clients/{id}",
            "patch /clients/{id}",
            "get /grants",
            "delete /grants/{id}",
            "get /invites",
            "post /invites",
            "delete /invites/{id}",
            "get /invites/{id}",
            "get /memberships",
            "delete /memberships/{id}",
            "post /oauth/token",
            "get /open-api",
            "get /openapi.json",
            "get /tenants",
            "get /tenants/{id}",
            "patch /tenants/{id}",
            "get /users/me",
            "patch /users/me",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_schemas_have_the_members_of_the_specification() {
        let document = document().expect("nothing unknown");
        let schemas = &document["components"]["schemas"];
        for (name, required, optional) in [
            (
                "ApiClient",
                "auth0_id created_at description id name role updated_at",
                "",
            ),
            (
                "Invite",
                "created_at email expires_at id team_name updated_at",
                "invited_by",
            ),
            (
                "Membership",
                "created_at id is_owner updated_at user_email user_id user_name",
                "user_picture",
            ),
            (
                "Tenant",
                "created_at id name updated_at",
                "domain external_id plan plan_expires_at plan_trial",
            ),
            (
                "User",
                "created_at email id tenants updated_at",
                "first_name last_name picture",
            ),
            ("Error", "message", "code reason"),
            ("TokenResponse", "access_token expires_in token_type", ""),
            ("TokenRequest", "client_id client_secret", "grant_type"),
        ] {
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
            assert!(!schema.to_string().contains("nullable"), "{name}: {schema}");
        }
    }

    #[test]
    fn a_token_is_needed_for_all_but_two() {
        let document = document().expect("nothing unknown");
        let paths = document["paths"].as_object().expect("paths");
        for (path, methods) in paths {
            for operation in methods.as_object().expect("methods").values() {
                let is_open = ["/oauth/token", "/openapi.json"].contains(&&**path);
                let security = operation.get("security");
                assert_eq!(
                    security == Some(&json!([])),
                    is_open,
                    "{path}: {security:?}"
                );
            }
        }
    }
}
