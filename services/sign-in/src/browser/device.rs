//! The code of a device, which a person types.

use http::{StatusCode, header::SET_COOKIE};

use crate::{
    answer::{Answer, with_header},
    authorize::Wish,
    browser::Failure,
    clients::user_code,
    events::{Event, EventKind},
    flow::{Cookies, Flow, Goal},
    form::Form,
    keys::Keys,
    pages::{Page, device},
    people::People,
    service::{Read, Shared},
    store::{Consent, Device, Digest, Grant, Store},
};

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Asks for the code, also if the address has it: a person who did not start anything on a
    /// device has a page to stop at.
    pub(super) fn device_asked(&self, read: &Read) -> Result<Answer, Failure> {
        let cookies = Cookies::read(&read.parts.headers, &self.settings);
        let (flow, cookie) = self.begin(Goal::UserCode, cookies, read.now)?;
        let query = Form::read(read.parts.uri.query().unwrap_or_default());
        let query = query.unwrap_or_default();
        let given = query.get("user_code").and_then(user_code::read);
        let answer = self.device_page(&flow, given.as_deref(), None)?;
        Ok(with_header(answer, SET_COOKIE, &cookie))
    }

    pub(super) async fn device_chosen(&self, read: &Read) -> Result<Answer, Failure> {
        let (form, cookies, flow) = self.form(read)?;
        if flow.goal != Goal::UserCode {
            return Err(Failure::Expired);
        }
        let guess = self.limits.user_code(read.address)?;
        let code = form.get("user_code").and_then(user_code::hash);
        let device = match code {
            Some(code) => self.store.device(code, read.now).await?,
            None => None,
        };
        let Some(device) = device else {
            let problem = Some("The code is wrong or has expired.");
            let mut answer = self.device_page(&flow, None, problem)?;
            *answer.status_mut() = StatusCode::BAD_REQUEST;
            return Ok(answer);
        };
        guess.was_right();
        let flow = flow.with_goal(goal_of(device));
        match self.signed_in_at(&cookies, read.now).await? {
            Some((session, person)) => self.next_page(read, flow, &session, &person).await,
            None => self.login_page(&flow, read, None).await,
        }
    }

    pub(super) async fn device_allowed(
        &self,
        read: &Read,
        flow: &Flow,
        grant: &Grant,
        consent: Consent,
    ) -> Result<Answer, Failure> {
        let approved = self
            .store
            .approve_device(device_of(flow)?, grant.clone(), consent);
        if !approved.await? {
            return Err(Failure::Expired);
        }
        for kind in [EventKind::ConsentGiven, EventKind::DeviceApproved] {
            self.record(read, Event::new(kind).with_grant(grant));
        }
        Ok(self.device_end("The device can go on. You can close this page."))
    }

    pub(super) async fn device_denied(&self, read: &Read, flow: &Flow) -> Result<Answer, Failure> {
        if self.store.deny_device(device_of(flow)?, read.now).await? {
            let event = Event::new(EventKind::DeviceDenied);
            let client = flow.wish().map(|wish| wish.client.as_str());
            self.record(read, Event { client, ..event });
        }
        Ok(self.device_end("The device got no access. You can close this page."))
    }

    fn device_page(
        &self,
        flow: &Flow,
        given: Option<&str>,
        problem: Option<&str>,
    ) -> Result<Answer, Failure> {
        let sealed = flow.close(&self.keys.seal())?;
        let body = device::code(&self.settings, &sealed, given, problem);
        Ok(Page::new(&self.settings, "Connect a device", body).answer())
    }

    fn device_end(&self, text: &str) -> Answer {
        Page::new(&self.settings, "Done", format!("<p>{text}</p>")).answer()
    }
}

/// Returns the goal of a person who typed the code of a device.
fn goal_of(device: Device) -> Goal {
    let wish = Wish {
        client: device.client,
        resource: device.resource,
        alias: device.alias,
        scope: device.scope.split(' ').map(str::to_owned).collect(),
    };
    Goal::Device(wish, device.hash)
}

fn device_of(flow: &Flow) -> Result<Digest, Failure> {
    match &flow.goal {
        Goal::Device(_, hash) => Ok(*hash),
        _ => Err(Failure::Expired),
    }
}
