//! A browser and a client against the whole service.

mod account;
mod assertions;
mod attacks;
mod consents;
mod console;
mod devices;
mod documents;
mod events;
mod factor;
mod fetched;
mod flow;
mod id_jag;
mod idp;
mod limits;
mod passwords;
mod recheck;
mod scopes;
mod tenants;
mod upstream;
mod web;

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, Request, StatusCode,
    header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE},
};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{
    ClientToken, Database, LoginError, ManualClient, MemoryStore, Newcomer, OwnKeys,
    PasswordChange, PasswordChangeError, People, Person, Provision, Resource, Settings, SignIn,
    Tenant, Unavailable, browser::challenge_of, form::Form, keys::digest,
};

/// The public address of the server.
const ISSUER: &str = "https://tools.example";

/// The address that clients are given.
const RESOURCE: &str = "https://tools.example/mcp";

/// The address at which the client of the tests listens.
const REDIRECT: &str = "http://127.0.0.1:41000/callback";

const VERIFIER: &str = "a-verifier-of-forty-three-letters-or-of-more";

/// Two people, who use two databases.
#[derive(Clone, Default)]
struct Staff {
    is_ann_gone: Arc<AtomicBool>,
    /// Says that the administrator linked ann's account with the one at the provider.
    is_ann_linked: Arc<AtomicBool>,
    /// People who signed out everywhere, or have a new password.
    signed_out: Arc<Mutex<Vec<String>>>,
    /// The new password of ann.
    changed: Arc<Mutex<Option<String>>>,
    /// The tenants that each of them is in.
    tenants: Arc<Mutex<Vec<Tenant>>>,
}

/// A server with a clock of its own.
struct Server {
    sign_in: SignIn<Staff, MemoryStore, OwnKeys>,
    staff: Staff,
    now: Arc<AtomicU64>,
    /// Names of the events, each with all that is in it.
    events: Arc<Mutex<Vec<(&'static str, String)>>>,
}

/// An answer, read to its end.
#[derive(Debug)]
struct Answered {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

/// A browser with its cookies.
#[derive(Default)]
struct Browser {
    cookies: BTreeMap<String, String>,
}

// === impl Staff ===

impl People for Staff {
    async fn authenticate(
        &self,
        name: &str,
        password: &str,
        _: Option<IpAddr>,
    ) -> Result<String, LoginError> {
        match (name, password) {
            ("ann", "right") => Ok("7".to_owned()),
            ("bob", "right") => Ok("8".to_owned()),
            _ => Err(LoginError::Wrong),
        }
    }

    async fn client_token(
        &self,
        id: &str,
        secret: &str,
    ) -> Result<Option<ClientToken>, Unavailable> {
        let is_right = (id, secret) == ("robot", "right");
        Ok(is_right.then(|| ClientToken {
            token: "a.b.c".to_owned(),
            expires_in: 60,
            scope: None,
        }))
    }

    async fn change_password(
        &self,
        id: &str,
        change: PasswordChange<'_>,
        _: Option<IpAddr>,
    ) -> Result<(), PasswordChangeError> {
        let error = match (change.present, change.new) {
            ("right", "short") => {
                PasswordChangeError::Refused("The password is <short>.".to_owned())
            }
            ("right", new) if id == "7" => {
                let mut changed = self.changed.lock().expect("no test panics here");
                *changed = Some(new.to_owned());
                return Ok(());
            }
            ("often", _) => {
                let retry_after = Duration::from_secs(40);
                LoginError::TooMany { retry_after }.into()
            }
            _ => LoginError::Wrong.into(),
        };
        Err(error)
    }

    async fn end_sessions(&self, id: &str) -> Result<(), Unavailable> {
        let mut signed_out = self.signed_out.lock().expect("no test panics here");
        signed_out.push(id.to_owned());
        Ok(())
    }

    async fn admit(&self, newcomer: &Newcomer<'_>) -> Result<Option<String>, Unavailable> {
        let is_admitted = match newcomer.provision {
            Provision::Mapped => true,
            Provision::Invited => newcomer.email == Some("ann@acme.example"),
            Provision::ByHand => newcomer.person.is_some(),
        };
        let id = if self.is_ann_linked.load(Ordering::Relaxed) {
            "7".to_owned()
        } else {
            format!("{}:{}", newcomer.provider, newcomer.subject)
        };
        Ok(is_admitted.then_some(id))
    }

    async fn find(&self, id: &str) -> Result<Option<Person>, Unavailable> {
        let is_ann_here = !self.is_ann_gone.load(Ordering::Relaxed);
        let name = match id {
            "7" if is_ann_here => "ann",
            "8" => "bob",
            id if id.contains(':') && is_ann_here => id,
            _ => return Ok(None),
        };
        let database = |name: &str, is_writable| Database {
            name: name.to_owned(),
            title: format!("The <{name}>"),
            is_writable,
        };
        Ok(Some(Person {
            id: id.to_owned(),
            subject: id.to_owned(),
            name: name.to_owned(),
            groups: vec!["analysts".to_owned()],
            databases: vec![database("shop", true), database("logs", false)],
            tenants: self.tenants.lock().expect("no test panics here").clone(),
            ..Person::default()
        }))
    }
}

// === impl Server ===

impl Server {
    fn new() -> Self {
        let resource = Resource::new(RESOURCE, "Tools").with_alias(ISSUER);
        Self::with(Settings {
            issuer: ISSUER.to_owned(),
            resources: vec![resource],
            ..Settings::default()
        })
    }

    /// Creates a server with one client that the administrator registered.
    fn with_client(client: ManualClient) -> Self {
        Self::with(Settings {
            issuer: ISSUER.to_owned(),
            resources: vec![Resource::new(RESOURCE, "Tools")],
            clients: vec![client],
            ..Settings::default()
        })
    }

    fn with(settings: Settings) -> Self {
        let (staff, now) = (Staff::default(), Arc::new(AtomicU64::new(1_800_000_000)));
        let clock = Arc::clone(&now);
        let keys = OwnKeys::new().expect("keys");
        let store = MemoryStore::default();
        let time = move || clock.load(Ordering::Relaxed);
        let sign_in = SignIn::with_time(settings, staff.clone(), store, keys, time);
        let events = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&events);
        let sign_in = sign_in.expect("settings").with_events(move |event, _| {
            let mut seen = seen.lock().expect("no test panics here");
            seen.push((event.kind.name(), format!("{event:?}")));
        });
        Self {
            sign_in,
            staff,
            now,
            events,
        }
    }

    /// Takes the names of the events so far.
    fn events(&self) -> Vec<&'static str> {
        let mut events = self.events.lock().expect("no test panics here");
        events.drain(..).map(|(name, _)| name).collect()
    }

    fn wait(&self, seconds: u64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Answered {
        let answer = self.sign_in.clone().oneshot(request).await;
        let (parts, body) = answer.expect("infallible").into_parts();
        let body = body.collect().await.expect("infallible").to_bytes();
        Answered {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).expect("UTF-8"),
        }
    }

    async fn get(&self, path: &str) -> Answered {
        let request = Request::get(path).body(Full::default());
        self.send(request.expect("a request")).await
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> Answered {
        let request = Request::post(path)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(encoded(form)));
        self.send(request.expect("a request")).await
    }

    /// Registers a client, and returns its id.
    async fn register(&self, redirect: &str) -> String {
        let metadata = json!({"client_name": "Inspector", "redirect_uris": [redirect]});
        let answer = self.register_with(&metadata).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["client_id"]
            .as_str()
            .expect("an id")
            .to_owned()
    }

    async fn register_with(&self, metadata: &Value) -> Answered {
        let request = Request::post("/oauth/register").body(Full::from(metadata.to_string()));
        self.send(request.expect("a request")).await
    }

    /// Signs ann in, lets her allow everything, and returns the code.
    async fn code(&self, browser: &mut Browser, client: &str, more: &[(&str, &str)]) -> String {
        let page = browser.sign_in(self, client, more).await;
        let form = [
            ("decision", "allow"),
            ("database.shop", "on"),
            ("database.logs", "on"),
        ];
        let end = browser.submit(self, &page, "/oauth/consent", &form).await;
        assert_eq!(end.status, 200, "{end:?}");
        let form = end.back();
        assert_eq!(form.get("iss"), Some(ISSUER));
        form.get("code").expect("a code").to_owned()
    }

    /// Exchanges a code.
    async fn exchange(&self, client: &str, code: &str) -> Answered {
        self.post(
            "/oauth/token",
            &[
                ("grant_type", "authorization_code"),
                ("client_id", client),
                ("code", code),
                ("code_verifier", VERIFIER),
                ("redirect_uri", REDIRECT),
            ],
        )
        .await
    }

    async fn refresh(&self, client: &str, token: &str) -> Answered {
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", client),
            ("refresh_token", token),
        ];
        self.post("/oauth/token", &form).await
    }

    /// Returns a client and its first tokens.
    async fn connected(&self) -> (String, Value) {
        let client = self.register(REDIRECT).await;
        let code = self.code(&mut Browser::default(), &client, &[]).await;
        let answer = self.exchange(&client, &code).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let tokens = answer.json();
        (client, tokens)
    }
}

// === impl Answered ===

impl Answered {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// Returns the error of an answer to a program.
    fn error(&self) -> String {
        let error = &self.json()["error"];
        error.as_str().expect("an error").to_owned()
    }

    /// Returns a hidden field of a page.
    fn flow(&self) -> &str {
        let (_, rest) = self
            .body
            .split_once("name=\"flow\" value=\"")
            .expect("a flow");
        rest.split_once('"').expect("its end").0
    }

    /// Returns the address that the browser goes back to.
    fn address(&self) -> String {
        if let Some(address) = self.headers.get(LOCATION) {
            return address.to_str().expect("ASCII").to_owned();
        }
        let (_, rest) = self.body.split_once("<a href=\"").expect("a link");
        rest.split_once('"')
            .expect("its end")
            .0
            .replace("&amp;", "&")
    }

    /// Returns the parameters that the client gets.
    fn back(&self) -> Form {
        let address = self.address();
        let (_, query) = address.split_once('?').expect("a query");
        Form::read(query).expect("parameters")
    }
}

// === impl Browser ===

impl Browser {
    async fn visit(&mut self, server: &Server, path: &str) -> Answered {
        let request = Request::get(path).header(COOKIE, self.header());
        let answer = server
            .send(request.body(Full::default()).expect("a request"))
            .await;
        self.keep(&answer);
        answer
    }

    /// Sends the form of a page with its hidden field.
    async fn submit(
        &mut self,
        server: &Server,
        page: &Answered,
        path: &str,
        form: &[(&str, &str)],
    ) -> Answered {
        let form = [&[("flow", page.flow())], form].concat();
        self.post(server, path, &form).await
    }

    /// Sends a form.
    async fn post(&mut self, server: &Server, path: &str, form: &[(&str, &str)]) -> Answered {
        let request = Request::post(path)
            .header(COOKIE, self.header())
            .header("origin", ISSUER)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(encoded(form)));
        let answer = server.send(request.expect("a request")).await;
        self.keep(&answer);
        answer
    }

    /// Goes through the sign-in, and returns the page of the consent.
    async fn sign_in(&mut self, server: &Server, client: &str, more: &[(&str, &str)]) -> Answered {
        let page = self.visit(server, &authorize(client, more)).await;
        assert_eq!(page.status, 200, "{page:?}");
        let form = [("name", "ann"), ("password", "right")];
        let page = self.submit(server, &page, "/oauth/login", &form).await;
        assert_eq!(page.status, 200, "{page:?}");
        page
    }

    fn header(&self) -> String {
        let pairs = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    }

    fn keep(&mut self, answer: &Answered) {
        for cookie in answer.headers.get_all(SET_COOKIE) {
            let cookie = cookie.to_str().expect("ASCII");
            for attribute in ["Secure", "HttpOnly", "SameSite=Lax", "Path=/"] {
                assert!(cookie.contains(attribute), "{cookie}");
            }
            let (name, value) = cookie.split_once('=').expect("a name");
            assert!(name.starts_with("__Host-"), "{cookie}");
            let value = value.split(';').next().expect("a value");
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// Returns a client with the secret `right`.
fn acme(redirect: &str) -> ManualClient {
    ManualClient {
        id: "acme".to_owned(),
        name: "Acme".to_owned(),
        redirect_uris: vec![redirect.to_owned()],
        secret_hash: Some(digest(b"right")),
        skip_consent: false,
    }
}

/// Returns the address of an authorization request.
fn authorize(client: &str, more: &[(&str, &str)]) -> String {
    let challenge = challenge_of(VERIFIER);
    let mut form = vec![
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", REDIRECT),
        ("code_challenge", &*challenge),
        ("code_challenge_method", "S256"),
        ("resource", RESOURCE),
        ("state", "s t&a=te"),
    ];
    form.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    form.extend(more.iter().filter(|(_, value)| !value.is_empty()));
    format!("/oauth/authorize?{}", encoded(&form))
}

fn encoded(form: &[(&str, &str)]) -> String {
    let encode = |text: &str| ziggurat_text::percent::encode(text).collect::<String>();
    let pairs = form
        .iter()
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Returns the claims of an access token.
fn claims(tokens: &Value) -> Value {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

    let token = tokens["access_token"].as_str().expect("a token");
    let claims = token.split('.').nth(1).expect("claims");
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).expect("base64url");
    serde_json::from_slice(&claims).expect("JSON")
}
