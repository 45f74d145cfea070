//! A request on its way through the pages of a browser.
//!
//! Nothing is kept before a person has signed in: the request travels sealed in the forms.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, header::COOKIE};
use serde::{Deserialize, Serialize};

use crate::{
    authorize::{Asked, Wish},
    clients::address,
    keys::{KeyError, Seal, digest, random, totp::Secret},
    people::Ticket,
    settings::Settings,
    store::{Digest, Seconds},
};

/// Time in which the pages have to be gone through.
const LIFETIME: Seconds = 15 * 60;

/// Purpose of the seal.
const USE: &str = "flow";

/// The thing that a person came for.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Goal {
    /// A client asks for tokens.
    Client(Box<Asked>),
    /// A device asks for tokens; the digest is of its device code.
    Device(Wish, Digest),
    /// A device waits for a person who types its code.
    UserCode,
    /// The page of the account.
    Account,
    /// The page of a ticket.
    Ticket(Ticket),
}

/// The way of a person through the pages, bound to a browser.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Flow {
    pub(crate) goal: Goal,
    at: Seconds,
    /// A number of its own, so that a form is used once.
    number: [u8; 16],
    /// Digest of the cookie of the browser.
    browser: Digest,
    /// Digest of the session, once there is one.
    session: Option<Digest>,
    /// The person who has to give or set up a second factor next.
    pub(crate) factor: Option<DueFactor>,
}

/// A second factor that a person has to give or set up.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct DueFactor {
    /// The id of the person.
    pub(crate) person: String,
    /// The secret that an authenticator app gets, where the person has no factor.
    pub(crate) secret: Option<Secret>,
    /// Number of wrong codes so far.
    pub(crate) wrong: u8,
}

/// The cookies of a browser.
#[derive(Debug, Default)]
pub(crate) struct Cookies {
    /// The cookie that binds a flow to the browser.
    pub(crate) browser: Option<String>,
    pub(crate) session: Option<String>,
}

// === impl Flow ===

impl Flow {
    pub(crate) fn new(goal: Goal, browser: &str, now: Seconds) -> Result<Self, KeyError> {
        Ok(Self {
            goal,
            at: now,
            number: random()?,
            browser: digest(browser.as_bytes()),
            session: None,
            factor: None,
        })
    }

    /// Returns the access that a person is asked for.
    pub(crate) fn wish(&self) -> Option<&Wish> {
        match &self.goal {
            Goal::Client(asked) => Some(&asked.wish),
            Goal::Device(wish, _) => Some(wish),
            Goal::UserCode | Goal::Account | Goal::Ticket(_) => None,
        }
    }

    /// Goes on to another goal in the same browser.
    pub(crate) fn with_goal(self, goal: Goal) -> Self {
        Self { goal, ..self }
    }

    /// Binds the flow to a session, for the page after the sign-in.
    pub(crate) fn of_session(mut self, session: Digest) -> Result<Self, KeyError> {
        self.session = Some(session);
        self.factor = None;
        self.number = random()?;
        Ok(self)
    }

    /// Begins again without a person.
    pub(crate) fn without_person(self) -> Self {
        Self {
            session: None,
            factor: None,
            ..self
        }
    }

    /// Begins the time anew, for the way to another provider and back.
    pub(crate) fn renewed(self, now: Seconds) -> Self {
        Self { at: now, ..self }
    }

    /// Goes on to a second factor. Each form for it has a number of its own.
    pub(crate) fn with_factor(mut self, factor: DueFactor) -> Result<Self, KeyError> {
        self.factor = Some(factor);
        self.number = random()?;
        Ok(self)
    }

    pub(crate) fn close(&self, seal: &Seal) -> Result<String, KeyError> {
        let text = serde_json::to_vec(self).map_err(|_| KeyError)?;
        seal.close(USE, text)
    }

    /// Opens a flow of this browser that is young enough.
    pub(crate) fn open(sealed: &str, seal: &Seal, cookies: &Cookies, now: Seconds) -> Option<Self> {
        let text = seal.open(USE, sealed)?;
        let flow: Self = serde_json::from_slice(&text).ok()?;
        let browser = cookies.browser.as_deref()?;
        let is_young = now < flow.ends_at();
        (is_young && flow.browser == digest(browser.as_bytes())).then_some(flow)
    }

    /// Returns whether the flow is of any session.
    pub(crate) fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// Returns whether the flow is of this session.
    pub(crate) fn is_of(&self, session: Digest) -> bool {
        self.session == Some(session)
    }

    /// Returns the moment at which it expires.
    pub(crate) fn ends_at(&self) -> Seconds {
        self.at + LIFETIME
    }

    /// Returns the digest of its number.
    pub(crate) fn form(&self) -> Digest {
        digest(&self.number)
    }
}

// === impl Cookies ===

impl Cookies {
    pub(crate) fn read(headers: &HeaderMap, settings: &Settings) -> Self {
        let mut cookies = Self::default();
        let texts = headers.get_all(COOKIE).into_iter();
        let texts = texts.filter_map(|text| text.to_str().ok());
        for (name, value) in texts
            .flat_map(|text| text.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
        {
            if name == cookie_name(settings, "flow") {
                cookies.browser = Some(value.to_owned());
            } else if name == cookie_name(settings, "session") {
                cookies.session = Some(value.to_owned());
            }
        }
        cookies
    }

    /// Returns the digest of the session.
    pub(crate) fn session_hash(&self) -> Option<Digest> {
        let session = self.session.as_ref()?;
        Some(digest(session.as_bytes()))
    }
}

/// Returns the header of a cookie. An empty value removes it.
pub(crate) fn set_cookie(settings: &Settings, kind: &str, value: &str, max_age: Seconds) -> String {
    let name = cookie_name(settings, kind);
    let secure = if is_secure(settings) { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}")
}

/// Returns a new value of a cookie.
pub(crate) fn cookie_value() -> Result<String, KeyError> {
    let bytes: [u8; 32] = random()?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

fn cookie_name(settings: &Settings, kind: &str) -> String {
    let prefix = &settings.cookie_prefix;
    if is_secure(settings) {
        return format!("__Host-{prefix}-{kind}");
    }
    let port = settings.issuer.rsplit_once(':').map(|(_, port)| port);
    let port = port.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    format!("{prefix}-{}-{kind}", port.unwrap_or("80"))
}

fn is_secure(settings: &Settings) -> bool {
    address::loopback_host(&settings.issuer).is_none()
}
