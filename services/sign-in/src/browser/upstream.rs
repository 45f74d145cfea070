//! The sign-in at another provider (`OpenID` Connect).

use std::time::Duration;

use http::{StatusCode, header::SET_COOKIE};

use crate::{
    answer::{Answer, see_other, with_header},
    browser::{Failure, challenge_of, request::with_parameters},
    events::{Event, EventKind},
    flow::{Cookies, Flow, Goal},
    form::Form,
    keys::{Keys, digest, secret},
    people::People,
    providers::{
        NoTokens, Signer, Unsigned,
        configured::Upstream,
        id_token::{self, Bound},
        mapping::Claims,
    },
    service::{Confirmed, NoAccess, Profile, Read, Shared},
    store::{Attempt, Digest, Link, Origin, Seconds, Session, Store},
};

/// Time that a sign-in at a provider may take.
const LIFETIME: Seconds = 15 * 60;

/// Purpose of the seal of a verifier.
const VERIFIER: &str = "upstream verifier";

/// Longest error of a provider on a page, in letters.
const LONGEST_ERROR: usize = 64;

/// A person whom a provider has confirmed.
struct Arrived {
    claims: Claims,
    origin: Origin,
    refresh: Option<String>,
}

/// Reasons why a provider did not confirm a person.
enum NotConfirmed {
    /// The check that failed, for the record.
    Check(&'static str),
    /// The provider refused, with this code.
    Refused(String),
    /// The provider or the store cannot be used at the moment.
    Unavailable,
}

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Sends a browser to a provider.
    pub(super) async fn upstream_asked(&self, read: &Read, name: &str) -> Result<Answer, Failure> {
        let upstream = self.named_upstream(name)?;
        self.limits.attempt(read.address)?;
        let query = Form::read(read.parts.uri.query().unwrap_or_default());
        let query = query.map_err(|_| Failure::Expired)?;
        let cookies = Cookies::read(&read.parts.headers, &self.settings);
        let sealed = query.get("flow").unwrap_or_default();
        let flow = Flow::open(sealed, &self.keys.seal(), &cookies, read.now);
        let flow = flow.ok_or(Failure::Expired)?.without_person();
        let documents = self
            .providers
            .documents(Signer::Login(upstream), false, read.now);
        let documents = documents.await.ok_or(Failure::Unavailable)?;
        let metadata = documents.metadata.as_ref();
        let endpoint = metadata.and_then(|it| it.authorization_endpoint.as_deref());
        let endpoint = endpoint.ok_or(Failure::Unavailable)?;
        let [state, nonce, verifier] = [secret("")?, secret("")?, secret("")?];
        let attempt = Attempt {
            hash: hash_of(upstream, &state),
            flow: flow.clone().renewed(read.now).close(&self.keys.seal())?,
            nonce: digest(nonce.as_bytes()),
            verifier: self
                .keys
                .seal()
                .close(VERIFIER, verifier.clone().into_bytes())?,
            ends_at: read.now + LIFETIME,
        };
        if !self.store.add_attempt(attempt, read.now).await? {
            return Err(Failure::Unavailable);
        }
        let (redirect, scope) = (self.callback(upstream), upstream.scopes.join(" "));
        let challenge = challenge_of(&verifier);
        let mut parameters = vec![
            ("response_type", "code"),
            ("client_id", &*upstream.client_id),
            ("redirect_uri", &redirect),
            ("scope", &scope),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        parameters.extend(prompt(&flow).map(|prompt| ("prompt", prompt)));
        Ok(see_other(&with_parameters(endpoint, &parameters)))
    }

    /// Answers a browser that comes back from a provider.
    pub(super) async fn upstream_returned(
        &self,
        read: &Read,
        name: &str,
    ) -> Result<Answer, Failure> {
        let upstream = self.named_upstream(name)?;
        let cookies = Cookies::read(&read.parts.headers, &self.settings);
        let (flow, arrived) = match self.arrived(read, upstream, &cookies).await {
            Ok(arrived) => arrived,
            Err(NotConfirmed::Unavailable) => return Err(Failure::Unavailable),
            Err(NotConfirmed::Refused(code)) => {
                self.upstream_refused(read, None, "the provider refused");
                let text = format!("{} refused: {code}", upstream.title);
                return Err(Failure::Text(StatusCode::FORBIDDEN, text));
            }
            Err(NotConfirmed::Check(reason)) => {
                self.upstream_refused(read, None, reason);
                let text = format!("{} did not confirm who you are.", upstream.title);
                return Err(Failure::Text(StatusCode::FORBIDDEN, text));
            }
        };
        let rules = &upstream.rules;
        let profile = match Profile::read(&arrived.claims, rules, upstream.provision) {
            Ok(profile) => profile,
            Err(reason) => return Err(self.no_access(read, Some(&flow), reason)),
        };
        let before = self.store.link(&arrived.origin).await?;
        let confirmed = Confirmed {
            issuer: &upstream.issuer,
            origin: &arrived.origin,
            profile: &profile,
            provision: upstream.provision,
        };
        let Some(person) = self.admitted(confirmed, before.as_ref()).await? else {
            return Err(self.no_access(read, Some(&flow), NoAccess::NotAdmitted));
        };
        let link = Link {
            origin: arrived.origin.clone(),
            person: person.id.clone(),
            claims: profile.text()?,
            refresh: self.sealed_refresh(&arrived, before)?,
            checked_at: read.now,
        };
        let amr = id_token::ways(&arrived.claims);
        let session = self.session_of(upstream, &link, amr, read.now);
        self.store.keep_link(link).await?;
        let event = Event::new(EventKind::UpstreamOk).with_person(&person.id);
        let client = flow.wish().map(|wish| wish.client.as_str());
        self.record(read, Event { client, ..event });
        let (session, cookie) = self.renewed(&cookies, session).await?;
        let person = profile.entitle(person).person;
        let answer = self.next_page(read, flow, &session, &person).await?;
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    /// Checks the answer of a provider, and returns the person with the way that was begun.
    async fn arrived(
        &self,
        read: &Read,
        upstream: &Upstream,
        cookies: &Cookies,
    ) -> Result<(Flow, Arrived), NotConfirmed> {
        let query = Form::read(read.parts.uri.query().unwrap_or_default());
        let query = query.map_err(|_| NotConfirmed::Check("query"))?;
        let hash = hash_of(upstream, query.get("state").unwrap_or_default());
        let attempt = self.store.use_attempt(hash, read.now).await;
        let attempt = attempt.map_err(|_| NotConfirmed::Unavailable)?;
        let attempt = attempt.ok_or(NotConfirmed::Check("state"))?;
        // Another browser has begun it: its person would get the account of this one.
        let flow = Flow::open(&attempt.flow, &self.keys.seal(), cookies, read.now);
        let flow = flow.ok_or(NotConfirmed::Check("browser"))?;
        if query.get("iss").is_some_and(|iss| iss != upstream.issuer) {
            return Err(NotConfirmed::Check("iss"));
        }
        if let Some(code) = query.get("error") {
            return Err(NotConfirmed::Refused(shown_error(code)));
        }
        let code = query.get("code").ok_or(NotConfirmed::Check("code"))?;
        let arrived = self.exchanged_code(read, upstream, &attempt, code).await?;
        Ok((flow, arrived))
    }

    /// Exchanges the code of a provider, and checks the ID token.
    async fn exchanged_code(
        &self,
        read: &Read,
        upstream: &Upstream,
        attempt: &Attempt,
        code: &str,
    ) -> Result<Arrived, NotConfirmed> {
        let verifier = self.keys.seal().open(VERIFIER, &attempt.verifier);
        let verifier = verifier.and_then(|verifier| String::from_utf8(verifier).ok());
        let verifier = verifier.ok_or(NotConfirmed::Check("verifier"))?;
        let signer = Signer::Login(upstream);
        let documents = self.providers.documents(signer, false, read.now).await;
        let documents = documents.ok_or(NotConfirmed::Unavailable)?;
        let metadata = documents.metadata.as_ref();
        let metadata = metadata.ok_or(NotConfirmed::Unavailable)?;
        let redirect = self.callback(upstream);
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &*redirect),
            ("code_verifier", &*verifier),
        ];
        let tokens = self.providers.tokens(upstream, metadata, &form).await;
        let tokens = tokens.map_err(|reason| match reason {
            NoTokens::Refused => NotConfirmed::Check("code"),
            NoTokens::Unreachable => NotConfirmed::Unavailable,
        })?;
        let token = tokens.id_token.ok_or(NotConfirmed::Check("id_token"))?;
        let payload = self.providers.payload(signer, &token, read.now).await;
        let payload = payload.map_err(|reason| match reason {
            Unsigned::Invalid => NotConfirmed::Check("signature"),
            Unsigned::Unreachable => NotConfirmed::Unavailable,
        })?;
        let claims = Claims::read(&payload).ok_or(NotConfirmed::Check("claims"))?;
        let bound = Bound::Nonce(attempt.nonce);
        let checked = id_token::check(&claims, upstream, bound, read.now);
        checked.map_err(NotConfirmed::Check)?;
        let subject = id_token::subject(&claims).unwrap_or_default().to_owned();
        Ok(Arrived {
            claims,
            origin: Origin {
                provider: upstream.name.clone(),
                subject,
            },
            refresh: tokens.refresh_token,
        })
    }

    /// Returns the session of a person who comes from a provider. Without a refresh token there it ends
    /// with the grants that it makes.
    fn session_of(&self, upstream: &Upstream, link: &Link, amr: String, now: Seconds) -> Session {
        let longest = match link.refresh {
            Some(_) => Duration::MAX,
            None => upstream.without_refresh,
        };
        let lifetime = self.settings.session_lifetime.min(longest);
        Session {
            hash: Digest::default(),
            person: link.person.clone(),
            signed_in_at: now,
            amr,
            origin: Some(link.origin.clone()),
            used_at: now,
            ends_at: now + lifetime.as_secs(),
        }
    }

    /// Returns the refresh token to keep. Some providers give one at the first sign-in alone.
    fn sealed_refresh(
        &self,
        arrived: &Arrived,
        before: Option<Link>,
    ) -> Result<Option<String>, Failure> {
        let Some(token) = &arrived.refresh else {
            return Ok(before.and_then(|link| link.refresh));
        };
        let sealed = self.keys.seal().close_refresh(&arrived.origin, token)?;
        Ok(Some(sealed))
    }

    fn no_access(&self, read: &Read, flow: Option<&Flow>, reason: NoAccess) -> Failure {
        self.upstream_refused(read, flow, reason.name());
        let (status, text) = reason.page();
        Failure::Page(status, text)
    }

    fn upstream_refused(&self, read: &Read, flow: Option<&Flow>, reason: &'static str) {
        let event = Event::new(EventKind::UpstreamRefused).with_reason(reason);
        let client = flow.and_then(Flow::wish).map(|wish| wish.client.as_str());
        self.record(read, Event { client, ..event });
    }

    fn named_upstream(&self, name: &str) -> Result<&Upstream, Failure> {
        self.settings.upstream(name).ok_or(Failure::Page(
            StatusCode::NOT_FOUND,
            "There is no such way to sign in.",
        ))
    }

    fn callback(&self, upstream: &Upstream) -> String {
        let path = format!("/oauth/upstream/{}/callback", upstream.name);
        self.settings.address(&path)
    }
}

/// Returns the digest of a state, which is good at one provider.
fn hash_of(upstream: &Upstream, state: &str) -> Digest {
    digest(format!("{}\0{state}", upstream.name).as_bytes())
}

/// Returns the prompt for the provider: a client that wants a new sign-in wants one there.
fn prompt(flow: &Flow) -> Option<&'static str> {
    let Goal::Client(asked) = &flow.goal else {
        return None;
    };
    let mut words = ["login", "select_account"].into_iter();
    words.find(|word| asked.prompts(word))
}

/// Returns the code of an error without letters that no code has (RFC 6749, section 4.1.2.1).
fn shown_error(code: &str) -> String {
    let letters = code.chars().filter(|c| matches!(c, ' '..='~'));
    letters.take(LONGEST_ERROR).collect()
}
