//! The document of the account service.

use serde_json::{Map, Value, json};
use ziggurat_account_service as platform;

use crate::generate::{
    document_path, members, sign_in,
    v3_0::{self, Unknown},
};

/// Beginning of the paths of the account API. The paths of the sign-in are beside it.
const API: &str = "/account/v1";

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
    let paths = paths
        .into_iter()
        .map(|(path, methods)| (format!("{API}{path}"), methods));
    let paths: Map<_, _> = paths.chain(of_sign_in()).collect();
    let mut schemas = members(described["components"]["schemas"].take());
    schemas.extend(sign_in::schemas());
    v3_0::lower(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ziggurat-platform account API",
            "description": "Tenants, their members, and the clients that act for them.",
            "version": "1.0.0",
            "license": {"name": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "/", "description": "Descriptions of the service"}],
        "tags": [
            {"name": "auth", "description": "Access tokens"},
            {"name": "clients", "description": "Programs that may use the API"},
            {"name": "invites", "description": "Pending invitations to a tenant"},
            {"name": "memberships", "description": "Members of the tenant"},
            {"name": "tenants", "description": "The customer that a token belongs to"},
            {"name": "users", "description": "The person that a token belongs to"},
            {"name": "documents", "description": "This document"},
            sign_in::tag("sign_in"),
        ],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"bearer": {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "JWT",
                "description": "An access token of `/account/v1/oauth/token`, or of `/oauth/token` \
                    for a person",
            }},
        },
    }))
}

/// Returns the paths of the sign-in.
fn of_sign_in() -> Vec<(String, Value)> {
    let mut paths = sign_in::paths();
    // Tool servers ask for these two also where no people sign in.
    let always = [platform::METADATA, "/.well-known/jwks.json"];
    for (_, methods) in paths
        .iter_mut()
        .filter(|(path, _)| always.contains(&&**path))
    {
        let responses = methods["get"]["responses"].as_object_mut();
        responses.expect("responses").remove("404");
    }
    paths
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
            "get /.well-known/jwks.json",
            "get /.well-known/oauth-authorization-server",
            "get /.well-known/openid-configuration",
            "get /account/v1/clients",
            "post /account/v1/clients",
            "delete /account/v1/clients/{id}",
            "get /account/v1/clients/{id}",
            "patch /account/v1/clients/{id}",
            "get /account/v1/grants",
            "delete /account/v1/grants/{id}",
            "get /account/v1/invites",
            "post /account/v1/invites",
            "delete /account/v1/invites/{id}",
            "get /account/v1/invites/{id}",
            "get /account/v1/memberships",
            "delete /account/v1/memberships/{id}",
            "post /account/v1/oauth/token",
            "get /account/v1/open-api",
            "get /account/v1/openapi.json",
            "get /account/v1/tenants",
            "get /account/v1/tenants/{id}",
            "patch /account/v1/tenants/{id}",
            "get /account/v1/users/me",
            "patch /account/v1/users/me",
            "post /oauth/device_authorization",
            "post /oauth/register",
            "post /oauth/revoke",
            "post /oauth/token",
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
    fn a_token_is_needed_for_all_of_the_api_but_two() {
        let document = document().expect("nothing unknown");
        let paths = document["paths"].as_object().expect("paths");
        for (path, methods) in paths {
            for operation in methods.as_object().expect("methods").values() {
                let open = ["/account/v1/oauth/token", "/account/v1/openapi.json"];
                let is_open = !path.starts_with(API) || open.contains(&&**path);
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
