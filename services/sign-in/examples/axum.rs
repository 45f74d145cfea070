//! Sign-in in front of an MCP server that knows nothing of it.
//!
//! ```console
//! $ cargo run -p ziggurat-mcp-auth --example axum
//! $ claude mcp add --transport http notes http://localhost:8080/mcp
//! ```
//!
//! A client opens the browser; sign in as `ann` with the password that the example prints.

use std::{
    env,
    error::Error,
    io::{self, Write as _},
    net::IpAddr,
};

use axum::{
    Extension, Json, Router,
    extract::Request,
    routing::{any_service, post},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tower::ServiceBuilder;
use ziggurat_layers::{
    access_token::{AccessToken, AccessTokens, Rules},
    bearer::{BearerLayer, Challenge},
};
use ziggurat_mcp_auth::{
    LoginError, MemoryStore, OwnKeys, People, Person, Resource, Settings, SignIn, Unavailable,
};

/// One person with a password.
struct Ann {
    password: String,
}

impl People for Ann {
    async fn authenticate(
        &self,
        name: &str,
        password: &str,
        _: Option<IpAddr>,
    ) -> Result<String, LoginError> {
        let is_ann = name == "ann" && password == self.password;
        is_ann.then(|| "1".to_owned()).ok_or(LoginError::Wrong)
    }

    async fn find(&self, id: &str) -> Result<Option<Person>, Unavailable> {
        Ok((id == "1").then(|| Person::new(id, "ann")))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listen = env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(listen).await?;
    let issuer = format!("http://localhost:{}", listener.local_addr()?.port());
    let resource = format!("{issuer}/mcp");
    let settings = Settings {
        issuer: issuer.clone(),
        resources: vec![Resource::new(&resource, "Notes")],
        write_scope: String::new(),
        ..Settings::default()
    };
    let password = env::var("PASSWORD").unwrap_or_else(|_| "correct horse".to_owned());
    writeln!(
        io::stdout(),
        "{resource}: sign in as ann with the password {password:?}"
    )?;
    let ann = Ann { password };
    let sign_in = SignIn::new(settings, ann, MemoryStore::default(), OwnKeys::new()?)?;

    // The keys come from the sign-in in this process.
    let rules = Rules::new(&*issuer, [&*resource])?.with_scopes(["mcp"]);
    let tokens = AccessTokens::new(rules, sign_in.clone());
    let mut keys = JoinSet::new();
    keys.spawn(tokens.clone().run());
    let document = format!("{issuer}/.well-known/oauth-protected-resource/mcp");
    let challenge = Challenge::new()
        .with_scope("mcp")?
        .with_resource_metadata(document)?;
    let bearer = BearerLayer::new(tokens).with_challenge(challenge);
    let mcp = post(mcp).layer(ServiceBuilder::new().layer(bearer));
    let app = Router::new()
        .route("/mcp", mcp)
        .fallback_service(any_service(sign_in));
    axum::serve(listener, app).await?;
    Ok(())
}

/// A server with one tool that says who calls it.
async fn mcp(Extension(token): Extension<AccessToken>, request: Request) -> Json<Value> {
    let body = axum::body::to_bytes(request.into_body(), 1 << 16).await;
    let message: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1.0.0"},
        }),
        Some("tools/list") => json!({"tools": [{
            "name": "whoami",
            "description": "Says who calls.",
            "inputSchema": {"type": "object"},
        }]}),
        Some("tools/call") => json!({"content": [{"type": "text", "text": token.subject()}]}),
        _ => json!({}),
    };
    Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}
