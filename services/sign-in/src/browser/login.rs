//! The sign-in and its end.

use std::time::Duration;

use http::{StatusCode, header::SET_COOKIE};

use crate::{
    answer::{Answer, retry_after, with_header},
    browser::{Failure, TOO_MANY},
    clients::Client,
    events::{Event, EventKind},
    flow::{Flow, cookie_value, set_cookie},
    keys::{Keys, digest},
    pages::{self, Page},
    people::{LoginError, People},
    service::{Read, Shared},
    store::{Session, Store},
};

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    pub(super) async fn signed_in(&self, read: &Read) -> Result<Answer, Failure> {
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
            let kind = match error {
                LoginError::TooMany { .. } => EventKind::LoginLocked,
                _ => EventKind::LoginFailed,
            };
            self.record(read, Event::new(kind).with_client(&client.id));
            return self.not_signed_in(&client, &flow, error);
        };
        let event = Event::new(EventKind::LoginOk).with_person(&person.id);
        self.record(read, event.with_client(&client.id));
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
        self.store.add_session(session.clone()).await?;
        let skipped = self.skipped(read, &client, &flow.asked, &session, &person);
        let answer = match skipped.await? {
            Some(address) => pages::end(&self.settings, &client, &address),
            None => self.consent_page(&client, &flow, &person, None).await?,
        };
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
                let status = StatusCode::TOO_MANY_REQUESTS;
                (status, TOO_MANY, Some(retry_after))
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
            Some(wait) => retry_after(answer, wait),
            None => answer,
        })
    }

    pub(super) async fn signed_out(&self, read: &Read) -> Result<Answer, Failure> {
        let (_, cookies, flow) = self.form(read)?;
        let client = self.client_of(&flow.asked.client, read.now).await?;
        if let Some(session) = cookies.session_hash() {
            self.store.end_session(session).await?;
        }
        let answer = self.login_page(&client, &flow, None)?;
        let cookie = set_cookie(&self.settings, "session", "", 0);
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    pub(super) fn login_page(
        &self,
        client: &Client,
        flow: &Flow,
        problem: Option<&str>,
    ) -> Result<Answer, Failure> {
        let sealed = flow.close(&self.keys.seal())?;
        let body = pages::login(&self.settings, client, &sealed, problem);
        Ok(Page::new(&self.settings, "Sign in", body).answer())
    }
}
