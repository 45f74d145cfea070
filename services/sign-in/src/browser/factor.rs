//! The second factor of a person: codes of an authenticator app, or recovery codes.

use http::{StatusCode, header::SET_COOKIE};

use crate::{
    answer::{Answer, with_header},
    browser::Failure,
    events::{Event, EventKind},
    flow::{Cookies, DueFactor, Flow},
    keys::{
        Keys, base32, digest, random,
        totp::{self, Secret},
    },
    pages::{Page, factor},
    people::{People, Person},
    service::{Due, Read, Shared},
    store::{Digest, Factor, Session, Store},
};

/// Number of recovery codes.
const RECOVERY_CODES: usize = 10;

/// Number of letters of a recovery code.
const RECOVERY_LETTERS: usize = 16;

/// Number of wrong codes that end a sign-in.
const MAX_WRONG: u8 = 5;

/// The ways of a sign-in with a second factor (RFC 8176).
const WITH_FACTOR: &str = "pwd otp";

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    pub(super) async fn factor_given(&self, read: &Read) -> Result<Answer, Failure> {
        let (form, cookies, mut flow) = self.form(read)?;
        let Some(due) = flow.factor.take() else {
            // A person has seen the recovery codes.
            let found = self.signed_in_at(&cookies, read.now).await?;
            let found = found.filter(|(session, _)| flow.is_of(session.hash));
            let (session, person) = found.ok_or(Failure::Expired)?;
            return self.next_page(read, flow, &session, &person).await;
        };
        let person = self.people.find(&due.person).await?;
        let person = person.ok_or(Failure::Expired)?;
        let typed = form.get("code").unwrap_or_default();
        let secret = due.secret;
        let entrance = Entrance { cookies, flow, due };
        match secret {
            Some(secret) => {
                self.factor_set_up(read, entrance, &person, &secret, typed)
                    .await
            }
            None => self.code_given(read, entrance, &person, typed).await,
        }
    }

    /// Checks a code at a sign-in.
    async fn code_given(
        &self,
        read: &Read,
        entrance: Entrance,
        person: &Person,
        typed: &str,
    ) -> Result<Answer, Failure> {
        let Entrance { cookies, flow, due } = entrance;
        // A form counts once, so its number of wrong codes cannot be sent again.
        if !self
            .store
            .use_once(flow.form(), flow.ends_at(), read.now)
            .await?
        {
            return Err(Failure::Expired);
        }
        let Due::Code(factor) = self.due_factor(&person.id).await? else {
            return Err(Failure::Expired);
        };
        if self.is_right(read, &factor, typed).await? {
            let opened = self.opened(read, &cookies, &flow, person, WITH_FACTOR);
            let (session, cookie) = opened.await?;
            let answer = self.next_page(read, flow, &session, person).await?;
            return Ok(with_header(answer, SET_COOKIE, &cookie));
        }
        let wrong = due.wrong + 1;
        if wrong >= MAX_WRONG {
            let problem =
                "There were too many wrong codes. Go back to the program and start again.";
            return Err(Failure::Page(StatusCode::FORBIDDEN, problem));
        }
        let flow = flow.with_factor(DueFactor { wrong, ..due })?;
        let mut answer = self.factor_page(&flow, person, Some("The code is wrong."))?;
        *answer.status_mut() = StatusCode::FORBIDDEN;
        Ok(answer)
    }

    /// Returns whether a code is the next one of an app, or a recovery code. It is used then.
    pub(super) async fn is_right(
        &self,
        read: &Read,
        factor: &Factor,
        typed: &str,
    ) -> Result<bool, Failure> {
        let person = &factor.person;
        let guess = self.limits.factor(read.address, person)?;
        let step = self.secret_of(factor);
        let step = step.and_then(|secret| totp::step(&secret, typed, read.now));
        let is_right = match (step, recovery_hash(typed)) {
            (Some(step), _) => self.store.use_step(person, step).await?,
            (None, Some(hash)) => self.store.use_recovery(person, hash).await?,
            (None, None) => false,
        };
        if is_right {
            guess.was_right();
        } else {
            let event = Event::new(EventKind::SecondFactorFailed);
            self.record(read, event.with_person(person));
        }
        Ok(is_right)
    }

    /// Returns the secret of a factor. After a change of the seal only recovery codes are left.
    fn secret_of(&self, factor: &Factor) -> Option<Secret> {
        let secret = self
            .keys
            .seal()
            .open(&purpose(&factor.person), &factor.sealed);
        secret?.try_into().ok()
    }

    /// Keeps a new factor, once its app shows the right code, and shows the recovery codes.
    async fn factor_set_up(
        &self,
        read: &Read,
        entrance: Entrance,
        person: &Person,
        secret: &Secret,
        typed: &str,
    ) -> Result<Answer, Failure> {
        let Entrance { cookies, flow, due } = entrance;
        let session = self.session(&cookies, read.now).await?;
        let session = session.filter(|it| flow.is_of(it.hash) && it.person == person.id);
        if session.is_none() && flow.has_session() {
            return Err(Failure::Expired);
        }
        let Some(step) = totp::step(secret, typed, read.now) else {
            let flow = flow.with_factor(due)?;
            let mut answer = self.factor_page(&flow, person, Some("The code is wrong."))?;
            *answer.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(answer);
        };
        let codes = recovery_codes()?;
        let sealed = self
            .keys
            .seal()
            .close(&purpose(&person.id), secret.to_vec())?;
        let factor = Factor {
            person: person.id.clone(),
            sealed,
            last_step: step,
            recovery: codes
                .iter()
                .filter_map(|code| recovery_hash(code))
                .collect(),
        };
        // Who has one by now must give it: a password alone replaces no factor.
        if !self.store.add_factor(factor).await? {
            return Err(Failure::Expired);
        }
        let opened = match session {
            Some(session) => {
                let amr = WITH_FACTOR.to_owned();
                let used_at = read.now;
                self.renewed(
                    &cookies,
                    Session {
                        amr,
                        used_at,
                        ..session
                    },
                )
                .await?
            }
            None => {
                self.opened(read, &cookies, &flow, person, WITH_FACTOR)
                    .await?
            }
        };
        let (session, cookie) = opened;
        let sealed = flow.of_session(session.hash)?.close(&self.keys.seal())?;
        let body = factor::recovery(&self.settings, &sealed, &codes);
        let answer = Page::new(&self.settings, "Recovery codes", body).answer();
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    /// Shows the form for a code, or for the set-up of an app.
    pub(super) fn factor_page(
        &self,
        flow: &Flow,
        person: &Person,
        problem: Option<&str>,
    ) -> Result<Answer, Failure> {
        let due = flow.factor.as_ref().ok_or(Failure::Expired)?;
        let sealed = flow.close(&self.keys.seal())?;
        let (title, body) = match &due.secret {
            Some(secret) => {
                let key = base32(secret, totp::LETTERS).to_uppercase();
                let body = factor::set_up(&self.settings, &sealed, person, &key, problem);
                ("Set up a second factor", body)
            }
            None => (
                "Second factor",
                factor::code(&self.settings, &sealed, problem),
            ),
        };
        Ok(Page::new(&self.settings, title, body).answer())
    }
}

/// A person on the way through the second factor.
struct Entrance {
    cookies: Cookies,
    flow: Flow,
    due: DueFactor,
}

/// Returns the purpose of the seal of a person, so that a secret is of no use in another row.
fn purpose(person: &str) -> String {
    format!("factor {person}")
}

/// Returns new recovery codes, in groups of four letters.
fn recovery_codes() -> Result<Vec<String>, Failure> {
    let code = |_| {
        let bytes: [u8; 10] = random()?;
        let letters = base32(&bytes, RECOVERY_LETTERS);
        Ok(factor::grouped(&letters, "-"))
    };
    (0..RECOVERY_CODES).map(code).collect()
}

/// Returns the digest of a recovery code as a person typed it.
fn recovery_hash(typed: &str) -> Option<Digest> {
    let letters = typed.chars().filter(char::is_ascii_alphanumeric);
    let code: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    (code.len() == RECOVERY_LETTERS).then(|| digest(code.as_bytes()))
}
