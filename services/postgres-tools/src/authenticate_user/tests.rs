use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::{Layer as _, ServiceExt as _};
use ziggurat_accounts::{NewUser, Settings, UserFile};
use ziggurat_layers::{bearer::Verify as _, client_ip::ClientIp, json_rpc::JsonRpcLayer};
use ziggurat_mcp::{Mcp, Prompts, Resources, ServerInfo, Tools, dialect};
use ziggurat_tokens::{Claims, NewToken, TokenFile};

use super::*;

fn accounts(folder: &TempDir) -> Accounts {
    let settings = Settings {
        token_file: folder.path().join("tokens.yaml"),
        user_file: folder.path().join("users.yaml"),
        password_cost: 4,
        ..Settings::default()
    };
    let now = settings.clock.now();
    let tokens = TokenFile::new(&settings.token_file);
    tokens.add(NewToken::default(), now).expect("a token");
    let users = UserFile::new(&settings.user_file)
        .with_cost(4)
        .with_min_length(1);
    users
        .add(
            NewUser {
                name: "alice",
                password: &"right".into(),
                note: "",
                databases: &[],
                claims: Claims::default(),
                is_admin: false,
            },
            now,
        )
        .expect("a user");
    Accounts::open(settings, |_| {}).expect("good files")
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Calls the tool without a token, as a client from 192.0.2.1.
async fn call(tool: AuthenticateUser, arguments: Value) -> Response<Value> {
    let about = ServerInfo::new("test", "0");
    let tools = Tools::new().with(tool);
    let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("one tool");
    let server = JsonRpcLayer::new().with_dialect(dialect()).layer(mcp);
    let params = json!({"name": "authenticate_user", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let peer: SocketAddr = "192.0.2.1:4711".parse().expect("an address");
    let request = Request::post("/")
        .extension(ClientIp::from_peer(peer))
        .body(Full::<Bytes>::from(call.to_string()));
    let response = server.oneshot(request.expect("constant parts")).await;
    let (parts, body) = response.expect("infallible").into_parts();
    let body = body.collect().await.expect("whole").to_bytes();
    Response::from_parts(parts, serde_json::from_slice(&body).expect("JSON"))
}

#[tokio::test]
async fn a_correct_password_gets_a_valid_token() {
    let folder = folder();
    let accounts = accounts(&folder);
    let tool = AuthenticateUser::new(accounts.clone());
    let response = call(tool, json!({"username": "alice", "password": "right"})).await;
    let text = response.body()["result"]["content"][0]["text"].as_str();
    let answer: Value = serde_json::from_str(text.expect("a text")).expect("JSON");
    assert_eq!(answer["success"], true);
    assert_eq!(answer["message"], "Authentication successful");
    let expires_at = answer["expires_at"].as_str().expect("a text");
    assert_eq!(
        expires_at.len(),
        "2025-01-16T10:30:00Z".len(),
        "{expires_at}"
    );
    let token = answer["session_token"].as_str().expect("a text");
    let identity = accounts.verify(token).await.expect("good");
    assert_eq!(identity.user(), Some("alice"));
}

#[tokio::test]
async fn every_refusal_is_an_error_of_the_tool_with_its_own_message() {
    let folder = folder();
    let accounts = accounts(&folder);
    let cases = [
        (json!({}), "username is required"),
        (json!({"username": null}), "username is required"),
        (
            json!({"username": 7}),
            "username must be a non-empty string",
        ),
        (
            json!({"username": ""}),
            "username must be a non-empty string",
        ),
        (json!({"username": "alice"}), "password is required"),
        (
            json!({"username": "alice", "password": ["right"]}),
            "password must be a non-empty string",
        ),
        (
            json!({"username": "alice", "password": ""}),
            "password must be a non-empty string",
        ),
        (
            json!({"username": "alice", "password": "wrong"}),
            "authentication failed: invalid username or password",
        ),
        (
            json!({"username": "bob", "password": "right"}),
            "authentication failed: invalid username or password",
        ),
    ];
    for (arguments, told) in cases {
        let tool = AuthenticateUser::new(accounts.clone());
        let response = call(tool, arguments.clone()).await;
        let error = json!({"code": -32603, "message": "Tool execution error", "data": told});
        assert_eq!(response.body()["error"], error, "{arguments}");
        assert_eq!(response.status(), StatusCode::OK, "{arguments}");
    }
}

#[tokio::test]
async fn without_users_the_arguments_are_checked_first() {
    let cases = [
        (json!({}), "username is required"),
        (
            json!({"username": "alice", "password": "right"}),
            "user authentication is not configured",
        ),
    ];
    for (arguments, told) in cases {
        let response = call(AuthenticateUser::unconfigured(), arguments).await;
        assert_eq!(response.body()["error"]["data"], told);
    }
}

#[tokio::test]
async fn a_client_that_failed_too_often_learns_when_to_retry() {
    let folder = folder();
    let tool = AuthenticateUser::new(accounts(&folder));
    for _ in 0..10 {
        let wrong = json!({"username": "alice", "password": "wrong"});
        call(tool.clone(), wrong).await;
    }
    let right = json!({"username": "alice", "password": "right"});
    let response = call(tool, right).await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    let seconds = response.headers()[header::RETRY_AFTER].to_str();
    let seconds: u64 = seconds.expect("text").parse().expect("seconds");
    assert!((800..=900).contains(&seconds), "{seconds}");
    let told = "too many failed authentication attempts from this IP address, please try again \
                later";
    let error = json!({"code": -32603, "message": "Tool execution error", "data": told});
    assert_eq!(response.body()["error"], error);
}
