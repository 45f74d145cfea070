//! A store in memory: for tests, examples, and one process that may forget.

mod devices;
mod directories;
mod documents;
mod state;

use std::{
    cmp::Reverse,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    clients::StoredClient,
    people::Unavailable,
    store::{
        Attempt, Code, Consent, Device, Digest, Factor, GivenConsent, Grant, GrantId, KeptDocument,
        Link, Origin, Polled, Rotated, Rotation, Seconds, Session, Store, UsedCode, Why,
    },
};

use self::{
    devices::Found,
    state::{State, UsableCode, oldest},
};

/// Number of clients that may register themselves.
const MAX_CLIENTS: usize = 10_000;

/// Number of sessions of a person.
const MAX_SESSIONS: usize = 50;

/// Number of consents of a person.
const MAX_CONSENTS: usize = 500;

/// A store in memory. It ends with the process.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

// === impl MemoryStore ===

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, now: Seconds) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.sweep(now);
        state
    }
}

impl Store for MemoryStore {
    async fn client(&self, id: &str, now: Seconds) -> Result<Option<StoredClient>, Unavailable> {
        let mut state = self.at(now);
        let found = state.clients.get_mut(id);
        Ok(found.map(|(client, used_at)| {
            *used_at = now;
            client.clone()
        }))
    }

    async fn add_client(&self, client: StoredClient, now: Seconds) -> Result<bool, Unavailable> {
        let mut state = self.at(now);
        let is_known = state.clients.contains_key(&client.id);
        if !is_known && state.clients.len() >= MAX_CLIENTS {
            return Ok(false);
        }
        state.clients.insert(client.id.clone(), (client, now));
        Ok(true)
    }

    async fn add_grant(
        &self,
        grant: Grant,
        code: Code,
        consent: Consent,
    ) -> Result<bool, Unavailable> {
        let now = grant.made_at;
        let mut state = self.at(now);
        if let Some((made, _)) = state.consents.get(&consent.hash) {
            let made = *made;
            return Ok(state.renew(made, code, now));
        }
        let is_used = false;
        state.codes.insert(code.hash, UsableCode { code, is_used });
        let made = (grant.id, consent.ends_at);
        state.consents.insert(consent.hash, made);
        state.keep(grant);
        Ok(true)
    }

    async fn use_code(&self, hash: Digest, now: Seconds) -> Result<UsedCode, Unavailable> {
        let mut state = self.at(now);
        let Some(found) = state.codes.get_mut(&hash) else {
            return Ok(UsedCode::Unknown);
        };
        let code = found.code.clone();
        if found.is_used {
            state.grants.remove(&code.grant);
            return Ok(UsedCode::Again(code.grant));
        }
        found.is_used = true;
        let grant = state.grants.get(&code.grant).cloned();
        Ok(match grant {
            Some(grant) if code.ends_at > now => UsedCode::Good(Box::new((code, grant))),
            _ => UsedCode::Unknown,
        })
    }

    async fn rotate(
        &self,
        id: GrantId,
        generation: u32,
        rules: Rotation,
    ) -> Result<Rotated, Unavailable> {
        let now = rules.now;
        let mut state = self.at(now);
        let Some(grant) = state.grants.get_mut(&id) else {
            return Ok(Rotated::Unknown);
        };
        let is_over = grant.ends_at <= now || grant.used_at + rules.idle.as_secs() <= now;
        if is_over || generation > grant.generation {
            return Ok(Rotated::Unknown);
        }
        if generation == grant.generation {
            grant.generation += 1;
            grant.rotated_at = now;
            grant.used_at = now;
            return Ok(Rotated::To(Box::new(grant.clone())));
        }
        let is_retry =
            generation + 1 == grant.generation && now <= grant.rotated_at + rules.grace.as_secs();
        if is_retry {
            return Ok(Rotated::To(Box::new(grant.clone())));
        }
        let ended = state.grants.remove(&id);
        Ok(ended.map_or(Rotated::Unknown, |grant| Rotated::Reused(Box::new(grant))))
    }

    async fn end_grant(&self, id: GrantId, _: Why, now: Seconds) -> Result<bool, Unavailable> {
        Ok(self.at(now).grants.remove(&id).is_some())
    }

    async fn grant(&self, id: GrantId, now: Seconds) -> Result<Option<Grant>, Unavailable> {
        let found = self.at(now).grants.get(&id).cloned();
        Ok(found.filter(|grant| grant.ends_at > now))
    }

    async fn add_device(&self, device: Device, now: Seconds) -> Result<bool, Unavailable> {
        Ok(self.at(now).devices.add(device, now))
    }

    async fn device(&self, user_code: Digest, now: Seconds) -> Result<Option<Device>, Unavailable> {
        Ok(self.at(now).devices.find(user_code, now).cloned())
    }

    async fn approve_device(
        &self,
        hash: Digest,
        grant: Grant,
        consent: Consent,
    ) -> Result<bool, Unavailable> {
        let now = grant.made_at;
        let mut state = self.at(now);
        if let Some((made, _)) = state.consents.get(&consent.hash) {
            return Ok(state.is_young(*made, now));
        }
        let is_approved = state.devices.approve(hash, grant.id, now);
        if is_approved {
            let made = (grant.id, consent.ends_at);
            state.consents.insert(consent.hash, made);
            state.keep(grant);
        }
        Ok(is_approved)
    }

    async fn deny_device(&self, hash: Digest, now: Seconds) -> Result<bool, Unavailable> {
        Ok(self.at(now).devices.deny(hash, now))
    }

    async fn poll_device(
        &self,
        hash: Digest,
        client: &str,
        now: Seconds,
    ) -> Result<Polled, Unavailable> {
        let mut state = self.at(now);
        Ok(match state.devices.poll(hash, client, now) {
            Found::Unknown => Polled::Unknown,
            Found::Expired => Polled::Expired,
            Found::Waits => Polled::Waits,
            Found::TooSoon => Polled::TooSoon,
            Found::Denied => Polled::Denied,
            Found::Good(id) => match state.grants.get(&id) {
                Some(grant) => Polled::Good(Box::new(grant.clone())),
                None => Polled::Unknown,
            },
            Found::Again(id) => {
                state.grants.remove(&id);
                Polled::Again(id)
            }
        })
    }

    async fn grants(&self, person: &str, now: Seconds) -> Result<Vec<Grant>, Unavailable> {
        let state = self.at(now);
        let grants = state.grants.values();
        let grants = grants.filter(|grant| grant.person == person && grant.ends_at > now);
        let mut grants: Vec<_> = grants.cloned().collect();
        grants.sort_unstable_by_key(|grant| (Reverse(grant.used_at), grant.id));
        Ok(grants)
    }

    async fn end_grants(
        &self,
        person: &str,
        _: Why,
        now: Seconds,
    ) -> Result<Vec<Grant>, Unavailable> {
        let mut state = self.at(now);
        let ended = state.grants.extract_if(|_, grant| grant.person == person);
        let ended = ended.map(|(_, grant)| grant);
        Ok(ended.filter(|grant| grant.ends_at > now).collect())
    }

    async fn keep_consent(&self, consent: GivenConsent) -> Result<(), Unavailable> {
        let mut state = self.at(consent.given_at);
        let place = [&consent.person, &consent.client, &consent.resource].map(String::clone);
        state.given.remove(&place);
        let of_person = state.given.iter();
        let of_person = of_person.filter(|(_, other)| other.person == consent.person);
        let of_person = of_person.map(|(place, other)| (other.given_at, place.clone()));
        for place in oldest(of_person, MAX_CONSENTS) {
            state.given.remove(&place);
        }
        state.given.insert(place, consent);
        Ok(())
    }

    async fn consent(
        &self,
        person: &str,
        client: &str,
        resource: &str,
    ) -> Result<Option<GivenConsent>, Unavailable> {
        let place = [person, client, resource].map(str::to_owned);
        Ok(self.state().given.get(&place).cloned())
    }

    async fn withdraw_consent(
        &self,
        person: &str,
        client: &str,
        resource: &str,
    ) -> Result<bool, Unavailable> {
        let place = [person, client, resource].map(str::to_owned);
        Ok(self.state().given.remove(&place).is_some())
    }

    async fn factor(&self, person: &str) -> Result<Option<Factor>, Unavailable> {
        Ok(self.state().factors.get(person).cloned())
    }

    async fn add_factor(&self, factor: Factor) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let is_new = !state.factors.contains_key(&factor.person);
        if is_new {
            state.factors.insert(factor.person.clone(), factor);
        }
        Ok(is_new)
    }

    async fn remove_factor(&self, person: &str) -> Result<bool, Unavailable> {
        Ok(self.state().factors.remove(person).is_some())
    }

    async fn use_step(&self, person: &str, step: u64) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let factor = state.factors.get_mut(person);
        let factor = factor.filter(|factor| factor.last_step < step);
        Ok(factor.map(|factor| factor.last_step = step).is_some())
    }

    async fn use_recovery(&self, person: &str, hash: Digest) -> Result<bool, Unavailable> {
        let mut state = self.state();
        let Some(factor) = state.factors.get_mut(person) else {
            return Ok(false);
        };
        let before = factor.recovery.len();
        factor.recovery.retain(|other| *other != hash);
        Ok(factor.recovery.len() < before)
    }

    async fn use_once(
        &self,
        hash: Digest,
        ends_at: Seconds,
        now: Seconds,
    ) -> Result<bool, Unavailable> {
        Ok(self.at(now).note(hash, ends_at, now))
    }

    async fn add_session(&self, session: Session) -> Result<(), Unavailable> {
        let mut state = self.at(session.used_at);
        let of_person = state.sessions.values();
        let of_person = of_person.filter(|other| other.person == session.person);
        let of_person = of_person.map(|it| (it.used_at, it.hash));
        for hash in oldest(of_person, MAX_SESSIONS) {
            state.sessions.remove(&hash);
        }
        state.sessions.insert(session.hash, session);
        Ok(())
    }

    async fn session(
        &self,
        hash: Digest,
        idle: Duration,
        now: Seconds,
    ) -> Result<Option<Session>, Unavailable> {
        let mut state = self.at(now);
        let Some(session) = state.sessions.get_mut(&hash) else {
            return Ok(None);
        };
        if session.ends_at <= now || session.used_at + idle.as_secs() <= now {
            state.sessions.remove(&hash);
            return Ok(None);
        }
        session.used_at = now;
        Ok(Some(session.clone()))
    }

    async fn end_session(&self, hash: Digest) -> Result<(), Unavailable> {
        self.state().sessions.remove(&hash);
        Ok(())
    }

    async fn end_sessions(&self, person: &str) -> Result<(), Unavailable> {
        let mut state = self.state();
        state.sessions.retain(|_, session| session.person != person);
        Ok(())
    }

    async fn document(&self, url: &str) -> Result<Option<KeptDocument>, Unavailable> {
        Ok(self.state().documents.get(url))
    }

    async fn keep_document(&self, url: &str, document: KeptDocument) -> Result<(), Unavailable> {
        let mut state = self.at(document.fetched_at);
        *state.documents.row(url) = document;
        Ok(())
    }

    async fn document_failed(&self, url: &str, now: Seconds) -> Result<(), Unavailable> {
        self.at(now).documents.row(url).failed_at = Some(now);
        Ok(())
    }

    async fn add_attempt(&self, attempt: Attempt, now: Seconds) -> Result<bool, Unavailable> {
        Ok(self.at(now).directories.add_attempt(attempt, now))
    }

    async fn use_attempt(
        &self,
        hash: Digest,
        now: Seconds,
    ) -> Result<Option<Attempt>, Unavailable> {
        Ok(self.at(now).directories.use_attempt(hash, now))
    }

    async fn link(&self, origin: &Origin) -> Result<Option<Link>, Unavailable> {
        Ok(self.state().directories.link(origin))
    }

    async fn keep_link(&self, link: Link) -> Result<(), Unavailable> {
        self.state().directories.keep(link);
        Ok(())
    }

    async fn begin_check(
        &self,
        origin: &Origin,
        until: Seconds,
        now: Seconds,
    ) -> Result<Option<Link>, Unavailable> {
        Ok(self.at(now).directories.begin_check(origin, until, now))
    }

    async fn assert_grant(
        &self,
        grant: Grant,
        assertion: Consent,
    ) -> Result<Option<Grant>, Unavailable> {
        let mut state = self.at(grant.made_at);
        let is_new = state.note(assertion.hash, assertion.ends_at, grant.made_at);
        Ok(is_new.then(|| state.keep_asserted(grant)))
    }
}
