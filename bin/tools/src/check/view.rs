//! The view of a caller, as text.

use std::fmt::Write as _;

use axum::body::{Body, to_bytes};
use http::{HeaderValue, Method, Request, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tower::{ServiceBuilder, ServiceExt as _};
use ziggurat_calls::Caller;
use ziggurat_layers::json_rpc::JsonRpcLayer;
use ziggurat_mcp::{
    Mcp,
    protocol::{self, ProtocolLayer},
};
use ziggurat_sql_tools::ClaimedTool;
use ziggurat_tokens::{CallerId, Identity};

use crate::{arguments::CallerName, catalogue::current::Catalogue, configuration::Configuration};

/// The lists of the protocol: the heading, the method, and the members of the answer with the names.
const LISTS: [(&str, &str, &str, &str); 4] = [
    ("tools", "tools/list", "tools", "name"),
    ("prompts", "prompts/list", "prompts", "name"),
    ("resources", "resources/list", "resources", "uri"),
    (
        "resource templates",
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
    ),
];

/// Writes what a caller sees. The lists are the answers that it gets at `/mcp`.
pub(super) async fn text(
    caller: &CallerName,
    identity: Option<Identity>,
    catalogue: &Catalogue,
    configuration: &Configuration,
) -> String {
    let mut text = format!("{caller}\n");
    let mut write = |heading: &str, names: Vec<String>| {
        let lines = if names.is_empty() {
            " none\n".to_owned()
        } else {
            format!("\n  {}\n", names.join("\n  "))
        };
        // Writing to a text cannot fail.
        let _ = write!(text, "{heading}:{lines}");
    };
    let databases = catalogue.databases.visible(identity.as_ref());
    let name = |it: &ziggurat_databases::Configured| it.database().name().to_owned();
    write("databases", databases.iter().map(name).collect());
    for (heading, method, list, key) in LISTS {
        let names = listed(catalogue, identity.as_ref(), method, list, key).await;
        write(heading, names);
    }
    let caller = Caller::new(identity.as_ref()).id();
    let areas = catalogue.access.areas(&caller).into_iter();
    write("rest", areas.map(|area| area.as_str().to_owned()).collect());
    write("limits", configuration.callers.describe(&caller));
    if let CallerId::Client { .. } = caller {
        let tools = tools_with_claims(catalogue, identity.as_ref());
        if !tools.is_empty() {
            write("also, if its token has these claims", tools);
        }
    }
    text
}

/// Returns the tools that a client sees only with claims of its token, each with their names.
fn tools_with_claims(catalogue: &Catalogue, identity: Option<&Identity>) -> Vec<String> {
    let caller = Caller::new(identity).id();
    let tools = catalogue.sql_tools.with_claims().filter(|tool| {
        catalogue.access.has_tool(&caller, tool.name())
            && tool.is_open(identity, &catalogue.databases)
    });
    let line = |tool: ClaimedTool<'_>| {
        let claims: Vec<_> = tool.claims().collect();
        format!("{}: {}", tool.name(), claims.join(", "))
    };
    tools.map(line).collect()
}

/// Asks the service for a list, as a client would.
async fn listed(
    catalogue: &Catalogue,
    identity: Option<&Identity>,
    method: &str,
    list: &str,
    key: &str,
) -> Vec<String> {
    let mut names = Vec::new();
    let mut params = json!({});
    loop {
        let answer = ask(&catalogue.mcp, identity, method, &params).await;
        let entries = answer["result"][list].as_array().into_iter().flatten();
        names.extend(entries.filter_map(|entry| entry[key].as_str().map(str::to_owned)));
        match &answer["result"]["nextCursor"] {
            Value::String(cursor) => params = json!({"cursor": cursor}),
            _ => return names,
        }
    }
}

/// Makes a call without a socket.
pub(crate) async fn ask(
    mcp: &Mcp,
    identity: Option<&Identity>,
    method: &str,
    params: &Value,
) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut request = Request::new(Body::from(call.to_string()));
    *request.method_mut() = Method::POST;
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(CONTENT_TYPE, json);
    if let Some(identity) = identity {
        request.extensions_mut().insert(identity.clone());
    }
    let service = ServiceBuilder::new()
        .layer(JsonRpcLayer::new().with_dialect_of(protocol::dialect_of))
        .layer(ProtocolLayer::http())
        .service(mcp.clone());
    let Ok(response) = service.oneshot(request).await;
    let body = to_bytes(Body::new(response.into_body()), usize::MAX).await;
    serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default()
}
