//! The consent of a person.

use http::StatusCode;

use crate::{
    answer::Answer,
    authorize::{Asked, Wish},
    browser::{CODE, CONSOLE_SESSION, Failure},
    clients::Client,
    documents,
    events::{Event, EventKind},
    flow::{Flow, Goal},
    keys::{KeyError, Keys, digest, random, secret},
    pages::{
        self, Page,
        consent::{self, Choices},
    },
    people::{People, Person},
    service::{Read, Shared},
    settings::Resource,
    store::{Code, Consent, GivenConsent, Grant, GrantId, Seconds, Session, Store},
};

/// The tenant and the databases that a person allows.
struct Chosen {
    tenant: Option<String>,
    /// Their names, if they are not all.
    databases: Option<Vec<String>>,
    /// Says that changes are allowed.
    may_write: bool,
    /// The named scopes among them.
    scopes: Vec<String>,
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    pub(super) async fn decided(&self, read: &Read) -> Result<Answer, Failure> {
        let (form, cookies, flow) = self.form(read)?;
        let wish = flow.wish().ok_or(Failure::Expired)?;
        let client = self.client_of(&wish.client, read).await?;
        let found = self.signed_in_at(&cookies, read.now).await?;
        let found = found.filter(|(session, _)| flow.is_of(session.hash));
        let (session, person) = found.ok_or(Failure::Expired)?;
        if form.get("decision") != Some("allow") {
            let event = Event::new(EventKind::ConsentDenied).with_person(&person.id);
            self.record(read, event.with_client(&client.id));
            return self.denied(read, &flow, &client).await;
        }
        let ticked: Vec<_> = form.ticked("database.").collect();
        let resource = self.resource_of(wish)?;
        let chosen = Chosen::of(resource, &person, |name| ticked.contains(&name));
        let Some(chosen) = chosen else {
            let again = Choices {
                tenant: form.get("tenant").map(str::to_owned),
                databases: Some(ticked.into_iter().map(str::to_owned).collect()),
                may_write: form.get("write").is_some(),
                scopes: Some(form.ticked("scope.").map(str::to_owned).collect()),
            };
            let again = Some(again);
            let mut answer = self.consent_page(&client, &flow, &person, again).await?;
            *answer.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(answer);
        };
        let chosen = chosen.with_write(form.get("write").is_some());
        let tenant = person.tenant(form.get("tenant"));
        let tenant = tenant.map_err(|_| Failure::Expired)?;
        let there = person.clone().within(tenant.as_deref());
        let there = there.ok_or(Failure::Expired)?;
        let ticked = form.ticked("scope.");
        let open = ticked.filter(|word| self.settings.may_allow(&there, word));
        let chosen = Chosen {
            tenant,
            scopes: open.map(str::to_owned).collect(),
            ..chosen
        };
        let grant = self
            .grant(wish, &client, &session, chosen, read.now)
            .await?;
        let answer = self.allowed(read, &flow, &client, &grant).await?;
        if self.settings.remember_consent {
            let given = GivenConsent {
                person: grant.person,
                tenant: grant.tenant,
                client: grant.client,
                resource: grant.resource,
                scope: grant.scope,
                databases: grant.databases,
                client_digest: client.digest(),
                given_at: read.now,
            };
            self.store.keep_consent(given).await?;
        }
        Ok(answer)
    }

    /// Tells a client that a person allows it nothing.
    async fn denied(&self, read: &Read, flow: &Flow, client: &Client) -> Result<Answer, Failure> {
        let Goal::Client(asked) = &flow.goal else {
            return self.device_denied(read, flow).await;
        };
        let address = self.back(asked, &[("error", "access_denied")]);
        Ok(pages::end(&self.settings, client, &address))
    }

    /// Gives a client the grant that a person allowed.
    async fn allowed(
        &self,
        read: &Read,
        flow: &Flow,
        client: &Client,
        grant: &Grant,
    ) -> Result<Answer, Failure> {
        let consent = Consent {
            hash: flow.form(),
            ends_at: flow.ends_at(),
        };
        let Goal::Client(asked) = &flow.goal else {
            return self.device_allowed(read, flow, grant, consent).await;
        };
        let granted = self.granted(read, asked, grant, Some(consent), false);
        let address = granted.await?;
        Ok(pages::end(&self.settings, client, &address))
    }

    /// Returns the address to go back to with a code, if the person gave this consent before and the
    /// client proves itself when it exchanges the code.
    ///
    /// A hostile server can name the pages of this server as its own, and have code and verifier sent
    /// to itself. Only a click or the proof of the client helps against it.
    pub(super) async fn skipped(
        &self,
        read: &Read,
        client: &Client,
        asked: &Asked,
        session: &Session,
        person: &Person,
    ) -> Result<Option<String>, Failure> {
        if self.settings.is_console(&client.id) {
            return self.entering(read, client, asked, session).await.map(Some);
        }
        let may_skip = self.settings.remember_consent
            && client.can_prove_itself()
            && !asked.prompts("consent")
            && asked.redirect.starts_with("https://");
        if !may_skip {
            return Ok(None);
        }
        let given = self.given(client, &asked.wish, person).await?;
        let resource = self.resource_of(&asked.wish)?;
        let wish = &asked.wish;
        let chosen = given.and_then(|given| self.again(&given, client, wish, resource, person));
        let Some(chosen) = chosen else {
            return Ok(None);
        };
        let chosen = chosen.with_write(asked.wish.wants_to_write(&self.settings));
        let grant = self
            .grant(&asked.wish, client, session, chosen, read.now)
            .await?;
        let address = self.granted(read, asked, &grant, None, true).await?;
        Ok(Some(address))
    }

    /// Returns the former choices of a person, if they have all that is asked for now and open to the
    /// person, and the client is still the same.
    fn again(
        &self,
        given: &GivenConsent,
        client: &Client,
        wish: &Wish,
        resource: &Resource,
        person: &Person,
    ) -> Option<Chosen> {
        let tenant = person.tenant(given.tenant.as_deref()).ok()?;
        let there = person.clone().within(tenant.as_deref())?;
        let is_open = |word: &&str| self.settings.may_allow(&there, word);
        let wanted = wish.scope.iter().map(String::as_str).filter(is_open);
        if !holds(given, client, &wanted.collect::<Vec<_>>()) {
            return None;
        }
        let chosen = Chosen::of(resource, person, |name| match &given.databases {
            Some(names) => names.iter().any(|it| it == name),
            None => true,
        });
        let open = given.scope.split(' ').filter(is_open);
        let scopes = open.map(str::to_owned).collect();
        chosen.map(|chosen| Chosen {
            tenant,
            scopes,
            ..chosen
        })
    }

    /// Returns the address of the program's own console with a code. Its grant is for one session
    /// there.
    async fn entering(
        &self,
        read: &Read,
        client: &Client,
        asked: &Asked,
        session: &Session,
    ) -> Result<String, Failure> {
        let chosen = Chosen {
            tenant: None,
            databases: None,
            may_write: false,
            scopes: Vec::new(),
        };
        let mut grant = self
            .grant(&asked.wish, client, session, chosen, read.now)
            .await?;
        grant.ends_at = grant.ends_at.min(read.now + CONSOLE_SESSION);
        grant.is_renewable = false;
        self.granted(read, asked, &grant, None, false).await
    }

    /// Returns the consent that a person gave before.
    async fn given(
        &self,
        client: &Client,
        wish: &Wish,
        person: &Person,
    ) -> Result<Option<GivenConsent>, Failure> {
        let (client, resource) = (&client.id, &wish.resource);
        let given = self.store.consent(&person.id, client, resource).await?;
        Ok(given.filter(|_| self.settings.remember_consent))
    }

    /// Keeps a grant, and returns the address to go back to with its code. Without a consent no person
    /// was asked.
    async fn granted(
        &self,
        read: &Read,
        asked: &Asked,
        grant: &Grant,
        consent: Option<Consent>,
        needs_proof: bool,
    ) -> Result<String, Failure> {
        let given = match consent {
            Some(_) => Some(EventKind::ConsentGiven),
            None => needs_proof.then_some(EventKind::ConsentSkipped),
        };
        let consent = consent.unwrap_or_else(|| Consent {
            hash: digest(&grant.id),
            ends_at: read.now,
        });
        let value = secret("zac_")?;
        let code = Code {
            hash: digest(value.as_bytes()),
            grant: grant.id,
            redirect_uri: asked.has_redirect.then(|| asked.redirect.clone()),
            challenge: asked.challenge.clone(),
            needs_proof,
            ends_at: read.now + CODE,
        };
        if !self.store.add_grant(grant.clone(), code, consent).await? {
            return Err(Failure::Expired);
        }
        for kind in given.into_iter().chain([EventKind::CodeIssued]) {
            self.record(read, Event::new(kind).with_grant(grant));
        }
        Ok(self.back(asked, &[("code", &value)]))
    }

    async fn grant(
        &self,
        wish: &Wish,
        client: &Client,
        session: &Session,
        chosen: Chosen,
        now: Seconds,
    ) -> Result<Grant, Failure> {
        let settings = &self.settings;
        let has_offline = wish.scope.iter().any(|scope| scope == "offline_access");
        let is_kept = |scope: &&str| match settings.named_scope(scope) {
            Some(named) => chosen.scopes.contains(&named.name),
            None => *scope != settings.write_scope,
        };
        let kept = wish.scope.iter().map(String::as_str).filter(is_kept);
        let write = chosen.may_write.then_some(settings.write_scope.as_str());
        let scope: Vec<_> = kept.chain(write).collect();
        Ok(Grant {
            id: new_id()?,
            person: session.person.clone(),
            tenant: chosen.tenant,
            client: client.id.clone(),
            resource: wish.resource.clone(),
            alias: wish.alias.clone(),
            scope: scope.join(" "),
            databases: chosen.databases,
            is_renewable: !settings.refresh_idle.is_zero() && (client.has_refresh || has_offline),
            signed_in_at: session.signed_in_at,
            amr: session.amr.clone(),
            origin: session.origin.clone(),
            made_at: now,
            used_at: now,
            ends_at: self.grant_ends_at(session, now).await?,
            generation: 0,
            rotated_at: now,
        })
    }

    /// Shows the page of the consent: for the first time, or again with the choices of a form
    /// without a database.
    pub(super) async fn consent_page(
        &self,
        client: &Client,
        flow: &Flow,
        person: &Person,
        again: Option<Choices>,
    ) -> Result<Answer, Failure> {
        let wish = flow.wish().ok_or(Failure::Expired)?;
        let problem = again.is_some().then_some("Choose at least one database.");
        let choices = match again {
            Some(choices) => choices,
            None => match self.given(client, wish, person).await? {
                Some(given) => given.into(),
                None => Choices::default(),
            },
        };
        let redirect = match &flow.goal {
            Goal::Client(asked) => Some(&*asked.redirect),
            _ => None,
        };
        let consent = consent::Consent {
            client,
            wish,
            redirect,
            person,
            resource: self.resource_of(wish)?,
            flow: &flow.close(&self.keys.seal())?,
            choices: &choices,
            problem,
        };
        let body = consent::consent(&self.settings, &consent);
        Ok(Page::new(&self.settings, "Allow access?", body).answer())
    }

    fn resource_of(&self, wish: &Wish) -> Result<&Resource, Failure> {
        let found = documents::find(&self.settings.resources, &wish.resource);
        found.map(|(resource, _)| resource).ok_or(Failure::Expired)
    }
}

/// Returns the id of a new grant. Its text never begins with a dash, which a command would read as a
/// flag.
fn new_id() -> Result<GrantId, KeyError> {
    let mut id: GrantId = random()?;
    id[0] &= 0x7f;
    Ok(id)
}

/// Returns whether a consent has all words that are asked for, and its client is still the same.
fn holds(given: &GivenConsent, client: &Client, wanted: &[&str]) -> bool {
    let has = |word: &&str| given.scope.split(' ').any(|other| other == *word);
    given.client_digest == client.digest() && wanted.iter().all(has)
}

// === impl Chosen ===

impl Chosen {
    /// Chooses among the databases of a person; `None` if nothing is left.
    fn of(resource: &Resource, person: &Person, is_chosen: impl Fn(&str) -> bool) -> Option<Self> {
        let all = resource.databases_of(person);
        let chosen: Vec<_> = all.iter().filter(|it| is_chosen(&it.name)).collect();
        if chosen.is_empty() && !all.is_empty() {
            return None;
        }
        let names = chosen.iter().map(|it| it.name.clone()).collect();
        let names_none = all.is_empty() && resource.is_writable;
        Some(Self {
            tenant: None,
            scopes: Vec::new(),
            may_write: names_none || chosen.iter().any(|it| it.is_writable),
            databases: (chosen.len() < all.len()).then_some(names),
        })
    }

    fn with_write(self, is_allowed: bool) -> Self {
        Self {
            may_write: self.may_write && is_allowed,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::ManualClient;

    #[test]
    fn a_consent_does_not_hold_for_a_client_that_has_changed() {
        let manual = ManualClient {
            id: "acme".to_owned(),
            name: "Acme".to_owned(),
            redirect_uris: vec!["https://acme.example/".to_owned()],
            secret_hash: Some([7; 32]),
            skip_consent: true,
        };
        let client = Client::from(&manual);
        let given = GivenConsent {
            person: "7".to_owned(),
            tenant: None,
            client: "acme".to_owned(),
            resource: "https://tools.example/mcp".to_owned(),
            scope: "mcp offline_access".to_owned(),
            databases: None,
            client_digest: client.digest(),
            given_at: 0,
        };
        let holds = |client: &Client| holds(&given, client, &["mcp"]);
        assert!(holds(&client));
        let name = "Acme Bank".to_owned();
        let renamed = ManualClient {
            name,
            ..manual.clone()
        };
        assert!(!holds(&Client::from(&renamed)));
        let redirect_uris = vec!["https://evil.example/".to_owned()];
        let moved = ManualClient {
            redirect_uris,
            ..manual
        };
        assert!(!holds(&Client::from(&moved)));
    }
}
