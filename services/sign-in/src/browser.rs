//! The pages that a person goes through: sign-in, consent, and the way back to the client.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{
    HeaderName, StatusCode,
    header::{CONTENT_TYPE, ORIGIN, RETRY_AFTER, SET_COOKIE},
};
use tracing::info;
use ziggurat_text::percent;

use crate::{
    answer::{Answer, see_other, with_header},
    authorize::{self, Asked, Refused, Told},
    clients::Client,
    documents,
    flow::{Cookies, Flow, cookie_value, set_cookie},
    form::Form,
    keys::{KeyError, Keys, digest, random, secret},
    pages::{self, Page},
    people::{LoginError, People, Person, Unavailable},
    service::{Read, Shared},
    store::{Code, Consent, Grant, Seconds, Session, Store},
};

/// Lifetime of the cookie that binds a flow to a browser.
const BROWSER: Seconds = 3600;

/// Lifetime of a code.
const CODE: Seconds = 60;

/// Reasons for which a page cannot be shown.
enum Failure {
    /// Something cannot be asked at the moment.
    Unavailable,
    /// The form was sent from another site.
    OtherSite,
    /// The body is not a form.
    NoForm,
    /// The form is too old, or of another browser.
    Expired,
    /// The request cannot be read.
    Page(StatusCode, &'static str),
}

impl From<Unavailable> for Failure {
    fn from(_: Unavailable) -> Self {
        Self::Unavailable
    }
}

impl From<KeyError> for Failure {
    fn from(_: KeyError) -> Self {
        Self::Unavailable
    }
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Answers an authorization request.
    pub(crate) async fn authorize(&self, read: &Read) -> Answer {
        self.asked(read).await.unwrap_or_else(|it| self.failed(&it))
    }

    /// Answers the form with a name and a password.
    pub(crate) async fn login(&self, read: &Read) -> Answer {
        self.signed_in(read)
            .await
            .unwrap_or_else(|it| self.failed(&it))
    }

    /// Answers the form of a consent.
    pub(crate) async fn consent(&self, read: &Read) -> Answer {
        self.decided(read)
            .await
            .unwrap_or_else(|it| self.failed(&it))
    }

    /// Ends the session of a browser, and shows the form for another account.
    pub(crate) async fn logout(&self, read: &Read) -> Answer {
        self.signed_out(read)
            .await
            .unwrap_or_else(|it| self.failed(&it))
    }

    async fn asked(&self, read: &Read) -> Result<Answer, Failure> {
        let malformed = Failure::Page(StatusCode::BAD_REQUEST, "The sign-in request is malformed.");
        let query = read.parts.uri.query().unwrap_or_default();
        if query.len() > authorize::LONGEST {
            return Err(malformed);
        }
        let form = Form::read(query).map_err(|_| malformed)?;
        let client = self
            .client_of(form.get("client_id").unwrap_or_default(), read.now)
            .await?;
        let asked = match authorize::check(&form, &client, &self.settings) {
            Ok(asked) => asked,
            Err(Refused::Page(problem)) => {
                return Err(Failure::Page(StatusCode::BAD_REQUEST, problem));
            }
            Err(Refused::Client(told)) => return Ok(self.told(&client, &told)),
        };
        let cookies = Cookies::read(&read.parts.headers, &self.settings);
        let person = match self.session(&cookies, read.now).await? {
            Some(session) if is_fresh(&session, &asked, &form, read.now) => {
                let person = self.people.find(&session.person).await?;
                person.map(|person| (session, person))
            }
            _ => None,
        };
        if asked.prompts("none") {
            let code = if person.is_some() {
                "consent_required"
            } else {
                "login_required"
            };
            let told = Told {
                redirect: asked.redirect,
                state: asked.state,
                code,
                problem: "a person has to look at a page",
                is_direct: true,
            };
            return Ok(self.told(&client, &told));
        }
        let browser = match cookies.browser {
            Some(browser) => browser,
            None => cookie_value()?,
        };
        let flow = Flow::new(asked, &browser, read.now)?;
        let answer = match person {
            Some((session, person)) => {
                self.consent_page(&client, &flow.of_session(session.hash)?, &person, None)?
            }
            None => self.login_page(&client, &flow, None)?,
        };
        let cookie = set_cookie(&self.settings, "flow", &browser, BROWSER);
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    async fn signed_in(&self, read: &Read) -> Result<Answer, Failure> {
        let (form, cookies, flow) = self.form(read)?;
        let client = self.client_of(&flow.asked.client, read.now).await?;
        let name = form.get("name").unwrap_or_default();
        let password = form.given("password").unwrap_or_default();
        let checked = self.people.authenticate(name, password, read.address).await;
        let found = match &checked {
            Ok(person) => self.people.find(person).await?,
            Err(_) => None,
        };
        let Some(person) = found else {
            let error = checked.err().unwrap_or(LoginError::Wrong);
            return self.not_signed_in(&client, &flow, error);
        };
        info!(person = person.id, client = client.id, "a person signed in");
        // A session gets a new value at each sign-in.
        if let Some(before) = cookies.session_hash() {
            self.store.end_session(before).await?;
        }
        let value = cookie_value()?;
        let session = Session {
            hash: digest(value.as_bytes()),
            person: person.id.clone(),
            signed_in_at: read.now,
            used_at: read.now,
            ends_at: read.now + self.settings.session_lifetime.as_secs(),
        };
        let flow = flow.of_session(session.hash)?;
        self.store.add_session(session).await?;
        let answer = self.consent_page(&client, &flow, &person, None)?;
        let lifetime = self.settings.session_lifetime.as_secs();
        let cookie = set_cookie(&self.settings, "session", &value, lifetime);
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    fn not_signed_in(
        &self,
        client: &Client,
        flow: &Flow,
        error: LoginError,
    ) -> Result<Answer, Failure> {
        let (status, problem, wait) = match error {
            LoginError::Wrong => {
                let problem = "The name or the password is wrong.";
                (StatusCode::FORBIDDEN, problem, None)
            }
            LoginError::TooMany { retry_after } => {
                let problem = "There were too many attempts. Try again later.";
                (StatusCode::TOO_MANY_REQUESTS, problem, Some(retry_after))
            }
            LoginError::Unavailable => {
                let problem = "Sign-in is not possible at the moment.";
                let wait = Some(Duration::from_secs(5));
                (StatusCode::SERVICE_UNAVAILABLE, problem, wait)
            }
        };
        let mut answer = self.login_page(client, flow, Some(problem))?;
        *answer.status_mut() = status;
        Ok(match wait {
            Some(wait) => with_header(answer, RETRY_AFTER, &wait.as_secs().max(1).to_string()),
            None => answer,
        })
    }

    async fn decided(&self, read: &Read) -> Result<Answer, Failure> {
        let (form, cookies, flow) = self.form(read)?;
        let client = self.client_of(&flow.asked.client, read.now).await?;
        let session = self.session(&cookies, read.now).await?;
        let session = session.filter(|session| flow.is_of(session.hash));
        let session = session.ok_or(Failure::Expired)?;
        let person = self.people.find(&session.person).await?;
        let person = person.ok_or(Failure::Expired)?;
        let asked = &flow.asked;
        if form.get("decision") != Some("allow") {
            info!(person = person.id, client = client.id, "a person denied");
            let denied = ("error", "access_denied");
            return Ok(pages::end(
                &self.settings,
                &client,
                &self.back(asked, &[denied]),
            ));
        }
        let chosen: Vec<_> = form.ticked("database.").collect();
        let is_chosen = |name: &str| chosen.contains(&name);
        let databases = person.databases.iter().filter(|it| is_chosen(&it.name));
        let databases: Vec<_> = databases.collect();
        if databases.is_empty() && !person.databases.is_empty() {
            let problem = Some("Choose at least one database.");
            let mut answer = self.consent_page(&client, &flow, &person, problem)?;
            *answer.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(answer);
        }
        let may_write = form.get("write").is_some() && databases.iter().any(|it| it.is_writable);
        let is_all = databases.len() == person.databases.len();
        let names = databases.iter().map(|it| it.name.clone()).collect();
        let grant = self.grant(&flow, &client, &session, read.now, may_write)?;
        let grant = Grant {
            databases: (!is_all).then_some(names),
            ..grant
        };
        self.granted(read, &flow, &client, grant).await
    }

    /// Keeps a grant, and sends the browser back with its code.
    async fn granted(
        &self,
        read: &Read,
        flow: &Flow,
        client: &Client,
        grant: Grant,
    ) -> Result<Answer, Failure> {
        let value = secret("zac_")?;
        let asked = &flow.asked;
        let code = Code {
            hash: digest(value.as_bytes()),
            grant: grant.id,
            redirect_uri: asked.has_redirect.then(|| asked.redirect.clone()),
            challenge: asked.challenge.clone(),
            ends_at: read.now + CODE,
        };
        let consent = Consent {
            hash: flow.consent(),
            ends_at: flow.ends_at(),
        };
        info!(
            person = grant.person,
            client = client.id,
            scope = grant.scope,
            "a person allowed"
        );
        if !self.store.add_grant(grant, code, consent).await? {
            return Err(Failure::Expired);
        }
        let address = self.back(asked, &[("code", &value)]);
        Ok(pages::end(&self.settings, client, &address))
    }

    fn grant(
        &self,
        flow: &Flow,
        client: &Client,
        session: &Session,
        now: Seconds,
        may_write: bool,
    ) -> Result<Grant, Failure> {
        let settings = &self.settings;
        let asked = &flow.asked;
        let has_offline = asked.scope.iter().any(|scope| scope == "offline_access");
        let kept = asked.scope.iter().map(String::as_str);
        let kept = kept.filter(|scope| *scope != settings.write_scope);
        let write = may_write.then_some(settings.write_scope.as_str());
        let scope: Vec<_> = kept.chain(write).collect();
        Ok(Grant {
            id: random()?,
            person: session.person.clone(),
            client: client.id.clone(),
            resource: asked.resource.clone(),
            alias: asked.alias.clone(),
            scope: scope.join(" "),
            databases: None,
            is_renewable: !settings.refresh_idle.is_zero() && (client.has_refresh || has_offline),
            signed_in_at: session.signed_in_at,
            made_at: now,
            used_at: now,
            ends_at: now + settings.refresh_lifetime.as_secs(),
            generation: 0,
            rotated_at: now,
        })
    }

    async fn signed_out(&self, read: &Read) -> Result<Answer, Failure> {
        let (_, cookies, flow) = self.form(read)?;
        let client = self.client_of(&flow.asked.client, read.now).await?;
        if let Some(session) = cookies.session_hash() {
            self.store.end_session(session).await?;
        }
        let answer = self.login_page(&client, &flow, None)?;
        let cookie = set_cookie(&self.settings, "session", "", 0);
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    /// Reads a form that a page of this server sent in this browser.
    fn form(&self, read: &Read) -> Result<(Form, Cookies, Flow), Failure> {
        let header = |name: &HeaderName| {
            let value = read.parts.headers.get(name)?;
            value.to_str().ok()
        };
        let is_own = if let Some(origin) = header(&ORIGIN) {
            origin == origin_of(&self.settings.issuer)
        } else {
            let site = header(&HeaderName::from_static("sec-fetch-site"));
            site.is_none_or(|site| site == "same-origin")
        };
        if !is_own {
            return Err(Failure::OtherSite);
        }
        let media_type = header(&CONTENT_TYPE).unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Failure::NoForm);
        }
        let text = std::str::from_utf8(&read.body).map_err(|_| Failure::Expired)?;
        let form = Form::read(text).map_err(|_| Failure::Expired)?;
        let cookies = Cookies::read(&read.parts.headers, &self.settings);
        let sealed = form.get("flow").unwrap_or_default();
        let flow = Flow::open(sealed, &self.keys.seal(), &cookies, read.now);
        Ok((form, cookies, flow.ok_or(Failure::Expired)?))
    }

    async fn session(
        &self,
        cookies: &Cookies,
        now: Seconds,
    ) -> Result<Option<Session>, Unavailable> {
        match cookies.session_hash() {
            Some(hash) => {
                self.store
                    .session(hash, self.settings.session_idle, now)
                    .await
            }
            None => Ok(None),
        }
    }

    async fn client_of(&self, id: &str, now: Seconds) -> Result<Client, Failure> {
        let client = self.client(id, now).await?;
        client.ok_or(Failure::Page(
            StatusCode::BAD_REQUEST,
            "The program that sent you here is not known.",
        ))
    }

    fn login_page(
        &self,
        client: &Client,
        flow: &Flow,
        problem: Option<&str>,
    ) -> Result<Answer, Failure> {
        let sealed = flow.close(&self.keys.seal())?;
        let body = pages::login(&self.settings, client, &sealed, problem);
        Ok(Page::new(&self.settings, "Sign in", body).answer())
    }

    fn consent_page(
        &self,
        client: &Client,
        flow: &Flow,
        person: &Person,
        problem: Option<&str>,
    ) -> Result<Answer, Failure> {
        let found = documents::find(&self.settings.resources, &flow.asked.resource);
        let (resource, _) = found.ok_or(Failure::Expired)?;
        let sealed = flow.close(&self.keys.seal())?;
        let consent = pages::Consent {
            client,
            asked: &flow.asked,
            person,
            resource,
            flow: &sealed,
            problem,
        };
        let body = pages::consent(&self.settings, &consent);
        Ok(Page::new(&self.settings, "Allow access?", body).answer())
    }

    /// Tells a client the error of its request.
    fn told(&self, client: &Client, told: &Told) -> Answer {
        let mut parameters = vec![("error", told.code), ("error_description", told.problem)];
        parameters.extend(told.state.as_deref().map(|state| ("state", state)));
        parameters.push(("iss", &self.settings.issuer));
        let address = with_parameters(&told.redirect, &parameters);
        if told.is_direct {
            see_other(&address)
        } else {
            pages::told(&self.settings, client, told, &address)
        }
    }

    /// Returns the address that a browser goes back to.
    fn back(&self, asked: &Asked, parameters: &[(&str, &str)]) -> String {
        let mut parameters = parameters.to_vec();
        parameters.extend(asked.state.as_deref().map(|state| ("state", state)));
        parameters.push(("iss", &self.settings.issuer));
        with_parameters(&asked.redirect, &parameters)
    }

    fn failed(&self, failure: &Failure) -> Answer {
        let (status, problem) = match failure {
            Failure::Unavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Sign-in is not possible at the moment.",
            ),
            Failure::OtherSite => (
                StatusCode::FORBIDDEN,
                "This form was sent from another site.",
            ),
            Failure::NoForm => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "This is not a form."),
            Failure::Expired => (
                StatusCode::BAD_REQUEST,
                "This sign-in has expired. Go back to the program and start again.",
            ),
            Failure::Page(status, problem) => (*status, *problem),
        };
        Page::failure(&self.settings, status, problem).answer()
    }
}

/// Returns whether a session is good enough for a request.
fn is_fresh(session: &Session, asked: &Asked, form: &Form, now: Seconds) -> bool {
    let age = now.saturating_sub(session.signed_in_at);
    let max_age = form.get("max_age").and_then(|age| age.parse().ok());
    let is_young = max_age.is_none_or(|max_age: Seconds| age <= max_age);
    is_young && !asked.prompts("login") && !asked.prompts("select_account")
}

/// Returns scheme, host and port of an address.
fn origin_of(address: &str) -> &str {
    let host = address.find("://").map_or(0, |at| at + 3);
    let end = address[host..]
        .find('/')
        .map_or(address.len(), |at| host + at);
    &address[..end]
}

/// Adds parameters to the query of an address.
fn with_parameters(address: &str, parameters: &[(&str, &str)]) -> String {
    let mut text = address.to_owned();
    for (name, value) in parameters {
        text.push(if text.contains('?') { '&' } else { '?' });
        text.push_str(name);
        text.push('=');
        text.extend(percent::encode(value));
    }
    text
}

/// Returns the challenge of a verifier.
pub(crate) fn challenge_of(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(verifier.as_bytes()))
}
