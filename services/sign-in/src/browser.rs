//! The pages that a person goes through: sign-in, consent, and the way back to the client.

mod account;
mod consent;
mod device;
mod factor;
mod login;
mod password;
mod request;
mod ticket;
mod upstream;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderName, StatusCode, header::ORIGIN};
use ziggurat_layers::rate_limit::Limited;

use crate::{
    answer::{Answer, retry_after},
    clients::Client,
    flow::{Cookies, Flow, Goal, cookie_value, set_cookie},
    form::Form,
    keys::{KeyError, Keys, digest},
    pages::Page,
    people::{People, Person, Unavailable},
    service::{CALLBACK, Due, NoClient, Read, Shared, UPSTREAM},
    store::{Seconds, Session, Store},
};

/// Lifetime of the cookie that binds a flow to a browser.
const BROWSER: Seconds = 3600;

/// Longest lifetime of a session of the program's own console.
const CONSOLE_SESSION: Seconds = 24 * 3600;

/// Lifetime of a code.
const CODE: Seconds = 60;

/// Text for a person who has to wait.
const TOO_MANY: &str = "There were too many attempts. Try again later.";

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
    /// There is no client to go on with.
    NoClient(NoClient),
    /// The request cannot be read.
    Page(StatusCode, &'static str),
    /// A page with a text of this moment.
    Text(StatusCode, String),
    /// There were too many requests.
    TooMany(Limited),
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

impl From<Limited> for Failure {
    fn from(limited: Limited) -> Self {
        Self::TooMany(limited)
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

    /// Answers the form of a second factor.
    pub(crate) async fn second_factor(&self, read: &Read) -> Answer {
        self.factor_given(read)
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

    /// Shows the account of a person.
    pub(crate) async fn account(&self, read: &Read) -> Answer {
        self.account_asked(read)
            .await
            .unwrap_or_else(|it| self.failed(&it))
    }

    /// Answers a form of the page of the account.
    pub(crate) async fn change_account(&self, read: &Read) -> Answer {
        self.account_changed(read)
            .await
            .unwrap_or_else(|it| self.failed(&it))
    }

    /// Shows the form for the code of a device.
    pub(crate) fn device(&self, read: &Read) -> Answer {
        self.device_asked(read)
            .unwrap_or_else(|it| self.failed(&it))
    }

    /// Answers the form with the code of a device.
    pub(crate) async fn choose_device(&self, read: &Read) -> Answer {
        self.device_chosen(read)
            .await
            .unwrap_or_else(|it| self.failed(&it))
    }

    /// Sends a browser to a provider, or answers one that comes back.
    pub(crate) async fn upstream(&self, read: &Read) -> Answer {
        let path = read.parts.uri.path();
        let rest = path.strip_prefix(UPSTREAM).unwrap_or_default();
        let answer = match rest.strip_suffix(CALLBACK) {
            Some(name) => self.upstream_returned(read, name).await,
            None => self.upstream_asked(read, rest).await,
        };
        answer.unwrap_or_else(|it| self.failed(&it))
    }

    /// Shows the page of a ticket.
    pub(crate) async fn ticket(&self, read: &Read) -> Answer {
        self.ticket_asked(read)
            .await
            .unwrap_or_else(|it| self.failed(&it))
    }

    /// Answers the form of a ticket.
    pub(crate) async fn redeem_ticket(&self, read: &Read) -> Answer {
        self.ticket_redeemed(read)
            .await
            .unwrap_or_else(|it| self.failed(&it))
    }

    /// Begins the way of a browser through the pages. Returns the header of its cookie, too.
    fn begin(&self, goal: Goal, cookies: Cookies, now: Seconds) -> Result<(Flow, String), Failure> {
        let browser = match cookies.browser {
            Some(browser) => browser,
            None => cookie_value()?,
        };
        let cookie = set_cookie(&self.settings, "flow", &browser, BROWSER);
        Ok((Flow::new(goal, &browser, now)?, cookie))
    }

    /// Reads a form that a page of this server sent in this browser.
    fn form(&self, read: &Read) -> Result<(Form, Cookies, Flow), Failure> {
        let headers = &read.parts.headers;
        let (name, own) = if headers.contains_key(ORIGIN) {
            (ORIGIN, origin_of(&self.settings.issuer))
        } else {
            (HeaderName::from_static("sec-fetch-site"), "same-origin")
        };
        // A browser sends each of them once, and a text that cannot be read is not ours either.
        if !headers.get_all(name).iter().all(|it| it == own) {
            return Err(Failure::OtherSite);
        }
        if !Form::is_in(&read.parts.headers) {
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

    /// Returns the session of a browser and its person, who may still sign in.
    async fn signed_in_at(
        &self,
        cookies: &Cookies,
        now: Seconds,
    ) -> Result<Option<(Session, Person)>, Unavailable> {
        let Some(session) = self.session(cookies, now).await? else {
            return Ok(None);
        };
        // A session from before the second factor does not hold any more. A provider asks for its own.
        let asks_factor = session.origin.is_none() && !session.has_factor();
        if asks_factor && self.due_factor(&session.person).await? != Due::Nothing {
            return Ok(None);
        }
        let origin = session.origin.as_ref();
        let found = self.entitled(&session.person, origin).await?;
        Ok(found.map(|found| (session, found.person)))
    }

    async fn client_of(&self, id: &str, read: &Read) -> Result<Client, Failure> {
        let client = self.client(id, read).await;
        client.map_err(Failure::NoClient)
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
            Failure::NoClient(reason) => (reason.status(), &*reason.to_string()),
            Failure::Page(status, problem) => (*status, *problem),
            Failure::Text(status, problem) => (*status, problem.as_str()),
            Failure::TooMany(_) => (StatusCode::TOO_MANY_REQUESTS, TOO_MANY),
        };
        let answer = Page::failure(&self.settings, status, problem).answer();
        match failure {
            Failure::TooMany(limited) => retry_after(answer, limited.retry_after()),
            _ => answer,
        }
    }
}

/// Returns scheme, host and port of an address.
fn origin_of(address: &str) -> &str {
    let host = address.find("://").map_or(0, |at| at + 3);
    let end = address[host..]
        .find('/')
        .map_or(address.len(), |at| host + at);
    &address[..end]
}

/// Returns the challenge of a verifier.
pub(crate) fn challenge_of(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(verifier.as_bytes()))
}
