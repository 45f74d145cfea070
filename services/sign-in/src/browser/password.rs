//! A new password, on the page of the account.

use http::{StatusCode, header::SET_COOKIE};

use crate::{
    answer::{Answer, retry_after, with_header},
    browser::{Failure, TOO_MANY},
    events::{Event, EventKind},
    flow::{Cookies, Flow},
    keys::Keys,
    pages::account::Notice,
    people::{LoginError, PasswordChange, PasswordChangeError, People, Person},
    service::{Read, Shared},
    store::{Session, Store},
};

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Returns whether the person of a session may set a new password.
    pub(super) fn changes_password(&self, session: &Session) -> bool {
        let settings = &self.settings;
        settings.password_change && settings.password_login && session.origin.is_none()
    }

    /// Sets a new password, and ends all other sessions of the person.
    pub(super) async fn password_changed(
        &self,
        read: &Read,
        (cookies, flow): (Cookies, Flow),
        (session, person): (Session, Person),
        change: PasswordChange<'_>,
    ) -> Result<Answer, Failure> {
        let changed = self
            .people
            .change_password(&person.id, change, read.address);
        if let Err(error) = changed.await {
            return self
                .password_kept(read, &flow, (&session, &person), error)
                .await;
        }
        self.people.end_sessions(&person.id).await?;
        self.store.end_sessions(&person.id).await?;
        let used_at = read.now;
        let renewed = self.renewed(&cookies, Session { used_at, ..session });
        let (session, cookie) = renewed.await?;
        let flow = flow.of_session(session.hash)?;
        let notice = Some(Notice::Done("You have a new password."));
        let answer = self.account_page(read, &flow, &session, &person, notice);
        Ok(with_header(answer.await?, SET_COOKIE, &cookie))
    }

    /// Shows the page of the account again, with the reason why the password is as before.
    async fn password_kept(
        &self,
        read: &Read,
        flow: &Flow,
        (session, person): (&Session, &Person),
        error: PasswordChangeError,
    ) -> Result<Answer, Failure> {
        let (status, problem) = match &error {
            PasswordChangeError::Refused(problem) => (StatusCode::BAD_REQUEST, &**problem),
            PasswordChangeError::Login(LoginError::Wrong) => {
                (StatusCode::FORBIDDEN, "The present password is wrong.")
            }
            PasswordChangeError::Login(LoginError::TooMany { .. }) => {
                (StatusCode::TOO_MANY_REQUESTS, TOO_MANY)
            }
            PasswordChangeError::Login(LoginError::Unavailable) => {
                return Err(Failure::Unavailable);
            }
        };
        if let PasswordChangeError::Login(error) = &error {
            let event = Event::new(EventKind::of_login(*error));
            self.record(read, event.with_person(&person.id));
        }
        let notice = Some(Notice::Problem(problem));
        let mut answer = self
            .account_page(read, flow, session, person, notice)
            .await?;
        *answer.status_mut() = status;
        Ok(match error {
            PasswordChangeError::Login(LoginError::TooMany { retry_after: wait }) => {
                retry_after(answer, wait)
            }
            _ => answer,
        })
    }
}
