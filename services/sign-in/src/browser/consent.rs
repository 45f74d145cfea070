//! The consent of a person.

use http::StatusCode;

use crate::{
    answer::Answer,
    browser::{CODE, Failure},
    clients::Client,
    documents,
    events::{Event, EventKind},
    flow::Flow,
    keys::{Keys, digest, random, secret},
    pages::{self, Page},
    people::{People, Person},
    service::{Read, Shared},
    store::{Code, Consent, Grant, Seconds, Session, Store},
};

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    pub(super) async fn decided(&self, read: &Read) -> Result<Answer, Failure> {
        let (form, cookies, flow) = self.form(read)?;
        let client = self.client_of(&flow.asked.client, read.now).await?;
        let session = self.session(&cookies, read.now).await?;
        let session = session.filter(|session| flow.is_of(session.hash));
        let session = session.ok_or(Failure::Expired)?;
        let person = self.people.find(&session.person).await?;
        let person = person.ok_or(Failure::Expired)?;
        let asked = &flow.asked;
        if form.get("decision") != Some("allow") {
            let event = Event::new(EventKind::ConsentDenied).with_person(&person.id);
            self.record(read, event.with_client(&client.id));
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
        if !self.store.add_grant(grant.clone(), code, consent).await? {
            return Err(Failure::Expired);
        }
        for kind in [EventKind::ConsentGiven, EventKind::CodeIssued] {
            self.record(read, Event::new(kind).with_grant(&grant));
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

    pub(super) fn consent_page(
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
}
