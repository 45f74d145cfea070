//! The sign-in and its end.

use std::time::Duration;

use http::{StatusCode, header::SET_COOKIE};

use crate::{
    answer::{Answer, retry_after, with_header},
    browser::{Failure, TOO_MANY},
    events::{Event, EventKind},
    flow::{Cookies, DueFactor, Flow, Goal, cookie_value, set_cookie},
    keys::{Keys, digest, random},
    pages::{self, Page},
    people::{LoginError, People, Person},
    service::{Due, Read, Shared},
    store::{Digest, Session, Store},
};

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    pub(super) async fn signed_in(&self, read: &Read) -> Result<Answer, Failure> {
        let (form, cookies, flow) = self.form(read)?;
        let flow = flow.without_person();
        let client = flow.wish().map(|wish| wish.client.as_str());
        let name = form.get("name").unwrap_or_default();
        let password = form.given("password").unwrap_or_default();
        let checked = if self.settings.password_login {
            self.people.authenticate(name, password, read.address).await
        } else {
            Err(LoginError::Wrong)
        };
        let found = match &checked {
            Ok(person) => self.people.find(person).await?,
            Err(_) => None,
        };
        let Some(person) = found else {
            let error = checked.err().unwrap_or(LoginError::Wrong);
            let event = Event::new(EventKind::of_login(error));
            self.record(read, Event { client, ..event });
            return self.not_signed_in(&flow, error, read).await;
        };
        let secret = match self.due_factor(&person.id).await? {
            Due::Nothing => {
                let (session, cookie) = self.opened(read, &cookies, &flow, &person, "pwd").await?;
                let answer = self.next_page(read, flow, &session, &person).await?;
                return Ok(with_header(answer, SET_COOKIE, &cookie));
            }
            Due::Code(_) => None,
            Due::SetUp => Some(random()?),
        };
        let factor = DueFactor {
            person: person.id.clone(),
            secret,
            wrong: 0,
        };
        self.factor_page(&flow.with_factor(factor)?, &person, None)
    }

    /// Opens a session for a person who has signed in. Returns the header of its cookie, too.
    pub(super) async fn opened(
        &self,
        read: &Read,
        cookies: &Cookies,
        flow: &Flow,
        person: &Person,
        amr: &str,
    ) -> Result<(Session, String), Failure> {
        let event = Event::new(EventKind::LoginOk).with_person(&person.id);
        let client = flow.wish().map(|wish| wish.client.as_str());
        self.record(read, Event { client, ..event });
        let session = Session {
            hash: Digest::default(),
            person: person.id.clone(),
            signed_in_at: read.now,
            amr: amr.to_owned(),
            origin: None,
            used_at: read.now,
            ends_at: read.now + self.settings.session_lifetime.as_secs(),
        };
        self.renewed(cookies, session).await
    }

    /// Gives a session a new value: at each sign-in and after a second factor. Returns the header of
    /// its cookie, too.
    pub(super) async fn renewed(
        &self,
        cookies: &Cookies,
        session: Session,
    ) -> Result<(Session, String), Failure> {
        if let Some(before) = cookies.session_hash() {
            self.store.end_session(before).await?;
        }
        let value = cookie_value()?;
        let session = Session {
            hash: digest(value.as_bytes()),
            ..session
        };
        self.store.add_session(session.clone()).await?;
        let lifetime = session.ends_at.saturating_sub(session.used_at);
        let cookie = set_cookie(&self.settings, "session", &value, lifetime);
        Ok((session, cookie))
    }

    /// Answers with the page that a person came for.
    pub(super) async fn next_page(
        &self,
        read: &Read,
        flow: Flow,
        session: &Session,
        person: &Person,
    ) -> Result<Answer, Failure> {
        let flow = flow.of_session(session.hash)?;
        let Some(wish) = flow.wish() else {
            return self.account_page(read, &flow, session, person, None).await;
        };
        let client = self.client_of(&wish.client, read).await?;
        if let Goal::Client(asked) = &flow.goal {
            let skipped = self.skipped(read, &client, asked, session, person);
            if let Some(address) = skipped.await? {
                return Ok(pages::end(&self.settings, &client, &address));
            }
        }
        self.consent_page(&client, &flow, person, None).await
    }

    async fn not_signed_in(
        &self,
        flow: &Flow,
        error: LoginError,
        read: &Read,
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
        let mut answer = self.login_page(flow, read, Some(problem)).await?;
        *answer.status_mut() = status;
        Ok(match wait {
            Some(wait) => retry_after(answer, wait),
            None => answer,
        })
    }

    pub(super) async fn signed_out(&self, read: &Read) -> Result<Answer, Failure> {
        let (_, cookies, flow) = self.form(read)?;
        if let Some(session) = cookies.session_hash() {
            self.store.end_session(session).await?;
        }
        let flow = flow.without_person();
        let answer = self.login_page(&flow, read, None).await?;
        let cookie = set_cookie(&self.settings, "session", "", 0);
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    pub(super) async fn login_page(
        &self,
        flow: &Flow,
        read: &Read,
        problem: Option<&str>,
    ) -> Result<Answer, Failure> {
        let client = match flow.wish() {
            Some(wish) => Some(self.client_of(&wish.client, read).await?),
            None => None,
        };
        let sealed = flow.close(&self.keys.seal())?;
        let body = pages::login(&self.settings, client.as_ref(), &sealed, problem);
        Ok(Page::new(&self.settings, "Sign in", body).answer())
    }
}
