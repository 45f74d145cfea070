//! The way into the console over the pages of the sign-in.

use serde_json::{Value, json};

use super::{ALL, Office};
use crate::support::{Answer, Browser, Client, OAuthClient, Program, records::PASSWORD, until};

/// A verifier and its challenge (RFC 7636, appendix B).
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const SESSION: &str = "/api/console/session";

/// A server with the administrator ada beside ann and bob.
struct Console {
    _office: Office,
    _program: Program,
    client: Client,
}

impl Console {
    fn new() -> Self {
        let office = Office::new("");
        office.home.user("ada", PASSWORD);
        let words = ["-update-user", "-username", "ada", "-user-admin"];
        assert_eq!(office.home.ran(&words, "").code, Some(0));
        let (program, client) = office.serve();
        Self {
            _office: office,
            _program: program,
            client,
        }
    }

    fn port(&self) -> &str {
        let (_, port) = self.client.address().rsplit_once(':').expect("a port");
        port
    }

    fn page(&self) -> String {
        format!("http://localhost:{}/console/sign-in", self.port())
    }

    fn request(&self) -> String {
        let page = self.page().replace(':', "%3A").replace('/', "%2F");
        format!(
            "/oauth/authorize?response_type=code&client_id=ziggurat-console&redirect_uri={page}\
             &state=st&code_challenge={CHALLENGE}&code_challenge_method=S256"
        )
    }

    /// Signs in with the pages, and returns the code.
    fn code(&self, name: &str) -> String {
        let end = Browser::new(&self.client).sign_in(&self.request(), name, PASSWORD);
        assert!(!end.body.contains("Allow access?"), "{end:?}");
        let code = end.body.split("code=").nth(1);
        let code = code.and_then(|rest| rest.split('&').next());
        code.unwrap_or_else(|| panic!("a code in {end:?}"))
            .to_owned()
    }

    fn post(&self, body: &Value) -> Answer {
        let headers = "ziggurat-console:\r\ncontent-type: application/json\r\n";
        self.client
            .send("POST", SESSION, headers, &body.to_string())
    }

    fn enter(&self, code: &str) -> Answer {
        let page = self.page();
        self.post(&json!({"code": code, "verifier": VERIFIER, "redirect_uri": page}))
    }

    /// Enters with a new code, and returns the headers of the session and its state.
    fn entered(&self, name: &str) -> (String, Value) {
        self.entered_with(&self.code(name))
    }

    fn entered_with(&self, code: &str) -> (String, Value) {
        let answer = self.enter(code);
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.header("set-cookie").expect("a cookie");
        assert!(cookie.contains("SameSite=Strict"), "{cookie}");
        let (cookie, _) = cookie.split_once(';').expect("attributes");
        let state = answer.json();
        let key = state["key"].as_str().expect("a key");
        let headers = format!("cookie: {cookie}\r\nziggurat-console: {key}\r\n");
        (headers, state)
    }

    fn send(&self, headers: &str, method: &str, path: &str) -> Answer {
        self.client.send(method, path, headers, "")
    }

    fn status(&self, headers: &str) -> u16 {
        self.send(headers, "GET", "/api/user/info").status
    }
}

#[test]
fn a_browser_enters_the_console_after_the_sign_in() {
    let console = Console::new();
    let local = Client::new(format!("localhost:{}", console.port()));
    for (client, expected) in [(&local, json!(true)), (&console.client, Value::Null)] {
        let state = client.get(SESSION).json();
        assert_eq!(state["browser_sign_in"], expected, "{state}");
    }
    let (headers, state) = console.entered("ann");
    assert_eq!(state["signed_in"], json!(true));
    assert_eq!(state["kind"], json!("user"));
    assert_eq!(state["user"], json!("ann"));
    assert_eq!(console.status(&headers), 200);
    let out = console.send(&headers, "DELETE", SESSION);
    assert_eq!(out.status, 204);
    assert_eq!(console.status(&headers), 401);
    let (ada, _) = console.entered("ada");
    until("the grant has ended with the session", || {
        let listed = console.send(&ada, "GET", "/api/admin/grants?username=ann");
        listed.json() == json!({"grants": []})
    });
}

#[test]
fn without_a_console_nothing_enters_it() {
    let office = Office::new("http: {console: false}\n");
    let (_program, client) = office.serve();
    let console = OAuthClient::of(&client, "ziggurat-console");
    let page = Browser::new(&client).open(&console.request("mcp"));
    assert_eq!(page.status, 400, "{page:?}");
    assert!(page.body.contains("is not known"), "{page:?}");
}

#[test]
fn a_code_that_is_not_valid_opens_no_session() {
    let console = Console::new();
    let (code, page) = (console.code("ann"), console.page());
    for body in [
        json!({"code": code, "verifier": "other", "redirect_uri": page}),
        json!({"code": code, "verifier": VERIFIER, "redirect_uri": page}),
        json!({"code": "zac_unknown", "verifier": VERIFIER, "redirect_uri": page}),
    ] {
        let answer = console.post(&body);
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(answer.json()["code"], json!("bad_credentials"));
        assert_eq!(answer.header("set-cookie"), None);
    }
    for body in [
        json!({"code": "zac_a", "redirect_uri": page}),
        json!({"code": "zac_a", "verifier": VERIFIER}),
        json!({"code": "zac_a", "verifier": VERIFIER, "redirect_uri": page, "token": "x"}),
    ] {
        let answer = console.post(&body);
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    let code = console.code("ann");
    assert_eq!(console.enter(&code).status, 200);
    assert_eq!(console.enter(&code).status, 401, "it is good once");
}

#[test]
fn a_replayed_code_ends_the_session_that_it_opened() {
    let console = Console::new();
    let code = console.code("ann");
    let (headers, _) = console.entered_with(&code);
    assert_eq!(console.status(&headers), 200);
    assert_eq!(console.enter(&code).status, 401);
    until("the session has ended", || console.status(&headers) == 401);
}

#[test]
fn neither_kind_of_session_opens_the_other() {
    let console = Console::new();
    let (headers, _) = console.entered("ann");
    let other = Browser::new(&console.client);
    let page = other.open("/oauth/account");
    assert!(page.body.contains("Password"), "{page:?}");
    let page = console.send(&headers, "GET", "/oauth/account");
    assert!(page.body.contains("Password"), "{page:?}");
    let code = console.code("ann");
    let client = OAuthClient::of(&console.client, "ziggurat-console");
    let refused = client.exchange(&code);
    assert_eq!(
        (refused.status, &refused.json()["error"]),
        (400, &json!("unauthorized_client"))
    );
}

#[test]
fn an_administrator_sees_and_ends_grants_and_sessions_end_with_them() {
    let console = Console::new();
    let registered = OAuthClient::register(&console.client);
    let tokens = registered.tokens("ann", PASSWORD, ALL);
    let (ann, _) = console.entered("ann");
    let (ada, state) = console.entered("ada");
    assert_eq!(state["admin"], json!(true));
    let listed = console.send(&ada, "GET", "/api/admin/grants?username=ann");
    let listed = listed.json();
    let grants = listed["grants"].as_array().expect("a list");
    assert_eq!(grants.len(), 2, "{listed}");
    let of = |client: &str| {
        let found = grants
            .iter()
            .find(|grant| grant["client_id"] == json!(client));
        found
            .unwrap_or_else(|| panic!("{client} in {listed}"))
            .clone()
    };
    let (of_console, of_client) = (of("ziggurat-console"), of(&registered.id));
    assert_eq!(of_client["client_name"], json!("Test"));
    assert_eq!(of_client["scope"], json!("mcp mcp:write"));
    assert_eq!(of_console["username"], json!("ann"));
    let all = console.send(&ada, "GET", "/api/admin/grants").json();
    assert_eq!(all["grants"].as_array().map(Vec::len), Some(3), "{all}");

    let end = |grant: &Value, headers: &str| {
        let id = grant["id"].as_str().expect("an id");
        console.send(headers, "DELETE", &format!("/api/admin/grants/{id}"))
    };
    assert_eq!(
        end(&of_console, &ann).status,
        403,
        "ann is no administrator"
    );
    assert_eq!(end(&of_console, &ada).status, 204);
    until("the session has ended", || console.status(&ann) == 401);
    let info = || console.client.bearing(&tokens.access).get("/api/user/info");
    assert_eq!(info().status, 200);
    assert_eq!(end(&of_client, &ada).status, 204);
    until("the token has ended", || info().status == 401);
    assert_eq!(end(&of_client, &ada).status, 404);
}
