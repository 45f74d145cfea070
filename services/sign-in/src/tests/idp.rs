//! A small identity provider that speaks the true wire format, faults included.

use std::{
    error::Error,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Method, Request, Response, header::AUTHORIZATION};
use serde_json::{Value, json};

use super::{ISSUER, RESOURCE, Server, encoded, web::Signer};
use crate::{
    AskProvider, ClientSecret, Mapped, MappingRule, Resource, Settings, Upstream,
    browser::challenge_of, form::Form,
};

/// The issuer of the provider of the tests.
pub(super) const IDP: &str = "https://login.example/realms/acme";

/// The subject of ann there.
pub(super) const SUBJECT: &str = "248";

/// The id of ann here, when she comes from there.
pub(super) const PERSON: &str = "corp:248";

const SECRET: &str = "hush &=+";

type BoxError = Box<dyn Error + Send + Sync>;

/// An identity provider with one person.
pub(super) struct Idp {
    pub(super) signer: Mutex<Signer>,
    pub(super) now: Arc<AtomicU64>,
    /// Claims that replace the usual ones in the next ID tokens.
    pub(super) claims: Mutex<Vec<(&'static str, Value)>>,
    /// A token that is given in place of an ID token.
    pub(super) instead: Mutex<Option<String>>,
    /// Keys that it publishes in place of its own.
    pub(super) published: Mutex<Option<Value>>,
    /// Keys at another address.
    pub(super) others: Mutex<Option<Value>>,
    pub(super) is_down: AtomicBool,
    pub(super) gives_no_refresh: AtomicBool,
    pub(super) gives_no_id_token: AtomicBool,
    /// The error of the token endpoint.
    pub(super) error: Mutex<Option<&'static str>>,
    /// The last authorization request.
    asked: Mutex<Option<Form>>,
    /// The number of refresh tokens so far. Only the last one is good.
    refreshed: AtomicUsize,
    pub(super) requests: AtomicUsize,
}

// === impl Idp ===

impl Idp {
    /// Returns the provider, and a server that people sign in at with it.
    pub(super) fn with_server() -> (Arc<Self>, Server) {
        Self::with_settings(settings(upstream()))
    }

    pub(super) fn with_settings(settings: Settings) -> (Arc<Self>, Server) {
        let mut server = Server::with(settings);
        let idp = Arc::new(Self {
            signer: Mutex::new(Signer::new("ES256")),
            now: Arc::clone(&server.now),
            claims: Mutex::default(),
            instead: Mutex::default(),
            published: Mutex::default(),
            others: Mutex::default(),
            is_down: AtomicBool::default(),
            gives_no_refresh: AtomicBool::default(),
            gives_no_id_token: AtomicBool::default(),
            error: Mutex::default(),
            asked: Mutex::default(),
            refreshed: AtomicUsize::default(),
            requests: AtomicUsize::default(),
        });
        server.sign_in = server.sign_in.with_providers(Arc::clone(&idp));
        (idp, server)
    }

    /// Signs ann in at the address that a browser was sent to, and returns the path to go back to.
    pub(super) fn sign_in(&self, address: &str) -> String {
        let (endpoint, query) = address.split_once('?').expect("a query");
        assert_eq!(endpoint, format!("{IDP}/auth"));
        let asked = Form::read(query).expect("parameters");
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", "tools"),
            ("code_challenge_method", "S256"),
            ("scope", "openid email profile offline_access"),
        ] {
            assert_eq!(asked.get(name), Some(value), "{query}");
        }
        let state = asked.get("state").expect("a state");
        let back = encoded(&[("state", state), ("code", "c0de"), ("iss", IDP)]);
        let redirect = asked.get("redirect_uri").expect("an address");
        let path = redirect.strip_prefix(ISSUER).expect("of this server");
        let path = format!("{path}?{back}");
        *held(&self.asked) = Some(asked);
        path
    }

    /// Changes a claim of the ID tokens to come.
    pub(super) fn claim(&self, name: &'static str, value: Value) {
        held(&self.claims).push((name, value));
    }

    /// Returns an ID token.
    pub(super) fn id_token(&self, header: Option<Value>, nonce: Option<&str>) -> String {
        let signer = held(&self.signer);
        let usual = json!({"alg": signer.algorithm, "kid": signer.key["kid"], "typ": "JWT"});
        signer.sign(&header.unwrap_or(usual), &self.all_claims(nonce))
    }

    /// Returns the claims of an ID token.
    pub(super) fn all_claims(&self, nonce: Option<&str>) -> Value {
        let now = self.now.load(Ordering::Relaxed);
        let mut claims = json!({"iss": IDP, "aud": "tools", "sub": SUBJECT, "iat": now,
            "exp": now + 300, "email": "ann@acme.example", "email_verified": true,
            "preferred_username": "ann", "groups": ["db-analysts", "all"], "amr": ["pwd", "mfa"]});
        if let Some(nonce) = nonce {
            claims["nonce"] = nonce.into();
        }
        for (name, value) in &*held(&self.claims) {
            claims[*name] = value.clone();
        }
        claims
    }

    fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let path = request.uri().to_string();
        let path = path.strip_prefix(IDP).expect("of this provider");
        match (request.method(), path) {
            (&Method::GET, "/.well-known/openid-configuration") => answer(
                200,
                &json!({
                    "issuer": IDP,
                    "authorization_endpoint": format!("{IDP}/auth"),
                    "token_endpoint": format!("{IDP}/token"),
                    "jwks_uri": format!("{IDP}/keys"),
                    "id_token_signing_alg_values_supported": ["RS256", "ES256"],
                }),
            ),
            (&Method::GET, "/keys") => {
                let published = held(&self.published).clone();
                answer(200, &published.unwrap_or_else(|| held(&self.signer).keys()))
            }
            (&Method::GET, "/other-keys") => match &*held(&self.others) {
                Some(keys) => answer(200, keys),
                None => answer(404, &json!({})),
            },
            (&Method::POST, "/token") => self.tokens(request),
            _ => answer(404, &json!({})),
        }
    }

    fn tokens(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let refused = |code: &str| answer(400, &json!({"error": code}));
        let pair = BASE64_STANDARD.encode("tools:hush%20%26%3D%2B");
        let basic = request.headers().get(AUTHORIZATION);
        if basic.is_none_or(|basic| basic.as_bytes() != format!("Basic {pair}").as_bytes()) {
            return refused("invalid_client");
        }
        if let Some(code) = *held(&self.error) {
            return refused(code);
        }
        let form = std::str::from_utf8(request.body()).expect("UTF-8");
        let form = Form::read(form).expect("a form");
        let is_good = match form.get("grant_type") {
            Some("refresh_token") => {
                let last = format!("refresh-{}", self.refreshed.load(Ordering::Relaxed));
                form.get("refresh_token") == Some(&*last)
            }
            _ => self.is_good_code(&form),
        };
        if !is_good {
            return refused("invalid_grant");
        }
        let mut tokens = json!({"access_token": "at", "token_type": "Bearer", "expires_in": 300});
        if !self.gives_no_id_token.load(Ordering::Relaxed) {
            let asked = held(&self.asked);
            let is_first = form.get("grant_type") == Some("authorization_code");
            let nonce = asked.as_ref().and_then(|asked| asked.get("nonce"));
            let instead = held(&self.instead).clone();
            let token = instead.unwrap_or_else(|| self.id_token(None, nonce.filter(|_| is_first)));
            tokens["id_token"] = token.into();
        }
        if !self.gives_no_refresh.load(Ordering::Relaxed) {
            let number = self.refreshed.fetch_add(1, Ordering::Relaxed) + 1;
            tokens["refresh_token"] = format!("refresh-{number}").into();
        }
        answer(200, &tokens)
    }

    fn is_good_code(&self, form: &Form) -> bool {
        let asked = held(&self.asked);
        let asked = asked.as_ref().expect("a request");
        let verifier = form.get("code_verifier").expect("a verifier");
        form.get("code") == Some("c0de")
            && form.get("redirect_uri") == asked.get("redirect_uri")
            && asked.get("code_challenge") == Some(&*challenge_of(verifier))
    }
}

impl AskProvider for Arc<Idp> {
    async fn ask(&self, request: Request<Bytes>) -> Result<Response<Bytes>, BoxError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        if self.is_down.load(Ordering::Relaxed) {
            return Err("connection refused".into());
        }
        Ok(self.answer(&request))
    }
}

/// Locks a value of the provider.
pub(super) fn held<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(status: u16, body: &Value) -> Response<Bytes> {
    let answer = Response::builder().status(status);
    let answer = answer.body(Bytes::from(body.to_string()));
    answer.expect("an answer")
}

/// Returns the provider as a server knows it.
pub(super) fn upstream() -> Upstream {
    let mut upstream = Upstream::new("corp", IDP, "tools");
    upstream.title = "Acme <single> sign-on".to_owned();
    upstream.client_secret = Some(ClientSecret::new(SECRET));
    upstream.rules.require = [("email_verified".to_owned(), true.into())].into();
    upstream.rules.map = vec![analysts()];
    upstream
}

/// Returns the rule that gives analysts one database.
pub(super) fn analysts() -> MappingRule {
    MappingRule {
        when: [("groups".to_owned(), "db-analysts".into())].into(),
        then: Mapped {
            groups: vec!["readers".to_owned()],
            roles: vec!["reader".to_owned()],
            databases: Some(vec!["shop".to_owned()]),
            ..Mapped::default()
        },
    }
}

pub(super) fn settings(upstream: Upstream) -> Settings {
    Settings {
        issuer: ISSUER.to_owned(),
        resources: vec![Resource::new(RESOURCE, "Tools")],
        upstreams: vec![upstream],
        clients: vec![super::acme(super::REDIRECT)],
        ..Settings::default()
    }
}
