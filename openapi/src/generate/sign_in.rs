//! The paths of the sign-in that programs use.

use serde_json::{Map, Value, json};

/// Errors of RFC 6749.
const ERROR: &str = "OAuthError";

/// The group of the operations.
pub(super) const TAG: &str = "Sign-in";

/// Returns the group. A server has it where this part of its configuration enables it.
pub(super) fn tag(enabled_by: &str) -> Value {
    let description = format!(
        "Tokens for programs that a person signs in for with a browser, if `{enabled_by}` is \
         enabled. Programs of any page may call these."
    );
    json!({"name": TAG, "description": description})
}

pub(super) fn schemas() -> [(String, Value); 1] {
    let error = json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {"type": "string", "description": "A code of OAuth 2.0"},
            "error_description": {"type": "string", "description": "The reason, for people"},
        },
    });
    [(ERROR.to_owned(), error)]
}

pub(super) fn paths() -> Vec<(String, Value)> {
    let server = document(
        "authorizationServer",
        "Returns the description of the authorization server (RFC 8414)",
    );
    let openid = document(
        "openidConfiguration",
        "Returns the same description, for clients of OpenID Connect",
    );
    let keys = document("signingKeys", "Returns the public keys of tokens");
    let all = [
        ("/.well-known/oauth-authorization-server", server),
        ("/.well-known/openid-configuration", openid),
        ("/.well-known/jwks.json", keys),
    ];
    let forms = [
        ("/oauth/token", token()),
        ("/oauth/revoke", revocation()),
        ("/oauth/register", registration()),
        ("/oauth/device_authorization", device()),
    ];
    let gets = all.map(|(path, operation)| (path.to_owned(), json!({"get": operation})));
    let posts = forms.map(|(path, operation)| (path.to_owned(), json!({"post": operation})));
    gets.into_iter().chain(posts).collect()
}

fn document(id: &str, summary: &str) -> Value {
    let answer = json!({"application/json": {"schema": {"type": "object"}}});
    json!({
        "operationId": id,
        "tags": [TAG],
        "summary": summary,
        "security": [],
        "responses": {
            "200": {"description": "The document", "content": answer},
            "404": {"description": "The sign-in is off"},
        },
    })
}

fn token() -> Value {
    let fields = [
        (
            "grant_type",
            "`authorization_code`, `refresh_token`, or one of the document",
        ),
        ("client_id", "The client, unless it proves itself otherwise"),
        ("client_secret", "Its secret, if it has one"),
        ("code", "The code of the authorization"),
        ("code_verifier", "The verifier of the code (RFC 7636)"),
        ("redirect_uri", "The address that the code was sent to"),
        ("refresh_token", "The refresh token"),
        ("scope", "Words of the granted scope"),
        (
            "resource",
            "The address of the server that the token is for (RFC 8707)",
        ),
    ];
    let tokens = json!({
        "type": "object",
        "required": ["access_token", "token_type", "expires_in", "scope"],
        "properties": {
            "access_token": {"type": "string"},
            "token_type": {"type": "string", "enum": ["Bearer"]},
            "expires_in": {"type": "integer", "description": "Seconds"},
            "scope": {"type": "string"},
            "refresh_token": {"type": "string", "description": "Good once; the answer to its use \
                has the next one"},
        },
    });
    posted(
        (
            "exchangeForToken",
            "Returns tokens for a code, a refresh token or an assertion",
        ),
        &form(&fields, &["grant_type"]),
        (("200", "The tokens"), Some(tokens)),
    )
}

fn revocation() -> Value {
    let fields = [
        ("token", "An access token or a refresh token"),
        ("client_id", "The client, unless it proves itself otherwise"),
        ("client_secret", "Its secret, if it has one"),
    ];
    posted(
        ("revokeToken", "Ends the grant of a token (RFC 7009)"),
        &form(&fields, &["token"]),
        (
            (
                "200",
                "The grant has ended, or there is none of this client",
            ),
            None,
        ),
    )
}

fn registration() -> Value {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let client = json!({
        "type": "object",
        "required": ["redirect_uris"],
        "properties": {
            "redirect_uris": list,
            "client_name": {"type": "string", "maxLength": 200},
            "grant_types": list,
            "response_types": list,
            "token_endpoint_auth_method": {"type": "string"},
        },
    });
    let body = json!({"required": true, "content": {"application/json": {"schema": client}}});
    let made = json!({
        "type": "object",
        "required": ["client_id", "redirect_uris"],
        "properties": {"client_id": {"type": "string"}, "redirect_uris": list},
    });
    posted(
        ("registerClient", "Registers a client (RFC 7591)"),
        &body,
        (
            ("201", "The client, with the values that hold now"),
            Some(made),
        ),
    )
}

fn device() -> Value {
    let fields = [
        ("client_id", "The client, which `device_clients` names"),
        ("scope", "The scope"),
        (
            "resource",
            "The address of the server that the token is for (RFC 8707)",
        ),
    ];
    let codes = json!({
        "type": "object",
        "required": ["device_code", "user_code", "verification_uri", "expires_in", "interval"],
        "properties": {
            "device_code": {"type": "string"},
            "user_code": {"type": "string", "description": "The person types it on the page"},
            "verification_uri": {"type": "string"},
            "verification_uri_complete": {"type": "string"},
            "expires_in": {"type": "integer", "description": "Seconds"},
            "interval": {"type": "integer", "description": "Seconds between two polls"},
        },
    });
    posted(
        (
            "authorizeDevice",
            "Returns codes for a device without a browser (RFC 8628)",
        ),
        &form(&fields, &["client_id"]),
        (("200", "The codes"), Some(codes)),
    )
}

fn form(fields: &[(&str, &str)], required: &[&str]) -> Value {
    let fields = fields.iter().map(|(name, description)| {
        let field = json!({"type": "string", "description": description});
        ((*name).to_owned(), field)
    });
    let fields: Map<String, Value> = fields.collect();
    let schema = json!({"type": "object", "required": required, "properties": fields});
    let content = json!({"application/x-www-form-urlencoded": {"schema": schema}});
    json!({"required": true, "content": content})
}

fn posted(
    (id, summary): (&str, &str),
    body: &Value,
    ((status, described), answer): ((&str, &str), Option<Value>),
) -> Value {
    let error = json!({"$ref": format!("#/components/schemas/{ERROR}")});
    let refused = |description: &str| {
        let content = json!({"application/json": {"schema": error}});
        json!({"description": description, "content": content})
    };
    let mut responses = json!({
        "400": refused("The request is not valid"),
        "401": refused("The client has not proved itself"),
        "404": {"description": "The sign-in, or this part of it, is off"},
        "429": refused("Too many requests of this address or client"),
        "503": refused("Sign-in is not possible at the moment"),
    });
    responses[status] = json!({"description": described});
    if let Some(answer) = answer {
        responses[status]["content"] = json!({"application/json": {"schema": answer}});
    }
    json!({
        "operationId": id,
        "tags": [TAG],
        "summary": summary,
        "security": [],
        "requestBody": body,
        "responses": responses,
    })
}
