//! The authorization request: the wishes of a client, checked in order.

use serde::{Deserialize, Serialize};

use crate::{
    clients::{Client, address},
    documents,
    form::Form,
    settings::Settings,
};

/// Longest query.
pub(crate) const LONGEST: usize = 8192;

/// Longest state.
const LONGEST_STATE: usize = 2048;

/// Letters of a challenge: SHA-256 in base64url.
const CHALLENGE: usize = 43;

/// The access that a client asks for.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Wish {
    pub(crate) client: String,
    pub(crate) resource: String,
    pub(crate) alias: Option<String>,
    pub(crate) scope: Vec<String>,
}

/// The request of a client that a browser brings.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Asked {
    pub(crate) wish: Wish,
    /// The address to return to.
    pub(crate) redirect: String,
    /// Says that the request has the address; then the exchange of the code has it, too.
    pub(crate) has_redirect: bool,
    pub(crate) challenge: String,
    pub(crate) state: Option<String>,
    pub(crate) prompt: Option<String>,
}

/// Reasons for which a request gets no page of the sign-in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Only a page can say it: there is no address to return to.
    Page(&'static str),
    /// The client is told.
    Client(Box<Told>),
}

/// An error that the client gets at its redirect address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) redirect: String,
    pub(crate) state: Option<String>,
    pub(crate) code: &'static str,
    pub(crate) problem: &'static str,
    /// Says that the browser goes there by itself. Else a page has a link, since a stranger may
    /// have registered the address.
    pub(crate) is_direct: bool,
}

/// Checks a request of a client that is known.
pub(crate) fn check(form: &Form, client: &Client, settings: &Settings) -> Result<Asked, Refused> {
    let asked = form.get("redirect_uri");
    let redirect = client.redirect(asked).filter(|redirect| {
        // A program on this computer may listen at another port, and no person is asked for the
        // console.
        !settings.is_console(&client.id) || client.redirect_uris.contains(redirect)
    });
    let redirect = redirect.ok_or(Refused::Page(
        "The address to return to is not one the program has registered.",
    ))?;
    let state = form.given("state").map(str::to_owned);
    let is_direct = is_direct(client, &redirect);
    let told = |(code, problem)| {
        let short = state.clone().filter(|state| state.len() <= LONGEST_STATE);
        Refused::Client(Box::new(Told {
            redirect: redirect.clone(),
            state: short,
            code,
            problem,
            is_direct,
        }))
    };
    form_of_answer(form).map_err(told)?;
    let challenge = challenge(form).map_err(told)?;
    let wish = Wish::read(form, client, settings).map_err(told)?;
    other(form).map_err(told)?;
    Ok(Asked {
        wish,
        has_redirect: asked.is_some(),
        challenge,
        state: state.clone(),
        prompt: form.get("prompt").map(str::to_owned),
        redirect,
    })
}

/// Returns whether the browser goes to an address with an error by itself.
pub(crate) fn is_direct(client: &Client, redirect: &str) -> bool {
    client.is_trusted() || address::loopback_host(redirect).is_some()
}

/// A code of an error, and its text.
pub(crate) type Problem = (&'static str, &'static str);

fn form_of_answer(form: &Form) -> Result<(), Problem> {
    if form.given("request").is_some() {
        return Err(("request_not_supported", "request is not supported"));
    }
    if form.given("request_uri").is_some() {
        return Err(("request_uri_not_supported", "request_uri is not supported"));
    }
    if form.get("response_type") != Some("code") {
        return Err(("unsupported_response_type", "response_type must be code"));
    }
    match form.get("response_mode") {
        None | Some("query") => Ok(()),
        Some(_) => Err(("invalid_request", "response_mode must be query")),
    }
}

fn challenge(form: &Form) -> Result<String, Problem> {
    let challenge = form.get("code_challenge");
    let challenge = challenge.ok_or(("invalid_request", "code_challenge is required"))?;
    if form.get("code_challenge_method") != Some("S256") {
        return Err(("invalid_request", "code_challenge_method must be S256"));
    }
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if challenge.len() != CHALLENGE || !challenge.bytes().all(is_base64url) {
        let problem = "code_challenge must be 43 letters of base64url";
        return Err(("invalid_request", problem));
    }
    Ok(challenge.to_owned())
}

fn resource(
    form: &Form,
    client: &Client,
    settings: &Settings,
) -> Result<(String, Option<String>), Problem> {
    let unknown = ("invalid_target", "resource is not one of this server");
    let all = &settings.resources;
    let found = match form.get("resource") {
        Some(asked) => documents::find(all, asked).filter(|(found, _)| found.is_for(&client.id)),
        None => documents::only(all).map(|only| (only, None)),
    };
    let (resource, alias) = found.ok_or(unknown)?;
    Ok((resource.uri.clone(), alias))
}

fn other(form: &Form) -> Result<(), Problem> {
    let state = form.given("state").unwrap_or_default();
    if state.len() > LONGEST_STATE {
        return Err(("invalid_request", "state has more than 2,048 bytes"));
    }
    let words: Vec<_> = form
        .get("prompt")
        .into_iter()
        .flat_map(str::split_whitespace)
        .collect();
    let is_known = |word: &&str| matches!(*word, "none" | "login" | "consent" | "select_account");
    if !words.iter().all(is_known) || (words.len() > 1 && words.contains(&"none")) {
        return Err(("invalid_request", "prompt is not known"));
    }
    let max_age = form.get("max_age").map(str::parse::<u32>);
    if max_age.is_some_and(|age| age.is_err()) {
        return Err(("invalid_request", "max_age must be a number of seconds"));
    }
    Ok(())
}

/// Returns the words of a scope that are known; without any it is `mcp`.
fn scope(text: &str, settings: &Settings) -> Vec<String> {
    let known = settings.scope_words();
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| known.contains(word)) {
        if !words.iter().any(|other| other == word) {
            words.push(word.to_owned());
        }
    }
    if !words.iter().any(|word| word == "mcp") {
        words.insert(0, "mcp".to_owned());
    }
    words
}

// === impl Wish ===

impl Wish {
    /// Reads the resource and the scope of a request.
    pub(crate) fn read(form: &Form, client: &Client, settings: &Settings) -> Result<Self, Problem> {
        let (resource, alias) = resource(form, client, settings)?;
        Ok(Self {
            client: client.id.clone(),
            resource,
            alias,
            scope: scope(form.get("scope").unwrap_or_default(), settings),
        })
    }

    /// Returns whether the client asks for changes.
    pub(crate) fn wants_to_write(&self, settings: &Settings) -> bool {
        !settings.write_scope.is_empty() && self.scope.contains(&settings.write_scope)
    }
}

// === impl Asked ===

impl Asked {
    /// Returns whether the request has a word in its `prompt`.
    pub(crate) fn prompts(&self, word: &str) -> bool {
        let mut words = self
            .prompt
            .iter()
            .flat_map(|prompt| prompt.split_whitespace());
        words.any(|it| it == word)
    }
}
