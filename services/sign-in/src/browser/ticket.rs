//! Tickets: a person joins a tenant, or sets a new password.

use http::{StatusCode, header::SET_COOKIE};

use crate::{
    answer::{Answer, retry_after, with_header},
    browser::{Failure, TOO_MANY},
    events::{Event, EventKind},
    flow::{Cookies, Flow, Goal},
    form::Form,
    keys::Keys,
    pages::{Page, ticket},
    people::{Given, LoginError, People, Ticket, TicketError, TicketHolder},
    service::{INVITES, Read, Shared},
    store::Store,
};

const GONE: Failure = Failure::Page(
    StatusCode::NOT_FOUND,
    "This address was used before, or has expired.",
);

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    pub(super) async fn ticket_asked(&self, read: &Read) -> Result<Answer, Failure> {
        self.limits.request(read.address)?;
        let query = Form::read(read.parts.uri.query().unwrap_or_default()).unwrap_or_default();
        let token = query.get("token").ok_or(GONE)?.to_owned();
        let ticket = match read.parts.uri.path().strip_prefix(INVITES) {
            Some(id) => Ticket::Invite {
                id: id.to_owned(),
                token,
            },
            None => Ticket::Reset { token },
        };
        let holder = self.people.ticket(&ticket).await?.ok_or(GONE)?;
        let cookies = Cookies::read(&read.parts.headers, &self.settings);
        let (flow, cookie) = self.begin(Goal::Ticket(ticket), cookies, read.now)?;
        let answer = self.ticket_page(read, &flow, &holder, None)?;
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    pub(super) async fn ticket_redeemed(&self, read: &Read) -> Result<Answer, Failure> {
        let (form, _, flow) = self.form(read)?;
        let Goal::Ticket(ticket) = &flow.goal else {
            return Err(Failure::Expired);
        };
        let holder = self.people.ticket(ticket).await?.ok_or(GONE)?;
        let given = Given {
            first_name: form.get("first_name").unwrap_or_default(),
            last_name: form.get("last_name").unwrap_or_default(),
            password: form.given("password").unwrap_or_default(),
        };
        let used = self.people.use_ticket(ticket, given, read.address).await;
        let person = match used {
            Ok(person) => person,
            Err(TicketError::Gone) => return Err(GONE),
            Err(TicketError::Refused(problem)) => {
                return self.not_redeemed(read, &flow, &holder, &problem, StatusCode::BAD_REQUEST);
            }
            Err(TicketError::Login(LoginError::Unavailable)) => return Err(Failure::Unavailable),
            Err(TicketError::Login(error)) => {
                self.record(read, Event::new(EventKind::LoginFailed));
                let LoginError::TooMany { retry_after: wait } = error else {
                    let (problem, status) = ("The password is wrong.", StatusCode::FORBIDDEN);
                    return self.not_redeemed(read, &flow, &holder, problem, status);
                };
                let status = StatusCode::TOO_MANY_REQUESTS;
                let answer = self.not_redeemed(read, &flow, &holder, TOO_MANY, status)?;
                return Ok(retry_after(answer, wait));
            }
        };
        if let Ticket::Reset { .. } = ticket {
            // A browser that knows the former password is signed in no longer.
            self.store.end_sessions(&person).await?;
        }
        let text = "<p>Your account is ready. You can close this page, and sign in.</p>";
        Ok(Page::new(&self.settings, "Done", text.to_owned()).answer())
    }

    fn not_redeemed(
        &self,
        read: &Read,
        flow: &Flow,
        holder: &TicketHolder,
        problem: &str,
        status: StatusCode,
    ) -> Result<Answer, Failure> {
        let mut answer = self.ticket_page(read, flow, holder, Some(problem))?;
        *answer.status_mut() = status;
        Ok(answer)
    }

    fn ticket_page(
        &self,
        read: &Read,
        flow: &Flow,
        holder: &TicketHolder,
        problem: Option<&str>,
    ) -> Result<Answer, Failure> {
        let sealed = flow.close(&self.keys.seal())?;
        let path = read.parts.uri.path();
        let body = ticket::ticket(&self.settings, path, holder, &sealed, problem);
        let title = if holder.tenant.is_some() {
            "Join"
        } else {
            "New password"
        };
        Ok(Page::new(&self.settings, title, body).answer())
    }
}
