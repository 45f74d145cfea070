//! Tokens of the service, verified by a server that trusts it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{Router, body::Body};
use http::Request;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet};
use tower::ServiceExt as _;
use ziggurat_layers::bearer::{Denied, Verify as _};
use ziggurat_serve::{Limits, Server};
use ziggurat_tokens::{
    Holder, WallClock,
    issuer::{Issuer, Settings, StalePolicy},
};

use ziggurat_sign_in_state::KeyFile;

use crate::{ClientDraft, Id, Options, Owner, Store, TenantDraft, TokenSettings, Tokens, service};

const AUDIENCE: &str = "https://tools.example/mcp";

/// Minimum time between two requests for an unknown key.
const GAP: Duration = Duration::from_secs(10);

/// A running account service, and the settings of an issuer for it.
struct World {
    store: Store,
    service: Router,
    tenant: Id,
    clock: WallClock,
    settings: Settings,
    keys: KeyFile,
    over: Arc<Mutex<Vec<String>>>,
    server: JoinSet<()>,
    _folder: TempDir,
}

fn serve(listener: TcpListener, service: Router) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let outcome = Server::new(Limits::default())
            .serve(listener, service, std::future::pending())
            .await;
        outcome.expect("listening");
    });
    tasks
}

fn clock() -> WallClock {
    WallClock::manual("2026-11-21T10:00:00Z".parse().expect("a date"))
}

// === impl World ===

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = clock();
        let store = Store::open(folder.path()).await.expect("opened");
        let store = store.with_clock(clock.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let issuer = format!("http://{}", listener.local_addr().expect("bound"));
        let mut settings = TokenSettings::new(issuer.clone());
        settings.audience = vec![AUDIENCE.to_owned()];
        let keys = KeyFile::open(folder.path()).expect("keys");
        let tokens = Tokens::new(keys.clone(), settings, clock.clone());
        let options = Options {
            clock: clock.clone(),
            ..Options::default()
        };
        let service = service(store.clone(), tokens, &options);
        let draft = TenantDraft {
            name: "Acme".to_owned(),
            ..TenantDraft::default()
        };
        let owner = Owner {
            email: "ann@example.com".to_owned(),
            ..Owner::default()
        };
        let (tenant, _) = store.create_tenant(draft, &owner).await.expect("made");
        Self {
            server: serve(listener, service.clone()),
            store,
            service,
            tenant: tenant.id,
            settings: Settings {
                issuer,
                audience: vec![AUDIENCE.to_owned()],
                clock: clock.clone(),
                ..Settings::default()
            },
            clock,
            keys,
            over: Arc::default(),
            _folder: folder,
        }
    }

    fn issuer(&self) -> Issuer {
        let over = Arc::clone(&self.over);
        let issuer = Issuer::new(self.settings.clone(), move |session| {
            let mut over = over.lock().unwrap_or_else(PoisonError::into_inner);
            over.push(session.to_owned());
        });
        issuer.expect("a good one")
    }

    /// Makes a client and returns its id and the request that signs it in.
    async fn client(&self) -> (Id, Value) {
        let draft = ClientDraft {
            name: "ci".to_owned(),
            ..ClientDraft::default()
        };
        let made = self
            .store
            .create_client(self.tenant, draft)
            .await
            .expect("made");
        let pair = json!({
            "client_id": made.client.credential_id,
            "client_secret": made.secret.expose_secret(),
        });
        (made.client.id, pair)
    }

    async fn token(&self, pair: &Value) -> String {
        let request = Request::post("/account/v1/oauth/token")
            .header("content-type", "application/json")
            .body(Body::from(pair.to_string()))
            .expect("valid parts");
        let response = self
            .service
            .clone()
            .oneshot(request)
            .await
            .expect("infallible");
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await;
        let answer: Value = serde_json::from_slice(&body.expect("whole")).expect("JSON");
        answer["access_token"].as_str().expect("a token").to_owned()
    }
}

#[tokio::test]
async fn a_client_is_accepted_until_it_is_deleted_and_the_issuer_has_polled() {
    let world = World::new().await;
    let issuer = world.issuer();
    let (id, pair) = world.client().await;
    let (other, other_pair) = world.client().await;
    let token = world.token(&pair).await;
    assert_eq!(issuer.verify_now(&token), None, "nothing is known yet");
    issuer.poll().await;
    let identity = issuer.verify_now(&token).expect("known").expect("good");
    let Holder::Client {
        subject,
        client,
        tenant,
        ..
    } = identity.holder()
    else {
        panic!("a client: {identity:?}");
    };
    assert_eq!(**subject, id.to_string());
    assert_eq!(client.as_deref(), pair["client_id"].as_str());
    assert_eq!(tenant.as_deref(), Some(&*world.tenant.to_string()));
    assert_eq!(identity.user(), None);
    let again = issuer.verify_now(&world.token(&pair).await);
    assert_eq!(
        again,
        Some(Ok(identity.clone())),
        "another token, the same caller"
    );
    let theirs = world.token(&other_pair).await;
    let theirs = issuer.verify_now(&theirs).expect("known").expect("good");
    assert_ne!(theirs.token(), identity.token());

    world
        .store
        .delete_client(world.tenant, id)
        .await
        .expect("deleted");
    assert!(
        issuer.verify_now(&token).expect("known").is_ok(),
        "not asked yet"
    );
    issuer.poll().await;
    assert_eq!(issuer.verify_now(&token), Some(Err(Denied::Invalid)));
    let over = world.over.lock().expect("whole").clone();
    assert_eq!(
        over,
        [identity.token().to_string()],
        "its connections close"
    );
    let fresh = world.token(&other_pair).await;
    assert!(issuer.verify_now(&fresh).expect("known").is_ok());
    world
        .store
        .delete_client(world.tenant, other)
        .await
        .expect("deleted");
    issuer.poll().await;
    let verdict = issuer.verify_now(&fresh);
    assert_eq!(verdict, Some(Err(Denied::Invalid)));
}

#[tokio::test]
async fn the_background_task_fetches_keys_too() {
    let world = World::new().await;
    let issuer = world.issuer();
    let mut tasks = JoinSet::from_iter([issuer.clone().run()]);
    let (_, pair) = world.client().await;
    let token = world.token(&pair).await;
    let identity = issuer.verify(&token).await;
    assert!(identity.is_ok(), "the first caller waits for the keys");
    world.keys.rotate(world.clock.now(), 3600).expect("rotated");
    world.clock.advance(GAP);
    let token = world.token(&pair).await;
    // The task may have fetched the new key already, or fetches it now.
    assert!(
        issuer.verify(&token).await.is_ok(),
        "signed with the new key"
    );
    tasks.shutdown().await;
}

#[tokio::test]
async fn the_answer_for_an_unreachable_issuer_is_a_setting() {
    let mut world = World::new().await;
    let (_, pair) = world.client().await;
    let token = world.token(&pair).await;
    let strict = world.issuer();
    world.settings.stale_policy = StalePolicy::Accept;
    let lenient = world.issuer();
    let never = world.issuer();
    strict.poll().await;
    lenient.poll().await;
    world.server.shutdown().await;
    for issuer in [&strict, &lenient, &never] {
        issuer.poll().await;
    }
    assert_eq!(never.verify_now(&token), Some(Err(Denied::Unavailable)));
    for issuer in [&strict, &lenient] {
        assert!(issuer.verify_now(&token).expect("known").is_ok(), "a while");
    }
    world
        .clock
        .advance(Duration::from_mins(5) + Duration::from_secs(1));
    assert_eq!(strict.verify_now(&token), Some(Err(Denied::Unavailable)));
    assert!(lenient.verify_now(&token).expect("known").is_ok());
    world.clock.advance(Duration::from_hours(25));
    lenient.poll().await;
    assert_eq!(
        lenient.verify_now(&token),
        Some(Err(Denied::Invalid)),
        "it has ended"
    );
    assert_eq!(world.over.lock().expect("whole").len(), 2 - 1);
}
