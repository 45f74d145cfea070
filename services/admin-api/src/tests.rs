//! Tests of the endpoints with a program that only answers.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::{Body, to_bytes};
use http::Request;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;
use ziggurat_accounts::Settings;
use ziggurat_databases::fixture::databases;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_tokens::{Holder, Identity};

use super::*;
use crate::program::{
    Answer, Configuration, InvalidConfiguration, Program, Reloaded, Server, Setting,
};

#[derive(Default)]
struct TestProgram {
    is_invalid: AtomicBool,
}

impl Program for TestProgram {
    fn configuration(&self) -> Configuration {
        let time: Timestamp = "2026-11-21T10:00:00Z".parse().expect("a date");
        Configuration {
            server: Server {
                version: "1.0",
                replica: "one:1".into(),
                started_at: time,
                memory_bytes: None,
            },
            path: None,
            loaded_at: time,
            values: vec![
                Setting::Shown {
                    key: "debug".to_owned(),
                    value: json!(null),
                    source: "default",
                },
                Setting::Secret {
                    key: "state.url".to_owned(),
                    is_set: true,
                },
            ],
            needs_restart: vec!["limits"],
        }
    }

    fn reload(&self, is_dry_run: bool) -> Answer<Result<Reloaded, InvalidConfiguration>> {
        let changed = if is_dry_run { "nothing" } else { "databases" };
        let reloaded = if self.is_invalid.load(Ordering::Relaxed) {
            Err(InvalidConfiguration("it is wrong".to_owned()))
        } else {
            Ok(Reloaded {
                changed: vec![changed],
                needs_restart: Vec::new(),
            })
        };
        Box::pin(async move { reloaded })
    }

    fn has_toolset(&self, name: &str) -> bool {
        name == "analyst"
    }

    fn check_statements(&self, _: &str) -> Answer<Vec<String>> {
        Box::pin(async { Vec::new() })
    }
}

/// The routes, for an administrator.
struct Setup {
    _folder: TempDir,
    routes: Router,
    program: Arc<TestProgram>,
}

impl Setup {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [token_file, user_file] =
            ["tokens.yaml", "users.yaml"].map(|name| folder.path().join(name));
        let settings = Settings {
            token_file: token_file.clone(),
            requires_tokens: false,
            user_file: user_file.clone(),
            ..Settings::default()
        };
        let accounts = Accounts::open(settings, |_| {}).expect("good files");
        let program = Arc::new(TestProgram::default());
        let api = AdminApi::new(Services {
            token_file,
            user_file,
            min_password_length: 12,
            accounts,
            grants: None,
            conversations: None,
            databases: databases(),
            readiness: Readiness::new("database"),
            program: SharedProgram(Arc::clone(&program) as Arc<dyn Program>),
        });
        Self {
            _folder: folder,
            routes: routes(api),
            program,
        }
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let holder = Holder::User {
            name: "ada".into(),
            databases: [].into(),
        };
        let ada = Identity::new(TokenHash::of("a session"), holder)
            .with_admin(true)
            .with_sign_in(Timestamp::now());
        let request = Request::builder().method(method).uri(path);
        let mut request = request.body(Body::from(body.to_owned())).expect("valid");
        request.extensions_mut().insert(ada);
        let response = self.routes.clone().oneshot(request).await;
        let response = response.expect("infallible");
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), 1 << 20).await;
        let bytes = bytes.expect("a body");
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

#[tokio::test]
async fn a_reload_is_checked_or_applied_and_a_wrong_one_has_its_message() {
    let setup = Setup::new();
    let path = "/api/admin/reload";
    for (body, changed) in [
        ("", "databases"),
        ("{}", "databases"),
        (r#"{"dry_run": false}"#, "databases"),
        (r#"{"dry_run": true}"#, "nothing"),
    ] {
        let expected = json!({"changed": [changed], "needs_restart": []});
        assert_eq!(
            setup.ask("POST", path, body).await,
            (200, expected),
            "{body}"
        );
    }
    setup.program.is_invalid.store(true, Ordering::Relaxed);
    let expected = json!({"error": "it is wrong", "code": "invalid_configuration"});
    assert_eq!(setup.ask("POST", path, "").await, (422, expected));
}

#[tokio::test]
async fn a_setting_has_its_value_or_is_secret() {
    let setup = Setup::new();
    let expected = json!({
        "server": {
            "version": "1.0",
            "replica": "one:1",
            "started_at": "2026-11-21T10:00:00Z",
            "memory_bytes": null,
        },
        "path": null,
        "loaded_at": "2026-11-21T10:00:00Z",
        "values": [
            {"key": "debug", "value": null, "source": "default"},
            {"key": "state.url", "is_set": true},
        ],
        "needs_restart": ["limits"],
    });
    let shown = setup.ask("GET", "/api/admin/configuration", "").await;
    assert_eq!(shown, (200, expected));
}

#[tokio::test]
async fn databases_are_unknown_until_they_are_checked() {
    let setup = Setup::new();
    let (status, listed) = setup.ask("GET", "/api/admin/databases", "").await;
    assert_eq!(status, 200);
    let team = &listed["databases"][2];
    for (member, expected) in [
        ("name", json!("team")),
        ("status", json!("unknown")),
        ("checked_at", json!(null)),
        ("available_to_users", json!(["ann"])),
    ] {
        assert_eq!(team[member], expected, "{member}");
    }
    assert!(!listed.to_string().contains("swordfish"), "{listed}");
}

#[tokio::test]
async fn a_token_gets_only_toolsets_that_there_are() {
    let setup = Setup::new();
    let path = "/api/admin/tokens";
    let (status, made) = setup
        .ask("POST", path, r#"{"toolsets": ["analyst"]}"#)
        .await;
    assert_eq!(
        (status, &made["record"]["toolsets"]),
        (201, &json!(["analyst"]))
    );
    let (status, made) = setup.ask("POST", path, r#"{"toolsets": []}"#).await;
    assert_eq!((status, &made["record"]["toolsets"]), (201, &json!(null)));
    let (status, refused) = setup.ask("POST", path, r#"{"toolsets": ["x"]}"#).await;
    assert_eq!((status, &refused["code"]), (400, &json!("unknown_toolset")));
}

#[tokio::test]
async fn without_a_sign_in_there_are_no_grants() {
    let setup = Setup::new();
    for (method, path) in [
        ("GET", "/api/admin/grants?username=ann"),
        ("DELETE", "/api/admin/grants/AAAAAAAAAAAAAAAAAAAAAA"),
    ] {
        let (status, answer) = setup.ask(method, path, "").await;
        assert_eq!(status, 404, "{method}");
        assert_eq!(answer["code"], "sign_in_off", "{method}");
    }
}
