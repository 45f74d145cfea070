//! The account of a person: programs that may use it, and the end of all of it.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{StatusCode, header::SET_COOKIE};

use crate::{
    answer::{Answer, with_header},
    browser::Failure,
    events::{Event, EventKind},
    flow::{Cookies, DueFactor, Flow, Goal, set_cookie},
    keys::{Keys, random},
    pages::{
        Page,
        account::{self, Account, FactorState, Notice, Shown},
    },
    people::{PasswordChange, People, Person},
    service::{Read, Shared},
    settings::SecondFactor,
    store::{Grant, Seconds, Session, Store, Why},
};

/// Longest time after the sign-in in which a person sees and changes the account.
const YOUNG: Seconds = 3600;

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    pub(super) async fn account_asked(&self, read: &Read) -> Result<Answer, Failure> {
        self.limits.request(read.address)?;
        let cookies = Cookies::read(&read.parts.headers, &self.settings);
        let found = self.signed_in_at(&cookies, read.now).await?;
        let (flow, cookie) = self.begin(Goal::Account, cookies, read.now)?;
        let answer = match found.filter(|(session, _)| is_young(session, read.now)) {
            Some((session, person)) => {
                let flow = flow.of_session(session.hash)?;
                self.account_page(read, &flow, &session, &person, None)
                    .await?
            }
            None => self.login_page(&flow, read, None).await?,
        };
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    pub(super) async fn account_changed(&self, read: &Read) -> Result<Answer, Failure> {
        let (form, cookies, flow) = self.form(read)?;
        let found = self.signed_in_at(&cookies, read.now).await?;
        let is_own = |session: &Session| flow.goal == Goal::Account && flow.is_of(session.hash);
        let found = found.filter(|(session, _)| is_own(session));
        let (session, person) = found.ok_or(Failure::Expired)?;
        if !is_young(&session, read.now) {
            return self.login_page(&flow, read, None).await;
        }
        if let Some(id) = form.get("withdraw") {
            let text = if self.withdrawn(read, &person, id).await? {
                "The program can no longer use your account."
            } else {
                "The program could not use your account any more."
            };
            let notice = Some(Notice::Done(text));
            return self
                .account_page(read, &flow, &session, &person, notice)
                .await;
        }
        if form.get("everywhere").is_some() {
            return self.signed_out_everywhere(read, &person).await;
        }
        let has_password = session.origin.is_none();
        if has_password && form.get("set_up").is_some() {
            return self.factor_wanted(flow, &person);
        }
        if let (true, Some(new)) = (self.changes_password(&session), form.given("new_password")) {
            let present = form.given("present_password").unwrap_or_default();
            let change = PasswordChange { present, new };
            let person = (session, person);
            return self
                .password_changed(read, (cookies, flow), person, change)
                .await;
        }
        if has_password && form.get("remove").is_some() {
            let typed = form.get("code").unwrap_or_default();
            return self
                .factor_removed(read, flow, (&session, &person), typed)
                .await;
        }
        self.account_page(read, &flow, &session, &person, None)
            .await
    }

    /// Shows the set-up of a second factor.
    fn factor_wanted(&self, flow: Flow, person: &Person) -> Result<Answer, Failure> {
        if self.settings.second_factor == SecondFactor::Off {
            return Err(Failure::Expired);
        }
        let factor = DueFactor {
            person: person.id.clone(),
            secret: Some(random()?),
            wrong: 0,
        };
        self.factor_page(&flow.with_factor(factor)?, person, None)
    }

    /// Removes the second factor of a person who gives it once more.
    async fn factor_removed(
        &self,
        read: &Read,
        flow: Flow,
        (session, person): (&Session, &Person),
        typed: &str,
    ) -> Result<Answer, Failure> {
        let is_right = match self.store.factor(&person.id).await? {
            Some(factor) => self.is_right(read, &factor, typed).await?,
            None => false,
        };
        if !is_right {
            let notice = Some(Notice::Problem("The code is wrong."));
            let mut answer = self
                .account_page(read, &flow, session, person, notice)
                .await?;
            *answer.status_mut() = StatusCode::FORBIDDEN;
            return Ok(answer);
        }
        self.store.remove_factor(&person.id).await?;
        if self.settings.second_factor == SecondFactor::Required {
            return self.factor_wanted(flow, person);
        }
        let notice = Some(Notice::Done("A password alone opens your account now."));
        self.account_page(read, &flow, session, person, notice)
            .await
    }

    /// Ends a grant of a person and the consent for its client.
    async fn withdrawn(&self, read: &Read, person: &Person, id: &str) -> Result<bool, Failure> {
        let id = BASE64_URL_SAFE_NO_PAD.decode(id).ok();
        let Some(id) = id.and_then(|id| id.try_into().ok()) else {
            return Ok(false);
        };
        let grant = self.store.grant(id, read.now).await?;
        let Some(grant) = grant.filter(|grant| grant.person == person.id) else {
            return Ok(false);
        };
        let (client, resource) = (&grant.client, &grant.resource);
        let consent = self.store.withdraw_consent(&person.id, client, resource);
        if consent.await? {
            let event = Event::new(EventKind::ConsentWithdrawn);
            self.record(read, event.with_grant(&grant));
        }
        self.end(read, &grant, Why::Revoked).await?;
        Ok(true)
    }

    /// Ends all grants and sessions of a person.
    async fn signed_out_everywhere(&self, read: &Read, person: &Person) -> Result<Answer, Failure> {
        self.people.end_sessions(&person.id).await?;
        let grants = self.store.end_grants(&person.id, Why::Revoked, read.now);
        for grant in grants.await? {
            let event = Event::new(EventKind::GrantEnded).with_grant(&grant);
            self.record(read, event.with_reason(Why::Revoked.name()));
        }
        // Last, so that a person can try again after a failure.
        self.store.end_sessions(&person.id).await?;
        let body = "<p>You are signed out everywhere.</p>".to_owned();
        let answer = Page::new(&self.settings, "Signed out", body).answer();
        let cookie = set_cookie(&self.settings, "session", "", 0);
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    pub(super) async fn account_page(
        &self,
        read: &Read,
        flow: &Flow,
        session: &Session,
        person: &Person,
        notice: Option<Notice<'_>>,
    ) -> Result<Answer, Failure> {
        let mut grants = self.store.grants(&person.id, read.now).await?;
        // The store may end them later.
        let idle = self.settings.idle().as_secs();
        grants.retain(|grant| read.now < grant.used_at + idle);
        let mut shown = Vec::with_capacity(grants.len());
        for grant in grants {
            shown.push(self.shown(grant, read.now).await?);
        }
        let factor = match self.settings.second_factor {
            SecondFactor::Off => FactorState::Off,
            // The provider asks for its own.
            _ if session.origin.is_some() => FactorState::Off,
            _ => match self.store.factor(&person.id).await? {
                Some(factor) => FactorState::Present(factor.recovery.len()),
                None => FactorState::Absent,
            },
        };
        let account = Account {
            person,
            factor,
            has_password: self.changes_password(session),
            grants: &shown,
            flow: &flow.close(&self.keys.seal())?,
            notice,
            now: read.now,
        };
        let body = account::account(&self.settings, &account);
        Ok(Page::new(&self.settings, "Your account", body).answer())
    }

    async fn shown(&self, grant: Grant, now: Seconds) -> Result<Shown, Failure> {
        Ok(Shown {
            client: self.known_client(&grant.client, now).await?,
            id: BASE64_URL_SAFE_NO_PAD.encode(grant.id),
            grant,
        })
    }
}

fn is_young(session: &Session, now: Seconds) -> bool {
    now < session.signed_in_at + YOUNG
}
