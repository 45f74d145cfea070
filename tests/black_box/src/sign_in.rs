//! A client that has people sign in, and the browser that they do it with.

use std::{cell::RefCell, collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

use crate::{Answer, Client};

/// A verifier and its challenge (RFC 7636, appendix B).
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// The address that the client is sent back to.
const REDIRECT: &str = "http://localhost:3118/callback";

/// A browser: it keeps cookies, and sends the forms of pages.
#[derive(Debug)]
pub struct Browser {
    server: Client,
    cookies: RefCell<BTreeMap<String, String>>,
}

/// A client that registered itself at a server.
#[derive(Debug)]
pub struct OAuthClient {
    server: Client,
    /// Its id.
    pub id: String,
    redirect: &'static str,
    /// The server that it asks for, if it names one.
    resource: Option<String>,
}

/// The tokens of a grant.
#[derive(Clone, Debug)]
pub struct GrantedTokens {
    /// The access token.
    pub access: String,
    /// The refresh token.
    pub refresh: String,
    /// The scope.
    pub scope: String,
}

impl Browser {
    /// A browser without cookies.
    pub fn new(server: &Client) -> Self {
        Self {
            server: server.clone(),
            cookies: RefCell::default(),
        }
    }

    /// The same browser, sent to another replica.
    pub fn at(self, server: &Client) -> Self {
        Self {
            server: server.clone(),
            ..self
        }
    }

    /// Opens a page.
    pub fn open(&self, path: &str) -> Answer {
        self.send("GET", path, "", "")
    }

    /// Sends the form of a page that goes to this path, with these fields besides the hidden one.
    pub fn submit(&self, page: &Answer, path: &str, fields: &[(&str, &str)]) -> Answer {
        let form = page.body.split("<form").find(|form| form.contains(path));
        let form = form.unwrap_or_else(|| panic!("a form to {path} in {page:?}"));
        let mut body = format!("flow={}", hidden(form));
        for (name, value) in fields {
            write!(body, "&{name}={}", encoded(value)).expect("a text takes all");
        }
        let form = "content-type: application/x-www-form-urlencoded\r\n";
        self.send("POST", path, form, &body)
    }

    /// Signs in on the page of an authorization request.
    pub fn sign_in(&self, path: &str, name: &str, password: &str) -> Answer {
        let page = self.open(path);
        self.submit(
            &page,
            "/oauth/login",
            &[("name", name), ("password", password)],
        )
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let cookies = self
            .cookies
            .borrow()
            .iter()
            .fold(String::new(), |all, (name, value)| {
                format!("{all}{name}={value}; ")
            });
        let headers = match &*cookies {
            "" => headers.to_owned(),
            cookies => format!("cookie: {cookies}\r\n{headers}"),
        };
        let answer = self.server.send(method, path, &headers, body);
        for line in answer.head.lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let pair = value.split(';').next().unwrap_or_default().trim();
            if let (true, Some((name, value))) =
                (key.eq_ignore_ascii_case("set-cookie"), pair.split_once('='))
            {
                self.cookies
                    .borrow_mut()
                    .insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }
}

impl OAuthClient {
    /// Registers at a server.
    pub fn register(server: &Client) -> Self {
        let metadata = json!({"client_name": "Test", "redirect_uris": [REDIRECT]});
        let json = "content-type: application/json\r\n";
        let answer = server.send("POST", "/oauth/register", json, &metadata.to_string());
        let id = answer.json()["client_id"].as_str().map(str::to_owned);
        Self {
            server: server.clone(),
            id: id.unwrap_or_else(|| panic!("an id in {answer:?}")),
            redirect: REDIRECT,
            resource: None,
        }
    }

    /// A client with this id, which is known to the server.
    pub fn of(server: &Client, id: &str) -> Self {
        Self {
            server: server.clone(),
            id: id.to_owned(),
            redirect: REDIRECT,
            resource: None,
        }
    }

    /// The same client, sent to another replica.
    pub fn at(&self, server: &Client) -> Self {
        Self::of(server, &self.id)
    }

    /// Goes back to another address.
    pub fn returning_to(self, redirect: &'static str) -> Self {
        Self { redirect, ..self }
    }

    /// Asks for tokens for this server.
    pub fn for_resource(mut self, resource: &str) -> Self {
        self.resource = Some(resource.to_owned());
        self
    }

    /// The path of an authorization request for this scope.
    pub fn request(&self, scope: &str) -> String {
        let mut path = format!(
            "/oauth/authorize?response_type=code&client_id={}&redirect_uri={}&state=st&\
             code_challenge={CHALLENGE}&code_challenge_method=S256&scope={}",
            self.id,
            encoded(self.redirect),
            encoded(scope),
        );
        if let Some(resource) = &self.resource {
            write!(path, "&resource={}", encoded(resource)).expect("a text takes all");
        }
        path
    }

    /// Has a person sign in and allow these fields of the page, and returns the tokens.
    pub fn tokens(&self, name: &str, password: &str, allowed: &[(&str, &str)]) -> GrantedTokens {
        let browser = Browser::new(&self.server);
        let page = browser.sign_in(&self.request("mcp mcp:write"), name, password);
        let code = self.allow(&browser, &page, allowed);
        granted(&self.exchange(&code))
    }

    /// Allows these fields of a page, and returns the code.
    pub fn allow(&self, browser: &Browser, page: &Answer, allowed: &[(&str, &str)]) -> String {
        let mut fields = vec![("decision", "allow")];
        fields.extend(allowed);
        let page = browser.submit(page, "/oauth/consent", &fields);
        let code = page
            .body
            .split("code=")
            .nth(1)
            .and_then(|rest| rest.split('&').next());
        code.unwrap_or_else(|| panic!("a code in {page:?}"))
            .to_owned()
    }

    /// Exchanges a code.
    pub fn exchange(&self, code: &str) -> Answer {
        let redirect = encoded(self.redirect);
        self.ask(
            "/oauth/token",
            &format!(
                "grant_type=authorization_code&code={code}&code_verifier={VERIFIER}&\
                 redirect_uri={redirect}"
            ),
        )
    }

    /// Exchanges a refresh token.
    pub fn refresh(&self, token: &str) -> Answer {
        let form = format!("grant_type=refresh_token&refresh_token={token}");
        self.ask("/oauth/token", &form)
    }

    /// Revokes a token.
    pub fn revoke(&self, token: &str) -> Answer {
        self.ask("/oauth/revoke", &format!("token={token}"))
    }

    fn ask(&self, path: &str, form: &str) -> Answer {
        let headers = "content-type: application/x-www-form-urlencoded\r\n";
        let form = format!("client_id={}&{form}", self.id);
        self.server.send("POST", path, headers, &form)
    }
}

/// Reads the tokens of an answer.
pub fn granted(answer: &Answer) -> GrantedTokens {
    let json = answer.json();
    let text = |name: &str| {
        let text = json[name].as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("{name} in {answer:?}"))
    };
    GrantedTokens {
        access: text("access_token"),
        refresh: text("refresh_token"),
        scope: text("scope"),
    }
}

/// The claims of an access token, unverified.
pub fn claims(token: &str) -> Value {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    let part = token.split('.').nth(1).expect("claims");
    let json = BASE64_URL_SAFE_NO_PAD.decode(part).expect("base64");
    serde_json::from_slice(&json).expect("JSON")
}

fn hidden(form: &str) -> &str {
    let value = form.split("name=\"flow\" value=\"").nth(1);
    let value = value.and_then(|rest| rest.split('"').next());
    value.unwrap_or_else(|| panic!("a hidden field in {form}"))
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(byte.into()),
            byte => write!(out, "%{byte:02X}").expect("a text takes all"),
        }
        out
    })
}
