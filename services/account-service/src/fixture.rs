//! The service on either store, with a test client.

use std::time::Duration;

use axum::{Router, body::Body};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tower::ServiceExt as _;
use ziggurat_layers::client_ip::ClientIp;
use ziggurat_postgres::{fixture::Fixture, pool::Pools};
use ziggurat_sign_in_state::KeyFile;
use ziggurat_state::StateDatabase;
use ziggurat_tokens::WallClock;

use super::{ClientDraft, Id, Options, Owner, Store, TenantDraft, TokenSettings, Tokens, service};

/// Issuer of the tokens.
pub(super) const ISSUER: &str = "https://accounts.example";

/// A service with one tenant and one API client.
pub(super) struct TestService {
    pub(super) store: Store,
    pub(super) tokens: Tokens,
    pub(super) clock: WallClock,
    pub(super) service: Router,
    pub(super) tenant: Id,
    pub(super) owner: Id,
    /// Record id of the client.
    pub(super) client: Id,
    /// Id and secret of the client.
    pub(super) pair: (String, String),
    /// A token of the client.
    pub(super) token: String,
    folder: TempDir,
    _database: Option<(Fixture, JoinSet<()>)>,
}

/// Connects to the database of a fixture as a server does.
pub(super) fn state(fixture: &Fixture) -> (StateDatabase, JoinSet<()>) {
    let mut settings = fixture.settings.clone();
    settings.allow_writes = true;
    let (pools, reaper) = Pools::new();
    let database = settings.try_into().expect("a valid description");
    let state = StateDatabase::new(&pools, database);
    (state, JoinSet::from_iter([reaper.run()]))
}

/// Response to a request.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl TestService {
    /// Starts a service on each store.
    pub(super) async fn all() -> Vec<Self> {
        vec![Self::on_a_file().await, Self::shared().await]
    }

    pub(super) async fn on_a_file() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).await.expect("opened");
        Self::with(folder, store, None).await
    }

    async fn shared() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let fixture = Fixture::new().await;
        let (state, tasks) = state(&fixture);
        Self::with(folder, Store::replicated(state), Some((fixture, tasks))).await
    }

    async fn with(folder: TempDir, store: Store, database: Option<(Fixture, JoinSet<()>)>) -> Self {
        let clock = WallClock::manual("2026-01-02T03:04:05Z".parse().expect("a date"));
        let store = store.with_clock(clock.clone());
        let keys = KeyFile::open(folder.path()).expect("keys");
        let mut settings = TokenSettings::new(ISSUER);
        settings.audience = vec!["https://tools.example/mcp".to_owned()];
        settings.scope = Some("mcp".to_owned());
        settings.lifetime = Duration::from_hours(1);
        let tokens = Tokens::new(keys, settings, clock.clone());
        let options = Options {
            clock: clock.clone(),
            ..Options::default()
        };
        let service = service(store.clone(), tokens.clone(), &options);
        let draft = TenantDraft {
            name: "Acme".to_owned(),
            ..TenantDraft::default()
        };
        let owner = Owner {
            email: "Ann@example.com".to_owned(),
            first_name: Some("Ann".to_owned()),
            last_name: Some("Archer".to_owned()),
        };
        let (tenant, owner) = store.create_tenant(draft, &owner).await.expect("a tenant");
        let draft = ClientDraft {
            name: "first".to_owned(),
            description: "The first".to_owned(),
            role: None,
        };
        let made = store.create_client(tenant.id, draft).await.expect("made");
        let secret = made.secret.expose_secret().to_owned();
        let mut setup = Self {
            store,
            tokens,
            clock,
            service,
            tenant: tenant.id,
            owner: owner.user_id,
            client: made.client.id,
            pair: (made.client.credential_id, secret),
            token: String::new(),
            folder,
            _database: database,
        };
        setup.token = setup.sign_in(&setup.pair.clone()).await;
        setup
    }

    /// Returns the folder of the keys.
    pub(super) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Exchanges an id and a secret for a token.
    pub(super) async fn sign_in(&self, (id, secret): &(String, String)) -> String {
        let body = json!({"client_id": id, "client_secret": secret});
        let answer = self.post("/oauth/token", &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let token = answer.json()["access_token"].as_str().map(str::to_owned);
        token.expect("a token")
    }

    /// Sends a request with the token of the client.
    pub(super) async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.send_as(&self.token, method, path, body).await
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body)).await
    }

    /// Sends a request with another token, or with none if it is empty.
    pub(super) async fn send_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/account/v1{path}"));
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        self.ask(request.body(Body::from(body)).expect("valid parts"))
            .await
    }

    /// Sends a request, from a fixed address unless it has one.
    pub(super) async fn ask(&self, mut request: Request<Body>) -> Answer {
        let peer = "192.0.2.1:4711".parse().expect("an address");
        if request.extensions().get::<ClientIp>().is_none() {
            request.extensions_mut().insert(ClientIp::from_peer(peer));
        }
        let response = self.service.clone().oneshot(request).await;
        let (head, body) = response.expect("infallible").into_parts();
        Answer {
            status: head.status,
            headers: head.headers,
            body: body.collect().await.expect("whole").to_bytes(),
        }
    }
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Asserts that a handler refused the request with this message.
    pub(super) fn is_refusal(&self, status: u16, message: &str) {
        let expected = json!({"code": status, "message": message});
        assert_eq!((self.status.as_u16(), self.json()), (status, expected));
    }
}
