//! The documents that clients find everything with (RFC 8414, RFC 9728).

use serde_json::{Value, json};
use ziggurat_layers::access_token::Algorithm;

use crate::{
    clients::document::ALGORITHMS,
    settings::{Resource, Settings},
};

/// Path of the document about the authorization server.
pub(crate) const SERVER: &str = "/.well-known/oauth-authorization-server";

/// Path of the same document for clients that know only `OpenID` Connect.
pub(crate) const OPENID: &str = "/.well-known/openid-configuration";

/// Beginning of the paths of the documents about resources.
pub(crate) const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// Path of the published keys.
pub(crate) const KEYS: &str = "/.well-known/jwks.json";

/// The grant type of devices (RFC 8628).
pub(crate) const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The grant type of assertions (RFC 7523).
pub(crate) const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The profile of assertions of providers.
const ID_JAG: &str = "urn:ietf:params:oauth:grant-profile:id-jag";

/// Ways in which clients prove themselves at the token endpoint. The last one needs their keys.
const METHODS: [&str; 4] = [
    "none",
    "client_secret_basic",
    "client_secret_post",
    "private_key_jwt",
];

/// Returns the document about the authorization server. It says whether documents of clients are
/// fetched.
pub(crate) fn server(settings: &Settings, is_fetching: bool) -> Value {
    let methods = if is_fetching {
        &METHODS[..]
    } else {
        &METHODS[..METHODS.len() - 1]
    };
    let address = |path: &str| settings.address(path);
    let open = settings.resources.iter().filter(|it| it.is_for_all());
    let resources = open.map(|resource| &resource.uri);
    let mut document = json!({
        "issuer": settings.issuer,
        "authorization_endpoint": address("/oauth/authorize"),
        "token_endpoint": address("/oauth/token"),
        "revocation_endpoint": address("/oauth/revoke"),
        "jwks_uri": address(KEYS),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": grant_types(settings),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "scopes_supported": settings.scope_words(),
        "protected_resources": resources.collect::<Vec<_>>(),
        // A client that reads true never registers.
        "client_id_metadata_document_supported": is_fetching,
        "authorization_response_iss_parameter_supported": true,
    });
    if !settings.device_clients.is_empty() {
        let endpoint = address("/oauth/device_authorization");
        document["device_authorization_endpoint"] = endpoint.into();
    }
    if !settings.identity_assertion.is_empty() {
        document["authorization_grant_profiles_supported"] = json!([ID_JAG]);
    }
    if let Some(list) = &settings.revoked_clients_uri {
        document["revoked_clients_uri"] = list.as_str().into();
        if let Some(grants) = document["grant_types_supported"].as_array_mut() {
            grants.push("client_credentials".into());
        }
    }
    if is_fetching {
        let algorithms = ALGORITHMS.map(Algorithm::name);
        for endpoint in ["token", "revocation"] {
            let name = format!("{endpoint}_endpoint_auth_signing_alg_values_supported");
            document[name] = json!(algorithms);
        }
    }
    if settings.registration.dynamic {
        document["registration_endpoint"] = address("/oauth/register").into();
    }
    document
}

/// Returns the grant types of the token endpoint.
fn grant_types(settings: &Settings) -> Vec<&'static str> {
    let has_devices = !settings.device_clients.is_empty();
    let has_assertions = !settings.identity_assertion.is_empty();
    let mut types = vec!["authorization_code", "refresh_token"];
    types.extend(has_devices.then_some(DEVICE_CODE));
    types.extend(has_assertions.then_some(JWT_BEARER));
    types
}

/// Returns the document about the authorization server for clients of `OpenID` Connect.
pub(crate) fn openid(settings: &Settings, is_fetching: bool) -> Value {
    let mut document = server(settings, is_fetching);
    document["subject_types_supported"] = json!(["public"]);
    document["id_token_signing_alg_values_supported"] = json!(["EdDSA"]);
    document
}

/// Returns the document about a resource, with the address that the client was given.
pub(crate) fn resource(settings: &Settings, path: &str) -> Option<Value> {
    let uri = match path {
        "" => settings.resources.first()?.uri.clone(),
        path => settings.address(path),
    };
    let found = find(&settings.resources, &uri)?;
    Some(json!({
        "resource": uri,
        "resource_name": found.0.title,
        "authorization_servers": [settings.issuer],
        "scopes_supported": ["mcp"],
        "bearer_methods_supported": ["header"],
    }))
}

/// Returns the resource of a request that names none: the only one that each client may ask for.
pub(crate) fn only(resources: &[Resource]) -> Option<&Resource> {
    let mut open = resources.iter().filter(|it| it.is_for_all());
    open.next().filter(|_| open.next().is_none())
}

/// Finds a resource by its address, and returns the alias if it was asked for by another.
pub(crate) fn find<'r>(
    resources: &'r [Resource],
    asked: &str,
) -> Option<(&'r Resource, Option<String>)> {
    let asked = canonical(asked);
    let by_name = resources.iter().find(|it| canonical(&it.uri) == asked);
    if let Some(found) = by_name {
        return Some((found, None));
    }
    let is_alias = |alias: &String| match alias.strip_suffix('*') {
        Some(beginning) => asked.starts_with(beginning),
        None => canonical(alias) == asked,
    };
    let found = resources
        .iter()
        .find(|it| it.aliases.iter().any(is_alias))?;
    Some((found, Some(asked)))
}

/// Returns an address with its scheme and host in lower case, without a default port, and without
/// one slash at its end.
fn canonical(address: &str) -> String {
    let address = address.strip_suffix('/').unwrap_or(address);
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let scheme = scheme.to_ascii_lowercase();
    let authority = authority.to_ascii_lowercase();
    let default = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.strip_suffix(default).unwrap_or(&authority);
    format!("{scheme}://{authority}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resources() -> Vec<Resource> {
        let tools = Resource::new("https://tools.example/mcp", "Tools");
        vec![
            tools
                .with_alias("https://tools.example")
                .with_alias("https://tools.example/mcp/v1")
                .with_alias("https://tools.example/mcp/x/*"),
        ]
    }

    #[test]
    fn a_resource_is_found_by_each_of_its_addresses() {
        let resources = resources();
        for (asked, alias) in [
            ("https://tools.example/mcp", None),
            ("HTTPS://Tools.Example:443/mcp/", None),
            ("https://tools.example/", Some("https://tools.example")),
            (
                "https://tools.example/mcp/v1",
                Some("https://tools.example/mcp/v1"),
            ),
            (
                "https://tools.example/mcp/x/sales",
                Some("https://tools.example/mcp/x/sales"),
            ),
        ] {
            let found = find(&resources, asked);
            let (_, found) = found.unwrap_or_else(|| panic!("{asked}"));
            assert_eq!(found.as_deref(), alias, "{asked}");
        }
        for asked in [
            "",
            "https://tools.example/MCP",
            "https://tools.example/mcp//",
            "https://tools.example/mcp?x",
            "https://tools.example:8443/mcp",
            "http://tools.example/mcp",
            "https://tools.example.evil.example/mcp",
            "https://other.example/mcp",
        ] {
            assert!(find(&resources, asked).is_none(), "{asked}");
        }
    }

    #[test]
    fn the_document_of_a_resource_has_the_address_that_was_asked_for() {
        let settings = Settings {
            issuer: "https://tools.example".to_owned(),
            resources: resources(),
            ..Settings::default()
        };
        for (path, expected) in [
            ("", "https://tools.example/mcp"),
            ("/mcp", "https://tools.example/mcp"),
            ("/mcp/", "https://tools.example/mcp/"),
            ("/mcp/v1", "https://tools.example/mcp/v1"),
            ("/mcp/x/unknown", "https://tools.example/mcp/x/unknown"),
        ] {
            let document = resource(&settings, path).expect(path);
            assert_eq!(document["resource"], expected);
            assert_eq!(
                document["authorization_servers"],
                json!(["https://tools.example"])
            );
        }
        assert!(resource(&settings, "/other").is_none());
    }
}
