//! The authorization request, and the way back to the client.

use http::{StatusCode, header::SET_COOKIE};
use ziggurat_text::percent;

use crate::{
    answer::{Answer, see_other, with_header},
    authorize::{self, Asked, Refused, Told},
    browser::Failure,
    clients::Client,
    flow::{Cookies, Goal},
    form::Form,
    keys::Keys,
    pages,
    people::People,
    service::{Read, Shared},
    store::{Seconds, Session, Store},
};

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    pub(super) async fn asked(&self, read: &Read) -> Result<Answer, Failure> {
        self.limits.request(read.address)?;
        let malformed = Failure::Page(StatusCode::BAD_REQUEST, "The sign-in request is malformed.");
        let query = read.parts.uri.query().unwrap_or_default();
        if query.len() > authorize::LONGEST {
            return Err(malformed);
        }
        let form = Form::read(query).map_err(|_| malformed)?;
        let client = self
            .client_of(form.get("client_id").unwrap_or_default(), read)
            .await?;
        let asked = match authorize::check(&form, &client, &self.settings) {
            Ok(asked) => asked,
            Err(Refused::Page(problem)) => {
                return Err(Failure::Page(StatusCode::BAD_REQUEST, problem));
            }
            Err(Refused::Client(told)) => return Ok(self.told(&client, &told)),
        };
        let cookies = Cookies::read(&read.parts.headers, &self.settings);
        let found = self.signed_in_at(&cookies, read.now).await?;
        let found = found.filter(|(session, _)| is_fresh(session, &asked, &form, read.now));
        if let Some((session, person)) = &found {
            let skipped = self.skipped(read, &client, &asked, session, person);
            if let Some(address) = skipped.await? {
                return Ok(see_other(&address));
            }
        }
        if asked.prompts("none") {
            let code = match found {
                Some(_) => "consent_required",
                None => "login_required",
            };
            let told = Told {
                is_direct: authorize::is_direct(&client, &asked.redirect),
                redirect: asked.redirect,
                state: asked.state,
                code,
                problem: "a person has to look at a page",
            };
            return Ok(self.told(&client, &told));
        }
        let (flow, cookie) = self.begin(Goal::Client(Box::new(asked)), cookies, read.now)?;
        let answer = match found {
            Some((session, person)) => {
                let flow = flow.of_session(session.hash)?;
                self.consent_page(&client, &flow, &person, None).await?
            }
            None => self.login_page(&flow, read, None).await?,
        };
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    /// Tells a client the error of its request.
    fn told(&self, client: &Client, told: &Told) -> Answer {
        let mut parameters = vec![("error", told.code), ("error_description", told.problem)];
        parameters.extend(told.state.as_deref().map(|state| ("state", state)));
        parameters.push(("iss", &self.settings.issuer));
        let address = with_parameters(&told.redirect, &parameters);
        if told.is_direct {
            see_other(&address)
        } else {
            pages::told(&self.settings, client, told, &address)
        }
    }

    /// Returns the address that a browser goes back to.
    pub(super) fn back(&self, asked: &Asked, parameters: &[(&str, &str)]) -> String {
        let mut parameters = parameters.to_vec();
        parameters.extend(asked.state.as_deref().map(|state| ("state", state)));
        parameters.push(("iss", &self.settings.issuer));
        with_parameters(&asked.redirect, &parameters)
    }
}

/// Returns whether a session is good enough for a request.
fn is_fresh(session: &Session, asked: &Asked, form: &Form, now: Seconds) -> bool {
    let age = now.saturating_sub(session.signed_in_at);
    let max_age = form.get("max_age").and_then(|age| age.parse().ok());
    let is_young = max_age.is_none_or(|max_age: Seconds| age <= max_age);
    is_young && !asked.prompts("login") && !asked.prompts("select_account")
}

/// Adds parameters to the query of an address.
pub(super) fn with_parameters(address: &str, parameters: &[(&str, &str)]) -> String {
    let mut text = address.to_owned();
    for (name, value) in parameters {
        text.push(if text.contains('?') { '&' } else { '?' });
        text.push_str(name);
        text.push('=');
        text.extend(percent::encode(value));
    }
    text
}
