//! The endpoints of programs: tokens, registration and revocation.

mod access;
mod assertion;
mod console;
mod device;
mod id_jag;
mod proof;
mod recheck;
mod refresh;

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, OAuthError, empty, json_answer, with_header},
    browser::challenge_of,
    clients::{Client, registration},
    documents::{self, DEVICE_CODE, JWT_BEARER},
    events::{Event, EventKind},
    form::Form,
    keys::{KeyError, Keys, digest},
    people::{People, Unavailable},
    service::{Entitled, Read, Shared},
    store::{Grant, Rotated, Rotation, Store, UsedCode, Why},
};

pub use self::console::{ConsoleCode, ConsoleLogin};
use self::{access::Access, proof::Proved, refresh::RefreshToken};

/// A code, with the proofs that it is exchanged with.
pub(crate) struct Exchange<'a> {
    pub(crate) client: &'a str,
    pub(crate) has_proof: bool,
    pub(crate) code: &'a str,
    pub(crate) verifier: &'a str,
    pub(crate) redirect_uri: Option<&'a str>,
}

impl From<Unavailable> for OAuthError {
    fn from(_: Unavailable) -> Self {
        Self::unavailable()
    }
}

impl From<KeyError> for OAuthError {
    fn from(_: KeyError) -> Self {
        Self::unavailable()
    }
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Registers a client.
    pub(crate) async fn register(&self, read: &Read) -> Answer {
        match self.registered(read).await {
            Ok(client) => json_answer(StatusCode::CREATED, &client),
            Err(error) => error.into(),
        }
    }

    /// Answers the token endpoint.
    pub(crate) async fn token(&self, read: &Read) -> Answer {
        match self.exchanged(read).await {
            Ok(tokens) => json_answer(StatusCode::OK, &tokens),
            Err(error) => error.into(),
        }
    }

    /// Ends the grant of a token. An unknown token is no error (RFC 7009).
    pub(crate) async fn revoke(&self, read: &Read) -> Answer {
        match self.revoked(read).await {
            Ok(()) => {
                let any = http::header::ACCESS_CONTROL_ALLOW_ORIGIN;
                with_header(empty(StatusCode::OK), any, "*")
            }
            Err(error) => error.into(),
        }
    }

    async fn registered(&self, read: &Read) -> Result<Value, OAuthError> {
        if !self.settings.registration.dynamic {
            let problem = "clients cannot register themselves here";
            return Err(OAuthError::new("invalid_client_metadata", problem)
                .with_status(StatusCode::FORBIDDEN));
        }
        if read.body.len() > registration::LONGEST {
            let problem = "the body has more than 16 KiB";
            return Err(OAuthError::new("invalid_client_metadata", problem)
                .with_status(StatusCode::PAYLOAD_TOO_LARGE));
        }
        let client = registration::read(&read.body, &self.settings.registration);
        let client = client.map_err(|refused| {
            let event = Event::new(EventKind::ClientRefused);
            self.record(read, event.with_reason(refused.code));
            OAuthError::new(refused.code, refused.problem)
        })?;
        let answer = registration::answer(&client, &self.keys.seal(), read.now);
        let id = client.id.clone();
        let is_new = self.store.client(&id, read.now).await?.is_none();
        if is_new {
            let admitted = self.limits.registration(read.address);
            let code = "temporarily_unavailable";
            admitted.map_err(|limited| OAuthError::too_many(code, &limited))?;
        }
        if !self.store.add_client(client, read.now).await? {
            return Err(OAuthError::unavailable());
        }
        if is_new {
            let event = Event::new(EventKind::ClientRegistered);
            self.record(read, event.with_client(&id));
        }
        Ok(answer)
    }

    async fn exchanged(&self, read: &Read) -> Result<Value, OAuthError> {
        self.may_prove(read)?;
        let form = form(read)?;
        let grant_type = form.get("grant_type").unwrap_or_default();
        let is_known = match grant_type {
            "authorization_code" | "refresh_token" => true,
            DEVICE_CODE => !self.settings.device_clients.is_empty(),
            JWT_BEARER => !self.settings.identity_assertion.is_empty(),
            "client_credentials" => self.settings.revoked_clients_uri.is_some(),
            _ => false,
        };
        if !is_known {
            let problem = "grant_type is not one of this server";
            return Err(OAuthError::new("unsupported_grant_type", problem));
        }
        if grant_type == "client_credentials" {
            return self.by_client_credentials(read, &form).await;
        }
        let proved = self.proved(read, &form).await?;
        if self.settings.is_console(&proved.client.id) {
            let problem = "this client gets no tokens";
            return Err(OAuthError::new("unauthorized_client", problem));
        }
        match grant_type {
            "authorization_code" => self.by_code(read, &form, &proved).await,
            "refresh_token" => self.by_refresh_token(read, &form, &proved.client).await,
            JWT_BEARER => self.by_assertion(read, &form, &proved).await,
            _ => self.by_device_code(read, &form, &proved.client).await,
        }
    }

    /// Exchanges a code.
    async fn by_code(
        &self,
        read: &Read,
        form: &Form,
        proved: &Proved,
    ) -> Result<Value, OAuthError> {
        let exchange = Exchange {
            client: &proved.client.id,
            has_proof: proved.has_proof,
            code: required(form, "code")?,
            verifier: form.get("code_verifier").unwrap_or_default(),
            redirect_uri: form.get("redirect_uri"),
        };
        let used = self.used(read, &exchange).await?;
        let bad = || OAuthError::new("invalid_grant", "the code is not valid");
        let (grant, person) = used.ok_or_else(bad)?;
        self.same_resource(form, &grant)?;
        let scope = grant.scope.clone();
        let event = Event::new(EventKind::TokenIssued).with_grant(&grant);
        self.record(read, event.with_grant_type("authorization_code"));
        self.tokens(&grant, &person, &scope, read)
    }

    /// Uses a code, before anything else is compared. Returns its grant and the person, if the code
    /// is valid.
    pub(crate) async fn used(
        &self,
        read: &Read,
        exchange: &Exchange<'_>,
    ) -> Result<Option<(Grant, Entitled)>, OAuthError> {
        let hash = digest(exchange.code.as_bytes());
        let (code, grant) = match self.store.use_code(hash, read.now).await? {
            UsedCode::Good(good) => *good,
            UsedCode::Again(id) => {
                let event = Event::new(EventKind::CodeReplayed).with_client(exchange.client);
                let grant = Some(id);
                self.record(read, Event { grant, ..event });
                return Ok(None);
            }
            UsedCode::Unknown => return Ok(None),
        };
        let is_same = grant.client == exchange.client
            && is_same_redirect(code.redirect_uri.as_deref(), exchange.redirect_uri)
            && challenge_of(exchange.verifier) == code.challenge
            && (exchange.has_proof || !code.needs_proof);
        let person = self.holder(read, &grant).await?;
        let Some(person) = person.filter(|_| is_same) else {
            // Its code is used up, so no other client can have it.
            self.end(read, &grant, Why::Revoked).await?;
            return Ok(None);
        };
        Ok(Some((grant, person)))
    }

    async fn by_refresh_token(
        &self,
        read: &Read,
        form: &Form,
        client: &Client,
    ) -> Result<Value, OAuthError> {
        let bad = || OAuthError::new("invalid_grant", "the refresh token is not valid");
        let token = required(form, "refresh_token")?;
        let token = RefreshToken::read(token, &self.keys.seal()).ok_or_else(bad)?;
        let known = self.store.grant(token.grant, read.now).await?;
        let known = known.filter(|grant| grant.client == client.id && grant.is_renewable);
        let known = known.ok_or_else(bad)?;
        self.same_resource(form, &known)?;
        let scope = smaller_scope(form, &known)?;
        let Some(person) = self.holder(read, &known).await? else {
            self.end(read, &known, Why::Person).await?;
            return Err(bad());
        };
        let rules = Rotation {
            grace: self.settings.refresh_grace,
            idle: self.settings.refresh_idle,
            now: read.now,
        };
        match self
            .store
            .rotate(token.grant, token.generation, rules)
            .await?
        {
            Rotated::To(grant) => {
                let event = Event::new(EventKind::TokenRefreshed);
                self.record(read, event.with_grant(&grant));
                self.tokens(&grant, &person, &scope, read)
            }
            Rotated::Reused(grant) => {
                let event = Event::new(EventKind::RefreshReused);
                self.record(read, event.with_grant(&grant));
                Err(bad())
            }
            Rotated::Unknown => Err(bad()),
        }
    }

    /// Refuses another resource than the one of the grant.
    fn same_resource(&self, form: &Form, grant: &Grant) -> Result<(), OAuthError> {
        let Some(asked) = form.get("resource") else {
            return Ok(());
        };
        let found = documents::find(&self.settings.resources, asked);
        if found.is_some_and(|(resource, _)| resource.uri == grant.resource) {
            return Ok(());
        }
        let problem = "resource is not the one that was allowed";
        Err(OAuthError::new("invalid_target", problem))
    }

    fn tokens(
        &self,
        grant: &Grant,
        person: &Entitled,
        scope: &str,
        read: &Read,
    ) -> Result<Value, OAuthError> {
        let scope = self.settings.open_to(&person.person, scope);
        let access = Access {
            grant,
            person,
            scope: &scope,
            now: read.now,
            longest: self.settings.access_lifetime_of(grant),
        };
        let mut answer = self.signed(&access)?;
        if grant.is_renewable {
            let token = RefreshToken {
                grant: grant.id,
                generation: grant.generation,
            };
            answer["refresh_token"] = token.write(&self.keys.seal()).into();
        }
        Ok(answer)
    }

    /// Returns the answer with an access token.
    fn signed(&self, access: &Access<'_>) -> Result<Value, OAuthError> {
        Ok(json!({
            "access_token": access.sign(&self.settings, &self.keys)?,
            "token_type": "Bearer",
            "expires_in": access.lifetime(),
            "scope": access.scope,
        }))
    }

    async fn revoked(&self, read: &Read) -> Result<(), OAuthError> {
        self.may_prove(read)?;
        let form = form(read)?;
        let client = self.proved(read, &form).await?.client;
        let token = required(&form, "token")?;
        let by_refresh = RefreshToken::read(token, &self.keys.seal()).map(|token| token.grant);
        let Some(id) = by_refresh.or_else(|| access::grant_of(token, &self.keys)) else {
            return Ok(());
        };
        let grant = self.store.grant(id, read.now).await?;
        if let Some(grant) = grant.filter(|grant| grant.client == client.id) {
            self.end(read, &grant, Why::Revoked).await?;
        }
        Ok(())
    }

    /// Ends a grant.
    pub(crate) async fn end(
        &self,
        read: &Read,
        grant: &Grant,
        why: Why,
    ) -> Result<(), Unavailable> {
        if self.store.end_grant(grant.id, why, read.now).await? {
            let event = Event::new(EventKind::GrantEnded).with_grant(grant);
            self.record(read, event.with_reason(why.name()));
        }
        Ok(())
    }
}

/// Reads the form of a request.
fn form(read: &Read) -> Result<Form, OAuthError> {
    if !Form::is_in(&read.parts.headers) {
        let problem = "the body must be application/x-www-form-urlencoded";
        return Err(OAuthError::new("invalid_request", problem));
    }
    let text = std::str::from_utf8(&read.body).ok();
    let form = text.and_then(|text| Form::read(text).ok());
    form.ok_or_else(|| OAuthError::new("invalid_request", "the form is malformed"))
}

/// Compares the redirect address of an exchange with the one of its request. OAuth 2.1 leaves it out
/// of the exchange.
fn is_same_redirect(asked: Option<&str>, given: Option<&str>) -> bool {
    given.is_none_or(|given| asked == Some(given))
}

fn required<'f>(form: &'f Form, name: &str) -> Result<&'f str, OAuthError> {
    let missing = || OAuthError::new("invalid_request", format!("{name} is missing"));
    form.get(name).ok_or_else(missing)
}

/// Returns the scope of one answer, which has no word that the grant has not.
fn smaller_scope(form: &Form, grant: &Grant) -> Result<String, OAuthError> {
    let Some(asked) = form.get("scope") else {
        return Ok(grant.scope.clone());
    };
    let allowed: Vec<_> = grant.scope.split(' ').collect();
    let asked: Vec<_> = asked.split(' ').filter(|word| !word.is_empty()).collect();
    if asked.is_empty() {
        return Ok(grant.scope.clone());
    }
    if !asked.iter().all(|word| allowed.contains(word)) {
        let problem = "scope has a word that was not allowed";
        return Err(OAuthError::new("invalid_scope", problem));
    }
    Ok(asked.join(" "))
}
